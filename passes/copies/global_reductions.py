"""Reductions of registers into global and shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType, Signedness, f32, i64
from xdsl.ir import Attribute, SSAValue

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.atomics import Atomic
from tirx.dialects.ptx.conversion import UnpackOp
from tirx.dialects.ptx.packed import PairFormat
from tirx.dialects.ptx.reductions import Red, RedOp, RedSharedOp
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.passes.copies.atomic_emission import AtomicEmission
from tirx.passes.ir.emitter import Emitter
from tirx.rules import ReductionTypeError
from tirx.values import dataclass


def _red(address: SSAValue) -> type[RedOp | RedSharedOp]:
    return RedOp if address.type == i64 else RedSharedOp


_ORDERED = (Red.ADD, Red.MIN, Red.MAX)


@dataclass(frozen=True)
class GlobalReduction:
    """An operation on elements of a type in global or shared memory, by threads of a target."""

    operation: Red
    element: Attribute
    target: Target

    def emit(self, emit: Emitter, address: SSAValue, offset: int, registers: Sequence[SSAValue]) -> None:
        """Combines registers with what is at `address + offset` (bytes, i32: shared). LocatedError for other types."""
        match self.element:
            case IntegerType(signedness=sign, width=width) if width.data in (32, 64):
                unsigned = sign.data is Signedness.UNSIGNED and self.operation in (Red.MIN, Red.MAX)
                for at, register in enumerate(registers):
                    place = offset + at * width.data // 8
                    emit(_red(address)(self.operation, address, [register], place, unsigned=unsigned))
            case Float16Type() | BFloat16Type():
                format_ = PairFormat.F16X2 if isinstance(self.element, Float16Type) else PairFormat.BF16X2
                if self._by_red:
                    for at, part in self._parts(address, registers):
                        emit(_red(address)(self.operation, address, part, offset + 4 * at, format=format_))
                    return
                for at, register in enumerate(registers):
                    for half in (0, 1):
                        self.emit_half(emit, address, offset + 4 * at + 2 * half, register, half)
            case Float32Type() | Float64Type():
                size = 4 if self.element == f32 else 8
                if not self._by_red:
                    for at, register in enumerate(registers):
                        self._atomic(emit).emit(emit, address, offset + size * at, [register])
                    return
                parts = self._parts(address, registers) if size == 4 else enumerate([r] for r in registers)
                for at, part in parts:
                    emit(_red(address)(self.operation, address, part, offset + size * at))
            case _:
                raise self._unsupported(emit)

    def emit_half(self, emit: Emitter, address: SSAValue, offset: int, register: SSAValue, half: int) -> None:
        """Combines one of the two 16-bit elements of a register."""
        if not isinstance(self.element, Float16Type | BFloat16Type):
            raise self._unsupported(emit)
        halves = emit(UnpackOp(register, self.element))
        number = halves.high if half else halves.low
        if self._by_red:
            emit(_red(address)(self.operation, address, [number], offset))
        else:
            self._atomic(emit).emit(emit, address, offset, [number])

    @property
    def _by_red(self) -> bool:
        """Returns True if `red` adds elements of this floating-point type; it compares none."""
        has = not isinstance(self.element, BFloat16Type) or supports(self.target, "red.bf16")
        return self.operation is Red.ADD and has

    def _atomic(self, emit: Emitter) -> AtomicEmission:
        if self.operation not in _ORDERED:
            raise self._unsupported(emit)
        return AtomicEmission(Atomic(self.operation.value), self.element, self.target)

    def _parts(self, address: SSAValue, registers: Sequence[SSAValue]) -> list[tuple[int, Sequence[SSAValue]]]:
        """The registers of each instruction, with the number of the first one."""
        size = len(registers) if address.type == i64 and supports(self.target, "red.vector") else 1
        return [(at, registers[at : at + size]) for at in range(0, len(registers), size)]

    def _unsupported(self, emit: Emitter) -> LocatedError:
        return ReductionTypeError(
            emit.location,
            "expected add, min or max of f16, bf16, f32 or f64, or add, min, max, and, or, xor of integers of 32 or 64 "
            f"bits in memory, found {self.operation} of {self.element}",
        )
