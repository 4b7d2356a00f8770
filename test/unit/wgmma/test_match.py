"""Plans of wgmma products, executed on numpy: operands are read through descriptor bits and the ISA's fragments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together
from unit.wgmma.hardware import a_place_8, a_place_16, a_place_32, d_place, hardware_bytes, metadata_place

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.layout.ownership import held_elements
from tirx.smem.atoms import smem_layout
from tirx.smem.canonical_form import OperandLayout
from tirx.smem.pick import pick_operand_layout
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major, SwizzleName
from tirx.wgmma.check import RegisterOperand, SmemOperand, Wgmma, find_violations
from tirx.wgmma.fragments import (
    ONE_WARPGROUP,
    SPARSE_METADATA,
    Warpgroups,
    accumulator_layout,
    metadata_layout,
    operand_a_layout,
)
from tirx.wgmma.kinds import ROWS, find_kind
from tirx.wgmma.match import Product, SmemRead, Tile, WgmmaInstructions, match

Integers = NDArray[np.int64]

A_PLACE = {8: a_place_8, 16: a_place_16, 32: a_place_32}
A_BASE, B_BASE = 0, 1 << 17


def _shared(tile: Tile, values: Integers, base: int) -> dict[int, int]:
    """Byte address -> element."""
    size = find_dtype(tile.dtype).storage_bits // 8
    addresses = np.asarray(tile.layout.table(tile.shape)["m"]) * size + base
    return dict(zip(addresses.ravel().tolist(), values.ravel().tolist(), strict=True))


def _registers(tile: Tile, values: Integers, threads: int) -> Integers:
    """Elements that the threads hold: (warpgroups, 128, registers)."""
    assert isinstance(tile.layout, TileLayout)
    held = held_elements(tile.layout, tile.shape, threads)
    return np.where(held < 0, 1 << 40, values.ravel()[held]).reshape(threads // 128, 128, -1)


def _read(
    memory: dict[int, int], read: SmemRead, base: int, group: int, step: int, size: int, shape: tuple[int, int]
) -> Integers:
    word = read.descriptor(base, group, step).encode()
    addresses = hardware_bytes(word, read.major, size, shape)
    return np.array([memory[address] for address in addresses.ravel().tolist()]).reshape(shape)


def _expand(stored: Integers, codes: Integers, chunk: int) -> Integers:
    """A with its zeros; codes are the two places of four, or (tf32) 0b1110 and 0b0100 for the place of two."""
    rows, count = codes.shape
    full = np.zeros((rows, count, chunk), dtype=np.int64)
    parts = stored.reshape(rows, count, chunk // 2)
    for row in range(rows):
        for at in range(count):
            code = int(codes[row, at])
            places = [code >> 3 & 1] if chunk == 2 else [code & 3, code >> 2]
            full[row, at, places] = parts[row, at]
    return full.reshape(rows, -1)


def _execute(
    plan: WgmmaInstructions, p: Product, a: Integers, b: Integers, codes: Integers | None, c: Integers
) -> Integers:
    """D after all steps, gathered from the registers of the warpgroups."""
    kind = find_kind(p.a.dtype, p.b.dtype)
    size = kind.bits // 8
    b_memory = _shared(p.b, b, B_BASE)
    a_memory = {} if p.a.registers else _shared(p.a, a, A_BASE)
    a_held = _registers(p.a, a, p.threads) if p.a.registers else None
    e_held = None if p.metadata is None or codes is None else _registers(p.metadata, codes, p.threads)
    d_held = _registers(p.d, c, p.threads)
    for number, group in enumerate(plan.warpgroups):
        for step in plan.steps:
            right = _read(b_memory, plan.b_read, B_BASE, number, step.b, size, (step.form.n, step.form.k))
            if plan.a_read is not None:
                left = _read(a_memory, plan.a_read, A_BASE, number, step.a, size, (ROWS, kind.k))
            else:
                assert a_held is not None
                left = np.zeros((ROWS, kind.k), dtype=np.int64)
                for thread in range(128):
                    for i in range(4 * kind.elements_per_register):
                        row, column = A_PLACE[kind.bits](thread % 32, i)
                        left[16 * (thread // 32) + row, column] = a_held[group, thread, step.a + i]
            if e_held is not None:
                assert step.metadata is not None and step.selector is not None
                facts = SPARSE_METADATA[kind.bits]
                own = np.zeros((ROWS, facts.codes), dtype=np.int64)
                for thread in range(128):
                    for code in range(8):
                        place = metadata_place(thread % 32, code, kind.bits, step.selector)
                        if place is not None:
                            own[16 * (thread // 32) + place[0], place[1]] = e_held[group, thread, step.metadata + code]
                left = _expand(left, own, facts.chunk)
            total = left @ right.T
            for thread in range(128):
                for i in range(step.form.d_elements):
                    row, column = d_place(thread % 32, i)
                    d_held[group, thread, step.d + i] += total[16 * (thread // 32) + row, column]
    assert isinstance(p.d.layout, TileLayout)
    held = held_elements(p.d.layout, p.d.shape, p.threads)
    result = np.full(p.d.shape[0] * p.d.shape[1], -1)
    result[held[held >= 0]] = d_held.reshape(held.shape)[held >= 0]
    return result.reshape(p.d.shape)


def _random_codes(rng: np.random.Generator, shape: tuple[int, int], chunk: int) -> Integers:
    if chunk == 2:
        return rng.choice([0b1110, 0b0100], shape)
    pairs = [low | high << 2 for low in range(4) for high in range(low + 1, 4)]
    return rng.choice(pairs, shape)


def _product(
    m: int, n: int, k: int, a: str, b: str, d: str, *, grid: Warpgroups = ONE_WARPGROUP, a_major: Major = "K",
    b_major: Major = "K", a_registers: bool = False, sparse: bool = False, a_layout: OperandLayout | None = None,
    b_layout: OperandLayout | None = None,
) -> Product:  # fmt: skip
    stored = k // 2 if sparse else k
    if a_registers:
        left = operand_a_layout(m, stored, a, grid, b=b)
    else:
        left = a_layout or pick_operand_layout((m, stored), a, a_major, family=WGMMA_OPERANDS)
    right = b_layout or pick_operand_layout((n, k), b, b_major, family=WGMMA_OPERANDS)
    metadata = None
    if sparse:
        chunk = SPARSE_METADATA[find_kind(a, b).bits].chunk
        metadata = Tile(metadata_layout(m, k, a, grid), (m, k // chunk), "", True)
    threads = 128 * grid.count + 32 * grid.first_warp
    return Product(
        Tile(left, (m, stored), a, a_registers),
        Tile(right, (n, k), b),
        Tile(accumulator_layout(m, n, grid), (m, n), d, True),
        threads,
        metadata,
    )


def _check(p: Product) -> WgmmaInstructions:
    """Executes the plan on random integers, and has every instruction checked."""
    rng = np.random.default_rng(p.d.shape[1])
    a, b, c = (rng.integers(-9, 10, shape) for shape in (p.a.shape, p.b.shape, p.d.shape))
    codes = full = None
    if p.metadata is not None:
        chunk = SPARSE_METADATA[find_kind(p.a.dtype, p.b.dtype).bits].chunk
        codes = _random_codes(rng, p.metadata.shape, chunk)
        full = _expand(a, codes, chunk)
    plan = match(p)
    assert (_execute(plan, p, a, b, codes, c) == c + (a if full is None else full) @ b.T).all()
    for step in plan.steps:
        for number, group in enumerate(plan.warpgroups):
            a_operand = (
                RegisterOperand(p.a.dtype)
                if plan.a_read is None
                else SmemOperand(
                    plan.a_read.descriptor(A_BASE, number, step.a), None, p.a.dtype, plan.a_read.major, step.form.kind.k
                )
            )
            b_operand = SmemOperand(
                plan.b_read.descriptor(B_BASE, number, step.b), None, p.b.dtype, plan.b_read.major, step.form.k
            )
            instruction = Wgmma(
                step.form, a_operand, b_operand, RegisterOperand(p.d.dtype), None, step.selector, *plan.transposes,
                p.threads, 4 * group, "sm_90a", (9, 0),
            )  # fmt: skip
            assert find_violations(instruction) == ()
    return plan


@pytest.mark.parametrize(
    ("a", "b", "d"),
    [
        ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"), ("e4m3", "e5m2", "f32"),
        ("e5m2", "e4m3", "f16"), ("s8", "u8", "s32"), ("u8", "u8", "s32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.sample(6)
def test_types(a: str, b: str, d: str, sparse: bool, a_registers: bool):
    k = find_kind(a, b).instruction_k(sparse) * 3
    plan = _check(_product(64, 40, k, a, b, d, sparse=sparse, a_registers=a_registers))
    sizes = (32, 8) if d == "s32" else (40,)
    assert [step.form.n for step in plan.steps] == [*sizes] * 3


@pytest.mark.parametrize("grid", [Warpgroups(), Warpgroups(2), Warpgroups(1, 2), Warpgroups(2, 1, 4), Warpgroups(2, 2)])
@pytest.mark.parametrize(("a_major", "b_major"), [("K", "K"), ("MN", "K"), ("K", "MN"), ("MN", "MN")])
@pytest.mark.parametrize("a_registers", [False, True])
@pytest.mark.sample(8)
def test_warpgroups(grid: Warpgroups, a_major: Major, b_major: Major, a_registers: bool):
    _check(
        _product(
            128, 128, 32, "f16", "f16", "f32",
            grid=grid, a_major=a_major, b_major=b_major, a_registers=a_registers,
        )
    )  # fmt: skip


@pytest.mark.sample(4)
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("major", ["K", "MN"])
def test_swizzles(swizzle: SwizzleName, major: Major):
    a = smem_layout("bf16", swizzle, major, (64, 64))
    b = smem_layout("bf16", swizzle, major, (192, 64))
    plan = _check(_product(64, 192, 64, "bf16", "bf16", "f32", a_layout=a, b_layout=b))
    assert plan.a_read is not None
    assert (plan.a_read.canonical.swizzle, plan.b_read.canonical.swizzle) == (swizzle, swizzle)
    assert plan.transposes == (major == "MN", major == "MN")


@pytest.mark.parametrize(
    ("n", "major"), [*((n, "K") for n in (8, 24, 72, 136, 256, 264, 320, 512)), (64, "MN"), (256, "MN"), (320, "MN")]
)
def test_widths(n: int, major: Major):
    plan = _check(_product(64, n, 16, "f16", "f16", "f32", b_major=major))
    assert len(plan.steps) == -(-n // 256) or n in (264, 320)


def test_the_tile_of_a_fast_kernel():
    """128x256x64, two warpgroups behind one that loads: +32 bytes a step of K, the next 64 rows of A are 8192 on."""
    plan = match(_product(128, 256, 64, "f16", "f16", "f32", grid=Warpgroups(2, 1, 4)))
    assert plan.warpgroups == (1, 2)
    assert plan.a_read is not None and plan.a_read.bases == (0, 8192) and plan.b_read.bases == (0, 0)
    assert [(step.form.shape, step.d, step.a, step.b) for step in plan.steps] == [
        ("m64n256k16", 0, 32 * k, 32 * k) for k in range(4)
    ]
    assert plan.a_read.descriptor(0, 1, 32).encode() == 1 << 62 | 64 << 32 | 1 << 16 | (8192 + 32) >> 4
    assert plan.features == ("wgmma",)


def test_d_of_one_product_is_a_of_the_next():
    """The probabilities of attention: D of 64x64 in f16, multiplied from the registers."""
    p = _product(64, 64, 64, "f16", "f16", "f32", a_registers=True)
    plan = _check(replace(p, a=replace(p.a, layout=accumulator_layout(64, 64))))
    assert [step.a for step in plan.steps] == [0, 8, 16, 24]


def test_interleaved_warpgroups():
    """Blocks of 64 rows in turn: rows 0 and 128 are the first warpgroup's."""
    layout = TileLayout.parse("S[(2, 2, 4, 2, 8, 4, 4, 2) : (16, 4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]")
    p = _product(256, 32, 32, "f16", "f16", "f32", grid=Warpgroups(2))
    plan = _check(replace(p, d=replace(p.d, layout=layout)))
    assert plan.a_read is not None and plan.a_read.bases == (0, 64 * 64)
    assert [(step.d, step.a) for step in plan.steps] == [(0, 0), (16, 8192), (0, 32), (16, 8224)]


OTHER_ROWS = TileLayout.parse("S[(2, 4, 8, 2, 8, 4, 2) : (4@warpid, 1@warpid, 4@laneid, 2, 4, 1@laneid, 1)]")
OTHER_WARPGROUPS = TileLayout.parse(
    "S[(2, 4, 2, 8, 2, 2, 4, 2) : (16, 1@warpid, 2, 4@laneid, 8, 4, 1@laneid, 1)] + R[2 : 4@warpid]"
)

BASE = _product(128, 64, 64, "f16", "f16", "f32", grid=Warpgroups(2))


def _with(p: Product = BASE, **tiles: Any) -> Callable[[], Product]:
    return lambda: replace(p, **{name: replace(getattr(p, name), **fields) for name, fields in tiles.items()})


@together(
    ("make", "message"),
    [
        (_with(a={"dtype": "bf16"}), r"expected element types .* found bf16 x f16; .*\[types\]"),
        (_with(d={"dtype": "s32"}), r"expected D of f16 or f32, found s32; .* \[d-type\]"),
        (lambda: replace(BASE, target="sm_90"), "'wgmma' does not exist on sm_90; supported on sm_90a"),
        (lambda: replace(BASE, threads=192), "expected whole warpgroups of 128 threads, found a block of 192"),
        (lambda: replace(BASE, threads=128), "D: expected warpid in 0..3 in a block of 128 threads"),
        (_with(d={"registers": False}), "expected D .* in registers and B in shared memory, found D in shared memory"),
        (_with(b={"registers": True}), "B in registers"),
        (_with(b={"shape": (72, 64)}), "found A 128x64, B 72x64, D 128x64"),
        (
            lambda: _product(128, 64, 24, "f16", "f16", "f32", b_layout=TileLayout.parse("S[(64, 24) : (24, 1)]"),
                             a_layout=TileLayout.parse("S[(128, 24) : (24, 1)]")),
            "expected K in steps of 16, found 24; nearest is 32",
        ),
        (
            _with(d={"layout": OTHER_ROWS}),
            r"expected element \(1, 0\) of D in register 0 of thread 4, found \(2, 0\).*; use the layout S\[",
        ),
        (
            _with(a={"layout": TileLayout.parse("S[(128, 64) : (64, 1)]")}),
            r"A: .* is not canonical.*write #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>",
        ),
        (
            _with(b={"layout": ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.parse("S[(64, 64) : (1, 72)]"))}),
            "B: .* is not canonical",
        ),
        (
            lambda: replace(
                _product(64, 64, 64, "s8", "s8", "s32"),
                b=Tile(smem_layout("s8", "64B", "MN", (64, 64)), (64, 64), "s8"),
            ),
            "B: .* is MN-major with swizzle 64B, which the hardware does not read for s8: expected K-major none, 32B",
        ),
    ],
)  # fmt: skip
def test_products_that_wgmma_does_not_have(make: Callable[[], Product], message: str):
    with pytest.raises(LegalityError, match=message):
        match(make())


def test_suggested_layouts_match():
    """The layout that a message ends with is one that the product accepts."""
    with pytest.raises(LegalityError) as error:
        match(_with(a={"layout": TileLayout.parse("S[(128, 64) : (64, 1)]")})())
    assert error.value.suggestion is not None
    _check(_with(a={"layout": error.value.suggestion})())


def test_a_of_other_warpgroups():
    """A in registers must be where D's rows are."""
    p = _product(128, 64, 32, "f16", "f16", "f32", grid=Warpgroups(2), a_registers=True)
    p = replace(p, a=replace(p.a, layout=OTHER_WARPGROUPS))
    with pytest.raises(
        LegalityError,
        match=(
            r"^expected A of rows \[0, 64\), \[64, 128\) from column 0 on in the registers of the "
            r"warpgroups that have these rows of D, found it in none with S\[\(2, 4, 2, 8, 2, 2, 4, 2\) : "
            r"\(16, 1@warpid, 2, 4@laneid, 8, 4, 1@laneid, 1\)\] \+ R\[2 : 4@warpid\]$"
        ),
    ):
        match(p)
    plan = _check(replace(p, d=replace(p.d, layout=accumulator_layout(128, 64, Warpgroups(1, 2)))))
    assert {step.a for step in plan.steps} == {0, 8, 16, 24}


def test_metadata_of_another_size():
    p = _product(64, 64, 64, "f16", "f16", "f32", sparse=True)
    assert p.metadata is not None
    with pytest.raises(LegalityError, match="expected codes of 64x16 for 64 elements of K, found 64x32"):
        match(replace(p, metadata=replace(p.metadata, shape=(64, 32), layout=metadata_layout(64, 128, "f16"))))


def test_registers_of_another_form():
    p = _product(64, 64, 16, "f16", "f16", "f32")
    swizzled = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((64, 64)))
    with pytest.raises(LegalityError, match="expected a register layout of D without a swizzle, found"):
        match(replace(p, d=replace(p.d, layout=swizzled)))
    p = _product(64, 8, 16, "f16", "f16", "f32")
    layout = p.d.layout
    assert isinstance(layout, TileLayout)
    behind = TileLayout(layout.shard, layout.replica, {"m": 1})
    with pytest.raises(LegalityError, match="expected registers of D in units of 4 elements, found 5 with"):
        match(replace(p, d=replace(p.d, layout=behind)))


def test_parts_of_b_that_no_instructions_share():
    p = _product(64, 192, 16, "f16", "f16", "f32", grid=Warpgroups(1, 2))
    blocks = TileLayout.parse("S[(3, 8, 8, 2, 8) : (1536, 128, 8, 64, 1)]")
    with pytest.raises(
        LegalityError,
        match=(
            r"^B: expected the same steps through shared memory in all warpgroups, found offsets \(1024, "
            r"6144\) where they start at \(0, 4096\)$"
        ),
    ):
        match(replace(p, b=replace(p.b, layout=blocks)))
    p = _product(64, 80, 32, "s8", "s8", "s32")
    blocks = TileLayout.parse("S[(2, 5, 8, 2, 16) : (1536, 256, 16, 128, 1)]")
    with pytest.raises(LegalityError, match="B: expected one major-ness, swizzle, LBO and SBO in all parts, found"):
        match(replace(p, b=replace(p.b, layout=blocks)))
