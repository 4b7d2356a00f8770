"""Values that go from lane to lane of a warp: shuffles and reductions. All lanes of `mask` execute them together.

They read the registers of other lanes, and so are not `Pure`: where they are executed matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, UnitAttr, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import VarConstraint, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import NoMemoryEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import Names, Register, expect_choice, source, typed
from tirx.dialects.ptx.effects import NO_EFFECTS
from tirx.dialects.ptx.sync import MaskedOp
from tirx.rules import InstructionFormError


class ShuffleMode(StrEnum):
    """The lane that `shfl.sync` reads: the given one, or its own number minus, plus or exclusive-or the given one."""

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    BFLY = "bfly"


ShuffleModeAttr = enum_attribute("ptx.shuffle_mode", ShuffleMode)

_CLAMPS: Mapping[ShuffleMode, int] = {mode: 0 if mode is ShuffleMode.UP else 31 for mode in ShuffleMode}
"""The operand c of a shuffle among all lanes: the last lane that may be read, for `up` the first."""


@irdl_op_definition
class ShflSyncOp(MaskedOp):
    """The register of another lane; the own one where there is no such lane.

    ```mlir
    %0 = ptx.shfl.sync bfly %x, %lane : f32
    ```
    See PTX ISA, "shfl.sync".
    """

    name = "ptx.shfl.sync"
    FOLLOWS_TYPES: ClassVar = True
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("shfl.sync",)

    T: ClassVar = VarConstraint("T", Register)
    mode = prop_def(ShuffleModeAttr)
    operand = operand_def(T)
    lane = operand_def(i32)
    clamp = opt_prop_def(IntegerAttr[I32])
    result = result_def(T)

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$mode $operand `,` $lane (`clamp` $clamp^)? (`mask` $mask^)? attr-dict `:` type($result)"

    def verify_(self) -> None:
        super().verify_()
        if self.result.type not in (i32, f32):
            raise InstructionFormError(f"expected a register of type i32 or f32, found {self.result.type}")
        if self.clamp is not None and (c := self.clamp.value.data) & ~0x1F1F:
            raise InstructionFormError(f"expected a clamp with bits 0-4 and 8-12 only, found {c:#x}")

    def emit(self, reg: Names) -> str:
        mode = self.mode.data
        clamp = _CLAMPS[mode] if self.clamp is None else self.clamp.value.data
        operands = f"{source(reg, self.operand)}, {source(reg, self.lane)}, {clamp:#x}, {self.mask.value.data:#x}"
        return f"shfl.sync.{mode.value}.b32 {reg(self.result)}, {operands}"


class WarpReduction(StrEnum):
    """The operation by which `redux.sync` combines the registers of the lanes."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"


WarpReductionAttr = enum_attribute("ptx.warp_reduction", WarpReduction)

_ORDERED = (WarpReduction.MIN, WarpReduction.MAX)
_BITWISE = (WarpReduction.AND, WarpReduction.OR, WarpReduction.XOR)


@irdl_op_definition
class ReduxSyncOp(MaskedOp):
    """The reduction of the registers of all lanes of `mask`, in each of them.

    Integers are signed unless `unsigned` is given; f32 has `min` and `max`, `abs` compares magnitudes, and `nan` makes
    the result NaN if any register is.

    ```mlir
    %0 = ptx.redux.sync add %x : i32
    %1 = ptx.redux.sync max nan %y : f32
    ```
    See PTX ISA, "redux.sync".
    """

    name = "ptx.redux.sync"
    EFFECTS: ClassVar = NO_EFFECTS

    T: ClassVar = VarConstraint("T", Register)
    reduction = prop_def(WarpReductionAttr)
    unsigned = opt_prop_def(UnitAttr)
    abs = opt_prop_def(UnitAttr)
    nan = opt_prop_def(UnitAttr)
    operand = operand_def(T)
    result = result_def(T)

    traits = traits_def(NoMemoryEffect())
    assembly_format = """
    $reduction (`unsigned` $unsigned^)? (`abs` $abs^)? (`nan` $nan^)? $operand (`mask` $mask^)? attr-dict
    `:` type($result)
    """

    def verify_(self) -> None:
        super().verify_()
        type_: Attribute = self.result.type
        if type_ not in (i32, f32):
            raise InstructionFormError(f"expected a register of type i32 or f32, found {type_}")
        if type_ == f32:
            expect_choice("reduction of f32", self.reduction.data.value, [r.value for r in _ORDERED])
        elif self.abs is not None or self.nan is not None:
            raise InstructionFormError(f"expected 'abs' and 'nan' on f32 only, found {type_}")
        if self.unsigned is not None and (type_ == f32 or self.reduction.data in _BITWISE):
            raise InstructionFormError("expected 'unsigned' on integers with add, min or max only")

    FORMS_NEED: ClassVar = ("redux.sync", "redux.sync.f32")

    def features(self) -> tuple[str, ...]:
        return ("redux.sync.f32",) if self.result.type == f32 else ("redux.sync",)

    def emit(self, reg: Names) -> str:
        reduction = self.reduction.data
        flags = ("" if self.abs is None else ".abs") + ("" if self.nan is None else ".NaN")
        bitwise = reduction in _BITWISE and self.result.type == i32
        type_ = "b32" if bitwise else typed(self.result.type, unsigned=self.unsigned is not None)
        form = f"redux.sync.{reduction.value}{flags}.{type_}"
        return f"{form} {reg(self.result)}, {source(reg, self.operand)}, {self.mask.value.data:#x}"
