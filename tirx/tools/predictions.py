"""Predicted times of kernels, from the tiles that they multiply and the schedule that passes gave them."""

from __future__ import annotations

from math import prod
from typing import Literal

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass

from tirx.dialects.formula import LaunchSizes
from tirx.dialects.tirx import AllocOp, AsyncCopyOp, CopyOp, Engine, KernelOp, MemorySpace, RingOp, TilesOp, kernels
from tirx.dialects.tirx.kernel import PAIR
from tirx.hw.targets import Target
from tirx.passes.ir.views import Origin
from tirx.passes.match.kernel_product import KernelProduct, product_of
from tirx.passes.match.memory_by_lifetime import shared_bytes
from tirx.passes.match.tile_choice import GROUP, Operands, family_name
from tirx.predict import GPUS, Gpu, Work, gpu_of, predict
from tirx.predict.model import improvements
from tirx.remarks import counted
from tirx.values import dataclass, replace

_TILES, SCHEDULED = "tirx-check-sizes", "tirx-check-rings"
"""The passes behind which tiles and schedules are read."""

_REGISTERS, _WORKING = 65536, 64
"""Registers of a multiprocessor, and those of a thread beside its sums."""


class _UnpredictedError(ValueError):
    """A kernel whose time the model does not know, and why."""


@dataclass(frozen=True)
class _Tiles:
    """The tiles that a kernel multiplies, before it has a schedule."""

    operands: Operands
    tile: tuple[int, int, int]
    """Rows, columns and elements of K of a step."""
    family: str | None
    arguments: dict[Literal["a", "b", "d"], int]

    @staticmethod
    def of(kernel: KernelOp, product: KernelProduct) -> _Tiles:
        (*_, rows, depth), columns = product.mma.a_type.dims, product.mma.b_type.dims[-2]
        found: dict[Literal["a", "b", "d"], int] = {}
        views: tuple[tuple[Literal["a", "b", "d"], object], ...] = (
            ("a", product.a.source),
            ("b", product.b.source),
            ("d", product.d.source),
        )
        for name, value in views:
            if isinstance(value, BlockArgument):
                found[name] = value.index
        operands = product.operands
        family = family_name(
            (operands.a, operands.b, operands.sums), kernel.require_target(), (rows, columns, kernel.num_threads), depth
        )
        return _Tiles(operands, (rows, columns, depth), family, found)


class Predictor:
    """Watches passes, and reports the predicted time of each kernel of the module."""

    def __init__(self, gpu: str, size: tuple[int, int, int] | None):
        self._gpu = gpu
        self._size = size
        self._tiles: dict[str, _Tiles] = {}
        self._found: dict[str, str] = {}

    def after(self, done: ModulePass, module: ModuleOp) -> None:
        """Reads what a pass has left."""
        for kernel in kernels(module):
            name = kernel.sym_name.data
            if done.name == _TILES and not kernel.in_clusters and (product := product_of(kernel)) is not None:
                self._tiles[name] = _Tiles.of(kernel, product)
            elif done.name == SCHEDULED and name not in self._found:
                try:
                    self._found[name] = self._report(kernel)
                except _UnpredictedError as error:
                    self._found[name] = f"@{name}: no prediction, {error}"

    def report(self) -> str:
        """The predictions of all kernels, as lines."""
        return "".join(f"{each}\n" for each in self._found.values())

    def _report(self, kernel: KernelOp) -> str:
        target = kernel.require_target()
        gpu = GPUS.get(self._gpu) or gpu_of(target)
        name = kernel.sym_name.data
        if (tiles := self._tiles.get(name)) is None:
            raise _UnpredictedError("it multiplies no tiles, one block on its own, that are views of matrices")
        work = _work(kernel, tiles, self._sized(tiles.operands), target, gpu)
        found = predict(work, gpu)
        terms = found.terms
        source = "" if gpu.measured else f"\n  rates are not measured: {gpu.source}"
        waits = {
            "products": terms.products,
            "shared memory": terms.fill,
            "L2": terms.l2,
            "memory": terms.memory,
            "latency of slots": terms.latency,
        }
        changes = sorted(improvements(work, gpu).items(), key=lambda each: each[1])
        m, n, k = work.size
        turned = " of D^T = B A^T" if work.turned else ""
        return (
            f"@{name} of {m}x{n}x{k}{turned} on {gpu.name}: {found}{source}\n"
            f"  tiles of {work.rows}x{work.columns}, {-(-k * work.element // work.step)} steps of {work.step} bytes of "
            f"K, {counted(work.slots, 'slot')}, {counted(work.at_once, 'block')} on a multiprocessor\n"
            f"  a step takes {terms.step:.0f} cycles: "
            + ", ".join(f"{what} {cycles:.0f}" for what, cycles in waits.items())
            + f"; an epilogue {terms.epilogue:.0f}\n  changes: "
            + ", ".join(f"{what} {change:+.0%}" for what, change in changes)
        )

    def _sized(self, operands: Operands) -> tuple[int, int, int]:
        """The size of the product: of the types, and of `--size` where they do not say it."""
        given = self._size or (None, None, None)
        m, n, k = given
        given = (n, m, k) if operands.exchanged else given
        m, n, k = (own or other for own, other in zip(operands.size, given, strict=True))
        if m is None or n is None or k is None:
            raise _UnpredictedError("expected --size MxNxK for sizes that only a launch knows")
        return m, n, k


def _work(kernel: KernelOp, tiles: _Tiles, size: tuple[int, int, int], target: Target, gpu: Gpu) -> Work:
    operands, (rows, columns, depth) = tiles.operands, tiles.tile
    family = tiles.family
    if family is None or any(each.bits < 8 for each in operands.dtypes):
        raise _UnpredictedError("its products are of a kind that the model does not know")
    if family not in gpu.tensor:
        raise _UnpredictedError(f"expected a GPU with {family}, found {gpu.name}; name another in --predict=")
    ring = next((op for op in kernel.walk() if isinstance(op, RingOp) and "fill" in op.station_names), None)
    order = next((op for op in kernel.walk() if isinstance(op, TilesOp)), None)
    copies = [op for op in kernel.walk() if isinstance(op, AsyncCopyOp | CopyOp)]
    blocks = _blocks(kernel, tiles, size, gpu)
    together = _together(kernel, copies, tiles)
    a, _, sums, d = operands.dtypes
    work = Work(
        size,
        rows,
        columns,
        element=a.storage_bits // 8,
        out=d.storage_bits // 8,
        step=depth * a.storage_bits // 8,
        batch=operands.batch,
        slots=1 if ring is None else ring.num_slots,
        blocks=blocks,
        at_once=1,
        group=GROUP if order is not None and order.group is not None else together[0],
        shares="a" if together == (1, 2) else "b" if together == (2, 1) else None,
        cluster=together if prod(together) > PAIR else (1, 1),
        family=family,
        turned=operands.exchanged,
        bulk_stores=any(op.engine is not None and op.engine.data is Engine.TMA_STORE for op in copies),
    )
    parts = 1 if blocks is None else max(1, blocks // max(1, prod(work.tiles) * operands.batch))
    shared = sum(
        op.num_slots * op.result.type.slot_bytes if isinstance(op, RingOp) else shared_bytes(op.result.type)
        for op in kernel.walk()
        if isinstance(op, RingOp) or (isinstance(op, AllocOp) and op.result.type.memory is MemorySpace.SHARED)
    )
    registers = rows * columns * sums.storage_bits // 32 + _WORKING * kernel.num_threads
    at_once = min(target.blocks_of_sm(shared), _REGISTERS // registers, 2048 // kernel.num_threads)
    return replace(work, parts=parts, at_once=max(1, at_once))


def _blocks(kernel: KernelOp, tiles: _Tiles, size: tuple[int, int, int], gpu: Gpu) -> int | None:
    """The blocks of the grid, None where the program does not say them."""
    if kernel.launch_grid is None:
        return None
    m, n, k = size
    ends = {"a": (m, k), "b": (n, k), "d": (n, m) if tiles.operands.exchanged else (m, n)}
    shapes: list[tuple[int, ...]] = []
    for index, type_ in enumerate(kernel.function_type.inputs):
        shape = list(type_.get_shape()) if isinstance(type_, MemRefType) else []
        own = next((ends[name] for name, argument in tiles.arguments.items() if argument == index), ())
        shape[len(shape) - len(own) :] = (
            [each if given == DYNAMIC_INDEX else given for each, given in zip(own, shape[-2:], strict=True)]
            if own
            else []
        )
        shapes.append(tuple(max(1, each) for each in shape))
    sizes = LaunchSizes(shapes, shapes, gpu.multiprocessors, gpu.clusters(kernel.cluster_size))
    return prod(sizes.evaluate(extent) for extent in kernel.launch_grid)


def _together(kernel: KernelOp, copies: list[AsyncCopyOp | CopyOp], tiles: _Tiles) -> tuple[int, int]:
    """The rows and columns of tiles of blocks that load operands together."""
    found = {"a": 1, "b": 1}
    for op in copies:
        if not isinstance(op, AsyncCopyOp) or op.engine.data is not Engine.TMA_MULTICAST:
            continue
        origin = Origin.of(op.source)
        if origin is not None and isinstance(source := origin.view.source, BlockArgument):
            name = "a" if source.index == tiles.arguments.get("a") else "b"
            found[name] = kernel.cluster_size if op.group is None else op.group.count
    return found["b"], found["a"]
