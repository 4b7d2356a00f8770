"""`tirx-fuse-epilogue`: register tiles go to global memory through swizzled shared memory, by bulk stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.copy.tma import MAX_BOX, ROW_UNIT
from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx.product import ProductOp
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, SwizzleMode, TileLayout
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.scheduled import kernel_of
from tirx.passes.match.bulk_copies import ASYNC_FEATURES, EngineChoice, async_engine
from tirx.passes.match.memory_by_lifetime import aligned_bytes
from tirx.passes.match.pipelining import copies_to_shared, hardware_operation
from tirx.passes.match.slots import BARRIER_BYTES, operand_limit
from tirx.passes.rings.start_values import chosen_word, fewest_slots, start_values
from tirx.remarks import StoredDirectly, StoredThroughShared
from tirx.values import dataclass

AUTO, DIRECT = "auto", "direct"

EPILOGUE = "tirx.epilogue"
"""The attribute of a kernel that says how its register tiles are stored: `auto` or `direct`."""

_ROWS: tuple[tuple[int, SwizzleMode], ...] = ((128, "128B"), (64, "64B"), (32, "32B"))
"""Bytes of a row of a box, widest first, and the swizzle that spreads such rows over the banks."""


@dataclass(frozen=True)
class TirxFuseEpiloguePass(ModulePass):
    """A register tile that threads would store to global memory goes to a shared tile, and from there by `tma_store`.

    Threads then write whole swizzled rows (`stmatrix`), and one thread starts a store of full lines. For kernels that
    stage tiles in a loop, on targets with bulk tensor stores, where shared memory has room beside three slots of each
    staged tile, and not for products of f64. In such a loop, what is added to memory (`reduce(add)`) goes this way as
    well, by `tma_reduce`. `epilogue` is `auto`, or `direct` to keep stores as they are;
    `attributes {tirx.epilogue = "direct"}` says it for one kernel. Remarks tell why a store stays as it is.
    """

    name = "tirx-fuse-epilogue"

    epilogue: str | int = AUTO

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            if chosen_word(kernel, EPILOGUE, self.epilogue, "an epilogue of", (AUTO, DIRECT)) == AUTO:
                _fuse(kernel)


def _fuse(kernel: tirx.KernelOp) -> None:
    if (target := kernel.target_info) is None or kernel.in_clusters:
        return
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp) and copies_to_shared(op)]
    schedule = start_values(op for op in kernel.walk() if isinstance(op, ProductOp))
    if hardware_operation(kernel) is not None:
        return
    if not loops or not supports(target, ASYNC_FEATURES[tirx.Engine.TMA_STORE]) or not schedule.stages_stores:
        return
    _stage_stores(kernel, loops, target)


def _stage_stores(kernel: tirx.KernelOp, loops: Sequence[scf.ForOp], target: Target) -> None:
    """Lets stores go through shared memory while it has room beside the slots of `loops`; remarks say which do not."""
    products = Counter(around for op in kernel.walk() if isinstance(op, tirx.MmaOp) for around in ancestors(op))
    fewest = {loop: fewest_slots(products[loop]) for loop in loops}
    staged = {tirx.base_allocation(copy.destination): fewest[loop] for loop in loops for copy in copies_to_shared(loop)}
    left = operand_limit(target) - BARRIER_BYTES
    for op in kernel.walk():
        if isinstance(op, tirx.AllocOp) and op.result.type.memory is tirx.MemorySpace.SHARED:
            left -= aligned_bytes(op.result.type) * staged.get(op.result, 1)
    for store in [op for op in kernel.walk() if isinstance(op, tirx.StoreOp)]:
        if tirx.TileType.of(store.destination).memory is not tirx.MemorySpace.GLOBAL:
            continue
        if store.engine is not None:
            remark(store, StoredDirectly(f"engine {store.engine.data} is written"))
            continue
        found = _staged_type(tirx.TileType.of(store.value)) if store.reduce is None else _reduced_type(store, loops)
        if isinstance(found, str):
            remark(store, StoredDirectly(found))
        elif (size := aligned_bytes(found)) > left:
            slots = max(staged.values())
            remark(store, StoredDirectly(f"{size} bytes have no room beside {slots} slots, {max(left, 0)} are left"))
        elif _through_shared(kernel, store, found):
            left -= size


def _reduced_type(store: tirx.StoreOp, loops: Sequence[scf.ForOp]) -> tirx.TileType | str:
    """
    The shared tile on the way of a store that combines its elements with those that are there, or a reason for none.

    In a loop the instructions of threads would take as long as a product, and bulk reductions run beside it. Behind a
    loop both take the same time. What threads combine and what bulk copies combine are not atomic towards each other.
    """
    if store.parent_op() not in loops:
        return "it combines its elements with those that are there"
    memory = tirx.base_allocation(store.destination)
    kernel = kernel_of(store)
    for op in kernel.walk():
        if op is not store and any(tirx.base_allocation(tile) is memory for tile in _combined_tiles(op)):
            return "another operation combines elements of the same memory"
    return _staged_type(tirx.TileType.of(store.value))


def _combined_tiles(op: Operation) -> Sequence[SSAValue]:
    """The tiles and memrefs whose elements an operation combines in one step with those of others."""
    match op:
        case tirx.StoreOp() | tirx.CopyOp():
            return () if op.reduce is None else (op.destination,)
        case tirx.AtomicOp() | tirx.SignalOp():
            return tirx.tile_effects(op).writes
        case _:
            return ()


def _staged_type(value: tirx.TileType) -> tirx.TileType | str:
    """
    The shared tile that takes a register tile on its way: boxes of rows that one swizzle pattern holds, side by side.

    The accelerator takes the rows of a box one by one: several boxes with the narrowest rows would be slower than one
    box of whole rows without a swizzle. A reason instead for a tile that has neither.
    """
    if len(value.dims) != 2:
        return f"a tile of {len(value.dims)} dimensions"
    rows, columns = value.dims
    bits = value.dtype.storage_bits
    if value.dtype.bits != bits or rows % 8:
        return f"{rows} rows of {columns} elements of {value.dtype.bits} bits"
    for width, mode in _ROWS:
        elements = width * 8 // bits
        if columns % elements == 0 and (columns == elements or width > _ROWS[-1][0]):
            boxes = TileLayout(
                (Iter(rows, elements, "m"), Iter(columns // elements, rows * elements, "m"), Iter(elements, 1, "m"))
            )
            layout = ComposeLayout(SwizzleLayout.for_dtype(value.dtype.name, mode), boxes)
            return tirx.TileType.get(value.dims, value.element_type, tirx.MemorySpace.SHARED, layout)
    if columns <= MAX_BOX and columns * bits % (8 * ROW_UNIT) == 0:
        return tirx.TileType.get(
            value.dims, value.element_type, tirx.MemorySpace.SHARED, TileLayout.row_major(value.dims)
        )
    return f"rows of {columns} elements of {bits} bits"


def _through_shared(kernel: tirx.KernelOp, store: tirx.StoreOp, type_: tirx.TileType) -> bool:
    """Puts the shared tile in between; False, with a remark, if the accelerator cannot store it."""
    first = kernel.body.block.first_op
    assert first is not None
    alloc = Emitter(InsertPoint.before(first), store.location)(tirx.AllocOp(type_))
    alloc.result.name_hint = "out"
    engine = tirx.Engine.TMA_STORE if store.reduce is None else tirx.Engine.TMA_REDUCE
    copy = Emitter.after(store)(tirx.CopyOp(alloc.result, store.destination, engine))
    copy.reduce = store.reduce
    choice = async_engine(copy)
    if tirx.indexed_view(store.destination) is not None:
        choice = EngineChoice(tirx.Engine.LD_ST, ((engine, "its threads hold the indices of its rows"),))
    if choice.engine is not engine:
        remark(store, StoredDirectly(choice.reason))
        erase(copy)
        erase(alloc)
        return False
    store.operands[1] = alloc.result
    store.reduce = None
    remark(store, StoredThroughShared(aligned_bytes(type_), engine))
    return True
