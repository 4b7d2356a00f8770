"""Random programs with numbers that are not defined: a run without an error has the same results whatever these are."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.interp import RunError, memory, numbers, run_kernel, tiles
from tirx.interp.numbers import Near

_HEAD = """!t = !tirx.tile<16xi32, register>
!g = !tirx.tile<16xi32, global>
!s = !tirx.tile<16xi32, shared>
!m = memref<16xi32>
tirx.kernel @k(%a: !m, %b: !m, %d: !m, %n: i32) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %gd = tirx.view %d[0] : !m -> !g
  %t0 = tirx.load %a[0] : !m -> !t
  %t1 = tirx.load %b[0] : !m -> !t
"""
_STEPS = (
    "  %tX = tirx.map ins(T, T : !t, !t) (%p, %q) { OP(%p, %q) } -> !t\n",
    "  %tX = tirx.map ins(T, T : !t, !t) (%p, %q) { select(%p > 1, %p, %q) } -> !t\n",
    "  %tX = tirx.scan T dim(0) add : !t -> !t\n",
    "  %tX = tirx.splat S : i32 -> !t\n",
    "  %rX = tirx.reduce T dim(0) max : !t -> !tirx.tile<1xi32, register>\n"
    "  %sX = tirx.element %rX : !tirx.tile<1xi32, register> -> i32\n",
    "  %sX = arith.OP S, S : i32\n",
    "  %cX = arith.cmpi sgt, S, S : i32\n  %sX = arith.select %cX, S, S : i32\n",
    "  %cX = arith.cmpi sgt, S, S : i32\n  %sX = scf.if %cX -> (i32) {\n    scf.yield S : i32\n  } else {\n"
    "    scf.yield S : i32\n  }\n",
    "  %sX = scf.for %i = %c0 to %c1 step %c1 iter_args(%q = S) -> (i32) {\n    %r = arith.OP %q, S : i32\n"
    "    scf.yield %r : i32\n  }\n",
    "  %vX = tirx.view %a[[T]] clipped : !m, !t -> !g\n  %tX = tirx.load %vX : !g -> !t\n",
    *(
        f"  %mX = tirx.alloc : !s\n{first}{use}  %tX = tirx.load %mX : !s -> !t\n"
        for first, use in (
            ("", "  tirx.fill %mX, S : i32, !s\n"),
            ("  tirx.store T, %mX : !t, !s\n", "  tirx.copy T, %mX reduce(add) : !t, !s\n"),
            ("", "  %oX = tirx.atomic add T, %mX : !t, !s -> !t\n"),
            ("  tirx.store T, %mX : !t, !s\n", "  %oX = tirx.atomic cas(T) T, %mX : !t, !s -> !t\n"),
            ("  tirx.store T, %mX : !t, !s\n", "  %oX = tirx.atomic exch T, %mX : !t, !s -> !t\n"),
        )
    ),
)
"""Steps of a program, with T for a tile, S for a number, OP for an operation and X for the number of the step."""
_ENDS = (
    "  tirx.store T, %gd : !t, !g\n",
    "  memref.store S, %d[%c0] : !m\n",
    "  %o = tirx.atomic cas(T) T, %gd : !t, !g -> !t\n",
)
_OPERATIONS = ("divsi", "remsi", "shli", "addi", "muli")


def _text(random: Random) -> str:
    known, body = {"T": ["%t0", "%t1"], "S": ["%n"]}, ""

    def filled(step: str) -> str:
        for word, names in (*known.items(), ("OP", _OPERATIONS)):
            for _ in range(step.count(word)):
                step = step.replace(word, random.choice(names[-4:]), 1)
        return step

    for i in range(2, random.randint(5, 9)):
        step = random.choice(_STEPS).replace("X", str(i))
        body += filled(step)
        known["T" if f"%t{i} " in step else "S"].append(f"%{'t' if f'%t{i} ' in step else 's'}{i}")
    return f"{_HEAD}{body}{filled(random.choice(_ENDS))}  tirx.return\n}}"


def _filling(patch: pytest.MonkeyPatch, garbage: int) -> None:
    """Lets numbers that are not defined, and tiles that nobody has written, be `garbage`."""

    def evaluate(*given: Any, **named: Any) -> tuple[Any, bool]:
        value, exact = numbers.evaluate(*given, **named)
        if isinstance(value, Near) and value.known is not None:
            value = value._replace(value=np.where(value.known, value.value, np.asarray(garbage, value.value.dtype)))
        return value, exact

    new: Callable[..., memory.Tile] = memory.Tile.new

    def made(*given: Any, known: bool = False, **named: Any) -> memory.Tile:
        tile = new(*given, known=known, **named)
        tile.numbers.data[...] = 0 if known else garbage
        return tile

    patch.setattr(tiles, "evaluate", evaluate)
    patch.setattr(memory.Tile, "new", staticmethod(made))


@pytest.mark.sample(40)
@pytest.mark.parametrize("seed", range(400))
def test_results_do_not_depend_on_what_is_not_defined(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel,) = kernels(embed.parse(_text(Random(seed)), "k.mlir"))
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(low, 4, 16).astype(np.int32) for low in (-1, seed % 2))
    found: list[object] = []
    for garbage in (0, -3):
        with monkeypatch.context() as patch:
            _filling(patch, garbage)
            try:
                run_kernel(kernel, [a, b, d := np.full(16, -7, np.int32), np.int32(seed % 3)], bounds=True)
                found.append(d.tolist())
            except RunError as error:
                found.append(str(error))
    assert found[0] == found[1]
