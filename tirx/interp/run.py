"""Running a kernel: its arguments as memory, and its blocks one after the other or in a random order."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, MemRefType
from xdsl.interpreter import Interpreter, PythonValues, impl_attr, impl_callable, register_impls
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from tirx.diagnostics import nearest_location, operation_name, position
from tirx.dialects.formula import LaunchSizes
from tirx.dialects.nesting import walk
from tirx.dialects.requirements import requirements
from tirx.dialects.tirx import (
    AsyncCopyOp,
    AtomicOp,
    FillOp,
    KernelOp,
    TileType,
    WaitUntilOp,
    base_allocation,
    is_foreign,
    transfer,
)
from tirx.interp.atomics import AtomicFunctions
from tirx.interp.control import CONTROL
from tirx.interp.errors import RunError, UndefinedUse
from tirx.interp.folds import FoldFunctions
from tirx.interp.formats import Array, dtype_of, packed, packed_bits, unpacked
from tirx.interp.guests import can_evaluate, guest_functions, written
from tirx.interp.memory import Marks, Numbers, Tile
from tirx.interp.parties import Parties
from tirx.interp.scheduled import WITHOUT_WORK, ScheduledFunctions
from tirx.interp.state import Block, Cluster, Functions, Launch, interpreter_for
from tirx.interp.structured import STRUCTURED, outputs
from tirx.interp.tiles import RULED, TABLE, TileFunctions
from tirx.values import dataclass

_LEAVES = (CONTROL, TileFunctions(), TABLE, FoldFunctions(), AtomicFunctions(), WITHOUT_WORK)
_FUNCTIONS = (*_LEAVES, ScheduledFunctions(_LEAVES))


@dataclass(frozen=True)
class Ran:
    """A run that has ended. `exact`: every lowering gives the same bits for these arguments.

    `errors` are the largest distances of the elements of each array from those of a lowering, where bounds were asked
    for; None for numbers, and where there are none.
    """

    exact: bool
    errors: tuple[Array | None, ...]


def run_kernel(
    kernel: KernelOp,
    arguments: Sequence[Any],
    *,
    grid: Sequence[int] | None = None,
    sm_count: int = 2,
    seed: int | None = None,
    bounds: bool = False,
    max_operations: int | None = None,
    modular: bool = False,
    watch: Interpreter.Listener | None = None,
    prints: bool = True,
) -> Ran:
    """Runs a kernel of the tile or scheduled level on numpy arrays, which are updated in place, and numbers.

    Arrays and `grid` (in blocks, for a kernel without one) are those of `tirx.runtime.Kernel.simulate`. `sm_count` is
    how many multiprocessors the GPU has. With a `seed` blocks run in a random order, and the roles of a block take
    turns at random. `bounds` asks how far a lowering may be off; it takes time. `max_operations` is for programs that
    may have no end. With `modular` floats stand for residues, as for `arithmetic="modular"` of `tirx.sim.run`. `watch`
    hears of every operation, such as a `tirx.interp.watch.Watch`. `prints`: `tirx.print` writes to standard output.
    Raises RunError for arguments that do not fit, a program without a result for them, and operations of other levels.

    >>> import numpy as np
    >>> from tirx import embed
    >>> from tirx.interp import run_kernel
    >>> module = embed.parse('''
    ... tirx.kernel @twice(%a: memref<4xf32>) grid(1) threads(32) {
    ...   %c0 = arith.constant 0 : index
    ...   %x = tirx.view %a[%c0] : memref<4xf32> -> !tirx.tile<4xf32, global>
    ...   %y = tirx.load %x : !tirx.tile<4xf32, global> -> !tirx.tile<4xf32, register>
    ...   %z = tirx.map ins(%y : !tirx.tile<4xf32, register>) {
    ...   ^bb0(%e: f32):
    ...     %s = arith.addf %e, %e : f32
    ...     tirx.yield %s : f32
    ...   } -> !tirx.tile<4xf32, register>
    ...   tirx.store %z, %x : !tirx.tile<4xf32, register>, !tirx.tile<4xf32, global>
    ...   tirx.return
    ... }''', "k.mlir")
    >>> a = np.arange(4, dtype=np.float32)
    >>> run_kernel(module.body.block.first_op, [a]).exact, a
    (True, array([0., 2., 4., 6.], dtype=float32))
    """
    _require_rules(kernel)
    memory, elements = _memory(kernel, arguments, bounds)
    sizes = LaunchSizes(
        [() if each is None else each.shape for each in elements],
        [() if each is None else tuple(step // each.itemsize for step in each.strides) for each in elements],
        sm_count,
    )
    if (broken := next((each for each in requirements(kernel) if not each.holds(sizes)), None)) is not None:
        raise RunError(kernel, "arguments", broken.error(sizes))
    rng = None if seed is None else random.Random(seed)
    launch = Launch(
        kernel, _grid(kernel, sizes, grid), sizes, Parties(rng), bounds, max_operations, modular, watch, prints=prints
    )
    launch.guests = guest_functions(kernel)
    order = list(range(launch.blocks))
    if rng is not None:
        rng.shuffle(order)
    try:
        _run_blocks(launch, order, memory)
    except RunError as error:
        raise _explained(launch, error) from None  # without the IR that xDSL has noted on it
    return _ended(launch, arguments, elements, memory)


def run_function(
    function: func.FuncOp, arguments: Sequence[Any], *, bounds: bool = False, modular: bool = False
) -> Ran:
    """
    Runs a function of structured operations (`linalg`, `memref.copy`) on numpy arrays, updated in place, and numbers.

    The operations are done one after the other, each to whole memrefs. The rest is as in `run_kernel`.

    >>> import numpy as np
    >>> from tirx import embed
    >>> from tirx.interp import run_function
    >>> module = embed.parse('''
    ... func.func @f(%a: memref<2x3xf32>, %b: memref<2xf32>) {
    ...   linalg.reduce ins(%a:memref<2x3xf32>) outs(%b:memref<2xf32>) dimensions = [1]
    ...   (%x : f32, %y : f32) {
    ...     %s = arith.addf %x, %y : f32
    ...     linalg.yield %s : f32
    ...   }
    ...   func.return
    ... }''', "f.mlir")
    >>> b = np.zeros(2, np.float32)
    >>> run_function(module.body.block.first_op, [np.ones((2, 3), np.float32), b]).exact, b
    (True, array([3., 3.], dtype=float32))
    """
    _require_rules(function)
    memory, elements = _memory(function, arguments, bounds)
    launch = Launch(function, (1, 1, 1), LaunchSizes([], [], 1), Parties(None), bounds, modular=modular)
    launch.guests = guest_functions(function)
    interpreter = interpreter_for((*_FUNCTIONS, STRUCTURED), Block(launch, 0))
    try:
        interpreter.run_ssacfg_region(function.body, tuple(memory))
    except RunError as error:
        raise _explained(launch, error) from None
    return _ended(launch, arguments, elements, memory)


def _ended(launch: Launch, arguments: Sequence[Any], elements: Sequence[Array | None], memory: Sequence[Any]) -> Ran:
    for array, new in zip(arguments, elements, strict=True):
        if new is not None and array.dtype != new.dtype and packed_bits(new.dtype) is not None:
            array[...] = packed(new).view(array.dtype)
    return Ran(launch.exact, tuple(tile.numbers.error if isinstance(tile, Tile) else None for tile in memory))


def _explained(launch: Launch, error: RunError) -> RunError:
    """Returns an error of a run; one that uses what is not defined names the nearest operation without a result."""
    if not isinstance(error, UndefinedUse):
        others = _rivals(launch.kernel, error.op) if error.kind == "conflict" else ""
        return RunError(error.op, error.kind, error.message + others)
    nearest = [*_computed_from(launch.kernel, error.op)]
    without_result = [op for op in nearest if launch.causes.get(op) is not None]
    readers = [op for op in launch.causes if op in nearest]  # the first of them has read what was not written
    cause = next(iter(without_result or readers or launch.causes))
    return error.of(cause, launch.causes[cause])


def _rivals(kernel: KernelOp | func.FuncOp, op: Operation) -> str:
    """Returns where else the arguments are written of which `op` and another block use an element."""
    used = {base_allocation(each) for each in op.operands if isinstance(each.type, TileType | MemRefType)}
    places = dict[str, None]()
    for other, target in operations_that_write(kernel):
        at = position(nearest_location(other))
        if other is not op and target in used and isinstance(target, BlockArgument) and at is not None:
            places[f"; %{target.name_hint or target.index} is also written at {at[0]}:{at[1]}:{at[2]}"] = None
    return "".join(places)


def _computed_from(kernel: KernelOp | func.FuncOp, use: Operation) -> Iterator[Operation]:
    """Yields the operations that an operation is computed from, the nearest first, also those behind memory."""
    writers = defaultdict[SSAValue, list[Operation]](list)
    for op, target in operations_that_write(kernel):
        writers[target].append(op)
    seen, queue = {use}, deque([use])
    while queue:
        op = queue.popleft()
        yield op
        ends = [block.last_op for region in op.regions for block in region.blocks if block.last_op is not None]
        for value in op.operands:
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            assert owner is not None
            ends += [owner] if owner is not kernel else []
            ends += writers[base_allocation(value)] if isinstance(value.type, TileType | MemRefType) else []
        queue.extend(each for each in dict.fromkeys(ends) if each not in seen)
        seen.update(ends)


def can_run(kernel: KernelOp | func.FuncOp) -> bool:
    """Returns True if every operation has a rule.

    Those of the tile and of the scheduled level do in kernels, structured ones in functions, and those of other
    dialects that have `TileOpInterface.evaluate`.
    """
    return without_rule(kernel) is None


def without_rule(kernel: KernelOp | func.FuncOp) -> Operation | None:
    """Returns the first operation without a rule, None if there is none."""
    unruled = (op for op in walk(kernel) if type(op) not in RULED and op is not kernel)
    return next((op for op in unruled if not can_evaluate(op)), None)


def _require_rules(kernel: KernelOp | func.FuncOp) -> None:
    if (unknown := without_rule(kernel)) is not None:
        wanted = "on whole tiles and rings of them" if isinstance(kernel, KernelOp) else "of linalg and arith"
        raise RunError(unknown, "unsupported", f"expected operations {wanted}, found {without_meaning(unknown)}")


def without_meaning(op: Operation) -> str:
    """Returns the name of an operation without a rule, and, of another dialect, the method that it lacks."""
    return f"'{operation_name(op)}'" + (", which has no method 'evaluate' of TileOpInterface" if is_foreign(op) else "")


def _run_blocks(launch: Launch, order: Sequence[int], memory: Sequence[Any]) -> None:
    kernel = launch.kernel
    assert isinstance(kernel, KernelOp)
    ranks = range(1 if kernel.per_cta is None else kernel.cluster_size)

    def run(number: int, rank: int, cluster: Cluster) -> None:
        interpreter = interpreter_for(_FUNCTIONS, Block(launch, number, rank, cluster))
        interpreter.run_ssacfg_region(kernel.body, tuple(memory))

    def run_cluster(number: int) -> None:
        cluster = Cluster()
        if len(ranks) == 1:
            run(number, 0, cluster)
        else:
            launch.parties.run([lambda rank=rank: run(number, rank, cluster) for rank in ranks])

    if any(isinstance(op, WaitUntilOp) for op in walk(kernel)):
        launch.parties.run([lambda number=number: run_cluster(number) for number in order])
        return
    for number in order:
        run_cluster(number)


def _grid(kernel: KernelOp, sizes: LaunchSizes, given: Sequence[int] | None) -> tuple[int, int, int]:
    """Returns how many blocks there are, or pairs of them in a kernel of pairs."""
    if (formulas := kernel.grid_formulas) is not None:
        x, y, z = map(sizes.evaluate, formulas)
        return x, y, z
    if given is None or not 1 <= len(given) <= 3 or given[0] % kernel.cluster_size:
        found = None if given is None else tuple(given)
        raise RunError(kernel, "arguments", f"expected a grid of clusters for a kernel without one, found {found}")
    x, y, z = (*given, 1, 1)[:3]
    return x // kernel.cluster_size, y, z


def _memory(
    kernel: KernelOp | func.FuncOp, arguments: Sequence[Any], bounds: bool
) -> tuple[list[Any], list[Array | None]]:
    """Returns the values of the kernel's arguments, and the arrays of their elements, None for numbers."""
    parameters = kernel.body.block.args
    if len(arguments) != len(parameters):
        raise RunError(kernel, "arguments", f"expected {len(parameters)} arguments, found {len(arguments)}")
    written = {target for _, target in operations_that_write(kernel)}
    elements: list[Array | None] = []
    memory: list[Any] = []
    for value, argument in zip(parameters, arguments, strict=True):
        if not isinstance(value.type, MemRefType):
            elements.append(None)
            memory.append(np.asarray(argument).astype(dtype_of(value.type))[()])
            continue
        array = _elements(kernel, value, argument)
        elements.append(array)
        marks = Marks.of(array.shape) if value in written else None
        error = np.zeros(array.shape) if bounds and value in written else None
        memory.append(Tile(array.shape, Numbers(array, None, error), marks))
    given = [(v, cast("Array", a)) for v, a in zip(parameters, arguments, strict=True) if isinstance(a, np.ndarray)]
    for (first, a), (second, b) in combinations(given, 2):
        if (first in written or second in written) and np.shares_memory(a, b):
            names = " and ".join(f"%{each.name_hint or each.index}" for each in (first, second))
            raise RunError(kernel, "overlap", f"expected arguments that do not overlap, found {names} in one memory")
    return memory, elements


def operations_that_write(kernel: KernelOp | func.FuncOp) -> Iterator[tuple[Operation, SSAValue]]:
    """Yields the operations of a kernel that write a tile, and the memory that it belongs to."""
    for op in walk(kernel):
        yield from ((op, output) for output in outputs(op))
        yield from ((op, base_allocation(target)) for target in written(op))
        target = _target(op)
        if target is not None:
            yield op, base_allocation(target)


def _target(op: Operation) -> SSAValue | None:
    match op:
        case AsyncCopyOp():
            return op.destination
        case AtomicOp():
            return op.place
        case FillOp():
            return op.tile
        case memref.StoreOp():
            return op.memref
        case _:
            moved = transfer(op)
            return None if moved is None else moved[1]


def _elements(kernel: KernelOp | func.FuncOp, value: SSAValue, argument: Any) -> Array:
    """Returns the elements of an array that stands for a memref. Raises RunError for one that does not fit."""
    type_ = cast("MemRefType[Attribute]", value.type)
    dtype = dtype_of(type_.element_type)
    if not isinstance(argument, np.ndarray):
        raise RunError(kernel, "arguments", f"expected an array for {type_}, found {type(argument).__name__}")
    array = cast("Array", argument)
    if array.dtype != dtype and packed_bits(dtype) is not None and array.itemsize == 1:
        array = unpacked(array, dtype)
    elif array.dtype != dtype and array.itemsize == dtype.itemsize:
        array = array.view(f"u{dtype.itemsize}").view(dtype)
    shape = type_.get_shape()
    fits = len(shape) == array.ndim and all(n in (DYNAMIC_INDEX, m) for n, m in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        found = f"{array.dtype} of shape {array.shape}"
        raise RunError(kernel, "arguments", f"expected an array of {dtype} for {type_}, found {found}")
    return array


@register_impls
class KernelFunctions(Functions):
    """Calls of kernels, whose blocks run one after the other: for interpreters of whole modules, as `xdsl-run` has."""

    @impl_callable(KernelOp)
    def call_kernel(self, interpreter: Interpreter, op: KernelOp, args: PythonValues) -> PythonValues:
        # Numbers are attributes from xDSL 0.75 on.
        run_kernel(op, [n.value.data if isinstance(n, FloatAttr | IntegerAttr) else n for n in args])
        return ()

    @impl_attr(MemRefType)
    def array(self, interpreter: Interpreter, attr: Attribute, type_attr: MemRefType[Attribute]) -> Array:
        """The array of an argument that is given as an attribute, as `--args` of `xdsl-run` are."""
        assert isinstance(attr, DenseIntOrFPElementsAttr)
        return np.array(attr.get_values()).reshape(attr.get_shape()).astype(dtype_of(type_attr.element_type))
