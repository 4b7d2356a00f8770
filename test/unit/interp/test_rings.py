"""Rings of numbers, of answers and of slots that carry what they had, as the interpreter runs them."""

from __future__ import annotations

import numpy as np
import pytest
from unit.interp.test_run import error_of, kernel_of, run_on

from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_SLOT = "!tirx.tile<4xf32, shared>"


def _roles(ring: str, *bodies: str) -> str:
    roles = "\n".join(f"tirx.role @r{i} warps(1) {{\n{body}\n}}" for i, body in enumerate(bodies))
    head = "tirx.kernel @k(%d: memref<8xf32>) grid(1) threads(64) {\n%c0 = arith.constant 0 : index"
    return f"{head}\n%two = arith.constant 2 : index\n{ring}\ntirx.roles {{\n{roles}\n}}\ntirx.return\n}}"


@pytest.mark.parametrize("seed", [None, 0])
def test_rings_of_numbers(seed: int | None) -> None:
    """Numbers that one role writes the other one reads, in turn."""
    text = _roles(
        "%r = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index, last: i1>",
        """
        tirx.for @j %j = 0 to 5 {
          tirx.acquire %r at(write)
          %n = arith.muli %j, %j : index
          %last = arith.cmpi ugt, %j, %two : index
          tirx.release %r at(write) with(%n, %last)
        }""",
        """
        tirx.for @j %k = 0 to 5 {
          %n, %last = tirx.acquire %r at(read)
          %w = arith.index_cast %n : index to i32
          %f = arith.sitofp %w : i32 to f32
          scf.if %last {
            memref.store %f, %d[%k] : memref<8xf32>
          }
          tirx.release %r at(read)
        }""",
    )
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    d = np.full(8, -1, np.float32)
    run_kernel(kernel, [d], seed=seed)
    assert d.tolist() == [-1, -1, -1, 9, 16, -1, -1, -1]


@pytest.mark.parametrize("carries", ["", " carries"])
def test_slots_that_carry_what_they_had(carries: str) -> None:
    """The second use adds to what the first one left; without `carries` nobody has written that."""
    add = f"""
    tirx.for @j %j = 0 to 3 {{
      %s = tirx.acquire %r at(fill)
      %first = arith.cmpi eq, %j, %c0 : index
      scf.if %first {{
        %one = arith.constant 1.0 : f32
        tirx.fill %s, %one : f32, {_SLOT}
      }} else {{
        %x = tirx.load %s : {_SLOT} -> !tirx.tile<4xf32, register>
        %y = tirx.map ins(%x : !tirx.tile<4xf32, register>) {{
        ^bb0(%e: f32):
          %n = arith.addf %e, %e : f32
          tirx.yield %n : f32
        }} -> !tirx.tile<4xf32, register>
        tirx.store %y, %s : !tirx.tile<4xf32, register>, {_SLOT}
      }}
      tirx.release %r at(fill)
    }}"""
    use = f"""
    tirx.for @j %k = 0 to 3 {{
      %u = tirx.acquire %r at(use)
      %x = tirx.load %u : {_SLOT} -> !tirx.tile<4xf32, register>
      %gd = tirx.view %d[%c0] : memref<8xf32> -> !tirx.tile<4xf32, global>
      tirx.store %x, %gd : !tirx.tile<4xf32, register>, !tirx.tile<4xf32, global>
      tirx.release %r at(use)
    }}"""
    text = _roles(f"%r = tirx.ring slots(1) stations(fill, use){carries} : !tirx.ring<{_SLOT}>", add, use)
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    d = np.zeros(8, np.float32)
    if carries:
        run_kernel(kernel, [d])
        assert d.tolist() == [4.0] * 4 + [0.0] * 4
    else:
        assert error_of(kernel, d)[0] == "never-written"


def test_tiles_that_the_hardware_hands_out() -> None:
    """Each block has its own one alone, as there may be no more tiles; one thread is the leader."""
    body = """
    %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
    tirx.tiles @tile %i, %j = hardware(%clc, read) {
      tirx.acquire %clc at(ask)
      tirx.async_next %clc engine(clc)
      tirx.release %clc at(ask) after(tma)
      %row = arith.muli %i, %c4 : index
      %at = arith.addi %row, %j : index
      %w = arith.index_cast %at : index to i32
      %f = arith.sitofp %w : i32 to f32
      %p = tirx.leader
      scf.if %p {
        memref.store %f, %d[%at] : memref<12xf32>
      }
    }
    """
    d = np.full(12, -1, np.float32)
    run_on(kernel_of(body, "%d: memref<12xf32>", 'target("sm_100a") grid(2, 3)'), d)
    assert d.reshape(3, 4).tolist() == [[4 * i, 4 * i + 1, -1, -1] for i in range(3)]
