"""`ldmatrix` and `stmatrix`: 8x8 matrices between shared memory and the registers of a warp.

See PTX ISA, "Warp-level matrix load instruction: ldmatrix" and "stmatrix". Thread 8i + r gives the address of row r of
matrix i.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr, UnitAttr, i32
from xdsl.irdl import operand_def, opt_prop_def, prop_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, PTXInstruction, address, expect_choice, vector
from tirx.dialects.ptx.effects import AccessKind, Effects, Issue, MatrixRows, MemoryAccess
from tirx.rules import InstructionFormError
from tirx.values import dataclass


@dataclass(frozen=True)
class MatrixShape:
    """One shape of `ldmatrix` or `stmatrix`: `counts` matrices at a time, `registers` (i32) of a thread for each."""

    element: str
    counts: tuple[int, ...]
    registers: int
    transposed: bool
    """True if `.trans` is there always; otherwise it may be."""
    feature: str


LOAD_SHAPES: Mapping[str, MatrixShape] = {
    "m8n8": MatrixShape("b16", (1, 2, 4), 1, transposed=False, feature="ldmatrix"),
    "m16n16": MatrixShape("b8", (1, 2), 2, transposed=True, feature="ldmatrix.b8"),
}
"""Shapes of `ldmatrix`."""

STORE_SHAPES: Mapping[str, MatrixShape] = {
    "m8n8": MatrixShape("b16", (1, 2, 4), 1, transposed=False, feature="stmatrix"),
    "m16n8": MatrixShape("b8", (1, 2, 4), 1, transposed=True, feature="stmatrix.b8"),
}
"""Shapes of `stmatrix`."""


def _check(shapes: Mapping[str, MatrixShape], shape: str, registers: int, trans: UnitAttr | None) -> None:
    expect_choice("shape", shape, tuple(shapes))
    row = shapes[shape]
    expect_choice(f"number of registers for {shape}", registers, [n * row.registers for n in row.counts])
    if row.transposed and trans is None:
        raise InstructionFormError(f"expected 'trans' for shape {shape}, found none")


def _form(shapes: Mapping[str, MatrixShape], shape: str, registers: int, trans: UnitAttr | None) -> str:
    row = shapes[shape]
    return f"{shape}.x{registers // row.registers}{'' if trans is None else '.trans'}.shared.{row.element}"


def _rows(op: LdMatrixOp | StMatrixOp, registers: int) -> tuple[MatrixRows, ...]:
    """The rows that an instruction touches; not followed for shapes other than m8n8."""
    return (MatrixRows(op.address, registers),) if op.shape.data == "m8n8" else ()


@irdl_op_definition
class LdMatrixOp(PTXInstruction):
    """Loads matrices of 16-bit (`m8n8`) or 8-bit elements (`m16n16`) from shared memory.

    ```mlir
    %0, %1 = ptx.ldmatrix "m8n8" trans %a -> i32, i32
    ```
    """

    name = "ptx.ldmatrix"
    FOLLOWS_TYPES: ClassVar = True
    ISSUE: ClassVar = Issue.WARP

    shape = prop_def(StringAttr)
    trans = opt_prop_def(UnitAttr)
    address = operand_def(i32)
    res = var_result_def(i32)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$shape (`trans` $trans^)? $address attr-dict `->` type($res)"

    def verify_(self) -> None:
        _check(LOAD_SHAPES, self.shape.data, len(self.res), self.trans)

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.GENERIC, reads=_rows(self, len(self.res)), warp_wide=True))

    FORMS_NEED: ClassVar = tuple(shape.feature for shape in LOAD_SHAPES.values())

    def features(self) -> tuple[str, ...]:
        return (LOAD_SHAPES[self.shape.data].feature,)

    def emit(self, reg: Names) -> str:
        form = _form(LOAD_SHAPES, self.shape.data, len(self.res), self.trans)
        return f"ldmatrix.sync.aligned.{form} {vector(reg, self.res)}, {address(reg, self.address)}"


@irdl_op_definition
class StMatrixOp(PTXInstruction):
    """Stores matrices of 16-bit (`m8n8`) or 8-bit elements (`m16n8`) to shared memory.

    ```mlir
    ptx.stmatrix "m8n8" %a, %0, %1 : i32, i32
    ```
    """

    name = "ptx.stmatrix"
    FOLLOWS_TYPES: ClassVar = True
    ISSUE: ClassVar = Issue.WARP

    shape = prop_def(StringAttr)
    trans = opt_prop_def(UnitAttr)
    address = operand_def(i32)
    data = var_operand_def(i32)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$shape (`trans` $trans^)? $address `,` $data attr-dict `:` type($data)"

    def verify_(self) -> None:
        _check(STORE_SHAPES, self.shape.data, len(self.data), self.trans)

    def effects(self) -> Effects:
        return Effects(MemoryAccess(AccessKind.GENERIC, writes=_rows(self, len(self.data))))

    FORMS_NEED: ClassVar = tuple(shape.feature for shape in STORE_SHAPES.values())

    def features(self) -> tuple[str, ...]:
        return (STORE_SHAPES[self.shape.data].feature,)

    def emit(self, reg: Names) -> str:
        form = _form(STORE_SHAPES, self.shape.data, len(self.data), self.trans)
        return f"stmatrix.sync.aligned.{form} {address(reg, self.address)}, {vector(reg, self.data)}"
