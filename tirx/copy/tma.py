"""The boxes in which the tensor memory accelerator copies a tile, from the layout of the tile in shared memory.

The accelerator stores the rows of a box behind each other and then XORs address bits (CUDA driver API,
`cuTensorMapEncodeTiled`; PTX ISA, "Tensor Data Access Modes: Tiled Mode", "Swizzling Modes"). Here boxes are found from
where the layout puts the elements, so that what is copied is the layout or an error, never something close to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import product
from math import prod
from typing import Literal

from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, SwizzleMode, TileLayout
from tirx.layout.arrays import IntArray, NDArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.layout.caching import bounded_cache
from tirx.layout.dtypes import ElementType, element_type
from tirx.values import dataclass

TensorMapSwizzle = Literal["none", "32B", "64B", "128B", "128B_atom_32B"]
"""CUtensorMapSwizzle. The last one is the mode `128B_base32B` of layouts (`ATOM_32B`)."""

SWIZZLE_WIDTHS: dict[TensorMapSwizzle, int] = {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128}
"""Bytes that a row of a box may have at most, 0 for any (CUDA driver API, `cuTensorMapEncodeTiled`: `swizzle`)."""

ATOM_32B = "tensor_map.atom_32B"
"""The capability of targets whose tensor maps have swizzles of 32-byte atoms."""

SWIZZLES_OF_LAYOUTS: Mapping[SwizzleMode, TensorMapSwizzle] = {
    "none": "none",
    "32B": "32B",
    "64B": "64B",
    "128B": "128B",
    "128B_base32B": "128B_atom_32B",
}
"""The swizzle of a tensor map for each mode of layouts."""

TENSOR_MAP_TYPES: dict[str, int] = {
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "s32": 4,
    "u64": 8,
    "s64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Element types of tensor maps (CUtensorMapDataType) that tirx uses, and their bytes."""

REDUCTIONS: Mapping[str, tuple[str, ...]] = {
    "add": ("u32", "s32", "u64", "f16", "bf16", "f32", "f64"),
    "min": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "max": ("u32", "s32", "u64", "s64", "f16", "bf16"),
    "and": ("u32", "s32", "u64", "s64"),
    "or": ("u32", "s32", "u64", "s64"),
    "xor": ("u32", "s32", "u64", "s64"),
}
"""What a store may do with the elements that are there -> their types (PTX ISA, "cp.reduce.async.bulk.tensor")."""

MAX_RANK = 5
"""Dimensions that a tensor map may have (`cuTensorMapEncodeTiled`)."""

MAX_BOX = 256
"""Elements that a box may have along a dimension (same page)."""

ROW_UNIT = 16
"""Rows of a box, strides of a tensor and its address are multiples of so many bytes (same page)."""

DIMENSION_LIMIT = 1 << 32
"""Elements that a tensor map may have along a dimension (`cuTensorMapEncodeTiled`, `globalDim`)."""

MAX_STEP = 8
"""Elements from one that a box has to the next along a dimension (same page, `elementStrides`)."""

STRIDE_LIMIT = 1 << 40
"""Strides of a tensor map are less than so many bytes (same page, `globalStrides`)."""

BOX_ALIGNMENT = 128
"""Bytes to which a box in shared memory is aligned (PTX ISA, "cp.async.bulk.tensor": `.shared` address)."""

MAX_BOXES = 32
"""One thread starts the boxes of a tile one by one: beyond so many, other engines are faster."""

INDEXED_ROWS = 4
"""Rows that one instruction copies by their numbers (PTX ISA, "Tiled::gather4" and "Tiled::scatter4" modes)."""


class TmaReason(StrEnum):
    """Why the tensor memory accelerator cannot copy a tile."""

    TARGET = "target"
    ELEMENT = "element type"
    VIEW = "view"
    RANK = "rank"
    INNER_STRIDE = "inner stride"
    STRIDE = "stride alignment"
    SWIZZLE = "swizzle"
    BOX = "box"
    ALIGNMENT = "shared alignment"
    THREADS = "threads"


class TmaError(LegalityError):
    """A tile that the tensor memory accelerator cannot copy; `reason` says which of its limits is broken."""

    rule = "tma-copy"

    def __init__(self, reason: TmaReason, message: str):
        super().__init__(message)
        self.reason = reason


def lanes_of_rows(rows: int) -> int:
    """Returns how many lanes of a warp start the copies of so many rows by their numbers, each as many."""
    return max(n for n in range(1, WARP_SIZE + 1) if rows // INDEXED_ROWS % n == 0)


def index_layout(rows: int) -> TileLayout:
    """Returns the layout of the numbers of rows in lanes of a warp: those that start the copies come first."""
    lanes = lanes_of_rows(rows)
    turns, copies = rows // INDEXED_ROWS // lanes, WARP_SIZE // lanes
    iters = (Iter(turns, INDEXED_ROWS, "m"), Iter(lanes, 1, "laneid"), Iter(INDEXED_ROWS, 1, "m"))
    replica = (Iter(copies, lanes, "laneid"),) if copies > 1 else ()
    return TileLayout((it for it in iters if it.extent > 1), replica)


def box_problem(row_bytes: int, swizzle: TensorMapSwizzle) -> str | None:
    """Why a box cannot have rows of so many bytes, None where it can."""
    width = SWIZZLE_WIDTHS[swizzle]
    if row_bytes % ROW_UNIT == 0 and (not width or row_bytes <= width):
        return None
    limit = f" of at most {width}" if width else ""
    return f"expected rows of a box of a multiple of {ROW_UNIT} bytes{limit}, found {row_bytes}"


@dataclass(frozen=True)
class Unit:
    """The unit that a tensor map counts: `type` is the name of a CUtensorMapDataType, `elements` how many of a tile
    it holds."""

    type: str
    elements: int

    @property
    def bytes(self) -> int:
        return TENSOR_MAP_TYPES[self.type]


def tensor_map_unit(element: ElementType) -> Unit:
    """The unit in which elements are copied bit by bit: themselves, a byte, or a byte of two packed elements.

    Raises TmaError for elements that global and shared memory hold differently (6 bits).
    """
    if element.bits == 4:
        return Unit("u8", 2)
    if element.bits != element.storage_bits:
        raise TmaError(
            TmaReason.ELEMENT,
            f"expected elements that global and shared memory hold alike for a bulk tensor copy, found "
            f"{element.name}, which shared memory pads",
        )
    if element.bits == 8:
        return Unit("u8", 1)
    name = {"tf32": "f32", "s16": "u16", "s1z4m11": "u16"}.get(element.name, element.name)
    assert name in TENSOR_MAP_TYPES, name
    return Unit(name, 1)


@dataclass(frozen=True)
class Box:
    """One box: where it starts in each group of dimensions (elements), and where it lies (bytes behind the base)."""

    start: tuple[int, ...]
    address: int


@dataclass(frozen=True)
class BoxPlan:
    """The copy of a tile in boxes of one size.

    `groups` are the dimensions of a box from the innermost on. Each is a dimension of the tile, or several that are one
    run of elements in global memory, the outermost first. `box` are the extents of a box, in units. `alignment` is what
    the base of the tile in shared memory must be aligned to. Boxes of rows by their numbers have `INDEXED_ROWS` rows
    each, and `rows_apart` bytes of shared memory from one to the next; 0 for other boxes.
    """

    unit: Unit
    groups: tuple[tuple[int, ...], ...]
    box: tuple[int, ...]
    swizzle: TensorMapSwizzle
    boxes: tuple[Box, ...]
    alignment: int
    rows_apart: int = 0

    @property
    def box_bytes(self) -> int:
        """Bytes of a box."""
        return prod(self.box) * self.unit.bytes

    @property
    def num_bytes(self) -> int:
        """Bytes of all boxes: what the mbarrier of a load has to expect."""
        return self.box_bytes * len(self.boxes)

    def coordinates(self, box: Box) -> tuple[int, ...]:
        """The start of a box in the tile, in units."""
        return (box.start[0] // self.unit.elements, *box.start[1:])


def plan_boxes(
    layout: TileLayout | ComposeLayout,
    shape: Sequence[int],
    dtype: str,
    inner: int | tuple[int, ...],
    indexed: int | None = None,
) -> BoxPlan:
    """The boxes that copy a tile of `shape` to and from its layout in shared memory.

    `layout` maps to axis m (elements), `dtype` is a PTX or IR name, `inner` the dimension of the tile whose elements
    are neighbours in global memory, or several, the outermost first, whose elements are one run there. The boxes are as
    large as they can be; together they cover the tile once. Rows of a tile of two dimensions that are named one by one
    lie along dimension `indexed`. Raises TmaError where the layout is not what any box gives.
    """
    return _plan_boxes(layout, tuple(shape), dtype, (inner,) if isinstance(inner, int) else inner, indexed)


def _grown(places: IntArray, row: int, grows: bool) -> tuple[list[int], list[int]]:
    """Returns extents of the largest dense box with rows of `row` units, and its dimensions from the innermost on."""
    dimensions = range(places.ndim)
    extents = [row, *(1 for _ in dimensions[1:])]
    dense, order = row, [0]
    while grows and (grown := [d for d in dimensions if d not in order and _reach(places, d, dense) > 1]):
        extents[grown[0]] = _reach(places, grown[0], dense)
        dense *= extents[grown[0]]
        order.append(grown[0])
    return extents, order + [d for d in dimensions if d not in order]


@bounded_cache
def _plan_boxes(
    layout: TileLayout | ComposeLayout, shape: tuple[int, ...], dtype: str, inner: tuple[int, ...], indexed: int | None
) -> BoxPlan:
    element = element_type(dtype)
    unit = tensor_map_unit(element)
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    if any(name != "m" for name in tile.axes) or len(tile.replicas()) > 1:
        raise TmaError(TmaReason.BOX, f"expected every element once in the memory of the block, found {layout}")
    swizzle = _swizzle(layout.swizzle if isinstance(layout, ComposeLayout) else None, element)
    groups = [inner, *((d,) for d in range(len(shape)) if d not in inner)]
    table = tile.axis_table("m", shape).reshape(shape).transpose([d for group in groups for d in group])
    places = _in_units(table.reshape([prod(shape[d] for d in group) for group in groups]), unit, layout)
    width = SWIZZLE_WIDTHS[swizzle]
    row = _row(places, unit, width, inner, layout)
    # With a swizzle, rows of a box are rows of the pattern.
    grows = not width or row * unit.bytes == width
    rows_apart = 0
    if indexed is None:
        extents, order = _grown(places, row, grows)
    else:
        extents, order = [row, INDEXED_ROWS], [0, 1]
        rows_apart = _rows_apart(places, row if grows else 0, layout) * unit.bytes
    sizes = "x".join(str(n if d else n * unit.elements) for d, n in ((d, extents[d]) for d in reversed(order)))
    period = BOX_ALIGNMENT
    if width:
        assert isinstance(layout, ComposeLayout)
        period = max(period, layout.swizzle.period * element.storage_bits // 8)
    # Swizzles are of addresses: few rows may begin within the pattern.
    aligned = period if indexed is None else BOX_ALIGNMENT
    boxes: list[Box] = []
    for start in product(*(range(0, size, extent) for size, extent in zip(places.shape, extents, strict=True))):
        address = int(places[start]) * unit.bytes
        first = (start[0] * unit.elements, *start[1:])
        if address % aligned:
            raise TmaError(
                TmaReason.ALIGNMENT,
                f"expected every box to start at a multiple of {aligned} bytes in shared memory, found one at "
                f"{address} with boxes of {sizes} in {layout}",
            )
        boxes.append(Box(tuple(first[d] for d in order), address))
    if len(boxes) > (MAX_BOXES if indexed is None else MAX_BOXES * lanes_of_rows(shape[indexed])):
        raise TmaError(
            TmaReason.BOX, f"expected a tile of at most {MAX_BOXES} boxes, found {len(boxes)} of {sizes} in {layout}"
        )
    return BoxPlan(
        unit,
        tuple(groups[d] for d in order),
        tuple(extents[d] for d in order),
        swizzle,
        tuple(boxes),
        period,
        rows_apart,
    )


def _swizzle(swizzle: SwizzleLayout | None, element: ElementType) -> TensorMapSwizzle:
    mode = "none" if swizzle is None else swizzle.mode(element.storage_bits)
    if mode is None:
        raise TmaError(
            TmaReason.SWIZZLE,
            f"expected a swizzle that the hardware has for elements of {element.storage_bits} bits "
            f"({', '.join(SWIZZLES_OF_LAYOUTS)}), found {swizzle}",
        )
    return SWIZZLES_OF_LAYOUTS[mode]


def _in_units(places: NDArray[np.int64], unit: Unit, layout: TileLayout | ComposeLayout) -> NDArray[np.int64]:
    """The places of elements (in elements) as places of units (in units); the first dimension is that of the rows."""
    if places.shape[0] % unit.elements == 0:
        pairs = np.moveaxis(places.reshape(-1, unit.elements, *places.shape[1:]), 1, -1)
        if not (pairs[..., 0] % unit.elements).any() and (pairs - pairs[..., :1] == np.arange(unit.elements)).all():
            return pairs[..., 0] // unit.elements
    raise TmaError(TmaReason.BOX, f"expected pairs of elements of a row in one byte of shared memory, found {layout}")


def _runs(places: NDArray[np.int64], dimension: int, extent: int, step: int) -> bool:
    """Returns True if steps along a dimension are `step` places, in runs of `extent`."""
    runs = np.moveaxis(places, dimension, -1).reshape(-1, extent)
    return bool((runs - runs[..., :1] == step * np.arange(extent)).all())


def _divisors(size: int, limit: int) -> list[int]:
    """The divisors of `size` up to `limit`, the largest first."""
    return [n for n in range(min(size, limit), 0, -1) if size % n == 0]


def _reach(places: NDArray[np.int64], dimension: int, step: int) -> int:
    """The largest extent of a box along a dimension whose neighbours are `step` places apart."""
    return next(n for n in _divisors(places.shape[dimension], MAX_BOX) if _runs(places, dimension, n, step))


def _row(
    places: NDArray[np.int64], unit: Unit, width: int, inner: tuple[int, ...], layout: TileLayout | ComposeLayout
) -> int:
    """The units of a row of a box."""
    limit = min(MAX_BOX, width // unit.bytes) if width else MAX_BOX
    for n in _divisors(places.shape[0], limit):
        if n * unit.bytes % ROW_UNIT == 0 and _runs(places, 0, n, 1):
            return n
    dimensions = f"dimension {inner[0]}" if len(inner) == 1 else f"dimensions {', '.join(map(str, inner))}"
    raise TmaError(
        TmaReason.BOX,
        f"expected runs of a multiple of {ROW_UNIT} bytes along {dimensions} of the tile, whose elements are "
        f"neighbours in global memory, to be neighbours in shared memory too, found {layout}",
    )


def _rows_apart(places: NDArray[np.int64], row: int, layout: TileLayout | ComposeLayout) -> int:
    """The units of shared memory from `INDEXED_ROWS` rows to as many next ones.

    Raises TmaError unless rows of `row` units are behind each other in all of them; 0 stands for parts of rows.
    """
    rows = places.shape[1]
    if rows % INDEXED_ROWS:
        raise TmaError(
            TmaReason.BOX, f"expected a multiple of {INDEXED_ROWS} rows by their indices in a bulk copy, found {rows}"
        )
    firsts = places[:, ::INDEXED_ROWS]
    apart = int(firsts[0, 1] - firsts[0, 0]) if firsts.shape[1] > 1 else INDEXED_ROWS * row
    if row and _runs(places, 1, INDEXED_ROWS, row) and _runs(firsts, 1, firsts.shape[1], apart):
        return apart
    raise TmaError(
        TmaReason.BOX,
        f"expected whole rows of a box, {INDEXED_ROWS} of them behind each other, at even distances in shared memory, "
        f"found {layout}",
    )


@dataclass(frozen=True)
class GlobalTensor:
    """The memref behind a view: `sizes` and `strides` in elements, None where they are known at the launch only.

    `steps` are the distances from one element of the view to the next along each dimension of the memref, None of one
    that the view does not have. `whole` says of each whether the view has all of it.
    """

    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    steps: tuple[int | None, ...]
    dtype: str
    whole: tuple[bool, ...]

    def inner(self) -> tuple[int, ...]:
        """The dimensions of the memref, the outermost first, that are the innermost of a tensor map.

        One whose elements are neighbours, and those behind each other without a gap whose own stride tensor maps do not
        have: of these the view has all, but for the outermost. Raises TmaError where tensor maps have no such tensor.
        """
        viewed = [d for d, step in enumerate(self.steps) if step is not None]
        neighbours = [d for d in viewed if self.strides[d] == 1]
        if neighbours and self.steps[neighbours[-1]] != 1:
            raise TmaError(
                TmaReason.INNER_STRIDE,
                f"expected neighbours along the dimension of stride 1, dimension {neighbours[-1]}, for a tensor map, "
                f"found steps of {self.steps[neighbours[-1]]}",
            )
        if not neighbours:
            raise TmaError(
                TmaReason.INNER_STRIDE,
                "expected a dimension of the view whose stride is known to be 1 element, found strides "
                f"({', '.join('?' if stride is None else str(stride) for stride in self.strides)})",
            )
        # The last of several with stride 1 is the contiguous one, the others have one element.
        group = [neighbours[-1]]
        extent = self.sizes[group[0]]
        while (wrong := self._wrong_stride(group)) is not None:
            outer = [d for d in viewed if (self.strides[d], self.steps[d]) == (extent, 1) and d not in group]
            if not outer or not self.whole[group[0]]:
                raise TmaError(
                    TmaReason.STRIDE,
                    f"expected strides of multiples of {ROW_UNIT} bytes for a tensor map, found a stride of "
                    f"{self.strides[wrong]} {element_type(self.dtype).name} elements in dimension {wrong} of the "
                    "memref",
                )
            group.insert(0, outer[-1])
            size = self.sizes[outer[-1]]
            extent = None if size is None or extent is None else extent * size
        if len(self.strides) - len(group) + 1 > MAX_RANK:
            raise TmaError(
                TmaReason.RANK,
                f"expected a memref of at most {MAX_RANK} dimensions for a tensor map, found {len(self.strides)}",
            )
        return tuple(group)

    def _wrong_stride(self, group: Sequence[int]) -> int | None:
        """The first dimension outside of a group whose stride tensor maps do not have."""
        bits = element_type(self.dtype).bits
        for d, stride in enumerate(self.strides):
            if d not in group and self.sizes[d] != 1 and stride is not None and stride * bits % (8 * ROW_UNIT):
                return d
        return None

    def run_time_strides(self) -> tuple[int, ...]:
        """The dimensions of the memref whose strides have to be checked at the launch: multiples of 16 bytes."""
        return tuple(d for d, stride in enumerate(self.strides) if stride is None)
