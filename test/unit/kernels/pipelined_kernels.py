"""Sequential tile programs that the compiler pipelines, for several families of products, and what numpy says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from unit.sim.assembled import assembled

import tirx
from tirx.runtime.program import Kernel

Array = npt.NDArray[Any]

MOST_STEPS = 16
"""Steps along K that the arguments have room for."""

_NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Family:
    """Products of M x N x K tiles (`shape`): where the operands are read from, and where the sum is."""

    target: str
    shape: tuple[int, int, int]
    operands: str = "register"
    accumulator: str = "register"
    element: str = "f16"
    sum: str = "f32"
    threads: int = 128
    instruction: str | None = None


FAMILIES = {
    "m8n8k4 f64, cp.async": Family("sm_80", (32, 32, 16), element="f64", sum="f64", instruction="m8n8k4"),
    "m8n8k4 f64, tma": Family("sm_90", (32, 32, 16), element="f64", sum="f64", instruction="m8n8k4"),
    "m16n8k8 f64, tma": Family("sm_90", (32, 32, 16), element="f64", sum="f64"),
    "m16n8k16, cp.async": Family("sm_80", (64, 64, 32)),
    "m16n8k16, tma": Family("sm_90", (64, 64, 32)),
    "wgmma": Family("sm_90a", (64, 64, 64), operands="shared"),
    "wgmma, two warpgroups": Family("sm_90a", (128, 64, 64), operands="shared", threads=256),
    "tcgen05": Family("sm_100a", (128, 64, 64), operands="shared", accumulator="tensor"),
}


@dataclass(frozen=True)
class Pipelined:
    """D = A B^T of `family` in `grid` tiles (rows, columns), with `options` of the pipeline; K comes at run time."""

    family: str
    options: str
    grid: tuple[int, int] = (1, 1)

    @property
    def text(self) -> str:
        """The tile program, which knows nothing of rings."""
        it = FAMILIES[self.family]
        m, n, k = it.shape
        rows, columns = self.grid
        instruction = "" if it.instruction is None else f' instruction("{it.instruction}")'
        copies = (
            "tirx.copy %sa, %ra : !sa, !ra\n      tirx.copy %sb, %rb : !sb, !rb" if it.operands == "register" else ""
        )
        a, b = ("%ra", "%rb") if it.operands == "register" else ("%sa", "%sb")
        types = ("!ra", "!rb") if it.operands == "register" else ("!sa", "!sb")
        return f"""
!sa = !tirx.tile<{m}x{k}x{it.element}, shared>
!sb = !tirx.tile<{n}x{k}x{it.element}, shared>
!ra = !tirx.tile<{m}x{k}x{it.element}, register>
!rb = !tirx.tile<{n}x{k}x{it.element}, register>
!ga = !tirx.tile<{m}x{k}x{it.element}, global>
!gb = !tirx.tile<{n}x{k}x{it.element}, global>
!acc = !tirx.tile<{m}x{n}x{it.sum}, {it.accumulator}>
!gd = !tirx.tile<{m}x{n}x{it.sum}, global>
tirx.kernel @product(%a: memref<{m * rows}x{k * MOST_STEPS}x{it.element}>,
    %b: memref<{n * columns}x{k * MOST_STEPS}x{it.element}>, %d: memref<{m * rows}x{n * columns}x{it.sum}>,
    %low: index, %high: index) target("{it.target}") grid({columns}, {rows}) threads({it.threads}) {{
  %step = arith.constant {k} : index
  %cm = arith.constant {m} : index
  %cn = arith.constant {n} : index
  %zero = arith.constant 0.0 : {it.sum}
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %cm : index
  %n = arith.muli %j, %cn : index
  %first = arith.muli %low, %step : index
  %last = arith.muli %high, %step : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %ra = tirx.alloc : !ra
  %rb = tirx.alloc : !rb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : {it.sum}, !acc
  scf.for %k = %first to %last step %step {{
    %ga = tirx.view %a[%m, %k] : memref<{m * rows}x{k * MOST_STEPS}x{it.element}> -> !ga
    %gb = tirx.view %b[%n, %k] : memref<{n * columns}x{k * MOST_STEPS}x{it.element}> -> !gb
    tirx.copy %ga, %sa : !ga, !sa
    tirx.copy %gb, %sb : !gb, !sb
    {copies}
    tirx.mma {a}, {b}, %acc{instruction} : {types[0]}, {types[1]}, !acc
  }}
  %gd = tirx.view %d[%m, %n] : memref<{m * rows}x{n * columns}x{it.sum}> -> !gd
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}}
"""


@lru_cache(maxsize=64)
def kernel_of(pipelined: Pipelined) -> Kernel:
    """The compiled kernel, whose PTX ptxas has assembled."""
    program = tirx.build(pipelined.text, options=pipelined.options)
    assembled(program.ptx)
    return program.kernels["product"]


def check(pipelined: Pipelined, low: int, high: int, blocks: int = 1, seed: int = 0) -> None:
    """
    Runs a kernel over steps `low` to `high` of K and compares it with numpy, bit for bit.

    Persistent kernels have `blocks` blocks, so that each goes through several tiles. Raises AssertionError for another
    number and SimError for a hazard.
    """
    family = FAMILIES[pipelined.family]
    m, n, k = family.shape
    rows, columns = pipelined.grid
    rng = np.random.default_rng(seed)
    element, sums = _NUMPY[family.element], _NUMPY[family.sum]
    a = rng.integers(-3, 4, (m * rows, k * MOST_STEPS)).astype(element)
    b = rng.integers(-3, 4, (n * columns, k * MOST_STEPS)).astype(element)
    d: Array = np.full((m * rows, n * columns), 7, sums)
    steps = slice(k * low, k * max(low, high))
    kernel_of(pipelined).simulate(a, b, d, low, high, sm_count=blocks, check="strict", seed=seed)
    np.testing.assert_array_equal(d, a[:, steps].astype(np.float64) @ b[:, steps].astype(np.float64).T)
