"""The algebra of the page gives what `tirx.layout`, `tirx.copy` and the encoders of descriptors give."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pytest
from unit.viz.viz_page import Page

from tirx.copy import analyse_access
from tirx.hw.dtypes import DTYPES
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.smem.atoms import smem_layout
from tirx.smem.canonical import canonical_layout, operand_slices
from tirx.smem.swizzle_modes import MAJORS, TCGEN05_OPERANDS, WGMMA_OPERANDS, legal_modes
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor, find_form
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.zero_column_mask import SUB_MASKS, ZeroColumnMask
from tirx.viz import presets
from tirx.viz.tile import digest_of

_AXES = ("m", "laneid", "warpid", "TLane", "TCol", "pid", "tid")


def _factors(rng: random.Random, size: int) -> list[int]:
    found: list[int] = []
    while size > 1:
        factor = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        found.append(factor)
        size //= factor
    return found or [1]


def _random_layout(rng: random.Random, size: int, axes: tuple[str, ...] = _AXES) -> TileLayout:
    iters = [Iter(e, rng.choice((0, 1, 1, 2, 3, 4, 8, 16, -1, -3)), rng.choice(axes)) for e in _factors(rng, size)]
    replica = [
        Iter(rng.choice((2, 3, 4)), rng.choice((1, 2, 4, 16, -2)), rng.choice(axes)) for _ in range(rng.randrange(3))
    ]
    offset = {rng.choice(axes): rng.randrange(-4, 9) for _ in range(rng.randrange(3))}
    return TileLayout(iters, replica, offset)


_FACTS = """(texts) => texts.map((text) => {
  const { algebra, notation } = tirx;
  const layout = notation.parseLayout(text);
  const rows = [];
  for (let flat = 0; flat < algebra.sizeOf(layout); flat++) rows.push(algebra.owners(layout, flat));
  return {
    text: notation.layoutText(layout), axes: algebra.axesOf(layout), rows, digest: algebra.digest(layout),
    canonical: notation.layoutText(algebra.canonicalize(layout)), footprint: algebra.footprint(layout),
    injective: algebra.isInjective(layout),
  };
})"""


def test_tables(shown: Page) -> None:
    """Owners of every element, canonical form, footprint, injectivity: random tiles and swizzles."""
    rng = random.Random(1)
    layouts: list[TileLayout | ComposeLayout] = [_random_layout(rng, rng.choice((12, 16, 24, 64))) for _ in range(12)]
    layouts += [
        ComposeLayout(
            SwizzleLayout(rng.randrange(4), b := rng.randrange(4), b + rng.randrange(2), rng.random() < 0.7),
            TileLayout(
                [Iter(e, rng.choice((1, 2, 8, 64, 96))) for e in _factors(rng, 64)], offset={"m": rng.randrange(99)}
            ),
        )
        for _ in range(8)
    ]
    for layout, found in zip(layouts, shown.call(_FACTS, [str(each) for each in layouts]), strict=True):
        assert found["text"] == str(layout)
        assert found["axes"] == list(layout.axes if isinstance(layout, TileLayout) else layout.tile.axes or ("m",))
        rows = [[list(owner.values()) for owner in layout.owners(flat)] for flat in range(layout.size())]
        assert found["rows"] == rows, str(layout)
        assert found["digest"] == digest_of(layout)
        assert found["footprint"] == {name: list(ends) for name, ends in layout.footprint().items()}, str(layout)
        assert found["injective"] == layout.is_injective()
        if isinstance(layout, TileLayout):
            normal, wanted = TileLayout.parse(found["canonical"]), layout.canonicalize()
            assert (normal.shard, normal.offset) == (wanted.shard, wanted.offset), str(layout)
            assert normal.equivalent(layout)


def test_wide_addresses(shown: Page) -> None:
    """Swizzles of addresses beyond 32 bits: JavaScript's XOR has 32."""
    rng = random.Random(2)
    cases = [(rng.randrange(5), b := rng.randrange(4), b + rng.randrange(20), rng.random() < 0.5) for _ in range(40)]
    addresses = [rng.randrange(1 << rng.randrange(1, 48)) for _ in cases]
    function = """(cases, addresses) => cases.map(([m, b, s, inner], k) =>
      tirx.algebra.swizzleAddress({ m, b, s, inner }, addresses[k]))"""
    assert shown.call(function, cases, addresses) == [
        SwizzleLayout(*case).apply(address) for case, address in zip(cases, addresses, strict=True)
    ]


_INVERSES = """(cases) => cases.map(([text, where]) => tirx.algebra.inverse(tirx.notation.parseLayout(text), where))"""


def test_inverse(shown: Page) -> None:
    rng = random.Random(3)
    layouts = [_random_layout(rng, rng.choice((16, 24, 64))) for _ in range(60)]
    cases: list[tuple[TileLayout, dict[str, int]]] = []
    for layout in layouts:
        place = rng.choice(layout.owners(rng.randrange(layout.size())))
        kept = {name: at for name, at in place.items() if rng.random() < 0.8}
        cases.append((layout, kept))
    expected = [layout.inverse(where) for layout, where in cases]
    assert shown.call(_INVERSES, [(str(layout), where) for layout, where in cases]) == expected


def test_differences(shown: Page) -> None:
    """The elements that lie elsewhere in another layout: every owner counts, aliases and swizzles do."""
    rng = random.Random(9)
    pairs: list[tuple[TileLayout | ComposeLayout, TileLayout | ComposeLayout]] = []
    for _ in range(30):
        layout = _random_layout(rng, 24)
        other = rng.choice((layout.canonicalize(), _random_layout(rng, 24), layout.with_offset(m=1)))
        pairs.append((layout, other))
        tile = TileLayout.row_major((8, 16))
        swizzles = [SwizzleLayout.for_bits(rng.choice((8, 16)), rng.choice(("32B", "64B"))) for _ in range(2)]
        copied = TileLayout(tile.shard, [Iter(2, 128)] if rng.random() < 0.5 else [])
        pairs.append((ComposeLayout(swizzles[0], copied), ComposeLayout(swizzles[1], copied)))

    def places(layout: TileLayout | ComposeLayout, flat: int) -> list[dict[str, int]]:
        found = [{name: at for name, at in owner.items() if at} for owner in layout.canonicalize().owners(flat)]
        return sorted(found, key=lambda owner: sorted(owner.items()))

    expected = [[f for f in range(x.size()) if places(x, f) != places(y, f)] for x, y in pairs]
    function = """(pairs) => pairs.map((pair) =>
      tirx.algebra.differences(...pair.map((text) => tirx.notation.parseLayout(text))))"""
    assert shown.call(function, [(str(x), str(y)) for x, y in pairs]) == expected
    assert any(expected) and not all(expected)


_OPERATIONS = """(cases) => cases.map(([name, texts, ...rest]) => {
  const { algebra, notation } = tirx;
  const layouts = texts.map((text) => notation.parseLayout(text));
  try {
    const found = algebra[name](...layouts, ...rest);
    return notation.layoutText(found.layout ?? found);
  } catch (error) {
    if (error.position === undefined) throw error;
    return null;
  }
})"""


def _attempt(run: Any) -> TileLayout | None:
    try:
        return run()
    except LayoutError:
        return None


def _agree(shown: Page, cases: list[tuple[list[Any], TileLayout | None]]) -> None:
    found = shown.call(_OPERATIONS, [case for case, _ in cases])
    for (case, expected), text in zip(cases, found, strict=True):
        assert (text is None) == (expected is None), (case, text, expected)
        assert text is None or (expected is not None and TileLayout.parse(text).equivalent(expected)), (case, text)
    assert sum(text is not None for text in found) > len(found) // 4


def test_operations(shown: Page) -> None:
    """tile, direct_sum, slice, permute, group and compose, and which of them have no answer."""
    rng = random.Random(4)
    cases: list[tuple[list[Any], TileLayout | None]] = []

    def case(name: str, layouts: Sequence[TileLayout], rest: Sequence[Any], run: Callable[[], TileLayout]) -> None:
        cases.append(([name, [str(each) for each in layouts], *rest], _attempt(run)))

    for _ in range(40):
        outer, inner = rng.choice([((2, 4), (4, 6)), ((3, 2), (8, 2)), ((2, 2), (4, 4))])
        a, b = _random_layout(rng, prod(inner)), _random_layout(rng, prod(outer))
        case("tile", (a, b), (outer, inner), partial(a.tile, b, outer, inner))
        case("directSum", (a, b), (outer, inner), partial(a.direct_sum, b, outer, inner))
        shape = rng.choice([(24,), (4, 6), (2, 3, 4)])
        x = _random_layout(rng, 24)
        region = [(begin := rng.randrange(extent), rng.randrange(begin, extent) + 1) for extent in shape]
        case("slice", (x,), (shape, region), partial(x.slice, shape, region))
        perm = rng.sample(range(len(shape)), len(shape))
        case("permute", (x,), (perm, shape), partial(x.permute, perm, shape))
        case("group", (x,), (shape,), lambda x=x, shape=shape: x.group(shape)[0])
        index = TileLayout([Iter(e, rng.choice((1, 2, 3, 4))) for e in _factors(rng, 8)])
        plain = TileLayout(x.shard, (), x.offset)
        case("compose", (plain, index), (), partial(plain.compose, index))
    _agree(shown, cases)


_CONFLICTS = """(cases) => cases.map(([text, lanes, bits, vector]) => {
  try {
    const found = tirx.banks.analyse(tirx.notation.parseLayout(text), lanes, bits, vector);
    return [found.degree, found.wavefronts, found.degrees, found.worst.bank];
  } catch (error) {
    if (error.position === undefined) throw error;
    return null;
  }
})"""


def test_bank_conflicts(shown: Page) -> None:
    """Random access patterns of random swizzles: degree, wavefronts, the degree of every phase."""
    rng = random.Random(5)
    cases: list[list[Any]] = []
    expected: list[Any] = []
    for _ in range(40):
        bits = rng.choice((4, 8, 16, 32, 64))
        swizzle = SwizzleLayout.for_bits(bits, rng.choice(("none", "32B", "64B", "128B")))
        layout = ComposeLayout(swizzle, TileLayout.row_major((16, 64)))
        vector = rng.choice([v for v in (1, 2, 4, 8, 16, 32) if bits * v in (8, 16, 32, 64, 128)])
        lanes = [rng.randrange(1024 // vector) * vector for _ in range(32)]
        pattern = [[lane + k for k in range(vector)] for lane in lanes]
        cases.append([str(layout), pattern, bits, vector])
        try:
            report = analyse_access(layout, (16, 64), np.array(pattern), bits, vector)
            expected.append([report.degree, report.wavefronts, list(report.degrees), report.worst.bank])
        except LayoutError:
            expected.append(None)
    assert shown.call(_CONFLICTS, cases) == expected
    assert sum(each is not None for each in expected) > 20


def test_sectors(shown: Page) -> None:
    """32-byte sectors of global memory: whole rows are coalesced, columns are not."""
    function = """(text, bits) => {
      const layout = tirx.notation.parseLayout(text);
      return tirx.banks.patterns([64, 64], bits).map((each) => {
        const { touched, least } = tirx.banks.sectors(layout, each.lanes, bits, each.vector);
        return [each.name, touched, least];
      });
    }"""
    found = {name: (touched, least) for name, touched, least in shown.call(function, "S[(64, 64) : (64, 1)]", 16)}
    assert found["row"] == (2, 2)
    assert found["rowVector"] == (16, 16)
    assert found["column"] == (32, 2)
    assert found["columnVector"] == (32, 16)


_MASKS = """(cases) => cases.map(([m, zero, shift]) => {
  const { fields, reserved } = tirx.app.tables.mask;
  try {
    const word = tirx.mask.encodeMask(tirx.mask.maskOf(zero, m, shift), fields);
    return [String(word), tirx.mask.expandMask(tirx.mask.decodeMask(word, fields, reserved), m, zero.length)];
  } catch (error) {
    if (error.position === undefined) throw error;
    return error.column ?? "none";
  }
})"""


def test_zero_column_masks(shown: Page) -> None:
    """Columns to descriptors and back, and the column at which there is none."""
    rng = random.Random(6)
    cases: list[tuple[int, list[bool], int]] = []
    expected: list[Any] = []
    for _ in range(80):
        m = rng.choice(list(SUB_MASKS))
        n = rng.choice((64, 96, 128, 256))
        skip, use, phase = rng.randrange(1, 20), rng.randrange(1, 20), rng.randrange(40)
        zero = [(j + phase) % (skip + use) < skip for j in range(n)]
        if rng.random() < 0.3:
            at = rng.randrange(n)
            zero[at] = not zero[at]
        shift = rng.randrange(17)
        cases.append((m, zero, shift))
        try:
            word = ZeroColumnMask.from_columns(zero, m, n, shift).encode()
            expected.append([str(word), zero])
        except LegalityError as error:
            column = getattr(error, "column", None)
            expected.append("none" if column is None else column)
    assert shown.call(_MASKS, cases) == expected


_DESCRIPTORS = """(cases) => cases.map(([text, shape, bits, name, base]) => {
  const { notation, words, app } = tirx;
  const family = app.tables.families.find((row) => row.name === name);
  const fits = words.canonicalFits(notation.parseLayout(text), shape, bits, app.tables);
  return fits.filter((fit) => name === "tcgen05" || fit.mode.wgmma_code !== null)
    .map((fit) => [fit.major, fit.mode.name, String(words.encodeDescriptor(fit, base + fit.start, family))]);
})"""


def test_matrix_descriptors(shown: Page) -> None:
    """Every canonical operand that one descriptor reads has that descriptor on the page."""
    cases: list[list[Any]] = []
    expected: list[list[Any]] = []
    for family, name in ((TCGEN05_OPERANDS, "tcgen05"), (WGMMA_OPERANDS, "wgmma")):
        for dtype in ("f16", "tf32", "e4m3", "e2m1"):
            if dtype not in family.dtypes:
                continue
            bits = DTYPES[dtype].storage_bits
            for major in MAJORS:
                for mode in legal_modes(DTYPES[dtype], major, family):
                    rows = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_base32B": 128}[mode] * 8 // bits
                    shape = (32, rows) if major == "K" else (2 * rows, 64)
                    layout = smem_layout(dtype, mode, major, shape)
                    canonical = canonical_layout(layout, shape, dtype, family=family)
                    descriptor = canonical.descriptor(2048)
                    word = (WgmmaDescriptor.of(descriptor) if name == "wgmma" else descriptor).encode()
                    cases.append([str(layout), shape, bits, name, 2048])
                    expected.append([canonical.major, canonical.swizzle, str(word)])
    assert len(cases) > 20
    for case, found, wanted in zip(cases, shown.call(_DESCRIPTORS, cases), expected, strict=True):
        assert wanted in found, (case, found, wanted)


def test_steps_along_k(shown: Page) -> None:
    """The start address of every instruction of 32 bytes of K, as `operand_slices` gives it."""
    cases: list[list[Any]] = []
    expected: list[list[int]] = []
    for tile in presets():
        if tile.group == "Canonical operands":
            bits = DTYPES[tile.dtype].storage_bits
            cases.append([str(tile.layout), tile.shape, bits])
            slices = operand_slices(tile.layout, (tile.shape[0], tile.shape[1]), tile.dtype, 256 // bits)
            expected.append([part.offset_bytes for part in slices])
    function = """(cases) => cases.map(([text, shape, bits]) => {
      const { notation, words, app } = tirx;
      const fits = words.canonicalFits(notation.parseLayout(text), shape, bits, app.tables);
      return fits.map((fit) => words.kSteps(fit, shape, bits, 32).map((step) => step.start));
    })"""
    for case, found, wanted in zip(cases, shown.call(function, cases), expected, strict=True):
        assert wanted in found, (case, found, wanted)


_INSTRUCTIONS = """(cases) => cases.map(([name, values]) => {
  const kind = tirx.app.tables.kinds.find((row) => row.name === name);
  const word = tirx.words.encodeInstruction(kind, values);
  return [String(word), tirx.words.decodeInstruction(kind, word)];
})"""


def test_instruction_descriptors(shown: Page) -> None:
    rng = random.Random(7)
    cases: list[tuple[str, dict[str, str]]] = []
    expected: list[int] = []
    tables = {row["name"]: row for row in shown.run("tirx.app.tables.kinds")}
    for kind in KINDS:
        fields = dict(find_form(kind).fields)
        for _ in range(6):
            values = {name: rng.choice(tables[kind]["legal"][name]) for name in fields}
            cases.append(
                (
                    kind,
                    {
                        name: str(value).lower() if value in (True, False) else str(value)
                        for name, value in values.items()
                    },
                )
            )
            expected.append(InstructionDescriptor(kind=kind, **values).encode_unchecked())
    for (kind, values), (word, decoded), wanted in zip(cases, shown.call(_INSTRUCTIONS, cases), expected, strict=True):
        assert int(word) == wanted, (kind, values)
        assert decoded == values


def test_presets_agree(shown: Page) -> None:
    """The page checks the table of every preset against the digest that Python made."""
    function = """() => tirx.app.presets.map((each) => {
      const shape = each.shape.join(",");
      const tile = tirx.tiles.readTile(each.text, shape, each.dtype, tirx.app.tables);
      return [each.text, tirx.tiles.agrees(tile, tirx.app.presets, tirx.algebra.digest)];
    })"""
    found = shown.call(function)
    assert [each for each in found if each[1] is not True] == []
    assert len(found) == len(presets())


@pytest.mark.parametrize(
    ("text", "position"),
    [("S[(8, 2) : (4@lane, 1)]", 14), ("S[8 : ", 6), ("S[(8, 2) : (1, 2, 3)]", 11), ("S[0 : 1]", 2), ("S[8 : 1] x", 9)],
)
def test_errors_of_texts(shown: Page, text: str, position: int) -> None:
    """The page points at the character that `tirx.layout` points at."""
    with pytest.raises(LayoutError) as error:
        TileLayout.parse(text)
    function = "(text) => { try { tirx.notation.parseLayout(text); } catch (error) { return error.position; } }"
    assert shown.call(function, text) == error.value.position == position
