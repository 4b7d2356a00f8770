"""A line for every instruction that a warp executes."""

from __future__ import annotations

from typing import TextIO

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.observer import Observer
from tirx.sim.program.code import Op


class Trace(Observer):
    """
    Writes `cta (x, y, z) warp w line l: text` for every warp and instruction, in the order of execution.

    An instruction that waits is written once, when it goes on. Call `finish` after the run, also when it failed: the
    last line is then the instruction that failed.

    >>> import sys
    >>> from tirx.sim import Trace, run
    >>> trace = Trace(sys.stdout)
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { ret; }"
    >>> run(ptx, "f", grid=1, block=32, args=[], observer=trace)
    >>> trace.finish()
    cta (0, 0, 0) warp 0 line 4: ret;
    """

    def __init__(self, output: TextIO):
        self._output = output
        self._pending = ""

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        self.finish()
        self._pending = "".join(
            f"cta {group.cta.index} warp {warp} line {op.line}: {op.text}\n"
            for warp in range(group.warp, group.warp + group.warps)
        )

    def undone(self, group: ThreadGroup, op: Op) -> None:
        self._pending = ""

    def finish(self) -> None:
        """Writes what is still held back."""
        self._output.write(self._pending)
        self._pending = ""
