"""Products whose iterations all blocks share out: equal to numpy, the same bits in every order, zeros left behind."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from unit.passes.rings.test_tirx_split_k import _operands, _product  # pyright: ignore[reportPrivateUsage]

import tirx
from tirx.dialects.tirx import kernels
from tirx.passes.match import tile_choice
from tirx.passes.match.workspaces import LARGEST_FLAG
from tirx.passes.rings.tirx_stream_k import (
    TirxStreamKPass,
    _is_worth_it,  # pyright: ignore[reportPrivateUsage]
)
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


_LONG = _product((1536, 1536, 8192), 128, 128).replace("%sb, %acc :", "%sb, %acc fastmath<reassoc> :")


@together(
    ("changed", "to", "expected"),
    [
        ("", "", True),
        ('target("sm_90a") ', "", False),
        ("threads(256)", "threads(256) attributes {tirx.parts = 2 : i64}", False),
        ("threads(256)", 'threads(256) attributes {tirx.cluster = "1x2"}', False),
        (", %sb :", ", %sb2 :", False),
        ("tirx.return", "%blocks = tirx.grid_dim x\ntirx.return", False),
    ],
)
def test_what_may_take_less_time(changed: str, to: str, expected: bool) -> None:
    text = _LONG.replace(changed, to) if changed else _LONG
    text = text.replace("%acc = tirx.alloc : !acc", "%acc = tirx.alloc : !acc\n%sb2 = tirx.alloc : !b")
    (kernel,) = kernels(parsed(text))
    assert _is_worth_it(kernel) is expected


def test_times_that_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal times are no reason to split."""
    (kernel,) = kernels(parsed(_LONG))
    for whole, streamed in ((2, 1), (1, 1), (1, 2), (None, 1), (2, None)):
        scores = {False: whole, True: streamed}

        def rated(*_: object, streamed: bool, **__: object) -> object:
            return None if (score := scores[streamed]) is None else SimpleNamespace(score=score)  # noqa: B023

        monkeypatch.setattr(tile_choice, "rated_tile", rated)
        assert _is_worth_it(kernel) is ((whole, streamed) == (2, 1))


def test_kernels_that_have_no_grid_or_clusters_and_bounds_of_launches() -> None:
    text = _product((128, 128, 128), 64, 64)
    for changed, to in (("grid(2, 2) ", ""), ("threads(128)", "cluster(2) threads(128)")):
        with pytest.raises(ScheduleOptionError) as error:
            TirxStreamKPass("stream", 4).apply(
                new_context(), parsed(text.replace(changed, to).replace("sm_90a", "sm_100a"))
            )
        expected = "expected a kernel with a grid, without clusters and blocks that wait for split=stream, found @k"
        assert error.value.message == expected
    bound = text.replace("@k(", "@k(%last: index, ").replace("to %end", "to %last")
    TirxStreamKPass("stream", 4).apply(new_context(), parsed(bound))
