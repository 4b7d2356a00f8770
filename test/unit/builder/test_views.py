"""Views of arrays in Python: where they are computed, their extents, and where they are clipped."""

from __future__ import annotations

from typing import Any

import pytest

import tirx as tx
from tirx import f32


def _a_row(a: Any, b: Any) -> None:
    b[:, :] = a[63, :].load()[None, :].broadcast(64, 64)


def _all_rows(a: Any, b: Any) -> None:
    b[:, :] = a[:, :]


def _from_a_row_on(a: Any, b: Any) -> None:
    b[:, :] = a[3:, :]


def _up_to_a_row(a: Any, b: Any) -> None:
    b[:, :] = a[:64, :]


def _computed_at_once(a: Any, b: Any) -> None:
    b[:, :] = (a[:, :] + 1.0).load() * 2.0


def _computed_where_it_is_used(a: Any, b: Any) -> None:
    b[:, :] = (a[:, :] + 1.0) * 2.0


def test_load_computes_a_tile_where_it_stands() -> None:
    kernels = (
        tx.jit(f32[64, 64], f32[64, 64], threads=32)(each) for each in (_computed_at_once, _computed_where_it_is_used)
    )
    assert [str(each.module).count("tirx.map") for each in kernels] == [2, 1]


def _inside(a: Any, b: Any) -> None:
    for k in tx.range(0, 33, 16):
        b[k : k + 32, 0:8] = a[0:32, 0:8]


def _beyond(a: Any, b: Any) -> None:
    for k in tx.range(0, 34, 16):
        b[k + 1 : k + 33, 0:8] = a[0:32, 0:8]


def test_views_of_a_loop_are_clipped_where_its_last_round_is_beyond_the_array() -> None:
    inside, beyond = (str(tx.jit(f32[64, 64], f32[64, 64], threads=32)(each).module) for each in (_inside, _beyond))
    assert "clipped" not in inside and beyond.count("clipped") == 1


def test_extents_that_the_launch_knows() -> None:
    row, up_to, *open_ended = (
        tx.jit(f32[None, 64], f32[64, 64], threads=128, target="sm_80", grid=[1])(each)
        for each in (_a_row, _up_to_a_row, _all_rows, _from_a_row_on)
    )
    assert "tirx.view %a[%0, %0] clipped : memref<?x64xf32> -> !tirx.tile<64x64xf32, global>" in str(up_to.module)
    assert "tirx.view %a[%1, %0] : memref<?x64xf32> -> !tirx.tile<64xf32, global>" in str(row.module)
    said = "expected an extent that is a number, found `:` of one that the launch knows; use tx.tile\n"
    for rows in open_ended:
        with pytest.raises(tx.BuildError, match=said):
            _ = rows.module
