"""The products: dense and sparse, on accumulators that are values."""

from __future__ import annotations

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
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tirx.dialects.definition import i32_attr, irdl_op_definition, unit
from tirx.dialects.tirx import MemorySpace, PendingType, TileType
from tirx.dialects.wgmma.descriptors import SmemDescriptorOp
from tirx.dialects.wgmma.synchronization import EFFECTS
from tirx.hw.errors import LegalityError
from tirx.layout import LayoutError, TileLayout
from tirx.rules import DescriptorSliceError, InvalidOperation, OperandFormError, ProductClauseError
from tirx.wgmma import CODE_BITS, ROWS, Form, RegisterOperand, SmemOperand, Wgmma, accumulator_part, check_wgmma

_TILE_OR_PENDING = AnyOf[Attribute]((BaseAttr(TileType), BaseAttr(PendingType)))
_DESCRIPTOR_OR_TILE = AnyOf[Attribute]((EqAttrConstraint(i64), BaseAttr(TileType)))


def _register_tile(type_: TileType, what: str) -> TileLayout:
    if type_.memory is not MemorySpace.REGISTER or not isinstance(type_.layout, TileLayout) or len(type_.dims) != 2:
        raise OperandFormError(f"expected {what} as a matrix in registers with a layout, found {type_}")
    return type_.layout


@irdl_op_definition
class UninitializedOp(IRDLOperation):
    """`%0 = wgmma.uninitialized : T`: accumulators without a value, of which products with `overwrite` make one."""

    name = "wgmma.uninitialized"

    tile = result_def(TileType)

    assembly_format = "attr-dict `:` type($tile)"
    traits = traits_def(Pure())

    def __init__(self, type_: TileType):
        super().__init__(result_types=[type_])

    def verify_(self) -> None:
        _register_tile(TileType.of(self.tile), "accumulators")


@irdl_op_definition
class MmaAsyncOp(IRDLOperation):
    """
    `%p = wgmma.mma_async "f16" "f16" n 256 %acc at 0, %a, %b : T, i64 -> !tirx.pending<T>`

    One instruction of every warpgroup that holds a part of the accumulators: `acc = a * b + acc` on the 64 x n part
    whose first element is `at` on axis m; the rest of the tile stays. A is a descriptor, or a register tile, with its
    first element on axis m behind `a_at`; B is a descriptor. Modifiers, in their order:

    - `scale_d %p`: where the predicate is false the old value of the part does not count; `overwrite`: it never does;
    - `metadata(%e : T) selector 0`: sparse A; `metadata_at`: its first code on axis m;
    - `transpose_a`, `transpose_b`: the operand is MN-major; `negate_a`, `negate_b`; `saturate`.

    PTX ISA, "wgmma.mma_async" and "wgmma.mma_async.sp".
    """

    name = "wgmma.mma_async"

    a_type = prop_def(StringAttr)
    b_type = prop_def(StringAttr)
    n = prop_def(IntegerAttr[I32])
    accumulator = operand_def(_TILE_OR_PENDING)
    at = prop_def(IntegerAttr[I32])
    a = operand_def(_DESCRIPTOR_OR_TILE)
    a_at = opt_prop_def(IntegerAttr[I32])
    b = operand_def(I64)
    scale_d = opt_operand_def(I1)
    overwrite = opt_prop_def(UnitAttr)
    metadata = opt_operand_def(TileType)
    metadata_at = opt_prop_def(IntegerAttr[I32])
    selector = opt_prop_def(IntegerAttr[I32])
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    negate_a = opt_prop_def(UnitAttr)
    negate_b = opt_prop_def(UnitAttr)
    saturate = opt_prop_def(UnitAttr)
    result = result_def(PendingType)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = """
    $a_type $b_type `n` $n $accumulator `at` $at `,` $a (`a_at` $a_at^)? `,` $b (`scale_d` $scale_d^)?
    (`overwrite` $overwrite^)? (`metadata` `(` $metadata^ `:` type($metadata) `)`)? (`metadata_at` $metadata_at^)?
    (`selector` $selector^)? (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`negate_a` $negate_a^)?
    (`negate_b` $negate_b^)? (`saturate` $saturate^)? attr-dict `:` type($accumulator) `,` type($a) `->` type($result)
    """
    traits = traits_def(*EFFECTS)

    def __init__(
        self,
        form: Form,
        accumulator: SSAValue,
        a: SSAValue,
        b: SSAValue,
        at: int = 0,
        *,
        a_at: int | None = None,
        scale_d: SSAValue | None = None,
        overwrite: bool = False,
        metadata: SSAValue | None = None,
        metadata_at: int | None = None,
        selector: int | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
    ):
        super().__init__(
            operands=[accumulator, a, b, scale_d, metadata],
            properties={
                "a_type": StringAttr(form.a),
                "b_type": StringAttr(form.b),
                "n": i32_attr(form.n),
                "at": i32_attr(at),
                "a_at": None if a_at is None else i32_attr(a_at),
                "overwrite": unit(overwrite),
                "metadata_at": None if metadata_at is None else i32_attr(metadata_at),
                "selector": None if selector is None else i32_attr(selector),
                "transpose_a": unit(transpose_a),
                "transpose_b": unit(transpose_b),
                "negate_a": unit(form.negate_a),
                "negate_b": unit(form.negate_b),
                "saturate": unit(form.saturate),
            },
            result_types=[PendingType(PendingType.tile_of(accumulator))],
        )

    @property
    def accumulator_type(self) -> TileType:
        """The tile, pending or not."""
        return PendingType.tile_of(self.accumulator)

    @property
    def form(self) -> Form:
        """The form of the instruction."""
        return Form(
            self.a_type.data,
            self.b_type.data,
            self.accumulator_type.dtype.name,
            self.n.value.data,
            self.metadata is not None,
            self.saturate is not None,
            self.negate_a is not None,
            self.negate_b is not None,
        )

    def verify_(self) -> None:
        acc, form = self.accumulator_type, self.form
        layout = _register_tile(acc, "accumulators")
        if self.result.type != PendingType(acc):
            raise ProductClauseError(f"expected a result of type {PendingType(acc)}, found {self.result.type}")
        if self.overwrite is not None and self.scale_d is not None:
            raise ProductClauseError("expected scale_d or overwrite, found both")
        if (self.metadata is None) != (self.selector is None):
            raise ProductClauseError("expected both or neither of metadata and selector, found one")
        if self.metadata is not None:
            codes = TileType.of(self.metadata)
            _register_tile(codes, "metadata")
            if codes.dtype.bits != CODE_BITS:
                raise ProductClauseError(f"expected metadata of i4, a code of {CODE_BITS} bits, found {codes}")
        try:
            check_wgmma(self._description(form))
            parts = accumulator_part(layout, (acc.dims[0], acc.dims[1]), self.at.value.data, form.n)
            self._check_places(parts)
        except (LegalityError, LayoutError) as error:
            raise InvalidOperation(str(error)) from error

    def _description(self, form: Form) -> Wgmma:
        if isinstance(self.a.type, TileType):
            _register_tile(self.a.type, "A")
            a = RegisterOperand(self.a.type.dtype.name)
        else:
            a = _operand(self.a)
        return Wgmma(
            form,
            a,
            _operand(self.b),
            RegisterOperand(form.d),
            selector=None if self.selector is None else self.selector.value.data,
            transpose_a=self.transpose_a is not None,
            transpose_b=self.transpose_b is not None,
        )

    def _check_places(self, parts: tuple[tuple[int, tuple[int, int]], ...]) -> None:
        """Raises VerifyException unless each warpgroup reads the rows of A and of B that its part of D belongs to."""
        groups = tuple(group for group, _ in parts)
        for name, operand, wanted, rows in (
            ("A", self.a, tuple(row for _, (row, _) in parts), ROWS),
            ("B", self.b, tuple(column for _, (_, column) in parts), self.n.value.data),
        ):
            op = operand.owner
            if not isinstance(op, SmemDescriptorOp):
                continue
            found = op.first_rows
            first = 0 if op.warpgroup is None else op.warpgroup.value.data
            # One row that all of them read, or one for each.
            agrees = {*found} == {*wanted} if len(found) == 1 else (found, first) == (wanted, groups[0])
            if op.rows.value.data != rows or not agrees:
                raise DescriptorSliceError(
                    f"expected the descriptor of {rows} rows of {name} from {', '.join(map(str, wanted))} on, for "
                    f"warpgroups {', '.join(map(str, groups))}, as the accumulators have them, found "
                    f"{op.rows.value.data} rows from {', '.join(map(str, found))} on, from warpgroup {first} on"
                )


def _operand(value: SSAValue) -> SmemOperand:
    """An operand in shared memory, as far as its descriptor is symbolic."""
    if not isinstance(op := value.owner, SmemDescriptorOp):
        return SmemOperand()
    descriptor = op.descriptors()[0]
    return SmemOperand(descriptor, op.rows.value.data, op.dtype, op.major, op.k.value.data)
