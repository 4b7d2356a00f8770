"""Calls of kernels with arrays: their types, the target, the program that is compiled once, and where it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import islice, product
from math import copysign, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr

from tirx.builder.dtypes import DTYPES, ArrayType, DType, dtype_of
from tirx.builder.operations import attribute
from tirx.builder.trace import BuildError, NeedsExtent, Trace
from tirx.dialects.tirx import KernelOp
from tirx.hw.targets import TARGETS
from tirx.layout import LayoutError, element_type
from tirx.layout.shape import row_major_strides
from tirx.runtime.driver import GpuError, device
from tirx.runtime.frameworks import READY_LIMIT, framework_of
from tirx.runtime.program import Kernel, Program, build

if TYPE_CHECKING:
    from tirx.runtime.packing import Ready
    from tirx.runtime.tune import Tuned

Shapes = Mapping[int, tuple[int, ...]]

MOST = 64
"""Combinations of candidates that the timing model ranks."""

SIMULATED = "sm_90a"
"""The target of kernels without one where there is no GPU."""

CACHE = "TIRX_CACHE"
"""The variable of the environment that names the directory of compiled kernels; empty for none."""

_INTEGERS = {"int8": "si8", "uint8": "u8", "int32": "i32", "uint32": "u32", "int64": "i64", "int16": "i16"}


def type_of_array(array: Any) -> ArrayType | DType:
    """The type of an argument: extents are those that the launch knows, and strides, unless in row-major order."""
    if isinstance(array, bool | int):
        return DTYPES["i32"]
    if isinstance(array, float):
        return DTYPES["f32"]
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise BuildError(f"expected an array or a number as an argument, found {type(array).__name__}")
    name = str(array.dtype).rsplit(".", 1)[-1]
    try:
        dtype = DTYPES.get(_INTEGERS.get(name, "")) or dtype_of(attribute(_ir_name(name)))
    except LayoutError:
        raise BuildError(f"expected an element type of kernels, found {array.dtype}") from None
    if not array.shape:
        return dtype
    strides = _strides(array)
    shape = tuple(int(n) for n in array.shape)
    known = all(a == b or n == 1 for a, b, n in zip(strides, row_major_strides(shape), shape, strict=True))
    open_ = (None,) * len(shape)
    return ArrayType(dtype, open_, None if known else tuple(1 if n == 1 else None for n in strides))


def _ir_name(name: str) -> str:
    row = element_type(name)
    return row.ir_names[0] if row.ir_names else row.name


def _strides(array: Any) -> Sequence[int]:
    if callable(getattr(array, "stride", None)):  # of torch, in elements
        return [int(n) for n in array.stride()]
    if getattr(array, "strides", None) is None:  # of jax, in row-major order
        return row_major_strides(array.shape)
    return [int(n) // int(array.itemsize) for n in array.strides]


@cache
def device_target() -> str | None:
    """The target of the GPU that is there, None without one."""
    try:
        found = "sm_{}{}".format(*device(0).capability)
    except GpuError:
        return None
    return f"{found}a" if f"{found}a" in TARGETS else found


def _directory() -> Path | None:
    """The directory of compiled kernels. None if there is to be none, or the user has none that can be written."""
    if (found := os.environ.get(CACHE)) is not None:
        return Path(found) if found else None
    try:
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tirx"
        usual.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the latter for a user without a home
        return None
    return usual if os.access(usual, os.R_OK | os.W_OK | os.X_OK) else None


class Calls:
    """The programs of a kernel, one for each kind of arguments, constants and target."""

    def __init__(
        self,
        write: Callable[..., tuple[KernelOp, Trace]],
        names: Sequence[str],
        types: Sequence[ArrayType | DType],
        target: str | None,
        options: str,
        salt: str | None,
        candidates: Mapping[str, Sequence[int]],
    ):
        self._write = write
        self._options, self._salt = options, salt
        self._types = types
        """The types of the arguments, those of arrays that are given unless there are any."""
        self._names = names
        self._candidates = {name: each for name, each in candidates.items() if len(each) > 1}
        self._chosen: dict[object, Mapping[str, Any]] = {}
        """Kind of a call, its shapes and target -> the constants that were chosen for it."""
        self._target = target
        self._needs: dict[object, set[tuple[int, int]]] = {}
        """Kind of a call -> the extents that are constants."""
        self._programs: dict[object, tuple[Program, Sequence[tuple[tuple[int, int], tuple[int, int]]]]] = {}

        self.keys: dict[type, Callable[[Any], Hashable]] = {}
        """The function that makes the key of an argument of each type that was seen before."""
        self.ready: dict[Hashable, Ready] = {}
        """The launch of each key that was seen before: the keys of the arguments, and the constants."""

    def _kind(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> tuple[object, set[tuple[int, int]]]:
        types = tuple(self._types or map(type_of_array, arguments))
        kind = (types, tuple((name, identity(constants[name])) for name in sorted(constants)))
        try:
            return kind, self._needs.setdefault(kind, set())
        except TypeError:
            raise BuildError(
                "expected constants that are hashable, such as numbers and tuples, found others; arrays have no names"
            ) from None

    def trace(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> tuple[KernelOp, Trace]:
        """The kernel for arguments of these types; extents that Python or a slice `:` needs are constants of it."""
        _, needs = self._kind(arguments, constants)
        types = list(self._types or map(type_of_array, arguments))
        try:
            return self._write(*_specialised(types, arguments, needs), specialises=True, **constants)
        except NeedsExtent as need:
            needs.add((need.argument, need.dim))
        return self.trace(arguments, constants)

    def chosen(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> Mapping[str, Any]:
        """
        The constants, with the candidates of `tx.param` that take the least time for these arrays by the timing model.

        The first candidates stay where the model does not know the kernel, or only one combination can be said. Raises
        BuildError, that of the first combination, if none can be said.
        """
        if not self._candidates.keys() - constants.keys():
            return constants
        key, shapes = self._sizes(arguments, constants)
        if key not in self._chosen:
            from tirx.passes.kernels.tirx_choose import ranked_values

            found: list[tuple[float, Mapping[str, Any]]] = []
            for given, kernel in self._combinations(arguments, constants):
                kernel.target = StringAttr(key[-1])
                ranked = ranked_values(kernel, {}, shapes)
                found.append((ranked[0][0].score if ranked else inf, given))
            self._chosen[key] = min(found, key=lambda each: each[0])[1]
        return self._chosen[key]

    def _sizes(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> tuple[tuple[Any, Any, str], Shapes]:
        """The key of what is chosen for these arrays, which ends with the target, and their shapes by number."""
        target = self._target or device_target() or SIMULATED
        shapes = {i: tuple(each.shape) for i, each in enumerate(arguments) if hasattr(each, "shape")}
        return (self._kind(arguments, constants)[0], tuple(shapes.items()), target), shapes

    def _combinations(
        self, arguments: Sequence[Any], constants: Mapping[str, Any]
    ) -> list[tuple[Mapping[str, Any], KernelOp]]:
        """The constants with combinations of candidates, and their kernels. Raises BuildError if none can be said."""
        free = {name: each for name, each in self._candidates.items() if name not in constants}
        found: list[tuple[Mapping[str, Any], KernelOp]] = []
        problems: list[BuildError] = []
        for values in islice(product(*free.values()), MOST):
            given = {**constants, **dict(zip(free, values, strict=True))}
            try:
                found.append((given, self.trace(arguments, given)[0]))
            except BuildError as error:
                problems.append(error)
        if not found:
            raise problems[0]
        return found

    def tune(self, arguments: Sequence[Any], constants: Mapping[str, Any], **options: Any) -> Tuned:
        """Measures on the GPU, and keeps the fastest for calls with arrays of this kind and these shapes."""
        from tirx.runtime.tune import tune

        key, _ = self._sizes(arguments, constants)
        found = {
            ", ".join(f"{name}={given[name]}" for name in self._candidates) or "program": (given, ModuleOp([kernel]))
            for given, kernel in self._combinations(arguments, constants)
        }
        texts = {name: str(module) for name, (_, module) in found.items()}
        tuned = tune(texts, arguments, target=key[-1], **options)
        best = self._chosen[key] = found[tuned.best.program][0]
        kind, requires = self._program_key(arguments, best, key[-1]), list(self.trace(arguments, best)[1].requires)
        program = build(tuned.text, key[-1], self._options, cache_directory=_directory(), salt=self._salt)
        self._programs[kind] = program, requires
        self.ready.clear()
        return tuned

    def _program_key(self, arguments: Sequence[Any], constants: Mapping[str, Any], target: str | None) -> object:
        kind, needs = self._kind(arguments, constants)
        return kind, tuple(arguments[i].shape[d] for i, d in sorted(needs)), target

    def program(self, arguments: Sequence[Any], constants: Mapping[str, Any], target: str | None) -> Program:
        """The program for arguments of these types. Raises BuildError where extents that one span goes over differ."""
        constants = self.chosen(arguments, constants)
        if (key := self._program_key(arguments, constants, target)) not in self._programs:
            op, trace = self.trace(arguments, constants)
            key = self._program_key(arguments, constants, target)  # tracing finds the extents that are constants
            program = build(ModuleOp([op]), target, self._options, cache_directory=_directory(), salt=self._salt)
            self._programs[key] = program, list(trace.requires)
        program, requires = self._programs[key]
        types = self._types or [type_of_array(each) for each in arguments] if requires else ()
        for (i, d), (j, e) in requires:
            one, other = _extent(arguments[i], d, types[i]), _extent(arguments[j], e, types[j])
            if one != other:
                first, second = f"{self._names[i]}.shape[{d}]", f"{self._names[j]}.shape[{e}]"
                raise BuildError(
                    f"expected {first} and {second} to be equal, as one span goes over both, found {one} and {other}"
                )
        return program

    def compiled(self, arguments: Sequence[Any], constants: Mapping[str, Any]) -> Kernel:
        """The kernel for arguments of these types, for its target or the GPU."""
        target = self._target or device_target() or SIMULATED
        return next(iter(self.program(arguments, constants, target).kernels.values()))

    def __call__(self, arguments: Sequence[Any], constants: Mapping[str, Any], stream: Any) -> Any:
        """Launches on the GPU, or simulates where there is none. What is launched again is kept in `ready`."""
        compiled = self.compiled(arguments, constants)
        if device_target() is None:
            return compiled.simulate(*map(_of_numpy, arguments))
        result = compiled(*arguments, stream=stream)
        launcher = compiled.launcher
        self.keys |= launcher.keys
        if all(type(each) in self.keys for each in arguments):
            if len(self.ready) >= READY_LIMIT:
                self.ready.clear()
            key = [self.keys[type(each)](each) for each in arguments]
            given = [part for name in constants for part in (name, identity(constants[name]))]
            if (ready := launcher.ready.get((None, *key))) is not None:
                self.ready[(*key, *given)] = ready
        return result


def identity(constant: Any) -> Hashable:
    """A key of a constant, which differs for 2, 2.0 and True, and for 0.0 and -0.0: they are equal in Python."""
    if isinstance(constant, tuple):
        return tuple(map(identity, cast("tuple[Any, ...]", constant)))
    kind = cast("type[object]", type(constant))
    if kind is int:
        return constant
    return kind, constant, copysign(1, constant) if isinstance(constant, float) else None


def _of_numpy(argument: Any) -> Any:
    """The argument as the simulator takes it; float64 of numpy is a number of Python, too."""
    if isinstance(argument, int | float):
        return float(argument) if isinstance(argument, float) else argument
    return argument.numpy() if framework_of(argument) == "torch" else argument


def _extent(array: Any, dim: int, type_: ArrayType | DType) -> int:
    """The elements of an array along a dimension: those of less than a byte are packed along the last one."""
    bits = element_type(str(type_.dtype.attribute)).bits if isinstance(type_, ArrayType) else 8
    count = int(array.shape[dim])
    return count * 8 // bits if bits < 8 and dim == len(array.shape) - 1 else count


def _specialised(
    types: Sequence[ArrayType | DType], arguments: Sequence[Any], needs: set[tuple[int, int]]
) -> list[ArrayType | DType]:
    """The types with these extents as constants."""
    found = list(types)
    for i, d in needs:
        type_ = found[i]
        assert isinstance(type_, ArrayType)
        shape = list(type_.shape)
        shape[d] = _extent(arguments[i], d, type_)
        found[i] = ArrayType(type_.dtype, tuple(shape), type_.strides)
    return found
