"""Loops whose parts run in different rounds, against the definition: round r runs iteration r - s of a part at(s)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from unit.passes.parsed import parsed
from unit.passes.threads import Step, Thread
from xdsl.dialects import scf

from tirx.dialects.tirx import KernelOp
from tirx.passes.rings.scheduled_kernel import lower_kernel

HEAD = """!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[64, 64]>>
!d = !tirx.tile<64x64xf32, register>
!p = !tirx.pending<!d>
"""
MULTIPLIES = "tirx.async_mma %sa, %sb, {0} : !s, !s, !p -> !p"
SKIPPED = ("tirx.alloc", "tirx.zero", "tirx.view", "ptx.read_special", "ptx.bar.warp.sync")


@dataclass(frozen=True)
class Part:
    """A part with one operation, `test.name(operands, %k)` unless `text` says another one without the iteration."""

    name: str
    offset: int
    operands: tuple[str, ...] = ()
    type: str = "i32"
    text: str = ""


@dataclass(frozen=True)
class Loop:
    """Parts in their textual order, and what is carried: by its name, the part that computes it, None for nobody."""

    parts: tuple[Part, ...]
    carried: Mapping[str, str | None] = field(default_factory=dict[str, "str | None"])

    @property
    def skew(self) -> int:
        return max(part.offset for part in self.parts)

    def types(self) -> dict[str, str]:
        found = {part.name: part.type for part in self.parts}
        return found | {name: "i32" if part is None else found[part] for name, part in self.carried.items()}

    def text(self, trips: str) -> str:
        types = self.types()
        arguments = "".join(f", %start_{name}: {types[name].replace('!p', '!d')}" for name in self.carried)
        results = ", ".join(f"%end_{name}" for name in self.carried)
        iters = ", ".join(f"%{name} : {types[name]} = %start_{name}" for name in self.carried)
        parts: list[str] = []
        for part in self.parts:
            operands = [f"%{name}" for name in part.operands]
            types_in = ", ".join([*(types[name] for name in part.operands), "index"])
            own = part.text.format(*operands)
            own = own or f'"test.{part.name}"({", ".join([*operands, "%k"])}) : ({types_in}) -> {part.type}'
            parts.append(f"%{part.name} = tirx.at({part.offset}) {{ %r = {own} tirx.yield %r }}")
        following = ", ".join(f"%{part or name}" for name, part in self.carried.items())
        ends = f'"test.behind"({results}) : ({", ".join(types[name] for name in self.carried)}) -> ()'
        results += " =" * bool(results)
        iters = f"iter({iters})" if iters else ""
        return f"""{HEAD}
        tirx.kernel @k(%n: index, %matrix: memref<64x64xf16>{arguments}) target("sm_90a") threads(128) {{
          %sa = tirx.alloc : !s
          %sb = tirx.alloc : !s
          {RING if "%ring" in "".join(parts) else ""}
          %c0 = arith.constant 0 : index
          %g = tirx.view %matrix[%c0, %c0] : memref<64x64xf16> -> !g
          {results} tirx.for @k %k = 0 to {trips} skew({self.skew}) {iters} {{
            {" ".join(parts)}
            {f"tirx.yield {following}" if following else ""}
          }}
          {ends if results else ""}
          tirx.return
        }}"""

    def expected(self, trips: int) -> list[Step]:
        """The steps, in their order."""
        values: dict[tuple[str, int], Any] = {}

        def value(name: str, iteration: int) -> Any:
            if name not in self.carried:
                return values[name, iteration]
            part = self.carried[name]
            return f"start {name}" if part is None or not iteration else value(part, iteration - 1)

        steps: list[Step] = []
        for current in range(trips + self.skew):
            for part in self.parts:
                if 0 <= (i := current - part.offset) < trips:
                    given = [value(name, i) for name in part.operands]
                    alloc = ("tirx.alloc",)
                    step = ("tirx.async_mma", alloc, alloc, *given) if part.text else (part.name, *given, i)
                    values[part.name, i] = step
                    steps.append(step)
        return [*steps, ("behind", *(value(name, trips) for name in self.carried))] if self.carried else steps


def _kernel(text: str) -> KernelOp:
    kernel = next(op for op in parsed(text).walk() if isinstance(op, KernelOp))
    lower_kernel(kernel)
    return kernel


def _loops(kernel: KernelOp) -> list[int]:
    """Number of operations of which each loop carries a value, in order."""
    return [len(op.iter_args) for op in kernel.walk() if isinstance(op, scf.ForOp)]


def _branches(kernel: KernelOp) -> int:
    return sum(isinstance(op, scf.IfOp) for op in kernel.walk())


CHAINS = Loop((Part("first", 0), Part("use", 1, ("first",)), Part("last", 3, ("first", "use"))))
"""Values that live for one, two and three rounds."""
ENDS = Loop((Part("first", 0), Part("last", 2)))
"""Nothing lives from one round to the next."""
CARRIED = Loop(
    (Part("add", 0, ("x", "z")), Part("scale", 2, ("add", "y")), Part("show", 2, ("scale", "x"))),
    {"x": "add", "y": "scale", "z": None},
)
"""Loop with values carried from a part to itself and to a later one, and others that stay the same."""
ADDED = Loop((Part("add", 0, ("x",)), Part("last", 2)), {"x": "add"})
"""A value that lives for one round, in its own part."""
NEXT = Loop((Part("first", 0), Part("last", 1, ("first",))))
AGAIN = Loop((Part("add", 0, ("x",)), Part("show", 1, ("x",))), {"x": "add"})
"""A value that is used one round later, by another part or in the iteration that follows."""
AT_ONCE = Loop((Part("first", 0), Part("use", 1), Part("again", 1, ("use",)), Part("last", 3)))
"""A value that is used in the same round, which may be without the part that computes it."""
BACKWARDS = Loop(
    (Part("late", 2, ("early", "x")), Part("middle", 1, ("early",)), Part("early", 0, ("late_sum",))),
    {"x": "middle", "late_sum": "early"},
)
"""Parts of later rounds that stand in front of earlier ones."""


@pytest.mark.parametrize(
    ("loop", "carried", "lengths", "branches"),
    [
        # Values are carried for as many rounds as they live; parts have conditions where rounds may be without them.
        (CHAINS, 5, [3, 1, 2, 2, 2, 3], [3, 2, 3, 3, 2, 2]),
        (ENDS, 0, [3, 0, 2, 2, 3, 3], [0, 0, 0, 0, 0, 0]),
        (CARRIED, 6, [3, 1, 2, 2, 3, 3], [1, 1, 1, 0, 0, 0]),
        (BACKWARDS, 5, [3, 1, 2, 2, 3, 3], [3, 2, 3, 2, 2, 2]),
        (ADDED, 1, [3, 0, 2, 2, 3, 3], [0, 0, 0, 0, 0, 0]),
        (NEXT, 1, [3, 1, 2, 3, 3, 3], [1, 1, 0, 0, 0, 0]),
        (AGAIN, 2, [3, 1, 2, 3, 3, 3], [1, 1, 0, 0, 0, 0]),
        (AT_ONCE, 0, [3, 1, 2, 2, 2, 3], [5, 3, 5, 5, 4, 4]),
    ],
)
def test_rounds(loop: Loop, carried: int, lengths: list[int], branches: list[int]) -> None:
    """`lengths`: how many loops there are for a number of iterations that is a value, 0, 1, ..., 4."""
    starts = [f"start {name}" for name in loop.carried]
    kernels = [_kernel(loop.text(trips)) for trips in ("%n", "0", "1", "2", "3", "4")]
    assert list(map(_loops, kernels)) == [[carried] * length for length in lengths]
    assert list(map(_branches, kernels)) == branches
    for trips, fixed in enumerate(kernels[1:]):
        for kernel in (kernels[0], fixed):
            steps = Thread(kernel, arguments=(trips, 0, *starts)).steps
            assert [step for step in steps if step[0] not in SKIPPED] == loop.expected(trips)


SCORES = Part("scores", 0, (), "!d")
PRODUCT = Part("product", 1, ("acc",), "!p", MULTIPLIES)
SUM = Part("sum", 1, ("scores", "total"), "!d")
ACC = {"acc": "product"}
PEELED = Loop(
    (
        Part("scores", 0, ("m",), "!d"),
        PRODUCT,
        Part("count", 0, ("counted",)),
        Part("sum", 1, ("scores", "total", "older"), "!d"),
        Part("extra", 1, ("sum", "same", "counted")),
        Part("behind_extra", 0, ("turned",)),
    ),
    {
        "m": "scores",
        "acc": "product",
        "older": "scores",
        "total": "sum",
        "turned": "extra",
        "only_end": "extra",
        "same": None,
        "counted": "count",
        "of_first": "behind_extra",
    },
)
"""Every kind of value that a loop with products carries whose first and last round stand outside of it."""


def test_first_and_last_round_outside() -> None:
    starts = [f"start {name}" for name in PEELED.carried]
    kernels = [_kernel(PEELED.text(trips)) for trips in ("%n", "0", "1", "2", "3")]
    # %m, %acc, %total and %of_first of the round before, %older and %counted of two, and %scores.
    assert list(map(_loops, kernels)) == [[9, 9], [], [9], [9], [9]]
    assert not any(map(_branches, kernels))
    for trips, fixed in enumerate(kernels[1:]):
        for kernel in (kernels[0], fixed):
            steps = Thread(kernel, arguments=(trips, 0, *starts)).steps
            assert [step for step in steps if step[0] not in SKIPPED] == PEELED.expected(trips)


RING = "%ring = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>"
COPIES = """"test.any"() : () -> i32
  %slot = tirx.acquire %ring at(fill)
  tirx.async_copy %g, %slot engine(cp_async) : !g, !s
  tirx.release %ring at(fill) after(cp_async)
  %full = tirx.acquire %ring at(use)
  tirx.release %ring at(use)"""
TAKES = """tirx.acquire %ring at(fill)
  tirx.release %ring at(fill)
  %full = tirx.acquire %ring at(use)
  tirx.release %ring at(use)"""


@pytest.mark.parametrize(
    ("loop", "is_peeled"),
    [
        (Loop((SCORES, PRODUCT, SUM), ACC | {"total": "sum"}), True),
        (Loop((SCORES, PRODUCT, SUM, Part("empty", 2)), ACC | {"total": "sum"}), False),
        (Loop((SCORES, replace(PRODUCT, offset=2), replace(SUM, offset=2)), ACC | {"total": "sum"}), False),
        (Loop((replace(SCORES, offset=1), PRODUCT, SUM), ACC | {"total": "sum"}), False),
        (Loop((SCORES, SUM), {"total": "sum"}), False),
        (Loop((Part("empty", 0), PRODUCT), ACC), False),
        (Loop((SCORES, PRODUCT, SUM, Part("copies", 0, (), "i32", COPIES)), ACC | {"total": "sum"}), False),
        (Loop((Part("tile", 0, (), "!s", TAKES), PRODUCT, Part("uses", 1, ("tile",))), ACC), False),
    ],
)
def test_which_loops_are_peeled(loop: Loop, is_peeled: bool) -> None:
    """Loops with products and tiles that live on, and parts one round apart, none of which has groups of copies."""
    assert (len(_loops(_kernel(loop.text("3")))) == 1) == is_peeled


SLOTS = """!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!h = !tirx.tile<32x64xf16, shared, #tirx.tile_layout<S[32, 64]>>
tirx.kernel @k(%n: index) target("sm_90a") threads(64) {
  %ring = tirx.ring slots(3) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(2) {
    %t, %half = tirx.at(0) {
      %s = tirx.acquire %ring at(fill)
      "test.write"(%s) : (!s) -> ()
      tirx.release %ring at(fill)
      %u = tirx.acquire %ring at(use)
      %h = tirx.subview %u[32, 0] : !s -> !h
      tirx.yield %u, %h
    }
    tirx.at(2) {
      "test.read"(%t, %half) : (!s, !h) -> ()
      tirx.release %ring at(use)
    }
  }
  tirx.return
}"""


def test_slots_that_are_held_for_two_rounds() -> None:
    kernel = _kernel(SLOTS)
    for trips in range(5):
        thread = Thread(kernel, arguments=(trips,))
        expected: list[Step] = []
        for current in range(trips + 2):
            if current < trips:
                phase, slot = divmod(current, 3)
                filled, used = (thread.address + 8 * (first + slot) for first in (0, 3))
                expected += [
                    ("ptx.mbarrier.wait_parity", used, 1 - phase % 2),
                    ("write", ("tirx.slot", ("tirx.alloc",), slot)),
                    ("ptx.mbarrier.arrive", filled),
                    ("ptx.mbarrier.wait_parity", filled, phase % 2),
                ]
            if current >= 2:
                slot = (current - 2) % 3
                tile = ("tirx.slot", ("tirx.alloc",), slot)
                expected += [
                    ("read", tile, ("tirx.subview", tile)),
                    ("ptx.mbarrier.arrive", thread.address + 8 * (3 + slot)),
                ]
        assert thread.named("ptx.mbarrier.wait_parity", "ptx.mbarrier.arrive", "write", "read") == expected


@pytest.mark.parametrize("offset", range(3))
def test_groups_of_rounds_without_copies(offset: int) -> None:
    """A wait that counts groups counts one of every round."""
    others = (Part("first", 0), Part("last", 2))
    kernel = _kernel(Loop((Part("copies", offset, text=COPIES), *others)).text("%n"))
    for trips in range(4):
        steps = Thread(kernel, arguments=(trips, 0)).named("tirx.cp_async", "ptx.cp.async.commit_group")
        copied = [offset <= current < trips + offset for current in range(trips + 2)]
        assert [step[0] for step in steps] == [
            name for copies in copied for name in ["tirx.cp_async"] * copies + ["ptx.cp.async.commit_group"]
        ]


LOADS = """"test.any"() : () -> i32
  %slot = tirx.acquire %ring at(fill)
  tirx.async_copy %g, %slot engine(tma) : !g, !s
  tirx.release %ring at(fill) after(tma)"""
TAKEN = """"test.taken"() : () -> i32
  %full = tirx.acquire %ring at(use)
  tirx.release %ring at(use)"""


@pytest.mark.parametrize("offsets", [(0, 1), (0, 2), (0, 1, 2), (1, 0, 2)])
def test_lanes_come_together_behind_what_one_does(offsets: tuple[int, ...]) -> None:
    """Before a part that may not run in the round, and at the end of a round without the last part."""
    of_offsets = {0: ("loads", LOADS), offsets[-1]: ("taken", TAKEN)}
    parts = [(offset, *of_offsets.get(offset, ("other", ""))) for offset in offsets]
    kernel = _kernel(Loop(tuple(Part(name, offset, text=text) for offset, name, text in parts)).text("%n"))
    names = [step[0] for step in Thread(kernel, arguments=(2, 0)).steps]
    behind = [following for name, following in pairwise(names) if name == "tirx.tma_load"]
    assert behind == ["ptx.bar.warp.sync"] * 2
