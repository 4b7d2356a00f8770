"""The place where a traced kernel inserts operations, with the Python expression that wrote each as its location."""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from numbers import Real
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn, TypeVar, cast
from weakref import WeakValueDictionary

import xdsl
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FileLineColLoc,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import VerifyException

from tirx import frames
from tirx.diagnostics import LocatedError
from tirx.dialects.formula import Formula
from tirx.dialects.tirx import AllocOp, KernelOp, ReshapeOp, SubviewOp, TransposeOp, ViewOp
from tirx.dialects.tirx.interface import tile_effects
from tirx.dialects.tirx.kernel import grid_attr
from tirx.layout import LayoutError
from tirx.text.source import file_location

OpT = TypeVar("OpT", bound=Operation)

_HERE = str(Path(__file__).parent)
_OWN = (_HERE, contextlib.__file__, functools.__file__, frames.__file__)
_LIBRARIES = (str(Path(__file__).parents[1]), xdsl.__path__[0], contextlib.__file__, functools.__file__)

_Place = tuple[str, int, int, int]
"""File, line, first column and the one behind the last, columns from 0."""


@lru_cache(maxsize=256)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


def python_place() -> _Place:
    """The expression of the innermost Python code outside of the library that is being evaluated."""
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return _place(frame.f_code, frame.f_lasti, frame.f_lineno)


def _place(code: CodeType, instruction: int, line_of_frame: int) -> _Place:
    line, end_line, column, end = _positions(code)[instruction // 2]
    column = 0 if column is None else column
    return code.co_filename, line or line_of_frame, column, end if end and end_line == line else column + 1


def python_location() -> LocationAttr:
    """The location of what Python evaluates."""
    file, line, column, _ = python_place()
    return file_location(file, line, column + 1)


class BuildError(TypeError):
    """Something that no kernel can say, at the Python expression that says it.

    >>> import tirx as tx
    >>> @tx.jit(tx.f16[64, 64], threads=128)
    ... def too_far(a: tx.Array) -> None:
    ...     a[0:65, :]
    >>> too_far.module
    Traceback (most recent call last):
    ...
    tirx.builder.trace.BuildError: ...expected a slice within 64 elements, found 0:65...
    """

    def __init__(self, message: str, place: _Place | None = None):
        self.message: str = message
        self.place: _Place = place or python_place()
        self.location: FileLineColLoc | None = None
        """The place in a program of another language, where `tx.located` says one."""
        super().__init__(message)

    def __str__(self) -> str:
        file, line, column, end = self.place
        text = linecache.getline(file, line).rstrip()
        shown = f"\n{text}\n{' ' * column}{'^' * max(1, min(end, len(text)) - column)}" if text else ""
        here = f"{file}:{line}:{column + 1}: "
        if (location := self.location) is None:
            return f"{here}error: {self.message}{shown}"
        program = f"{location.filename.data}:{location.line.data}:{location.column.data}"
        return f"{program}: error: {self.message}\n{here}note: this expression of Python{shown}"


class Unusable:
    """Stands for a value that is not there: whatever is done with it is an error with this text."""

    def __init__(self, text: str):
        object.__setattr__(self, "text", text)

    def _fail(self, *_: Any) -> NoReturn:
        raise BuildError(object.__getattribute__(self, "text"))

    def __getattr__(self, name: str) -> NoReturn:
        self._fail()


for _name in (
    "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift radd rsub rmul rtruediv rfloordiv rmod rpow "
    "rmatmul rand ror rxor rlshift rrshift eq ne lt le gt ge bool int float index iter len contains getitem setitem "
    "call neg pos abs invert hash"
).split():
    setattr(Unusable, f"__{_name}__", Unusable._fail)  # pyright: ignore[reportPrivateUsage]


class NeedsExtent(Exception):
    """An extent of an argument that has to be a number while the kernel is traced."""

    def __init__(self, argument: int, dim: int):
        super().__init__(f"an extent that is a number: {dim} of argument {argument}")
        self.argument = argument
        self.dim = dim


class Trace:
    """The kernel that is being traced: blocks from its body to the innermost one, whose end is where operations go."""

    def __init__(self, entry: Block, kernel: KernelOp | None = None, *, is_module: bool = False):
        self.blocks: list[Block] = [entry]
        self.kernel = kernel
        self.is_module = is_module
        self.is_of_elements = False
        """True in a function of elements, which has no branches."""
        self.specialises = False
        """True for a call with arrays, whose extents may become numbers."""
        self.location: LocationAttr | None = None
        """The location of operations; None takes Python's expression."""
        self.requires: dict[tuple[tuple[int, int], tuple[int, int]], None] = {}
        """Pairs of an argument's dimensions that one span goes over, whose extents are equal."""
        self.pending: WeakValueDictionary[int, Any] = WeakValueDictionary()
        """Tiles that are not computed yet."""
        self.writes: int = 0
        """How often memory has been written: what is loaded stays until then."""
        self.written: dict[SSAValue, int] = {}
        """What has been written -> `writes` when that last was."""
        self.kept: dict[object, Any] = {}
        """What is made once in a kernel: extents of arguments, decisions about loops."""
        self._constants: dict[Attribute, SSAValue] = {}
        self.loops: list[int] = [0]
        """How many loops have ended in the body of the kernel, and of each loop around."""
        self.copies: list[tuple[SSAValue, int]] = []
        """Memory that tiles of indices have been read from, and when the views were made."""

    @property
    def grid(self) -> object | None:
        """The extents of the grid, None where nobody has said them."""
        return None if self.kernel is None else self.kernel.grid

    def set_grid(self, extents: Sequence[Formula]) -> None:
        """Says the blocks along x, y and z."""
        if self.kernel is None:
            raise BuildError("expected tx.grid in a kernel, found it in a function")
        self.kernel.grid = grid_attr(extents)

    @property
    def entry(self) -> Block:
        """The body of the kernel."""
        return self.blocks[0]

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it."""
        op.location = self.location or python_location()
        if not all(map(self.sees, op.operands)):
            raise BuildError("expected values of this place, found one of a loop or branch that has ended")
        self.blocks[-1].add_op(op)
        return op

    def at_entry(self, op: OpT) -> OpT:
        """Inserts `op` in the body of the kernel, in front of the loop or branch that is being traced."""
        op.location = self.location or python_location()
        self.entry.add_op(op)
        return op

    def constant(self, value: float, type_: Attribute, is_signed: bool = True) -> SSAValue:
        """A constant, at the start of the kernel. Raises BuildError for what is no number of the type."""
        if not isinstance(value, Real):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BuildError(f"expected a tile or a number, found {value!r}")
        if isinstance(type_, IndexType | IntegerType):
            if value != value or abs(value) == float("inf") or value != int(value):
                raise BuildError(f"expected an integer for {type_}, found {value!r}")
            kind = cast("IndexType | IntegerType", type_)
            width = 64 if isinstance(kind, IndexType) else kind.width.data
            low = -(2 ** (width - 1)) if is_signed else 0
            if not low <= value < low + 2**width:
                known = f"that fits into {type_}" if is_signed else f"of 0 to {2**width - 1}"
                raise BuildError(f"expected a number {known}, found {value!r}")
            attribute: Attribute = IntegerAttr(int(value), kind, truncate_bits=True)
        else:
            try:
                attribute = FloatAttr(float(value), cast("AnyFloat", type_))
                fits = isfinite(attribute.value.data) or not isfinite(value)
            except OverflowError:  # xDSL below 0.75
                fits, attribute = False, FloatAttr(0.0, cast("AnyFloat", type_))
            if not fits:
                raise BuildError(f"expected a number that fits into {type_}, found {value!r}")
        if attribute not in self._constants:
            op = arith.ConstantOp(attribute)  # pyright: ignore[reportArgumentType]
            op.location = self.location or python_location()
            if (first := self.entry.first_op) is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
            self._constants[attribute] = op.result
        return self._constants[attribute]

    def typed(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Returns a number of an array (`ui8`) as one that `arith` computes with (`i8`), or the other way."""
        if value.type == type_:
            return value
        return self(UnrealizedConversionCastOp.get([value], [type_])).results[0]

    def sees(self, value: SSAValue) -> bool:
        """Returns True unless a value was made in a loop or branch that has ended."""
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return any(block is each for each in self.blocks)

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Inserts into another block, inside of the current one."""
        self.blocks.append(block)
        try:
            yield
        finally:
            self.blocks.pop()

    @contextmanager
    def loop(self) -> Generator[tuple[int, ...]]:
        """Goes through a loop. Gives its number in each loop around it, which stay when those are traced again."""
        key = tuple(self.loops)
        self.loops.append(0)
        yield key
        self.loops.pop()
        self.loops[-1] += 1

    @contextmanager
    def of_elements(self) -> Generator[None]:
        """Goes through a function of elements."""
        before, self.is_of_elements = self.is_of_elements, True
        try:
            yield
        finally:
            self.is_of_elements = before

    def flush(self, memory: SSAValue | None = None) -> None:
        """Computes the tiles that are not computed yet, the last one first: others may be parts of it.

        With `memory` only those that it is read for; arrays may be one array. What memory has is loaded anew after it.
        """
        same = [MemRefType] if memory is not None and isinstance(memory.type, MemRefType) else []
        for number in sorted(self.pending, reverse=True):
            if (tile := self.pending.get(number)) is not None and (
                memory is None or any(each is memory or type(each.type) in same for each in tile.reads)
            ):
                tile.flush()
        self.writes += 1

    def check_copies(self, copies: list[tuple[SSAValue, int]], before: int) -> None:
        """Raises BuildError for copies from before `writes` was so much, of memory that was written from then on."""
        if any(made < before <= self.written.get(memory, -1) for memory, made in copies):
            raise BuildError(
                "expected what tiles of indices name, or one of several views, to be read before the array is written, "
                "found it read behind that; .load() reads it where it gets its name"
            )

    def before_write(self, target: SSAValue) -> None:
        """Computes what reads a tile in memory, or a part of it, before that is written."""
        memory = root(target)
        self.flush(memory)
        self.written[memory] = self.writes

    def before(self, op: Operation) -> None:
        """Computes what reads memory that an operation writes, or others do while it waits, before it does."""
        if not is_side_effect_free(op):
            flags = [value for value in op.operands if isinstance(value.type, MemRefType)]
            for memory in dict.fromkeys([*tile_effects(op).writes, *flags]):
                self.before_write(memory)
            self.writes += 1


def name_value(value: SSAValue, name: str | None) -> None:
    """Names a value of the IR by a variable, unless it has a name already, or the name is none of MLIR."""
    if name is not None and name.isascii() and value.name_hint is None:
        value.name_hint = name


def root(tile: SSAValue) -> SSAValue:
    """The memory that a part of a tile, or another shape of it, lies in."""
    while isinstance(tile.owner, SubviewOp | ReshapeOp | TransposeOp | ViewOp):
        tile = tile.owner.operands[0]
    return tile


_traces: list[Trace] = []
_around: list[FileLineColLoc] = []


def location_around() -> LocationAttr | None:
    """The place that `located` says around the definition of a kernel, None where it says none."""
    return _around[-1] if _around else None


def current() -> Trace:
    """The trace of the kernel that is being written. Raises BuildError outside of kernels."""
    if not _traces:
        raise BuildError("expected a function that @tx.jit traces around, found none")
    return _traces[-1]


@contextmanager
def tracing(trace: Trace) -> Generator[None]:
    """Makes `trace` the current one. What an operation's definition refuses, or a tile lacks, is a BuildError there."""
    _traces.append(trace)
    try:
        yield
    except (BuildError, LocatedError):
        raise
    except (VerifyException, LayoutError) as error:
        raise BuildError(str(error), _users(error)[0]) from error
    except (TypeError, AttributeError) as error:
        place, is_innermost = _users(error)
        if not (
            is_innermost or getattr(error, "obj", None) is sys.modules["tirx"]
        ):  # a fault of the library, or of another one
            raise
        raise BuildError(_way_out(error), place) from error
    finally:
        _traces.pop()


def _users(error: Exception) -> tuple[_Place, bool]:
    """The innermost expression outside of the library that an error was raised in, and whether it raised it itself."""
    each, found, is_innermost = error.__traceback__, None, True
    while each is not None:
        file = each.tb_frame.f_code.co_filename
        if found is None or not file.startswith(_LIBRARIES):
            found, is_innermost = each, True
        elif file != frames.__file__:  # where Python raises the error for arguments that do not fit
            is_innermost = False
        each = each.tb_next
    assert found is not None
    return _place(found.tb_frame.f_code, found.tb_lasti, found.tb_lineno), is_innermost


_MEMBERS = {
    "arange": "tx.indices(0, n), or .index of a span",
    "argmin": "(-t).argmax(dim)",
    "astype": "t.to(dtype)",
    "barrier": "nothing: barriers are derived",
    "cdiv": "tx.ceildiv(a, b)",
    "dot": "x @ y.T",
    "load": "a[m, k], which is a view and is read where it is used",
    "mean": "t.sum(dim) / n",
    "permute": "t.transpose(1, 0)",
    "program_id": 'tx.grid((extent, size)), or tx.block_id("x")',
    "size": ".shape",
    "store": "a[m, k] = t",
    "syncthreads": "nothing: barriers are derived",
    "view": "t.reshape(...), or t.bitcast(dtype)",
}
"""What people know from elsewhere -> how it is said here."""


def _way_out(error: TypeError | AttributeError) -> str:
    """The message of Python, with what is there instead."""
    text = str(error)
    if isinstance(error, AttributeError) and error.name is not None:
        folds = ("sum", "prod", "max", "min") if error.obj is sys.modules["tirx"] else ()
        close = get_close_matches(error.name, [each for each in dir(error.obj) if not each.startswith("_")], 1)
        near = f"t.{error.name}(dim)" if error.name in folds else _MEMBERS.get(error.name) or "".join(close)
        return f"{text}; {near} is" if near else text
    return f"{text}; a[m, k] is a tile of an array" if "'Array'" in text else text


def drop_unused(block: Block) -> None:
    """Removes operations without effect whose results nobody uses, from the last one on."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                drop_unused(inner)
        if is_trivially_dead(op) or (isinstance(op, AllocOp) and op.result.first_use is None):
            op.detach()
            op.erase()


def insert(op: OpT) -> OpT:
    """Inserts an operation of whichever dialect where the kernel is being written, and returns it.

    >>> import tirx as tx
    >>> from tirx.dialects.tirx import ZeroOp
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def counted(a: tx.Array) -> None:
    ...     tx.store(tx.Tile.of(tx.insert(ZeroOp(tx.f32[64].register)).result), a[:])
    >>> "tirx.zero" in str(counted.module)
    True
    """
    trace = current()
    trace.before(op)
    return trace(op)


@contextmanager
def located(file: str, line: int, column: int = 1) -> Generator[None]:
    """Locates operations there, in a program of another language, instead of at their Python expression.

    Around the definition of a kernel, it locates the kernel. A BuildError inside has the place as its `location`.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def double(a: tx.Array) -> None:
    ...     with tx.located("program.toy", 3):
    ...         a[:] = 2.0 * a[:]
    >>> [op.location.line.data for op in double.module.walk() if op.name == "tirx.map"]
    [3]
    """
    location = file_location(file, line, column)
    if not _traces:
        _around.append(location)
        try:
            yield
        finally:
            _around.pop()
        return
    trace = current()
    before = trace.location
    trace.location = location
    try:
        yield
    except BuildError as error:
        error.location = error.location or location
        raise
    finally:
        trace.location = before
