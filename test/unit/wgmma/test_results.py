"""Products, tiles and descriptors of wgmma of many sizes: whole plans, layouts and messages."""

from pathlib import Path

from unit.cases import results

from tirx.layout import ComposeLayout, SwizzleLayout, SwizzleMode, TileLayout
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.wgmma import check, fragments, kinds
from tirx.wgmma.match import Product, Tile, accumulator_part, match, pick_warpgroups


def _swizzled(mode: SwizzleMode, text: str, bits: int = 16) -> ComposeLayout:
    return ComposeLayout(SwizzleLayout.for_bits(bits, mode), TileLayout.parse(text))


def _wgmma(
    a: check.SmemOperand | None, b: check.SmemOperand | None, form: kinds.Form | None = None, **named: bool | None
) -> check.Wgmma:
    form = form or kinds.Form("f16", "f16", "f32", 64)
    return check.Wgmma(form, a, b, check.RegisterOperand("f32", None), **named)  # pyright: ignore[reportArgumentType]


def _read(*fields: object) -> check.SmemOperand:
    descriptor = WgmmaDescriptor(*fields)  # pyright: ignore[reportArgumentType]
    return check.SmemOperand(descriptor, 64, "f16", "K", 16)


def _matched(a: Tile, b: Tile, d: Tile, threads: int = 128, metadata: Tile | None = None) -> str:
    found = match(Product(a, b, d, threads, metadata))
    steps = ", ".join(f"{s.form.n}: D {s.d} A {s.a} B {s.b} {s.metadata} {s.selector}" for s in found.steps)
    return f"{found.warpgroups} A {found.a_read} B {found.b_read} {found.transposes} {steps}"


NAMES = {name: value for module in (check, fragments, kinds) for name, value in vars(module).items()} | {
    "D": _read,
    "M": _matched,
    "P": TileLayout.parse,
    "S": _swizzled,
    "Tile": Tile,
    "W": _wgmma,
    "accumulator_part": accumulator_part,
    "pick_warpgroups": pick_warpgroups,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "results.txt", NAMES)
    assert found == expected
