"""Finds registers that may be read before they are written (forward data flow over one function)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx.sim.program.code import Register


def maybe_undefined(
    successors: Sequence[Sequence[int]],
    uses: Mapping[int, Sequence[Register]],
    definitions: Mapping[int, Sequence[Register]],
) -> list[Register]:
    """
    Registers that some instruction in `uses` reads though not all ways to it pass an instruction of `definitions`.

    Keys are instructions (nodes of `successors`); node 0 is the start.
    """
    numbers: dict[int, int] = {}
    registers: list[Register] = []
    for each in (*uses.values(), *definitions.values()):
        for register in each:
            if id(register) not in numbers:
                numbers[id(register)] = len(registers)
                registers.append(register)
    everything = (1 << len(registers)) - 1
    defined = [everything] * (len(successors) + 1)
    defined[0] = 0
    pending = [0]
    visited: set[int] = set()
    while pending:
        node = pending.pop()
        if node >= len(successors):
            continue
        visited.add(node)
        out = defined[node]
        for register in definitions.get(node, ()):
            out |= 1 << numbers[id(register)]
        for following in successors[node]:
            if following not in visited or defined[following] & out != defined[following]:
                defined[following] &= out
                pending.append(following)
    found: dict[int, Register] = {}
    for node, read in uses.items():
        for register in read:
            if not defined[node] >> numbers[id(register)] & 1:
                found[id(register)] = register
    return list(found.values())
