"""Register tiles as SSA values.

Constructors go past the checks of xDSL's: the verifier of the final module makes them.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.elements import is_element
from tirx.dialects.tirx.views import OneToOneOp, WordsOp
from tirx.hw.errors import LegalityError
from tirx.mma.fragments import VARIANTS, WIDENING, Fragment, MmaVariant
from tirx.rules import (
    ElementTypeError,
    InstructionNameError,
    InvalidOperation,
    OperandFormError,
    TileMemoryError,
    TileShapeError,
)


def require_register(type_: TileType) -> None:
    """Raises VerifyException for a tile in memory."""
    if type_.memory is not MemorySpace.REGISTER:
        raise TileMemoryError(f"expected a register tile, found {type_}")


class _WordsOfRegisters(OneToOneOp):
    """Between a register tile of 6-bit elements, a byte each, and the same bits as words, three for 16 neighbours."""

    def _verify_words(self, elements: TileType, words: TileType) -> None:
        require_register(elements)
        try:
            expected = WordsOp.type_of(elements)
        except LegalityError as e:
            raise InvalidOperation(str(e)) from e
        if words != expected:
            raise TileShapeError(f"expected words of {elements} as {expected}, found {words}")


@irdl_op_definition
class PackOp(_WordsOfRegisters):
    """`%w = tirx.pack %v : !tirx.tile<128x64xf6E2M3FN, register, L> -> !tirx.tile<128x4x3xi32, register, L2>`

    The 32-bit words that memory has in the place of a tile of 6-bit elements, three for 16 neighbours of a row, which
    one thread holds in consecutive slots. `tirx.words` gives the words of the tile in memory.
    """

    name = "tirx.pack"

    def __init__(self, source: SSAValue):
        super().__init__(source, WordsOp.type_of(TileType.of(source)))

    def verify_(self) -> None:
        self._verify_words(TileType.of(self.source), self.result.type)


@irdl_op_definition
class UnpackOp(_WordsOfRegisters):
    """`%v = tirx.unpack %w : !tirx.tile<128x4x3xi32, register, L2> -> !tirx.tile<128x64xf6E2M3FN, register, L>`

    The counterpart of `tirx.pack`: 6-bit elements from words.
    """

    name = "tirx.unpack"

    def verify_(self) -> None:
        self._verify_words(self.result.type, TileType.of(self.source))


@irdl_op_definition
class SplatOp(DirectOperation):
    """`%v = tirx.splat %x : f32 -> !tirx.tile<..., register, L>`: every element is `%x`."""

    name = "tirx.splat"

    value = operand_def(AnyAttr())
    result = result_def(TileType)

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    traits = traits_def(Pure())

    def verify_(self) -> None:
        require_register(self.result.type)
        if not is_element(self.value.type, self.result.type):
            raise ElementTypeError(f"expected a {self.result.type.element_type} value, found {self.value.type}")


@irdl_op_definition
class ZeroOp(DirectOperation):
    """`%v = tirx.zero : !tirx.tile<..., register, L>`: every bit of every element is 0; any element type has it."""

    name = "tirx.zero"

    result = result_def(TileType)

    assembly_format = "attr-dict `:` type($result)"

    traits = traits_def(Pure())

    def verify_(self) -> None:
        require_register(self.result.type)


@irdl_op_definition
class MmaSyncOp(DirectOperation):
    """`%d = tirx.mma_sync "m8n8k4.row.col.f64" %a[0], %b[0], %c[2] : ...`

    One `mma.sync` per warp on fragments of three register tiles: the numbers are the first slot (axis `m`) of
    each fragment. The result is `%c` with that one fragment replaced. `from %h[2]` behind `%c[2]` takes C from a tile
    of f16 instead, for instructions that have C in f16 and D in f32. `scales %sfa[0], %sfb[4]` are the scale factors of
    A and B for instructions that have them, `metadata %e[0] selector 1` the codes of a sparse A.
    """

    T: ClassVar = VarConstraint("T", base(TileType))

    name = "tirx.mma_sync"

    variant = prop_def(StringAttr)
    a = operand_def(TileType)
    b = operand_def(TileType)
    accumulator = operand_def(T)
    a_slot = prop_def(IntegerAttr[I32])
    b_slot = prop_def(IntegerAttr[I32])
    accumulator_slot = prop_def(IntegerAttr[I32])
    start = opt_operand_def(TileType)
    start_slot = opt_prop_def(IntegerAttr[I32])
    scale_a = opt_operand_def(TileType)
    scale_a_slot = opt_prop_def(IntegerAttr[I32])
    scale_b = opt_operand_def(TileType)
    scale_b_slot = opt_prop_def(IntegerAttr[I32])
    metadata = opt_operand_def(TileType)
    metadata_slot = opt_prop_def(IntegerAttr[I32])
    selector = opt_prop_def(IntegerAttr[I32])
    result = result_def(T)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    assembly_format = (
        "$variant $a `[` $a_slot `]` `,` $b `[` $b_slot `]` `,` $accumulator `[` $accumulator_slot `]` "
        "(`from` $start^ `[` $start_slot `]`)? (`scales` $scale_a^ `[` $scale_a_slot `]` `,`)? "
        "($scale_b^ `[` $scale_b_slot `]`)? (`metadata` $metadata^ `[` $metadata_slot `]` `selector` $selector)? "
        "attr-dict `:` type($a) `,` type($b) `,` type($accumulator) "
        "(`,` type($start)^)? (`scales` type($scale_a)^ `,`)? (type($scale_b)^)? (`metadata` type($metadata)^)?"
    )

    traits = traits_def(Pure())

    def __init__(
        self,
        variant: str,
        a: tuple[SSAValue, int],
        b: tuple[SSAValue, int],
        accumulator: tuple[SSAValue, int],
        start: tuple[SSAValue, int] | None = None,
        scales: tuple[tuple[SSAValue, int], tuple[SSAValue, int]] | None = None,
        metadata: tuple[SSAValue, int, int] | None = None,
    ):
        """Operands are tiles with the first slots of their fragments; `scales` those of A and of B, `metadata` the
        codes of a sparse A, with their selector.
        """
        (tile_a, slot_a), (tile_b, slot_b), (tile_c, slot_c) = a, b, accumulator
        of_scales = [value for each in scales or ((None, None),) * 2 for value in each]
        optional = (*(start or (None, None)), *of_scales, *(metadata or (None,) * 3))
        super().__init__(variant, tile_a, tile_b, tile_c, slot_a, slot_b, slot_c, *optional)

    def verify_(self) -> None:
        variant = VARIANTS.get(self.variant.data)
        if variant is None:
            close = get_close_matches(self.variant.data, VARIANTS, n=3, cutoff=0.0)
            raise InstructionNameError(
                f"expected a variant of mma.sync, such as {', '.join(close)}, found '{self.variant.data}'"
            )
        for name, tile, slot, fragment in (
            ("A", self.a, self.a_slot, variant.a),
            ("B", self.b, self.b_slot, variant.b),
            ("the accumulator", self.accumulator, self.accumulator_slot, variant.c),
        ):
            _require_fragment(name, TileType.of(tile), slot.value.data, fragment)
        self._verify_scales(variant)
        self._verify_metadata(variant)
        if (self.start is None) != (self.start_slot is None):
            raise OperandFormError("expected a start with its slot, or neither, found one of them")
        if self.start is not None:
            assert self.start_slot is not None
            if (half := WIDENING.get(variant.name)) is None:
                raise InstructionNameError(
                    f"expected one of {', '.join(WIDENING)} for C of f16 and D of f32, found '{variant.name}'"
                )
            _require_fragment("the start", TileType.of(self.start), self.start_slot.value.data, half.c)

    @property
    def scales(self) -> list[tuple[SSAValue, int]]:
        """The tiles of the scale factors of A and of B with the first slot of each, none where there are none."""
        tiles = [tile for tile in (self.scale_a, self.scale_b) if tile is not None]
        slots = [slot.value.data for slot in (self.scale_a_slot, self.scale_b_slot) if slot is not None]
        return list(zip(tiles, slots, strict=True))

    def _verify_scales(self, variant: MmaVariant) -> None:
        factors = variant.scales
        for name, tile, slot in (("SFA", self.scale_a, self.scale_a_slot), ("SFB", self.scale_b, self.scale_b_slot)):
            if (tile is None) != (factors is None) or (slot is None) != (factors is None):
                has = "no scale factors" if factors is None else "scale factors of A and B, with their slots,"
                raise OperandFormError(f"expected {has} for '{variant.name}', found {'none' if factors else 'some'}")
            if factors is not None:
                assert tile is not None and slot is not None
                fragment = factors.a if name == "SFA" else factors.b
                _require_fragment(name, TileType.of(tile), slot.value.data, fragment)
                if slot.value.data % fragment.elements:
                    raise OperandFormError(
                        f"expected {name} from a multiple of {fragment.elements} slots on, within one register, found "
                        f"{slot.value.data}"
                    )

    def _verify_metadata(self, variant: MmaVariant) -> None:
        given, codes = (self.metadata, self.metadata_slot, self.selector), variant.codes
        if any((each is None) != (codes is None) for each in given):
            has = "no metadata" if codes is None else "metadata with its slot and selector"
            raise OperandFormError(f"expected {has} for '{variant.name}', found {'none' if codes else 'some'}")
        if codes is not None:
            assert self.metadata is not None and self.metadata_slot is not None and self.selector is not None
            slot, selector = self.metadata_slot.value.data, self.selector.value.data
            _require_fragment("the metadata", TileType.of(self.metadata), slot, codes.fragment)
            if slot % codes.fragment.elements_per_register or not 0 <= selector < len(codes.selector_lanes):
                raise OperandFormError(
                    f"expected metadata from a multiple of {codes.fragment.elements_per_register} slots on, and a "
                    f"selector below {len(codes.selector_lanes)}, found {slot} and {selector}"
                )


def _require_fragment(name: str, type_: TileType, slot: int, fragment: Fragment) -> None:
    if type_.memory is not MemorySpace.REGISTER or type_.layout is None:
        raise OperandFormError(f"expected a register tile with a layout, found {type_}")
    if type_.dtype.name != fragment.dtype:
        raise ElementTypeError(f"expected {name} of {fragment.dtype}, found {type_.element_type}")
    slots = type_.layout.span("m")
    if not 0 <= slot <= slots - fragment.elements:
        raise ElementTypeError(
            f"expected {fragment.elements} slots of {name} within [0, {slots}), found them from slot {slot} on"
        )


@irdl_op_definition
class AddressOp(DirectOperation):
    """`%p = tirx.address %t : !tirx.tile<..., shared, L> -> i32`: the shared::cta byte address of a shared tile."""

    name = "tirx.address"

    tile = operand_def(TileType)
    result = result_def(I32)

    assembly_format = "$tile attr-dict `:` type($tile) `->` type($result)"

    traits = traits_def(Pure())

    def verify_(self) -> None:
        if (memory := TileType.of(self.tile).memory) is not MemorySpace.SHARED:
            raise TileMemoryError(f"expected a shared tile, found a {memory} one")
