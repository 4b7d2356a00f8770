"""Kernels with rings compute the same numbers as numpy, for all numbers of slots, iterations and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from unit.kernels.ring_cases import Case, cases, pairwise
from unit.kernels.ring_ir_mutants import NOBODY, IrMutant, ir_mutants, reason_of
from unit.kernels.ring_kernels import RingKernel, check
from unit.kernels.ring_mutants import KERNELS, mutants


@pytest.mark.parametrize(
    ("kernel", "trips"),
    [
        (RingKernel(slots=1, skew=0), (2,)),
        (RingKernel(slots=3, skew=2, engine="tma"), (0, 1, 4)),
        (RingKernel(slots=1, skew=0, roles=True, engine="tma", registers=(40, 232), output=1), (0, 3)),
        (RingKernel(slots=3, skew=2, engine="cp_async", use_first=True), (0, 1, 4)),
        (RingKernel(slots=2, skew=0, roles=True, engine="cp_async"), (5,)),
        (RingKernel(slots=2, skew=0, roles=True, engine="ld_st", family="wgmma", pending=1), (3,)),
        # The epilogue, which waits for the products, stands before them in the program and has a barrier of its own.
        (RingKernel(slots=1, skew=0, roles=True, engine="tma", family="tcgen05", output=1), (2,)),
    ],
)
@pytest.mark.sample(1)
def test_numbers_of_iterations(kernel: RingKernel, trips: tuple[int, ...]):
    assert kernel.is_legal
    for seed, count in enumerate(trips):
        check(kernel, count, seed=seed)


@pytest.mark.parametrize(
    "kernel",
    [
        RingKernel(slots=2, skew=1, tiles=True, engine="cp_async", use_first=True),
        RingKernel(slots=2, skew=0, roles=True, tiles=True, engine="tma", family="tcgen05", output=2),
    ],
)
@pytest.mark.sample(1)
def test_counters_go_on_from_tile_to_tile(kernel: RingKernel):
    """3 iterations with 2 slots: the phase of the second tile is not that of the first."""
    check(kernel, 3, blocks=2, extents=(2, 2))


def test_slots_of_clusters_are_free_when_the_readers_of_all_blocks_are_done():
    """Their blocks hear of the same tiles."""
    check(RingKernel(slots=2, skew=0, roles=True, engine="tma", cluster=True, tiles=True, launched=True), 2)


@pytest.mark.parametrize(
    "kernel",
    [
        RingKernel(slots=1, skew=0, roles=True, engine="tma", family="tcgen05", tiles=True, launched=True, output=1),
        RingKernel(slots=3, skew=2, engine="cp_async", use_first=True, tiles=True, launched=True),
    ],
)
@pytest.mark.sample(1)
def test_hardware_gives_tiles(kernel: RingKernel):
    """One block takes over all tiles, or as many as it is given."""
    for seed in (None, 1):
        check(kernel, 3, seed=seed, extents=(2, 1))


def test_pairs_of_choices(sampled: Callable[[Iterable[Case], int], list[Case]]):
    """A sample of the kernels that have every pair of choices; `python test/sweeps/rings.py --pairwise` has all."""
    everything = list(cases())
    chosen = pairwise(everything)
    assert len(chosen) < len(everything) / 20
    for case in sampled(chosen, 1):
        case.run(min(case.trips()[-1], 3), seed=1)


def test_wrong_kernels_are_refused(sampled: Callable[[Iterable[IrMutant], int], list[IrMutant]]):
    """A sample; `python test/sweeps/ring_mutants.py` has all of them, and those of lines of PTX."""
    for mutant in sampled(list(ir_mutants(KERNELS[1])), 8):
        verdict = mutant.verdict(seeds=1)
        assert verdict.who != NOBODY or reason_of(mutant) is not None, mutant


@pytest.mark.sample(1)
@pytest.mark.parametrize("mutation", ["no proxy fence", "one arrival more", "bytes missing", "no wait"])
def test_wrong_lines_of_ptx_are_found(mutation: str):
    found = [mutant for mutant in mutants(KERNELS[1]) if mutant.mutation == mutation]
    assert any(mutant.verdict(seeds=1) is not None for mutant in found)
