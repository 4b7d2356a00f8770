"""The exceptions and warnings of the simulator."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONGEST = 2000
"""Characters of a message, which may quote what it is about: a file may be one line."""

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_FUNCTION = re.compile(r"\.(?:entry|func)\b")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class SimError(Exception):
    """
    A fault of the simulated program, a program that cannot be read, or an unknown instruction.

    `message` says what is wrong; `line` is the line of the PTX text (1-based), `source` the place that a `.loc` names
    for it, `text` the instruction, `where` the thread, warp and CTA that executed it. Whoever knows a location fills in
    what is still missing (`at`).

    >>> from tirx.sim import SimError, run
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { trap; }"
    >>> try:
    ...     run(ptx, "f", grid=1, block=32, args=[])
    ... except SimError as error:
    ...     print(error.line, "trap" in str(error))
    4 True
    """

    def __init__(self, message: str, line: int | None = None, text: str = "", where: str = ""):
        self.message = _shortened(message)
        self.line = line
        self.text = _shortened(text)
        self.where = where
        self.source = ""
        """The place in the program that the PTX was compiled from, as `file:line:column`."""

    def find_source(self, ptx: str) -> None:
        """Fills in `source` from the `.loc` in front of the line, of the same function; PTX without has none.

        See PTX ISA, "Debugging Directives: .loc".
        """
        for line in reversed(ptx.splitlines()[: self.line or 0]):
            if _FUNCTION.search(line):
                return
            if (found := _LOC.match(line)) is not None:
                file = re.search(rf'^\s*\.file\s+{found[1]}\s+"(.*?)"', ptx, re.MULTILINE)
                self.source = f"{file[1] if file else found[1]}:{found[2]}:{found[3]}"
                return

    def at(self, line: int | None, text: str = "", where: str = "") -> SimError:
        """This error, with a location where it has none yet."""
        if self.line is None:
            self.line = line
        self.text = self.text or _shortened(text)
        self.where = self.where or where
        return self

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        location = "" if self.line is None else f"PTX line {self.line}{source}: "
        text = f"\n    {self.text}" if self.text else ""
        where = f"\n    in {self.where}" if self.where else ""
        return f"{location}{self.message}{text}{where}"


class HazardError(SimError):
    """An error of synchronisation or of undefined values, found by `check` whatever the numbers are."""

    def __str__(self) -> str:
        return f"{super().__str__()}\n    (check=False runs the kernel without such checks)"


class UndefinedError(HazardError):
    """A read of memory or of a register that was never written."""


@dataclass(frozen=True, slots=True)
class SimWarning:
    """
    A break of a rule of the PTX ISA that GPUs do not need and that compilers in the field leave out.

    `rule` names what is asked for; a run reports each rule once. The rest is as in `SimError`.

    >>> from tirx.sim import SimWarning
    >>> print(SimWarning("uninitialized", "a register is read before it is written", 4, "ret;", "").rule)
    uninitialized
    """

    rule: str
    message: str
    line: int
    text: str
    where: str

    def __str__(self) -> str:
        return f"PTX line {self.line}: {self.message}\n    {self.text}\n    in {self.where}"
