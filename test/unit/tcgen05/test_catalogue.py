"""Every ready-made layout over all its legal arguments: injective, within the bounds of its axes, copies where due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from tirx.hw.dtypes import find_dtype
from tirx.layout import ComposeLayout, TileLayout, element_type
from tirx.mma.fragments import VARIANTS
from tirx.smem.atoms import atom_shape, smem_layout
from tirx.smem.swizzle_modes import MAJORS, OPERAND_DTYPES, legal_modes
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.scale_factors import (
    SCALE_FACTOR_IDS,
    SCALE_FACTOR_PATHS,
    scale_factor_a_layout,
    scale_factor_b_layout,
    scale_factor_smem_layout,
    scale_factor_tmem_layout,
)
from tirx.tcgen05.shapes import SHAPES
from tirx.tcgen05.sparse_metadata import sparse_metadata_layout
from tirx.tcgen05.tmem import ACCUMULATOR_DTYPES, DATA_PATHS, accumulator_layout, operand_a_layout
from tirx.tcgen05.tmem_access import LD_SHAPES, ld_fragment

Layout = TileLayout | ComposeLayout
Entry = tuple[str, Layout, int, int]
"""Name, layout, bits of an element, copies of each element."""

INSTRUCTIONS = [(m, row.cta_group, row.ws, row.sparse, kind) for row in SHAPES for kind in row.kinds for m in row.m]
COPIES_OF_A = {"B": 2, "E": 2, "G": 4}
COPIES_OF_SFB = {(128, 1): 4, (256, 2): 8, (128, 2): 4}
"""Partitions of 32 lanes, times CTAs; with M = 128 of a pair only two partitions hold the same."""


def data_paths() -> Iterator[Entry]:
    for path, dtype, n in product(DATA_PATHS.values(), ACCUMULATOR_DTYPES, (4, 8, 96, 256)):
        for rows in {path.rows, path.cta_rows}:
            for slab in (0, 1) if path.half_lanes else (0,):
                layout = path.layout(n, base_lane=16 * slab, dtype=dtype, rows=rows)
                yield f"{path.letter} {TileLayout(rows).size()}x{n} {dtype} {slab}", layout, element_type(dtype).bits, 1


def accumulators() -> Iterator[Entry]:
    for m, cta_group, ws, sparse, kind in INSTRUCTIONS:
        for (dtype, _), n in product(KINDS[kind].accumulators or (("f32", 1),), (64, 128)):
            layout = accumulator_layout(m, n, cta_group, ws, sparse, dtype=dtype)
            yield f"D {kind} {m}x{n} {cta_group} {ws} {sparse}", layout, element_type(dtype).bits, 1


def operands_a() -> Iterator[Entry]:
    for m, cta_group, ws, sparse, kind in INSTRUCTIONS:
        for (dtype, _), steps in product(KINDS[kind].operands, (1, 4)):
            container = 8 if KINDS[kind].k == 32 else None
            layout = operand_a_layout(m, steps * KINDS[kind].k, dtype, cta_group, ws, sparse, container_bits=container)
            letter = next(
                p.letter
                for p in DATA_PATHS.values()
                if accumulator_layout(m, 64, cta_group, ws, sparse) == p.layout(64)
            )
            bits = container or find_dtype(dtype).storage_bits
            yield f"A {kind} {dtype} {m} {cta_group} {ws} {sparse} x{steps}", layout, bits, COPIES_OF_A.get(letter, 1)


def sparse_metadata() -> Iterator[Entry]:
    for m, cta_group, ws, sparse, kind in INSTRUCTIONS:
        if sparse:
            for steps in (1, 5):
                layout = sparse_metadata_layout(kind, m, steps * 2 * KINDS[kind].k, cta_group, ws)
                copies = {64: 2, 32: 4}.get(m, 1) if ws else 1
                yield f"metadata {kind} {m} {cta_group} {ws} x{steps}", layout, 4, copies


def scale_factors() -> Iterator[Entry]:
    for sf, k_groups, reuse, pipe in product(SCALE_FACTOR_IDS, (1, 2, 3, 4), (1, 2), (1, 2)):
        sf_k = sf if k_groups == 1 else 4 * (k_groups - 1)
        if reuse > 1 and sf > 1:
            continue
        for rows in range(32, 257, 32):
            name = f"scale factors {rows}x{sf_k} {sf} {reuse} {pipe}"
            yield name, scale_factor_tmem_layout(rows, sf_k, sf, reuse=reuse, pipe=pipe), 8, 4
            if rows % 128 == 0 and sf_k % 4 == 0:
                yield f"{name} shared", scale_factor_smem_layout(rows, sf_k, reuse=reuse, pipe=pipe), 8, 1
        for path in SCALE_FACTOR_PATHS:
            name = f"SF{path.operand} {path.m} {path.cta_group} {sf_k} {sf} {reuse} {pipe}"
            if path.operand == "A":
                layout = scale_factor_a_layout(path.m, sf_k, sf, path.cta_group, reuse=reuse, pipe=pipe)
                yield name, layout, 8, 4
            else:
                for n in (64, 128, 192, 256):
                    layout = scale_factor_b_layout(path.m, n, sf_k, sf, path.cta_group, reuse=reuse, pipe=pipe)
                    yield f"{name} {n}", layout, 8, COPIES_OF_SFB[path.m, path.cta_group]


def registers() -> Iterator[Entry]:
    for shape, (bits, pack) in product(LD_SHAPES.values(), ((32, False), (16, False), (16, True), (8, False))):
        for rows in (128,) if shape.lanes == 32 else (64, 128):
            for power in range(shape.max_num.bit_length()):
                layout = ld_fragment(shape.name, 1 << power, rows, element_bits=bits, pack=pack)
                yield f"ld {shape.name} x{1 << power} {rows} {bits} {pack}", layout, bits, 1


def fragments() -> Iterator[Entry]:
    for variant in VARIANTS.values():
        for name, fragment in (("A", variant.a), ("B", variant.b), ("C", variant.c)):
            yield f"{variant.name} {name}", fragment.layout, element_type(fragment.dtype).bits, 1


def shared_operands() -> Iterator[Entry]:
    for dtype, major in product(OPERAND_DTYPES, MAJORS):
        for mode in legal_modes(find_dtype(dtype), major):
            mn, k = atom_shape(dtype, mode, major)
            bits = find_dtype(dtype).storage_bits
            yield f"{dtype} {mode} {major} atom", smem_layout(dtype, mode, major, (mn, k)), bits, 1
            for repeat_mn, repeat_k in ((1, 2), (2, 1), (3, 3)):
                layout = smem_layout(dtype, mode, major, (repeat_mn * mn, repeat_k * k))
                yield f"{dtype} {mode} {major} {repeat_mn}x{repeat_k}", layout, bits, 1


CATALOGUE = (
    data_paths,
    accumulators,
    operands_a,
    sparse_metadata,
    scale_factors,
    registers,
    fragments,
    shared_operands,
)


@pytest.mark.parametrize("section", CATALOGUE)
def test_every_layout_is_one_that_hardware_can_hold(section: Callable[[], Iterator[Entry]]) -> None:
    names: set[str] = set()
    for name, layout, bits, copies in section():
        names.add(name)
        layout.check_bounds(bits)
        tile = layout.tile if isinstance(layout, ComposeLayout) else layout
        # Stride 0 is the one way in which two elements share a place, and only scale factors are reused.
        distinct = TileLayout((it for it in tile.shard if it.stride), tile.replica, tile.offset)
        assert distinct.is_injective(), name
        assert tile.size() == distinct.size() or "scale factors" in name or name.startswith("SF"), name
        assert len(tile.replicas()) == copies, name
    assert names
