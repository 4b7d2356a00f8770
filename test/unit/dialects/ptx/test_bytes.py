"""Integers of 8 bits, four in a register, from the operation to numpy; and on targets that lack them."""

from __future__ import annotations

import numpy as np
import pytest

from tirx.diagnostics import LocatedError
from tirx.ptx.printer import print_ptx
from tirx.ptx.ptxas import assemble
from tirx.sim import SimError, run
from tirx.text.parsing import parse_located
from tirx.universe import new_context

OPERATIONS = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}


def _ptx(operation: str, target: str) -> str:
    text = f"""
    ptx.entry @bytes(a : u64 ptr, b : u64 ptr, d : u64 ptr) target("{target}") reqntid(32) {{
      %tid = ptx.read_special tid.x
      %four = ptx.constant 4 : i32
      %at = ptx.mul.wide unsigned %tid, %four : i32 -> i64
      %a0 = ptx.ld.param @a : i64
      %b0 = ptx.ld.param @b : i64
      %d0 = ptx.ld.param @d : i64
      %a = ptx.add %a0, %at : i64
      %b = ptx.add %b0, %at : i64
      %d = ptx.add %d0, %at : i64
      %x = ptx.ld global %a : i64 -> i32
      %y = ptx.ld global %b : i64 -> i32
      %z = {operation} %x, %y
      ptx.st global %d, %z : i64, i32
      ptx.ret
    }}"""
    return print_ptx(parse_located(new_context(), text, "bytes.mlir"))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.sample(1)
def test_four_bytes(name: str, dtype: type[np.generic]) -> None:
    ptx = _ptx(f"ptx.{name}.x4{' unsigned' if dtype is np.uint8 else ''}", "sm_107a")
    assert f"{name}.{'u' if dtype is np.uint8 else 's'}8x4 " in ptx
    assert assemble(ptx, "sm_107a").ok
    a, b = (np.random.default_rng(seed).integers(0, 256, 128).astype(np.uint8).view(dtype) for seed in (0, 1))
    d = np.zeros(128, dtype)
    run(ptx, "bytes", 1, 32, [a, b, d])
    np.testing.assert_array_equal(d, OPERATIONS[name](a, b))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", ["add", "sub"])
def test_saturation(name: str, dtype: type[np.generic]) -> None:
    ptx = _ptx(f"ptx.{name}.x4{' unsigned' if dtype is np.uint8 else ''} sat", "sm_107a")
    assert assemble(ptx, "sm_107a").ok
    a, b = (np.random.default_rng(seed).integers(0, 256, 128).astype(np.uint8).view(dtype) for seed in (0, 1))
    d = np.zeros(128, dtype)
    run(ptx, "bytes", 1, 32, [a, b, d])
    least, most = (0, 255) if dtype is np.uint8 else (-128, 127)
    exact = OPERATIONS[name](a.astype(np.int64), b.astype(np.int64))
    np.testing.assert_array_equal(d, np.clip(exact, least, most).astype(dtype))


def test_where_they_are() -> None:
    with pytest.raises(LocatedError, match="packed_integers.*supported on sm_107a, sm_107f, sm_120a"):
        _ptx("ptx.add.x4", "sm_100a")
    ptx = _ptx("ptx.add.x4", "sm_120a").replace("sm_120a", "sm_100a")
    with pytest.raises(SimError, match=r".s8x4 does not exist on sm_100a; supported on sm_107a"):
        run(ptx, "bytes", 1, 32, [np.zeros(128, np.int8)] * 3)
