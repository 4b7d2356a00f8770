"""Rules of the tile level: what each operation does to whole tiles, in numpy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, UnrealizedConversionCastOp
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl,
    impl_terminator,
    register_impls,
)
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolTable

from tirx.dialects.tirx import (
    AllocOp,
    AssertOp,
    BitcastOp,
    BlockIdOp,
    BroadcastOp,
    ConcatOp,
    ConvertOp,
    CopyOp,
    CtaRankOp,
    ElementOp,
    FillOp,
    GridDimOp,
    IndexOp,
    KernelOp,
    LaunchValueOp,
    LoadOp,
    MapOp,
    MemorySpace,
    MmaOp,
    PrintOp,
    ReshapeOp,
    ReturnOp,
    SplatOp,
    StoreOp,
    SubviewOp,
    TileType,
    TransposeOp,
    ViewOp,
    YieldOp,
    ZeroOp,
)
from tirx.dialects.tirx.debugging import shown_format
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.tirx.kernel import PAIR
from tirx.dialects.tirx.product import ProductOp
from tirx.dialects.wgmma import UninitializedOp
from tirx.interp.errors import RunError, UndefinedUse
from tirx.interp.formats import Array, cast, dtype_of, is_float
from tirx.interp.memory import Mark, Numbers, Scattered, Tile, joined, reinterpreted, sliced
from tirx.interp.numbers import (
    RULES,
    Near,
    UndefinedValue,
    Value,
    constant,
    data_of,
    defined,
    evaluate,
    extended_product,
    select,
    undefined_by,
)
from tirx.interp.products import combined, combines_exactly, multiply
from tirx.interp.state import Block, Functions, Launch, block_of, definite, located
from tirx.layout.arrangement import Arrangement
from tirx.layout.shape import row_major_strides

OpT = TypeVar("OpT", bound=Operation)
_Function = Callable[[Any, Interpreter, OpT, PythonValues], PythonValues]
Rule: TypeAlias = Callable[[Interpreter, Any, PythonValues], PythonValues]
"""What an operation does to its operands."""


RULED: set[type[Operation]] = {KernelOp}
"""The operations that have a rule."""


def rule(kind: type[OpT], *, carries: bool = False) -> Callable[[_Function[OpT]], Any]:
    """Makes a method what `kind` does; its errors name the operation. `carries` is that of `located`."""
    RULED.add(kind)
    return lambda function: impl(kind)(located(function, carries=carries))


def rules(
    table: Mapping[type[Operation], Rule],
    carrying: Mapping[type[Operation], Rule],
    terminators: Sequence[type[Operation]] = (),
) -> Functions:
    """Returns implementations by functions, and of terminators, which give their operands to what is around them.

    Operations of `carrying` hand numbers on, also those that are undefined or may be others.
    """

    def method(function: Rule) -> Any:
        def call(self: Functions, interpreter: Interpreter, op: Any, args: PythonValues) -> PythonValues:
            return function(interpreter, op, args)

        return call

    def ending() -> Any:
        def end(
            self: Functions, interpreter: Interpreter, op: Operation, args: PythonValues
        ) -> tuple[TerminatorValue, PythonValues]:
            return ReturnedValues(args), ()

        return end

    RULED.update(terminators)
    methods = {
        kind.name: rule(kind, carries=kind in carrying)(method(function))
        for kind, function in (*table.items(), *carrying.items())
    }
    methods |= {kind.name: impl_terminator(kind)(ending()) for kind in terminators}
    return register_impls(type("Rules", (Functions,), methods))()


def tile_dtype(type_: TileType) -> np.dtype[Any]:
    """Returns the dtype of the elements of a tile."""
    return dtype_of(type_.element_type)


def _scalar(interpreter: Interpreter, op: Operation, args: PythonValues) -> PythonValues:
    launch = block_of(interpreter).launch
    value, exact = evaluate(op, args, bounds=launch.bounds, modular=launch.modular)
    launch.exact = launch.exact and exact
    if isinstance(value, Near) and (expected := undefined_by(op, args, modular=launch.modular)) is not None:
        launch.causes[op] = expected
    return (value,)


@register_impls
class TileFunctions(Functions):
    """Operations on tiles, and the scalars and maps that compute with their elements."""

    @rule(ViewOp)
    def view(self, interpreter: Interpreter, op: ViewOp, args: PythonValues) -> PythonValues:
        source: Tile = args[0]
        places, dims = op.places, op.result.type.dims
        sizes = dict(zip((n.value.data for n in op.sized or ()), map(int, args[1 + len(places) :]), strict=True))
        if op.index_tiles:
            found = _scattered(interpreter, op, args, sizes)
            return _loaded(interpreter, op, found, op.result.type) if is_register_tile(op.result) else (found,)
        region: list[slice] = []
        clip = [slice(0, n) for n in dims]
        for d, (place, start, size) in enumerate(zip(places, map(int, args[1:]), source.shape, strict=False)):
            extent, step = place.extent, place.step
            low, high = max(0, -(start // step)), max(0, min(extent, sizes.get(d, extent), -((start - size) // step)))
            if low > 0 or high < extent:
                if op.clipped is None:
                    raise RunError(op, "bounds", _outside("tile", size, d, start, place.span))
                if op.begins_inside is not None and start < 0:
                    raise RunError(op, "bounds", f"expected a tile that begins inside, found it at {start}")
            region += sliced((start + step * low,), (max(0, high - low),), (step,))
            if place.of_tile is not None:
                clip[place.of_tile] = slice(low, high) if low < high else slice(0, 0)
        order = [d for d in op.of_memref if d is not None]
        dropped = [d for d in range(len(places)) if d not in order]
        if any(region[d].start == region[d].stop for d in dropped):
            clip = [slice(0, 0) for _ in dims]
        shape = tuple(inside.stop - inside.start for inside in clip)

        def part(each: Array) -> Array:
            if 0 in shape:
                return np.zeros(shape, each.dtype)
            return each[tuple(region)].transpose([*order, *dropped])[(..., *(0 for _ in dropped))][
                tuple(np.newaxis if d is None else slice(None) for d in op.of_memref)
            ]

        tile = source.viewed(part, dims)
        return (Tile(tile.shape, tile.numbers, tile.marks, None if op.clipped is None else tuple(clip)),)

    @rule(SubviewOp)
    def subview(self, interpreter: Interpreter, op: SubviewOp, args: PythonValues) -> PythonValues:
        source: Tile = args[0]
        computed = dict(zip(op.computed, map(int, args[1:]), strict=True))
        starts = [computed.get(d, n) for d, n in enumerate(op.start)]
        dims = op.result.type.dims
        for d, (start, extent, size, step) in enumerate(zip(starts, dims, source.shape, op.step, strict=True)):
            _require_inside(op, "part", size, d, *sorted((start, start + (extent - 1) * step)))
        if is_register_tile(op.source):
            return _rearranged(interpreter, op, source, Arrangement.part(source.shape, starts, op.step, dims))
        if op.steps is None:
            return (source.part(starts, dims),)
        region = sliced(starts, dims, op.step)
        return (source.viewed(lambda each: each[region], dims),)

    @rule(ReshapeOp)
    def reshape(self, interpreter: Interpreter, op: ReshapeOp, args: PythonValues) -> PythonValues:
        source: Tile = args[0]
        dims = op.result.type.dims
        if is_register_tile(op.source):
            return _rearranged(interpreter, op, source, Arrangement(dims, 0, row_major_strides(dims)))
        return (source.reshaped(dims),)

    @rule(LoadOp, carries=True)
    def load(self, interpreter: Interpreter, op: LoadOp, args: PythonValues) -> PythonValues:
        source: Tile = args[0]
        (loaded,) = _loaded(interpreter, op, source, op.result.type)
        if op.pad is not None:
            padded = full(loaded.shape, args[1], loaded.dtype)
            chosen = select(source.outside, value_of(padded), value_of(loaded.numbers))
            return (Tile(loaded.shape, full(loaded.shape, chosen, loaded.dtype)),)
        return (loaded,)

    @rule(ConvertOp)
    def convert(self, interpreter: Interpreter, op: ConvertOp, args: PythonValues) -> PythonValues:
        if (arranged := op.arranged) is None:
            return _loaded(interpreter, op, args[0], op.result.type)
        return _rearranged(interpreter, op, args[0], arranged)

    @rule(TransposeOp)
    def transpose(self, interpreter: Interpreter, op: TransposeOp, args: PythonValues) -> PythonValues:
        if not is_register_tile(op.source) and op.result.type.memory is not MemorySpace.REGISTER:
            source: Tile = args[0]
            return (source.viewed(lambda each: each.transpose(op.order), op.result.type.dims),)
        return _rearranged(interpreter, op, args[0], op.arranged)

    @rule(ConcatOp)
    def concat(self, interpreter: Interpreter, op: ConcatOp, args: PythonValues) -> PythonValues:
        tiles, dim = [block_of(interpreter).read(op, tile) for tile in args], op.dim.value.data
        return (Tile(op.result.type.dims, joined(tiles, dim)),)

    @rule(BitcastOp)
    def bitcast(self, interpreter: Interpreter, op: BitcastOp, args: PythonValues) -> PythonValues:
        dims, dtype, block = op.result.type.dims, tile_dtype(op.result.type), block_of(interpreter)
        source = block.read(op, args[0])
        if block.launch.modular and (is_float(dtype) or is_float(source.data.dtype)):
            raise UndefinedValue(f"expected operations that residues have, found '{op.name}'")
        return (Tile(dims, reinterpreted(source, dims, dtype)),)

    @rule(ElementOp)
    def element(self, interpreter: Interpreter, op: ElementOp, args: PythonValues) -> PythonValues:
        return (_number(interpreter, op, args[0]),)

    @rule(PrintOp, carries=True)
    def print(self, interpreter: Interpreter, op: PrintOp, args: PythonValues) -> PythonValues:
        first, rows = [op.text.data], list[str]()
        for value, arg in zip(op.values, args, strict=True):
            form = shown_format(value.type).replace("ll", "")
            if not isinstance(arg, Tile):
                first.append(form % data_of(arg).item())
                continue
            data = block_of(interpreter).read(op, arg).data
            rows += ["".join(f" {form % each.item()}" for each in row) for row in data.reshape(-1, data.shape[-1])]
        if block_of(interpreter).launch.prints:
            sys.stdout.write("\n".join([" ".join(first), *rows, ""]))
        return ()

    @rule(AssertOp, carries=True)
    def holds(self, interpreter: Interpreter, op: AssertOp, args: PythonValues) -> PythonValues:
        (condition,), is_tile = args, isinstance(args[0], Tile)
        value = value_of(block_of(interpreter).read(op, condition)) if is_tile else condition
        near = Near.of(value)
        if near.known is not None:
            raise UndefinedUse(op, "a condition")
        if (wrong := np.flatnonzero((near.value == 0) & (near.error == 0))).size:
            where = f"element {wrong[0]} in row-major order" if is_tile else "a condition that is false"
            raise RunError(op, "assertion", f"{op.message.data}: {where}")
        return ()

    @rule(MapOp)
    def map(self, interpreter: Interpreter, op: MapOp, args: PythonValues) -> PythonValues:
        block, types = block_of(interpreter), op.out_types
        dims = types[0].dims
        read = [block.read(op, tile) for tile in args[: len(op.ins)]]
        operands = [value_of(each, argument.type) for each, argument in zip(read, op.body.block.args, strict=True)]
        around, block.dims = block.dims, dims
        yielded = interpreter.run_ssacfg_region(op.body, tuple(operands))
        block.dims = around
        results: list[Tile] = []
        for type_, value, out in zip(types, yielded, (*(None for _ in op.res), *args[len(op.ins) :]), strict=True):
            numbers = full(dims, value, tile_dtype(type_))
            if out is None:
                results.append(Tile(dims, numbers))
            else:
                block.write(op, out, numbers)
        return tuple(results)

    @rule(IndexOp)
    def index(self, interpreter: Interpreter, op: IndexOp, args: PythonValues) -> PythonValues:
        dims, d = block_of(interpreter).dims, op.dim.value.data
        return (np.arange(dims[d]).reshape([-1 if each == d else 1 for each in range(len(dims))]),)

    @rule(memref.SubviewOp)
    def window(self, interpreter: Interpreter, op: memref.SubviewOp, args: PythonValues) -> PythonValues:
        source: Tile = args[0]
        values = iter(map(int, args[1:]))
        starts, sizes, steps = (
            [next(values) if n == DYNAMIC_INDEX else n for n in each.get_values()]
            for each in (op.static_offsets, op.static_sizes, op.static_strides)
        )
        for d, (start, extent, step, size) in enumerate(zip(starts, sizes, steps, source.shape, strict=True)):
            last = start + (extent - 1) * step
            if start < 0 or step < 1 or extent < 0 or (extent and last >= size):
                raise RunError(op, "bounds", _outside("part", size, d, start, max(1, last - start + 1)))
        region = sliced(starts, sizes, steps)
        return (source.viewed(lambda each: each[region], sizes),)

    @rule(func.CallOp, carries=True)
    def call(self, interpreter: Interpreter, op: func.CallOp, args: PythonValues) -> PythonValues:
        callee = SymbolTable.lookup_symbol(block_of(interpreter).launch.kernel, op.callee)
        if not isinstance(callee, func.FuncOp) or not callee.body.blocks:
            raise RunError(op, "unsupported", f"expected a function of this module, found {op.callee}")
        return interpreter.run_ssacfg_region(callee.body, args)


def _new(interpreter: Interpreter, type_: TileType, *, known: bool = False) -> Tile:
    return Tile.new(type_.dims, tile_dtype(type_), bounds=block_of(interpreter).launch.bounds, known=known)


def _variable(interpreter: Interpreter, op: memref.AllocaOp) -> Tile:
    """Returns a scalar variable, which nothing has been written to. Raises RunError for several elements."""
    type_ = op.memref.type
    if type_.get_num_dims():
        raise RunError(op, "unsupported", f"expected a scalar variable such as memref<f32>, found {type_}")
    return Tile.new((), dtype_of(type_.element_type), bounds=block_of(interpreter).launch.bounds)


def _splat(type_: TileType, value: Value) -> PythonValues:
    return (Tile(type_.dims, full(type_.dims, value, tile_dtype(type_))),)


def _set(interpreter: Interpreter, op: Operation, tile: Tile, value: Value) -> PythonValues:
    """Gives all elements of a tile one value."""
    block_of(interpreter).write(op, tile, full(tile.shape, value, tile.dtype))
    return ()


def _element(op: Operation, source: Tile, *indices: Any) -> Tile:
    """Returns the tile of one element of a memref. Raises RunError outside of it."""
    where = tuple(map(int, indices))
    for d, (start, size) in enumerate(zip(where, source.shape, strict=True)):
        _require_inside(op, "number", size, d, start, start)
    return source.viewed(lambda each: each[(*where, None)], (1,))


def _number(interpreter: Interpreter, op: Operation, tile: Tile) -> Value:
    """Returns the only element of a tile."""
    number = block_of(interpreter).read(op, tile).each(lambda each: each.reshape(())[()])
    return value_of(number, op.results[0].type)


def _converted(interpreter: Interpreter, op: UnrealizedConversionCastOp, value: Any) -> PythonValues:
    """Returns a tile in another layout or of other extents, the one element of a tile, or a number of the same bits,
    with a sign or without.
    """
    if isinstance(value, Tile):
        if not isinstance(type_ := op.result_types[0], TileType):
            return (_number(interpreter, op, value),)
        dims = type_.dims  # elements keep their row-major order
        return (value if value.shape == dims else value.viewed(lambda each: each.reshape(dims), dims),)
    dtype = dtype_of(op.result_types[0])
    if isinstance(value, Near):
        return (value._replace(value=cast(value.value, dtype)),)
    return (cast(np.asarray(value), dtype)[()],)


def _require_inside(op: Operation, what: str, size: int, d: int, first: int, last: int) -> None:
    if first < 0 or last >= size:
        raise RunError(op, "bounds", _outside(what, size, d, first, last - first + 1))


def _outside(what: str, size: int, d: int, start: int, extent: int) -> str:
    found = f"element {start}" if extent == 1 else f"elements {start} to {start + extent - 1}"
    return f"expected a {what} inside of {size} elements along dimension {d}, found {found}"


def _scattered(interpreter: Interpreter, op: ViewOp, args: PythonValues, sizes: dict[int, int]) -> Tile:
    source, dims = args[0], op.result.type.dims
    position = np.indices(dims)
    exists, undefined, uncertain = np.ones(dims, np.bool_), np.zeros(dims, np.bool_), np.zeros(dims, np.bool_)
    at = list[Array]()
    for d, (place, index, size) in enumerate(zip(op.places, args[1:], source.shape, strict=False)):
        t = place.of_tile
        if place.is_plain:
            found = np.full(dims, int(index)) + (0 if t is None else place.step * position[t])
        else:
            numbers = (
                block_of(interpreter)
                .read(op, index)
                .each(lambda each, t=t: each[position[t]] if each.ndim < len(dims) else np.broadcast_to(each, dims))
            )
            found = numbers.data.astype(np.int64)
            undefined |= False if numbers.known is None else ~numbers.known
            uncertain |= False if numbers.error is None else numbers.error > 0
        inside = undefined | (found >= 0) & (found < size)
        if t is not None and d in sizes:
            inside &= position[t] < sizes[d]
        if op.clipped is None and not inside.all():
            raise RunError(op, "bounds", _outside("tile", size, d, int(found[~inside][0]), 1))
        exists &= inside
        at.append(found)
    if (undefined & exists).any():
        raise UndefinedUse(op, "an index tile")
    at = [np.where(exists, found, 0) for found in at]
    anywhere = uncertain & exists if uncertain.any() else None
    return Scattered(dims, source.numbers, source.marks, at=tuple(at), exists=exists, anywhere=anywhere)


def value_of(numbers: Numbers, type_: Attribute | None = None) -> Value:
    """Returns the elements of a tile, of a type of scalars, as operations on numbers take them."""
    dtype = numbers.data.dtype if type_ is None else dtype_of(type_)
    data = numbers.data if dtype == numbers.data.dtype else cast(numbers.data, dtype)
    near = data if numbers.error is None or not numbers.error.any() else Near(data, numbers.error)
    return defined(near, numbers.known)


def full(dims: Sequence[int], value: Value, dtype: np.dtype[Any]) -> Numbers:
    """Returns the numbers of a tile from those of a map, or from one number for all elements."""
    if isinstance(value, Near):
        error = np.broadcast_to(value.error, dims)
        known = None if value.known is None else np.broadcast_to(value.known, dims)
        return Numbers(cast(np.broadcast_to(value.value, dims), dtype), known, error)
    return Numbers(cast(np.broadcast_to(np.asarray(value), dims), dtype))


def _loaded(interpreter: Interpreter, op: Operation, source: Tile, type_: TileType) -> PythonValues:
    block = block_of(interpreter)
    numbers = block.read(op, source).each(lambda each: np.broadcast_to(each, type_.dims).copy())
    return (Tile(type_.dims, numbers),)


def _rearranged(interpreter: Interpreter, op: Operation, source: Tile, arranged: Arrangement) -> PythonValues:
    where = arranged.elements(np.arange(np.prod(arranged.dims, dtype=np.int64)))
    numbers = block_of(interpreter).read(op, source).each(lambda each: each.reshape(-1)[where].reshape(arranged.dims))
    return (Tile(arranged.dims, numbers),)


def combining(launch: Launch, how: str) -> Callable[[Numbers, Numbers], Numbers]:
    """Returns what combines elements with others, and notes where their order has a say in the bits."""
    combine = combined(how, launch.modular)

    def exactly(old: Numbers, new: Numbers) -> Numbers:
        if how == "add" and not launch.modular and not combines_exactly(old, new):
            launch.exact = False
        return combine(old, new)

    return exactly


def transfer(interpreter: Interpreter, op: Operation, args: PythonValues, how: str | None = None) -> PythonValues:
    """Copies a tile to another one, or combines it with that."""
    source: Tile = args[0]
    target: Tile = args[1]
    block = block_of(interpreter)
    numbers = block.read(op, source)
    if np.may_share_memory(source.numbers.data, target.numbers.data):
        numbers = numbers.each(lambda each: each.copy())
    if how is None:
        block.write(op, target, numbers)
        return ()
    exactly = combining(block.launch, how)

    def write(each: Numbers, mark: Mark) -> None:
        target.combine(each, mark, exactly)

    block.write(op, target, numbers, write)
    return ()


def product(interpreter: Interpreter, op: ProductOp, args: PythonValues) -> PythonValues:
    """Multiplies two tiles and adds the product to the accumulator, or gives the new one."""
    block, names = block_of(interpreter), op.operands
    values = dict(zip(names, args, strict=True))
    a, b = block.read(op, values[op.a]), block.read(op, values[op.b])
    others = tuple(block.read(op, values[each]) for each in (op.scale_a, op.scale_b, op.metadata) if each is not None)
    if op.pair is not None:
        b = _of_both(block, op, b)
    accumulator: Tile = values[op.accumulator]
    adds = op.accumulate is None or bool(values[op.accumulate])
    before = accumulator.read(block.mark) if adds else None
    launch = block.launch
    exact = launch.exact or launch.bounds
    found = launch.numbers(multiply(op, a, b, before, others, exact=exact, **launch.arithmetic))
    if op.result is not None:
        return (Tile(accumulator.shape, found),)
    block.write(op, accumulator, found)
    return ()


def _of_both(block: Block, op: ProductOp, own: Numbers) -> Numbers:
    """Returns the rows of B of both blocks of a pair, which multiply together."""
    first = block.rank - block.rank % PAIR
    return joined(of_all(block, op, own, range(first, first + PAIR)), 0)


def of_all(block: Block, op: Operation, own: Numbers, ranks: Iterable[int] | None = None) -> list[Numbers]:
    """Returns what each block of a cluster, or of `ranks`, has for an operation of all: each waits for the others."""
    kernel = block.launch.kernel
    assert isinstance(kernel, KernelOp)
    block.done[op] += 1
    ranks = range(kernel.cluster_size) if ranks is None else ranks
    turn, shared = block.done[op], block.cluster.operands
    shared[op, turn, block.rank] = own.each(lambda each: each.copy())
    block.launch.parties.wait(lambda: all((op, turn, rank) in shared for rank in ranks), op)
    found = [shared[op, turn, rank] for rank in ranks]
    shared.pop((op, turn - 2, block.rank), None)
    return found


TABLE = rules(
    {
        AllocOp: lambda run, op, args: (_new(run, op.result.type),),
        UninitializedOp: lambda run, op, args: (_new(run, TileType.of(op.results[0])),),
        ZeroOp: lambda run, op, args: (_new(run, op.result.type, known=True),),
        CopyOp: lambda run, op, args: transfer(run, op, args, None if op.reduce is None else op.reduce.data.value),
        StoreOp: lambda run, op, args: transfer(run, op, args, None if op.reduce is None else op.reduce.data.value),
        BroadcastOp: lambda run, op, args: _loaded(run, op, args[0], op.result.type),
        MmaOp: lambda run, op, args: product(run, op, args),
        arith.ConstantOp: lambda run, op, args: (constant(op),),
        memref.AllocaOp: lambda run, op, args: (_variable(run, op),),
        memref.DimOp: lambda run, op, args: (args[0].shape[int(args[1])],),
        memref.LoadOp: lambda run, op, args: (_number(run, op, _element(op, *args)),),
        BlockIdOp: lambda run, op, args: (block_of(run).at["xyz".index(op.axis.data)],),
        GridDimOp: lambda run, op, args: (block_of(run).launch.grid["xyz".index(op.axis.data)],),
        CtaRankOp: lambda run, op, args: (block_of(run).rank,),
        LaunchValueOp: lambda run, op, args: (block_of(run).launch.sizes.evaluate(op.formula.data),),
    },
    carrying={
        **dict.fromkeys(RULES, _scalar),
        UnrealizedConversionCastOp: lambda run, op, args: _converted(run, op, args[0]),
        SplatOp: lambda run, op, args: _splat(op.result.type, args[0]),
        FillOp: lambda run, op, args: _set(run, op, *args),
        arith.SelectOp: lambda run, op, args: (
            args[1 if definite(op, args[0]) else 2] if isinstance(args[1], Tile) else select(*args),
        ),
        arith.MulUIExtendedOp: lambda run, op, args: extended_product(*args, signed=False),
        arith.MulSIExtendedOp: lambda run, op, args: extended_product(*args, signed=True),
        memref.StoreOp: lambda run, op, args: _set(
            run, op, _element(op, args[1], *(definite(op, each) for each in args[2:])), args[0]
        ),
    },
    terminators=(YieldOp, ReturnOp, func.ReturnOp),
)
"""Rules of one line."""
