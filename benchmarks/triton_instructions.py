"""
Instructions of a thread for each element of inner loops, here and in Triton:

    python benchmarks/triton_instructions.py

The simulator runs the PTX of both, for sm_90a, on the same numbers, and counts. The kernels are those of
`examples/gallery` and of `triton_gallery.py`, with tiles of the same size; Triton takes four warps, and knows, as when
it compiles for a launch, that addresses and sizes are multiples of 16. Counted is what two lengths of the loop differ
by; of a kernel without a loop, a block. Results must be those of numpy. Triton has to be installed, but needs no GPU.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import triton
import triton_gallery
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_notes import SIGNATURES

import tirx
from tirx.sim import Profile, run

WARP, WARPS = 32, 4
GALLERY = Path(__file__).parents[1] / "examples" / "gallery"
Array = npt.NDArray[Any]
Made = tuple[list[Array], Array, list[int]]
"""Arguments, of which the last one is written, what it must be then, and numbers that follow in Triton."""


@dataclass(frozen=True)
class Loop:
    """A loop: what makes arguments of two lengths, and elements of what is between them, or of the only one."""

    make: Callable[[int], Made]
    lengths: Sequence[int]
    elements: int
    of: str
    grid: tuple[int, int] = (1, 1)
    """Blocks in x and y that Triton needs."""
    file: str = ""
    parameters: str = ""
    """Parameters of the kernel here, instead of the candidates in its text."""
    packed: Callable[[list[Array]], list[Array]] = list
    """Returns the arguments as the kernel here takes them, from those of Triton."""
    constants: dict[str, int] = field(default_factory=dict[str, int])
    """Constants of Triton that are others than in `triton_gallery.py`."""


def _integers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def _w4a16(k: int) -> Made:
    m = n = 64
    x, scales = _integers(m, k, dtype=np.float16), _integers(n, k // 32, seed=1, dtype=np.float16)
    packed = np.random.default_rng(2).integers(0, 256, (n, k // 2)).astype(np.uint8)
    weights = (np.stack((packed & 15, packed >> 4), -1).reshape(n, k) ^ 8).astype(np.float64) - 8
    wanted = x.astype(np.float64) @ (weights * scales.astype(np.float64).repeat(32, 1)).T
    return [x, packed, scales, np.zeros((m, n), np.float32)], wanted, [m, n, k]


def _in_order_of_threads(arguments: list[Array]) -> list[Array]:
    """Returns arguments whose weights have the order of `w4a16.mlir`, of which Triton would need more instructions."""
    x, packed, *others = arguments
    nibbles = np.stack((packed & 15, packed >> 4), -1).reshape(len(packed), -1, 4, 4, 4, 2)
    pairs = nibbles.transpose(0, 1, 4, 2, 5, 3).reshape(*packed.shape, 2)
    return [x, pairs[..., 0] | pairs[..., 1] << 4, *others]


def _cumulative_sum(columns: int) -> Made:
    x = _integers(4, columns)
    return [x, np.zeros_like(x)], x.cumsum(1), [4, columns, columns]


def _embedding_backward(rows: int) -> Made:
    dy, ids = _integers(rows, 64), np.random.default_rng(1).integers(0, 48, rows).astype(np.int32)
    wanted = (ids == np.arange(48)[:, None]) @ dy
    return [dy, ids, np.zeros((48, 64), np.float32)], wanted, [rows, 64, 48]


LOOPS = {
    "w4a16": Loop(
        _w4a16,
        (1024, 2048),
        64 * 1024,
        "weights",
        parameters="BM in [64], BN in [64], BK in [256]",
        packed=_in_order_of_threads,
        constants={"BK": 256},
    ),
    "cumulative_sum": Loop(_cumulative_sum, (2048, 4096), 4 * 2048, "numbers"),
    "embedding_backward": Loop(_embedding_backward, (32,), 32 * 64, "numbers", file="embedding"),
}


def _require_equal(who: str, made: Made) -> None:
    arguments, wanted, _ = made
    if not np.array_equal(arguments[-1], wanted):
        raise SystemExit(f"{who}: results are not those of numpy")


def _differences(of: Callable[[int], Counter[str]], loop: Loop) -> Counter[str]:
    """Instructions of all warps by opcode: those of the longer run without those of the shorter one."""
    *shorter, longest = loop.lengths
    counts = of(longest)
    for each in shorter:
        counts.subtract(of(each))
    return counts


def here(name: str, loop: Loop) -> Counter[str]:
    """Counts instructions of a kernel of the gallery."""
    text = (GALLERY / f"{loop.file or name}.mlir").read_text()
    if loop.parameters:
        text = re.sub(r"params\(.*?\)", f"params({loop.parameters})", text)
    kernel = tirx.build(text, target="sm_90a").kernels[name]

    def count(length: int) -> Counter[str]:
        made, profile = loop.make(length), Profile()
        kernel.simulate(*loop.packed(made[0]), observer=profile)
        _require_equal(f"{name} here", made)
        return profile.instructions

    return _differences(count, loop)


def in_triton(name: str, loop: Loop) -> Counter[str]:
    """Counts instructions of a kernel of `triton_gallery`."""
    function, signature, constants = SIGNATURES[name]
    types = dict(zip(function.arg_names, [*signature.split(), *["constexpr"] * len(constants)], strict=True))
    source = ASTSource(
        fn=function,
        signature=types,
        constexprs=constants | loop.constants,
        attrs={(place,): [["tt.divisibility", 16]] for place in range(len(signature.split()))},
    )
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, WARP), options={"num_warps": WARPS})

    def count(length: int) -> Counter[str]:
        made, profile = loop.make(length), Profile()
        arguments = [*made[0], *(np.int32(each) for each in made[2]), 0, 0]  # no memory of Triton's own
        shared = compiled.metadata.shared
        run(compiled.asm["ptx"], name, loop.grid, WARP * WARPS, arguments, shared, observer=profile)
        _require_equal(f"{name} in Triton", made)
        return profile.instructions

    return _differences(count, loop)


def main() -> None:
    """Prints a table in Markdown, and below it the most frequent opcodes of both."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"Triton {triton.__version__}, kernels of {Path(triton_gallery.__file__).name}\n")
    print("| loop | elements | here | Triton |\n|---|---|---:|---:|")
    most: list[str] = []
    for name, loop in LOOPS.items():
        both = here(name, loop), in_triton(name, loop)
        each = [WARP * count.total() / loop.elements for count in both]
        print(f"| `{name}` | {loop.of} | {each[0]:.1f} | {each[1]:.1f} |", flush=True)
        for who, count in zip(("here", "Triton"), both, strict=True):
            shares = (f"{opcode} {WARP * n / loop.elements:.2f}" for opcode, n in count.most_common(12))
            most.append(f"{name}, {who}: {', '.join(shares)}")
    print("", *most, sep="\n")


if __name__ == "__main__":
    main()
