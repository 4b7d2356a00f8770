"""wgmma: every type and canonical layout of the operands equals numpy (PTX ISA, section 9.7.15)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tirx.sim import SimError, run

Array = npt.NDArray[Any]

_TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
# Bytes of a row of the swizzle pattern, by the number of the mode (bits 62-63).
_ROWS = {0: 16, 1: 128, 2: 64, 3: 32}
_A_BYTES = 1 << 14
_RESULTS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "s32": np.int32}


def _swizzled(offset: int, mode: int) -> int:
    """XORs the 16-byte chunk within a row of the pattern with the number of the row of 128 bytes."""
    return offset ^ ((offset >> 7 & _ROWS[mode] // 16 - 1) << 4)


def _lay_out(matrix: Array, mode: int, major: str, size: int) -> tuple[Array, int]:
    """The bytes of a matrix (M or N, K) in shared memory, and its descriptor without the address."""
    rows, depth = matrix.shape
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(rows, depth, -1)
    width, span = raw.shape[2], _ROWS[mode]
    image = np.zeros(size, np.uint8)
    per_row = span // width
    chunk = span * depth
    if major == "K":
        # 8 rows of `span` bytes after each other; without a swizzle the two 16-byte columns are `leading` apart.
        leading, stride = (rows * 16, 128) if mode == 0 else (16, 8 * span)
    else:
        # 8 k of `span` bytes; then the next 8 k, and the next `span` bytes along M or N.
        leading, stride = (128, 16 * depth) if mode == 0 else (chunk, 8 * span)
    for row in range(rows):
        for k in range(depth):
            if major == "K":
                byte = k * width
                within = byte // 16 * leading + byte % 16 if mode == 0 else byte
                offset = row // 8 * stride + row % 8 * span + within
            else:
                offset = row // per_row * chunk + k * span + row % per_row * width
            offset = _swizzled(offset, mode)
            image[offset : offset + width] = raw[row, k]
    return image, mode << 62 | (stride >> 4) << 32 | (leading >> 4) << 16


def _kernel(shape: str, result: str, types: str, n: int, signs: str, *, a: str, accumulate: bool) -> str:
    """One wgmma of 128 threads: shared memory comes from `image`, D from and to `d` (a row for each thread)."""
    count = n // 2 if result != "f16" else n // 4
    names = [f"%c{index}" for index in range(count)]
    loads = "\n".join(f"  ld.global.b32 {name}, [%d+{4 * index}];" for index, name in enumerate(names))
    stores = "\n".join(f"  st.global.b32 [%d+{4 * index}], {name};" for index, name in enumerate(names))
    return f"""
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 d, .param .u64 a_desc, .param .u64 b_desc, .param .u64 fragments) {{
  .reg .b64 %i, %d, %x, %y, %f; .reg .b32 %t, %o, %w, %c<{count}>, %a<4>; .reg .pred %p, %q;
  .shared .align 1024 .b8 tile[{2 * _A_BYTES}];
  ld.param.u64 %i, [image]; ld.param.u64 %d, [d]; ld.param.u64 %f, [fragments];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %d, %t, {4 * count}, %d;
  mad.wide.u32 %f, %t, 16, %f;
{loads}
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%f];
  mad.wide.u32 %i, %t, 4, %i;
  mov.u32 %o, tile;
  mad.lo.u32 %o, %t, 4, %o;
  mov.u32 %w, 0;
COPY:
  {{ .reg .b32 %v; ld.global.b32 %v, [%i]; st.shared.b32 [%o], %v; }}
  add.u64 %i, %i, 512; add.u32 %o, %o, 512; add.u32 %w, %w, 512;
  setp.lt.u32 %p, %w, {2 * _A_BYTES}; @%p bra COPY;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %o, tile; shr.u32 %o, %o, 4;
  cvt.u64.u32 %x, %o; add.u64 %y, %x, {_A_BYTES >> 4};
  {{ .reg .b64 %v; ld.param.u64 %v, [a_desc]; or.b64 %x, %x, %v; ld.param.u64 %v, [b_desc]; or.b64 %y, %y, %v; }}
  setp.eq.u32 %q, 0, {0 if accumulate else 1};
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.{shape}.{result}.{types} {{{", ".join(names)}}}, {a}, %y, %q{signs};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
{stores}
  ret;
}}
"""


def _fragment_places(n: int) -> tuple[Array, Array]:
    """Row and column of element i of the accumulators of each of 128 threads: (n / 2, 128) (figure of D)."""
    thread, element = np.arange(128)[None, :], np.arange(n // 2)[:, None]
    row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (element // 2 % 2)
    return np.broadcast_arrays(row, 8 * (element // 4) + 2 * (thread % 4) + element % 2)[:2]  # type: ignore[return-value]


def _check(
    a_type: str, b_type: str, result: str, n: int, *, a_mode: int, b_mode: int, a_major: str = "K", b_major: str = "K",
    accumulate: bool = True, negative: bool = False, registers: bool = False, seed: int | None = None,
) -> None:  # fmt: skip
    rng = np.random.default_rng(n)
    depth = 32 // np.dtype(_TYPES[a_type]).itemsize
    low = 0 if "u8" in (a_type, b_type) else -3
    a, b = (
        rng.integers(low, 4, (64, depth)).astype(_TYPES[a_type]),
        rng.integers(low, 4, (n, depth)).astype(_TYPES[b_type]),
    )
    c = rng.integers(-9, 9, (64, n))
    images = [_lay_out(a, a_mode, a_major, _A_BYTES), _lay_out(b, b_mode, b_major, _A_BYTES)]
    rows, columns = _fragment_places(n)
    fragment = np.ascontiguousarray(c.astype(_RESULTS[result])[rows, columns].T).view(np.uint32)
    fragments = np.zeros((128, 4), np.uint32)
    if registers:
        # Threads hold 32 bits of rows g and g + 8, at the start and in the middle of the 32 bytes of K.
        words = np.ascontiguousarray(a).view(np.uint32)
        thread, item = np.arange(128)[:, None], np.arange(4)[None, :]
        fragments = words[16 * (thread // 32) + thread % 32 // 4 + 8 * (item % 2), thread % 4 + 4 * (item // 2)].copy()
    signs = ""
    if result != "s32":
        signs = f", {-1 if negative else 1}, 1"
        if a_type in ("f16", "bf16"):
            signs += ("" if registers else f", {int(a_major == 'MN')}") + f", {int(b_major == 'MN')}"
    operand = "{%a0, %a1, %a2, %a3}" if registers else "%x"
    text = _kernel(f"m64n{n}k{depth}", result, f"{a_type}.{b_type}", n, signs, a=operand, accumulate=accumulate)
    arguments = [np.concatenate([image for image, _ in images]), fragment, images[0][1], images[1][1], fragments]
    run(text, "k", 1, 128, arguments, seed=seed)
    found = np.zeros((64, n))
    found[rows, columns] = fragment.view(_RESULTS[result]).reshape(128, -1).T
    wanted = a.astype(np.float64) @ b.T.astype(np.float64) * (-1 if negative else 1) + (c if accumulate else 0)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("a_type", "b_type", "result"),
    [
        ("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
        ("e4m3", "e5m2", "f32"), ("e5m2", "e4m3", "f16"), ("s8", "u8", "s32"), ("u8", "s8", "s32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("registers", [False, True])
def test_types(a_type: str, b_type: str, result: str, registers: bool) -> None:
    _check(a_type, b_type, result, 24, a_mode=3, b_mode=1, registers=registers)


@pytest.mark.parametrize("a_mode", list(_ROWS))
@pytest.mark.parametrize("next_mode", [0, 1])
@pytest.mark.parametrize(("a_major", "b_major"), [("K", "K"), ("MN", "K"), ("K", "MN"), ("MN", "MN")])
def test_layouts(a_mode: int, next_mode: int, a_major: str, b_major: str) -> None:
    b_mode = (a_mode + next_mode) % len(_ROWS)
    _check("f16", "f16", "f32", 64, a_mode=a_mode, b_mode=b_mode, a_major=a_major, b_major=b_major)


@pytest.mark.parametrize("n", [8, 16, 136, 256])
@pytest.mark.parametrize("accumulate", [True, False])
def test_widths_and_signs(n: int, accumulate: bool) -> None:
    _check("f16", "f16", "f32", n, a_mode=1, b_mode=0, accumulate=accumulate, negative=n == 16, seed=1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fence.proxy.async.shared::cta;", "", "through the generic proxy"),
        ("wgmma.wait_group.sync.aligned 0;", "", "register %c0 is read before wgmma.wait_group"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", "is read before wgmma.wait_group"),
        ("wgmma.wait_group.sync.aligned 0;", "st.shared.b32 [tile], %w;", "while wgmma may still read it"),
        ("or.b64 %x, %x, %v;", "or.b64 %x, %x, 0x4000;", "bits 14-15 must be zero"),
        (".m64n16k16.", ".m64n20k16.", "expected N from 8 to 256 in steps of 8"),
        (", %q, 1, 1, 0, 0;", ", %q, 2, 1, 0, 0;", "expected 1 or -1"),
    ],
)
def test_errors(old: str, new: str, message: str) -> None:
    text = _kernel("m64n16k16", "f32", "f16.f16", 16, ", 1, 1, 0, 0", a="%x", accumulate=False)
    assert old in text
    d = np.zeros((128, 8), np.float32)
    arguments = [np.zeros(2 * _A_BYTES, np.uint8), d, 8 << 32, 8 << 32]
    with pytest.raises(SimError, match=message):
        run(text.replace(old, new), "k", 1, 128, [*arguments, np.zeros((128, 4), np.uint32)])


def test_sums_are_never_negative_zero() -> None:
    """As an H200 does it: the negated product of zeros is +0."""
    text = _kernel("m64n16k16", "f32", "f16.f16", 16, ", -1, 1, 0, 0", a="%x", accumulate=False)
    d = np.ones((128, 8), np.float32)
    arguments = [np.zeros(2 * _A_BYTES, np.uint8), d, 8 << 32, 8 << 32, np.zeros((128, 4), np.uint32)]
    run(text, "k", 1, 128, arguments)
    assert not d.view(np.uint32).any()
