"""A search on the GPU for how copies, products and stores of a program overlap best.

Without a search, tables of start values decide (`tirx.passes.rings.start_values`). The search tries one knob after the
other and keeps what was fastest; the result is written into the text of the program as attributes, for everybody who
compiles it.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import KernelOp, kernels
from tirx.passes.kernels.tirx_choose import ranked_values
from tirx.passes.kernels.tirx_set_target import TirxSetTargetPass
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass, verify_bound
from tirx.passes.match.pipelining import copies_to_shared
from tirx.runtime.arrays import ArrayView
from tirx.runtime.driver import Device, GpuError, device
from tirx.runtime.frameworks import VIEWS, framework_of
from tirx.runtime.launch import PointerArgument
from tirx.runtime.program import Kernel, build
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context
from tirx.values import dataclass

_SKIPPED = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
"""Comments and strings, in which braces have no meaning."""


def annotated(text: str, words: Mapping[str, str], stages: int | None) -> str:
    """Writes `attributes {...}` with the strings `words` on every kernel, and `{tirx.stages = n}` on every loop that
    copies global tiles to shared memory.

    Raises ValueError for a kernel or a loop that has attributes already, and LocatedError for a text that is wrong.
    """
    changes: list[tuple[int, str]] = []
    for op in parse_located(new_context(), text).walk():
        if isinstance(op, KernelOp) and words:
            if op.attributes:
                raise ValueError(f"expected a kernel without attributes, found {', '.join(op.attributes)}")
            written = ", ".join(f'{name} = "{word}"' for name, word in words.items())
            changes.append((_body(text, op)[0], f"attributes {{{written}}} "))
        elif isinstance(op, scf.ForOp) and stages is not None and copies_to_shared(op):
            if op.attributes:
                raise ValueError(f"expected a loop without attributes, found {', '.join(op.attributes)}")
            changes.append((_body(text, op)[1], f" {{tirx.stages = {stages} : i64}}"))
    for place, insertion in sorted(changes, reverse=True):
        text = text[:place] + insertion + text[place:]
    return text


def _body(text: str, op: Operation) -> tuple[int, int]:
    """Returns where the braces of the region of `op` start, and where they end."""
    location = op.location
    assert isinstance(location, FileLineColLoc), op.name
    blank = _SKIPPED.sub(lambda found: " " * len(found[0]), text)
    lines = text.splitlines(keepends=True)
    place = sum(map(len, lines[: location.line.data - 1])) + location.column.data - 1
    start = blank.index("{", place)
    depth = 0
    for i in range(start, len(blank)):
        depth += {"{": 1, "}": -1}.get(blank[i], 0)
        if depth == 0:
            return start, i + 1
    raise AssertionError(f"no braces around the region of '{op.name}', which the parser has seen")


AUTO = "auto"
KNOBS: dict[str, tuple[str, ...]] = {
    "roles": (AUTO, "none", "load"),
    "order": (AUTO, "none", "row", "group", "hilbert"),
    "cluster": (AUTO, "rows", "columns"),
    "epilogue": (AUTO, "direct"),
    "stages": (AUTO, "2", "3", "4", "5", "6"),
}
"""Options of the pipeline -> the values that are tried; `auto` is the choice of the tables."""

PAUSE = (0.03, 0.1)
"""Seconds before each measurement: without them the power limit of the GPU decides."""

BURST = 3e-3
"""Seconds that the launches of one measurement take at most."""

Measure = Callable[[Sequence[Callable[[], object]], int], list[float]]
"""Seconds of each of some launches, the median of so many rounds."""


@dataclass(frozen=True)
class Trial:
    """A program that was tried: which text, with which options, how long it took, or why it was left out."""

    program: str
    options: Mapping[str, str]
    seconds: float | None
    problem: str | None = None

    def __str__(self) -> str:
        options = " ".join(f"{name}={value}" for name, value in self.options.items() if value != AUTO) or AUTO
        found = self.problem if self.seconds is None else f"{self.seconds * 1e6:.1f} us"
        return f"{self.program}, {options}: {found}"


@dataclass(frozen=True)
class Tuned:
    """The fastest program: its text with the options as attributes."""

    text: str
    best: Trial
    trials: tuple[Trial, ...]


def tune(
    programs: str | Mapping[str, str],
    arguments: Sequence[Any],
    *,
    target: str | None = None,
    knobs: Mapping[str, Sequence[str]] = KNOBS,
    model: bool = False,
    rounds: int = 5,
    report: Callable[[Trial], None] | None = None,
    measure: Measure | None = None,
) -> Tuned:
    """Finds the fastest of some programs and of the options of the pipeline for them.

    With `model` the timing model ranks all programs and the candidates of their parameters, for the sizes of the
    arguments, without compiling them. The best three are measured, and nothing else is tried; the text that is found
    has the values of its parameters. Raises GpuError where it knows none of the programs.

    `programs` are MLIR texts of one kernel each, by a name, such as the same product with other tiles; all take the
    `arguments`, torch or cupy arrays and numbers. Every program has to write the bits that the first one writes when it
    is not pipelined; one that does not is left out and says so. `report` hears of every trial, and `measure` stands in
    for measurements on the GPU. Raises LocatedError for a first program that does not compile, and GpuError if nothing
    ran.
    """
    texts = {"program": programs} if isinstance(programs, str) else dict(programs)
    arrays = _Arrays(arguments)
    first = _kernel(next(iter(texts.values())), target, "")
    expected = arrays.results(first)
    trials: list[Trial] = []

    def try_all(candidates: Sequence[tuple[str, Mapping[str, str]]]) -> Trial | None:
        """Measures candidates in turn; returns the fastest."""
        ready: list[tuple[str, Mapping[str, str], Kernel]] = []
        found: list[Trial] = []
        for program, options in candidates:
            try:
                kernel = _kernel(texts[program], target, _words(options))
                if arrays.results(kernel) == expected:
                    ready.append((program, options, kernel))
                    continue
                problem = "it writes other numbers"
            except (LocatedError, GpuError) as error:
                problem = str(error).split("\n")[0]
            found.append(Trial(program, options, None, problem))
        launches = [lambda kernel=kernel: kernel(*arguments, stream=0) for *_, kernel in ready]
        seconds = (measure or arrays.measure)(launches, rounds)
        found += [Trial(p, options, each) for (p, options, _), each in zip(ready, seconds, strict=True)]
        trials.extend(found)
        for trial in found if report is not None else ():
            report(trial)  # pyright: ignore[reportOptionalCall]
        return min((t for t in found if t.seconds is not None), key=lambda t: t.seconds or 0.0, default=None)

    start = dict.fromkeys(knobs, AUTO)
    shapes = {i: view.shape for i, view in arrays.views.items()}
    candidates = best_by_model(texts, target, shapes) if model else [(name, start) for name in texts]
    best = try_all(candidates)
    if best is None:
        raise GpuError("expected a program that runs with pipeline=on, found none:\n" + "\n".join(map(str, trials)))
    if model:
        return Tuned(_bound(texts[best.program], best.options), best, tuple(trials))
    for knob, values in knobs.items():
        candidates = [(best.program, {**best.options, knob: value}) for value in values]
        best = try_all(candidates) or best
    text = texts[best.program]
    chosen = {name: value for name, value in best.options.items() if value != AUTO}
    stages = chosen.pop("stages", None)
    words = {f"tirx.{name}": value for name, value in chosen.items()}
    return Tuned(annotated(text, words, None if stages is None else int(stages)), best, tuple(trials))


def best_by_model(
    texts: Mapping[str, str], target: str | None, shapes: Mapping[int, Sequence[int]], most: int = 3
) -> list[tuple[str, Mapping[str, str]]]:
    """The programs, with values of their parameters, that take the least time by the timing model, the best one first.

    `shapes` are those of the arguments, by number. Raises GpuError if no program multiplies tiles that it knows.
    """
    found: list[tuple[float, str, Mapping[str, str], KernelOp]] = []
    for program, text in texts.items():
        module = _module(text, [TirxSetTargetPass(target)] if target is not None else [])
        for kernel in kernels(module):
            free = () if kernel.params is None else [each.name for each in kernel.params.data if each.launch is None]
            for choice, values in ranked_values(kernel, {}, shapes):
                found.append((choice.score, program, {name: str(values[name]) for name in free}, kernel))
    best: list[tuple[str, Mapping[str, str]]] = []
    for _, program, words, kernel in sorted(found, key=lambda each: each[0]):
        if len(best) < most and _is_program(kernel, words):
            best.append((program, words))
    if not best:
        raise GpuError("expected programs that multiply tiles, which the timing model ranks, found none")
    return best


def _values(words: Mapping[str, str]) -> Mapping[str, int | str]:
    return {name: int(word) if word.isdecimal() else word for name, word in words.items()}


def _is_program(kernel: KernelOp, words: Mapping[str, str]) -> bool:
    """Returns True if a kernel verifies with these values of its parameters."""
    try:
        if kernel.params is not None:
            verify_bound(kernel, _values(words))
    except LocatedError:
        return False
    return True


def _bound(text: str, words: Mapping[str, str]) -> str:
    """The text with values in the place of parameters; as it is where there are none."""
    if not words:
        return text
    return str(_module(text, [TirxSpecializePass(_values(words))]))


def _module(text: str, passes: Sequence[ModulePass]) -> ModuleOp:
    context = new_context()
    module = parse_located(context, text)
    run_passes(context, module, passes)
    return module


def _words(options: Mapping[str, str]) -> str:
    return " ".join(["pipeline=on", *(f"{name}={value}" for name, value in options.items() if value != AUTO)])


def _kernel(text: str, target: str | None, options: str) -> Kernel:
    (kernel,) = build(text, target, options).kernels.values()
    return kernel


class _Arrays:
    """The arguments of all launches, and what was in them at the start."""

    def __init__(self, arguments: Sequence[Any]):
        self.arguments = arguments
        self.views: dict[int, ArrayView] = {}
        for i, argument in enumerate(arguments):
            if (framework := framework_of(argument)) != "number":
                self.views[i] = VIEWS[framework](argument)
        (index, *others) = {view.device for view in self.views.values()} or (0,)
        if index is None or others:
            raise GpuError("expected arrays on one GPU")
        self.device: Device = device(index)
        self.start = {i: self._read(view) for i, view in self.views.items()}

    def _read(self, view: ArrayView) -> bytes:
        data = np.empty(view.span, np.uint8)
        with self.device.current():
            self.device.driver.cuCtxSynchronize()
            if view.span:
                self.device.driver.cuMemcpyDtoH(data.__array_interface__["data"][0], view.address, view.span)
        return data.tobytes()

    def results(self, kernel: Kernel) -> dict[int, bytes]:
        """The bytes of all arrays that the kernel writes, after one launch with what was in them at the start."""
        written = [i for i, a in enumerate(kernel.launch.passed) if isinstance(a, PointerArgument) and a.is_written]
        with self.device.current():
            for i in written:
                if self.start[i]:
                    data = np.frombuffer(self.start[i], np.uint8)
                    self.device.driver.cuMemcpyHtoD(
                        self.views[i].address, data.__array_interface__["data"][0], len(data)
                    )
        kernel(*self.arguments, stream=0)
        return {i: self._read(self.views[i]) for i in written}

    def measure(self, launches: Sequence[Callable[[], object]], rounds: int) -> list[float]:
        """The medians of the rounds; in each round all launches run in turn, after a pause."""
        driver = self.device.driver
        with self.device.current():
            start, end = driver.cuEventCreate(0), driver.cuEventCreate(0)

            def seconds_of(launch: Callable[[], object], repeats: int) -> float:
                driver.cuEventRecord(start, 0)
                for _ in range(repeats):
                    launch()
                driver.cuEventRecord(end, 0)
                driver.cuEventSynchronize(end)
                return driver.cuEventElapsedTime(start, end) / 1e3 / repeats

            repeats = [max(1, min(50, int(BURST / max(seconds_of(launch, 1), 1e-6)))) for launch in launches]
            found: list[list[float]] = [[] for _ in launches]
            for _ in range(rounds):
                for launch, count, each in zip(launches, repeats, found, strict=True):
                    time.sleep(random.uniform(*PAUSE))
                    each.append(seconds_of(launch, count))
            driver.cuEventDestroy(start)
            driver.cuEventDestroy(end)
        return [median(each) for each in found]
