"""The texts about the rules of diagnostics, by name: `tirx-opt --explain-rule` and `--list-rules`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from tirx.diagnostics import WARNINGS
from tirx.hw.rules import Rule
from tirx.passes import PASS_SUMMARIES
from tirx.passes.kernels.stages import FACTS, LEAVES, NEEDS
from tirx.tcgen05.check_memory import ALLOC_RULES, CP_RULES, LD_ST_RULES, SHIFT_RULES
from tirx.tcgen05.mma_rules import MMA_RULES
from tirx.values import dataclass
from tirx.wgmma.check import WGMMA_RULES
from tirx.wgmma.kinds import FORM_RULES

_SECTION = re.compile(r"^## (?P<name>\S+)\n\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^```(?P<language>\w+)(?P<arguments>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Explained:
    """The meaning of a rule of the language: `text` in Markdown, which ends in the fix and the source.

    `language` and `code` are an example that breaks it: MLIR that does not verify or that the passes of `arguments`
    refuse, or Python.
    """

    name: str
    text: str
    language: str
    arguments: tuple[str, ...]
    code: str


@cache
def explained_rules() -> dict[str, Explained]:
    """The rules of the language and of warnings, as `rules.md` explains them, by name."""
    text = files("tirx.text").joinpath("rules.md").read_text(encoding="utf-8")
    found: dict[str, Explained] = {}
    for section in _SECTION.finditer(text):
        name, body = section["name"], section["text"].strip()
        example = _EXAMPLE.search(body)
        assert example is not None and name not in found, name
        arguments = tuple(shlex.split(example["arguments"]))
        found[name] = Explained(name, body, example["language"], arguments, example["code"])
    return found


@cache
def hardware_rules() -> dict[str, Rule[Any]]:
    """The rows of the tables of rules of all families, by name."""
    tables: tuple[tuple[Rule[Any], ...], ...] = (
        *(MMA_RULES, ALLOC_RULES, LD_ST_RULES, CP_RULES, SHIFT_RULES),
        *(WGMMA_RULES, FORM_RULES),
    )
    return {rule.name: rule for table in tables for rule in table}


def rule_names() -> Iterator[str]:
    """Every name that the rule of a diagnostic of tirx may have."""
    yield from sorted({*explained_rules(), *hardware_rules()})


def list_rules() -> str:
    """One line for each rule: its name, and the first sentence of what it says."""
    width = max(map(len, rule_names()))
    return "\n".join(f"{name:{width}}  {_first_sentence(name)}" for name in rule_names())


def _first_sentence(name: str) -> str:
    if name in explained_rules():
        return explained_rules()[name].text.partition("\n")[0]
    return hardware_rules()[name].message


def explain(name: str) -> str | None:
    """Returns the text about the rule `name`, or what the pass `name` needs and leaves; None if there is neither."""
    if name in explained_rules():
        flag = f"\n\nA warning; -Wno-{name} turns it off." if name in WARNINGS else ""
        return f"{name}: {explained_rules()[name].text}{flag}"
    if (rule := hardware_rules().get(name)) is not None:
        return f"{name}: {rule.message}\n\nFix: {rule.fix}\n\nSource: {rule.section}."
    if name not in PASS_SUMMARIES:
        return None
    lines = [f"{name}: a pass that is to {PASS_SUMMARIES[name]}"]
    for title, table in (("It needs", NEEDS), ("It leaves", LEAVES)):
        for fact in table.get(name, ()):
            lines.append(f"{title} {FACTS[fact].says}.")
    return "\n".join(lines)
