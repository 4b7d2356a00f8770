"""Layout attributes, the tile type and the zero-column clause of the `tirx` dialect."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from math import prod
from typing import NoReturn, TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntAttr, NoneAttr, bf16, f16, f32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.text_data import TextData, errors_from
from tirx.dialects.tirx.sizes import Size, SizeAttr, parse_size
from tirx.dialects.xdsl_parser import resume_from
from tirx.hw.errors import ZeroColumnsError
from tirx.layout import ComposeLayout, LayoutError, SwizzleLayout, TileLayout, axis
from tirx.layout.arrays import np
from tirx.layout.dtypes import ElementType, element_type
from tirx.rules import ElementTypeError, TileShapeError, TileTypeError, UnboundParameterError
from tirx.tcgen05.tmem import COLUMN_BITS
from tirx.tcgen05.zero_column_mask import ZeroColumnMask
from tirx.values import dataclass

LayoutT = TypeVar("LayoutT", TileLayout, SwizzleLayout, ComposeLayout)


class LayoutAttr(Attribute, abc.ABC):
    """The three layout attributes; each has a value of `tirx.layout` in `data`."""


_RAW_PARAMETER = re.compile(r"(?:[^>/]|//[^\n]*|/)*+")
"""Text up to the next `>` that is not in a comment."""

_COMMENT = re.compile(r"//[^\n]*")

_MAX_ELEMENTS = 2**20
"""More than any memory of an SM holds, and few enough to unroll a copy."""

_MAX_COPIES = 1024
"""Threads of a block: more copies of an element have no place."""

_COORDINATE_BITS = 48
"""Elements of global memory that addresses of 57 bits can name, with room for what is computed from them."""

_MAX_SLOTS = 2**16
"""Elements that one thread may name: more than its registers hold."""


def _parse_notation(parser: AttrParser, name: str, layout_class: type[LayoutT]) -> LayoutT:
    """The layout between angle brackets; consumes up to the closing one.

    The notation has a parser of its own in `tirx.layout`, which gets the whole attribute, so that its messages
    name the brackets that the user wrote. The IR parser steps over it.
    """
    start = parser.pos
    found = _RAW_PARAMETER.match(parser.lexer.input.content, start)
    end = start if found is None else found.end()
    if parser.lexer.input.at(end) is None:
        parser.raise_error("expected '>' after the layout")
    # Comments are white space of the same length, which keeps the positions.
    text = _COMMENT.sub(lambda comment: " " * len(comment.group()), parser.lexer.input.content[start:end])
    head = f"#{name}<"
    try:
        layout = layout_class.parse(f"{head}{text}>")
    except LayoutError as e:
        position = len(head) if e.position is None else max(e.position, len(head))
        at = start + position - len(head)
        parser.raise_error(str(e), at, at + 1)
    resume_from(parser, end)
    return layout


@irdl_attr_definition
class TileLayoutAttr(TextData[TileLayout], LayoutAttr):
    """`#tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid>`

    The notation of the TIRx tensor-layout page, unchanged: shard, replicas, offsets.
    """

    name = "tirx.tile_layout"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> TileLayout:
        return _parse_notation(parser, cls.name, TileLayout)


@irdl_attr_definition
class SwizzleLayoutAttr(TextData[SwizzleLayout], LayoutAttr):
    """`#tirx.swizzle_layout<3, 3, 3>`: per_element, swizzle_len, atom_len."""

    name = "tirx.swizzle_layout"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> SwizzleLayout:
        return _parse_notation(parser, cls.name, SwizzleLayout)

    def body(self) -> str:
        return self.data.arguments


@irdl_attr_definition
class ComposeLayoutAttr(TextData[ComposeLayout], LayoutAttr):
    """`#tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>`"""

    name = "tirx.compose_layout"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ComposeLayout:
        start = parser.pos
        swizzle = parser.expect(parser.parse_optional_attribute, "expected a #tirx.swizzle_layout first")
        if not isinstance(swizzle, SwizzleLayoutAttr):
            parser.raise_error(f"expected a #tirx.swizzle_layout first, found {swizzle}", start, parser.pos)
        parser.parse_punctuation(",")
        start = parser.pos
        tile = parser.expect(parser.parse_optional_attribute, "expected a #tirx.tile_layout second")
        if not isinstance(tile, TileLayoutAttr):
            parser.raise_error(f"expected a #tirx.tile_layout second, found {tile}", start, parser.pos)
        with errors_from(parser, start):
            return ComposeLayout(swizzle.data, tile.data)

    def body(self) -> str:
        return f"{SwizzleLayoutAttr(self.data.swizzle)}, {TileLayoutAttr(self.data.tile)}"


def layout_attr(layout: TileLayout | ComposeLayout) -> TileLayoutAttr | ComposeLayoutAttr:
    """The attribute around a layout that can place a tile."""
    return TileLayoutAttr(layout) if isinstance(layout, TileLayout) else ComposeLayoutAttr(layout)


class MemorySpace(StrEnum):
    """The memory that a tile lives in."""

    GLOBAL = "global"
    SHARED = "shared"
    TENSOR = "tensor"
    REGISTER = "register"
    ACCUMULATOR = "accumulator"
    """Registers or tensor memory, as the target wants it for the products; `tirx-resolve-accumulators` decides."""

    @property
    def place(self) -> str:
        """The memory space in a sentence: `tensor memory`, `registers`."""
        match self:
            case MemorySpace.REGISTER:
                return "registers"
            case MemorySpace.ACCUMULATOR:
                return "an accumulator"
            case _:
                return f"{self} memory"


@irdl_attr_definition
class MemorySpaceAttr(EnumAttribute[MemorySpace], SpacedOpaqueSyntaxAttribute):
    """`#tirx<memory_space shared>`"""

    name = "tirx.memory_space"


_MEMORY_AXES: dict[MemorySpace, frozenset[str]] = {
    MemorySpace.GLOBAL: frozenset({"m"}),
    MemorySpace.SHARED: frozenset({"m", "cbx"}),
    MemorySpace.TENSOR: frozenset({"TLane", "TCol", "cbx"}),
    MemorySpace.REGISTER: frozenset({"m"}),
}
"""Axes that a tile of each memory space may use, `cbx` for the block of a pair. Register tiles also use thread axes."""


def _shape_problem(dims: Sequence[int]) -> str | None:
    """Why there are no tiles of this shape, or None when there are."""
    if dims and all(n > 0 for n in dims):
        elements = prod(dims)
        return None if elements <= _MAX_ELEMENTS else f"expected at most {_MAX_ELEMENTS} elements, found {elements}"
    found = ", ".join("?" if n == DYNAMIC_INDEX else str(n) for n in dims)
    hint = "" if dims else "; one element has extents of 1: tirx.splat makes it of a scalar, tirx.element the scalar"
    return f"expected a tile of rank 1 or more with positive, static extents, found shape [{found}]{hint}"


def _element_problem(type_: Attribute) -> str | None:
    """Why there are no tiles of this element type, or None when there are."""
    try:
        element_type(str(type_))
    except LayoutError as e:
        return str(e)
    return None


def _width_problem(type_: Attribute, memory: MemorySpace) -> str | None:
    """Why `memory` holds no elements of this type, or None when it does: those of tensor memory fill columns."""
    if memory is not MemorySpace.TENSOR or _element_type(type_).storage_bits <= COLUMN_BITS:
        return None
    return f"expected elements of {COLUMN_BITS} bits or fewer in tensor memory, found {type_}"


def _layout_problem(
    shape: Sequence[int], element: ElementType, memory: MemorySpace, layout: TileLayout | ComposeLayout
) -> str | None:
    """Why `layout` cannot place a tile of `shape` in `memory`, or None when it can."""
    if layout.size() != prod(shape):
        return (
            f"expected a layout of {prod(shape)} elements for a {'x'.join(map(str, shape))} tile, "
            f"found one of {layout.size()}: {layout}"
        )
    if memory is MemorySpace.ACCUMULATOR:
        return f"expected no layout on an accumulator, whose memory depends on the target, found {layout}"
    if isinstance(layout, ComposeLayout) and memory is not MemorySpace.SHARED:
        return f"expected a tile layout in {memory.place}, found a swizzle, which only shared memory has"
    for name in layout.axes:
        allowed = name in _MEMORY_AXES[memory] or (memory is MemorySpace.REGISTER and axis(name).kind == "thread")
        if not allowed:
            names = ", ".join(sorted(_MEMORY_AXES[memory]))
            threads = " and thread axes such as laneid and warpid" if memory is MemorySpace.REGISTER else ""
            return f"expected axes of {memory.place} ({names}{threads}), found axis {name}"
    try:
        layout.check_bounds(element.storage_bits)
    except LayoutError as e:
        return str(e)
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    for _, last in tile.footprint().values():
        if last >> _COORDINATE_BITS:
            return f"expected coordinates below 2^{_COORDINATE_BITS}, found {last} in {layout}"
    if (copies := prod(it.extent for it in tile.replica)) > _MAX_COPIES:
        return f"expected at most {_MAX_COPIES} copies of every element, found {copies} in {layout}"
    slots = tile.footprint().get("m") if memory is MemorySpace.REGISTER else None
    if slots is not None and slots[1] >= _MAX_SLOTS:
        return f"expected at most {_MAX_SLOTS} elements in a thread, found {slots[1] + 1} in {layout}"
    return None


def _reject(parser: AttrParser, problem: str, start: int) -> NoReturn:
    """Raises the error for a type that no tile has, at its place in the text."""
    try:
        raise TileTypeError(problem)
    except TileTypeError:
        parser.raise_error(problem, start, parser.pos)


def _parse_extents(parser: AttrParser) -> list[int | Size]:
    """`128x[BM * 2]x`: extents, each with the delimiter behind it."""
    found: list[int | Size] = []
    while True:
        numbers = parser.parse_dimension_list()
        found += numbers
        if numbers:
            parser.parse_shape_delimiter()
        if parser.parse_optional_punctuation("[") is None:
            return found
        found.append(parse_size(parser))
        parser.parse_punctuation("]")
        parser.parse_shape_delimiter()


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """`!tirx.tile<128x64xf16, shared, #tirx.tile_layout<...>>`: a dense tile in one memory.

    Without a layout, `tirx-pick-layouts` chooses one. In registers the layout says which thread holds
    which element in which of its slots (axis `m`, in elements).
    """

    name = "tirx.tile"

    shape: ArrayAttr[IntAttr | SizeAttr]
    element_type: Attribute
    memory_space: MemorySpaceAttr
    layout_attribute: TileLayoutAttr | ComposeLayoutAttr | NoneAttr

    @staticmethod
    def get(
        shape: Sequence[int],
        element_type: Attribute,
        memory: MemorySpace,
        layout: TileLayout | ComposeLayout | None = None,
    ) -> TileType:
        """A tile type from plain values. Raises VerifyException when the layout does not fit."""
        return _tile_type(tuple(shape), element_type, memory, layout)

    @staticmethod
    def of(value: SSAValue) -> TileType:
        """The type of a tile value. Raises VerifyException for a value of another type."""
        if not isinstance(value.type, TileType):
            raise TileTypeError(f"expected a tile, found a value of type {value.type}")
        return value.type

    @property
    def extents(self) -> tuple[int | Size, ...]:
        """The extents, some of which may be expressions of parameters."""
        return tuple([n.data for n in self.shape.data])

    @property
    def parameters_of_shape(self) -> tuple[str, ...]:
        """The names of the parameters that the extents depend on."""
        return tuple(dict.fromkeys(name for each in self.extents if isinstance(each, Size) for name in each.names))

    @property
    def dims(self) -> tuple[int, ...]:
        """The extents as numbers. Raises UnboundParameterError where they depend on parameters."""
        numbers = tuple([extent.data for extent in self.shape.data if isinstance(extent, IntAttr)])
        if len(numbers) != len(self.shape.data):
            raise UnboundParameterError.of(self.parameters_of_shape)
        return numbers

    @property
    def memory(self) -> MemorySpace:
        return self.memory_space.data

    @property
    def dtype(self) -> ElementType:
        return _FLOATS.get(type(self.element_type)) or _element_type(self.element_type)

    @property
    def layout(self) -> TileLayout | ComposeLayout | None:
        """The layout as a value, None when none has been written or picked."""
        return None if isinstance(self.layout_attribute, NoneAttr) else self.layout_attribute.data

    @property
    def num_elements(self) -> int:
        return prod(self.dims)

    @property
    def num_bytes(self) -> int:
        return -(-self.num_elements * self.dtype.storage_bits // 8)

    @property
    def span_bytes(self) -> int:
        """Bytes of memory from the base to the end of the last element, holes included."""
        if self.layout is None:
            return self.num_bytes
        _, last = self.layout.footprint().get("m", (0, 0))
        return -(-(last + 1) * self.dtype.storage_bits // 8)

    @property
    def span_columns(self) -> int:
        """Columns of tensor memory from the base to that of the last element, holes included; 0 without a layout."""
        if self.layout is None:
            return 0
        _, last = self.layout.footprint().get("TCol", (0, 0))
        return last * self.dtype.storage_bits // COLUMN_BITS + 1

    def in_memory(self, memory: MemorySpace) -> TileType:
        """The same tile in another memory, without a layout."""
        return TileType.get(self.dims, self.element_type, memory)

    def with_layout(self, layout: TileLayout | ComposeLayout) -> TileType:
        """The same tile, placed."""
        if self.parameters_of_shape:
            return TileType(self.shape, self.element_type, self.memory_space, layout_attr(layout))
        return _tile_type(self.dims, self.element_type, self.memory, layout)

    def verify(self) -> None:
        if self.parameters_of_shape:
            return
        problem = _shape_problem(self.dims) or _element_problem(self.element_type)
        problem = problem or _width_problem(self.element_type, self.memory)
        if problem is None and self.layout is not None:
            problem = _layout_problem(self.dims, self.dtype, self.memory, self.layout)
        if problem is not None:
            raise TileTypeError(problem)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            extents = _parse_extents(parser)
            shape = [each for each in extents if isinstance(each, int)]
            is_bound = len(shape) == len(extents)
            element_start = parser.pos
            element = parser.expect(parser.parse_optional_type, "expected an extent or an element type")
            if is_bound and (problem := _shape_problem(shape)) is not None:
                _reject(parser, problem, start)
            if (problem := _element_problem(element)) is not None:
                _reject(parser, problem, element_start)
            parser.parse_punctuation(",")
            memory = parser.parse_str_enum(MemorySpace)
            if (problem := _width_problem(element, memory)) is not None:
                _reject(parser, problem, element_start)
            layout: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(",") is not None:
                if not is_bound:
                    parser.raise_error("expected no layout on a tile whose extents depend on parameters")
                layout = cls._parse_layout(parser, shape, element, memory)
        sizes = [IntAttr(n) if isinstance(n, int) else SizeAttr(n) for n in extents]
        return ArrayAttr(sizes), element, MemorySpaceAttr(memory), layout

    @staticmethod
    def _parse_layout(parser: AttrParser, shape: Sequence[int], element: Attribute, memory: MemorySpace) -> Attribute:
        wanted = "expected a #tirx.tile_layout or #tirx.compose_layout"
        start = parser.pos
        layout = parser.expect(parser.parse_optional_attribute, wanted)
        if not isinstance(layout, TileLayoutAttr | ComposeLayoutAttr):
            parser.raise_error(f"{wanted}, found {layout}", start, parser.pos)
        problem = _layout_problem(shape, element_type(str(element)), memory, layout.data)
        if problem is not None:
            _reject(parser, problem, start)
        return layout

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for extent in self.extents:
                printer.print_string(f"{extent}x" if isinstance(extent, int) else f"[{extent}]x")
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.memory}")
            if self.layout is not None:
                printer.print_string(", ")
                printer.print_attribute(self.layout_attribute)


for _name in ("extents", "dims", "memory", "dtype", "layout"):  # types do not change, and are asked for these often
    _kept = cached_property(cast("property", vars(TileType)[_name]).fget or str)
    _kept.__set_name__(TileType, _name)
    setattr(TileType, _name, _kept)


@lru_cache(maxsize=1024)
def _tile_type(
    shape: tuple[int, ...], element_type: Attribute, memory: MemorySpace, layout: TileLayout | ComposeLayout | None
) -> TileType:
    return TileType(
        ArrayAttr([IntAttr(n) for n in shape]),
        element_type,
        MemorySpaceAttr(memory),
        NoneAttr() if layout is None else layout_attr(layout),
    )


@lru_cache(maxsize=256)
def _element_type(type_: Attribute) -> ElementType:
    return element_type(str(type_))


_FLOATS: Mapping[type[Attribute], ElementType] = {type(type_): element_type(str(type_)) for type_ in (f16, bf16, f32)}
"""Of classes whose types are all the same, which needs no hash of them."""


@dataclass(frozen=True)
class ColumnList:
    """`[3, 4, 5]`: these columns of B (accumulator columns, from 0) count as zero. LegalityError for a negative one."""

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            if column < 0:
                raise ZeroColumnsError(f"expected zero columns of 0 or more, found column {column}")

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.columns))}]"

    def mask(self, m: int, n: int, shift: int) -> ZeroColumnMask:
        zero = np.zeros(n, dtype=np.bool_)
        for column in self.columns:
            if column >= n:
                raise ZeroColumnsError(f"expected zero columns within [0, {n}), found column {column}")
            zero[column] = True
        return ZeroColumnMask.from_columns(zero, m, n, shift)


@dataclass(frozen=True)
class ColumnRuns:
    """`start = 3, zero = 2, use = 6`: from column `start` on, runs of `zero` zero columns and `use` used ones.

    Raises LegalityError for a negative start or an empty run.
    """

    start: int
    zero: int
    use: int

    def __post_init__(self) -> None:
        if self.start < 0 or self.zero < 1 or self.use < 1:
            raise ZeroColumnsError(f"expected start >= 0, zero >= 1 and use >= 1, found {self}")

    def __str__(self) -> str:
        return f"start = {self.start}, zero = {self.zero}, use = {self.use}"

    def mask(self, m: int, n: int, shift: int) -> ZeroColumnMask:
        if self.start >= n:
            raise ZeroColumnsError(f"expected start within [0, {n}), found {self}")
        columns = np.arange(n) - self.start
        return ZeroColumnMask.from_columns((columns >= 0) & (columns % (self.zero + self.use) < self.zero), m, n, shift)


@dataclass(frozen=True)
class RawColumns:
    """The fields of the zero-column mask descriptor as they stand in it (PTX ISA, "Zero-Column Mask Descriptor"):
    `start_count = [0, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3`, element i for sub-mask i.
    Raises LegalityError for a value that does not fit its field.
    """

    start_count: tuple[int, int, int, int]
    first_span: tuple[int, int, int, int]
    skip_span: int
    use_span: int

    def __post_init__(self) -> None:
        ZeroColumnMask(self.start_count, self.first_span, self.skip_span, self.use_span)

    def __str__(self) -> str:
        return (
            f"start_count = {list(self.start_count)}, first_span = {list(self.first_span)}, "
            f"skip_span = {self.skip_span}, use_span = {self.use_span}"
        )

    def mask(self, m: int, n: int, shift: int) -> ZeroColumnMask:
        return ZeroColumnMask(self.start_count, self.first_span, self.skip_span, self.use_span, shift)


@dataclass(frozen=True)
class ZeroColumns:
    """The columns of B that count as zero, and by how many columns, 0 to 32, B is read shifted."""

    columns: ColumnList | ColumnRuns | RawColumns
    shift: int = 0

    def __post_init__(self) -> None:
        ZeroColumnMask(shift=self.shift)

    def mask(self, m: int, n: int) -> ZeroColumnMask:
        """The descriptor for an `m` x `n` accumulator. Raises LegalityError when no descriptor says this."""
        return self.columns.mask(m, n, self.shift)


def _integer(parser: AttrParser) -> int:
    return parser.parse_integer(allow_boolean=False)


def _field(parser: AttrParser, name: str) -> int:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return _integer(parser)


def _four(parser: AttrParser, name: str) -> tuple[int, int, int, int]:
    start = parser.pos
    values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _integer(parser))
    if len(values) != 4:
        parser.raise_error(
            f"expected {name} of the 4 sub-masks, sub-mask 0 first, found {len(values)} values", start, parser.pos
        )
    return (values[0], values[1], values[2], values[3])


@irdl_attr_definition
class ZeroColumnsAttr(TextData[ZeroColumns]):
    """`#tirx.zero_columns<[3, 4, 5]>`, `#tirx.zero_columns<start = 3, zero = 2, use = 6>` or, with the raw fields of
    the descriptor, `#tirx.zero_columns<start_count = [..], first_span = [..], skip_span = 2, use_span = 3>`;
    each may end in `, shift = 2`. On `tirx.mma` it is written as the clause `zero_columns(...)`.
    """

    name = "tirx.zero_columns"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ZeroColumns:
        with errors_from(parser, parser.pos):
            columns = cls._parse_columns(parser)
            shift = 0 if parser.parse_optional_punctuation(",") is None else _field(parser, "shift")
            return ZeroColumns(columns, shift)

    @staticmethod
    def _parse_columns(parser: AttrParser) -> ColumnList | ColumnRuns | RawColumns:
        def following(name: str) -> int:
            parser.parse_punctuation(",")
            return _field(parser, name)

        if parser.parse_optional_keyword("start_count") is not None:
            parser.parse_punctuation("=")
            start_count = _four(parser, "start_count")
            parser.parse_punctuation(",")
            parser.parse_keyword("first_span")
            parser.parse_punctuation("=")
            first_span = _four(parser, "first_span")
            return RawColumns(start_count, first_span, following("skip_span"), following("use_span"))
        if parser.parse_optional_keyword("start") is not None:
            parser.parse_punctuation("=")
            return ColumnRuns(_integer(parser), following("zero"), following("use"))
        columns = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _integer(parser))
        if columns is not None:
            return ColumnList(tuple(columns))
        parser.raise_error("expected a list of columns, 'start = ...' or 'start_count = ...'")

    def body(self) -> str:
        return f"{self.data.columns}{f', shift = {self.data.shift}' if self.data.shift else ''}"


def require_alike(source: TileType, destination: TileType) -> None:
    """Raises TileShapeError or ElementTypeError unless two tiles have one shape and one element type."""
    if source.dims != destination.dims:
        raise TileShapeError(f"expected tiles of one shape, found {shape_text(source)} and {shape_text(destination)}")
    if source.element_type != destination.element_type:
        raise ElementTypeError(
            f"expected tiles of one element type, found {source.element_type} and {destination.element_type}"
        )


def shape_text(type_: TileType) -> str:
    """`128x64`"""
    return "x".join(map(str, type_.dims))
