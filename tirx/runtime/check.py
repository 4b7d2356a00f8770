"""Comparing the meaning of a tile program with its PTX in the simulator, and finding the pass that differs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from itertools import product
from typing import Any, cast

import numpy as np

from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import KernelOp, kernels
from tirx.interp import Ran, RunError, can_run, run_kernel
from tirx.interp.formats import Array, dtype_of, packed_bits, unpacked
from tirx.passes import lower_to_ptx_passes
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.check_arguments import Numbers, Sizes, arguments_of, sizes_of
from tirx.runtime.launch import Launch
from tirx.runtime.simulation import simulate
from tirx.sim import SimError
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

SM_COUNT = 2
"""Multiprocessors of the GPU that is simulated: few, so that kernels which loop over their tiles do."""

_MOST_SIZES = 6
_MOST_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class Source:
    """The source that a program was compiled from: its module as text, the target and the options."""

    text: str
    target: str | None
    options: str


@dataclass(frozen=True)
class Checked:
    """Launches of a kernel that agree: how many, of how many sizes, how many bit for bit, and seconds of CPU time."""

    kernel: str
    launches: int
    sizes: int
    exact: int
    seconds: float

    def __str__(self) -> str:
        within = self.launches - self.exact
        how = f"{self.exact} bit for bit" + (f", {within} within bounds" if within else "")
        return f"@{self.kernel}: {self.launches} launches of {self.sizes} sizes agree, {how}, in {self.seconds:.1f} s"


class CheckError(Exception):
    """
    A launch whose PTX does not do what the program means, or a program without a launch that can be compared.

    `message` says what differs and `culprit` the first pass behind which the program differs, or after which lowering
    goes wrong; None where nothing was compared. `change` is the IR in front of that pass and behind it, as a diff.
    """

    def __init__(self, message: str, culprit: str | None = None, change: str = ""):
        super().__init__(message if culprit is None else f"{message}; {culprit}")
        self.message = message
        self.culprit = culprit
        self.change = change


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

    The first two sizes may take three times as long. Sizes and numbers for which the tile program has no result are
    left out. Raises CheckError.
    """
    start = time.process_time()
    tile = _tile_kernel(source, launch.entry)
    exact: list[bool] = []
    refused, elements = "", 0
    sizes: set[Sizes] = set()
    for size, each in product(sizes_of(tile, seed), numbers):
        compared = sum(bool(one.elements) for one in sizes | {size})
        if compared > _MOST_SIZES:
            break
        # Elements of this size will take as long as those before, if not longer.
        expected = (time.process_time() - start) * (1 + size.elements / max(elements, 1))
        if size.elements > _MOST_ELEMENTS or (exact and expected > (seconds if compared > 2 else 3 * seconds)):
            continue
        elements += size.elements
        try:
            exact.append(_compare(ptx, launch, tile, source, arguments_of(tile, size, each, seed), size).exact)
            sizes.add(size)
        except (ArgumentError, RunError, ValueError) as error:
            refused = str(error)
    if not exact:
        raise CheckError(f"@{launch.entry}: expected sizes that the kernel can be launched with, found none: {refused}")
    return Checked(launch.entry, len(exact), len(sizes), sum(exact), time.process_time() - start)


def check_launch(ptx: str, launch: Launch, source: Source, arguments: Sequence[Any], **options: Any) -> Checked:
    """
    Compares one launch with its tile program; the arguments stay as they are. `options` are those of `tirx.sim.run`.

    Raises CheckError where they differ, and RunError and ArgumentError for arguments that have no result.
    """
    start = time.process_time()
    tile = _tile_kernel(source, launch.entry)
    arrays = [cast("Array", each) if isinstance(each, np.ndarray) else None for each in arguments]
    shapes = tuple(None if each is None else each.shape for each in arrays)
    ran = _compare(ptx, launch, tile, source, arguments, Sizes(shapes, ()), **options)
    return Checked(launch.entry, 1, 1, int(ran.exact), time.process_time() - start)


def _tile_kernel(source: Source, name: str) -> KernelOp:
    module = parse_located(new_context(), source.text, "<string>")
    found = next((each for each in kernels(module) if each.sym_name.data == name), None)
    if found is None or not can_run(found):
        raise CheckError(f"@{name}: expected a kernel of the tile or scheduled level, found another one")
    return found


def _copies(arguments: Sequence[Any]) -> list[Any]:
    """Returns arguments of which a run changes nothing else; strides stay."""
    found: list[Any] = []
    for each in arguments:
        if isinstance(each, np.ndarray):
            array = cast("Array", each)
            found.append(_like(array))
            found[-1][...] = array
        else:
            found.append(each)
    return found


def _like(array: Array) -> Array:
    span = 1 + sum(max(n - 1, 0) * step // array.itemsize for n, step in zip(array.shape, array.strides, strict=True))
    words = np.zeros(span, f"u{array.itemsize}")
    return np.lib.stride_tricks.as_strided(words, array.shape, array.strides).view(array.dtype)


def _grid(tile: KernelOp) -> tuple[int, ...] | None:
    return None if tile.grid is not None else (tile.cluster_size, 1, 1)


def _expected(tile: KernelOp, arguments: Sequence[Any]) -> tuple[Ran, list[Any]]:
    """Returns a run of a program and the arguments behind it; one that is not exact is run again, with bounds."""
    expected = _copies(arguments)
    ran = run_kernel(tile, expected, grid=_grid(tile), sm_count=SM_COUNT)
    if not ran.exact:
        expected = _copies(arguments)
        ran = run_kernel(tile, expected, grid=_grid(tile), sm_count=SM_COUNT, bounds=True)
    return ran, expected


def _compare(
    ptx: str, launch: Launch, tile: KernelOp, source: Source, arguments: Sequence[Any], size: Sizes, **options: Any
) -> Ran:
    """Runs a launch in both ways. Raises CheckError where they differ."""
    ran, expected = _expected(tile, arguments)
    found = _copies(arguments)
    try:
        simulate(ptx, launch, found, grid=_grid(tile), sm_count=SM_COUNT, check="strict", **options)
    except SimError as error:
        problem: str | None = f"the simulator refuses it: {error.message}"
    else:
        problem = _difference(tile, ran, expected, found)
    if problem is not None:
        words = f' with options "{source.options}"' if source.options else ""
        message = f"@{launch.entry}{words}, arguments of {size}: {problem}"
        raise CheckError(message, *_culprit(source, tile, arguments, ran, expected))
    return ran


def _difference(tile: KernelOp, ran: Ran, expected: Sequence[Any], found: Sequence[Any]) -> str | None:
    """Returns where two runs differ by more than they may, None if they agree."""
    for value, error, wanted, got in zip(tile.body.block.args, ran.errors, expected, found, strict=True):
        if not isinstance(wanted, np.ndarray):
            continue
        dtype = dtype_of(getattr(value.type, "element_type", value.type))
        a, b = _numbers(cast("Array", wanted), dtype), _numbers(got, dtype)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if error is not None:
            with np.errstate(invalid="ignore"):
                same |= (np.abs(a - b) <= error) | np.isinf(error)
        if not same.all():
            place = tuple(int(n) for n in np.argwhere(~same)[0])
            allowed = "" if error is None or not error[place] else f" within {error[place]:.2g}"
            name = value.name_hint or f"argument {value.index}"
            return (
                f"{int((~same).sum())} of {same.size} elements of %{name} differ, first %{name}{list(place)}: "
                f"expected {a[place]}{allowed}, found {b[place]}"
            )
    return None


def _numbers(array: Array, dtype: np.dtype[Any]) -> Array:
    if packed_bits(dtype) is not None and array.dtype != dtype:
        return unpacked(array, dtype).astype(np.float64)
    found = array if array.dtype == dtype else array.view(f"u{dtype.itemsize}").view(dtype)
    return found if dtype.kind in "iub" and dtype.itemsize == 8 else found.astype(np.float64)


def _culprit(
    source: Source, tile: KernelOp, arguments: Sequence[Any], ran: Ran, expected: Sequence[Any]
) -> tuple[str, str]:
    """Returns the first pass behind which the interpreted program differs, and what it changed."""
    context, name = new_context(), tile.sym_name.data
    module = parse_located(context, source.text, "<string>")
    before, last = str(module), "the program"
    with diagnostic_handler(lambda _: None):
        for each in lower_to_ptx_passes(source.target, source.options).passes:
            run_passes(context, module, [each])
            kernel = next((k for k in kernels(module) if k.sym_name.data == name), None)
            if kernel is None or not can_run(kernel):
                return f"the lowering behind {last} differs", _diff(before, str(module), each.name)
            if (now := str(module)) != before:
                problem = _problem_behind(kernel, arguments, ran, expected)
                if problem is not None:
                    return f"first behind {each.name}: {problem}", _diff(before, now, each.name)
                before = now
            last = each.name
    return f"the lowering behind {last} differs", before


def _problem_behind(kernel: KernelOp, arguments: Sequence[Any], ran: Ran, expected: Sequence[Any]) -> str | None:
    found = _copies(arguments)
    try:
        run_kernel(kernel, found, grid=_grid(kernel), sm_count=SM_COUNT)
    except RunError as error:
        return str(error)
    return _difference(kernel, ran, expected, found)


def _diff(before: str, after: str, name: str) -> str:
    lines = unified_diff(
        before.splitlines(), after.splitlines(), f"in front of {name}", f"behind {name}", lineterm="", n=2
    )
    return "\n".join(lines)
