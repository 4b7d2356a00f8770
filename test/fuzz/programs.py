"""
Kernels on tiles, compiled, simulated and compared with what they mean.

An input is a module of one kernel, whose first line says with which options it is compiled:
`// pipeline: stages=2`. Seeds are kernels of examples and tests and programs of `fuzz.grammar`, `fuzz.loops`,
`fuzz.products`, `fuzz.handed_on` and `sweeps.programs`, which are mutated now and then. It must be refused with a
located error; otherwise `ptxas` accepts the PTX, and the simulator and `fuzz.semantics` agree, unless the kernel has no
determined result.
"""

# pyright: basic
# Operations are told apart by name, and numbers are those of any numpy type.

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
from fuzz.engine import ACCEPTED, REFUSED, InputClass, Problem, words_of
from fuzz.grammar import random_kernel
from fuzz.handed_on import FAMILIES, random_handed_on
from fuzz.loops import random_loop
from fuzz.modules import Assembler, seeds
from fuzz.mutate import mutated
from fuzz.products import random_product
from fuzz.semantics import (
    SPARSE_CODES,
    Array,
    Arrays,
    Interpreter,
    Undefined,
    Unsupported,
    dtype_of,
    is_modelled,
)
from sweeps.programs import random_case
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.dialects.formula import LaunchSizes
from tirx.dialects.tirx import FormulaAttr, KernelOp, MmaOp, TileType, kernels
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.program import Program, build
from tirx.sim import SimError
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context

EQUAL = "equal"
FIRST = "// pipeline:"
_OPTIONS = (
    "", "multiprocessors=1", "multiprocessors=1", "pipeline=off", "pipeline=off", "stages=2",
    "multiprocessors=2 stages=3", "stages=2 roles=load", "multiprocessors=1 order=group",
)  # fmt: skip
"""With few multiprocessors kernels of a few blocks become persistent."""

_MOST_ELEMENTS = 1 << 17
_MOST_BLOCKS = 12
_INSTRUCTIONS = 60_000
_SIZE = 40
"""What a dynamic size is."""

_TOLERANCES = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 2e-3, "float64": 1e-9}
_LARGEST_EXACT = 200
"""Integers up to here are exact in every float of 16 bits and more."""


@cache
def _seeds() -> tuple[str, ...]:
    """The kernels on tiles among the modules of tests and examples, without those whose operations are not modelled."""
    other = ("tirx.acquire", "tirx.async", "tirx.words", "cluster(", "ptx.", "tcgen05.", "wgmma.", "mma_sync")
    texts = sorted({text for _, text in seeds()})
    return tuple(text for text in texts if "tirx.kernel" in text and not any(name in text for name in other))


def _parsed(text: str) -> tuple[Any, KernelOp]:
    with diagnostic_handler(lambda _: None):
        module = parse_located(new_context(), text, "<input>")
        verify_located(module)
    found = list(kernels(module))
    if len(found) != 1:
        raise Unsupported("not one kernel")
    return module, found[0]


def _shape(type_: MemRefType[Attribute]) -> list[int]:
    return [_SIZE if n < 0 else n for n in type_.get_shape()]


def _size(kernel: KernelOp) -> int:
    memrefs = [type_ for type_ in kernel.function_type.inputs if isinstance(type_, MemRefType)]
    return sum(int(np.prod(_shape(type_), dtype=np.float64)) for type_ in memrefs)


def arguments_of(kernel: KernelOp) -> list[Any]:
    """Arrays of small integers with the strides of the kernel, and numbers. Raises Unsupported."""
    rng = np.random.default_rng(0)
    found: list[Any] = []
    values = _values(kernel)
    for type_ in kernel.function_type.inputs:
        if not isinstance(type_, MemRefType):
            found.append(0.5 if str(type_).startswith("f") else 2)
            continue
        dtype = dtype_of(type_.element_type)
        shape, strides = _shape(type_), type_.get_strides()
        if strides is None or any(stride is not None and stride <= 0 for stride in strides):
            raise Unsupported("strides")
        steps: list[int] = []
        for stride in reversed(strides):
            inner = 1 if not steps else steps[0] * shape[len(shape) - len(steps)]
            steps.insert(0, inner if stride is None else stride)
        ordered = sorted(zip(steps, shape, strict=True))
        if any(after < step * n for (step, n), (after, _) in pairwise(ordered)):
            raise Unsupported("elements of a memref that may share a place")
        memory = np.zeros(1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)), dtype)
        words = memory.view(f"u{dtype.itemsize}")  # numpy does not know the types of ml_dtypes there
        array = np.lib.stride_tricks.as_strided(words, shape, [s * dtype.itemsize for s in steps]).view(dtype)
        name = str(type_.element_type)
        chosen = values[name] if name in values else range(0 if dtype.kind in "ub" else -2, 3)
        array[...] = rng.choice(chosen, shape).astype(dtype)
        found.append(array)
    return found


def _values(kernel: KernelOp) -> dict[str, Sequence[float]]:
    """The numbers of arguments whose elements are metadata or scale factors of a product, by element type."""
    found: dict[str, Sequence[float]] = {"f8E8M0FNU": (0.5, 1, 2, 4)}
    for op in kernel.walk():
        if isinstance(op, MmaOp):
            if op.metadata is not None:
                codes = set(SPARSE_CODES[str(op.a_type.element_type)])
                found["i4"] = sorted(codes & set(found.get("i4", codes)))
            if op.scale_a is not None:
                found.setdefault(str(TileType.of(op.scale_a).element_type), (0.5, 1, 2, 4))
    return found


_PACKED = {
    np.dtype(ml_dtypes.uint4): 4, np.dtype(ml_dtypes.float4_e2m1fn): 4, np.dtype(ml_dtypes.float6_e2m3fn): 6,
    np.dtype(ml_dtypes.float6_e3m2fn): 6,
}  # fmt: skip
"""Element types that are packed in memory -> their bits."""


def packed(array: Any) -> Any:
    """What a launch takes for an argument: bytes for elements of 4 and 6 bits. Raises Unsupported."""
    if not isinstance(array, np.ndarray) or (bits := _PACKED.get(array.dtype)) is None:
        return array
    if not array.flags.c_contiguous or array.ndim == 0 or array.shape[-1] * bits % 8:
        raise Unsupported("elements that share bytes with those of other rows")
    each = array.view(np.uint8)[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(each.reshape(*array.shape[:-1], -1), axis=-1, bitorder="little")


def unpacked(found: Array, dtype: np.dtype[Any]) -> Array:
    """The elements of what a launch has written: the counterpart of `packed`."""
    if (bits := _PACKED.get(dtype)) is None:
        return found
    each = np.unpackbits(found, axis=-1, bitorder="little").reshape(*found.shape[:-1], -1, bits)
    return (each << np.arange(bits, dtype=np.uint8)).sum(-1, dtype=np.uint8).view(dtype)


def _grid(kernel: KernelOp, arguments: list[Any]) -> tuple[int, int, int]:
    arrays = [each if isinstance(each, np.ndarray) else None for each in arguments]
    sizes = LaunchSizes(
        [() if each is None else each.shape for each in arrays],
        [() if each is None else [step // each.itemsize for step in each.strides] for each in arrays],
        2,
    )
    dims = [
        sizes.evaluate(each.data if isinstance(each, FormulaAttr) else each.value.data) for each in kernel.grid or ()
    ]
    x, y, z = (*dims, 1, 1, 1)[:3]
    return x, y, z


def reference(text: str) -> tuple[list[Any], list[Any]]:
    """
    Arguments for a kernel, and what they are behind a launch of it.

    Raises Undefined if the result is not determined in each element, or depends on what was never written, and
    Unsupported for what has no model.
    """
    _, kernel = _parsed(text)
    if not is_modelled(kernel):
        raise Unsupported("an operation without a model")
    arguments, found = arguments_of(kernel), arguments_of(kernel)
    ran = Interpreter(kernel, found, _grid(kernel, found)).run()
    if ran.reads_unknown or not all(each is None or bool(each.all()) for each in ran.known):
        raise Undefined("reads what was never written")
    return arguments, found


class Programs(InputClass):
    """Kernels on tiles against numpy."""

    name = "programs"
    suffix = ".mlir"

    def __init__(self) -> None:
        os.environ["TIRX_STRICT_SCHEDULE"] = "1"
        self._assembler = Assembler()

    def generate(self, rng: random.Random) -> str:
        kind = rng.random()
        if kind < 0.35:
            text = random_kernel(rng)
        elif kind < 0.42:
            text = random_product(rng)
        elif kind < 0.47:
            text = random_loop(rng)
        elif kind < 0.5:
            family = rng.choice(list(FAMILIES))
            text = random_handed_on(family, rng.choice(FAMILIES[family].targets), rng).text
        elif kind < 0.63:
            text = random_case(rng.randrange(10**9)).text
        else:
            text = mutated(rng.choice(_seeds()), rng)
        if kind < 0.63 and rng.random() < 0.3:
            text = mutated(text, rng)
        return f"{FIRST} {rng.choice(_OPTIONS)}\n{text}"

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
            if error.diagnostic.rule.startswith("ring") and "tirx.ring" not in rest:
                raise Problem("a schedule that cannot be proved", str(error), words_of(error.message)) from error
            return REFUSED
        except ValueError as error:
            if "expected each of" in str(error):  # options that minimisation has cut
                return REFUSED
            raise
        self._assembler.check(program.ptx)
        return EQUAL if self._compare(program, rest) else ACCEPTED

    def _compare(self, program: Program, text: str) -> bool:
        """Raises Problem for another result than that of the semantics; False where there is nothing to compare."""
        try:
            _, kernel = _parsed(text)
            if _size(kernel) > _MOST_ELEMENTS or not is_modelled(kernel):
                return False
            arguments, copies = arguments_of(kernel), [packed(each) for each in arguments_of(kernel)]
            grid = _grid(kernel, arguments)
            if int(np.prod(grid)) > _MOST_BLOCKS:
                return False
            expected = Interpreter(kernel, arguments, grid).run()
        except (Undefined, Unsupported):
            return False
        known = all(each is None or bool(each.all()) for each in expected.known)
        own = program.kernels[kernel.sym_name.data]
        try:
            launch_grid = grid if kernel.grid is None else None
            own.simulate(*copies, grid=launch_grid, check="strict", max_instructions=_INSTRUCTIONS)
        except ArgumentError:
            return False
        except SimError as error:
            never_written = expected.reads_unknown and "never written" in error.message
            if not known or never_written or "instructions" in error.message:
                return False
            raise Problem("the simulator refuses", str(error)[:400], words_of(error.message)) from error
        for number, found in enumerate(copies):
            if isinstance(found, np.ndarray):
                _require_equal(number, expected, unpacked(found, arguments[number].dtype))
        return True


def _require_equal(number: int, expected: Arrays, found: Array) -> None:
    wanted, known = expected.values[number], expected.known[number]
    assert known is not None
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    different = known & ~((a == b) | (np.isnan(a) & np.isnan(b)))
    finite = np.isfinite(a) & known
    exact = expected.exact and wanted.dtype.kind in "iub"
    if expected.exact and not exact:
        exact = bool((a[finite] == np.trunc(a[finite])).all() and (np.abs(a[finite]) < _LARGEST_EXACT).all())
    if not exact:
        tolerance = _TOLERANCES.get(wanted.dtype.name, 0.3)
        scale = float(np.abs(a[finite]).max(initial=0.0)) + 1e-30
        different &= ~(np.abs(a - b) <= tolerance * (np.abs(a) + scale))
    if different.any():
        place = tuple(int(n) for n in np.argwhere(different)[0])
        raise Problem(
            "wrong numbers",
            f"argument {number}: {int(different.sum())} of {different.size} elements, "
            f"first {place}: expected {a[place]}, found {b[place]}",
        )
