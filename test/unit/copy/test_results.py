"""Copies of tiles of many sizes: whole plans, costs, distributions, bank conflicts and messages."""

from pathlib import Path

import numpy as np
from unit.cases import results

from tirx.copy import access, banks, cost, cp_async, distribute, exchange, register_gather, slots, tensor_map_bits, tma
from tirx.layout import ComposeLayout, SwizzleLayout, SwizzleMode, TileLayout
from tirx.symbolic import index_expr

Layout = TileLayout | ComposeLayout


def _swizzled(mode: SwizzleMode, text: str, bits: int = 16) -> ComposeLayout:
    return ComposeLayout(SwizzleLayout.for_bits(bits, mode), TileLayout.parse(text))


def _accesses(*arguments: object, **named: object) -> str:
    plan = access.plan_accesses(*arguments, **named)  # pyright: ignore[reportArgumentType]
    parts = "; ".join(f"{each.register}+{each.count}: {each.offset}" for each in plan.accesses)
    return f"{parts} | {plan.registers} registers of {plan.owners}, {plan.thread_part} + {plan.register_part}"


def _asynchronous(*arguments: object, **named: object) -> str:
    plan = cp_async.plan_cp_async(*arguments, **named)  # pyright: ignore[reportArgumentType]
    parts = "; ".join(f"{plan.bytes(source)}: {source.offset} -> {end.offset}" for source, end in plan.pairs)
    return f"{parts} | {plan.owners}"


def _boxes(*arguments: object) -> str:
    plan = tma.plan_boxes(*arguments)  # pyright: ignore[reportArgumentType]
    parts = " ".join(f"{box.start}@{box.address}" for box in plan.boxes)
    return f"{plan.box} {plan.unit.type} of {plan.groups}, {plan.swizzle}, {plan.alignment}: {parts}"


def _global(layout: Layout) -> cost.CopyEnd:
    return cost.CopyEnd(layout, "global")


def _shared(layout: Layout) -> cost.CopyEnd:
    return cost.CopyEnd(layout, "shared")


MODULES = (access, banks, cost, cp_async, distribute, exchange, register_gather, slots, tensor_map_bits, tma)
NAMES = {name: value for module in MODULES for name, value in vars(module).items()} | {
    "ComposeLayout": ComposeLayout,
    "Const": index_expr.Const,
    "np": np,
    "t": index_expr.var("t", 48),
    "u": index_expr.var("u", 7),
    "P": TileLayout.parse,
    "S": _swizzled,
    "SwizzleLayout": SwizzleLayout,
    "A": _accesses,
    "B": _boxes,
    "Y": _asynchronous,
    "G": _global,
    "M": _shared,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "results.txt", NAMES)
    assert found == expected
