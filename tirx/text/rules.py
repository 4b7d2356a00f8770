"""What the rules of diagnostics are about, by name: `tirx-opt --explain-rule`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from tirx.diagnostics import WARNINGS
from tirx.hw.rules import Rule
from tirx.passes import PASS_SUMMARIES
from tirx.passes.stages import FACTS, LEAVES, NEEDS
from tirx.tcgen05.check_memory import ALLOC_RULES, CP_RULES, LD_ST_RULES, SHIFT_RULES
from tirx.tcgen05.mma_rules import MMA_RULES
from tirx.wgmma.check import WGMMA_RULES
from tirx.wgmma.kinds import FORM_RULES

_STAGES = {
    "syntax": "The text is not MLIR, or names an operation, type or attribute that does not exist.",
    "verify": "An operation is not what its definition says: operands, types, attributes, or a value that is used "
    "where it is not defined.",
}
"""Steps of a compilation that are no passes."""


@cache
def _hardware_rules() -> dict[str, Rule[Any]]:
    tables: tuple[tuple[Rule[Any], ...], ...] = (
        *(MMA_RULES, ALLOC_RULES, LD_ST_RULES, CP_RULES, SHIFT_RULES),
        *(WGMMA_RULES, FORM_RULES),
    )
    return {rule.name: rule for table in tables for rule in table}


def rule_names() -> Iterator[str]:
    """Every name that the rule of a diagnostic may have."""
    yield from (*WARNINGS, *_hardware_rules(), *_STAGES, *PASS_SUMMARIES)


def explain(name: str) -> str | None:
    """What the rule `name` is about; None if there is no such rule."""
    if name in WARNINGS:
        return f"{name}: {WARNINGS[name]}\n\nA warning; -Wno-{name} turns it off."
    if (rule := _hardware_rules().get(name)) is not None:
        return f"{name}: {rule.message}\n\nFix: {rule.fix}\nSource: {rule.section}"
    if name in _STAGES:
        return f"{name}: {_STAGES[name]}"
    if name not in PASS_SUMMARIES:
        return None
    lines = [f"{name}: errors of the pass that is to {PASS_SUMMARIES[name]}"]
    for title, table in (("It needs", NEEDS), ("It leaves", LEAVES)):
        for fact in table.get(name, ()):
            lines.append(f"{title} {FACTS[fact].says}.")
    return "\n".join(lines)
