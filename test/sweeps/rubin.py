"""Products, loops of them, pairs, attention and rings for sm_107a: assembled, simulated, equal to numpy.

    python test/sweeps/rubin.py [--jobs N] [NAME ...]

Each family comes in three sizes. NAME is a part of the name of a case.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sweeps import example_sizes
from unit.examples import EXAMPLES
from unit.kernels import ring_kernels
from unit.kernels.product_kernels import Kernel
from unit.kernels.ring_kernels import RingKernel
from unit.sim.example_launches import LAUNCHES
from unit.sim.launches import Launch

TARGET = "sm_107a"

E8, E4, E5, E2 = "f8E8M0FNU", "f8E4M3FN", "f8E5M2", "f4E2M1FN"
SIZES = ((128, 64, 256), (128, 136, 512), (128, 256, 512))
"""M of a block, N and K."""

PRODUCTS = {
    "f16": partial(Kernel, a="f16", b="f16"),
    "fp8": partial(Kernel, a=E4, b=E5),
    "mxfp8": partial(Kernel, a=E4, b=E4, scale=(E8, 32)),
    "mxfp4": partial(Kernel, a=E2, b=E2, scale=(E8, 32)),
    "nvfp4": partial(Kernel, a=E2, b=E2, scale=(E4, 16)),
    "sparse f16": partial(Kernel, a="f16", b="f16", sparse=4),
    "sparse fp8": partial(Kernel, a=E4, b=E4, sparse=4),
    "sparse nvfp4": partial(Kernel, a=E2, b=E2, scale=(E4, 32), sparse=4),
}
"""Families of products, of one block and of a pair."""

LOOPS = {
    "gemm": "tcgen05_gemm",
    "gemm_mn_major": "tcgen05_gemm_mn_major",
    "pair_gemm": "tcgen05_2cta_gemm",
    "fp8_gemm": "tcgen05_fp8_gemm",
    "sparse_gemm": "tcgen05_sparse_gemm",
    "nvfp4_gemm": "tcgen05_nvfp4_block_scaled_gemm",
    "pair_nvfp4_gemm": "tcgen05_2cta_nvfp4_block_scaled_gemm",
}
"""Kernels of examples that are written for sm_100a, and their files."""

RINGS = (
    RingKernel(slots=2, skew=0, roles=True, engine="tma", family="tcgen05", tiles=True, apart=True),
    RingKernel(slots=3, skew=0, roles=True, engine="tma", family="tcgen05", tiles=True, output=2, apart=True),
)


def _product(kernel: Kernel) -> None:
    kernel.check(kernel.compile())


def _example(case: example_sizes.Case) -> None:
    assert (found := example_sizes.check(case)) is None, found


def loop_text(kernel: str) -> str:
    """The example with a kernel of `LOOPS`, for sm_107a."""
    return (EXAMPLES / f"{LOOPS[kernel]}.mlir").read_text().replace('target("sm_100a")', f'target("{TARGET}")')


def _integers(kernel: str, rng: np.random.Generator) -> Launch:
    return LAUNCHES[kernel].make(rng, "integers")


def cases() -> Iterator[tuple[str, Callable[[], None]]]:
    """Names of cases, and what runs each: an exception says that it is wrong."""
    for name, make in PRODUCTS.items():
        for m, n, k in SIZES:
            # The bytes of A and B in the largest case are more than a block has.
            k = k // 2 if name == "f16" or name == "sparse f16" else k
            for pair in (False, True):
                n_of = n - n % 16 if pair else n
                kernel = make(m=m * (2 if pair else 1), n=n_of, k=k, pair=pair, target=TARGET)
                yield (
                    f"{name}{' of a pair' if pair else ''} {(kernel.m, kernel.n, kernel.k)}",
                    partial(_product, kernel),
                )
    for number, ring in enumerate(RINGS):
        for trips in (1, 3, 6):
            run = partial(ring_kernels.check, ring, trips, extents=(2, 1))
            yield f"ring {number} with {trips} iterations", run
    for kernel in LOOPS:
        case = example_sizes.Case(f"loop of {kernel}", partial(loop_text, kernel), kernel, partial(_integers, kernel))
        yield case.name, partial(_example, case)
    for case in example_sizes.all_cases():
        if case.target == TARGET and ("attention" not in case.name or " 64 f16 " in case.name):
            yield case.name, partial(_example, case)


@cache
def _table() -> dict[str, Callable[[], None]]:
    return dict(cases())


def _report(name: str) -> tuple[str, str, float]:
    """Name, outcome and seconds of CPU time of a case."""
    start = time.process_time()
    try:
        _table()[name]()
        outcome = "right"
    except Exception as error:  # any exception is a finding: the sweep shows it and goes on
        outcome = f"{type(error).__name__}: {error}".splitlines()[0]
    return name, outcome, time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names of cases; all without any")
    flags = parser.parse_args()
    names = [name for name, _ in cases() if not flags.names or any(part in name for part in flags.names)]
    counts: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(flags.jobs) as pool:
        for name, outcome, seconds in pool.imap_unordered(_report, names, chunksize=1):
            counts[outcome.split(":")[0]] += 1
            print(f"{name}: {outcome} ({seconds:.1f} s)", flush=True)
    print(f"{len(names)} cases: {dict(counts)}")
    return counts.keys() != {"right"}


if __name__ == "__main__":
    sys.exit(main())
