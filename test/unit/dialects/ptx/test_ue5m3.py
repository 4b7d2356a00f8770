"""Conversions to ue5m3 and back, from the operation to the definition; what no source says is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tirx.diagnostics import LocatedError
from tirx.ptx.printer import print_ptx
from tirx.ptx.ptxas import assemble
from tirx.sim import SimError, run
from tirx.text.parsing import parse_located
from tirx.universe import new_context

NUMBERS = [(i if i < 8 else (8 + (i & 7)) << ((i >> 3) - 1)) * 2.0**-17 for i in range(255)]
"""Codes 0 to 254: subnormal multiples of 2^-17, then a mantissa of 3 bits."""


def _ptx(target: str) -> str:
    text = f"""
    ptx.entry @there_and_back(a : u64 ptr, d : u64 ptr) target("{target}") reqntid(32) {{
      %tid = ptx.read_special tid.x
      %four = ptx.constant 4 : i32
      %zero = ptx.constant 0.0 : f32
      %at = ptx.mul.wide unsigned %tid, %four : i32 -> i64
      %a0 = ptx.ld.param @a : i64
      %d0 = ptx.ld.param @d : i64
      %a = ptx.add %a0, %at : i64
      %d = ptx.add %d0, %at : i64
      %x = ptx.ld global %a : i64 -> f32
      %code = ptx.cvt.pair ue5m3x2 %zero, %x -> i16
      %wide = ptx.cvt.from_pair ue5m3x2 %code
      ptx.st global %d, %wide : i64, i32
      ptx.ret
    }}"""
    return print_ptx(parse_located(new_context(), text, "ue5m3.mlir"))


def _converted(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The upper bf16 of each pair, as f32, of 32 values."""
    d = np.zeros(32, np.uint32)
    run(_ptx("sm_107a"), "there_and_back", 1, 32, [values.astype(np.float32), d])
    return (d & np.uint32(0xFFFF0000)).view(np.float32)


def test_every_number() -> None:
    """And halves between two, which go to the even one; beyond the largest and NaN."""
    assert max(NUMBERS) == 114688
    exact = np.array(NUMBERS[:224]).reshape(7, 32)
    for row in exact:
        assert np.array_equal(_converted(row), row.astype(np.float32))
    halves = [(NUMBERS[i] + NUMBERS[i + 1]) / 2 for i in range(200, 230)]
    even = [NUMBERS[i + i % 2] for i in range(200, 230)]
    found = _converted(np.array([*halves, 1e9, np.nan]))
    assert np.array_equal(found[:31], np.array([*even, 114688], np.float32)) and np.isnan(found[31])


def test_what_is_not_known() -> None:
    for value in (-1.0, np.inf):
        with pytest.raises(SimError, match="a negative or infinite number: no source says"):
            _converted(np.full(32, value))
    assert assemble(_ptx("sm_107f"), "sm_107f").ok
    with pytest.raises(LocatedError, match="needs cvt.ue5m3x2, which sm_103a lacks; supported on sm_107a, sm_107f"):
        _ptx("sm_103a")
    with pytest.raises(SimError, match="ue5m3x2 does not exist on sm_100a; supported on sm_107a, sm_107f"):
        run(_ptx("sm_107a").replace("sm_107a", "sm_100a"), "there_and_back", 1, 32, [np.zeros(32, np.float32)] * 2)
