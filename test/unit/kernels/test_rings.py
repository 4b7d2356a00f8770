"""Kernels with rings compute the same numbers as numpy, for all numbers of slots, iterations and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from unit.kernels.ring_cases import Case, cases, pairwise
from unit.kernels.ring_ir_mutants import NOBODY, SIMULATOR, IrMutant, ir_mutants, reason_of
from unit.kernels.ring_kernels import AS_WRITTEN, STEP, RingKernel, check
from unit.kernels.ring_mutants import KERNELS, mutants

import tirx


@pytest.mark.parametrize(
    ("kernel", "trips"),
    [
        (RingKernel(slots=1, skew=0), (2,)),
        (RingKernel(slots=3, skew=2, engine="tma"), (0, 1, 4)),
        (RingKernel(slots=1, skew=0, roles=True, engine="tma", registers=(40, 232), output=1), (0, 3)),
        (RingKernel(slots=3, skew=2, engine="cp_async", use_first=True), (0, 1, 4)),
        (RingKernel(slots=2, skew=0, roles=True, engine="cp_async"), (3,)),
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


EARLY = KERNELS[10]

TABLED = (
    RingKernel(slots=2, skew=0, roles=True, engine="tma", tiles=True),
    RingKernel(slots=2, skew=1, engine="cp_async", use_first=True, tiles=True),
)


@pytest.mark.parametrize("kernel", TABLED)
@pytest.mark.sample(1)
def test_tiles_in_the_order_of_a_table(kernel: RingKernel):
    text = kernel.text.replace("order(group 2) of", "order(table %t : memref<?xi32>) of")
    text = text.replace("%tn: index", "%tn: index, %t: memref<?xi32>")
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (rows, 128)).astype(np.float16) for rows in (192, 128))
    d = np.zeros((192, 128), np.float32)
    compiled = tirx.build(text, options=AS_WRITTEN).kernels["product"]
    compiled.simulate(a, b, d, 3, 3, 2, rng.permutation(6).astype(np.int32), grid=(2, 1, 1), check="strict", seed=1)
    k = slice(3 * STEP)
    np.testing.assert_array_equal(d, 2 * (a[:, k].astype(np.float32) @ b[:, k].astype(np.float32).T))


@pytest.mark.parametrize("kernel", TABLED)
@pytest.mark.sample(1)
def test_items_are_tiles_with_parts_of_k(kernel: RingKernel):
    """Numbers of iterations differ from item to item; one has none."""
    text = kernel.text.replace(
        "%ti, %tj = order(group 2) of (%tm, %tn)", "%ti, %tj, %k0, %k1 = items(%t : memref<?x4xi32>)"
    )
    text = text.replace("%tm: index, %tn: index", "%t: memref<?x4xi32>").replace("0 to %nk", "0 to %part")
    text = text.replace("%m = arith.muli", "%part = arith.subi %k1, %k0 : index %m = arith.muli")
    text = text.replace("%kk = arith.muli %k,", "%at = arith.addi %k0, %k : index %kk = arith.muli %at,")
    items = np.array([(2, 1, 0, 3), (0, 0, 2, 5), (1, 1, 4, 4), (0, 1, 7, 8)], np.int32)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (rows, 128)).astype(np.float16) for rows in (192, 128))
    d = np.full((192, 128), 7, np.float32)
    expected = d.copy()
    for i, j, first, last in items:
        rows, columns, k = slice(64 * i, 64 * i + 64), slice(64 * j, 64 * j + 64), slice(STEP * first, STEP * last)
        expected[rows, columns] = 2 * (a[rows, k].astype(np.float32) @ b[columns, k].astype(np.float32).T)
    compiled = tirx.build(text, options=AS_WRITTEN).kernels["product"]
    compiled.simulate(a, b, d, 0, items, grid=(2, 1, 1), check="strict", seed=1)
    np.testing.assert_array_equal(d, expected)


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


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("mutation", "who", "count"),
    [
        ("release as soon as A is read", "tirx-check-rings", 2),
        ("commit of reads of A alone", SIMULATOR, 2),
        ("arrival of the thread itself", SIMULATOR, 3),
    ],
)
def test_a_slot_comes_back_no_earlier_than_what_reads_it_is_done(mutation: str, who: str, count: int):
    """Slots of A come back when they have been read, slots of B and the sum when the product is complete."""
    check(EARLY, 3, seed=1)
    found = [mutant.verdict(seeds=1).who for mutant in ir_mutants(EARLY) if mutant.mutation == mutation]
    assert found == [who] * count


@pytest.mark.sample(1)
@pytest.mark.parametrize("mutation", ["no proxy fence", "one arrival more", "bytes missing", "no wait"])
def test_wrong_lines_of_ptx_are_found(mutation: str):
    found = [mutant for mutant in mutants(KERNELS[1]) if mutant.mutation == mutation]
    assert any(mutant.verdict(seeds=1) is not None for mutant in found)
