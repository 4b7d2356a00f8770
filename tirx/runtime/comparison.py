"""Launches whose results are known: the meaning of a kernel, held against what passes and the simulator make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tirx.diagnostics import nearest_location
from tirx.dialects.tirx import KernelOp
from tirx.interp import Ran, RunError, run_kernel
from tirx.interp.formats import Array, dtype_of, is_float, packed_bits, unpacked
from tirx.interp.run import operations_that_write
from tirx.runtime.arrays import flat_bytes, restrided
from tirx.runtime.check_arguments import Integers, Numbers, arguments_of, integers_of, most_operations
from tirx.runtime.check_sizes import Sizes
from tirx.runtime.launch import Launch
from tirx.runtime.origins import Origin
from tirx.runtime.simulation import simulate
from tirx.sim import SimError, SimWarning
from tirx.sim.numerics.modular import ordered
from tirx.values import dataclass

SM_COUNT = 2
"""Multiprocessors of the GPU that is simulated: few, so that kernels which loop over their tiles do."""

_MOST_INSTRUCTIONS = 1_000_000
_PER_ELEMENT = 50
"""Warp instructions of a launch that is made up, and more for each element of its arrays: more may never end.

The launches of the examples take at most 30,000.
"""

_SCHEDULED = 10
"""How many times the operations of a tile program those behind a pass may be."""


@dataclass(frozen=True)
class Problem:
    """The difference that a launch shows, and the place of an operation that has to do with it."""

    message: str
    location: LocationAttr


@dataclass(frozen=True)
class Case:
    """A launch of a kernel: its arguments, in words and as values, and what they are behind it."""

    kernel: KernelOp
    words: str
    arguments: Sequence[Any]
    ran: Ran
    expected: Sequence[Any]
    modular: bool = False
    """Floats stand for residues modulo a prime (`tirx.sim.numerics.modular`)."""
    max_operations: int | None = None
    """The most operations of the tile program, for a launch that is made up."""

    @staticmethod
    def of(
        kernel: KernelOp,
        words: str,
        arguments: Sequence[Any],
        *,
        modular: bool = False,
        origin: Origin | None = None,
        max_operations: int | None = None,
    ) -> Case:
        """Runs a kernel, or the function that it comes from; if that is not exact, once more, for the bounds.

        Raises RunError.
        """
        options: dict[str, Any] = {"grid": grid_of(kernel), "sm_count": SM_COUNT, "max_operations": max_operations}
        run = partial(run_kernel, kernel, prints=False, **options) if origin is None else origin.run
        expected = _copies(arguments)
        ran = run(expected, modular=modular)
        if not ran.exact and modular:
            found = "some whose residues depend on the order"
            raise RunError(kernel, "unsupported", f"expected reductions that combine in any order, found {found}")
        if not ran.exact:
            expected = _copies(arguments)
            ran = run(expected, bounds=True)
        return Case(kernel, words, arguments, ran, expected, modular, max_operations)

    @staticmethod
    def made_up(
        kernel: KernelOp,
        size: Sizes,
        numbers: Numbers,
        seed: int,
        check: Callable[[Sequence[Any]], object] = lambda _: None,
        **options: Any,
    ) -> Case:
        """
        Returns a launch with arguments at random, and the first kind of integers for which the program has a result.

        Positive ones are for what divides or shifts by others. `check` looks at the arguments before they are run.
        Raises RunError if the program has no result for these, either, and what `arguments_of` and `check` raise.
        """

        def launch(integers: Integers) -> Case:
            arguments = arguments_of(kernel, size, numbers, seed, integers)
            check(arguments)
            most = most_operations(integers)
            return Case.of(kernel, f"arguments of {size}", arguments, max_operations=most, **options)

        *choices, last = integers_of(kernel, numbers)
        for integers in choices:
            try:
                return launch(integers)
            except RunError as error:
                if integers == "few" and error.kind != "undefined":
                    raise
        return launch(last)

    @property
    def does_something(self) -> bool:
        """Returns True if an array is another one behind the launch."""
        pairs = zip(self.arguments, self.expected, strict=True)
        return any(isinstance(b, np.ndarray) and bool((_bits(a) != _bits(cast("Array", b))).any()) for a, b in pairs)

    def interpreted(self, kernel: KernelOp) -> Problem | None:
        """Returns the problem of a kernel behind a pass, None if it does the same."""
        found, most = _copies(self.arguments), self.max_operations and self.max_operations * _SCHEDULED
        options: dict[str, Any] = {"grid": grid_of(kernel), "sm_count": SM_COUNT, "modular": self.modular}
        try:
            run_kernel(kernel, found, max_operations=most, prints=False, **options)
        except RunError as error:
            if error.kind == "arguments":
                return None  # by now the kernel says that its launch refuses them
            return Problem(error.message, nearest_location(error.op))
        return self._difference(kernel, found)

    def simulated(self, ptx: str, launch: Launch, **options: Any) -> Problem | None:
        """Returns the problem of PTX in the simulator, None if it does the same. Raises ArgumentError."""
        found = _copies(self.arguments)
        if self.modular:
            options["arithmetic"] = "modular"
        if self.max_operations is not None:
            elements = sum(each.size for each in found if isinstance(each, np.ndarray))
            options.setdefault("max_instructions", _MOST_INSTRUCTIONS + _PER_ELEMENT * elements)
        warnings: list[SimWarning] = []
        options.setdefault("report", warnings.append)
        options.setdefault("prints", False)
        try:
            simulate(ptx, launch, found, grid=grid_of(self.kernel), sm_count=SM_COUNT, check="strict", **options)
        except SimError as error:
            return Problem(f"the simulator refuses it: {error.message}", nearest_location(self.kernel))
        of_ptx = (
            each for each in warnings if not each.rule.endswith(("forgotten", "order of a sum"))
        )  # facts of a GPU
        if warned := next(of_ptx, None):
            return Problem(f"the simulator warns of it: {warned.message}", nearest_location(self.kernel))
        return self._difference(self.kernel, found)

    def _difference(self, kernel: KernelOp, found: Sequence[Any]) -> Problem | None:
        for value, error, wanted, got in zip(
            kernel.body.block.args, self.ran.errors, self.expected, found, strict=True
        ):
            if not isinstance(wanted, np.ndarray):
                continue
            dtype = dtype_of(getattr(value.type, "element_type", value.type))
            a, b = _numbers(cast("Array", wanted), dtype), _numbers(got, dtype)
            if self.modular and is_float(dtype):
                a, b = ordered(a), ordered(b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            if error is not None:
                with np.errstate(invalid="ignore"):
                    same |= (np.abs(a - b) <= error) | np.isinf(error)
            if not same.all():
                place = tuple(int(n) for n in np.argwhere(~same)[0])
                allowed = "" if error is None or not error[place] else f" within {error[place]:.2g}"
                name = value.name_hint or f"argument {value.index}"
                message = (
                    f"{int((~same).sum())} of {same.size} elements of %{name} differ, first %{name}{list(place)}: "
                    f"expected {a[place]}{allowed}, found {b[place]}"
                )
                writer = next((op for op, target in operations_that_write(kernel) if target is value), kernel)
                return Problem(message, nearest_location(writer))
        return None


def _numbers(array: Array, dtype: np.dtype[Any]) -> Array:
    if packed_bits(dtype) is not None and array.dtype != dtype:
        return unpacked(array, dtype).astype(np.float64)
    found = array if array.dtype == dtype else array.view(f"u{dtype.itemsize}").view(dtype)
    return found if dtype.kind in "iub" and dtype.itemsize == 8 else found.astype(np.float64)


def _bits(array: Array) -> Array:
    return array.view(f"u{array.itemsize}")


def _copies(arguments: Sequence[Any]) -> list[Any]:
    """Returns arguments of which a run changes nothing else; strides stay."""
    return [_copied(cast("Array", each)) if isinstance(each, np.ndarray) else each for each in arguments]


def _copied(array: Array) -> Array:
    found = restrided(np.zeros_like(flat_bytes(array)), array.shape, array.strides)
    found[...] = array
    return found


def grid_of(tile: KernelOp) -> tuple[int, ...] | None:
    """Returns the grid of a launch that is made up: one cluster for a kernel without a grid, None for others."""
    return None if tile.grid is not None else (tile.cluster_size, 1, 1)
