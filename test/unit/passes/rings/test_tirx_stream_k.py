"""Products whose iterations all blocks share out: equal to numpy, the same bits in every order, zeros left behind."""

from __future__ import annotations

import numpy as np
import pytest
from unit.passes.parsed import parsed
from unit.passes.rings.test_tirx_split_k import _operands, _product  # pyright: ignore[reportPrivateUsage]

import tirx
from tirx.passes.match.workspaces import LARGEST_FLAG
from tirx.passes.rings.tirx_stream_k import TirxStreamKPass
from tirx.rules import ScheduleOptionError
from tirx.universe import new_context


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("target", "size", "columns", "blocks"),
    [
        ("sm_90a", (70, 72, 320), 64, 3),  # blocks begin and end within tiles, at the edges of M, N and K
        ("sm_90a", (16, 64, 384), 64, 5),  # five blocks of one tile, one of them with nothing
        ("sm_90a", (128, 64, 64), 64, 7),  # more blocks than iterations
        ("sm_80", (100, 72, 136), 64, 4),
        ("sm_100a", (64, 128, 320), 64, 3),
    ],
)
def test_equals_numpy(target: str, size: tuple[int, int, int], columns: int, blocks: int) -> None:
    text = _product(size, 64, columns).replace("sm_90a", target)
    program = tirx.build(text, options=f"split=stream multiprocessors={blocks}")
    a, b = _operands(np.random.default_rng(0), size, "float16")
    d = np.full((size[0], size[1]), 7, np.float32)
    program.kernels["k"].simulate(a, b, d)
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_sums_that_a_map_reads(target: str) -> None:
    """Sums that are loaded, changed and stored: the block that has them all does it."""
    text = f"""
      !sums = !tirx.tile<64x64xf32, register>
      tirx.kernel @k(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf32>) target("{target}")
          grid(%j = ceildiv(size(1, 0), 64), %i = ceildiv(size(0, 0), 64)) threads(128) {{
        %zero = arith.constant 0.0 : f32
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c64 = arith.constant 64 : index
        %k = memref.dim %a, %c1 : memref<?x?xf16>
        %sa = tirx.alloc : !tirx.tile<64x64xf16, shared>
        %sb = tirx.alloc : !tirx.tile<64x64xf16, shared>
        %acc = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
        tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, accumulator>
        scf.for %at = %c0 to %k step %c64 {{
          tirx.copy %a[%i * 64, %at] clipped, %sa : memref<?x?xf16>, !tirx.tile<64x64xf16, shared>
          tirx.copy %b[%j * 64, %at] clipped, %sb : memref<?x?xf16>, !tirx.tile<64x64xf16, shared>
          tirx.mma %sa, %sb, %acc
              : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, accumulator>
        }}
        %sums = tirx.load %acc : !tirx.tile<64x64xf32, accumulator> -> !sums
        %r = tirx.map ins(%sums : !sums) (%e) {{ %e * %e }} -> !sums
        tirx.store %r, %d[%i * 64, %j * 64] clipped : !sums, memref<?x?xf32>
      }}
    """
    program = tirx.build(text, options="split=stream multiprocessors=3")
    a, b = _operands(np.random.default_rng(0), (70, 72, 320), "float16")
    d = np.full((70, 72), 7, np.float32)
    program.kernels["k"].simulate(a, b, d, max_resident=3)
    np.testing.assert_array_equal(d, (a.astype(np.float32) @ b.astype(np.float32).T) ** 2)


def test_same_bits_in_any_order() -> None:
    """Blocks that run beside each other, in any order, add the same sums in the same order."""
    size = (64, 64, 320)
    program = tirx.build(_product(size, 64, 64), options="split=stream multiprocessors=3")
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((64, 320)).astype(np.float16) for _ in range(2))
    found: list[bytes] = []
    for seed in (0, 5, 11):
        d = np.zeros((64, 64), np.float32)
        program.kernels["k"].simulate(a, b, d, seed=seed, max_resident=3)
        found.append(d.tobytes())
    assert len(set(found)) == 1


def test_kernels_that_ask_for_their_grid_and_too_many_blocks() -> None:
    text = _product((128, 128, 128), 64, 64)
    asking = text.replace("tirx.return", "%blocks = tirx.grid_dim x\ntirx.return")
    TirxStreamKPass("stream", LARGEST_FLAG).apply(new_context(), parsed(text))
    for each, blocks, message in (
        (text, LARGEST_FLAG + 1, f"expected at most {LARGEST_FLAG} multiprocessors for split=stream, found @k"),
        (asking, 4, "expected a kernel that does not ask for its grid for split=stream, found 'tirx.grid_dim'"),
    ):
        with pytest.raises(ScheduleOptionError) as error:
            TirxStreamKPass("stream", blocks).apply(new_context(), parsed(each))
        assert error.value.message == message
