"""Random products by mma.sync of tiles staged in shared memory, and what numpy says about them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.sim.assembled import assembled

import tirx
from tirx.diagnostics import diagnostic_handler
from tirx.sim import Profile

Array = npt.NDArray[Any]

_NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}

_TYPES = (
    # Elements, sums, targets, the least K of an instruction that all of them have.
    ("f16", "f32", ("sm_70", "sm_75", "sm_80", "sm_90a"), 8),
    ("f16", "f16", ("sm_75", "sm_86"), 8),
    ("bf16", "f32", ("sm_80", "sm_90"), 8),
    ("tf32", "f32", ("sm_80", "sm_90"), 4),
    ("f64", "f64", ("sm_80", "sm_90", "sm_90a"), 4),
    ("i8", "i32", ("sm_80", "sm_89"), 16),
    ("f8E4M3FN", "f32", ("sm_89", "sm_120a"), 32),
)


@dataclass(frozen=True)
class Staged:
    """
    D = A B^T of one M x N tile, `k` elements of K in shared memory at a time, `trips` times.

    `majors` are those of A and B in global memory, `pad` elements between their rows (or columns). `options` are those
    of the pipeline. `from_shared`: the product reads shared tiles; otherwise it reads copies of them in registers.
    """

    element: str
    sum: str
    target: str
    m: int
    n: int
    k: int
    trips: int
    threads: int
    majors: tuple[str, str]
    pad: int
    options: str
    from_shared: bool

    def _memory(self, rows: int, major: str) -> str:
        columns = self.k * self.trips
        strides = f"{columns + self.pad}, 1" if major == "K" else f"1, {rows + self.pad}"
        return f"memref<{rows}x{columns}x{self.element}, strided<[{strides}]>>"

    @property
    def text(self) -> str:
        """The tile program."""
        zero = "0 : i32" if self.sum == "i32" else f"0.0 : {self.sum}"
        a, b = self._memory(self.m, self.majors[0]), self._memory(self.n, self.majors[1])
        copies, names, types = "", ("%sa", "%sb"), ("!sa", "!sb")
        if not self.from_shared:
            copies = "tirx.copy %sa, %ra : !sa, !ra\n    tirx.copy %sb, %rb : !sb, !rb"
            names, types = ("%ra", "%rb"), ("!ra", "!rb")
        tiles = "".join(
            f"!{memory[0]}{name} = !tirx.tile<{rows}x{self.k}x{self.element}, {memory}>\n"
            for memory in ("shared", "register", "global")
            for name, rows in (("a", self.m), ("b", self.n))
        )
        # Hopper would take wgmma for what lies in shared memory.
        clause = f' instruction("{self.instruction}")' if self.instruction else ""
        return f"""{tiles}!acc = !tirx.tile<{self.m}x{self.n}x{self.sum}, register>
!gd = !tirx.tile<{self.m}x{self.n}x{self.sum}, global>
tirx.kernel @product(%a: {a}, %b: {b}, %d: memref<{self.m}x{self.n}x{self.sum}>)
    target("{self.target}") grid(1) threads({self.threads}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {self.k} : index
  %end = arith.constant {self.k * self.trips} : index
  %zero = arith.constant {zero}
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %ra = tirx.alloc : !ra
  %rb = tirx.alloc : !rb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : {self.sum}, !acc
  scf.for %k = %c0 to %end step %step {{
    %ga = tirx.view %a[%c0, %k] : {a} -> !ga
    %gb = tirx.view %b[%c0, %k] : {b} -> !gb
    tirx.copy %ga, %sa : !ga, !sa
    tirx.copy %gb, %sb : !gb, !sb
    {copies}
    tirx.mma {names[0]}, {names[1]}, %acc{clause} : {types[0]}, {types[1]}, !acc
  }}
  %gd = tirx.view %d[%c0, %c0] : memref<{self.m}x{self.n}x{self.sum}> -> !gd
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}}
"""

    @property
    def instruction(self) -> str | None:
        """The instruction to ask for, None where there is only mma.sync."""
        return "m16n8k16" if self.from_shared and self.target == "sm_90a" and self.element == "f16" else None

    def check(self, seed: int) -> Profile:
        """Compiles and assembles the kernel, and compares a strict run with numpy; returns what the run did."""
        with diagnostic_handler(lambda _: None):
            program = tirx.build(self.text, options=self.options)
        assembled(program.ptx)
        rng = np.random.default_rng(seed)
        shapes = (self.m, self.k * self.trips), (self.n, self.k * self.trips)
        a, b = (rng.integers(-3, 4, shape).astype(_NUMPY[self.element]) for shape in shapes)
        d: Array = np.full((self.m, self.n), 7, _NUMPY[self.sum])
        profile = Profile()
        stored = [self._stored(x, major) for x, major in zip((a, b), self.majors, strict=True)]
        program.kernels["product"].simulate(*stored, d, check="strict", seed=seed, observer=profile)
        np.testing.assert_array_equal(d, a.astype(np.float64) @ b.astype(np.float64).T)
        return profile

    def _stored(self, x: Array, major: str) -> Array:
        """The array with its strides: rows, or columns, with a gap behind each."""
        y = x if major == "K" else x.T
        whole = np.zeros((y.shape[0], y.shape[1] + self.pad), x.dtype)
        whole[:, : y.shape[1]] = y
        part = whole[:, : y.shape[1]]
        return part if major == "K" else part.T


def random_kernel(seed: int) -> Staged:
    """One of the kernels, the same for the same seed."""
    rng = random.Random(seed)
    element, total, targets, least = rng.choice(_TYPES)
    target = rng.choice(targets)
    k = least * rng.choice((1, 2, 4, 8))
    if target == "sm_90a" and element == "f16":
        k = max(k, 16)
    options = rng.choice(("", "", "pipeline=on stages=2", "pipeline=on stages=3", "pipeline=on roles=load stages=2"))
    return Staged(
        element,
        total,
        target,
        rng.choice((16, 32, 64, 48, 128)),
        rng.choice((8, 16, 32, 64, 24)) if target != "sm_70" else rng.choice((16, 32, 64)),
        k,
        rng.choice((1, 2, 3, 5)),
        rng.choice((32, 64, 128, 256)),
        (rng.choice("KM"), rng.choice("KM")),
        rng.choice((0, 0, 0, 8, 16)),
        options,
        rng.random() < 0.5,
    )
