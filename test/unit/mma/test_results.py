"""The table of `mma.sync`, fragments that are picked and plans, right and wrong: whole results and messages."""

from collections.abc import Mapping
from pathlib import Path

from unit.cases import results

from tirx.hw.targets import TARGETS
from tirx.layout import TileLayout
from tirx.mma import fragments, pick
from tirx.mma.match import plan_mma
from tirx.mma.pick import pick_fragments


def _picked(*arguments: object, **named: object) -> str:
    found = pick_fragments(*arguments, **named)  # pyright: ignore[reportArgumentType]
    return f"{found.a} | {found.b} | {found.c}"


def _plan(*arguments: object) -> str:
    steps = plan_mma(*arguments)  # pyright: ignore[reportArgumentType]
    return ", ".join(f"{step.variant.name}: C {step.c_reg} A {step.a_reg} B {step.b_reg}" for step in steps)


def _planned(
    m: int,
    n: int,
    k: int,
    operand: str,
    accumulator: str,
    warps: int,
    changed: str = "",
    offset: Mapping[str, int] | None = None,
) -> str:
    """The plan of picked fragments; those in `changed` have their first iter last, or another offset."""
    found = pick_fragments(m, n, k, operand, accumulator, warps)
    tiles = {"a": found.a, "b": found.b, "c": found.c}
    for name in changed:
        tile = tiles[name]
        tiles[name] = (
            TileLayout((*tile.shard[1:], tile.shard[0]), tile.replica, tile.offsets)
            if offset is None
            else TileLayout(tile.shard, tile.replica, offset)
        )
    shapes = (m, k), (n, k), (m, n)
    return _plan(*tiles.values(), *shapes, (operand, operand), accumulator, 32 * warps)


NAMES = {name: value for module in (fragments, pick) for name, value in vars(module).items()} | {
    "F": _picked,
    "P": TileLayout.parse,
    "TARGETS": TARGETS,
    "pick": pick,
    "X": _planned,
    "Y": _plan,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "results.txt", NAMES)
    assert found == expected
