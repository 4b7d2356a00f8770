"""The layouts that every page offers: the case studies of the notation, and what the hardware dictates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout, cute_shape, element_type
from tirx.layout.iters import row_major
from tirx.mma.fragments import VARIANTS, Fragment
from tirx.smem.atoms import smem_layout
from tirx.smem.swizzle_modes import Major, SwizzleName
from tirx.tcgen05.scale_factors import scale_factor_a_layout
from tirx.tcgen05.sparse_metadata import sparse_metadata_layout
from tirx.tcgen05.tmem import DATA_PATHS, operand_a_layout
from tirx.tcgen05.tmem_access import LD_SHAPES, ld_fragment
from tirx.viz.tile import Tile
from tirx.wgmma import fragments as wgmma

_CASES = "Case studies"
_SHARED = "Shared memory"
_CANONICAL = "Canonical operands"
_FIGURE = "Figures of the PTX ISA"
_TENSOR = "Tensor memory"
_MMA = "mma.sync fragments"
_WGMMA = "wgmma fragments"
_LOADS = "tcgen05.ld fragments"

# (name, layout, shape, element type, note)
_CASE_STUDIES: tuple[tuple[str, str, tuple[int, ...], str, str], ...] = (
    (
        "Tensor-core tile",
        "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid",
        (8, 16),
        "f16",
        "Shard over lanes and warps, two elements in registers; copies on warps 4 further; warps 0 to 4 are free.",
    ),
    ("Shard to lanes", "S[(8, 4) : (4@laneid, 1@laneid)]", (8, 4), "f16", "One element in each of 32 lanes."),
    (
        "Shard and registers",
        "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]",
        (8, 8),
        "f16",
        "Two neighbours in the registers of a lane: an mma.sync accumulator of 8 x 8.",
    ),
    (
        "Shard, registers, replica",
        "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)] + R[2 : 1@warpid]",
        (8, 8),
        "f16",
        "The same on each of two warps.",
    ),
    (
        "Tensor memory, 224 columns",
        "S[(2, 128, 112) : (112@TCol, 1@TLane, 1@TCol)]",
        (2, 128, 112),
        "f32",
        "Two stages side by side; 224 is no power of two and needs no special case.",
    ),
    (
        "Scale factors, one atom",
        "S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]",
        (32, 4),
        "ue8m0",
        "32 rows on 32 lanes, copied to the lanes of all four warps (warpx4).",
    ),
    (
        "Mesh of 2 x 2 devices",
        "S[(2, 2, 2, 2) : (2@pid, 2, 1@pid, 1)]",
        (4, 4),
        "f16",
        "Every device holds a quadrant.",
    ),
    (
        "Mesh with replicas",
        "S[(2, 32) : (2@pid, 1)] + R[2 : 1@pid]",
        (8, 8),
        "f16",
        "Rows over one dimension of the mesh, copies over the other.",
    ),
    ("Scratchpad P x F", "S[(128, 64) : (1@P, 1@F)]", (128, 64), "f32", "Partitions and free positions."),
    ("One dimension", "S[(4, 32) : (1@warpid, 1@laneid)]", (128,), "f16", "128 elements over four warps."),
    ("Extents only", "S[8, 16]", (8, 16), "f16", "Strides left out are row-major on axis m."),
)


def _cases() -> Iterator[Tile]:
    for name, text, shape, dtype, note in _CASE_STUDIES:
        yield Tile(name, TileLayout.parse(text), shape, dtype, group=_CASES, note=note)


def _shared() -> Iterator[Tile]:
    modes: tuple[SwizzleName, ...] = ("none", "32B", "64B", "128B")
    for mode in modes:
        tile = TileLayout(row_major((8, 64)))
        layout = tile if mode == "none" else ComposeLayout(SwizzleLayout.for_dtype("f16", mode), tile)
        note = "Rows of 128 bytes: a column lies in one bank." if mode == "none" else f"The same rows, {mode} swizzle."
        yield Tile(f"8 x 64 f16, {mode}", layout, (8, 64), group=_SHARED, note=note)
    for dtype in ("e4m3", "f32", "f64", "e2m1"):
        bits = {"e4m3": 8, "f32": 32, "f64": 64, "e2m1": 4}[dtype]
        shape = (8, 1024 // bits)
        layout = ComposeLayout(SwizzleLayout.for_bits(bits, "128B"), TileLayout(row_major(shape)))
        yield Tile(f"8 rows {dtype}, 128B", layout, shape, dtype, group=_SHARED, note="One period of the swizzle.")


def _operands() -> Iterator[Tile]:
    rows: tuple[tuple[str, SwizzleName, Major, tuple[int, int]], ...] = (
        ("f16", "128B", "K", (128, 64)),
        ("f16", "64B", "K", (128, 64)),
        ("f16", "32B", "K", (64, 32)),
        ("f16", "none", "K", (64, 32)),
        ("f16", "128B", "MN", (128, 64)),
        ("f16", "64B", "MN", (64, 32)),
        ("f16", "32B", "MN", (64, 32)),
        ("f16", "none", "MN", (64, 32)),
        ("e4m3", "128B", "K", (128, 128)),
        ("e4m3", "128B", "MN", (128, 64)),
        ("tf32", "128B", "K", (128, 32)),
        ("tf32", "128B_base32B", "MN", (64, 32)),
        ("e2m1", "128B", "K", (64, 256)),
    )
    for dtype, mode, major, shape in rows:
        layout = smem_layout(dtype, mode, major, shape)
        name = f"{dtype} {major}-major {mode}, {shape[0]} x {shape[1]}"
        yield Tile(name, layout, shape, dtype, group=_CANONICAL, note="One shared-memory descriptor reads it.")


# Figure of the PTX ISA, "Strides", its exact layout, element type
_FIGURES = (
    ("188, K-major none", "Swizzle<0,4,3> o ((8,2),(4,4)):((4,32),(1,64))", "tf32"),
    ("189, K-major 32B", "Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4))", "tf32"),
    ("190, MN-major none", "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", "bf16"),
    ("191, MN-major 32B", "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", "bf16"),
    ("192, MN-major 64B", "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", "bf16"),
)


# Figure of the PTX ISA, "Matrix Fragments for mma.m8n8k4"; the variant of mma.sync and its operand
_FRAGMENT_FIGURES = (
    ("46, row-major A", "m8n8k4.row.col.f16", "a"),
    ("47, column-major A", "m8n8k4.col.col.f16", "a"),
    ("48, row-major B", "m8n8k4.row.row.f16", "b"),
    ("49, column-major B", "m8n8k4.row.col.f16", "b"),
    ("50, C and D", "m8n8k4.row.col.f16", "c"),
    ("51 and 52, C and D", "m8n8k4.row.col.f32.f16", "c"),
    ("53, A", "m8n8k4.row.col.f64", "a"),
    ("54, B", "m8n8k4.row.col.f64", "b"),
    ("55, C and D", "m8n8k4.row.col.f64", "c"),
)


def _figures() -> Iterator[Tile]:
    for name, variant, letter in _FRAGMENT_FIGURES:
        fragment: Fragment = getattr(VARIANTS[variant], letter)
        layout, shape = fragment.layout, fragment.shape
        if letter == "b":
            layout, shape = layout.permute((0, 2, 1), shape), (shape[0], shape[2], shape[1])  # K x N, as it is drawn
        shape = shape if shape[0] > 1 else shape[1:]
        note = "mma.m8n8k4: four products beside one another." if len(shape) > 2 else "mma.m8n8k4."
        yield Tile(f"Figure {name}, {fragment.dtype}", layout, shape, fragment.dtype, group=_FIGURE, note=note)
    for name, text, dtype in _FIGURES:
        composed = ComposeLayout.from_cute(text, element_type(dtype).storage_bits)
        layout = composed.tile if composed.swizzle.is_identity else composed
        yield Tile(f"Figure {name}, {dtype}", layout, cute_shape(text), dtype, group=_FIGURE, note=f"PTX ISA: {text}.")


def _tensor_memory() -> Iterator[Tile]:
    for letter, path in DATA_PATHS.items():
        rows = path.m
        name = f"D, data path {letter}: M = {rows}{', CTA pair' if letter in 'ABC' else ''}"
        yield Tile(name, path.layout(32), (rows, 32), "f32", group=_TENSOR, note="The accumulator of tcgen05.mma.")
    yield Tile("A in tensor memory, f16", operand_a_layout(128, 32, "f16"), (128, 32), "f16", group=_TENSOR)
    factors = scale_factor_a_layout(128, 16, 4)
    yield Tile("SFA, 128 x 16", factors, (128, 16), "ue8m0", group=_TENSOR, note="Four factors in a 32-bit column.")
    metadata = sparse_metadata_layout("f16", 128, 64)
    shape = (128, metadata.size() // 128)
    yield Tile("Sparsity metadata, f16", metadata, shape, "b4", group=_TENSOR, note="Codes of 4 bits.")


def _mma() -> Iterator[Tile]:
    """Every fragment once, under the first variant that has it."""
    seen: dict[tuple[object, ...], list[str]] = {}
    tiles: dict[tuple[object, ...], tuple[TileLayout, tuple[int, ...], str]] = {}
    for variant in VARIANTS.values():
        for letter, fragment in (("A", variant.a), ("B", variant.b), ("C", variant.c)):
            shape = fragment.shape if fragment.shape[0] > 1 else fragment.shape[1:]
            key = (variant.instruction, letter, fragment.layout, shape)
            seen.setdefault(key, []).append(variant.name.removeprefix(f"{variant.instruction}."))
            tiles.setdefault(key, (fragment.layout, shape, fragment.dtype))
    for key, names in seen.items():
        layout, shape, dtype = tiles[key]
        first = names[0] + (f" (+{len(names) - 1})" if len(names) > 1 else "")
        note = f"{key[1]} of {', '.join(names)}; B is given as N x K."
        yield Tile(f"{key[0]} {key[1]}: {first}", layout, shape, dtype, group=_MMA, note=note)


def _wgmma() -> Iterator[Tile]:
    for n in (8, 64):
        layout = wgmma.accumulator_layout(64, n)
        yield Tile(f"D of m64n{n}", layout, (64, n), "f32", group=_WGMMA, note="One warpgroup.")
    for dtype, k in (("f16", 16), ("tf32", 8), ("e4m3", 32)):
        layout = wgmma.operand_a_layout(64, k, dtype)
        yield Tile(f"A in registers, {dtype}", layout, (64, k), dtype, group=_WGMMA, note="One instruction of K.")
    layout = wgmma.metadata_layout(64, 32, "f16")
    yield Tile("Sparsity metadata, f16", layout, (64, layout.size() // 64), "b4", group=_WGMMA, note="Codes of 4 bits.")


def _loads() -> Iterator[Tile]:
    for name, shape in LD_SHAPES.items():
        num = 2 if shape.halves else 1
        layout = ld_fragment(name, num)
        rows = 128 if name == "32x32b" else 64
        tile_shape = (rows, layout.size() // rows)
        yield Tile(f"{name}.x{num}", layout, tile_shape, "f32", group=_LOADS, note="Registers of a warpgroup.")


@cache
def presets() -> tuple[Tile, ...]:
    """All presets, in the order of their groups."""
    return (*_cases(), *_shared(), *_operands(), *_figures(), *_tensor_memory(), *_mma(), *_wgmma(), *_loads())
