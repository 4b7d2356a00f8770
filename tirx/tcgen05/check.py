"""Is this tcgen05.mma legal? All operands, descriptors and modifiers of one instruction checked together.

`ptxas` checks the form of an instruction, but no descriptor, mask, shape or address: what passes it and is wrong gives
wrong numbers without a word. `check_mma` raises for the first violation, `find_violations` lists them all. The rules
are the rows of `MMA_RULES`; `tirx.tcgen05.check_memory` has those of the instructions that move data.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tirx.hw.rules import Finding, all_findings, raise_first
from tirx.tcgen05.check_memory import Alloc, Cp, LdSt, Shift, find_memory_violations
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.mma_info import Mma, MmaInfo, SmemOperand, TmemOperand
from tirx.tcgen05.mma_rules import MMA_RULES


@lru_cache(maxsize=256)
def find_violations(mma: Mma) -> tuple[Finding, ...]:
    """Every rule that the instruction breaks, in the order of the table; empty when it is legal."""
    if mma.kind not in KINDS:  # no other rule has a meaning then
        return (
            Finding("kind", f"expected a kind out of {', '.join(KINDS)}, found '{mma.kind}'", "use one", "tcgen05.mma"),
        )
    return tuple(all_findings(MMA_RULES, MmaInfo(mma)))


def check_mma(mma: Mma) -> None:
    """Raises LegalityError, with the fix and the name of the rule, for the first rule that the instruction breaks."""
    raise_first(find_violations(mma))


Instruction = Mma | Alloc | LdSt | Cp | Shift
"""One tcgen05 instruction as plain data."""


def check_instruction(instruction: Instruction, target: str | None = None) -> None:
    """Raises LegalityError for the first rule that the instruction breaks, on `target` if one is given."""
    known = instruction if target is None else replace(instruction, target=target)
    raise_first(find_violations(known) if isinstance(known, Mma) else find_memory_violations(known))


__all__ = [
    "MMA_RULES",
    "Finding",
    "Instruction",
    "Mma",
    "SmemOperand",
    "TmemOperand",
    "check_instruction",
    "check_mma",
    "find_violations",
]
