"""Registers of which some elements in each group are kept, with their indices (PTX ISA 9.4, "spcompress")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, operand_def, prop_def, var_operand_def, var_result_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, PureInstruction, expect_choice, vector
from tirx.rules import InstructionFormError

_ELEMENTS = {"b8": 8, "b16": 16}
_INDICES = {"b2": 2, "b4": 4}
_NUMBERS = tuple(1 << i for i in range(7))
_PATTERNS = {"1:2": (1, 2), "1:4": (1, 4), "2:4": (2, 4), "2:8": (2, 8), "4:8": (4, 8)}
_BITS = range(32, 4096 + 1)
"""Bits of elements that `spdecompress` gives."""


def _registers(bits: int) -> int:
    return -(-bits // 32)


def _expect(name: str, values: Sequence[SSAValue], count: int) -> None:
    if len(values) != count:
        raise InstructionFormError(f"expected {count} registers of {name}, found {len(values)}")


@irdl_op_definition
class SpcompressOp(PureInstruction):
    """`%m, %c = ptx.spcompress "b16" "b4" %0, %1 by %descriptor -> i32, i32` is `spcompress.b16.b4.sp::2:4.x1`.

    Of every four elements of 8 or 16 bits two are kept: words of metadata, indices of 2 or 4 bits with the first in the
    lowest bits, and what is kept, in order. The descriptor says which: bits 0 and 1 the greatest, the greatest
    magnitudes, the least or the least magnitudes, bits 2 to 4 the type (f16, bf16; u8, s8, e5m2, e4m3, e3m2, e2m3).
    """

    name = "ptx.spcompress"
    NEEDS: ClassVar = ("spcompress",)

    element = prop_def(StringAttr)
    index = prop_def(StringAttr)
    data = var_operand_def(i32)
    descriptor = operand_def(i32)
    res = var_result_def(i32)

    assembly_format = "$element $index $data `by` $descriptor attr-dict `->` type($res)"

    @property
    def _number(self) -> int:
        return len(self.data) // 2

    @property
    def _words(self) -> int:
        """Registers of metadata."""
        return _registers(32 * self._number * _INDICES[self.index.data] // _ELEMENTS[self.element.data])

    def verify_(self) -> None:
        expect_choice("elements", self.element.data, tuple(_ELEMENTS))
        expect_choice("indices", self.index.data, tuple(_INDICES))
        expect_choice("half of the registers of data", self._number, _NUMBERS)
        _expect("data", self.data, 2 * self._number)
        _expect("metadata and of what is kept", self.res, self._words + self._number)

    def emit(self, reg: Names) -> str:
        words, kept = self.res[: self._words], self.res[self._words :]
        operands = (vector(reg, words), vector(reg, kept), vector(reg, self.data), reg(self.descriptor))
        form = f"{self.element.data}.{self.index.data}.sp::2:4.x{self._number}"
        return f"spcompress.{form} {', '.join(operands)}"


@irdl_op_definition
class SpdecompressOp(PureInstruction):
    """`%0, %1 = ptx.spdecompress "b16" "b4" "2:4" 1 metadata(%m) %c -> i32, i32` is `spdecompress.b16.b4.sp::2:4.x1`.

    Kept elements of so many groups go to the places in their groups that the metadata says; others are zero.
    """

    name = "ptx.spdecompress"
    NEEDS: ClassVar = ("spcompress",)

    element = prop_def(StringAttr)
    index = prop_def(StringAttr)
    pattern = prop_def(StringAttr)
    num = prop_def(IntegerAttr[I32])
    metadata = var_operand_def(i32)
    kept = var_operand_def(i32)
    res = var_result_def(i32)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$element $index $pattern $num `metadata` `(` $metadata `)` $kept attr-dict `->` type($res)"

    def verify_(self) -> None:
        expect_choice("elements", self.element.data, tuple(_ELEMENTS))
        expect_choice("indices", self.index.data, tuple(_INDICES))
        expect_choice("the pattern", self.pattern.data, tuple(_PATTERNS))
        expect_choice("the number of groups", number := self.num.value.data, _NUMBERS)
        bits, width = _ELEMENTS[self.element.data], _INDICES[self.index.data]
        kept, of = _PATTERNS[self.pattern.data]
        if kept * bits > 32:
            raise InstructionFormError(f"expected at most 32 bits that are kept of a group, found {kept * bits}")
        if width == 2 and of > 4:
            raise InstructionFormError(f"expected groups of at most 4 elements with indices of 2 bits, found {of}")
        if of * bits * number not in _BITS:
            raise InstructionFormError(f"expected 32 to 4096 bits of elements, found {of * bits * number}")
        _expect("metadata", self.metadata, _registers(kept * width * number))
        _expect("what is kept", self.kept, _registers(kept * bits * number))
        _expect("elements", self.res, _registers(of * bits * number))

    def emit(self, reg: Names) -> str:
        operands = (vector(reg, each) for each in (self.res, self.metadata, self.kept))
        form = f"{self.element.data}.{self.index.data}.sp::{self.pattern.data}.x{self.num.value.data}"
        return f"spdecompress.{form} {', '.join(operands)}"
