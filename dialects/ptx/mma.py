"""`mma.sync` on register fragments. See PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, f32, f64, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.ptx.base import Names, PTXInstruction, Register, expect_choice, vector
from tirx.dialects.ptx.effects import NO_EFFECTS, Issue
from tirx.mma.fragments import VARIANTS, Fragment, MmaVariant
from tirx.rules import InstructionFormError


class Major(StrEnum):
    """Order of the elements of an operand fragment."""

    ROW = "row"
    COL = "col"


MajorAttr = enum_attribute("ptx.major", Major)

ACCUMULATORS: dict[tuple[Attribute, ...], str] = {(i32,) * 4: "f16", (f32,) * 8: "f32"}
"""Types of the registers of an m8n8k4 f16 accumulator -> its element type; f16 packs two elements in an i32."""


def _accumulator(name: str, types: Sequence[Attribute]) -> str:
    element = ACCUMULATORS.get(tuple(types))
    if element is None:
        raise InstructionFormError(
            f"expected {name} to be 4 registers i32 (f16) or 8 registers f32, found ({', '.join(map(str, types))})"
        )
    return element


@irdl_op_definition
class MmaM8N8K4F16Op(PTXInstruction):
    """Four products of 8x4 by 4x8 with accumulation, one for each group of 8 lanes.

    `a` and `b` are two i32 registers of two f16 each; `c` and `d` four i32 (f16) or eight f32 registers.

    ```mlir
    %d:8 = ptx.mma.m8n8k4.f16 row col %a0, %a1, %b0, %b1, %c... : f32 -> f32
    ```
    See PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
    """

    name = "ptx.mma.m8n8k4.f16"
    ISSUE: ClassVar = Issue.WARP
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("mma.m8n8k4.f16",)

    a_major = prop_def(MajorAttr)
    b_major = prop_def(MajorAttr)
    a = var_operand_def(i32)
    b = var_operand_def(i32)
    c = var_operand_def(Register)
    d = var_result_def(Register)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())
    assembly_format = """
    $a_major $b_major `a` `(` $a `:` type($a) `)` `b` `(` $b `:` type($b) `)` `c` `(` $c `:` type($c) `)`
    attr-dict `->` type($d)
    """

    def verify_(self) -> None:
        for name, registers in (("a", self.a), ("b", self.b)):
            if len(registers) != 2:
                raise InstructionFormError(f"expected {name} to be 2 registers i32, found {len(registers)}")
        c, d = _accumulator("c", self.c.types), _accumulator("d", self.d.types)
        if c == "f32" and d == "f16":
            raise InstructionFormError("expected d to be f32 since c is, found f16")

    def emit(self, reg: Names) -> str:
        majors = f"{self.a_major.data.value}.{self.b_major.data.value}"
        types = f"{_accumulator('d', self.d.types)}.f16.f16.{_accumulator('c', self.c.types)}"
        registers = ", ".join(vector(reg, group) for group in (self.d, self.a, self.b, self.c))
        return f"mma.sync.aligned.m8n8k4.{majors}.{types} {registers}"


@irdl_op_definition
class MmaM8N8K4F64Op(PTXInstruction):
    """One product of 8x4 (row-major) by 4x8 (column-major) with accumulation, in f64.

    See PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64 floating point type".
    """

    name = "ptx.mma.m8n8k4.f64"
    ISSUE: ClassVar = Issue.WARP
    EFFECTS: ClassVar = NO_EFFECTS
    NEEDS: ClassVar = ("mma.m8n8k4.f64",)

    a = operand_def(f64)
    b = operand_def(f64)
    c0 = operand_def(f64)
    c1 = operand_def(f64)
    d0 = result_def(f64)
    d1 = result_def(f64)

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$a `,` $b `,` $c0 `,` $c1 attr-dict"

    def emit(self, reg: Names) -> str:
        registers = ", ".join(
            vector(reg, group) for group in ((self.d0, self.d1), (self.a,), (self.b,), (self.c0, self.c1))
        )
        return f"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {registers}"


M16N8 = tuple(name for name, variant in VARIANTS.items() if variant.instruction != "m8n8k4")
"""The variants of `tirx.mma.VARIANTS` that `MmaM16N8Op` stands for."""

BYTES = ("byte_a", "byte_b")
"""The properties of `MmaM16N8Op` with the bytes of the first scale factors of A and B."""

_REGISTERS: dict[str, Attribute] = {"b32": i32, "f32": f32, "f64": f64}
"""PTX type of the registers of a fragment -> type of their values."""


def _expect_fragment(name: str, types: Sequence[Attribute], fragment: Fragment) -> None:
    expected = [_REGISTERS[fragment.register_type]] * fragment.registers
    if list(types) != expected:
        raise InstructionFormError(
            f"expected {name} to be {len(expected)} registers {expected[0]}, found ({', '.join(map(str, types))})"
        )


@irdl_op_definition
class MmaM16N8Op(PTXInstruction):
    """One product of 16xK (row-major) by Kx8 (column-major) with accumulation.

    The variant, a row of `tirx.mma.VARIANTS`, says K, the types, and how many registers each operand has: 16-bit and
    8-bit elements are packed in i32, as are those of 4 bits, tf32 is an i32, f32 and f64 are themselves. `scales` are
    the registers of the scale factors of A and of B of a variant that has them, `byte_a` and `byte_b` where they start.
    `metadata` are the codes of a sparse A, `selector` the lanes of four that hold them.

    ```mlir
    %d:4 = ptx.mma.m16n8 "m16n8k8.row.col.f32.f16" a(%a0, %a1 : i32, i32) b(%b0 : i32) c(%c... : f32...) -> f32...
    ```
    See PTX ISA, "Matrix Fragments for mma.m16n8k4", m16n8k8, m16n8k16, m16n8k32 and m16n8k64, "Block Scaling for
    mma.sync", and "Warp-level matrix multiply-accumulate operation using mma.sp instruction with sparse matrix A".
    """

    name = "ptx.mma.m16n8"
    FOLLOWS_TYPES: ClassVar = True
    ISSUE: ClassVar = Issue.WARP
    EFFECTS: ClassVar = NO_EFFECTS

    variant = prop_def(StringAttr)
    a = var_operand_def(Register)
    b = var_operand_def(Register)
    c = var_operand_def(Register)
    scales = var_operand_def(i32)
    byte_a = opt_prop_def(IntegerAttr[I32])
    byte_b = opt_prop_def(IntegerAttr[I32])
    metadata = opt_operand_def(i32)
    selector = opt_prop_def(IntegerAttr[I32])
    d = var_result_def(Register)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoMemoryEffect())
    assembly_format = """
    $variant `a` `(` $a `:` type($a) `)` `b` `(` $b `:` type($b) `)` `c` `(` $c `:` type($c) `)`
    (`scales` `(` $scales^ `)` `bytes` `(` $byte_a `,` $byte_b `)`)?
    (`metadata` `(` $metadata^ `)` `selector` $selector)? attr-dict `->` type($d)
    """

    def verify_(self) -> None:
        expect_choice("variant", self.variant.data, M16N8)
        variant = VARIANTS[self.variant.data]
        _expect_fragment("a", self.a.types, variant.a)
        _expect_fragment("b", self.b.types, variant.b)
        _expect_fragment("c", self.c.types, variant.c)
        _expect_fragment("d", self.d.types, variant.c)
        self._verify_scales(variant)
        self._verify_metadata(variant)

    def _verify_scales(self, variant: MmaVariant) -> None:
        factors, first = variant.scales, self._bytes
        if (count := 0 if factors is None else 2) != len(self.scales) or count != len(first):
            raise InstructionFormError(
                f"expected {count} registers of scale factors, and a byte of each, for '{variant.name}', found "
                f"{len(self.scales)} and {len(first)}"
            )
        if factors is not None and not all(0 <= at < 4 and at % factors.a.elements == 0 for at in first):
            raise InstructionFormError(
                f"expected {factors.a.elements} scale factors from a multiple of so many bytes of a register on, found "
                f"bytes {first[0]} and {first[1]}"
            )

    def _verify_metadata(self, variant: MmaVariant) -> None:
        selectors = 0 if variant.codes is None else len(variant.codes.selector_lanes)
        found = None if self.selector is None else self.selector.value.data
        if (self.metadata is None) != (not selectors) or found not in (range(selectors) if selectors else (None,)):
            has = f"metadata, and a selector below {selectors}," if selectors else "no metadata and no selector"
            raise InstructionFormError(
                f"expected {has} for '{variant.name}', found {'none' if self.metadata is None else 'some'} and {found}"
            )

    @property
    def _bytes(self) -> tuple[int, ...]:
        return tuple(at.value.data for at in (self.byte_a, self.byte_b) if at is not None)

    FORMS_NEED: ClassVar = tuple(dict.fromkeys(VARIANTS[name].feature for name in M16N8))

    def features(self) -> tuple[str, ...]:
        return (VARIANTS[self.variant.data].feature,)

    def emit(self, reg: Names) -> str:
        registers = [vector(reg, group) for group in (self.d, self.a, self.b, self.c)]
        registers += [f"{reg(value)}, {{{at}, 0}}" for value, at in zip(self.scales, self._bytes, strict=True)]
        if self.metadata is not None:
            assert self.selector is not None
            registers += [reg(self.metadata), str(self.selector.value.data)]
        return f"{VARIANTS[self.variant.data].mnemonic} {', '.join(registers)}"
