"""The products: dense and sparse, over tiles or, once those have theirs, over registers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, I64, IntegerAttr, StringAttr, UnitAttr, f32, i32, i64
from xdsl.ir import Attribute, SSAValue
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
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.ptx.base import Names, vector
from tirx.dialects.ptx.effects import AccessKind, Effects, MemoryAccess, SharedMatrix
from tirx.dialects.ptx.known_bits import EVERYTHING, IMMEDIATE, known_bits
from tirx.dialects.tirx import MemorySpace, PendingType, TileType
from tirx.dialects.wgmma.descriptors import SmemDescriptorOp
from tirx.dialects.wgmma.synchronization import WgmmaOp
from tirx.hw.errors import LegalityError
from tirx.layout import LayoutError, TileLayout
from tirx.rules import (
    DescriptorSliceError,
    InstructionFormError,
    InvalidOperation,
    OperandFormError,
    ProductClauseError,
)
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.wgmma.check import RegisterOperand, SmemOperand, Wgmma, check_wgmma
from tirx.wgmma.fragments import CODE_BITS
from tirx.wgmma.kinds import ROWS, Form, find_kind
from tirx.wgmma.match import accumulator_part


def _register_tile(type_: TileType, what: str) -> TileLayout:
    if type_.memory is not MemorySpace.REGISTER or not isinstance(type_.layout, TileLayout) or len(type_.dims) != 2:
        raise OperandFormError(f"expected {what} as a matrix in registers with a layout, found {type_}")
    return type_.layout


@irdl_op_definition
class UninitializedOp(DirectOperation):
    """`%0 = wgmma.uninitialized : T`: accumulators without a value, of which products with `overwrite` make one."""

    name = "wgmma.uninitialized"

    tile = result_def(TileType)

    assembly_format = "attr-dict `:` type($tile)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        _register_tile(TileType.of(self.tile), "accumulators")


@irdl_op_definition
class MmaAsyncOp(WgmmaOp):
    """`%p = wgmma.mma_async "f16" "f16" n 256 a(%a : i64) b(%b) c(%acc : T) at 0 -> !tirx.pending<T>`

    `d = a * b + c`, asynchronously, over every warpgroup that holds a part of the accumulators: the 64 x n part whose
    first element is `at` on axis m; the rest of the tile stays. A is a descriptor, or a register tile, with its first
    element on axis m behind `a_at`; B is a descriptor. Modifiers, in their order:

    - `scale_d %p`: where the predicate is false the old value of the part does not count; `overwrite`: it never does;
    - `metadata(%e : T) selector 0`: sparse A; `metadata_at`: its first code on axis m;
    - `transpose_a`, `transpose_b`: the operand is MN-major; `negate_a`, `negate_b`; `saturate`.

    `%d0, %d1 = wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%c0, %c1 : i32, i32) -> i32, i32` is the same over
    registers, once `convert-wgmma-to-ptx` has found them: A is a descriptor or four i32 of every thread, the
    accumulators are f32, or i32 (s32, or f16 in pairs), whose number gives N. They take the registers of `c`, which
    nothing else may read; without `c` they are `a * b`. PTX ISA, "wgmma.mma_async" and "wgmma.mma_async.sp".
    """

    name = "wgmma.mma_async"
    FOLLOWS_IMMEDIATES: ClassVar = True

    a_type = prop_def(StringAttr)
    b_type = prop_def(StringAttr)
    n = opt_prop_def(IntegerAttr[I32])
    a = var_operand_def()
    b = operand_def(I64)
    c = var_operand_def()
    at = opt_prop_def(IntegerAttr[I32])
    a_at = opt_prop_def(IntegerAttr[I32])
    scale_d = opt_operand_def(I1)
    overwrite = opt_prop_def(UnitAttr)
    metadata = opt_operand_def()
    metadata_at = opt_prop_def(IntegerAttr[I32])
    selector = opt_prop_def(IntegerAttr[I32])
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    negate_a = opt_prop_def(UnitAttr)
    negate_b = opt_prop_def(UnitAttr)
    saturate = opt_prop_def(UnitAttr)
    d = var_result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    $a_type $b_type (`n` $n^)? `a` `(` $a `:` type($a) `)` `b` `(` $b `)` (`c` `(` $c^ `:` type($c) `)`)? (`at` $at^)?
    (`a_at` $a_at^)? (`scale_d` $scale_d^)? (`overwrite` $overwrite^)?
    (`metadata` `(` $metadata^ `:` type($metadata) `)`)? (`metadata_at` $metadata_at^)? (`selector` $selector^)?
    (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`negate_a` $negate_a^)? (`negate_b` $negate_b^)?
    (`saturate` $saturate^)? attr-dict `->` type($d)
    """

    @classmethod
    def of(
        cls,
        form: Form,
        a: Sequence[SSAValue],
        b: SSAValue,
        c: Sequence[SSAValue],
        d: Sequence[Attribute],
        **fields: object,
    ) -> MmaAsyncOp:
        """Returns an instruction of this form with results of the types `d`."""
        signs = {"negate_a": form.negate_a, "negate_b": form.negate_b, "saturate": form.saturate}
        return cls(form.a, form.b, a, b, c, d, **signs, **fields)

    @property
    def accumulator(self) -> SSAValue | None:
        """The tile, pending or not, that the product adds to; None where accumulators are registers."""
        return self.c[0] if len(self.d) == 1 and isinstance(self.d[0].type, PendingType) and self.c else None

    @property
    def form(self) -> Form:
        """The form that the types and the number of registers mean. Raises LegalityError for unknown element types."""
        if (accumulator := self.accumulator) is not None:
            a, b, d = self.a_type.data, self.b_type.data, PendingType.tile_of(accumulator).dtype.name
            n = 0 if self.n is None else self.n.value.data
        else:
            kind = find_kind(self.a_type.data, self.b_type.data)
            a, b, d = kind.a, kind.b, "f32"
            if self.d and self.d[0].type == i32:
                d = "s32" if "s32" in kind.results else "f16"
            n = len(self.d) * (4 if d == "f16" else 2)
        sparse, saturate = self.metadata is not None, self.saturate is not None
        return Form(a, b, d, n, sparse, saturate, self.negate_a is not None, self.negate_b is not None)

    @property
    def a_is_descriptor(self) -> bool:
        return len(self.a) == 1 and self.a[0].type == i64

    def verify_(self) -> None:
        if (self.metadata is None) != (self.selector is None):
            raise ProductClauseError("expected both or neither of metadata and selector, found one")
        try:
            if self.accumulator is None:
                self._check_registers(self.form)
                check_wgmma(self.describe(IMMEDIATE))
            else:
                self._check_tiles(self.accumulator)
        except (LegalityError, LayoutError) as error:
            raise InvalidOperation(str(error)) from error

    def _check_registers(self, form: Form) -> None:
        for name in ("n", "at", "a_at", "overwrite", "metadata_at"):
            if name in self.properties:
                raise InstructionFormError(f"expected '{name}' with tiles only, found it with registers")
        types = set(self.d.types)
        if len(types) != 1:
            raise InstructionFormError(f"expected results of one type, found ({', '.join(map(str, self.d.types))})")
        if types - {f32, i32}:
            raise InstructionFormError(f"expected results of f32 or i32, found {self.d.types[0]}")
        if self.c and self.c.types != self.d.types:
            raise InstructionFormError(
                f"expected c to be {len(self.d)} registers {self.d.types[0]} as the results, found "
                f"({', '.join(map(str, self.c.types))})"
            )
        if not self.a_is_descriptor and list(self.a.types) != [i32] * form.a_registers:
            raise InstructionFormError(
                f"expected a to be a descriptor (i64) or {form.a_registers} registers i32, found "
                f"({', '.join(map(str, self.a.types))})"
            )
        if self.metadata is not None and self.metadata.type != i32:
            raise InstructionFormError(f"expected metadata in a register i32, found {self.metadata.type}")
        if self.scale_d is not None and not self.c:
            raise InstructionFormError("expected c where scale_d says whether it counts, found none")

    def _check_tiles(self, accumulator: SSAValue) -> None:
        acc, form = PendingType.tile_of(accumulator), self.form
        layout = _register_tile(acc, "accumulators")
        if self.d[0].type != PendingType(acc):
            raise ProductClauseError(f"expected a result of type {PendingType(acc)}, found {self.d[0].type}")
        if self.n is None or self.at is None or len(self.a) != 1 or len(self.c) != 1:
            raise ProductClauseError("expected n, at, and one A and one C with tiles")
        if self.overwrite is not None and self.scale_d is not None:
            raise ProductClauseError("expected scale_d or overwrite, found both")
        if self.metadata is not None:
            codes = TileType.of(self.metadata)
            _register_tile(codes, "metadata")
            if codes.dtype.bits != CODE_BITS:
                raise ProductClauseError(f"expected metadata of i4, a code of {CODE_BITS} bits, found {codes}")
        check_wgmma(self.describe(IMMEDIATE))
        self._check_places(accumulator_part(layout, (acc.dims[0], acc.dims[1]), self.at.value.data, form.n))

    def describe(self, depth: int) -> Wgmma:
        """The instruction as plain data, with what is known of its operands (`known_bits`)."""
        form = self.form
        if self.a_is_descriptor:
            a = _operand(self.a[0], depth)
        elif isinstance(type_ := self.a[0].type, TileType):
            _register_tile(type_, "A")
            a = RegisterOperand(type_.dtype.name)
        else:
            a = RegisterOperand()
        return Wgmma(
            form,
            a,
            _operand(self.b, depth),
            None if self.accumulator is None else RegisterOperand(form.d),
            selector=None if self.selector is None else self.selector.value.data,
            transpose_a=self.transpose_a is not None,
            transpose_b=self.transpose_b is not None,
        )

    @property
    def description(self) -> Wgmma:
        """The instruction with all that is known of its operands."""
        return self.describe(EVERYTHING)

    def _check_places(self, parts: tuple[tuple[int, tuple[int, int]], ...]) -> None:
        """Raises VerifyException unless each warpgroup reads the rows of A and of B that its part of D belongs to."""
        groups = tuple(group for group, _ in parts)
        for name, operand, wanted, rows in (
            ("A", self.a[0], tuple(row for _, (row, _) in parts), ROWS),
            ("B", self.b, tuple(column for _, (_, column) in parts), self.form.n),
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

    def effects(self) -> Effects:
        kind = self.form.kind
        operands: list[tuple[SSAValue, Major, tuple[int, int]]] = []
        if self.a_is_descriptor:
            operands.append((self.a[0], "K" if self.transpose_a is None else "MN", (ROWS, kind.k)))
        operands.append((self.b, "K" if self.transpose_b is None else "MN", (self.form.n, self.form.k)))
        read = (SharedMatrix(each, major, shape, kind.bits, WGMMA_OPERANDS) for each, major, shape in operands)
        return Effects(MemoryAccess(AccessKind.WARPGROUP, reads=tuple(read)))

    def in_place(self) -> Iterable[tuple[SSAValue, int]]:
        first = len(self.a) + 1
        return zip(self.d, range(first, first + len(self.c)), strict=bool(self.c))

    FORMS_NEED: ClassVar = ("wgmma", "wgmma.mixed_integers", "wgmma.sparse")

    def features(self) -> tuple[str, ...]:
        return self.form.features

    def emit(self, reg: Names) -> str:
        form = self.form
        operands = [vector(reg, self.d)]
        operands.append(reg.imm(self.a[0]) if self.a_is_descriptor else vector(reg, self.a))
        operands.append(reg.imm(self.b))
        if self.metadata is not None:
            assert self.selector is not None
            operands += [reg(self.metadata), str(self.selector.value.data)]
        operands.append(str(int(bool(self.c))) if self.scale_d is None else reg.imm(self.scale_d))
        transposes = self.transpose_a is not None, self.transpose_b is not None
        operands += map(str, form.immediates(self.a_is_descriptor, *transposes))
        return f"{form.mnemonic} {', '.join(operands)}"


def _operand(value: SSAValue, depth: int) -> SmemOperand:
    """An operand in shared memory, by its descriptor: a symbolic one, or as far as its bits are known."""
    if not isinstance(op := value.owner, SmemDescriptorOp):
        return SmemOperand(known_bits(value, depth))
    descriptor = op.descriptors()[0]
    return SmemOperand(descriptor, op.rows.value.data, op.dtype, op.major, op.k.value.data)
