"""The matrix products: dense and sparse, block scaled, weight stationary.

The A of each is a shared-memory descriptor (i64) or a tile in tensor memory, whose type then follows that of the
accumulator. PTX ISA, "TensorCore 5th Generation Matrix Multiply and Accumulate Operations".
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I1, I32, I64, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyOf,
    AttrSizedOperandSegments,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    ParsePropInAttrDict,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from tirx.dialects.definition import DirectOperation, i32_attr, int32, irdl_op_definition, string, unit
from tirx.dialects.tcgen05.attributes import Collector, CollectorAttr
from tirx.dialects.tcgen05.common import EFFECTS, ONE_CTA, expect_tensor_tile, target_of, text
from tirx.dialects.tcgen05.facts import (
    check_product,
    instruction_descriptor,
    operand,
    shared_operand,
    tensor_operand,
    zero_column_mask,
)
from tirx.dialects.tirx import TileType
from tirx.rules import InstructionNameError, ProductClauseError
from tirx.tcgen05 import KINDS, Mma, TmemOperand

_DESCRIPTOR_OR_TILE = AnyOf[Attribute]((EqAttrConstraint(i64), BaseAttr(TileType)))


@irdl_custom_directive
class TileOfA(CustomDirective):
    """`, !tirx.tile<...>` for an A in tensor memory, nothing for a descriptor."""

    a: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        in_memory = parser.parse_optional_punctuation(",") is not None
        self.a.set(state, [parser.parse_type() if in_memory else i64])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        (type_,) = self.a.get(op)
        if type_ != i64:
            printer.print_string(", ")
            printer.print_attribute(type_)


def _collector(collector: Collector | str | None) -> CollectorAttr | None:
    return None if collector is None else CollectorAttr(Collector(collector))


def _check_kind(name: str, block_scaled: bool) -> None:
    kinds = [kind.name for kind in KINDS.values() if kind.block_scaled is block_scaled]
    if name not in kinds:
        scales = "with" if block_scaled else "without"
        raise InstructionNameError(f"expected a kind {scales} scale factors ({', '.join(kinds)}), found '{name}'")


@irdl_op_definition
class MmaOp(DirectOperation):
    """
    `tcgen05.mma kind "f16" %acc, %a, %b, %idesc, %enable : !tirx.tile<128x256xf32, tensor, L>`

    `acc = a * b + acc`, or `a * b` where `%enable` is false, over one K of the instruction. One thread issues
    it; it runs asynchronously until a commit. Its modifiers, in their order:

    - `cta_group 2`: a pair of CTAs multiplies, each with half of the rows of A and half of the columns of B;
    - `sparse(%meta : T)`: half of the elements of A are stored, the metadata (a tile in tensor memory) says which;
    - `disable_lanes(%0, %1, %2, %3)`: one bit for each lane of the accumulator, set where it stays as it is; eight
      registers for a pair;
    - `ashift`: the rows of A, in tensor memory, are moved by one;
    - `collector fill`: keeps A for the next products (`use`, `lastuse`);
    - `scale_d 3`: `acc = a * b + acc * 2^-3`.

    PTX ISA, "tcgen05.mma" and "tcgen05.mma.sp".
    """

    name = "tcgen05.mma"

    kind = prop_def(StringAttr)
    accumulator = operand_def(TileType)
    a = operand_def(_DESCRIPTOR_OR_TILE)
    b = operand_def(I64)
    descriptor = operand_def(I32)
    enable_input_d = operand_def(I1)
    sparse_metadata = opt_operand_def(TileType)
    disable_lanes = var_operand_def(I32)
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)
    ashift = opt_prop_def(UnitAttr)
    collector = opt_prop_def(CollectorAttr)
    scale_d = opt_prop_def(IntegerAttr[I32])

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (TileOfA,)
    assembly_format = """
    `kind` $kind $accumulator `,` $a `,` $b `,` $descriptor `,` $enable_input_d (`cta_group` $cta_group^)?
    (`sparse` `(` $sparse_metadata^ `:` type($sparse_metadata) `)`)? (`disable_lanes` `(` $disable_lanes^ `)`)?
    (`ashift` $ashift^)? (`collector` $collector^)? (`scale_d` $scale_d^)? attr-dict `:` type($accumulator)
    custom<TileOfA>(type($a))
    """
    traits = traits_def(*EFFECTS)

    def __init__(
        self,
        kind: str,
        accumulator: SSAValue,
        a: SSAValue,
        b: SSAValue,
        descriptor: SSAValue,
        enable_input_d: SSAValue,
        *,
        cta_group: int = 1,
        sparse_metadata: SSAValue | None = None,
        disable_lanes: Sequence[SSAValue] = (),
        ashift: bool = False,
        collector: Collector | str | None = None,
        scale_d: int | None = None,
    ):
        super().__init__(
            operands=[accumulator, a, b, descriptor, enable_input_d, sparse_metadata, disable_lanes],
            properties={
                "kind": StringAttr(kind),
                "cta_group": i32_attr(cta_group),
                "ashift": unit(ashift),
                "collector": _collector(collector),
                "scale_d": int32(scale_d),
            },
        )

    def verify_(self) -> None:
        _check_operands(self.accumulator, self.a, self.sparse_metadata)
        _check_kind(self.kind.data, block_scaled=False)
        description = Mma(
            self.kind.data,
            self.cta_group.value.data,
            sparse=self.sparse_metadata is not None,
            a=operand(self.a),
            b=shared_operand(self.b),
            d=tensor_operand(self.accumulator),
            descriptor=instruction_descriptor(self.descriptor),
            sparse_metadata=_metadata(self.sparse_metadata),
            collector_buffer=None if self.collector is None else "a",
            collector_usage=None if self.collector is None else self.collector.data.value,
            ashift=self.ashift is not None,
            disable_output_lane=len(self.disable_lanes) or None,
            scale_input_d=None if self.scale_d is None else self.scale_d.value.data,
            target=target_of(self),
        )
        check_product(description, self.accumulator)


@irdl_op_definition
class MmaBlockScaleOp(DirectOperation):
    """
    `tcgen05.mma.block_scale kind "mxf4nvf4" "block16" %acc, %a, %b, %idesc, %enable scales(%sa, %sb : T, T) : ...`

    `tcgen05.mma` with scale factors of A and of B, tiles in tensor memory; the string says how many elements along K
    share one, and may be left out where the kind has one size only. Other modifiers as there. PTX ISA, "tcgen05.mma"
    and "tcgen05.mma.sp", `.block_scale`.
    """

    name = "tcgen05.mma.block_scale"

    kind = prop_def(StringAttr)
    scale_vector = opt_prop_def(StringAttr)
    accumulator = operand_def(TileType)
    a = operand_def(_DESCRIPTOR_OR_TILE)
    b = operand_def(I64)
    descriptor = operand_def(I32)
    enable_input_d = operand_def(I1)
    scale_a = operand_def(TileType)
    scale_b = operand_def(TileType)
    sparse_metadata = opt_operand_def(TileType)
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)
    collector = opt_prop_def(CollectorAttr)

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (TileOfA,)
    assembly_format = """
    `kind` $kind ($scale_vector^)? $accumulator `,` $a `,` $b `,` $descriptor `,` $enable_input_d
    `scales` `(` $scale_a `,` $scale_b `:` type($scale_a) `,` type($scale_b) `)` (`cta_group` $cta_group^)?
    (`sparse` `(` $sparse_metadata^ `:` type($sparse_metadata) `)`)? (`collector` $collector^)?
    attr-dict `:` type($accumulator) custom<TileOfA>(type($a))
    """
    traits = traits_def(*EFFECTS)

    def __init__(
        self,
        kind: str,
        accumulator: SSAValue,
        a: SSAValue,
        b: SSAValue,
        descriptor: SSAValue,
        enable_input_d: SSAValue,
        scale_a: SSAValue,
        scale_b: SSAValue,
        *,
        scale_vector: str | None = None,
        cta_group: int = 1,
        sparse_metadata: SSAValue | None = None,
        collector: Collector | str | None = None,
    ):
        super().__init__(
            operands=[accumulator, a, b, descriptor, enable_input_d, scale_a, scale_b, sparse_metadata],
            properties={
                "kind": StringAttr(kind),
                "scale_vector": string(scale_vector),
                "cta_group": i32_attr(cta_group),
                "collector": _collector(collector),
            },
        )

    def verify_(self) -> None:
        _check_operands(self.accumulator, self.a, self.sparse_metadata)
        for name, scale in (("A", self.scale_a), ("B", self.scale_b)):
            expect_tensor_tile(scale, f"the scale factors of {name}")
        _check_kind(self.kind.data, block_scaled=True)
        description = Mma(
            self.kind.data,
            self.cta_group.value.data,
            sparse=self.sparse_metadata is not None,
            scale_vector=text(self.scale_vector),
            a=operand(self.a),
            b=shared_operand(self.b),
            d=tensor_operand(self.accumulator),
            descriptor=instruction_descriptor(self.descriptor),
            sparse_metadata=_metadata(self.sparse_metadata),
            scale_a=tensor_operand(self.scale_a),
            scale_b=tensor_operand(self.scale_b),
            collector_buffer=None if self.collector is None else "a",
            collector_usage=None if self.collector is None else self.collector.data.value,
            target=target_of(self),
        )
        check_product(description, self.accumulator)


@irdl_op_definition
class MmaWsOp(DirectOperation):
    """
    `tcgen05.mma.ws kind "f16" %acc, %a, %b, %idesc, %enable, %mask : !tirx.tile<32x64xf32, tensor, L>`

    The weight-stationary product, of one CTA: `buffer "b0" collector fill` keeps B in one of four buffers for the next
    products. The zero-column mask may be left out; `sparse` as for `tcgen05.mma`. PTX ISA, "tcgen05.mma.ws" and
    "tcgen05.mma.ws.sp".
    """

    name = "tcgen05.mma.ws"

    kind = prop_def(StringAttr)
    accumulator = operand_def(TileType)
    a = operand_def(_DESCRIPTOR_OR_TILE)
    b = operand_def(I64)
    descriptor = operand_def(I32)
    enable_input_d = operand_def(I1)
    zero_column_mask = opt_operand_def(I64)
    sparse_metadata = opt_operand_def(TileType)
    buffer = opt_prop_def(StringAttr)
    collector = opt_prop_def(CollectorAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (TileOfA,)
    assembly_format = """
    `kind` $kind $accumulator `,` $a `,` $b `,` $descriptor `,` $enable_input_d (`,` $zero_column_mask^)?
    (`sparse` `(` $sparse_metadata^ `:` type($sparse_metadata) `)`)? (`buffer` $buffer^)? (`collector` $collector^)?
    attr-dict `:` type($accumulator) custom<TileOfA>(type($a))
    """
    traits = traits_def(*EFFECTS)

    def __init__(
        self,
        kind: str,
        accumulator: SSAValue,
        a: SSAValue,
        b: SSAValue,
        descriptor: SSAValue,
        enable_input_d: SSAValue,
        zero_column_mask: SSAValue | None = None,
        *,
        sparse_metadata: SSAValue | None = None,
        buffer: str | None = None,
        collector: Collector | str | None = None,
    ):
        super().__init__(
            operands=[accumulator, a, b, descriptor, enable_input_d, zero_column_mask, sparse_metadata],
            properties={
                "kind": StringAttr(kind),
                "buffer": string(buffer),
                "collector": _collector(collector),
            },
        )

    def verify_(self) -> None:
        _check_operands(self.accumulator, self.a, self.sparse_metadata)
        _check_kind(self.kind.data, block_scaled=False)
        if (self.buffer is None) != (self.collector is None):
            raise ProductClauseError("expected both or neither of buffer and collector, found one")
        description = Mma(
            self.kind.data,
            ws=True,
            sparse=self.sparse_metadata is not None,
            a=operand(self.a),
            b=shared_operand(self.b),
            d=tensor_operand(self.accumulator),
            descriptor=instruction_descriptor(self.descriptor),
            mask=zero_column_mask(self.zero_column_mask),
            sparse_metadata=_metadata(self.sparse_metadata),
            collector_buffer=text(self.buffer),
            collector_usage=None if self.collector is None else self.collector.data.value,
            target=target_of(self),
        )
        check_product(description, self.accumulator)


def _metadata(tile: SSAValue | None) -> TmemOperand | None:
    return None if tile is None else tensor_operand(tile)


def _check_operands(accumulator: SSAValue, a: SSAValue, sparse_metadata: SSAValue | None) -> None:
    expect_tensor_tile(accumulator, "the accumulator")
    if isinstance(a.type, TileType):
        expect_tensor_tile(a, "A")
    if sparse_metadata is not None:
        expect_tensor_tile(sparse_metadata, "the sparsity metadata")
