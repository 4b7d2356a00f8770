"""
Sequential tile programs, pipelined with and without roles, compute the numbers of numpy for every number of iterations.

A sample; `python test/sweeps/rings.py` runs all combinations.
"""

from __future__ import annotations

import pytest
from unit.kernels.pipelined_kernels import Pipelined, check, kernel_of


@pytest.mark.parametrize(
    ("pipelined", "steps"),
    [
        # No iteration, one, and one more than there are slots; the loop may begin anywhere.
        (Pipelined("m16n8k16, tma", "pipeline=on"), ((0, 0), (1, 6))),
        (Pipelined("m16n8k16", "pipeline=on stages=2"), ((3, 1), (0, 3))),
        (Pipelined("m16n8k8 f64, tma", "pipeline=on roles=none stages=3"), ((0, 4),)),
        (Pipelined("tcgen05, pairs", "stages=2 order=hardware roles=load", (2, 2)), ((0, 0), (1, 6))),
    ],
)
@pytest.mark.sample(1)
def test_numbers_of_iterations(pipelined: Pipelined, steps: tuple[tuple[int, int], ...]):
    for seed, (low, high) in enumerate(steps):
        check(pipelined, low, high, seed=seed)


@pytest.mark.parametrize(
    "pipelined",
    [
        # Three rows of tiles: the second tile of the last pair lies outside of D.
        Pipelined("wgmma", "cluster=rows stages=2 order=row", (3, 1)),
        Pipelined("wgmma", "cluster=columns stages=3 order=none", (1, 2)),
        Pipelined("tcgen05", "cluster=rows stages=2 order=row", (3, 1)),
        Pipelined("tcgen05", "cluster=columns stages=3 order=none roles=load", (1, 2)),
    ],
)
@pytest.mark.sample(1)
def test_pairs_of_blocks_load_for_each_other(pipelined: Pipelined):
    kernel = kernel_of(pipelined)
    assert kernel.launch.cluster == (2, 1, 1) and ".multicast::cluster" in kernel.program.ptx
    check(pipelined, 0, 5)


@pytest.mark.parametrize(
    ("pipelined", "size"),
    [
        # Rows share A and columns B; three rows and columns of tiles end within clusters.
        (Pipelined("wgmma", "cluster=2x2 stages=2 order=row", (3, 3)), 4),
        (Pipelined("wgmma", "cluster=4x1 stages=2 order=group", (3, 1)), 4),
        (Pipelined("wgmma", "cluster=1x4 stages=3 order=none", (1, 6)), 4),
        (Pipelined("wgmma", "cluster=4x2 stages=2 order=row", (3, 3)), 8),
        (Pipelined("wgmma", "cluster=2x4 stages=2 order=none", (2, 3)), 8),
        (Pipelined("wgmma", "cluster=8x1 stages=2 order=row", (3, 1)), 8),
        (Pipelined("wgmma", "cluster=1x8 stages=2 order=row", (1, 3)), 8),
        (Pipelined("tcgen05", "cluster=2x2 stages=2 order=row", (3, 3), odd=True), 4),
        (Pipelined("tcgen05, scaled", "cluster=2x2 stages=2 order=group", (2, 2)), 4),
        (Pipelined("tcgen05, sparse", "cluster=4x1 stages=3 order=none", (4, 1)), 4),
        (Pipelined("tcgen05 i8", "cluster=1x4 stages=2 order=none", (1, 3)), 4),
        (Pipelined("tcgen05", "cluster=2x4 stages=2 order=row", (2, 3)), 8),
        # Pairs that multiply together count as one: their rows and columns end within clusters.
        (Pipelined("tcgen05, pairs", "cluster=rows stages=4 order=group roles=load", (3, 2), odd=True), 4),
        (Pipelined("tcgen05, pairs", "cluster=columns stages=2 order=none", (1, 2)), 4),
        (Pipelined("tcgen05, pairs", "cluster=2x2 stages=2 order=row", (3, 2), odd=True), 8),
        (Pipelined("tcgen05, pairs", "cluster=4x1 stages=3 order=row", (3, 1), odd=True), 8),
        (Pipelined("tcgen05, pairs", "cluster=1x4 stages=2 order=none", (1, 4)), 8),
    ],
)
@pytest.mark.sample(1)
def test_larger_clusters_load_for_each_other(pipelined: Pipelined, size: int):
    kernel = kernel_of(pipelined)
    assert kernel.launch.cluster == (size, 1, 1) and ".multicast::cluster" in kernel.program.ptx
    check(pipelined, 0, 5, blocks=2 * size, seed=size)
