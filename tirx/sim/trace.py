"""The text of a run: a line for every instruction, and the state of memories and registers at a line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TextIO

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.observer import Observer
from tirx.sim.core.types import WARP, Array
from tirx.sim.program.code import Op, Program, Register

DumpedState = Literal["shared", "tensor", "registers"]
DUMPED_STATES: tuple[DumpedState, ...] = ("shared", "tensor", "registers")
_SHOWN_LANES = 8
_ROW_BYTES = 32
_ROW_COLUMNS = 8


class Trace(Observer):
    """
    Writes `cta (x, y, z) warp w line l: text` for every warp and instruction, in the order of execution.

    An instruction that waits is written once, when it goes on. `threads` (indices in the CTA) and `lines`: only what
    they execute; None for all. `values`: the registers that an instruction reads and, behind `->`, those that it has
    written, of the threads. Call `finish` after the run, also when it failed: the last line is then the instruction
    that failed.

    >>> import sys
    >>> from tirx.sim import Trace, run
    >>> trace = Trace(sys.stdout)
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { ret; }"
    >>> run(ptx, "f", grid=1, block=32, args=[], observer=trace)
    >>> trace.finish()
    cta (0, 0, 0) warp 0 line 4: ret;
    """

    def __init__(
        self,
        output: TextIO,
        *,
        values: bool = False,
        threads: Collection[int] | None = None,
        lines: Collection[int] | None = None,
    ):
        self._output = output
        self._values, self._threads, self._lines = values, threads, lines
        self._pending: list[tuple[str, str, Array]] = []  # the line, what it reads, and its lanes in the group
        self._last: tuple[ThreadGroup, Op] | None = None

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        self.finish()
        if self._lines is not None and op.line not in self._lines:
            return
        for warp in range(group.warp, group.warp + group.warps):
            lanes = np.flatnonzero(group.mask & (group.lanes // WARP == warp))
            if self._threads is not None:
                lanes = np.array([lane for lane in lanes.tolist() if int(group.lanes[lane]) in self._threads], np.int64)
                if not len(lanes):
                    continue
            text = f"cta {group.cta.index} warp {warp} line {op.line}: {op.text}"
            self._pending.append((text, _values(group, op.uses, lanes) if self._values else "", lanes))
        self._last = group, op

    def undone(self, group: ThreadGroup, op: Op) -> None:
        self._pending.clear()

    def finish(self) -> None:
        """Writes what is still held back."""
        for text, reads, lanes in self._pending:
            after = ""
            if self._values and self._last is not None:
                group, op = self._last
                written = _values(group, op.definitions, lanes)
                shown = " ".join(each for each in (reads, f"-> {written}" if written else "") if each)
                after = f"    {shown}\n" if shown else ""
            self._output.write(f"{text}\n{after}")
        self._pending.clear()


class Dump(Observer):
    """
    Writes the state of a CTA whenever one of its warps comes to `line`, before the instruction there.

    `what`: bytes of shared memory, words of the allocated tensor memory, or the registers of the warps that are there.
    Rows of zeros are left out. `limit`: how often.

    >>> import sys
    >>> from tirx.sim import Dump, run
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { .reg .b32 %r<1>;\\n"
    >>> ptx += "mov.b32 %r0, 5;\\nadd.u32 %r0, %r0, 1;\\nret; }"
    >>> run(ptx, "f", grid=1, block=32, args=[], observer=Dump(sys.stdout, 6, "registers"))
    registers at line 6, warp 0 (threads 0-31), CTA (0, 0, 0): add.u32 %r0, %r0, 1;
      %r0 = 5
    """

    def __init__(self, output: TextIO, line: int, what: DumpedState, limit: int = 1):
        self._output, self._line, self._what, self._left = output, line, what, limit

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        if op.line != self._line or not self._left:
            return
        self._left -= 1
        self._output.write(f"{self._what} at line {op.line}, {group.describe()}: {op.text}\n")
        for line in {"shared": _shared, "tensor": _tensor, "registers": _registers}[self._what](group):
            self._output.write(f"  {line}\n")


def _shared(group: ThreadGroup) -> list[str]:
    data, start = group.cta.shared.data, group.cta.launch.shared_start
    lines: list[str] = []
    for first in range(start, len(data), _ROW_BYTES):
        row = data[first : first + _ROW_BYTES]
        if row.any():
            words = row.tobytes().hex(" ", 4)
            lines.append(f"{first:#07x}: {words}")
    return lines or ["all bytes are zero"]


def _tensor(group: ThreadGroup) -> list[str]:
    tensor = group.cta.tensor
    lines: list[str] = []
    for column, count in sorted(tensor.allocations.items()):
        lines.append(f"columns {column} to {column + count - 1}")
        for lane in range(128):
            for first in range(column, column + count, _ROW_COLUMNS):
                words = tensor.read(np.array([lane]), np.arange(first, min(first + _ROW_COLUMNS, column + count)))
                if words.any():
                    shown = " ".join(f"{int(word):08x}" for word in np.ravel(words))
                    lines.append(f"lane {lane:3} column {first:3}: {shown}")
    return lines or ["nothing is allocated"]


def _registers(group: ThreadGroup) -> list[str]:
    program = group.cta.launch.program
    assert isinstance(program, Program), "a launch has a decoded program"
    found = {each.name: each for op in program.code for each in (*op.uses, *op.definitions)}
    lanes = np.flatnonzero(group.mask)
    return [_values(group, (register,), lanes) for register in found.values()]


def _values(group: ThreadGroup, registers: tuple[Register, ...], lanes: Array) -> str:
    """`%r1 = 0x10` where all lanes have the same, else a value for each lane."""
    shown: list[str] = []
    for register in dict.fromkeys(registers):
        values = group.banks[register.type.bank][register.row][lanes]
        texts = [_text(register, value) for value in values]
        if len(set(texts)) == 1:
            shown.append(f"{register.name} = {texts[0]}")
            continue
        each = [f"{int(group.lanes[lane])}: {text}" for lane, text in zip(lanes[:_SHOWN_LANES], texts, strict=False)]
        more = ", ..." if len(lanes) > _SHOWN_LANES else ""
        shown.append(f"{register.name} = [{', '.join(each)}{more}]")
    return ", ".join(shown)


def _text(register: Register, value: np.generic) -> str:
    number = value.item()
    if isinstance(number, int) and not isinstance(number, bool):
        return str(number) if abs(number) < 10 else hex(number)
    return str(number)
