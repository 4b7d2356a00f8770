"""Copies, fragments of all instructions, and the decisions of a program: the page against `tirx`, and by clicks."""

from __future__ import annotations

import random
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.viz.viz_page import FIRST, Page

from tirx.copy import analyse_access
from tirx.copy.access import plan_accesses
from tirx.copy.matrix import plan_matrices
from tirx.copy.tensor_map_bits import TensorMapBits
from tirx.copy.tma import SWIZZLE_WIDTHS, SWIZZLES_OF_LAYOUTS, plan_boxes, tensor_map_unit
from tirx.hw.dtypes import DTYPES
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.layout.iters import row_major
from tirx.layout.ownership import held_elements
from tirx.mma.fragments import VARIANTS
from tirx.sim import TensorMap
from tirx.sim.memory.tensor_copy import shared_addresses
from tirx.sim.tensor_map import ELEMENTS
from tirx.tcgen05.tmem_access import ld_fragment
from tirx.tools.tirx_viz import main
from tirx.viz.browser import Browser
from tirx.viz.fragments import fragment_tables, matrix_fragment, warp_accumulator, warp_fragment
from tirx.wgmma.fragments import accumulator_layout

_EXAMPLE = Path(__file__).parents[3] / "examples" / "tcgen05_gemm.mlir"


_MAPS = """(cases) => cases.map(([dims, box, dtype, mode, bits, address]) => {
  const { app, copy, banks } = tirx;
  const map = copy.tensorMap({ dims, box, dtype, mode }, app.tables);
  const at = banks.addressesOf(copy.boxLayout(box, bits, mode, app.tables));
  const size = box.reduce((a, b) => a * b, 1);
  return {
    word: map.problems.length ? null : String(copy.encodeTensorMap(map, address, app.tables)),
    places: Array.from({ length: size }, (_, flat) => at(flat)), alignment: map.alignment, bytes: map.bytes,
  };
})"""


def test_tensor_maps(shown: Page) -> None:
    """The 128 bytes of a map, or that there is none, and where each element of its box lands."""
    rng = random.Random(5)
    cases: list[tuple[Any, ...]] = []
    for _ in range(60):
        dtype = rng.choice(("f16", "bf16", "e4m3", "f32", "tf32", "f64", "e2m1"))
        rank = rng.randrange(1, 5)
        dims = (*(rng.choice((3, 8, 64, 130)) for _ in range(rank - 1)), rng.choice((24, 64, 100, 4096)))
        box = (*(rng.choice((1, 2, 4)) for _ in range(rank - 1)), rng.choice((8, 16, 32, 64, 300)))
        mode = rng.choice(tuple(SWIZZLES_OF_LAYOUTS))
        cases.append((dims, box, dtype, mode, DTYPES[dtype].storage_bits, rng.randrange(1 << 40) * 16))
    legal = 0
    for case, found in zip(cases, shown.call(_MAPS, cases), strict=True):
        dims, box, dtype, mode, bits, address = case
        unit = tensor_map_unit(DTYPES[dtype])
        sizes = (*dims[:-1], dims[-1] // unit.elements)[::-1]
        strides = tuple(int(x) * unit.bytes for x in np.cumprod(sizes[:-1]))
        extents = (*box[:-1], box[-1] // unit.elements)[::-1]
        wanted = None
        try:
            bits_of_map = TensorMapBits(address, unit.type, sizes, strides, extents, swizzle=SWIZZLES_OF_LAYOUTS[mode])
            wanted = str(int.from_bytes(bits_of_map.encode(), "little"))
        except LegalityError:
            pass
        assert found["word"] == wanted, case
        if wanted is None:
            continue
        legal += 1
        # The simulator is the witness of where a box lands.
        array = np.zeros(extents[::-1], ELEMENTS[unit.type])
        landed = shared_addresses(TensorMap(array, extents, SWIZZLES_OF_LAYOUTS[mode], element=unit.type), 0)
        first = np.arange(prod(box)) * bits // 8
        assert (np.array(found["places"]) * bits // 8).tolist() == landed[first].tolist(), case
        assert found["bytes"] == array.nbytes, case
        if mode == "none" or box[-1] * bits == 8 * SWIZZLE_WIDTHS[SWIZZLES_OF_LAYOUTS[mode]]:
            tile = TileLayout(row_major(box))
            layout = tile if mode == "none" else ComposeLayout(SwizzleLayout.for_bits(bits, mode), tile)
            plan = plan_boxes(layout, box, dtype, len(box) - 1)
            assert (plan.num_bytes, plan.alignment) == (found["bytes"], found["alignment"]), case
    assert 10 < legal < len(cases)


_ACCESSES = """(cases) => cases.map(([memory, registers, shape, bits]) => {
  const { copy, notation } = tirx;
  const layout = notation.parseLayout(memory);
  const held = copy.heldBy(registers, shape);
  const registersOf = (t) => Array.from({ length: held.registers }, (_, r) => held.at(t, r));
  const degrees = (warp) => copy.accessesOf(held, layout, bits, warp).map((each) => each.conflicts.degrees);
  return {
    table: Array.from({ length: held.threads }, (_, t) => registersOf(t)),
    accesses: copy.widestAccesses(held, layout, bits),
    degrees: Array.from({ length: held.threads / 32 }, (_, warp) => degrees(warp)),
  };
})"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("bits", [16, 32])
def test_accesses_of_threads(shown: Page, bits: int) -> None:
    """Who holds what, how wide the accesses are, and the conflicts of each."""
    shape = (16, 64)
    dtype = {16: "f16", 32: "f32"}[bits]
    registers = [
        "S[(4, 32, 8) : (8, 1@laneid, 1)]",
        "S[(2, 8, 8, 4, 2) : (16, 4@laneid, 2, 1@laneid, 1)]",
        "S[(4, 4, 2, 32) : (1@wid_in_wg, 2, 1, 1@laneid)]",
        "S[(16, 2, 32) : (2, 1, 1@tx)]",
        "S[(16, 64) : (1@laneid, 1)] + R[2 : 16@laneid]",
    ]
    memories = [
        TileLayout(row_major(shape)),
        ComposeLayout(SwizzleLayout.for_bits(bits, "128B"), TileLayout(row_major(shape))),
        TileLayout.parse("S[(16, 64) : (1, 16)]"),
    ]
    cases = [(str(memory), text, shape, bits) for memory in memories for text in registers]
    for (memory, text, *_), found in zip(cases, shown.call(_ACCESSES, cases), strict=True):
        layout = next(each for each in memories if str(each) == memory)
        register = TileLayout.parse(text)
        threads = len(found["table"])
        assert found["table"] == held_elements(register, shape, threads).tolist()
        plan = plan_accesses(register, layout, shape, bits, threads)
        assert found["accesses"] == [[each.register, each.count] for each in plan.accesses], (memory, text)
        widths = {count for _, count in found["accesses"]}
        if len(widths) == 1:
            report = analyse_access(layout, shape, register, dtype, widths.pop())
            assert [d for warp in found["degrees"] for access in warp for d in access] == list(report.degrees)


def test_thread_value_layout_of_cute(shown: Page) -> None:
    """As `TileLayout.from_thread_value`: the accumulator of m16n8k16."""
    text = "((4,8),(2,2)):((32,1),(16,8))"
    found = shown.call("(text) => { const h = tirx.copy.heldBy(text, [16, 8]); return h.owners; }", text)
    layout = TileLayout.from_thread_value(text, (16, 8))
    assert found == [[[place["laneid"], place["m"]]] for place in map(layout.apply, range(128))]


def test_a_box(shown: Page) -> None:
    """A click on an element of the tensor shows where it lands, and one in shared memory where it comes from."""
    shown.change(tab="copies", eng="tma", d="f16", td="64, 128", tb="8, 64", ts="16, 64", tw="128B")
    row, column = shown.run("tirx.grids()[0][1].model.cellOf(70)[0]")
    shown.cell(0, row, column)
    assert shown.state["e"] == "70"
    assert "Element (17,70) of the tensor, (1,6) of the box" in shown.text("#copy-element")
    assert "byte 156, bank 7, line 1" in shown.text("#copy-element")
    shown.cell(1, 2, 0)
    assert shown.state["e"] == str(2 * 64 + 16), "row 2 begins with the third piece of 16 bytes"
    facts = shown.text("#copy-facts")
    assert "globalDim{128, 64}" in facts and "globalStrides{256}" in facts and "boxDim{64, 8}" in facts
    shown.change(ts="60, 64")
    assert "1,024 bytes, those outside of the tensor included (256 elements)" in shown.text("#copy-facts")
    assert "outside of the tensor, zero" in shown.run("((m) => m.say(...m.cellOf(511)[0]))(tirx.grids()[0][1].model)")
    shown.change(tb="8, 128")
    assert "a multiple of 16 bytes of at most 128, the row of swizzle 128B, found 256" in shown.text("#copy-facts")
    shown.change(tb="8")
    assert "expected a box of rank 2, as the tensor, found 1" in shown.text(".error:not([hidden])")


def test_threads_that_copy(shown: Page) -> None:
    """A column for each lane conflicts without a swizzle; an access marks what it reads."""
    shown.change(tab="copies", eng="threads", d="f16", l="S[(32, 64) : (64, 1)]", s="32,64", ft="3")
    shown.change(rl="S[(32, 64) : (1@laneid, 1)]")
    assert "Warp 0: 8 accesses" in shown.text("#copy-facts")
    assert "8-way" in shown.text("#copy-more") and "32 / 16" in shown.text("#copy-more")
    shown.press("[data-access='1']")
    assert shown.run("tirx.grids()[1][1].marks[0].cells.length") == 32 * 8
    shown.change(l="ComposeLayout(Swizzle(3, 3, 3), S[(32, 64) : (64, 1)])")
    assert "8-way" not in shown.text("#copy-more")
    shown.change(rl="S[(32, 64) : (1@laneid, 1@TCol)]")
    assert "expected thread axes and m in a register layout, found axis TCol" in shown.text(".error:not([hidden])")
    shown.change(rl="", eng="tma", l=FIRST)


def _held(shown: Page) -> list[list[tuple[int, ...]]]:
    """Elements of each operand that the chosen thread holds."""
    texts = shown.run("[...document.querySelectorAll('#held code')].map((each) => each.textContent)")
    pairs = [text.replace("(", "").split(")") for text in texts]
    return [[tuple(map(int, pair.split(","))) for pair in each if pair.strip()] for each in pairs]


def _expected(layout: TileLayout, shape: tuple[int, int], place: dict[str, int]) -> list[tuple[int, ...]]:
    flats = sorted(layout.inverse(place), key=lambda flat: layout.apply(flat).get("m", 0))
    return [tuple(int(x) for x in np.unravel_index(flat, shape)) for flat in flats]


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [8, 40, 256])
def test_wgmma_fragments(shown: Page, n: int) -> None:
    """D of every N is the fragment of 8 columns, repeated."""
    name = next(row["name"] for row in fragment_tables() if row["group"] == "wgmma" and ".f32" in row["name"])
    shown.change(tab="fragments", fv=name, fn=str(n), ft="71")
    assert _held(shown)[1] == _expected(accumulator_layout(64, n), (64, n), {"laneid": 7, "warpid": 2})
    assert f"m64n{n}k16" in shown.text("#mnemonic")
    shown.change(ft="128")
    assert "expected a thread from 0 to 127, found '128'" in shown.text(".error:not([hidden])")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "row", [row for row in fragment_tables() if "tcgen05" in row["group"]], ids=lambda row: row["name"]
)
def test_tensor_memory_fragments(shown: Page, row: dict[str, Any]) -> None:
    """Every .xNUM is that of .x1, repeated."""
    num = row["sizes"][2]
    shown.change(tab="fragments", fv=row["name"], fn=str(num), ft="50")
    layout = ld_fragment(row["name"], num)
    rows = row["operands"]["T"]["shape"][0]
    assert _held(shown) == [_expected(layout, (rows, layout.size() // rows), {"laneid": 18, "wid_in_wg": 1})]


def test_fragments_that_no_product_uses(shown: Page) -> None:
    """They follow the formula that the forms of the compiler follow, and are drawn."""
    for variant in VARIANTS.values():
        _, n, k = variant.shape
        *_, stored = variant.a.shape
        if variant.instruction != "m8n8k4" and variant.a.dtype != "f64":
            bits = DTYPES[variant.a.dtype].bits
            assert warp_fragment(16, stored, bits).equivalent(variant.a.layout), variant
            assert warp_fragment(n, k, bits).equivalent(variant.b.layout), variant
            assert warp_accumulator(16).equivalent(variant.c.layout), variant
    for name in ("m16n8k256.s32.b1", "m16n8k32.f32.f16.sp", "m64nNk32.f32.sp: f16 x f16, bf16 x bf16"):
        shown.change(tab="fragments", fv=name, fn="", ft="4")
        assert len(_held(shown)) == 3


@together("transposed", [False, True])
@together("count", [1, 2, 4])
def test_matrix_fragments(count: int, transposed: bool) -> None:
    """`ldmatrix` is planned for the fragment, with the row of each lane."""
    shape = (8 * count, 8)
    plan = plan_matrices(matrix_fragment(count, transposed), TileLayout(row_major(shape)), shape, 16, 32)
    assert plan is not None
    assert (plan.transposed, plan.count, len(plan.rows)) == (transposed, count, 1)
    found = [plan.rows[0].offset.evaluate({"tid": lane}) for lane in range(8 * count)]
    assert found == [8 * lane for lane in range(8 * count)]


def test_d_beside_c(shown: Page) -> None:
    """The form of m8n8k4 with C in f16 and D in f32 shows both, as lane 5 holds them."""
    shown.change(tab="fragments", fv="m8n8k4.row.col.f32.f16, C in f16", ft="5")
    assert shown.text("#mnemonic") == "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16;"
    rows = shown.run("[...document.querySelectorAll('#held tr')].map((each) => each.textContent)")
    for letter, variant in (("C", "m8n8k4.row.col.f16"), ("D", "m8n8k4.row.col.f32.f16")):
        fragment = VARIANTS[variant].c
        where = {fragment.layout.apply(place, fragment.shape)["m"]: place for place in np.ndindex(fragment.shape)
                 if fragment.layout.apply(place, fragment.shape)["laneid"] == 5}  # fmt: skip
        assert f"{letter}{' '.join('({},{},{})'.format(*where[m]) for m in range(8))}" in rows


def test_decisions_of_a_program(shown: Page, browser: Browser, tmp_path: Path) -> None:
    """The text of a program beside what was decided about it; a line chooses both, a word goes to its bits."""
    path = tmp_path / "gemm.html"
    assert main([str(_EXAMPLE), "-o", str(path)]) == 0
    browser.open(path.as_uri())
    try:
        shown.change(tab="program")
        line = next(k for k, text in enumerate(_EXAMPLE.read_text().split("\n"), 1) if "tirx.mma" in text)
        shown.press(f"#source [data-line='{line}']")
        assert shown.state["pl"] == str(line)
        chosen = shown.text("#decisions .chosen")
        assert "tcgen05, kind" in chosen and "0x08400010" in chosen
        assert shown.run("document.querySelectorAll('.memory span').length") > 2
        shown.press("#decisions .chosen dd button")
        assert shown.state["tab"] == "descriptor" and shown.state["word"].startswith("0x40004040")
        shown.change(tab="program", pl="")
        shown.press("#decisions .decision h4 button:last-child")
        assert shown.state["tab"] == "layout" and shown.state["l"].startswith("ComposeLayout(Swizzle(3, 3, 3)")
        shown.change(tab="program", pl="")
        shown.press("[data-beside=ptx]")
        shown.press(f"#source [data-line='{line}']")
        chosen = shown.run("[...document.querySelectorAll('#ptx .chosen')].map((each) => each.textContent)")
        assert sum("tcgen05.mma." in each for each in chosen) == 4
        shown.press(f"#ptx [data-line='{line + 4}']")
        assert shown.text("#source .chosen").startswith(f"{line + 4}  tirx.copy %acc, %gd")
        shown.run("document.querySelector('#source').focus()")
        browser.press("ArrowUp")
        shown.drawn()
        assert shown.state["pl"] == str(line + 3)
    finally:
        browser.open(shown.path.as_uri())
