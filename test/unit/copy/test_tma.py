"""Boxes of bulk tensor copies: what the simulated hardware writes is what the layout says, element by element."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest

from tirx.copy.tma import BoxPlan, GlobalTensor, TmaError, TmaReason, plan_boxes
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
    (TileLayout.parse("S[1024 : 1] + 512"), (1024,), "e4m3", 0, (256,), 4),
]


@pytest.mark.parametrize(("layout", "shape", "dtype", "inner", "box", "count"), CASES)
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


@pytest.mark.parametrize(("layout", "shape", "dtype", "inner", "reason", "message"), ILLEGAL)
def test_layouts_that_no_box_gives(
    layout: Layout, shape: tuple[int, ...], dtype: str, inner: int, reason: TmaReason, message: str
):
    with pytest.raises(TmaError) as caught:
        plan_boxes(layout, shape, dtype, inner)
    assert caught.value.reason is reason
    assert message in str(caught.value)


def _tensor(strides: tuple[int | None, ...], rank: int, dtype: str = "f16") -> GlobalTensor:
    return GlobalTensor((64,) * len(strides), strides, rank, dtype, (False,) * len(strides))


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
    tensor = GlobalTensor(sizes, strides, 5, "e4m3", whole)
    assert tensor.inner() == (1, 4)
    layout = TileLayout.parse("S[(1, 4, 32, 4, 4) : (0, 4, 16, 512, 1)]")
    plan = plan_boxes(layout, (1, 4, 32, 4, 4), "e4m3", tensor.inner())
    assert (plan.groups, plan.box, len(plan.boxes)) == (((1, 4), (2,), (3,), (0,)), (16, 32, 4, 1), 1)
    with pytest.raises(TmaError, match="found a stride of 4 e4m3 elements in dimension 1"):
        GlobalTensor(sizes, strides, 5, "e4m3", (False, True, True, False, False)).inner()


def test_rows_of_four_bits_that_share_no_bytes():
    with pytest.raises(TmaError, match="expected pairs of elements of a row in one byte of shared memory") as error:
        plan_boxes(TileLayout.parse("S[(64, 64) : (1, 64)]"), (64, 64), "e2m1", (1,))
    assert error.value.reason is TmaReason.BOX
