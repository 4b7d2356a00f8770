"""A kernel with one wgmma, and its operands in shared memory (PTX ISA, section 9.7.15)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
RESULTS: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "s32": np.int32}

# Bytes of a row of the swizzle pattern, by the number of the mode (bits 62-63).
ROWS = {0: 16, 1: 128, 2: 64, 3: 32}
A_BYTES = 1 << 14


def _swizzled(offset: int, mode: int) -> int:
    """XORs the 16-byte chunk within a row of the pattern with the number of the row of 128 bytes."""
    return offset ^ ((offset >> 7 & ROWS[mode] // 16 - 1) << 4)


def lay_out(matrix: Array, mode: int, major: str, size: int, start: int = 0, base_offset: int = 0) -> tuple[Array, int]:
    """
    The bytes of a matrix (M or N, K) in shared memory from byte `start` on, and its descriptor without the address.

    The pattern starts `base_offset` times 128 bytes behind a multiple of 1024.
    """
    rows, depth = matrix.shape
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(rows, depth, -1)
    width, span = raw.shape[2], ROWS[mode]
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
            behind = 128 * base_offset
            offset = _swizzled(start + offset - behind, mode) + behind
            image[offset : offset + width] = raw[row, k]
    return image, mode << 62 | base_offset << 49 | (stride >> 4) << 32 | (leading >> 4) << 16 | start >> 4


def kernel(
    shape: str, result: str, types: str, n: int, signs: str, *, a: str, accumulate: bool, variant: str = "",
    metadata: str = "",
) -> str:  # fmt: skip
    """
    One wgmma of 128 threads: shared memory comes from `image`, D from and to `d` (a row for each thread).

    %a0 to %a3 are the threads' rows of `fragments`, %e their words of `codes`.
    """
    count = n // 2 if result != "f16" else n // 4
    names = [f"%c{index}" for index in range(count)]
    loads = "\n".join(f"  ld.global.b32 {name}, [%d+{4 * index}];" for index, name in enumerate(names))
    stores = "\n".join(f"  st.global.b32 [%d+{4 * index}], {name};" for index, name in enumerate(names))
    return f"""
.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 d, .param .u64 a_desc, .param .u64 b_desc, .param .u64 fragments,
    .param .u64 codes) {{
  .reg .b64 %i, %d, %x, %y, %f; .reg .b32 %t, %o, %w, %c<{count}>, %a<4>, %e; .reg .pred %p, %q;
  .shared .align 1024 .b8 tile[{2 * A_BYTES}];
  ld.param.u64 %i, [image]; ld.param.u64 %d, [d]; ld.param.u64 %f, [fragments];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %d, %t, {4 * count}, %d;
  mad.wide.u32 %f, %t, 16, %f;
{loads}
  ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%f];
  ld.param.u64 %f, [codes]; mad.wide.u32 %f, %t, 4, %f; ld.global.b32 %e, [%f];
  mad.wide.u32 %i, %t, 4, %i;
  mov.u32 %o, tile;
  mad.lo.u32 %o, %t, 4, %o;
  mov.u32 %w, 0;
COPY:
  {{ .reg .b32 %v; ld.global.b32 %v, [%i]; st.shared.b32 [%o], %v; }}
  add.u64 %i, %i, 512; add.u32 %o, %o, 512; add.u32 %w, %w, 512;
  setp.lt.u32 %p, %w, {2 * A_BYTES}; @%p bra COPY;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %o, tile; shr.u32 %o, %o, 4;
  cvt.u64.u32 %x, %o; add.u64 %y, %x, {A_BYTES >> 4};
  {{ .reg .b64 %v; ld.param.u64 %v, [a_desc]; or.b64 %x, %x, %v; ld.param.u64 %v, [b_desc]; or.b64 %y, %y, %v; }}
  setp.eq.u32 %q, 0, {0 if accumulate else 1};
  wgmma.fence.sync.aligned;
  wgmma.mma_async{variant}.sync.aligned.{shape}.{result}.{types} {{{", ".join(names)}}}, {a}, %y{metadata}, %q{signs};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
{stores}
  ret;
}}
"""


def fragment_places(n: int) -> tuple[Array, Array]:
    """Row and column of element i of the accumulators of each of 128 threads: (n / 2, 128) (figure of D)."""
    thread, element = np.arange(128)[None, :], np.arange(n // 2)[:, None]
    row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (element // 2 % 2)
    row, column = np.broadcast_arrays(row, 8 * (element // 4) + 2 * (thread % 4) + element % 2)
    return row, column
