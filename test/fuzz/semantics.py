"""
What a kernel on tiles means, computed with numpy: operation by operation, block by block, without the compiler.

Raises Undefined where the result of a kernel is not determined (memory outside of an argument, blocks that race on an
element), and Unsupported for what is not modelled here. Elements that were never written are unknown, and so is what is
computed from them: `Arrays.known` says which elements of the arguments have a result, `Arrays.reads_unknown` whether
unknown elements were read at all.
"""

# pyright: basic
# Operations are told apart by name, and numbers are those of any numpy type.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tirx.dialects.tirx import KernelOp, MemorySpace, TileType
from tirx.dialects.tirx.attributes import ColumnList

Array = npt.NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "tf32": np.float32, "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "i1": np.bool_,
    **{f"{sign}i{bits}": np.dtype(f"i{bits // 8}") for sign in ("", "s") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu, "i4": ml_dtypes.uint4,
    "index": np.dtype("i8"),
}  # fmt: skip
_MOST_TURNS = 64
_LARGEST_INDEX = 2**31
_REDUCTIONS: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


class Undefined(Exception):
    """The kernel has no determined result."""


class Unsupported(Exception):
    """Something that is not modelled here."""


def dtype_of(type_: Attribute) -> Any:
    """The numpy dtype of a scalar type. Raises Unsupported."""
    if str(type_) not in DTYPES:
        raise Unsupported(str(type_))
    return np.dtype(DTYPES[str(type_)])


_NOBODY, _SEVERAL = -1, -2


@dataclass
class Blocks:
    """For each element in global memory, which block has read it, written it and added to it."""

    read: Array
    written: Array
    added: Array

    @staticmethod
    def of(shape: tuple[int, ...]) -> Blocks:
        """Elements that no block has touched."""
        return Blocks(*(np.full(shape, _NOBODY) for _ in range(3)))

    def __getitem__(self, where: Any) -> Blocks:
        return Blocks(self.read[where], self.written[where], self.added[where])

    def note(self, marks: Array, block: int, *others: Array) -> None:
        """Adds a block to `marks`. Raises Undefined if another block is among `others`: nothing orders the two."""
        for each in others:
            if ((each != block) & (each != _NOBODY)).any():
                raise Undefined("two blocks use an element, and one of them changes it")
        marks[...] = np.where((marks == block) | (marks == _NOBODY), block, _SEVERAL)


@dataclass
class Tile:
    """
    A tile: `data`, which elements are `known`, and the `blocks` that used each (global memory only).

    These are views of memory. With `inside`, they are the part of the tile that is inside of a clipped view; elsewhere
    zeros are read and nothing is written.
    """

    shape: tuple[int, ...]
    data: Array
    known: Array
    blocks: Blocks | None = None
    inside: tuple[slice, ...] | None = None

    def read(self, block: int) -> tuple[Array, Array]:
        if self.blocks is not None:
            self.blocks.note(self.blocks.read, block, self.blocks.written, self.blocks.added)
        if self.inside is None:
            return self.data.copy(), self.known.copy()
        data, known = np.zeros(self.shape, self.data.dtype), np.ones(self.shape, bool)
        data[self.inside], known[self.inside] = self.data, self.known
        return data, known

    def write(self, data: Array, known: Array, block: int) -> None:
        if self.inside is not None:
            data, known = data[self.inside], known[self.inside]
        if self.blocks is not None:
            self.blocks.note(self.blocks.written, block, self.blocks.read, self.blocks.written, self.blocks.added)
        self.data[...], self.known[...] = data, known

    def add(self, data: Array, known: Array, block: int) -> None:
        """Adds to the elements, as other blocks may, too."""
        if self.inside is not None:
            data, known = data[self.inside], known[self.inside]
        if self.blocks is not None:
            self.blocks.note(self.blocks.added, block, self.blocks.read, self.blocks.written)
        self.data[...], self.known[...] = self.data + data, self.known & known


@dataclass
class Arrays:
    """
    The arguments after a run: which elements are determined, whether all arithmetic was exact, and whether elements
    that were never written have been read (`known` does not say so where later numbers replace what came of them).
    """

    values: list[Any]
    known: list[Array | None]
    exact: bool = True
    reads_unknown: bool = False


_PLACES = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b1110: (2, 3)}
"""Codes of metadata -> which two of four elements, or pairs of 4-bit elements, are stored."""

SPARSE_CODES = {**dict.fromkeys(DTYPES, tuple(_PLACES)), "tf32": (0b0100, 0b1110)}
"""Element type of a sparse A -> codes that have a meaning. Those of tf32 say which of two elements is stored."""


def expanded(stored: Array, codes: Array, dtype: str) -> Array:
    """A sparse A with its zeros, from the elements that are stored and their codes. Raises Undefined."""
    if codes.ndim != 2 or codes.dtype != DTYPES["i4"]:
        raise Unsupported("metadata of several products or of another type")
    codes = codes.astype(int)
    if not np.isin(codes, SPARSE_CODES[dtype]).all():
        raise Undefined("metadata without a meaning")
    rows, columns = codes.shape
    if dtype == "tf32":
        whole = np.zeros((rows, columns, 2))
        np.put_along_axis(whole, (codes >> 3)[..., None], stored[..., None], 2)
        return whole.reshape(rows, -1)
    unit = 2 if stored.shape[1] == 4 * columns else 1
    places = np.array([_PLACES.get(code, (0, 0)) for code in range(16)])[codes]
    whole = np.zeros((rows, columns, 4, unit))
    np.put_along_axis(whole, places[..., None], stored.reshape(rows, columns, 2, unit), 2)
    return whole.reshape(rows, -1)


@dataclass
class Interpreter:
    """Runs one kernel; `arguments` are arrays and numbers, which are updated."""

    kernel: KernelOp
    arguments: Sequence[Any]
    grid: tuple[int, int, int]
    exact: bool = True
    reads_unknown: bool = False
    env: dict[SSAValue, Any] = field(default_factory=dict[SSAValue, Any])
    block: int = 0
    at: tuple[int, int, int] = (0, 0, 0)
    map_dims: tuple[int, ...] = ()

    def run(self) -> Arrays:
        """The arguments after all blocks, one after the other."""
        if self.kernel.cluster is not None and not self.kernel.is_whole_pair:
            raise Unsupported("cluster")
        parameters = self.kernel.body.block.args
        memory = [
            Tile(each.shape, each, np.ones(each.shape, bool), Blocks.of(each.shape))
            if isinstance(each, np.ndarray)
            else each
            for each in self.arguments
        ]
        x, y, z = self.grid
        for self.block in range(x * y * z):
            self.at = self.block % x, self.block // x % y, self.block // (x * y)
            self.env = dict(zip(parameters, memory, strict=True))
            self._run(self.kernel.body.block)
        known = [each.known if isinstance(each, Tile) else None for each in memory]
        return Arrays(list(self.arguments), known, self.exact, self.reads_unknown)

    def _run(self, block: Block) -> list[Any]:
        for op in block.ops:
            if op.name in ("scf.yield", "tirx.yield", "scf.condition"):
                return [self.env[value] for value in op.operands]
            if op.name == "tirx.return":
                return []
            rule = _RULES.get(op.name)
            results = self._scalar(op) if rule is None else rule(self, op)
            for value, result in zip(op.results, results, strict=True):
                self.env[value] = result
        return []

    # Tiles.

    def read(self, value: SSAValue) -> tuple[Array, Array]:
        data, known = self.env[value].read(self.block)
        self.reads_unknown = self.reads_unknown or not known.all()
        return data, known

    def new(self, value: SSAValue, data: Array, known: Array) -> list[Any]:
        shape = TileType.of(value).dims
        dtype = dtype_of(TileType.of(value).element_type)
        return [Tile(shape, np.broadcast_to(data, shape).astype(dtype), np.broadcast_to(known, shape).copy())]

    def alloc(self, op: Any) -> list[Any]:
        type_ = op.result.type
        return self.new(op.result, np.zeros(type_.dims, dtype_of(type_.element_type)), np.zeros(type_.dims, bool))

    def view(self, op: Any) -> list[Any]:
        source: Tile = self.env[op.source]
        dims = op.result.type.dims
        starts = [int(self.env[index]) for index in op.indices]
        lead = len(starts) - len(dims)
        inside: list[slice] = []
        region: list[Any] = []
        for d, (start, size) in enumerate(zip(starts, source.shape, strict=True)):
            if d < lead:
                if not 0 <= start < size:
                    raise Undefined("a view outside of its memref")
                region.append(start)
                continue
            extent = dims[d - lead]
            low, high = max(0, -start), min(extent, size - start)
            if (low > 0 or high < extent) and op.clipped is None:
                raise Undefined("a view outside of its memref")
            high = max(low, high)
            inside.append(slice(low, high))
            region.append(slice(start + low, start + high) if high > low else slice(0, 0))
        where = tuple(region)
        assert source.blocks is not None
        return [Tile(dims, source.data[where], source.known[where], source.blocks[where], tuple(inside))]

    def subview(self, op: Any) -> list[Any]:
        source: Tile = self.env[op.source]
        if source.inside is not None and source.data.shape != source.shape:
            raise Unsupported("a part of a clipped view")
        dims = op.result.type.dims
        starts = [each if isinstance(each, int) else int(self.env[each]) for each in op.mixed_offsets]
        if any(not 0 <= a <= n - part for a, part, n in zip(starts, dims, source.shape, strict=True)):
            raise Undefined("a part outside of its tile")
        where = tuple(slice(a, a + n) for a, n in zip(starts, dims, strict=True))
        blocks = None if source.blocks is None else source.blocks[where]
        return [Tile(dims, source.data[where], source.known[where], blocks)]

    def reshape(self, op: Any) -> list[Any]:
        source: Tile = self.env[op.source]
        dims = op.result.type.dims
        data, known = source.data.reshape(dims), source.known.reshape(dims)
        if source.blocks is not None or not np.shares_memory(data, source.data):
            raise Unsupported("a reshape that is no view")
        return [Tile(dims, data, known)]

    def fill(self, op: Any) -> list[Any]:
        tile: Tile = self.env[op.tile]
        value = np.broadcast_to(np.asarray(self.env[op.value]).astype(tile.data.dtype), tile.shape)
        tile.write(value, np.ones(tile.shape, bool), self.block)
        return []

    def transfer(self, op: Any) -> list[Any]:
        source, target = op.operands
        data, known = self.read(source)
        if op.reduce is not None and str(op.reduce.data) == "add":
            self.env[target].add(data, known, self.block)
            return []
        if op.reduce is not None:
            old, old_known = self.read(target)
            combine = _REDUCTIONS.get(str(op.reduce.data))
            if combine is None:
                raise Unsupported(str(op.reduce.data))
            data, known = combine(old, data), known & old_known
        self.env[target].write(data, known, self.block)
        return []

    def load(self, op: Any) -> list[Any]:
        return self.new(op.results[0], *self.read(op.operands[0]))

    def splat(self, op: Any) -> list[Any]:
        value = self.env[op.value] if op.operands else 0
        return self.new(op.result, np.asarray(value), np.ones((), bool))

    def mma(self, op: Any) -> list[Any]:
        if op.pair is not None:
            raise Unsupported("a product of a pair of blocks")
        (a, ka), (b, kb) = ((x.astype(np.float64), known) for x, known in (self.read(op.a), self.read(op.b)))
        if op.metadata is not None:
            codes, known = self.read(op.metadata)
            a, ka = expanded(a, codes, str(op.a_type.element_type)), ka.all(-1, keepdims=True) & known.all()
        if op.scale_a is not None:
            (p, kp), (q, kq) = self.read(op.scale_a), self.read(op.scale_b)
            a, b = (
                x * np.repeat(scale[: len(x)].astype(np.float64), x.shape[1] // scale.shape[1], 1)
                for x, scale in ((a, p), (b, q))
            )
            ka, kb = ka & kp.all(), kb & kq.all()
        with np.errstate(all="ignore"):
            product = np.matmul(a, np.swapaxes(b, -1, -2))
        if op.zero_columns is not None:
            if not isinstance(op.zero_columns.data.columns, ColumnList) or op.zero_columns.data.shift:
                raise Unsupported("columns by runs or shifted")
            product[..., list(op.zero_columns.data.columns.columns)] = 0
        if (op.negate_a is None) != (op.negate_b is None):
            product = -product
        adds = op.accumulate is None or bool(self.env[op.accumulate])
        acc, kacc = self.read(op.accumulator) if adds else self.env[op.accumulator].read(self.block)
        total = product + (acc.astype(np.float64) if adds else 0)
        known = ka.all(-1, keepdims=True) & np.swapaxes(kb.all(-1, keepdims=True), -1, -2) & (kacc if adds else True)
        if np.issubdtype(acc.dtype, np.integer):
            total = np.where(np.abs(total) < 2**31, total, 0)
        if op.results:
            return self.new(op.results[0], total, known)
        self.env[op.accumulator].write(total.astype(acc.dtype), known, self.block)
        return []

    def map(self, op: Any) -> list[Any]:
        dims = op.out_types[0].dims
        known = np.ones(dims, bool)
        for argument, value in zip(op.body.block.args, op.ins, strict=True):
            data, each = self.read(value)
            self.env[argument] = np.broadcast_to(data, dims).astype(dtype_of(argument.type))
            known = known & np.broadcast_to(each, dims)
        self.map_dims = dims
        yielded = self._run(op.body.block)
        results: list[Any] = []
        for out, data in zip((*op.res, *op.outs), yielded, strict=True):
            tile = self.new(out, np.asarray(data), known)[0]
            if out in op.outs:
                self.env[out].write(tile.data, known, self.block)
            else:
                results.append(tile)
        return results

    def index(self, op: Any) -> list[Any]:
        return [np.indices(self.map_dims)[op.dim.value.data]]

    def reduce(self, op: Any) -> list[Any]:
        data, known = self.read(op.source)
        name = str(op.combination.data)
        axes = tuple(op.along)
        wide = data if name in ("max", "min") else data.astype(np.float64 if data.dtype.kind != "i" else data.dtype)
        all_known: Array = np.asarray(known.all(axes, keepdims=True))
        return self.new(op.result, _REDUCTIONS[name].reduce(wide, axes, keepdims=True), all_known)

    # Control flow.

    def for_(self, op: Any) -> list[Any]:
        low, high, step = (int(self.env[value]) for value in (op.lb, op.ub, op.step))
        if step <= 0:
            raise Undefined("a step of 0 or less")
        turns = range(low, high, step)
        if len(turns) > _MOST_TURNS:
            raise Unsupported("a long loop")
        carried = [self.env[value] for value in op.iter_args]
        for turn in turns:
            for argument, value in zip(op.body.block.args, [np.int64(turn), *carried], strict=True):
                self.env[argument] = value
            carried = self._run(op.body.block)
        return carried

    def while_(self, op: Any) -> list[Any]:
        carried = [self.env[value] for value in op.arguments]
        for _ in range(_MOST_TURNS):
            self.env.update(zip(op.before_region.block.args, carried, strict=True))
            goes_on, *passed = self._run(op.before_region.block)
            if not bool(goes_on):
                return passed
            self.env.update(zip(op.after_region.block.args, passed, strict=True))
            carried = self._run(op.after_region.block)
        raise Unsupported("a long loop")

    def if_(self, op: Any) -> list[Any]:
        region = op.true_region if bool(self.env[op.cond]) else op.false_region
        return self._run(region.block) if region.blocks else []

    def block_id(self, op: Any) -> list[Any]:
        return [np.int64(self.at["xyz".index(str(op.axis.data))])]

    def grid_dim(self, op: Any) -> list[Any]:
        return [np.int64(self.grid["xyz".index(str(op.axis.data))])]

    def dim(self, op: Any) -> list[Any]:
        return [np.int64(self.env[op.source].shape[int(self.env[op.index])])]

    # Numbers.

    def _scalar(self, op: Operation) -> list[Any]:
        if op.name == "arith.constant":
            match op.properties.get("value"):
                case IntegerAttr(value=value) | FloatAttr(value=value):
                    return [np.asarray(value.data).astype(dtype_of(op.results[0].type))[()]]
                case _:
                    raise Unsupported("a constant of several numbers")
        if op.name not in SCALARS:
            raise Unsupported(op.name)
        exact, function = SCALARS[op.name]
        self.exact = self.exact and exact
        operands = [np.asarray(self.env[value]) for value in op.operands]
        with np.errstate(all="ignore"):
            result = function(op, *operands)
            result = np.asarray(result).astype(dtype_of(op.results[0].type))[()]
        if str(op.results[0].type) == "index" and (np.abs(result) >= _LARGEST_INDEX).any():
            raise Undefined("an index beyond 31 bits")
        return [result]


def _same(_: Any, x: Array) -> Array:
    return x


def _compare(op: Any, a: Array, b: Array) -> Array:
    names = "eq ne slt sle sgt sge ult ule ugt uge".split()
    name = names[op.predicate.value.data]
    if name.startswith("u"):
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        a, b = a.astype(unsigned), b.astype(unsigned)
    return _ORDERS[name[-2:]](a, b)


_ORDERS: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def _compare_floats(op: Any, a: Array, b: Array) -> Array:
    names = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
    name = names[op.predicate.value.data]
    nan = np.isnan(a.astype(np.float64)) | np.isnan(b.astype(np.float64))
    match name:
        case "false" | "true":
            return np.broadcast_to(np.asarray(name == "true"), nan.shape)
        case "ord" | "uno":
            return nan if name == "uno" else ~nan
        case _:
            compared = _ORDERS[name[1:]](a, b)
            return compared | nan if name[0] == "u" else compared & ~nan


def _divided(_: Any, a: Array, b: Array) -> Array:
    if (b == 0).any():
        raise Undefined("a division by zero")
    return np.trunc(a.astype(np.float64) / b.astype(np.float64))


def _remainder(_: Any, a: Array, b: Array) -> Array:
    if (b == 0).any():
        raise Undefined("a division by zero")
    return np.fmod(a, b)


def _shifted(left: bool) -> Callable[[Any, Array, Array], Array]:
    def shift(_: Any, a: Array, b: Array) -> Array:
        if (b < 0).any() or (b >= 8 * a.dtype.itemsize).any():
            raise Undefined("a shift by more than the width")
        return np.left_shift(a, b) if left else np.right_shift(a, b)

    return shift


def _to_integer(op: Any, x: Array) -> Array:
    limits = np.iinfo(dtype_of(op.results[0].type))
    wide = np.trunc(x.astype(np.float64))
    if not ((wide >= limits.min) & (wide <= limits.max)).all():
        raise Undefined("a float beyond the integer type")
    return wide


def _truncated(op: Any, x: Array) -> Array:
    """Formats of 8 bits and less saturate; powers of two (f8E8M0FNU) are rounded up."""
    dtype = dtype_of(op.results[0].type)
    if dtype.itemsize > 1:
        return x
    wide, largest = x.astype(np.float64), float(ml_dtypes.finfo(dtype).max)
    if dtype == ml_dtypes.float8_e8m0fnu:
        if (wide < 0).any():
            raise Undefined("a negative number as a power of two")
        fraction, exponent = np.frexp(np.minimum(wide, largest))
        power = np.maximum(exponent - (fraction == 0.5), -127)
        return np.where(np.isnan(wide), np.nan, np.where(wide == 0, 2.0**-127, np.ldexp(1.0, power)))
    # Formats without NaN get their largest number.
    not_a_number = largest if np.isfinite(np.array(np.nan).astype(dtype).astype(np.float64)) else np.nan
    return np.where(np.isnan(wide), not_a_number, np.clip(wide, -largest, largest))


def _unsigned(op: Any, x: Array) -> Array:
    return x.astype(np.uint8) if x.dtype == np.bool_ else x.astype(np.dtype(f"u{x.dtype.itemsize}"))


def _binary(function: Any) -> Callable[[Any, Array, Array], Array]:
    return lambda _, a, b: function(a, b)


def _unary(function: Any) -> Callable[[Any, Array], Array]:
    return lambda _, x: function(x.astype(np.float64)).astype(x.dtype)


SCALARS: dict[str, tuple[bool, Callable[..., Array]]] = {
    **{
        f"arith.{name}": (True, _binary(function))
        for name, function in {
            "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "addi": np.add, "subi": np.subtract,
            "muli": np.multiply, "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax,
            "minnumf": np.fmin, "maxsi": np.maximum, "minsi": np.minimum, "andi": np.bitwise_and,
            "ori": np.bitwise_or, "xori": np.bitwise_xor,
        }.items()
    },
    "arith.divf": (False, _binary(np.true_divide)),
    "arith.divsi": (True, _divided),
    "arith.remsi": (True, _remainder),
    "arith.shli": (True, _shifted(True)),
    "arith.shrsi": (True, _shifted(False)),
    "arith.negf": (True, lambda _, x: -x),
    "arith.cmpi": (True, _compare),
    "arith.cmpf": (True, _compare_floats),
    "arith.select": (True, lambda _, c, a, b: np.where(c, a, b)),
    **{f"arith.{name}": (True, _same) for name in ("extf", "sitofp", "trunci", "index_cast")},
    "arith.truncf": (True, _truncated),
    "arith.extsi": (True, lambda _, x: -x.astype(np.int8) if x.dtype == np.bool_ else x),
    "arith.extui": (True, _unsigned),
    "arith.uitofp": (True, _unsigned),
    "arith.fptosi": (True, _to_integer),
    "math.absf": (True, lambda _, x: np.abs(x)),
    **{
        f"math.{name}": (False, _unary(function))
        for name, function in {
            "exp": np.exp, "exp2": np.exp2, "sqrt": np.sqrt, "tanh": np.tanh, "log": np.log, "log2": np.log2,
            "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos,
        }.items()
    },
}  # fmt: skip
"""Operations on numbers: whether they are exact on small integers, and what they compute."""

_RULES: dict[str, Callable[[Interpreter, Any], list[Any]]] = {
    "tirx.alloc": Interpreter.alloc,
    "tirx.view": Interpreter.view,
    "tirx.subview": Interpreter.subview,
    "tirx.reshape": Interpreter.reshape,
    "tirx.fill": Interpreter.fill,
    "tirx.copy": Interpreter.transfer,
    "tirx.store": Interpreter.transfer,
    "tirx.load": Interpreter.load,
    "tirx.convert": Interpreter.load,
    "tirx.broadcast": Interpreter.load,
    "tirx.splat": Interpreter.splat,
    "tirx.zero": Interpreter.splat,
    "tirx.mma": Interpreter.mma,
    "tirx.map": Interpreter.map,
    "tirx.index": Interpreter.index,
    "tirx.reduce": Interpreter.reduce,
    "tirx.block_id": Interpreter.block_id,
    "tirx.grid_dim": Interpreter.grid_dim,
    "memref.dim": Interpreter.dim,
    "scf.for": Interpreter.for_,
    "scf.if": Interpreter.if_,
    "scf.while": Interpreter.while_,
}


def is_modelled(kernel: KernelOp) -> bool:
    """Returns True if every operation of a kernel has a meaning here."""
    known = {
        *_RULES,
        *SCALARS,
        "arith.constant",
        "tirx.yield",
        "scf.yield",
        "scf.condition",
        "tirx.return",
        kernel.name,
    }
    tiles = [type_ for op in kernel.walk() for type_ in (*op.result_types,) if isinstance(type_, TileType)]
    return (
        (kernel.cluster is None or kernel.is_whole_pair)
        and all(op.name in known for op in kernel.walk())
        and all(str(tile.element_type) in DTYPES for tile in tiles)
        and all(tile.memory in MemorySpace for tile in tiles)
        and all(
            str(type_.element_type if isinstance(type_, MemRefType) else type_) in DTYPES
            for type_ in kernel.function_type.inputs
        )
    )
