"""Boxes of bulk tensor copies: what the simulated hardware writes is what the layout says, element by element."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from unit.cases import together

from tirx.copy.tma import SWIZZLE_WIDTHS, Box, BoxPlan, GlobalTensor, TmaError, TmaReason, Unit, box_problem, plan_boxes
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.layout.dtypes import element_type
from tirx.sim import TensorMap
from tirx.sim.memory.tensor_copy import load_box, shared_addresses
from tirx.sim.tensor_map import ELEMENTS

Layout = TileLayout | ComposeLayout
S128 = SwizzleLayout(3, 3, 3)


def _swizzled(swizzle: SwizzleLayout, text: str) -> ComposeLayout:
    return ComposeLayout(swizzle, TileLayout.parse(text))


def _walked(plan: BoxPlan, shape: tuple[int, ...], bits: int, inner: int) -> np.ndarray:
    """The bit address where the simulated boxes put every element of a tile, -1 where none does."""
    units = [n // plan.unit.elements if d == inner else n for d, n in enumerate(shape)]
    bytes_ = plan.unit.bytes
    # Each unit of the tensor holds its own number; a 1-byte unit is told by the place in four planes of bits.
    numbers = np.arange(prod(units), dtype=np.int64).reshape(units)
    order = tuple(group[0] for group in reversed(plan.groups))
    found = np.full(prod(units), -1, np.int64)
    for box in plan.boxes:
        addresses = value = None
        for plane in range(4):
            digits = (numbers >> 8 * plane & 0xFF).astype(np.uint8)
            array = np.zeros((*units, bytes_), np.uint8)
            array[..., 0] = digits
            typed = array.view(ELEMENTS[plan.unit.type]).reshape(units).transpose(order)
            padded = np.zeros((*typed.shape[:-1], -(-typed.shape[-1] // 16) * 16), typed.dtype)
            padded[..., : typed.shape[-1]] = typed
            tensor = TensorMap(padded[..., : typed.shape[-1]], plan.box, plan.swizzle)
            data = load_box(tensor, plan.coordinates(box))[::bytes_].astype(np.int64)
            value = data if value is None else value + (data << 8 * plane)
            addresses = shared_addresses(tensor, box.address)[::bytes_]
        assert value is not None and addresses is not None
        assert (found[value] == -1).all(), "an element is in two boxes"
        found[value] = addresses
    at = np.repeat(found.reshape(units), plan.unit.elements, axis=inner) * 8
    if plan.unit.elements > 1:
        steps = [1] * len(shape)
        steps[inner] = shape[inner]
        at = at + (np.arange(shape[inner]) % plan.unit.elements * bits).reshape(steps)
    return at


def _check(layout: Layout, shape: tuple[int, ...], dtype: str, inner: int) -> BoxPlan:
    plan = plan_boxes(layout, shape, dtype, inner)
    bits = element_type(dtype).storage_bits
    places = layout.table(shape)["m"].reshape(shape) * bits
    assert np.array_equal(_walked(plan, shape, bits, inner), places)
    return plan


CASES: list[tuple[Layout, tuple[int, ...], str, int, tuple[int, ...], int]] = [
    # Layout, shape, type, inner dimension -> box (innermost first), number of boxes.
    (_swizzled(S128, "S[(256, 64) : (64, 1)]"), (256, 64), "f16", 1, (64, 256), 1),
    (_swizzled(S128, "S[(128, 2, 64) : (64, 8192, 1)]"), (128, 128), "f16", 1, (64, 128), 2),
    (_swizzled(S128, "S[(2, 64, 64) : (4096, 1, 64)]"), (128, 64), "f16", 0, (64, 64), 2),
    (TileLayout.parse("S[(128, 8, 8) : (8, 1024, 1)]"), (128, 64), "bf16", 1, (8, 128), 8),
    (TileLayout.parse("S[(128, 128) : (128, 1)]"), (128, 128), "e2m1", 1, (64, 128), 1),
    (_swizzled(SwizzleLayout.for_dtype("f64", "128B"), "S[(128, 16) : (16, 1)]"), (128, 16), "f64", 1, (16, 128), 1),
    (
        _swizzled(SwizzleLayout.for_dtype("f32", "128B_base32B"), "S[(64, 32) : (32, 1)]"),
        (64, 32),
        "tf32",
        1,
        (32, 64),
        1,
    ),
    (TileLayout.parse("S[(4, 32, 32) : (1024, 32, 1)]"), (4, 32, 32), "f32", 2, (32, 32, 4), 1),
    (TileLayout.parse("S[(32, 4, 32) : (32, 1024, 1)]"), (32, 4, 32), "f32", 2, (32, 32, 4), 1),
    (TileLayout.parse("S[(512, 8) : (8, 1)]"), (512, 8), "f16", 1, (8, 256), 2),
    (_swizzled(SwizzleLayout(12, 0, 3), "S[(2, 8, 8) : (192, 8, 1)]"), (16, 8), "f16", 1, (8, 8), 2),
    (TileLayout.parse("S[1024 : 1] + 512"), (1024,), "e4m3", 0, (256,), 4),
]


@together(("layout", "shape", "dtype", "inner", "box", "count"), CASES)
def test_boxes(layout: Layout, shape: tuple[int, ...], dtype: str, inner: int, box: tuple[int, ...], count: int):
    plan = _check(layout, shape, dtype, inner)
    assert (plan.box, len(plan.boxes)) == (box, count)


def test_random_layouts():
    """Rows in any order of atoms and swizzles: the boxes are the layout, or there is an error; never something else."""
    rng = random.Random(5)
    legal = 0
    for _ in range(80):
        dtype = rng.choice(("f16", "f32", "f64", "e4m3", "e2m1"))
        bits = element_type(dtype).storage_bits
        mode = rng.choice(("none", "32B", "64B", "128B", "128B_base32B"))
        row = {"none": rng.choice((16, 48, 64)), "32B": 32, "64B": 64}.get(mode, 128) * 8 // bits
        # The iters of the rows, columns and planes of a tile, in any order behind the row of an atom.
        parts = [("r", rng.choice((8, 16))), ("r", rng.choice((1, 2))), ("c", rng.choice((1, 2, 3))), ("p", 2)]
        strides: dict[int, int] = {}
        step = row
        for k in sorted(range(4), key=lambda _: rng.random()) if rng.random() < 0.6 else (0, 1, 2, 3):
            strides[k] = step
            step *= parts[k][1]
        tile = TileLayout.parse(
            f"S[({parts[3][1]}, {parts[1][1]}, {parts[0][1]}, {parts[2][1]}, {row}) : "
            f"({strides[3]}, {strides[1]}, {strides[0]}, {strides[2]}, 1)]"
        )
        shape = (parts[3][1], parts[0][1] * parts[1][1], parts[2][1] * row)
        layout = tile if mode == "none" else ComposeLayout(SwizzleLayout.for_dtype(dtype, mode), tile)
        try:
            _check(layout, shape, dtype, 2)
            legal += 1
        except TmaError as e:
            assert e.reason in (TmaReason.BOX, TmaReason.ALIGNMENT)
    assert legal > 30


ILLEGAL: list[tuple[Layout, tuple[int, ...], str, int, TmaReason, str]] = [
    (
        TileLayout.parse("S[(128, 64) : (72, 1)]"),
        (128, 64),
        "f16",
        1,
        TmaReason.ALIGNMENT,
        "found one at 144",
    ),
    (TileLayout.parse("S[(64, 64) : (64, 1)]"), (64, 64), "f16", 0, TmaReason.BOX, "along dimension 0 of the tile"),
    (TileLayout.parse("S[(64, 64) : (64, 1)]"), (64, 64), "e2m3", 1, TmaReason.ELEMENT, "which shared memory pads"),
    (_swizzled(SwizzleLayout(2, 3, 3), "S[(64, 64) : (64, 1)]"), (64, 64), "f16", 1, TmaReason.SWIZZLE, "16 bits"),
    (TileLayout.parse("S[(512, 8, 8) : (64, 8, 1)]"), (512, 64), "f16", 0, TmaReason.BOX, "multiple of 16 bytes"),
    (TileLayout.parse("S[(8, 64, 8) : (8, 64, 1)]"), (8, 512), "f16", 1, TmaReason.BOX, "at most 32 boxes, found 64"),
    (TileLayout.parse("S[(64, 64) : (64, 1)] + R[2 : 4096]"), (64, 64), "f16", 1, TmaReason.BOX, "every element once"),
]


@together(("layout", "shape", "dtype", "inner", "reason", "message"), ILLEGAL)
def test_layouts_that_no_box_gives(
    layout: Layout, shape: tuple[int, ...], dtype: str, inner: int, reason: TmaReason, message: str
):
    with pytest.raises(TmaError) as caught:
        plan_boxes(layout, shape, dtype, inner)
    assert caught.value.reason is reason
    assert message in str(caught.value)


def _tensor(strides: tuple[int | None, ...], rank: int, dtype: str = "f16") -> GlobalTensor:
    steps = (None,) * (len(strides) - rank) + (1,) * rank
    return GlobalTensor((64,) * len(strides), strides, steps, dtype, (False,) * len(strides))


def test_global_tensors():
    assert _tensor((64, 1), 2).inner() == (1,)
    assert _tensor((1, 128), 2).inner() == (0,)
    assert _tensor((None, 1), 1).inner() == (1,)
    assert _tensor((None, 1), 2).run_time_strides() == (0,)
    for tensor, reason in (
        (_tensor((63, 1), 2), TmaReason.STRIDE),
        (_tensor((16, 1), 2, "e2m1"), TmaReason.STRIDE),
        (_tensor((128, 2), 2), TmaReason.INNER_STRIDE),
        (_tensor((1, 64), 1), TmaReason.INNER_STRIDE),
        (_tensor((64, 64, 64, 64, 64, 1), 2), TmaReason.RANK),
    ):
        with pytest.raises(TmaError) as caught:
            tensor.inner()
        assert caught.value.reason is reason


def test_dimensions_that_are_one_run():
    """Scale factors: blocks of 512 bytes, 32 rows of 4 x 4, of which a view has all."""
    sizes, strides = (2, 4, 32, 16, 4), (8192, 4, 16, 512, 1)
    whole = (False, True, True, False, True)
    tensor = GlobalTensor(sizes, strides, (1,) * 5, "e4m3", whole)
    assert tensor.inner() == (1, 4)
    layout = TileLayout.parse("S[(1, 4, 32, 4, 4) : (0, 4, 16, 512, 1)]")
    plan = plan_boxes(layout, (1, 4, 32, 4, 4), "e4m3", tensor.inner())
    assert (plan.groups, plan.box, len(plan.boxes)) == (((1, 4), (2,), (3,), (0,)), (16, 32, 4, 1), 1)
    with pytest.raises(TmaError, match="found a stride of 4 e4m3 elements in dimension 1"):
        GlobalTensor(sizes, strides, (1,) * 5, "e4m3", (False, True, True, False, False)).inner()


def test_rows_of_four_bits_that_share_no_bytes():
    with pytest.raises(TmaError, match="expected pairs of elements of a row in one byte of shared memory") as error:
        plan_boxes(TileLayout.parse("S[(64, 64) : (1, 64)]"), (64, 64), "e2m1", (1,))
    assert error.value.reason is TmaReason.BOX


def test_rows_of_boxes():
    """A row is a multiple of 16 bytes, and not longer than a swizzle."""
    assert SWIZZLE_WIDTHS == {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128}
    for swizzle, width in SWIZZLE_WIDTHS.items():
        limit = f" of at most {width}" if width else ""
        for row in (8, 16, 24, 32, 48, 64, 96, 128, 144, 512):
            legal = row % 16 == 0 and (width == 0 or row <= width)
            message = f"expected rows of a box of a multiple of 16 bytes{limit}, found {row}"
            assert box_problem(row, swizzle) == (None if legal else message)


def test_a_plan_in_full():
    """Two boxes of 3 planes, 8 rows and 64 columns each, of a tile whose columns are 96 elements of f32."""
    layout = TileLayout.parse("S[(3, 8, 2, 48) : (384, 48, 1152, 1)]")
    plan = plan_boxes(layout, (3, 8, 96), "f32", 2)
    boxes = (Box((0, 0, 0), 0), Box((48, 0, 0), 4608))
    assert plan == BoxPlan(Unit("f32", 1), ((2,), (1,), (0,)), (48, 8, 3), "none", boxes, 128)
    assert (plan.box_bytes, plan.num_bytes) == (48 * 8 * 3 * 4, 96 * 8 * 3 * 4)
    packed = plan_boxes(TileLayout.parse("S[(8, 3, 64) : (64, 512, 1)]"), (8, 192), "e2m1", 1)
    boxes = (Box((0, 0), 0), Box((64, 0), 256), Box((128, 0), 512))
    assert packed == BoxPlan(Unit("u8", 2), ((1,), (0,)), (32, 8), "none", boxes, 128)
    assert [packed.coordinates(box) for box in boxes] == [(0, 0), (32, 0), (64, 0)]
    assert (packed.box_bytes, packed.num_bytes) == (256, 768)


@pytest.mark.parametrize("columns", [32, 33])
def test_at_most_32_boxes(columns: int):
    layout = TileLayout.parse(f"S[(16, {columns}, 8) : (8, 128, 1)]")
    if columns == 32:
        assert len(_check(layout, (16, 256), "f16", 1).boxes) == 32
        return
    with pytest.raises(TmaError) as caught:
        plan_boxes(layout, (16, 264), "f16", 1)
    assert str(caught.value) == f"expected a tile of at most 32 boxes, found 33 of 16x8 in {layout}"


MISPLACED: list[tuple[str, tuple[int, int], str, TmaReason, str]] = [
    (
        "S[(8, 64) : (96, 1)]",
        (8, 64),
        "e2m1",
        TmaReason.ALIGNMENT,
        "expected every box to start at a multiple of 128 bytes in shared memory, found one at 48 with boxes of "
        "1x64 in {}",
    ),
    (
        "S[(8, 64) : (64, 1)] + 1",
        (8, 64),
        "e2m1",
        TmaReason.BOX,
        "expected pairs of elements of a row in one byte of shared memory, found {}",
    ),
    (
        "S[(8, 32, 2) : (64, 2, 3)]",
        (8, 64),
        "e2m1",
        TmaReason.BOX,
        "expected pairs of elements of a row in one byte of shared memory, found {}",
    ),
    (
        "S[(8, 63) : (64, 1)]",
        (8, 63),
        "e2m1",
        TmaReason.BOX,
        "expected pairs of elements of a row in one byte of shared memory, found {}",
    ),
    (
        "S[(8, 16) : (1, 8)]",
        (8, 16),
        "f16",
        TmaReason.BOX,
        "expected runs of a multiple of 16 bytes along dimension 1 of the tile, whose elements are neighbours in "
        "global memory, to be neighbours in shared memory too, found {}",
    ),
]


@together(("text", "shape", "dtype", "reason", "message"), MISPLACED)
def test_messages(text: str, shape: tuple[int, int], dtype: str, reason: TmaReason, message: str):
    layout = TileLayout.parse(text)
    with pytest.raises(TmaError) as caught:
        plan_boxes(layout, shape, dtype, 1)
    assert (caught.value.reason, str(caught.value)) == (reason, message.format(layout))


INNER: list[tuple[tuple[int | None, ...], tuple[int | None, ...], int, tuple[int, ...] | str]] = [
    ((3, 5, 24), (120, 24, 1), 3, (2,)),
    ((3, 5, 20), (100, 20, 1), 3, (0, 1, 2)),
    ((3, 6, 20), (120, 20, 1), 3, (1, 2)),
    ((1, 5, 24), (7, 24, 1), 3, (2,)),
    ((3, 5, 24), (None, 24, 1), 3, (2,)),
    ((None, 5, 20), (100, 20, 1), 3, (0, 1, 2)),
    (
        (3, None, 20),
        (100, 20, 1),
        3,
        "expected strides of multiples of 16 bytes for a tensor map, found a stride of 100",
    ),
    ((3, 5, None), (120, 20, 1), 3, "expected strides of multiples of 16 bytes for a tensor map, found a stride of 20"),
    ((3, 5, 1), (120, 1, 1), 3, (1, 2)),
    ((3, 1, 24), (24, 1, 1), 3, (2,)),
    ((2, 2, 2, 2, 24), (192, 96, 48, 24, 1), 5, (4,)),
    ((2, 2, 2, 2, 2, 20), (320, 160, 80, 40, 20, 1), 6, (4, 5)),
    (
        (2, 2, 2, 2, 2, 24),
        (384, 192, 96, 48, 24, 1),
        6,
        "expected a memref of at most 5 dimensions for a tensor map, found 6",
    ),
    (
        (3, 5, 24),
        (120, None, 2),
        2,
        "expected a dimension of the view whose stride is known to be 1 element, found strides (120, ?, 2)",
    ),
]


@together(("sizes", "strides", "rank", "expected"), INNER)
def test_inner_dimensions(
    sizes: tuple[int | None, ...], strides: tuple[int | None, ...], rank: int, expected: tuple[int, ...] | str
):
    steps = (None,) * (len(sizes) - rank) + (1,) * rank
    tensor = GlobalTensor(sizes, strides, steps, "f16", (True,) * len(sizes))
    if isinstance(expected, tuple):
        assert tensor.inner() == expected
        return
    with pytest.raises(TmaError) as caught:
        tensor.inner()
    assert str(caught.value).startswith(expected)
