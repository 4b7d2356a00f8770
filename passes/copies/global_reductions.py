"""Reductions of registers into global and shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IntegerType,
    Signedness,
    f32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.conversion import UnpackOp
from tirx.dialects.ptx.packed import PairFormat
from tirx.dialects.ptx.reductions import Red, RedOp, RedSharedOp
from tirx.passes.ir.emitter import Emitter
from tirx.rules import ReductionTypeError


def _red(address: SSAValue) -> type[RedOp | RedSharedOp]:
    return RedOp if address.type == i64 else RedSharedOp


@dataclass(frozen=True)
class GlobalReduction:
    """An operation on elements of a type; `vectors` says whether the target combines several registers at once."""

    operation: Red
    element: Attribute
    vectors: bool

    def emit(self, emit: Emitter, address: SSAValue, offset: int, registers: Sequence[SSAValue]) -> None:
        """Combines registers with what is at `address + offset` (bytes, i32: shared). LocatedError for other types."""
        match self.element:
            case Float16Type() | BFloat16Type():
                half = isinstance(self.element, Float16Type)
                format_ = PairFormat.F16X2 if half else PairFormat.BF16X2
                if self.operation is not Red.ADD:
                    raise self._unsupported(emit)
                for at, part in self._parts(registers):
                    emit(_red(address)(self.operation, address, part, offset + 4 * at, format=format_))
                return
            case IntegerType(signedness=sign, width=width) if width.data in (32, 64):
                unsigned = sign.data is Signedness.UNSIGNED and self.operation in (Red.MIN, Red.MAX)
                for at, register in enumerate(registers):
                    place = offset + at * width.data // 8
                    emit(_red(address)(self.operation, address, [register], place, unsigned=unsigned))
                return
            case _:
                pass
        if str(self.element) not in ("f32", "f64") or self.operation is not Red.ADD:
            raise self._unsupported(emit)
        size = 4 if self.element == f32 else 8
        for at, part in self._parts(registers) if self.element == f32 else enumerate([r] for r in registers):
            emit(_red(address)(self.operation, address, part, offset + size * at))

    def emit_half(self, emit: Emitter, address: SSAValue, offset: int, register: SSAValue, half: int) -> None:
        """Combines one of the two 16-bit elements of a register."""
        if not isinstance(self.element, Float16Type | BFloat16Type) or self.operation is not Red.ADD:
            raise self._unsupported(emit)
        halves = emit(UnpackOp(register, self.element))
        emit(_red(address)(self.operation, address, [halves.high if half else halves.low], offset))

    def _parts(self, registers: Sequence[SSAValue]) -> list[tuple[int, Sequence[SSAValue]]]:
        """The registers of each instruction, with the number of the first one."""
        size = len(registers) if self.vectors else 1
        return [(at, registers[at : at + size]) for at in range(0, len(registers), size)]

    def _unsupported(self, emit: Emitter) -> LocatedError:
        return ReductionTypeError(
            emit.location,
            "expected add of f16, bf16, f32 or f64, or add, min, max, and, or, xor of integers of 32 or 64 bits in "
            f"memory, found {self.operation} of {self.element}",
        )
