"""Comparing the meaning of a tile program with its PTX in the simulator, and finding the pass that differs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, cast, get_args

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.utils import FastMathFlag
from xdsl.passes import ModulePass

from tirx.compiler import lower
from tirx.diagnostics import diagnostic_handler, nearest_location
from tirx.dialects.tirx import KernelOp, is_foreign, kernels
from tirx.interp import RunError, without_rule
from tirx.interp.formats import Array
from tirx.interp.run import operations_that_write
from tirx.passes import lower_to_ptx_passes
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass
from tirx.ptx.printer import print_ptx
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.check_arguments import Numbers
from tirx.runtime.check_sizes import MOST_ELEMENTS, Pace, Sizes, sizes_of
from tirx.runtime.comparison import SM_COUNT, Case, Problem, grid_of
from tirx.runtime.describe import describe
from tirx.runtime.launch import Launch
from tirx.runtime.origins import Origin
from tirx.runtime.simulation import bound_arguments
from tirx.runtime.watch import Watch, no_meaning, with_scalars_lowered
from tirx.text.parsing import parse_located
from tirx.text.verification import CheckError, run_passes
from tirx.universe import new_context
from tirx.values import dataclass, replace

SCHEDULES = ("order=row", "multiprocessors=2")
"""Options that make kernels loop over tiles although their grid, of numbers, would fit on a GPU at once."""

_MOST_SIZES = 6
_MOST_IDLE = 2
"""Sizes of launches that change nothing."""

_TRIES = 4
"""Seeds of a launch that changes nothing: a number that is stored may be there already."""

_SHARE = 0.3
"""The part of the time left that other numbers than the first may take at a size."""

_SECONDS_SMALLER = 2
"""CPU time for smaller sizes that differ, too."""

_NO_RESULT = (ArgumentError, RunError, ValueError)
"""Errors of launches that are not legal, or for which the tile program has no result."""

_APPROXIMATED = (math.ExpOp, math.LogOp, math.TanhOp, math.SinOp, math.CosOp)
"""Functions that are more than one instruction without `fastmath<afn>`, but one function of residues."""


@dataclass(frozen=True)
class Source:
    """The source that a program was compiled from: its module as IR or as text, the target and the options.

    `given` returns the passes that it was compiled by, from the options; None stands for those that the target and the
    options say. `seconds` of CPU time are what compiling it has taken.
    """

    program: ModuleOp | str
    target: str | None
    options: str
    given: Callable[[str], tuple[ModulePass, ...]] | None = None
    seconds: float = 0

    @property
    def passes(self) -> tuple[ModulePass, ...]:
        """The passes from tiles to PTX."""
        given = self.given
        return lower_to_ptx_passes(self.target, self.options).passes if given is None else given(self.options)

    def is_static(self, name: str) -> bool:
        """Returns True for a kernel of the source whose grid is numbers."""
        grids = [each.grid for each in kernels(self.module()) if each.sym_name.data == name]
        return any(grid is not None and all(isinstance(n, IntegerAttr) for n in grid) for grid in grids)

    def module(self) -> ModuleOp:
        """Returns the module, one that may be changed."""
        given = self.program
        return given.clone() if isinstance(given, ModuleOp) else parse_located(new_context(), given, "<string>")


@dataclass(frozen=True)
class Checked:
    """Launches of a kernel that agree: how many, how many bit for bit, and seconds of CPU time.

    `sizes` are those with a launch that changes an array; there are none for a kernel that writes to no array.
    `also` are options that give other schedules, of which a launch agrees as well.
    `conflict` says what blocks do to each other in launches that are left out for it, of which there may be none.
    """

    kernel: str
    launches: int
    sizes: int
    exact: int
    seconds: float
    conflict: str = ""
    also: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.sizes:
            why = f"the kernel writes to no array; {self.launches} launches have no error"
            return f"warning: nothing was compared of @{self.kernel}: {why}, in {self.seconds:.1f} s"
        within = self.launches - self.exact
        how = f"{self.exact} bit for bit" + (f", {within} within bounds" if within else "")
        agree = f"@{self.kernel}: {self.launches} launches of {self.sizes} sizes agree, {how}, in {self.seconds:.1f} s"
        conflict = f"; others have no result: {self.conflict}" if self.conflict else ""
        return agree + conflict + (f"; also with {' and '.join(self.also)}" if self.also else "")


@dataclass(frozen=True)
class _Compiled:
    """A kernel, and what it was compiled to. `modular`: its functions are single instructions, for residues."""

    ptx: str
    launch: Launch
    source: Source
    tile: KernelOp
    origin: Origin | None = None
    modular: bool = False

    def case(self, size: Sizes, numbers: Numbers, seed: int) -> Case:
        """Returns a launch of the tile program, with arguments at random. Raises one of `_NO_RESULT`."""

        def check(arguments: Sequence[Any]) -> None:  # in less time than a run takes
            bound_arguments(self.launch, arguments, grid_of(self.tile), SM_COUNT)

        return Case.made_up(self.tile, size, numbers, seed, check, modular=self.modular, origin=self.origin)

    def telling_case(self, size: Sizes, numbers: Numbers, seed: int) -> Case:
        """Returns a launch, of the first seed with which it changes an array. Raises one of `_NO_RESULT`."""
        found, last = self.case(size, numbers, seed), seed + _TRIES - 1
        while seed < last and size.elements and not found.does_something:
            seed += 1
            found = self.case(size, numbers, seed)
        return found

    def problem(self, case: Case, **options: Any) -> Problem | None:
        """Runs a launch in the simulator, too. Returns what differs there."""
        return case.simulated(self.ptx, self.launch, **options)

    def first_problem(self, sizes: Sequence[Sizes], numbers: Numbers, seed: int) -> tuple[Case, Problem] | None:
        """Returns the first launch that differs, and how; None if none does within some seconds."""
        end = time.process_time() + _SECONDS_SMALLER
        for size in sizes:
            try:
                case = self.case(size, numbers, seed)
                if (problem := self.problem(case)) is not None:
                    return case, problem
            except _NO_RESULT:
                continue
            if time.process_time() > end:
                break
        return None

    def blame(self, case: Case, problem: Problem) -> CheckError:
        """Returns the error that a launch differs, with the pass behind which it does."""
        name, asked = self.launch.entry, self.source.options
        words = (f' with options "{asked}"' if asked else "") + (" modulo a prime" if self.modular else "")
        message = f"@{name}{words}, {case.words}: {problem.message}"
        try:
            culprit, change = _watched(self.source, name, case)
        except CheckError as error:
            return CheckError(message, error.culprit, error.change, error.location)
        return CheckError(message, culprit, change, problem.location)

    def of_residues(self) -> _Compiled:
        """Compiles the kernel again if it has functions, with those of one instruction (`fastmath<afn>`)."""
        module, name = self.source.module(), self.launch.entry
        functions = [op for op in module.walk() if isinstance(op, _APPROXIMATED)]
        if not functions:
            return replace(self, modular=True)
        for op in functions:
            op.properties["fastmath"] = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
        source = replace(self.source, program=module)
        with diagnostic_handler(lambda _: None):
            lowered = lower(module, passes=source.passes)
        launch = next(each for each in describe(lowered) if each.entry == name)
        return _Compiled(print_ptx(lowered), launch, source, *_tile_kernel(source, name), True)


def check_kernel(
    ptx: str,
    launch: Launch,
    source: Source,
    *,
    numbers: Sequence[Numbers] = ("integers", "normal"),
    seconds: float = 3,
    seed: int = 0,
) -> Checked:
    """
    Compares a kernel with its tile program for random arguments of several sizes, within about `seconds` of CPU time.

    Sizes and numbers for which the tile program has no result are left out, and those that would take too long. Of a
    kernel that writes to no array nothing is compared. Raises CheckError, with one of the smallest sizes that differ,
    and where no launch changes an array, and ArgumentError.
    """
    _require_options(numbers, seconds, seed)
    pace = Pace(seconds)
    tile, origin = _tile_kernel(source, launch.entry)
    plain = _Compiled(ptx, launch, source, tile, origin)
    of_residues = plain.of_residues() if "modular" in numbers else plain
    exact: list[bool] = []
    refused: Exception | str = ""
    conflict = ""
    sizes: set[Sizes] = set()
    telling, idle = set[Sizes](), set[Sizes]()  # those of launches that change an array, and of others
    for size, each in product(sizes_of(tile, seed), numbers):
        if len(telling | {size}) > _MOST_SIZES:
            break
        share = 1 if each == numbers[0] or not sizes - {size} else _SHARE
        if size.elements > MOST_ELEMENTS:
            refused = f"expected arrays of at most {MOST_ELEMENTS} elements, found {size.elements}"
            continue
        if not pace.allows(size, share):
            continue
        compiled = of_residues if each == "modular" else plain
        try:
            case = (compiled.case if telling else compiled.telling_case)(size, each, seed)
            if not case.does_something:
                idle.add(size)
                if len(idle) > _MOST_IDLE:
                    continue
            problem = compiled.problem(case)
        except _NO_RESULT as error:
            refused = error
            if isinstance(error, RunError) and error.kind == "conflict":
                conflict = str(error)
            continue
        if problem is not None:
            smaller = [one for one in sizes_of(tile, seed) if one.elements < size.elements]
            smallest = compiled.first_problem(sorted(smaller, key=lambda one: one.elements), each, seed)
            raise compiled.blame(*(smallest or (case, problem)))
        pace.done(size)
        exact.append(case.ran.exact)
        sizes.add(size)
        if case.does_something:
            telling.add(size)
    if not telling and (not exact or _writes_to_arguments(tile)):
        raise _not_compared(launch.entry, refused)
    return Checked(launch.entry, len(exact), len(telling), sum(exact), time.process_time() - pace.start, conflict)


def _writes_to_arguments(tile: KernelOp) -> bool:
    return any(target in tile.body.block.args for _, target in operations_that_write(tile))


def _not_compared(name: str, refused: Exception | str) -> CheckError:
    """Returns the error that no launch changes an array, at the operation without a result if there is one."""
    wanted = "sizes that the kernel can be launched with, and does something"
    if isinstance(refused, RunError):
        location = nearest_location(refused.op)
        return CheckError(f"@{name}: expected {wanted}, found none: {refused.message}", location=location)
    why = str(refused) or "no launch changes an array, and nothing else is compared"
    return CheckError(f"@{name}: expected {wanted}, found none: {why}")


def _require_options(numbers: Sequence[str], seconds: float, seed: object) -> None:
    known = get_args(Numbers)
    if isinstance(numbers, str) or not numbers or not set(numbers) <= set(known):
        names = ", ".join(f'"{each}"' for each in known)
        raise ArgumentError(f"expected numbers: a list of one or more of {names}, found {numbers!r}")
    if not seconds >= 0:
        raise ArgumentError(f"expected seconds of 0 or more, found {seconds}")
    if not (isinstance(seed, int) and seed >= 0):
        raise ArgumentError(f"expected a seed, an integer of 0 or more, found {seed}")


def check_launch(ptx: str, launch: Launch, source: Source, arguments: Sequence[Any], **options: Any) -> Checked:
    """Compares one launch with its tile program; the arguments stay as they are. `options` are those of `tirx.sim.run`.

    Raises CheckError where they differ, and RunError and ArgumentError for arguments that have no result.
    """
    start = time.process_time()
    arrays = [cast("Array", each) if isinstance(each, np.ndarray) else None for each in arguments]
    shapes = tuple(None if each is None else each.shape for each in arrays)
    compiled = _Compiled(ptx, launch, source, *_tile_kernel(source, launch.entry))
    bound_arguments(launch, arguments, grid_of(compiled.tile), SM_COUNT)  # copies of them overlap no longer
    case = Case.of(compiled.tile, f"arguments of {Sizes(shapes, ())}", arguments, origin=compiled.origin)
    if (problem := compiled.problem(case, **options)) is not None:
        raise compiled.blame(case, problem)
    return Checked(launch.entry, 1, 1, int(case.ran.exact), time.process_time() - start)


def _tile_kernel(source: Source, name: str) -> tuple[KernelOp, Origin | None]:
    """Returns a kernel as the program has it, and the function that it was made of."""
    module, passes = source.module(), source.passes
    origins = Origin.of(module)
    front = [each.name for each in passes].index(TirxSpecializePass.name) + 1
    run_passes(new_context(), module, passes[:front])  # functions become kernels, parameters numbers
    found = next((each for each in kernels(with_scalars_lowered(module)) if each.sym_name.data == name), None)
    unknown = None if found is None else without_rule(found)
    if unknown is not None and is_foreign(unknown):
        raise CheckError(no_meaning(name, unknown), location=unknown.location)
    if found is None or unknown is not None:
        raise CheckError(f"@{name}: expected a kernel of the tile or scheduled level, found another one")
    return found, Origin.find(origins, module, name)


def _watched(source: Source, name: str, case: Case) -> tuple[str, str]:
    """Lowers a program again. Raises CheckError at the first pass behind which it differs, or returns what is left."""
    context, module = new_context(), source.module()
    known = [each.sym_name.data for each in kernels(module)]
    watch = Watch(str(module), {**dict.fromkeys(known, ()), name: [case]})

    def after(done: ModulePass, module: ModuleOp) -> None:
        known.extend(kernel.sym_name.data for kernel in kernels(module))
        if name in known:  # a function is one behind a pass
            watch.after(done, module)
        if name in watch.lowered:
            raise _LoweredError

    with diagnostic_handler(lambda _: None), suppress(_LoweredError):
        run_passes(context, module, source.passes, after, verify_each=True)
    return watch.culprit(name)


class _LoweredError(Exception):
    """Ends the passes behind the one that lowers a kernel."""
