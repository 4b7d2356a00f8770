"""Roles that take turns over the slots of a ring, and parts of loops that run ahead, as the interpreter runs them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from unit.cases import together
from unit.interp.test_run import error_of

from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel

_TILE = "!tirx.tile<4xf32, global>"
_REGISTERS = "!tirx.tile<4xf32, register>"
_SLOT = "!tirx.tile<4xf32, shared>"
_RING = f"""
%one = arith.constant 1.0 : f32
%r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<{_SLOT}>
"""
_FILL = """
tirx.for @j %j = 0 to 5 {
  %s = tirx.acquire %r at(fill)
  tirx.fill %s, %one : f32, !tirx.tile<4xf32, shared>
  tirx.release %r at(fill)
}
"""
_USE = f"""
tirx.for @j %k = 0 to 5 {{
  %u = tirx.acquire %r at(use)
  %x = tirx.load %u : !tirx.tile<4xf32, shared> -> {_REGISTERS}
  %gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
  tirx.store %x, %gd reduce(add) : {_REGISTERS}, {_TILE}
  tirx.release %r at(use)
}}
"""


def _roles(*bodies: str) -> str:
    roles = "\n".join(f"tirx.role @r{i} warps(1) {{\n{body}\n}}" for i, body in enumerate(bodies))
    return f"tirx.roles {{\n{roles}\n}}"


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", [None, *range(4)])
@pytest.mark.parametrize("bodies", [(_FILL, _USE), (_USE, _FILL)])
def test_roles_take_turns(bodies: Sequence[str], seed: int | None) -> None:
    """Whichever begins: a slot that is used is filled, and a slot that is filled has been used."""
    text = _RING + _roles(*bodies)
    (kernel,) = kernels(embed.parse(_wrapped(text, 64), "k.mlir"))
    d = np.zeros(8, np.float32)
    assert run_kernel(kernel, [d], seed=seed).exact
    assert d.tolist() == [5.0] * 4 + [0.0] * 4


def _wrapped(text: str, threads: int) -> str:
    head = f"tirx.kernel @k(%d: memref<8xf32>) grid(1) threads({threads}) {{\n  %c0 = arith.constant 0 : index\n"
    return f"{head}{text}\n  tirx.return\n}}"


@pytest.mark.parametrize("order", [("use", "fill"), ("fill", "fill")])
def test_nobody_does_what_is_waited_for(order: tuple[str, str]) -> None:
    """In one role the slot is used before it is filled; in two the first one never gets back what it has passed on."""
    if order[0] == "use":
        text = _wrapped(_RING + _USE + _FILL, 32)
    else:
        text = _wrapped(_RING + _roles(_FILL, _USE.replace("0 to 5", "0 to 2")), 64)
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    kind, message = error_of(kernel, np.zeros(8, np.float32))
    assert kind == "wait"
    assert message.endswith("expected somebody to do what 'tirx.acquire' waits for, found nobody")


def test_several_wait_for_each_other() -> None:
    """One wants a slot back, the other a flag that nobody sets."""
    waits = "%n = arith.constant 1 : i32\n%f = tirx.wait_until %flags[%c0] sge, %n : memref<1xi32>"
    text = _wrapped(_RING + _roles(_FILL.replace("0 to 5", "0 to 3"), waits), 64).replace(
        "8xf32>)", "8xf32>, %flags: memref<1xi32>)", 1
    )
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    assert error_of(kernel, np.zeros(8, np.float32), np.zeros(1, np.int32))[1].endswith(
        "expected somebody to do what 'tirx.acquire' and 'tirx.wait_until' waits for, found nobody"
    )


def test_a_slot_is_unknown_again() -> None:
    """A fill that leaves a slot as it is does not pass on what the use before had in it."""
    fill = f"""
        %two = arith.constant 2 : index
        tirx.for @j %j = 0 to 5 {{
          %s = tirx.acquire %r at(fill)
          %first = arith.cmpi ult, %j, %two : index
          scf.if %first {{
            tirx.fill %s, %one : f32, {_SLOT}
          }}
          tirx.release %r at(fill)
        }}"""
    text = _wrapped(_RING + _roles(fill, _USE), 64)
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    assert error_of(kernel, np.zeros(8, np.float32))[0] == "never-written"


@together("trips", [0, 1, 2, 5])
def test_parts_of_a_loop_run_ahead(trips: int) -> None:
    """Iterations of one part are two rounds ahead of the other's; what one carries on is the next one's."""
    text = _wrapped(
        f"""
        %c1 = arith.constant 1 : index
        %sum = tirx.for @j %j = 0 to {trips} skew(2) iter(%acc = %c0) {{
          %v = tirx.at(0) {{ %t = arith.muli %j, %j : index  tirx.yield %t }}
          %next = tirx.at(2) {{ %n = arith.addi %acc, %v : index  tirx.yield %n }}
          tirx.yield %next
        }}
        %w = arith.index_cast %sum : index to i32
        %f = arith.sitofp %w : i32 to f32
        %gd = tirx.view %d[%c0] : memref<8xf32> -> {_TILE}
        tirx.fill %gd, %f : f32, {_TILE}
        """.replace("  tirx.yield %t", "\n tirx.yield %t").replace("  tirx.yield %n", "\n tirx.yield %n"),
        32,
    )
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    d = np.zeros(8, np.float32)
    run_kernel(kernel, [d])
    assert d[0] == sum(j * j for j in range(trips))
