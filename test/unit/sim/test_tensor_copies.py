"""cp.async.bulk.tensor: every load mode, swizzle and fill against indices computed one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.assembled import assembled
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap
from tirx.sim.core.launch import Launch

Array = npt.NDArray[Any]

_BYTES = 8192
# 32 threads fill `s` from [init], thread 0 executes the instruction, and all copy `s` to [out].
_HEADER = ".version 9.0\n.target sm_100a\n.address_size 64\n"
_KERNEL = """.visible .entry k(.param .align 64 .b8 map[128], .param .u64 init, .param .u64 out) {{
  .reg .b32 %r<32>; .reg .b64 %d<8>; .reg .b16 %h<4>; .reg .pred %p<4>;
  .shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar;
  ld.param.u64 %d1, [init]; ld.param.u64 %d2, [out]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0;
  mov.b32 %r1, s; mov.b32 %r2, bar; mov.b64 %d0, map; cvta.param.u64 %d0, %d0;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 fence.mbarrier_init.release.cluster;
  shl.b32 %r3, %r0, 4;
FILL:
  cvt.u64.u32 %d3, %r3; add.u64 %d3, %d1, %d3; ld.global.v4.b32 {{%r5, %r6, %r7, %r8}}, [%d3];
  add.u32 %r4, %r1, %r3; st.shared.v4.b32 [%r4], {{%r5, %r6, %r7, %r8}};
  add.u32 %r3, %r3, 512; setp.lt.u32 %p1, %r3, 8192; @%p1 bra FILL;
  fence.proxy.async.shared::cta; bar.sync 0;
  @!%p0 bra ISSUED;
  {body}
ISSUED:
  bar.sync 0;
  {wait}
  shl.b32 %r3, %r0, 4;
COPY:
  cvt.u64.u32 %d3, %r3; add.u64 %d3, %d2, %d3; add.u32 %r4, %r1, %r3; ld.shared.v4.b32 {{%r5, %r6, %r7, %r8}}, [%r4];
  st.global.v4.b32 [%d3], {{%r5, %r6, %r7, %r8}};
  add.u32 %r3, %r3, 512; setp.lt.u32 %p1, %r3, 8192; @%p1 bra COPY;
  ret;
}}
"""
_WAIT = "WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;"


def _coordinates(values: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def _load(tensor_map: TensorMap, at: Sequence[int], size: int, mode: str = "tile", info: Sequence[int] = ()) -> Array:
    """Shared memory (filled with 0xCC) after a copy of `size` bytes to its start."""
    rank = tensor_map.rank
    offsets = "".join(f"mov.b16 %h{index}, {value}; " for index, value in enumerate(info))
    operands = ", {" + ", ".join(f"%h{index}" for index in range(len(info))) + "}" if info else ""
    body = f"""{offsets}mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {size};
  cp.async.bulk.tensor.{rank}d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes
      [%r1], [%d0, {_coordinates(at)}], [%r2]{operands};"""
    out = np.zeros(_BYTES, np.uint8)
    text = assembled(_HEADER + _KERNEL.format(body=body, wait=_WAIT))
    run(text, "k", 1, 32, [tensor_map, np.full(_BYTES, 0xCC, np.uint8), out])
    return out


def _store(tensor_map: TensorMap, at: Sequence[int], data: Array, instruction: str = "", mode: str = "tile") -> None:
    """Copies `data` from the start of shared memory to the tensor."""
    image = np.zeros(_BYTES, np.uint8)
    image[: data.nbytes] = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    name = f"cp.{'reduce.' if instruction else ''}async.bulk.tensor"
    body = f"""{name}.{tensor_map.rank}d.global.shared::cta.{instruction}{mode}.bulk_group
      [%d0, {_coordinates(at)}], [%r1];
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    text = assembled(_HEADER + _KERNEL.format(body=body, wait=""))
    run(text, "k", 1, 32, [tensor_map, image, np.zeros(_BYTES, np.uint8)])


# The tables of section 5.5.7.
_SWIZZLES: dict[str, tuple[int, Callable[[int], int]]] = {
    # Rows of 128 bytes; which of their eight 16-byte chunks is where, by the number of the row.
    "128B": (128, lambda row: row % 8),
    "64B": (64, lambda row: row % 4),
    "32B": (32, lambda row: row % 2),
    "128B_atom_32B": (128, lambda row: row % 4 * 2),
    "128B_atom_64B": (128, lambda row: row % 2 * 4),
}


@pytest.mark.parametrize("swizzle", _SWIZZLES)
def test_swizzles(swizzle: str):
    """Chunk c of line r of 128 bytes is at chunk c XOR f(r)."""
    width, pattern = _SWIZZLES[swizzle]
    tensor = np.random.default_rng(0).integers(0, 256, (64, 256), np.uint8)
    found = _load(TensorMap(tensor, (width, 24), swizzle), (32, 5), 24 * width)  # type: ignore[arg-type]
    expected = np.full(_BYTES, 0xCC, np.uint8)
    linear = tensor[5:29, 32 : 32 + width].reshape(-1)
    for byte, value in enumerate(linear.tolist()):
        line, chunk = byte // 128, byte % 128 // 16
        expected[line * 128 + (chunk ^ pattern(line)) * 16 + byte % 16] = value
    assert np.array_equal(found, expected)


def test_swizzle_with_flip():
    """As 32-byte atoms, and the halves of 16 bytes change places in every other line."""
    tensor = np.random.default_rng(0).integers(0, 256, (16, 128), np.uint8)
    found = _load(TensorMap(tensor, (128, 16), "128B_atom_32B_flip_8B"), (0, 0), 2048)[:2048].reshape(16, 16, 8)
    for line in range(16):
        for piece in range(16):
            at = (piece // 2 ^ line % 4 * 2) * 2 + (piece % 2 ^ line % 2)
            assert np.array_equal(found[line, at], tensor[line, 8 * piece : 8 * piece + 8])


@pytest.mark.sample(4)
@pytest.mark.parametrize("fill", ["zero", "nan"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16, np.float64])
def test_outside_of_the_tensor(fill: Any, dtype: Any):
    tensor = np.arange(10 * 16).reshape(10, 16).astype(dtype)
    size = 16 * np.dtype(dtype).itemsize
    out = _load(TensorMap(tensor, (16, 8), oob_fill=fill), (-2, -3), 8 * size)
    found = out[: 8 * size].view(dtype).reshape(8, 16).astype(np.float64)
    for row in range(8):
        for column in range(16):
            y, x = row - 3, column - 2
            if 0 <= y < 10 and 0 <= x < 16:
                assert found[row, column] == 16 * y + x
            else:
                assert np.isnan(found[row, column]) if fill == "nan" else found[row, column] == 0


def test_subnormal_numbers_are_flushed():
    tensor = np.array([[1e-40, -1e-40, 1.0, -2e38] * 4], np.float32)
    out = _load(TensorMap(tensor, (16, 1), element="f32.ftz"), (0, 0), 64)[:64].view(np.uint32)
    assert np.array_equal(out, np.array([0.0, -0.0, 1.0, -2e38] * 4, np.float32).view(np.uint32))


def test_element_strides():
    tensor = np.arange(30 * 20 * 16, dtype=np.int32).reshape(30, 20, 16)
    tensor_map = TensorMap(tensor, (16, 6, 9), element_strides=(1, 2, 3))
    out = _load(tensor_map, (0, 1, 2), 16 * 3 * 3 * 4)
    assert np.array_equal(out[: 16 * 9 * 4].view(np.int32).reshape(3, 3, 16), tensor[2:11:3, 1:7:2])


@pytest.mark.parametrize("start", [-5, -4, -1, 0, 3, 18, 19])
def test_element_strides_at_the_ends(start: int):
    """Every third row from `start` on; those outside of the tensor are zero."""
    tensor = np.arange(1, 20 * 16 + 1, dtype=np.float32).reshape(20, 16)
    out = _load(TensorMap(tensor, (16, 9), element_strides=(1, 3)), (0, start), 16 * 3 * 4)
    rows = [tensor[row] if 0 <= row < 20 else np.zeros(16) for row in range(start, start + 9, 3)]
    assert np.array_equal(out[: 16 * 3 * 4].view(np.float32).reshape(3, 16), rows)


def test_views_share_memory():
    """The tensor is a part of an array that the kernel gets as well."""
    whole = np.zeros((_BYTES // 64, 64), np.uint8)
    tensor = whole[4:, 16:48]
    _store(TensorMap(tensor, (32, 3)), (0, 2), np.arange(96, dtype=np.uint8))
    assert np.array_equal(whole[6:9, 16:48], np.arange(96).reshape(3, 32))
    assert whole.astype(int).sum() == sum(range(96))
    text = assembled(_HEADER + _KERNEL.format(body="st.global.u32 [%d1], 7;", wait=""))
    run(text, "k", 1, 32, [TensorMap(tensor, (32, 3)), whole.reshape(-1), np.zeros(_BYTES, np.uint8)])
    assert whole[0, 0] == 7


@pytest.mark.parametrize("swizzle", ["none", "64B"])
def test_gather_and_scatter(swizzle: Any):
    tensor = np.arange(40 * 64, dtype=np.float16).reshape(40, 64)
    tensor_map = TensorMap(tensor, (32, 1), swizzle)
    rows = (7, 3, 39, 41)
    found = _load(tensor_map, (16, *rows), 4 * 64, "tile::gather4")[:256]
    expected = np.zeros((4, 32), np.float16)
    expected[:3] = tensor[list(rows[:3]), 16:48]
    raw = expected.view(np.uint8).reshape(4, 4, 16)
    if swizzle == "64B":  # rows are 64 bytes, lines 128
        chunk = np.arange(4)[None, :] ^ (np.arange(4)[:, None] // 2 % 4)
        raw = np.take_along_axis(raw, chunk[:, :, None], axis=1)
    assert np.array_equal(found.reshape(4, 4, 16), raw)
    before = tensor.copy()
    _store(tensor_map, (16, 1, 2, 50, 0), found, mode="tile::scatter4")
    before[[1, 2], 16:48] = expected[:2]
    before[0, 16:48] = expected[3]
    assert np.array_equal(tensor, before)


def _window(
    tensor: Array, first: int, base: Sequence[int], offsets: Sequence[int], lower: Sequence[int], upper: Sequence[int],
    strides: Sequence[int], pixels: int, channels: int,
) -> Array:  # fmt: skip
    """Pixels of an (N, H, W, C) tensor: the bases w, h of a filter in their bounding box, one after another."""
    w, h, n = base
    found = np.zeros((pixels, channels), tensor.dtype)
    for pixel in range(pixels):
        x, y = w + offsets[0], h + offsets[1]
        if 0 <= x < tensor.shape[2] and 0 <= y < tensor.shape[1] and n < tensor.shape[0]:
            part = tensor[n, y, x, first : first + channels]
            found[pixel, : len(part)] = part
        w += strides[0]
        if w > tensor.shape[2] - 1 + upper[0]:
            w, h = lower[0], h + strides[1]
            if h > tensor.shape[1] - 1 + upper[1]:
                h, n = lower[1], n + 1
    return found


@pytest.mark.parametrize(
    ("lower", "upper", "strides", "base", "offsets"),
    [
        ((-1, -1), (-1, -1), (1, 1), (7, 4, 0), (0, 0)),  # the ISA's figures 13 to 15, with fewer channels
        ((0, 0), (-2, -2), (1, 1), (5, 4, 0), (2, 2)),
        ((-1, -1), (-1, -1), (2, 2), (7, 5, 0), (1, 1)),
        ((-1, 0), (0, -1), (1, 2), (-1, 0, 1), (1, 0)),
    ],
)
def test_im2col(lower: Any, upper: Any, strides: Any, base: Any, offsets: Any):
    tensor = np.random.default_rng(1).integers(1, 99, (3, 14, 9, 20)).astype(np.int32)
    tensor = np.pad(tensor, ((0, 0),) * 3 + ((0, 4),))[..., :20]  # rows of 24 elements
    tensor_map = TensorMap.im2col(tensor, lower, upper, 8, 64, element_strides=(1, *strides, 1))
    out = _load(tensor_map, (16, *base), 64 * 32, "im2col", offsets)
    expected = _window(tensor, 16, base, offsets, lower, upper, strides, 64, 8)
    assert np.array_equal(out[: 64 * 32].view(np.int32).reshape(64, 8), expected)
    assert (out[64 * 32 :] == 0xCC).all()


@pytest.mark.parametrize(("mode", "pixels"), [("im2col::w", 24), ("im2col::w::128", 128)])
def test_im2col_of_rows(mode: str, pixels: int):
    """Along W only; then the same row of the next image."""
    tensor = np.random.default_rng(1).integers(1, 99, (30, 4, 9, 16)).astype(np.float16)
    tensor_map = TensorMap.im2col(tensor, (-1, -3), (0, 3), 16, 24, "32B", element_strides=(1, 2, 1, 1))
    out = _load(tensor_map, (0, 3, 2, 1), pixels * 32, mode, (0, 1))[: pixels * 32].reshape(pixels, 2, 16)
    expected = np.zeros((pixels, 16), np.float16)
    w, n = 4, 1
    for pixel in range(pixels):
        if w < 9 and n < 30:
            expected[pixel] = tensor[n, 2, w]
        w += 2
        if w > 9:
            w, n = 0, n + 1
    raw = expected.view(np.uint8).reshape(pixels, 2, 16)
    # Rows of 32 bytes: of every eight, four and four have their halves in the other order.
    flipped = (np.arange(pixels) // 4 % 2).astype(bool)
    raw[flipped] = raw[flipped][:, ::-1]
    assert np.array_equal(out, raw)


def test_im2col_store():
    tensor = np.zeros((2, 5, 6, 16), np.int32)
    tensor_map = TensorMap.im2col(tensor, (0, 0), (0, 0), 8, 10)
    data = np.arange(80, dtype=np.int32).reshape(10, 8)
    _store(tensor_map, (8, 4, 1, 1), data, mode="im2col_no_offs")
    flat = tensor[1].reshape(30, 16)
    assert np.array_equal(flat[10:20, 8:], data) and tensor.sum() == data.sum()


@pytest.mark.parametrize("packing", ["b4x16", "b4x16_p64", "b6x16_p32"])
def test_packed_elements(packing: Any):
    """16 elements take 8, 16 and 16 bytes in shared memory; padding is left alone."""
    bits, group = {"b4x16": (4, 8), "b4x16_p64": (4, 16), "b6x16_p32": (6, 16)}[packing]
    tensor = np.random.default_rng(2).integers(0, 256, (8, 2 * 128 * bits // 8), np.uint8)
    tensor_map = TensorMap(tensor, (128, 4), packing=packing)
    row = 128 * bits // 8
    found = _load(tensor_map, (128, 2), 4 * row)[: 4 * 8 * group].reshape(4, 8, group)
    assert np.array_equal(found[:, :, : 2 * bits], tensor[2:6, row:].reshape(4, 8, 2 * bits))
    assert (found[:, :, 2 * bits :] == 0xCC).all()


_REDUCTIONS: list[tuple[str, Any, Callable[[Array, Array], Array]]] = [
    ("add", np.int32, np.add),
    ("add", np.uint64, np.add),
    ("add", np.float32, np.add),
    ("add", np.float16, np.add),
    ("min", np.int32, np.minimum),
    ("max", np.uint32, np.maximum),
    ("min", ml_dtypes.bfloat16, np.minimum),
    ("and", np.uint32, np.bitwise_and),
    ("or", np.uint64, np.bitwise_or),
    ("xor", np.int64, np.bitwise_xor),
    ("inc", np.uint32, lambda old, new: np.where(old >= new, 0, old + 1)),
    ("dec", np.uint32, lambda old, new: np.where((old == 0) | (old > new), new, old - 1)),
]


@pytest.mark.parametrize(("name", "dtype", "reference"), _REDUCTIONS)
@pytest.mark.sample(5)
def test_reductions(name: str, dtype: Any, reference: Callable[[Array, Array], Array]):
    rng = np.random.default_rng(3)
    low = 0 if np.dtype(dtype).kind == "u" else -50
    tensor = rng.integers(low, 50, (12, 16)).astype(dtype)
    data = rng.integers(low, 50, (4, 16)).astype(dtype)
    expected = tensor.copy()
    expected[10:12] = reference(tensor[10:12], data[:2])
    _store(TensorMap(tensor, (16, 4)), (0, 10), data, f"{name}.")
    assert np.array_equal(tensor, expected)


@together(
    ("arguments", "message"),
    [
        ({"box": (16, 300)}, "expected box sizes from 1 to 256"),
        ({"box": (16, 4), "element_strides": (2, 1)}, "expected element stride 1 of dimension 0"),
        ({"box": (16, 4), "oob_fill": "nan"}, "expected oob_fill zero for .u8"),
        ({"box": (48, 4), "swizzle": "32B"}, "of at most 32, found 48"),
        ({"box": (64, 4), "packing": "b4x16_p64"}, "rows of 128 elements"),
        ({"box": (16, 4), "element": "f32"}, "expected an element type of 1 bytes"),
    ],
)
def test_maps_that_do_not_exist(arguments: Any, message: str):
    with pytest.raises(SimError, match=message):
        TensorMap(np.zeros((8, 256), np.uint8), **arguments)


@pytest.mark.parametrize(
    ("tensor_map", "at", "mode", "info", "message"),
    [
        (TensorMap(np.zeros((8, 64), np.float16), (32, 2)), (0, 1, 2, 3, 4), "tile::gather4", (), "one row in a box"),
        (TensorMap(np.zeros((4, 8, 8, 64), np.float16), (32, 2, 1, 1)), (0,) * 4, "im2col", (0, 0), "one for tiles"),
        (
            TensorMap.im2col(np.zeros((4, 8, 8, 64), np.float16), (0, 0), (0, 0), 32, 4),
            (0,) * 4, "tile", (), "found one for im2col",
        ),
        (
            TensorMap.im2col(np.zeros((4, 8, 8, 64), np.float16), (0, 0), (0, 0), 32, 4),
            (0, 8, 0, 0), "im2col", (0, 0), "within the bounding box",
        ),
        (
            TensorMap.im2col(np.zeros((4, 8, 8, 64), np.float16), (0, 0), (0, 0), 32, 4, "64B"),
            (0, 0, 0, 0), "im2col::w", (2, 0), "a halo of 2 pixels is not simulated",
        ),
        (TensorMap(np.zeros((8, 64), np.uint8), (128, 2), packing="b4x16_p64"), (16, 0), "tile", (), "multiple of 128"),
    ],
)  # fmt: skip
def test_wrong_copies(tensor_map: TensorMap, at: Any, mode: str, info: Any, message: str):
    with pytest.raises(SimError, match=message) as caught:
        _load(tensor_map, at, 128, mode, info)
    assert caught.value.line is not None
    assert caught.value.text.startswith("cp.async.bulk.tensor")


def test_stores_start_within_the_tensor():
    with pytest.raises(SimError, match="coordinates that are not negative"):
        _store(TensorMap(np.zeros((8, 64), np.float16), (32, 2)), (-1, 0), np.zeros(64, np.float16))


def test_reductions_know_their_types():
    with pytest.raises(SimError, match="expected elements of type u32 with .inc, found .f16"):
        _store(TensorMap(np.zeros((8, 64), np.float16), (32, 2)), (0, 0), np.zeros(64, np.float16), "inc.")


def test_every_copy_is_progress(monkeypatch: pytest.MonkeyPatch):
    """Threads that have polled what a copy writes ask again: each instruction counts, and bytes that come to a CTA."""
    calls: list[Launch] = []
    made_progress = Launch.made_progress

    def counted(launch: Launch) -> None:
        calls.append(launch)
        made_progress(launch)

    monkeypatch.setattr(Launch, "made_progress", counted)
    tensor_map, data = TensorMap(np.zeros((8, 64), np.uint8), (64, 2)), np.zeros(_BYTES, np.uint8)

    def count(body: str, wait: str = "") -> int:
        calls.clear()
        run(assembled(_HEADER + _KERNEL.format(body=body, wait=wait)), "k", 1, 32, [tensor_map, data, data])
        return len(calls)

    loads, stores = (
        [f"cp.async.bulk.tensor.2d.{into}.tile.{way} {ends.format(n)};" for n in (0, 128, 256)]
        for into, way, ends in (
            ("shared::cta.global", "mbarrier::complete_tx::bytes", "[%r1+{}], [%d0, {{0, 0}}], [%r2]"),
            ("global.shared::cta", "bulk_group", "[%d0, {{0, 0}}], [%r1+{}]"),
        )
    )
    arrive = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2]"
    assert count(f"{arrive}, 384; {' '.join(loads)}", _WAIT) - count(f"{arrive}, 128; {loads[0]}", _WAIT) == 4
    waits = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    assert count(" ".join(stores) + waits) - count(stores[0] + waits) == 2
