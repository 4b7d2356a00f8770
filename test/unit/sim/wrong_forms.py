"""
Instructions with one thing wrong, and what the simulator says to each.

Each form of `data/instructions.txt` with an operand more, without one, with another one in its place, with an unknown
modifier, and without one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from unit.sim.forms import FORMS, module

from tirx.sim import SimError
from tirx.sim.program.linker import link
from tirx.sim.reader import parse

_MOST = 6
"""Forms of an instruction with other operands, of which each is tried."""


def _operands(text: str) -> list[str]:
    """The operands of an instruction: commas inside of brackets and braces do not end one."""
    found, depth = [""], 0
    for each in text:
        depth += (each in "{[(") - (each in "}])")
        if each == "," and not depth:
            found.append("")
        else:
            found[-1] += each
    return [each.strip() for each in found if each.strip()]


def _root(form: str) -> str:
    parts = form.partition(" ")[0].split(".")
    return ".".join(parts[: 2 if parts[0] == "tcgen05" else 1])


_BY_ROOT: dict[str, dict[str, tuple[str, str]]] = {}
"""The root of an instruction -> operands -> target and form: of the forms with the same operands, the last one."""
for _target, _form, _refused in FORMS:
    if not _refused:
        _BY_ROOT.setdefault(_root(_form), {})[_form.partition(" ")[2]] = (_target, _form)
ROOTS = sorted(_BY_ROOT)


def wrong_forms(form: str) -> Iterator[str]:
    """The form with one thing changed."""
    opcode, _, text = form.partition(" ")
    root, *modifiers = opcode.split(".")
    operands = _operands(text)

    def joined(modifiers: list[str], operands: list[str]) -> str:
        return f"{'.'.join([root, *modifiers])} {', '.join(operands)}".strip()

    yield joined(modifiers, [*operands, "5"])
    yield joined([*modifiers[:-1], "nosuch", *modifiers[-1:]], operands)
    for index in range(len(modifiers)):
        yield joined([*modifiers[:index], *modifiers[index + 1 :]], operands)
    for index in range(len(operands)):
        for instead in ([], ["7" if index % 2 else "%h1"]):
            yield joined(modifiers, [*operands[:index], *instead, *operands[index + 1 :]])


def answers(root: str) -> str:
    """Messages about the wrong forms of an instruction, a line for each, or that it is decoded."""
    lines: list[str] = []
    forms = sorted(_BY_ROOT[root].values())
    for target, form in forms[:: -(-len(forms) // _MOST)]:
        wrong = list(wrong_forms(form))
        read = parse(module(target, wrong))
        for index, each in enumerate(wrong):
            try:
                link(read, f"k{index}")
                lines.append(f"{each}: decoded")
            except SimError as error:
                lines.append(f"{each}: {error.message}")
    return "\n".join(lines)
