"""`@kernel`: a Python function that is called once, and writes a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, IndexType, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tirx.builder.context import BuildError, Point, integer, python_location
from tirx.builder.dtypes import ArrayType, DType
from tirx.builder.index import Condition, Index
from tirx.builder.tiles import Array, Tile, allocate, names
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import BlockIdOp, GridAxis, KernelOp, MemorySpace, ReturnOp
from tirx.layout import ComposeLayout, TileLayout

OpT = TypeVar("OpT", bound=Operation)

_Layout = TileLayout | ComposeLayout | None


@dataclass(frozen=True)
class BlockIndex:
    """The position of a block in the grid: `k.block.x`, `.y` and `.z`."""

    point: Point = field(repr=False)

    def _along(self, axis: GridAxis) -> Index:
        return Index.of(self.point, self.point(BlockIdOp(axis)).result, is_natural=True)

    @property
    def x(self) -> Index:
        """The position along x."""
        return self._along(GridAxis.X)

    @property
    def y(self) -> Index:
        """The position along y."""
        return self._along(GridAxis.Y)

    @property
    def z(self) -> Index:
        """The position along z."""
        return self._along(GridAxis.Z)


@dataclass(frozen=True)
class KernelBuilder:
    """
    The first argument of a kernel function: tiles, loops, branches and the position of the block.

    >>> from tirx.builder import f32, kernel
    >>> @kernel(f32[256, 64], f32[256, 64], grid=(2,), threads=128)
    ... def copy(k, a, b):
    ...     staged = k.shared(f32[64, 64])
    ...     with k.loop(0, 2) as i:
    ...         at = k.block.x * 128 + i * 64
    ...         staged[:] = a[at : at + 64, :]
    ...         b[at : at + 64, :] = staged
    """

    point: Point = field(repr=False)

    @property
    def block(self) -> BlockIndex:
        """The position of the block in the grid."""
        return BlockIndex(self.point)

    def shared(self, type_: ArrayType, fill: float | None = None, layout: _Layout = None) -> Tile:
        """A tile in shared memory."""
        return allocate(self.point, type_, MemorySpace.SHARED, layout, fill)

    def registers(self, type_: ArrayType, fill: float | None = None, layout: _Layout = None) -> Tile:
        """A tile in registers that is written later."""
        return allocate(self.point, type_, MemorySpace.REGISTER, layout, fill)

    def tensor(self, type_: ArrayType, fill: float | None = None, layout: _Layout = None) -> Tile:
        """A tile in tensor memory (sm_100a and later)."""
        return allocate(self.point, type_, MemorySpace.TENSOR, layout, fill)

    def accumulator(self, type_: ArrayType, fill: float | None = None) -> Tile:
        """Makes a tile that products are added to: in tensor memory where the target has it for them, in registers
        elsewhere."""
        return allocate(self.point, type_, MemorySpace.ACCUMULATOR, None, fill)

    def load(self, tile: Tile) -> Tile:
        """A copy of a tile in registers."""
        if not isinstance(tile, Tile):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError(f"expected a tile, such as a[...] of an array, found {tile!r}")
        held = self.registers(ArrayType(tile.dtype, tile.shape))
        held.store(tile)
        return held

    def insert(self, op: OpT) -> OpT:
        """Inserts an operation of whichever dialect, and returns it."""
        return self.point(op)

    def tile(self, value: SSAValue) -> Tile:
        """The tile that an operation has returned."""
        return Tile(self.point, value)

    @contextmanager
    def at(self, file: str, line: int, column: int = 1) -> Generator[None]:
        """Operations are located there, in a program of another language, instead of at their Python line."""
        before = self.point.location
        self.point.location = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
        try:
            yield
        finally:
            self.point.location = before

    @contextmanager
    def loop(self, start: Index | int, stop: Index | int, step: Index | int = 1) -> Generator[Index]:
        """A loop (`scf.for`) over the indices of `range(start, stop, step)`."""
        low, high, by = (
            each.value if isinstance(each, Index) else Index.constant(self.point, each).value
            for each in (start, stop, step)
        )
        body = Block(arg_types=[IndexType()])
        op = scf.ForOp(low, high, by, [], Region(body))
        self.point(op)
        with self.point.inside(body):
            is_natural = start.is_natural if isinstance(start, Index) else start >= 0
            yield Index.of(self.point, body.args[0], is_natural=is_natural)
            self.point(scf.YieldOp())

    @contextmanager
    def when(self, condition: Condition) -> Generator[None]:
        """Opens a body that runs only where a condition holds (`scf.if`)."""
        if not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError(f"expected a condition such as i < n or i.equals(n), found {condition!r}")
        body = Block()
        self.point(scf.IfOp(condition.value, [], Region(body), Region()))
        with self.point.inside(body):
            yield
            self.point(scf.YieldOp())


@dataclass(frozen=True)
class BuiltKernel:
    """
    A kernel that has been written: `op` is it, `module` a new module with it alone.

    >>> from tirx.builder import f32, kernel
    >>> @kernel(f32[64, 64], threads=128, target="sm_80")
    ... def nothing(k, a):
    ...     pass
    >>> nothing.op.sym_name.data
    'nothing'
    """

    op: KernelOp = field(repr=False)

    @property
    def module(self) -> ModuleOp:
        """A module with a copy of the kernel."""
        return module(self)


def module(*built: BuiltKernel) -> ModuleOp:
    """
    A module of kernels, for `tirx.compile` and `tirx.build`.

    >>> from tirx.builder import f32, kernel, module
    >>> @kernel(f32[64, 64], threads=128, target="sm_80")
    ... def nothing(k, a):
    ...     pass
    >>> len(module(nothing).ops)
    1
    """
    return ModuleOp([each.op.clone() for each in built])


def _grid(given: Sequence[Formula]) -> Sequence[Formula]:
    if isinstance(given, str) or not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BuildError(f"expected the blocks along x, y and z as a tuple such as (4, 2), found {given!r}")
    return [each if isinstance(each, Call) else integer("the blocks of a grid", each) for each in given]


def kernel(
    *arguments: ArrayType | DType,
    threads: int,
    grid: Sequence[Formula] | None = None,
    target: str | None = None,
    name: str | None = None,
    cluster: int | None = None,
) -> Callable[[Callable[..., Any]], BuiltKernel]:
    """
    Writes a kernel with a Python function, which gets a `KernelBuilder` and an `Array` for each type of `arguments`.

    `threads` are those of a block, `grid` the blocks along x, y and z: numbers or formulas of the sizes of arguments
    (`tirx.dialects.formula`), `cluster` the blocks of a cluster. The kernel has the name of the function unless `name`
    says another one. Raises BuildError for what no kernel can say; legality is for `tirx.compile` to check, at the same
    Python lines.

    >>> from tirx.builder import f32, kernel, maximum
    >>> @kernel(f32[128, 64], f32[128, 64], threads=128, grid=(2,), target="sm_80")
    ... def relu(k, a, b):
    ...     i = k.block.x * 64
    ...     b[i : i + 64, :] = maximum(k.load(a[i : i + 64, :]), 0.0)
    >>> import numpy as np, tirx
    >>> a = np.linspace(-1, 1, 128 * 64, dtype=np.float32).reshape(128, 64)
    >>> b = np.zeros_like(a)
    >>> tirx.build(relu.module).kernels["relu"].simulate(a, b)
    >>> bool((b == np.maximum(a, 0)).all())
    True
    """
    for each in arguments:
        if not isinstance(each, ArrayType | DType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError(f"expected types of arguments such as f16[256, 64] or f32, found {each!r}")
    threads = integer("threads", threads)
    cluster = None if cluster is None else integer("cluster", cluster)
    extents = None if grid is None else _grid(grid)
    for what, text in (("target", target), ("name", name)):
        if not isinstance(text, str | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError(f"expected {what} as a string, found {text!r}")

    def write(function: Callable[..., Any]) -> BuiltKernel:
        if not callable(function):  # pyright: ignore[reportUnnecessaryComparison]
            raise BuildError(f"expected a function that writes the kernel, found {function!r}")
        types = [each.memref if isinstance(each, ArrayType) else each.attribute for each in arguments]
        op = KernelOp(name or function.__name__, types, threads, target=target, grid=extents, cluster=cluster)
        op.location = python_location()
        block = op.body.block
        point = Point(block)
        given = [
            Array(point, value, type_) if isinstance(type_, ArrayType) else value
            for value, type_ in zip(block.args, arguments, strict=True)
        ]
        parameters = list(inspect.signature(function).parameters.values())[1:]
        if rest := [each for each in parameters if each.kind is each.VAR_POSITIONAL]:
            parameters.remove(rest[0])
        if len(parameters) > len(given) or (len(parameters) < len(given) and not rest):
            raise BuildError(f"expected a function of the kernel and {len(given)} arguments, found {len(parameters)}")
        names(block.args, [each.name for each in parameters])
        function(KernelBuilder(point), *given)
        point(ReturnOp())
        return BuiltKernel(op)

    return write
