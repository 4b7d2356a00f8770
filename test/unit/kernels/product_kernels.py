"""Kernels of one product of any kind, and what numpy says about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tirx
from tirx.hw.dtypes import find_dtype
from tirx.ptx.ptxas import assemble
from tirx.sim import run

Array = npt.NDArray[Any]

NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
    "si8": np.int8,
    "ui8": np.uint8,
    "f32": np.float32,
    "i32": np.int32,
}

SCALE_BLOCK = 128
"""Rows of scale factors come in steps of so many."""

PAIRS_OF_FOUR = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
CODES_OF_ONE_IN_TWO = np.array([0b0100, 0b1110])


@dataclass(frozen=True)
class Kernel:
    """
    D = A * B^T of m x n x k elements, K in one tile: of both blocks where it is one of a `pair`.

    `scale`: type of the scale factors and the elements along K that share one. `sparse`: how many elements a code of
    metadata stands for, 0 for a dense A. `a_major` and `b_major` are those of global memory. `memory`: of the
    accumulator and of the metadata; in registers it starts with zeros.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    d: str = "f32"
    scale: tuple[str, int] | None = None
    sparse: int = 0
    a_memory: str = "shared"
    a_major: str = "K"
    b_major: str = "K"
    pair: bool = False
    instruction: str | None = None
    target: str = "sm_100a"
    memory: str = "tensor"
    threads: int = 128

    @property
    def tiles(self) -> dict[str, tuple[int, int, str, str]]:
        """Name -> rows, columns, type, memory; the accumulator is `d`."""
        tiles = {
            "a": (self.m, self.k // 2 if self.sparse else self.k, self.a, self.a_memory),
            "b": (self.n, self.k, self.b, "shared"),
        }
        if self.scale is not None:
            dtype, block = self.scale
            tiles["p"] = (self.m, self.k // block, dtype, "tensor")
            # With M = 128 of a pair each half of N has lanes of its own, and nothing is rounded.
            whole = self.n if self.pair and self.m == 128 else -(-self.n // SCALE_BLOCK) * SCALE_BLOCK
            tiles["q"] = (whole, self.k // block, dtype, "tensor")
        if self.sparse:
            tiles["e"] = (self.m, self.k // self.sparse, "i4", self.memory)
        return {**tiles, "d": (self.m, self.n, self.d, self.memory)}

    def text(self) -> str:
        majors = {"a": self.a_major, "b": self.b_major}
        shapes = {name: f"{rows}x{columns}x{dtype}" for name, (rows, columns, dtype, _) in self.tiles.items()}
        memrefs = {
            name: f"memref<{shape}{f', strided<[1, {self.tiles[name][0]}]>' if majors.get(name) == 'MN' else ''}>"
            for name, shape in shapes.items()
        }
        types = {name: f"!tirx.tile<{shapes[name]}, {memory}>" for name, (_, _, _, memory) in self.tiles.items()}
        lines = [
            f"%g{x} = tirx.view %{x}[%c0, %c0] : {memrefs[x]} -> !tirx.tile<{shape}, global>\n"
            f"%t{x} = tirx.alloc : {types[x]}"
            for x, shape in shapes.items()
        ]
        for x, shape in shapes.items():
            if x in ("p", "q"):
                lines.append(
                    f"%s{x} = tirx.alloc : !tirx.tile<{shape}, shared>\n"
                    f"tirx.copy %g{x}, %s{x} : !tirx.tile<{shape}, global>, !tirx.tile<{shape}, shared>\n"
                    f"tirx.copy %s{x}, %t{x} : !tirx.tile<{shape}, shared>, {types[x]}"
                )
            elif x != "d":
                lines.append(f"tirx.copy %g{x}, %t{x} : !tirx.tile<{shape}, global>, {types[x]}")
        clauses = ("scales(%tp, %tq) " if self.scale else "") + ("metadata(%te) " if self.sparse else "")
        first = "accumulate(%never) "
        if self.memory == "register":
            lines.append(f"%zero = arith.constant {0 if self.d == 'i32' else 0.0} : {self.d}")
            lines.append(f"tirx.fill %td, %zero : {self.d}, {types['d']}")
            first = ""
        instruction = "" if self.instruction is None else f'instruction("{self.instruction}") '
        body = "\n  ".join(lines)
        arguments = ", ".join(f"%{x}: {memref}" for x, memref in memrefs.items())
        order = ["a", "b", "d", *(x for x in "pqe" if x in types)]
        return f"""
tirx.kernel @product({arguments}) target("{self.target}") grid(1)
    {"cluster(2) " if self.pair else ""}threads({self.threads}) {{
  %c0 = arith.constant 0 : index
  %never = arith.constant false
  {body}
  tirx.mma %ta, %tb, %td {clauses}{first}{instruction}: {", ".join(types[x] for x in order)}
  tirx.copy %td, %gd : {types["d"]}, !tirx.tile<{shapes["d"]}, global>
  tirx.return
}}"""

    def compile(self) -> str:
        """The PTX, which ptxas takes without a word."""
        ptx = tirx.compile(self.text())
        result = assemble(ptx, self.target)
        assert result.ok and not result.stderr, result.stderr
        return ptx

    def check(self, ptx: str, seed: int | None = None) -> None:
        """Runs the kernel on small integers, whose sums are exact, and compares with numpy, bit for bit."""
        rng = np.random.default_rng(self.m + self.n + self.k)
        stored = _numbers(rng, (self.m, self.tiles["a"][1]), self.a)
        b = _numbers(rng, (self.n, self.k), self.b)
        a, codes = _spread(rng, stored, self.k, self.sparse) if self.sparse else (stored, None)
        factors: list[Array] = []
        scaled = [a.astype(np.float64), b.astype(np.float64)]
        if self.scale is not None:
            dtype, block = self.scale
            for i, name in enumerate("pq"):
                factors.append(2.0 ** rng.integers(-1, 3, self.tiles[name][:2]))
                scaled[i] *= np.repeat(factors[i][: len(scaled[i])], block, axis=1)
            factors = [factor.astype(NUMPY[dtype]) for factor in factors]
        expected = scaled[0] @ scaled[1].T
        d = np.full((self.m, self.n), 7, NUMPY[self.d])
        assert np.array_equal(expected, expected.astype(d.dtype))
        operands = [_in_memory(stored, self.a, self.a_major), _in_memory(b, self.b, self.b_major)]
        metadata = [] if codes is None else [_packed(codes, 4)]
        blocks = 2 if self.pair else 1
        run(
            ptx, "product", blocks, self.threads, [*operands, *factors, *metadata, d], cluster=(blocks, 1, 1), seed=seed
        )
        assert np.array_equal(d.astype(np.float64), expected)


def products(ptx: str) -> list[str]:
    """The mnemonics of the products."""
    return re.findall(r"((?:tcgen05\.mma|wgmma\.mma_async)\.\S+) ", ptx)


def descriptors(ptx: str) -> list[int]:
    """The instruction descriptors of the products, in order."""
    return [int(re.findall(r"(0x\w+)", line)[0], 16) for line in ptx.splitlines() if "tcgen05.mma." in line]


def _numbers(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> Array:
    low = 0 if dtype == "ui8" else -3
    return rng.integers(low, 4, shape).astype(NUMPY[dtype])


def _spread(rng: np.random.Generator, stored: Array, k: int, elements: int) -> tuple[Array, Array]:
    """A with its zeros, and the codes: of 2, 4 or 8 neighbours one, two or two pairs are stored."""
    rows, groups = len(stored), k // elements
    if elements == 2:
        places = rng.integers(0, 2, (rows, groups, 1))
        codes = CODES_OF_ONE_IN_TWO[places[:, :, 0]]
    else:
        places = PAIRS_OF_FOUR[rng.integers(0, len(PAIRS_OF_FOUR), (rows, groups))]
        codes = places[:, :, 0] | places[:, :, 1] << 2
    width = 2 if elements == 8 else 1
    a = np.zeros((rows, groups, elements // width, width), stored.dtype)
    values = stored.reshape(rows, groups, -1, width)
    np.put_along_axis(a, np.broadcast_to(places[..., None], values.shape), values, axis=2)
    return a.reshape(rows, k), codes.astype(np.uint8)


def _in_memory(values: Array, dtype: str, major: str) -> Array:
    values = np.ascontiguousarray(values.T if major == "MN" else values)
    bits = find_dtype(dtype).bits
    return _packed(values.view(np.uint8), bits) if bits < 8 else values


def _packed(codes: Array, bits: int) -> Array:
    """Elements of a few bits behind each other, the first in the lowest bits."""
    each = codes.reshape(len(codes), -1, 1) >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(len(codes), -1), axis=1, bitorder="little")
