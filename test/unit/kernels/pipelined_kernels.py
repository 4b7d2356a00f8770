"""Sequential tile programs that the compiler pipelines, for every family of products, and what numpy says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.kernels.ring_kernels import refuse
from unit.sim.assembled import assembled_well

import tirx
from tirx.runtime.program import Kernel

Array = npt.NDArray[Any]

MOST_STEPS = 14
"""Steps along K that the arguments have room for: twice six slots, one more, and one to begin behind."""

_NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "si8": np.int8,
    "i32": np.int32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
}

_SCALED = 32
"""Elements along K that share a scale factor of mxf8f6f4."""

_CODE = 4
"""Elements along K that a code of metadata of f16 stands for, of which two are stored."""

_PLACES = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])


@dataclass(frozen=True)
class Family:
    """
    Products of M x N x K tiles (`shape`): where the operands are read from, and where the sum is.

    `extra` is what a product has besides: "scaled", "sparse" or "zero columns". Tiles of a `pair` are those of both
    blocks.
    """

    target: str
    shape: tuple[int, int, int]
    operands: str = "register"
    accumulator: str = "register"
    element: str = "f16"
    sum: str = "f32"
    threads: int = 128
    instruction: str | None = None
    extra: str = ""
    pair: bool = False

    @property
    def engine(self) -> str:
        """Engine that fills its slots."""
        return "tma" if int(self.target[3:5]) >= 90 or self.target.startswith("sm_1") else "cp_async"

    @property
    def odd(self) -> bool:
        """True if the matrices may end inside of a tile; scale factors and metadata come in whole tiles."""
        return self.extra in ("", "zero columns")


def _tcgen05(element: str = "f16", k: int = 64, sum: str = "f32", extra: str = "", pair: bool = False) -> Family:
    m = 256 if pair else 64 if extra == "zero columns" else 128
    n = 128 if pair or extra == "scaled" else 64
    return Family("sm_100a", (m, n, k), "shared", "tensor", element, sum, extra=extra, pair=pair)


FAMILIES = {
    "m8n8k4 f16": Family("sm_80", (32, 32, 16), instruction="m8n8k4"),
    "m8n8k4 f64": Family("sm_80", (32, 32, 16), element="f64", sum="f64", instruction="m8n8k4"),
    "m8n8k4 f64, tma": Family("sm_90", (32, 32, 16), element="f64", sum="f64", instruction="m8n8k4"),
    "m16n8k4 tf32": Family("sm_80", (32, 32, 8), element="tf32", instruction="m16n8k4"),
    "m16n8k8 f16, tma": Family("sm_90", (64, 64, 16), instruction="m16n8k8"),
    "m16n8k8 tf32": Family("sm_80", (32, 32, 16), element="tf32", instruction="m16n8k8"),
    "m16n8k8 f64, tma": Family("sm_90", (32, 32, 16), element="f64", sum="f64"),
    "m16n8k16": Family("sm_80", (64, 64, 32)),
    "m16n8k16, tma": Family("sm_90", (64, 64, 32)),
    "m16n8k16 bf16": Family("sm_80", (64, 64, 32), element="bf16"),
    "m16n8k16 f64, tma": Family("sm_90", (32, 32, 16), element="f64", sum="f64", instruction="m16n8k16"),
    "m16n8k16 i8": Family("sm_80", (32, 32, 32), element="i8", sum="i32", instruction="m16n8k16"),
    "m16n8k32 i8, tma": Family("sm_90", (64, 64, 64), element="i8", sum="i32"),
    "m16n8k32 e4m3": Family("sm_89", (64, 64, 64), element="f8E4M3FN"),
    "m16n8k16, tma, sm_100a": Family("sm_100a", (64, 64, 32)),
    "wgmma": Family("sm_90a", (64, 64, 64), operands="shared"),
    "wgmma i8": Family("sm_90a", (64, 64, 128), operands="shared", element="si8", sum="i32"),
    "wgmma, two warpgroups": Family("sm_90a", (128, 64, 64), operands="shared", threads=256),
    "tcgen05": _tcgen05(),
    "tcgen05 i8": _tcgen05("si8", 128, "i32"),
    "tcgen05, scaled": _tcgen05("f8E4M3FN", 128, extra="scaled"),
    "tcgen05, sparse": _tcgen05(k=128, extra="sparse"),
    "tcgen05, zero columns": _tcgen05(extra="zero columns"),
    "tcgen05, pairs": _tcgen05(pair=True),
}


@dataclass(frozen=True)
class Pipelined:
    """
    D = A B^T of `family` in `grid` tiles (rows, columns), with `options` of the pipeline; K comes at run time.

    With `odd` all matrices end inside of their last tiles.
    """

    family: str
    options: str
    grid: tuple[int, int] = (1, 1)
    odd: bool = False

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, N and K of the matrices; rows are steps of 16 bytes where bulk copies may be used."""
        it = FAMILIES[self.family]
        m, n, k = it.shape
        if not self.odd:
            return m * self.grid[0], n * self.grid[1], k * MOST_STEPS
        size = np.dtype(_NUMPY[it.element]).itemsize
        return m * self.grid[0] - 3, n * self.grid[1] - 5, k * MOST_STEPS - 16 // size

    @property
    def text(self) -> str:
        """The tile program, which knows nothing of rings."""
        it = FAMILIES[self.family]
        m, n, k = it.shape
        rows, columns, depth = self.sizes
        stored = 2 if it.extra == "sparse" else 1
        instruction = "" if it.instruction is None else f' instruction("{it.instruction}")'
        from_registers = it.operands == "register"
        copies = "tirx.copy %sa, %ra : !sa, !ra\n    tirx.copy %sb, %rb : !sb, !rb" if from_registers else ""
        a, b = ("%ra", "%rb") if from_registers else ("%sa", "%sb")
        types = "!ra, !rb, !acc" if from_registers else "!sa, !sb, !acc"
        registers = "%ra = tirx.alloc : !ra\n  %rb = tirx.alloc : !rb" if from_registers else ""
        extra = _EXTRAS[it.extra](it, self)
        zero = "0" if it.sum == "i32" else "0.0"
        clipped = "clipped " if self.odd else ""
        cluster = "cluster(2)" if it.pair else ""
        grid = f"{-(-columns // n)}, {-(-rows // m)}"
        a_type, b_type = f"memref<{rows}x{depth // stored}x{it.element}>", f"memref<{columns}x{depth}x{it.element}>"
        return f"""
!sa = !tirx.tile<{m}x{k // stored}x{it.element}, shared>
!sb = !tirx.tile<{n}x{k}x{it.element}, shared>
!ra = !tirx.tile<{m}x{k}x{it.element}, register>
!rb = !tirx.tile<{n}x{k}x{it.element}, register>
!ga = !tirx.tile<{m}x{k // stored}x{it.element}, global>
!gb = !tirx.tile<{n}x{k}x{it.element}, global>
!acc = !tirx.tile<{m}x{n}x{it.sum}, {it.accumulator}>
!gd = !tirx.tile<{m}x{n}x{it.sum}, global>
{extra.types}
tirx.kernel @product(%a: {a_type}, %b: {b_type}, {extra.arguments}%d: memref<{rows}x{columns}x{it.sum}>,
    %low: index, %high: index) target("{it.target}") grid({grid}) {cluster} threads({it.threads}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {k} : index
  %cm = arith.constant {m} : index
  %cn = arith.constant {n} : index
  %zero = arith.constant {zero} : {it.sum}
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %cm : index
  %n = arith.muli %j, %cn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  {registers}
  {extra.tiles}
  %acc = tirx.alloc : !acc
  %c1 = arith.constant 1 : index
  %stored = arith.constant {k // stored} : index
  tirx.fill %acc, %zero : {it.sum}, !acc
  scf.for %s = %low to %high step %c1 {{
    %k = arith.muli %s, %step : index
    %ka = arith.muli %s, %stored : index
    %ga = tirx.view %a[%m, %ka] {clipped}: {a_type} -> !ga
    %gb = tirx.view %b[%n, %k] {clipped}: {b_type} -> !gb
    tirx.copy %ga, %sa : !ga, !sa
    tirx.copy %gb, %sb : !gb, !sb
    {copies}
    {extra.copies}
    tirx.mma {a}, {b}, %acc{extra.clause}{instruction} : {types}{extra.operands}
  }}
  %gd = tirx.view %d[%m, %n] {clipped}: memref<{rows}x{columns}x{it.sum}> -> !gd
  tirx.copy %acc, %gd : !acc, !gd
  tirx.return
}}
"""


@dataclass(frozen=True)
class _Extra:
    """The parts of the program that only some products have."""

    types: str = ""
    arguments: str = ""
    tiles: str = ""
    copies: str = ""
    clause: str = ""
    operands: str = ""


def _scaled(it: Family, kernel: Pipelined) -> _Extra:
    """Factors lie in blocks of 128 rows and 4 factors, as tcgen05.cp reads them."""
    m, _, k = it.shape
    factors = k // _SCALED
    blocks = [
        f"memref<{g}x4x32x{MOST_STEPS}x{factors}xf8E8M0FNU, strided<[{512 * MOST_STEPS}, 4, 16, 512, 1]>>"
        for g in kernel.grid
    ]
    types = tiles = copies = ""
    for name, at in (("p", "%i"), ("q", "%j")):
        type_ = blocks[name == "q"]
        types += f"!s{name} = !tirx.tile<{m}x{factors}xf8E8M0FNU, shared>\n"
        types += f"!t{name} = !tirx.tile<{m}x{factors}xf8E8M0FNU, tensor>\n"
        types += f"!b{name} = !tirx.tile<1x4x32x1x{factors}xf8E8M0FNU, shared>\n"
        types += f"!g{name} = !tirx.tile<1x4x32x1x{factors}xf8E8M0FNU, global>\n"
        tiles += f"%s{name} = tirx.alloc : !s{name}\n  %t{name} = tirx.alloc : !t{name}\n  "
        copies += f"""%g{name} = tirx.view %{name}[{at}, %c0, %c0, %s, %c0] : {type_} -> !g{name}
    %b{name} = tirx.reshape %s{name} : !s{name} -> !b{name}
    tirx.copy %g{name}, %b{name} : !g{name}, !b{name}
    tirx.copy %s{name}, %t{name} : !s{name}, !t{name}
    """
    return _Extra(types, f"%p: {blocks[0]}, %q: {blocks[1]}, ", tiles, copies, " scales(%tp, %tq)", ", !tp, !tq")


def _sparse(it: Family, kernel: Pipelined) -> _Extra:
    m, _, k = it.shape
    type_ = f"memref<{m * kernel.grid[0]}x{k * MOST_STEPS // _CODE}xi4>"
    return _Extra(
        f"!ge = !tirx.tile<{m}x{k // _CODE}xi4, global>\n!te = !tirx.tile<{m}x{k // _CODE}xi4, tensor>",
        f"%e: {type_}, ",
        "%te = tirx.alloc : !te",
        f"""%codes = arith.constant {k // _CODE} : index
    %ke = arith.muli %s, %codes : index
    %ge = tirx.view %e[%m, %ke] : {type_} -> !ge
    tirx.copy %ge, %te : !ge, !te""",
        " metadata(%te)",
        ", !te",
    )


_ZERO, _USE = 3, 4
"""Runs of columns that count as zero and that do not."""

_EXTRAS: Mapping[str, Callable[[Family, Pipelined], _Extra]] = {
    "": lambda it, kernel: _Extra(),
    "scaled": _scaled,
    "sparse": _sparse,
    "zero columns": lambda it, kernel: _Extra(clause=f" zero_columns(start = 0, zero = {_ZERO}, use = {_USE})"),
}


@lru_cache(maxsize=64)
def kernel_of(pipelined: Pipelined) -> Kernel:
    """The compiled kernel, whose PTX ptxas has assembled well."""
    program = tirx.build(pipelined.text, options=pipelined.options)
    assembled_well(program.ptx)
    return program.kernels["product"]


def check(pipelined: Pipelined, low: int, high: int, blocks: int = 1, seed: int = 0) -> None:
    """
    Runs a kernel over steps `low` to `high` of K and compares it with numpy, bit for bit.

    Persistent kernels have `blocks` blocks, so that each goes through several tiles. Raises AssertionError for another
    number and SimError for a hazard or a warning.
    """
    it = FAMILIES[pipelined.family]
    rng = np.random.default_rng(seed)
    element, sums = _NUMPY[it.element], _NUMPY[it.sum]
    m, n, depth = pipelined.sizes
    a, b = (rng.integers(-3, 4, shape).astype(element) for shape in ((m, depth), (n, depth)))
    d: Array = np.full((m, n), 7, sums)
    whole = [a.astype(np.float64), b.astype(np.float64)]
    arguments: list[Array] = [a, b]
    match it.extra:
        case "scaled":
            for matrix in whole:
                factors = 2.0 ** rng.integers(-1, 3, (len(matrix), depth // _SCALED))
                matrix *= np.repeat(factors, _SCALED, axis=1)
                arguments.append(_in_blocks(factors))
        case "sparse":
            places = _PLACES[rng.integers(0, len(_PLACES), (m, depth // _CODE))]
            stored = a[:, : depth // 2]
            whole[0] = np.zeros((m, depth // _CODE, _CODE))
            np.put_along_axis(whole[0], places, stored.reshape(m, -1, 2).astype(np.float64), axis=2)
            whole[0] = whole[0].reshape(m, depth)
            codes = (places[..., 0] | places[..., 1] << 2).astype(np.uint8)
            arguments = [np.ascontiguousarray(stored), b, codes[:, ::2] | codes[:, 1::2] << 4]
        case "zero columns":
            # The runs begin anew in every tile.
            whole[1][np.arange(n) % it.shape[1] % (_ZERO + _USE) < _ZERO] = 0
        case _:
            pass
    steps = slice(it.shape[2] * low, it.shape[2] * max(low, high))
    kernel_of(pipelined).simulate(*arguments, d, low, high, sm_count=blocks, check="strict", seed=seed, report=refuse)
    np.testing.assert_array_equal(d.astype(np.float64), whole[0][:, steps] @ whole[1][:, steps].T)


def _in_blocks(factors: Array) -> Array:
    """Factors (rows, K) in the blocks that the kernel takes: 4 x 32 rows of 4 factors, each row in 16 bytes."""
    rows, columns = factors.shape
    groups = -(-rows // 128)
    padded = np.ones((groups * 128, columns))
    padded[:rows] = factors
    blocks = padded.reshape(groups, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)
    stored = np.ascontiguousarray(blocks).astype(ml_dtypes.float8_e8m0fnu)
    return stored.transpose(0, 3, 2, 1, 4)
