"""Arguments of a launch into the bytes of the kernel's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tirx.sim.core.launch import Launch
from tirx.sim.core.types import TYPES, Array
from tirx.sim.errors import SimError
from tirx.sim.memory.addresses import GENERIC_BASE
from tirx.sim.reader.syntax import Variable
from tirx.sim.tensor_map import TensorMap

Argument: TypeAlias = "npt.NDArray[Any] | np.generic | int | float | bytes | TensorMap"

# The type that a float has for a parameter of so many bytes that is not declared as floating-point.
_FLOATS = {2: np.dtype(np.float16), 4: np.dtype(np.float32), 8: np.dtype(np.float64)}
_TENSOR_MAP_BYTES = 128
_TENSOR_MAP_ALIGNMENT = 64


def bind_arguments(launch: Launch, arguments: Sequence[Argument]) -> None:
    """
    Writes the launch's parameters.

    Arrays are passed as pointers to their bytes, which the kernel reads and writes in place; numbers by value;
    `bytes` fill a parameter that is an array of bytes (a struct). Raises SimError for what does not fit.
    """
    parameters = launch.program.parameters
    if len(arguments) != len(parameters):
        names = ", ".join(variable.name for variable, _ in parameters)
        raise SimError(
            f"expected {len(parameters)} arguments for {launch.program.name} ({names}), found {len(arguments)}"
        )
    for (variable, offset), argument in zip(parameters, arguments, strict=True):
        raw = _bytes_of(launch, variable, offset, argument)
        launch.parameters.data[offset : offset + len(raw)] = np.frombuffer(raw, np.uint8)


def _bytes_of(launch: Launch, variable: Variable, offset: int, argument: Argument) -> bytes:
    if isinstance(argument, TensorMap):
        if variable.size < _TENSOR_MAP_BYTES or variable.alignment < _TENSOR_MAP_ALIGNMENT:
            raise SimError(
                f"expected a parameter of {_TENSOR_MAP_BYTES} bytes aligned to {_TENSOR_MAP_ALIGNMENT} for a tensor "
                f"map, found {variable.name} of {variable.size} bytes aligned to {variable.alignment}",
                variable.line,
            )
        launch.tensor_maps[GENERIC_BASE["param"] + offset] = argument
        return b""
    if isinstance(argument, bytes):
        if len(argument) != variable.size:
            raise SimError(f"expected {variable.size} bytes for {variable.name}, found {len(argument)}", variable.line)
        return argument
    if isinstance(argument, np.ndarray) and (argument.ndim or variable.is_pointer):
        return _pointer(launch, variable, argument)
    return _number(variable, argument)


def _pointer(launch: Launch, variable: Variable, array: Array) -> bytes:
    if variable.size != 8 or variable.is_array:
        raise SimError(
            f"expected a number for {variable.name} of {variable.size} bytes, found an array: "
            "only parameters of 8 bytes hold pointers",
            variable.line,
        )
    if not array.flags.c_contiguous:
        raise SimError(f"expected a C-contiguous array for {variable.name}", variable.line)
    data = array.reshape(-1).view(np.uint8)
    address = launch.global_memory.find_overlap(data)
    if address is None:
        name = f"argument {variable.name}"
        address = launch.global_memory.add(data, name, read_only=not array.flags.writeable)
    return address.to_bytes(8, "little")


def _number(variable: Variable, value: Array | np.generic | int | float) -> bytes:
    if variable.is_array:
        raise SimError(f"expected {variable.size} bytes for {variable.name}, found {value!r}", variable.line)
    own_type = TYPES[variable.type]
    if isinstance(value, (np.ndarray, np.generic)):
        scalar: Array = np.asarray(value)
        if scalar.dtype.kind in "biu":
            value = int(scalar)
        else:
            if scalar.itemsize != variable.size or own_type.kind in ("signed", "unsigned"):
                raise SimError(
                    f"expected a value of {own_type} for {variable.name}, found {scalar.dtype}", variable.line
                )
            return scalar.tobytes()
    if isinstance(value, float) or own_type.is_float:
        dtype = own_type.dtype if own_type.is_float else _FLOATS.get(variable.size)
        if dtype is None or own_type.kind in ("signed", "unsigned"):
            raise SimError(f"expected an integer for {variable.name} ({own_type}), found {value!r}", variable.line)
        return np.array([value], np.float64).astype(dtype).tobytes()
    number, bits = int(value), 8 * variable.size
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise SimError(f"expected a value of {bits} bits for {variable.name}, found {number}", variable.line)
    return (number & ((1 << bits) - 1)).to_bytes(variable.size, "little")
