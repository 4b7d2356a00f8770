"""Watching a lowering: kernels behind each pass do what they did before, and their PTX does, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import product

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tirx.diagnostics import warn
from tirx.dialects.nesting import walk
from tirx.dialects.tirx import KernelOp, ScalarOpInterface, is_foreign, kernels
from tirx.hw.targets import Target
from tirx.interp import RunError, can_run, without_meaning, without_rule
from tirx.passes.kernels.guest_operations import lower_scalars
from tirx.rules import ForeignOperationError
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.check_arguments import Numbers
from tirx.runtime.check_sizes import MOST_ELEMENTS, Pace, Sizes, sizes_of
from tirx.runtime.comparison import Case
from tirx.runtime.launch import Launch
from tirx.runtime.origins import Origin
from tirx.text.verification import CheckError
from tirx.values import dataclass, field

_SIZES = 2
_SECONDS = 0.5
"""CPU time of the launches of a kernel, each of which is run again behind many passes; the first may take longer."""

_NUMBERS: tuple[Numbers, ...] = ("integers", "normal")


@dataclass
class Watch:
    """Compares the kernels of a module, behind every pass that keeps tiles, with what they mean.

    `cases` are launches of each kernel, by its name, and `before` is the module in front of the next pass. Kernels
    without cases get some when they are first seen; their results are those of then.
    """

    before: str
    cases: dict[str, Sequence[Case]] = field(default_factory=dict[str, Sequence[Case]])
    last: dict[str, str] = field(default_factory=dict[str, str])
    """Kernel -> the last pass that kept its tiles."""
    lowered: dict[str, str] = field(default_factory=dict[str, str])
    """Kernel -> the change of the pass behind that."""
    unknown: dict[str, Operation] = field(default_factory=dict[str, Operation])
    """Kernel without cases -> an operation of another dialect in it, of which nobody knows what it computes."""
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])

    @staticmethod
    def of(module: ModuleOp) -> Watch:
        """Returns a watch over all kernels of a module, and over those that its functions become."""
        found = Watch(str(module), origins=Origin.of(module))
        found.learn(module)
        return found

    def learn(self, module: ModuleOp) -> None:
        """Makes cases for kernels that have none."""
        if all(each.sym_name.data in self.cases or each.params is not None for each in kernels(module)):
            return
        for kernel in kernels(with_scalars_lowered(module.clone())):  # passes change the module
            if kernel.params is not None:
                continue  # once they are bound
            name = kernel.sym_name.data
            if (unknown := without_rule(kernel)) is not None and is_foreign(unknown):
                self.unknown[name] = unknown  # until a pass lowers it
                continue
            self.unknown.pop(name, None)
            origin = Origin.find(self.origins, module, name)
            if name not in self.cases:
                self.cases[name] = tuple(_cases(kernel, origin)) if unknown is None else ()
                if unknown is not None:
                    _warn(kernel, "expected a kernel of the tile or scheduled level, found another one")

    def after(self, done: ModulePass, module: ModuleOp) -> None:
        """Compares the kernels behind a pass with their cases. Raises CheckError."""
        if self._is_over(module):
            return
        now = str(module)
        found = {each.sym_name.data: each for each in kernels(with_scalars_lowered(module))}
        if any(name in self.origins and name not in self.cases for name in found):
            self.learn(module)
        for name in [each for each in self.cases if each not in self.lowered]:
            kernel = found.get(name)
            if kernel is not None and kernel.params is not None:
                continue  # until they are bound
            if kernel is None or not can_run(kernel):
                self.lowered[name] = _diff(self.before, now, done.name)
                continue
            for case in self.cases[name] if now != self.before else ():
                if (problem := case.interpreted(kernel)) is not None:
                    change = _diff(self.before, now, done.name)
                    culprit = f"first behind {done.name}: {problem.message}"
                    raise CheckError(f"@{name}, {case.words}", culprit, change, problem.location)
            self.last[name] = done.name
        self.before = now
        self.learn(module)

    def _is_over(self, module: ModuleOp) -> bool:
        """Returns True if all kernels have been lowered, and no function is to become one: no pass is compared."""
        names = {*self.cases, *self.origins, *self.unknown, *(each.sym_name.data for each in kernels(module))}
        return names <= self.lowered.keys()

    def end(self, ptx: str, launches: Iterable[Launch]) -> None:
        """Compares PTX, in the simulator, with the cases that its launches may have.

        Raises CheckError, and LocatedError for a kernel with an operation of another dialect that nobody lowered.
        """
        for name, op in self.unknown.items():
            raise ForeignOperationError(op, no_meaning(name, op))
        for launch in launches:
            for case in self.cases.get(launch.entry, ()):
                try:
                    problem = case.simulated(ptx, launch)
                except ArgumentError:
                    continue
                if problem is not None:
                    message = f"@{launch.entry}, {case.words}: {problem.message}"
                    raise CheckError(message, *self.culprit(launch.entry), problem.location)

    def agreement(self) -> str:
        """Returns how far the results of each kernel are those of the program, for errors of passes behind that."""
        return ", ".join(f"@{name} does what it means up to {last}" for name, last in self.last.items())

    def culprit(self, name: str) -> tuple[str, str]:
        """Returns the lowering that is to blame for a kernel which no pass changes, and its first change."""
        last = self.last.get(name, "the program")
        return f"the lowering behind {last} differs", self.lowered.get(name, self.before)


def with_scalars_lowered(module: ModuleOp) -> ModuleOp:
    """Returns a module whose scalar operations of other dialects are what they lower to; itself if it has none."""
    if not any(isinstance(op, ScalarOpInterface) for op in module.walk()):
        return module
    copied = module.clone()
    for kernel in kernels(copied):
        if kernel.target is not None:
            lower_scalars(walk(kernel), Target.parse(kernel.target.data))
    return copied


def no_meaning(name: str, op: Operation) -> str:
    """The message about a kernel with an operation of another dialect, which cannot be compared."""
    return f"expected operations on whole tiles in @{name}, to compare it with, found {without_meaning(op)}"


def _cases(kernel: KernelOp, origin: Origin | None) -> Iterator[Case]:
    """Yields launches of the first sizes that have results; of the others only as many as take little time.

    Warns if none of them changes an array.
    """
    sizes: set[Sizes] = set()
    pace = Pace(_SECONDS)
    refused = "expected launches that change an array, found none"
    for size, numbers in product(sizes_of(kernel, 0), _NUMBERS):
        if len(sizes | {size}) > _SIZES:
            return
        if size.elements > MOST_ELEMENTS:
            refused = f"expected arrays of at most {MOST_ELEMENTS} elements, found {size.elements}"
        elif size.elements and pace.allows(size):
            try:
                case = Case.made_up(kernel, size, numbers, 0, origin=origin)
                yield case
                if case.does_something:
                    sizes.add(size)
                pace.done(size)
            except (RunError, ValueError) as error:  # not a legal size
                refused = str(error)
    if not sizes:
        _warn(kernel, refused)


def _warn(kernel: KernelOp, why: str) -> None:
    warn(kernel, f"nothing was compared of @{kernel.sym_name.data}: {why}", "not-compared")


def _diff(before: str, after: str, name: str) -> str:
    lines = unified_diff(
        before.splitlines(), after.splitlines(), f"in front of {name}", f"behind {name}", lineterm="", n=2
    )
    return "\n".join(lines)
