"""`tirx.mma`: the product of two tiles, and everything that a tensor core can be asked about it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Self

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import I1, StringAttr, UnitAttr, f16, f32, i1
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.fields import fields_text, parse_value
from tirx.dialects.syntax import (
    OPERAND,
    AnyOrder,
    Clause,
    Form,
    parse_attributes,
    parse_operands,
    parse_types,
    write,
    write_types,
)
from tirx.dialects.text_data import TextData
from tirx.dialects.tirx.attributes import MemorySpace, TileType, ZeroColumnsAttr, shape_text
from tirx.dialects.tirx.interface import TileOpInterface
from tirx.dialects.tirx.ring_types import PendingType
from tirx.mma.fragments import VARIANTS
from tirx.rules import InstructionNameError, ProductClauseError, ProductShapeError, TileMemoryError
from tirx.smem.swizzle_modes import MAJORS, Major
from tirx.tcgen05.kinds import KINDS
from tirx.values import dataclass
from tirx.wgmma.kinds import ROWS


def _check_majors(a: Major, b: Major) -> None:
    for name, major in (("a_major", a), ("b_major", b)):
        if major not in MAJORS:
            raise ValueError(f"expected {name} to be K or MN, found {major}")


@dataclass(frozen=True)
class Tcgen05Plan:
    """A product by tcgen05.mma, one instruction for every `k` elements along K.

    `m` and `n` are those of the instruction: of both blocks with `cta_group` 2. `scale_vector` is the name of the
    modifier that says how scale factors are shared out, None without them. Raises ValueError for an unknown kind or
    major-ness; whether the instruction exists is checked with the product.
    """

    family: ClassVar[str] = "tcgen05"

    kind: str
    m: int
    n: int
    k: int
    a_major: Major
    b_major: Major
    cta_group: int = 1
    scale_vector: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"expected a kind of tcgen05.mma, {', '.join(KINDS)}, found {self.kind}")
        _check_majors(self.a_major, self.b_major)


@dataclass(frozen=True)
class MmaSyncPlan:
    """A product by mma.sync, with these variants of it: one, or several where the registers hold different fragments.

    Raises ValueError for none and for an unknown one.
    """

    family: ClassVar[str] = "mma_sync"

    variants: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.variants:
            raise ValueError("expected a variant of mma.sync or more, found none")
        for name in self.variants:
            if name not in VARIANTS:
                close = get_close_matches(name, VARIANTS, n=1, cutoff=0.0)
                raise ValueError(f"expected a variant of mma.sync such as {close[0]}, found {name}")


@dataclass(frozen=True)
class WgmmaPlan:
    """A product by wgmma.mma_async, with B in shared memory.

    `shapes`: those of the instructions that one step along K takes, in the order of the columns of D that each
    warpgroup holds. `a_major` is K for an A in registers. Raises ValueError for no shape, one that is not written as
    wgmma's are, and an unknown major-ness; whether the instructions exist is checked with the product.
    """

    family: ClassVar[str] = "wgmma"

    shapes: tuple[str, ...]
    a_major: Major
    b_major: Major

    def __post_init__(self) -> None:
        if not self.shapes:
            raise ValueError("expected a shape of wgmma or more, found none")
        for shape in self.shapes:
            if re.fullmatch(rf"m{ROWS}n\d+k\d+", shape) is None:
                raise ValueError(f"expected a shape of wgmma such as m64n256k16, found {shape}")
        _check_majors(self.a_major, self.b_major)


ProductPlan = Tcgen05Plan | MmaSyncPlan | WgmmaPlan

PLANS: dict[str, type[ProductPlan]] = {plan.family: plan for plan in (Tcgen05Plan, MmaSyncPlan, WgmmaPlan)}
"""The families of tensor-core instructions, by the name that a plan starts with."""


@irdl_attr_definition
class PlanAttr(TextData[ProductPlan]):
    """`#tirx.plan<tcgen05, kind = "f16", m = 128, n = 256, k = 16, a_major = "K", b_major = "K">`,
    `#tirx.plan<mma_sync, variants = ["m16n8k16.row.col.f32.f16"]>` or
    `#tirx.plan<wgmma, shapes = ["m64n256k16"], a_major = "K", b_major = "K">`: how a product is multiplied.

    On `tirx.mma` it is written as the clause `plan(...)`.
    """

    name = "tirx.plan"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ProductPlan:
        start = parser.pos
        family = parser.parse_identifier()
        if family not in PLANS:
            parser.raise_error(f"expected a family of products, {', '.join(PLANS)}, found {family}", start, parser.pos)
        parser.parse_punctuation(",")
        return parse_value(parser, PLANS[family])

    def body(self) -> str:
        return f"{self.data.family}, {fields_text(self.data)}"


SCALE_ROWS = 128
"""Scale factors are copied to tensor memory in blocks of so many rows."""

K96_INSTRUCTION = "k96"
"""What the clause `instruction` may ask for in tensor memory."""

SHARED_CLAUSES = ("negate_a", "negate_b", "saturate", "accumulate")
"""Clauses of products that read shared memory, tcgen05 and wgmma, which mma.sync does not have."""

FLAGS = ("pair", "negate_a", "negate_b", "saturate")
"""Clauses without arguments besides `weight_stationary`, as they are printed."""


_OPERAND_MEMORIES = {
    MemorySpace.TENSOR: ((MemorySpace.SHARED, MemorySpace.TENSOR), (MemorySpace.SHARED,)),
    MemorySpace.REGISTER: ((MemorySpace.REGISTER, MemorySpace.SHARED), (MemorySpace.REGISTER, MemorySpace.SHARED)),
    MemorySpace.ACCUMULATOR: (
        (MemorySpace.REGISTER, MemorySpace.SHARED, MemorySpace.TENSOR),
        (MemorySpace.REGISTER, MemorySpace.SHARED),
    ),
}
"""The memory of the accumulator -> the memories that A and B may be in."""


_FAST_MATH = Form(
    lambda parser: FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser)),
    lambda flags: [str(flags).removeprefix(f"#{flags.name}")],
)

_CLAUSES = AnyOrder(
    Clause("scales()", Form(lambda parser: parse_operands(parser, 2))),
    Clause("metadata()", OPERAND),
    Clause("weight_stationary"),
    Clause("zero_columns()", ZeroColumnsAttr),
    *map(Clause, FLAGS),
    Clause("accumulate()", Form(lambda parser: parser.resolve_operand(parser.parse_unresolved_operand(), i1))),
    Clause("instruction()", str),
    Clause("fastmath", _FAST_MATH),
    Clause("plan()", PlanAttr),
)


class ProductOp(DirectOperation):
    """A product of two tiles, `%a, %b, %acc clauses : !tirx.tile<MxK...>, !tirx.tile<NxK...>, !tirx.tile<MxN...>`.

    `acc[m, n] += sum_k a[m, k] * b[n, k]`; leading dimensions, if any, are a batch. Major-ness is a property
    of the layouts. With the accumulator in tensor memory this is `tcgen05.mma`: B is in shared memory, A in shared or
    tensor memory. With the accumulator in registers and B in shared memory it is `wgmma`, on targets that have it: A is
    in shared memory or registers. With all three in registers it is `mma.sync`. Clauses, in any order:

    - `scales(%sfa, %sfb)`: every element of A and B is multiplied by the scale factor of its block along K; `%sfa` is
      MxS, `%sfb` NxS, for blocks of K/S elements, both in the accumulator's memory; `%sfb` may have N rounded up to 128
      rows, of which nothing reads those from N on,
    - `metadata(%e)`: A is sparse: its tile holds the half of the elements that is stored, MxK/2, and `%e`, in the
      memory of the accumulator, says which they are; blocks of scale factors are then twice as long, and count all
      elements,
    - `weight_stationary`: `tcgen05.mma.ws`, which keeps B in the tensor core,
    - `zero_columns(...)`: these columns of B count as zero (implies `weight_stationary`), see `#tirx.zero_columns`,
    - `pair`: both blocks of a pair multiply together; the tiles are those of one, which holds half of the rows of A
      (with their scale factors and metadata) and of the accumulator, and half of the rows of B, N/2, but the scale
      factors of all of B (only with `cluster(2) per_cta`, on all products of tensor memory or on none),
    - `negate_a`, `negate_b`: the operand is negated,
    - `saturate`: integer sums stay at the ends of their range instead of wrapping,
    - `accumulate(%p)`: with `%p` false the accumulator is overwritten instead of added to,
    - `instruction("m16n8k16")`: the shape of `mma.sync`, for registers that several fit; in tensor memory
      `instruction("k96")`, for packed 4-bit operands with scale factors on sm_103a or sm_107a: 96 of K at a time even
      where a larger K would serve,
    - `fastmath<reassoc>`: the sums of a loop may be added in another order, as `arith.addf` has it: blocks may share
      them out along K, where that is predicted to take less time (see `tirx-stream-k`),
    - `plan(...)`: the instructions that multiply, see `#tirx.plan`; `tirx-select-instructions` chooses them.

    With the accumulator in registers, `mma.sync` has none of them but `scales` (sm_120a, sm_121a and their family),
    `metadata` (from sm_80 on) and the last two, and wgmma those from `metadata` on that do not mention tensor memory or
    pairs.

    Types are those of A, B and the accumulator, then of scale factors and metadata.

    An accumulator in the memory `accumulator` is in tensor memory or registers, as `tirx-resolve-accumulators` decides.
    One in tensor memory, or in a `tirx.alloc` of registers, is updated in place. A register value
    never changes: then the product has a result, the new accumulator, of its type or of f32 for one of f16.
    `tirx-mem2reg` turns allocations into values.
    """

    a = operand_def(TileType)
    b = operand_def(TileType)
    accumulator = operand_def(base(TileType) | base(PendingType))
    scale_a = opt_operand_def(TileType)
    scale_b = opt_operand_def(TileType)
    metadata = opt_operand_def(TileType)
    accumulate = opt_operand_def(I1)
    weight_stationary = opt_prop_def(UnitAttr)
    zero_columns = opt_prop_def(ZeroColumnsAttr)
    pair = opt_prop_def(UnitAttr)
    negate_a = opt_prop_def(UnitAttr)
    negate_b = opt_prop_def(UnitAttr)
    saturate = opt_prop_def(UnitAttr)
    instruction = opt_prop_def(StringAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    plan = opt_prop_def(PlanAttr)
    result = opt_result_def(base(TileType) | base(PendingType))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        accumulator: SSAValue,
        accumulate: SSAValue | None = None,
        *,
        scales: tuple[SSAValue, ...] | None = None,
        result_type: Attribute | None = None,
        **clauses: Any,
    ):
        """`scales` are SFA and SFB; `clauses` are fields by name: `metadata`, `zero_columns`, `saturate`, ..."""
        scale_a, scale_b = scales or (None, None)
        tiles = {"a": a, "b": b, "accumulator": accumulator, "accumulate": accumulate}
        super().__init__(**tiles, scale_a=scale_a, scale_b=scale_b, result=result_type, **clauses)

    def with_operands(
        self, a: SSAValue, b: SSAValue, accumulator: SSAValue, accumulate: SSAValue | None, result: Attribute | None
    ) -> Self:
        """Returns the same product of other tiles, which overwrites its accumulator when `accumulate` is false."""
        tiles = (a, b, accumulator, accumulate)
        product = type(self)(*tiles, scales=self.scales, metadata=self.metadata, result_type=result)
        product.properties |= {**self.properties, **product.properties}
        return product.with_attributes(self.attributes)

    def with_accumulate(self, accumulate: SSAValue) -> Self:
        """Returns the same product, which overwrites its accumulator when `accumulate` is false."""
        result = None if self.result is None else self.result.type
        return self.with_operands(self.a, self.b, self.accumulator, accumulate, result)

    @property
    def a_type(self) -> TileType:
        return TileType.of(self.a)

    @property
    def b_type(self) -> TileType:
        return TileType.of(self.b)

    @property
    def accumulator_type(self) -> TileType:
        """The type of the accumulator's tile, pending or not."""
        return PendingType.tile_of(self.accumulator)

    @property
    def scales(self) -> tuple[SSAValue, ...]:
        """SFA and SFB, none for a product without scale factors."""
        return tuple(tile for tile in (self.scale_a, self.scale_b) if tile is not None)

    @property
    def on_tensor_memory(self) -> bool:
        """Returns True if this is a tcgen05 product, as opposed to one in registers."""
        return self.accumulator_type.memory is MemorySpace.TENSOR

    @property
    def reads_shared(self) -> bool:
        """Returns True if accumulators in registers take a B in shared memory."""
        return not self.on_tensor_memory and self.b_type.memory is MemorySpace.SHARED

    @property
    def is_weight_stationary(self) -> bool:
        """Returns True if this is `tcgen05.mma.ws`."""
        return self.weight_stationary is not None or self.zero_columns is not None

    @property
    def is_sparse(self) -> bool:
        """Returns True if A holds only the stored half of its elements."""
        return self.metadata is not None

    @property
    def may_reassociate(self) -> bool:
        """Returns True if the sums of a loop may be added in another order."""
        return self.fastmath is not None and FastMathFlag.REASSOC in self.fastmath.data

    @property
    def k(self) -> int:
        """Elements along K, stored or not."""
        return self.b_type.dims[-1]

    def verify_shapes(self) -> None:
        """Raises VerifyException unless the shapes of all operands fit."""
        a, b, acc = self.a_type, self.b_type, self.accumulator_type
        if len(acc.dims) < 2 or len(a.dims) != len(acc.dims) or len(b.dims) != len(acc.dims):
            raise ProductShapeError(
                f"expected A as MxK, B as NxK and the accumulator as MxN, all with the same batch dimensions or none, "
                f"found {shape_text(a)}, {shape_text(b)} and {shape_text(acc)}"
            )
        *batch, m, n = acc.dims
        shift = 0 if self.zero_columns is None else self.zero_columns.data.shift
        # A is compared first: its K is what B has to have.
        k = a.dims[-1] * (2 if self.is_sparse else 1)
        stored = "xK/2, the stored half," if self.is_sparse else "xK"
        if a.dims[:-1] != (*batch, m):
            raise ProductShapeError(f"expected A as {'x'.join(map(str, (*batch, m)))}{stored}, found {shape_text(a)}")
        rows = n + shift if self.pair is None else n // 2
        if b.dims != (*batch, rows, k):
            of_pair = f" (half of N = {n})" if self.pair is not None else ""
            shifted = f" (N = {n} plus a shift of {shift})" if shift else of_pair
            raise ProductShapeError(
                f"expected B as {'x'.join(map(str, (*batch, rows, k)))}{shifted}, found {shape_text(b)}"
            )
        if len(self.scales) == 1:
            raise ProductShapeError("expected scale factors of both A and B, or of neither")
        if self.scales:
            self._verify_scales(m, n, k)

    def _verify_scales(self, m: int, n: int, k: int) -> None:
        sfa, sfb = map(TileType.of, self.scales)
        blocks = sfa.dims[-1]
        padded = -(-n // SCALE_ROWS) * SCALE_ROWS
        if sfa.dims != (m, blocks) or sfb.dims not in ((n, blocks), (padded, blocks)) or k % blocks:
            rounded = f" (or {padded}xS)" if padded != n else ""
            raise ProductShapeError(
                f"expected SFA as {m}xS and SFB as {n}xS{rounded}, S a divisor of K = {k}, found {shape_text(sfa)} and "
                f"{shape_text(sfb)}"
            )

    def verify_clauses(self) -> None:
        """Raises VerifyException for a clause that accumulators in this memory never have."""
        acc = self.accumulator_type.memory
        if (
            self.metadata is not None
            and acc is not MemorySpace.ACCUMULATOR
            and (memory := TileType.of(self.metadata).memory) is not acc
        ):
            raise ProductClauseError(
                f"expected the metadata in {acc.place}, as the accumulator, found it in {memory.place}"
            )
        if self.on_tensor_memory or acc is MemorySpace.ACCUMULATOR:
            return
        for name, clause in (
            ("weight_stationary", self.weight_stationary),
            ("zero_columns", self.zero_columns),
            ("pair", self.pair),
        ):
            if clause is not None:
                raise ProductClauseError(f"expected an accumulator in tensor memory for {name}, found one in registers")
        if self.reads_shared:
            return
        for name in SHARED_CLAUSES:
            if getattr(self, name) is not None:
                raise ProductClauseError(
                    f"expected an accumulator in tensor memory, or B in shared memory, for {name}, found both in "
                    "registers"
                )

    def verify_family(self) -> None:
        """Raises VerifyException for a plan of a family that multiplies in another memory."""
        if self.plan is not None and self.on_tensor_memory != isinstance(self.plan.data, Tcgen05Plan):
            raise ProductClauseError(
                f"expected a plan of another family for an accumulator in {self.accumulator_type.memory.place}, found "
                f"one of {self.plan.data.family}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tiles = parse_operands(parser, 3)
        found: dict[str, Any] = {}
        _CLAUSES.parse(parser, found, before_types=True)
        attributes = parse_attributes(parser, cls)
        scales, metadata = found.pop("scales", []), found.pop("metadata", None)
        a, b, accumulator, *more = parse_types(parser, [*tiles, *scales, *([] if metadata is None else [metadata])])
        result = None if parser.parse_optional_punctuation("->") is None else parser.parse_type()
        of_scales = (more[0], more[1]) if scales else None
        last = None if metadata is None else more[-1]
        op = cls(a, b, accumulator, scales=of_scales, metadata=last, result_type=result, **found)
        return op.with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        write(printer, " ", (self.a, self.b, self.accumulator))
        _CLAUSES.print(printer, self)
        more = [*self.scales, *([] if self.metadata is None else [self.metadata])]
        write_types(printer, self, self.a, self.b, self.accumulator, *more)


@irdl_op_definition
class MmaOp(ProductOp, TileOpInterface):
    """`tirx.mma %a, %b, %acc : ...`: the product is complete before the next operation begins."""

    name = "tirx.mma"

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.accumulator,) if self.result is None else ()

    def verify_(self) -> None:
        acc = TileType.of(self.accumulator)
        self._verify_memories()
        self.verify_shapes()
        self.verify_clauses()
        if self.instruction is not None:
            self._verify_instruction(self.instruction.data)
        self.verify_family()
        if self.result is not None and (self.on_tensor_memory or not (self.result.type == acc or self.is_widening)):
            raise ProductClauseError(
                f"expected a result only for an accumulator in registers, of its type, or of f32 for one of f16, "
                f"found a result of type {self.result.type} for an accumulator of type {acc}"
            )

    @property
    def is_widening(self) -> bool:
        """Returns True if the result is f32 for an accumulator of f16, which only m8n8k4 does as it is."""
        if self.result is None or not isinstance(result := self.result.type, TileType):
            return False
        acc = TileType.of(self.accumulator)
        shape = acc.dims, acc.memory
        return (acc.element_type, result.element_type) == (f16, f32) and shape == (result.dims, result.memory)

    def _verify_memories(self) -> None:
        acc = self.accumulator_type
        if acc.memory not in _OPERAND_MEMORIES:
            raise TileMemoryError(
                f"expected the accumulator in tensor memory or registers, found it in {acc.memory.place}"
            )
        of_a, of_b = _OPERAND_MEMORIES[acc.memory]
        for name, type_, wanted in (("A", self.a_type, of_a), ("B", self.b_type, of_b)):
            if type_.memory not in wanted:
                where = "" if acc.memory is MemorySpace.ACCUMULATOR else f" for an accumulator in {acc.memory.place}"
                raise TileMemoryError(
                    f"expected {name} in {' or '.join(memory.place for memory in wanted)}{where}, found it in "
                    f"{type_.memory.place}"
                )
        for name, value in (("SFA", self.scale_a), ("SFB", self.scale_b)):
            if value is None or MemorySpace.ACCUMULATOR in (memory := TileType.of(value).memory, acc.memory):
                continue
            if memory is not acc.memory:
                raise TileMemoryError(
                    f"expected {name} in {acc.memory.place}, as the accumulator, found it in {memory.place}"
                )

    def _verify_instruction(self, found: str) -> None:
        if self.accumulator_type.memory is MemorySpace.ACCUMULATOR:
            return
        if self.on_tensor_memory:
            if found != K96_INSTRUCTION:
                raise InstructionNameError(
                    f'expected instruction "{K96_INSTRUCTION}" or none for an accumulator in tensor memory, found '
                    f'"{found}"'
                )
            return
        shapes = dict.fromkeys(variant.instruction for variant in VARIANTS.values())
        if found not in shapes:
            raise InstructionNameError(f"expected an instruction of mma.sync ({', '.join(shapes)}), found '{found}'")
