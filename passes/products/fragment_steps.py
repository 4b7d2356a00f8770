"""Products by mma.sync in steps along K: the smallest pieces of the fragments that instructions load and multiply."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from tirx.copy.cost import CopyEnd, fragment_cost
from tirx.copy.matrix import plan_matrices
from tirx.dialects import tirx
from tirx.layout import Iter, LayoutError, TileLayout
from tirx.mma.fragments import VARIANTS, FragmentError
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.match.mma_product import mma_steps, planned_steps
from tirx.passes.match.product import Product
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class StagedProduct:
    """A product by mma.sync whose operands are loaded from shared memory for it alone, in the same block.

    Scale factors and metadata are parts of registers that several steps share: a product with them is none of these.
    """

    mma: tirx.MmaOp
    a: tirx.LoadOp
    b: tirx.LoadOp

    @staticmethod
    def of(mma: tirx.MmaOp) -> StagedProduct | None:
        """The product and its loads; None for one of another kind."""
        if mma.plan is None or not isinstance(mma.plan.data, tirx.MmaSyncPlan) or mma.result is None:
            return None
        if mma.scales or mma.is_sparse:
            return None
        a, b = mma.a.owner, mma.b.owner
        if not isinstance(a, tirx.LoadOp) or not isinstance(b, tirx.LoadOp) or a is b:
            return None
        for load in (a, b):
            if tirx.TileType.of(load.source).memory is not tirx.MemorySpace.SHARED or load.parent is not mma.parent:
                return None
            if not load.result.has_one_use():
                return None
        return StagedProduct(mma, a, b)

    @property
    def k(self) -> int:
        """Elements along K."""
        return self.mma.a_type.dims[-1]

    def erase(self) -> None:
        """Erases the product and its loads, which nothing uses any more."""
        for op in (self.mma, self.a, self.b):
            erase(op)


@dataclass(frozen=True)
class Steps:
    """The steps of a product: `size` elements along K each, with fragments of these types and this plan."""

    product: StagedProduct
    size: int
    a: tuple[tirx.TileType, ...]
    b: tuple[tirx.TileType, ...]
    plan: tirx.MmaSyncPlan

    @property
    def count(self) -> int:
        return len(self.a)

    def load(self, index: int, emit: Emitter, sources: tuple[SSAValue, SSAValue]) -> tuple[SSAValue, SSAValue]:
        """Emits the loads of the fragments of a step from these tiles."""
        found: list[SSAValue] = []
        for load, source, types in zip((self.product.a, self.product.b), sources, (self.a, self.b), strict=True):
            start = [0] * (len(tirx.TileType.of(source).dims) - 1) + [index * self.size]
            part = source if self.count == 1 else emit(tirx.SubviewOp.of(source, start, types[index].dims)).result
            new = emit(tirx.LoadOp(part, types[index]))
            new.location = load.location
            new.engine = load.engine
            new.result.name_hint = load.result.name_hint
            found.append(new.result)
        return found[0], found[1]

    def multiply(self, emit: Emitter, fragments: tuple[SSAValue, SSAValue], accumulator: SSAValue) -> SSAValue:
        """Emits the product of the fragments of a step; returns the new sum."""
        mma = self.product.mma
        new = mma.clone_without_regions()
        new.operands = [*fragments, accumulator]
        new.plan = tirx.PlanAttr(self.plan)
        result = emit(new).results[0]
        result.name_hint = None if mma.result is None else mma.result.name_hint
        return result


def plan_steps(product: StagedProduct) -> Steps:
    """The steps of a product, the smallest that the layouts of its fragments fall into; one of all K where they do not.

    Steps are products by the same instructions, in the same order. Their fragments are loaded by the same engine, in no
    more time than those of the whole product.
    """
    mma = product.mma
    whole = Product.of(mma)
    plan = mma.plan.data if mma.plan is not None else None
    assert isinstance(plan, tirx.MmaSyncPlan), "a staged product has a plan"
    smallest = min(VARIANTS[name].shape[2] for name in plan.variants)
    size = smallest
    while size < product.k:
        if product.k % size == 0 and (steps := _steps(product, whole, plan, size)) is not None:
            return steps
        size *= 2
    return Steps(product, product.k, (mma.a_type,), (mma.b_type,), plan)


def _steps(product: StagedProduct, whole: Product, plan: tirx.MmaSyncPlan, size: int) -> Steps | None:
    """The steps of a size; None where fragments or loads do not fall into them."""
    starts = range(0, product.k, size)
    try:
        a, b = (
            tuple(_step_type(type_, start, size) for start in starts)
            for type_ in (product.mma.a_type, product.mma.b_type)
        )
        for load, fragments in ((product.a, a), (product.b, b)):
            source = tirx.TileType.of(load.source)
            outer = source.dims[:-1]
            parts = [tirx.SubviewOp.type_of(source, [*(0 for _ in outer), start], (*outer, size)) for start in starts]
            cost = sum(_cycles(load, part, part_of) for part, part_of in zip(parts, fragments, strict=True))
            if cost > _cycles(load, source, load.result.type):
                return None
        used: set[str] = set()
        multiplied = 0
        for first, second in zip(a, b, strict=True):
            steps = mma_steps(replace(whole, a=first, b=second), [VARIANTS[name] for name in plan.variants])
            used |= {step.variant.name for step in steps}
            multiplied += len(steps)
    except (LayoutError, FragmentError):
        return None
    if multiplied != len(planned_steps(whole, plan)) or not used.issuperset(plan.variants):
        return None
    return Steps(product, size, a, b, plan)


def _cycles(load: tirx.LoadOp, memory: tirx.TileType, registers: tirx.TileType) -> float:
    """The cost of a load by the engine of `load`. Raises LayoutError where there is none."""
    if memory.layout is None or not isinstance(registers.layout, TileLayout):
        raise LayoutError(f"expected layouts on {memory} and {registers}")
    end = CopyEnd(memory.layout, "shared")
    threads, bits = tirx.thread_set(load).count, memory.dtype.storage_bits
    matrices = load.engine == tirx.EngineAttr(tirx.Engine.LDMATRIX)
    if matrices and plan_matrices(registers.layout, memory.layout, memory.dims, bits, threads) is None:
        raise LayoutError(f"expected fragments that {tirx.Engine.LDMATRIX} loads, found {registers}")
    return fragment_cost(registers.layout, end, memory.dims, bits, threads, matrices).cycles


def _step_type(type_: tirx.TileType, start: int, size: int) -> tirx.TileType:
    """The register tile of a part along K, without the registers of the other parts."""
    layout = type_.layout
    if not isinstance(layout, TileLayout):
        raise LayoutError(f"expected a tile layout, found {layout}")
    region = (*((0, extent) for extent in type_.dims[:-1]), (start, start + size))
    part = layout.slice(type_.dims, region)
    dims = (*type_.dims[:-1], size)
    return tirx.TileType.get(dims, type_.element_type, tirx.MemorySpace.REGISTER, _packed(part))


def _packed(layout: TileLayout) -> TileLayout:
    """The layout with registers numbered from 0 on without gaps, in the same order.

    Raises LayoutError where the iters on m do not nest.
    """
    layout = layout.canonicalize()
    own = sorted({(it.stride, it.extent) for it in layout.shard if it.axis == "m"})
    strides: dict[int, int] = {}
    room = reach = 1
    for stride, extent in own:
        if stride < reach or stride in strides:
            raise LayoutError(f"expected registers whose iters nest, found {layout}")
        strides[stride] = room
        room *= extent
        reach = stride * extent
    if any(it.axis == "m" for it in layout.replica):
        raise LayoutError(f"expected every element once in the registers of a thread, found {layout}")
    shard = [Iter(it.extent, strides[it.stride], "m") if it.axis == "m" else it for it in layout.shard]
    offsets = {name: count for name, count in layout.offsets.items() if name != "m"}
    assert room == prod(extent for _, extent in own)
    return TileLayout(shard, layout.replica, offsets).canonicalize()
