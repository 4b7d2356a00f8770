"""A strand: lanes of a CTA that execute together, with one program counter."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tirx.sim.core.types import WIDTHS, Array, Mask, bits_type

if TYPE_CHECKING:
    from tirx.sim.core.cta import Cta
    from tirx.sim.program.code import Call

WARP = 32
_MAX_POLLED = 64


class Outcome(enum.Enum):
    """What a step may answer instead of None (done, go on with the next instruction)."""

    RETRY = "not done: execute this instruction again once `Strand.wait` is ready"
    WAIT = "done, but go on only once `Strand.wait` is ready"
    YIELD = "done, and let others run first"
    SPLIT = "not done: execute this instruction again, every warp for itself"


class RegisterState(enum.IntEnum):
    """What is known of a watched register, for each lane (`Strand.states`)."""

    UNDEFINED = 0
    DEFINED = 1
    PENDING = 2  # a tcgen05.ld will write it
    ACCUMULATING = 3  # a wgmma.mma_async will write it
    SUPPLYING = 4  # a wgmma.mma_async will read it


@dataclass(slots=True)
class Wait:
    """Why a strand does not run; `reason` is for people (deadlock reports)."""

    ready: Callable[[], bool]
    reason: Callable[[], str]
    may_time_out: bool = False  # a try_wait: it may return false rather than wait for ever


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """Of the lanes of a call: the stack pointers, and if it is recursive registers, their states and variables."""

    stack: Array
    registers: tuple[Array, ...] = ()
    states: Array | None = None
    variables: tuple[Array, ...] = ()

    def of(self, lanes: slice) -> SavedState:
        """Those of some of the lanes."""
        states = None if self.states is None else self.states[:, lanes]
        registers = tuple(bank[:, lanes] for bank in self.registers)
        return SavedState(self.stack[lanes], registers, states, tuple(each[lanes] for each in self.variables))


class Frame:
    """
    Lanes that meet again: at instruction `pc`, or (calls) when each of them has returned, to go on at `pc`.

    `mask` are the lanes that are to come (exited ones drop out), `arrived` those that are there. `parent` are the
    frames around this one. `call` is what was called, and `saved` what it must not change.
    """

    __slots__ = ("pc", "mask", "arrived", "parent", "call", "saved")

    def __init__(
        self,
        pc: int,
        mask: Mask,
        parent: tuple[Frame, ...],
        call: Call | None = None,
        saved: SavedState | None = None,
    ):
        self.pc = pc
        self.mask = mask.copy()
        self.arrived = np.zeros_like(mask)
        self.parent = parent
        self.call = call
        self.saved = saved

    @property
    def is_call(self) -> bool:
        return self.call is not None


class Strand:
    """
    Lanes [first, last) of a CTA, whole warps, of which those in `mask` execute at `pc`.

    While warps of a CTA are at the same instruction they may be one strand (faster); a strand of several warps is never
    diverged. All arrays of a step (operands, results, masks) have `last - first` elements. `banks[type.bank][row]` is
    a register; `lanes` are the indices of the lanes in the CTA (thread = lane; the last warp may have lanes
    without a thread, which are in no mask).
    """

    __slots__ = (
        "cta", "first", "last", "banks", "states", "fenced", "lanes", "pc", "mask", "frames", "wait", "timed_out",
    )  # fmt: skip

    def __init__(self, cta: Cta, first: int, last: int, pc: int, mask: Mask, frames: tuple[Frame, ...] = ()):
        self.cta = cta
        self.first = first
        self.last = last
        self.banks: tuple[Array, ...] = cta.registers.views(first, last)
        self.states = cta.register_states[:, first:last]
        self.fenced = cta.register_fenced[:, first:last]
        self.lanes: Array = cta.lanes[first:last]
        self.pc = pc
        self.mask = mask
        self.frames = frames
        self.wait: Wait | None = None
        self.timed_out = False

    def poll(self, addresses: Array) -> Outcome | None:
        """
        The strand looks at what other threads may write, by the instruction that it is at.

        If it has done so before, and nothing has changed anywhere, the others have to run first.
        """
        progress = self.cta.launch.progress
        instant, polled = self.cta.polled.get(self.first, (-1, set[tuple[int, bytes]]()))
        if instant != progress or len(polled) > _MAX_POLLED:
            polled = set[tuple[int, bytes]]()
            self.cta.polled[self.first] = (progress, polled)
        key = (self.pc, addresses.tobytes())
        again = key in polled
        polled.add(key)
        self.cta.spinning[self.first : self.last][self.mask] = again
        return Outcome.YIELD if again else None

    def registers(self) -> int:
        """A hash of the registers of the lanes that are here."""
        return hash(tuple(self.banks[bits_type(width).bank][:, self.mask].tobytes() for width in WIDTHS))

    @property
    def spinning(self) -> bool:
        """Whether it asks for something again and again."""
        return bool(self.cta.spinning[self.first : self.last][self.mask].all())

    @property
    def refused(self) -> bool:
        """Whether its last mbarrier.try_wait or test_wait returned false."""
        return bool(self.cta.refused[self.first : self.last][self.mask].any())

    @refused.setter
    def refused(self, value: bool) -> None:
        self.cta.refused[self.first : self.last][self.mask] = value

    @property
    def warps(self) -> int:
        return (self.last - self.first) // WARP

    @property
    def warp(self) -> int:
        """Index in the CTA of the (first) warp."""
        return self.first // WARP

    @property
    def alive(self) -> Mask:
        """Lanes whose thread has not exited."""
        return self.cta.alive[self.first : self.last]

    @property
    def existing(self) -> Mask:
        """Lanes that have a thread."""
        return self.cta.existing[self.first : self.last]

    def describe(self, mask: Mask | None = None) -> str:
        """For messages: which threads of which CTA."""
        lanes = self.lanes[self.mask if mask is None else mask]
        threads = "no thread" if len(lanes) == 0 else _ranges(lanes)
        warps = f"warp {self.warp}" if self.warps == 1 else f"warps {self.warp}-{self.warp + self.warps - 1}"
        return f"{warps} ({threads}), CTA {self.cta.index}"


def _ranges(lanes: Array) -> str:
    values: list[int] = lanes.tolist()
    if len(values) == 1:
        return f"thread {values[0]}"
    if values[-1] - values[0] + 1 == len(values):
        return f"threads {values[0]}-{values[-1]}"
    shown = ", ".join(str(value) for value in values[:6])
    return f"threads {shown}" + (", ..." if len(values) > 6 else "")
