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
    bits: dict[int, int] = {}
    for each in (*uses.values(), *definitions.values()):
        for register in each:
            bits.setdefault(id(register), 1 << len(bits))
    defined = {0: 0}  # the registers that all ways so far to a node have written
    pending = [0]
    while pending:
        node = pending.pop()
        after = defined[node]
        for register in definitions.get(node, ()):
            after |= bits[id(register)]
        for following in successors[node] if node < len(successors) else ():
            before = defined.get(following)
            both = after if before is None else before & after
            if both != before:
                defined[following] = both
                pending.append(following)
    found: dict[int, Register] = {}
    for node, read in uses.items():
        for register in read:
            if node in defined and not defined[node] & bits[id(register)]:
                found[id(register)] = register
    return list(found.values())
