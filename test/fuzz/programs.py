"""
Kernels on tiles, compiled, simulated and compared with what they mean.

An input is a module of one kernel, whose first line says with which options it is compiled:
`// pipeline: stages=2`. Seeds are kernels of examples and tests, programs of the other generators of tile programs here
and of `sweeps.programs`, which are mutated now and then. It must be refused with a located error; otherwise `ptxas`
accepts the PTX, and what it computes in the simulator is what it means (`tirx.interp`), unless it has no result.
"""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any, ClassVar

from fuzz.atomics import random_atomics
from fuzz.bodies import random_bodies
from fuzz.engine import ACCEPTED, REFUSED, InputClass, Problem, words_of
from fuzz.flags import random_flags
from fuzz.folds import random_fold
from fuzz.grammar import random_kernel
from fuzz.handed_on import FAMILIES, random_handed_on
from fuzz.loops import random_loop
from fuzz.modules import Assembler, seeds
from fuzz.mutate import mutated
from fuzz.parts import random_parts
from fuzz.places import random_places
from fuzz.products import random_product
from fuzz.scalars import bound, random_scalars
from fuzz.targets import of_any_target
from fuzz.turns import random_turns
from sweeps.programs import random_case
from xdsl.dialects.builtin import MemRefType

from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.dialects.tirx import KernelOp, kernels
from tirx.interp import RunError, run_kernel
from tirx.passes import lower_to_ptx_passes
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.check_arguments import arguments_of
from tirx.runtime.check_sizes import Sizes
from tirx.runtime.program import Program, build
from tirx.text.parsing import parse_located
from tirx.text.verification import CheckError, run_passes, verify_located
from tirx.universe import new_context

EQUAL = "equal"
FIRST = "// pipeline:"
_OPTIONS = (
    "", "multiprocessors=1", "multiprocessors=1", "pipeline=off", "pipeline=off", "stages=2",
    "multiprocessors=2 stages=3", "stages=2 roles=load", "multiprocessors=1 order=group", "assertions=off",
)  # fmt: skip
"""With few multiprocessors kernels of a few blocks become persistent."""

_OTHERS = (
    random_fold, random_parts, random_flags, random_bodies, random_turns, random_scalars, random_atomics,
)  # fmt: skip

_SCHEDULED = re.compile(r"tirx\.(ring|slot|for)\b")
"""Programs that have a schedule of their own, which may be wrong."""

_MOST_ELEMENTS = 1 << 17
_MOST_OPERATIONS = 20_000
"""Operations that a kernel may run: mutations make loops without end."""

_INSTRUCTIONS = 60_000
_SIZE = 40
"""Dynamic sizes."""


@cache
def _seeds() -> tuple[str, ...]:
    """The kernels on tiles among the modules of tests and examples, without those whose operations are not modelled."""
    other = ("tirx.acquire", "tirx.async", "tirx.words", "cluster(", "ptx.", "tcgen05.", "wgmma.", "mma_sync")
    texts = sorted({text for _, text in seeds()})
    return tuple(text for text in texts if "tirx.kernel" in text and not any(name in text for name in other))


def _parsed(text: str, options: str = "") -> tuple[Any, KernelOp]:
    """A module and its kernel, whose parameters are numbers."""
    with diagnostic_handler(lambda _: None):
        context = new_context()
        module = parse_located(context, text, "<input>")
        verify_located(module)
        found = [each for each in lower_to_ptx_passes(None, options).passes if isinstance(each, TirxSpecializePass)]
        run_passes(context, module, found)
    found = list(kernels(module))
    if len(found) != 1:
        raise ValueError(f"expected one kernel, found {len(found)}")
    return module, found[0]


def _arguments(kernel: KernelOp, most_elements: int = _MOST_ELEMENTS) -> list[Any]:
    """Arrays of small integers with the strides of the kernel, and numbers. Raises ValueError for other strides."""
    types = kernel.function_type.inputs.data
    shapes = tuple(
        tuple(_SIZE if n < 0 else n for n in type_.get_shape()) if isinstance(type_, MemRefType) else None
        for type_ in types
    )
    sizes = Sizes(shapes, (2,) * len(types))
    if sizes.elements > most_elements:
        raise ValueError(f"expected at most {most_elements} elements, found {sizes.elements}")
    return arguments_of(kernel, sizes, "integers", 0)


def reference(text: str, most_elements: int = _MOST_ELEMENTS, options: str = "") -> tuple[list[Any], list[Any]]:
    """
    Arguments for a kernel, and what they are behind a launch of it.

    Raises RunError if the result is not determined in each element, or depends on what was never written, and
    ValueError for a text that is not one kernel, one whose arguments have places in common, or more elements than
    `most_elements`, which keeps mutated sizes small.
    """
    _, kernel = _parsed(text, options)
    arguments, found = _arguments(kernel, most_elements), _arguments(kernel, most_elements)
    run_kernel(kernel, found, grid=_grid(kernel), max_operations=_MOST_OPERATIONS)
    return arguments, found


def _grid(kernel: KernelOp) -> tuple[int, int, int] | None:
    return None if kernel.grid is not None else (kernel.cluster_size, 1, 1)


class Programs(InputClass):
    """Kernels on tiles against numpy."""

    name = "programs"
    suffix = ".mlir"
    environment: ClassVar = {"TIRX_STRICT_SCHEDULE": "1"}

    def __init__(self) -> None:
        self._assembler = Assembler()

    def generate(self, rng: random.Random) -> str:
        kind, parameters = rng.random(), ""
        if kind < 0.3:
            text = random_kernel(rng)
        elif kind < 0.35:
            text = rng.choice(_OTHERS)(rng)
        elif kind < 0.42:
            text = random_product(rng)
        elif kind < 0.47:
            text = random_loop(rng)
        elif kind < 0.5:
            family = rng.choice(list(FAMILIES))
            text = random_handed_on(family, rng.choice(FAMILIES[family].targets), rng).text
        elif kind < 0.55:
            text = random_places(rng)
        elif kind < 0.63:
            text = random_case(rng.randrange(10**9)).text
        else:
            text = mutated(rng.choice(_seeds()), rng)
        if kind < 0.63 and rng.random() < 0.3:
            text = mutated(text, rng)
        else:
            text, parameters = of_any_target(text, rng), bound(text, rng)
        return f"{FIRST} {rng.choice(_OPTIONS)} {parameters}\n{text}"

    def check(self, text: str) -> str:
        first, _, rest = text.partition("\n")
        if not first.startswith(FIRST):
            return REFUSED
        try:
            with diagnostic_handler(lambda _: None):
                program = build(rest, options=first.removeprefix(FIRST).strip())
        except LocatedError as error:
            if error.diagnostic.position is None:
                raise Problem("error without a place", str(error), words_of(str(error))) from error
            if error.diagnostic.rule.startswith("ring") and not _SCHEDULED.search(rest):
                raise Problem("a schedule that cannot be proved", str(error), words_of(error.message)) from error
            return REFUSED
        except ValueError as error:
            if "expected each of" in str(error):  # options that minimisation has cut
                return REFUSED
            raise
        self._assembler.check(program.ptx)
        return EQUAL if self._compare(program, rest, first.removeprefix(FIRST).strip()) else ACCEPTED

    def _compare(self, program: Program, text: str, options: str) -> bool:
        """Raises Problem for another result than that of the program itself; False where there is none."""
        try:
            _, kernel = _parsed(text, options)
            if not (arguments := _arguments(kernel)):
                return False  # nobody sees what it computes
            # What takes long to run takes longer in the simulator.
            run_kernel(kernel, _arguments(kernel), grid=_grid(kernel), max_operations=_MOST_OPERATIONS)
            program.kernels[kernel.sym_name.data].check(*arguments, max_instructions=_INSTRUCTIONS)
        except (ArgumentError, RunError, ValueError):
            return False
        except CheckError as error:
            if "instructions" in error.message:
                return False
            refused = "the simulator refuses it" in error.message
            kind = "the simulator refuses" if refused else "wrong numbers"
            raise Problem(kind, f"{error}"[:600], words_of(error.message.partition(": ")[2])) from error
        return True
