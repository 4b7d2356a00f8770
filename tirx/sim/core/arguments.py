"""Arguments of a launch into the bytes of the kernel's parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from tirx.sim.core.launch import Launch
from tirx.sim.core.types import TYPES, Array
from tirx.sim.errors import SimError
from tirx.sim.memory import tensor_map_bytes
from tirx.sim.memory.flat import FlatMemory
from tirx.sim.pointer_table import Pointee, PointerTable
from tirx.sim.reader.syntax import Variable
from tirx.sim.tensor_map import TensorMap

# A field of a struct.
Field: TypeAlias = "npt.NDArray[Any] | np.generic | bytes | TensorMap | PointerTable"
Argument: TypeAlias = (
    "npt.NDArray[Any] | np.generic | int | float | bytes | TensorMap | PointerTable | Mapping[int, Field]"
)

# The type that a float has for a parameter of so many bytes that is not declared as floating-point.
_FLOATS = {2: np.dtype(np.float16), 4: np.dtype(np.float32), 8: np.dtype(np.float64)}


def bind_arguments(launch: Launch, arguments: Sequence[Argument]) -> None:
    """
    Writes the launch's parameters.

    Arrays are passed as pointers to their bytes, which the kernel reads and writes in place; numbers by value. A
    `TensorMap` fills a parameter of 128 bytes, or is put into global memory for one that is a pointer. A `PointerTable`
    is put there, too. A struct, which is an array of bytes, is given by its `bytes`, by a scalar of a structured dtype,
    or by its fields: a mapping of their offsets to arrays and tables (pointers here too), numpy scalars, `bytes` and
    tensor maps; bytes between them are zero.
    Raises SimError for what does not fit.
    """
    parameters = launch.program.parameters
    if len(arguments) != len(parameters):
        names = ", ".join(variable.name for variable, _ in parameters)
        raise SimError(
            f"expected {len(parameters)} arguments for {launch.program.name} ({names}), found {len(arguments)}"
        )
    buffers = _Buffers(launch.global_memory)
    for (variable, _), argument in zip(parameters, arguments, strict=True):
        if isinstance(argument, Mapping):
            for field, value in _fields(variable, argument):
                if isinstance(value, TensorMap):
                    buffers.collect(_numbers(value.array, field, variable), f"the tensor of {field}")
                elif isinstance(value, PointerTable):
                    _collect_table(buffers, variable, value, field)
                elif _is_array(value):
                    buffers.collect(_contiguous(value, field, variable), f"argument {field}")
        elif isinstance(argument, TensorMap):
            buffers.collect(_numbers(argument.array, variable.name, variable), f"the tensor of {variable.name}")
        elif isinstance(argument, PointerTable):
            _check_holds_pointer(variable, "a table of pointers")
            _collect_table(buffers, variable, argument, variable.name)
        elif _is_pointer(argument, variable):
            _check_holds_pointer(variable, "an array")
            buffers.collect(_contiguous(argument, variable.name, variable), f"argument {variable.name}")
    buffers.place()
    for (variable, offset), argument in zip(parameters, arguments, strict=True):
        raw = _bytes_of(launch, buffers, variable, argument)
        launch.parameters.data[offset : offset + len(raw)] = np.frombuffer(raw, np.uint8)


class _Buffers:
    """Places arrays in global memory. Arrays that overlap become one buffer."""

    def __init__(self, memory: FlatMemory):
        self._memory = memory
        self._spans: list[tuple[int, int, Array, str]] = []  # first byte and end in the host's memory, array, name
        self._placed: list[tuple[int, int, int]] = []  # first byte, end, address
        self._tables: dict[int, int] = {}  # addresses of tables by their ids

    def collect(self, array: Array, name: str) -> None:
        start = _start(array)
        self._spans.append((start, start + tensor_map_bytes.bytes_of_tensor(array), array, name))

    def place(self) -> None:
        """Gives all arrays that were collected their addresses."""
        groups: list[list[tuple[int, int, Array, str]]] = []
        for span in sorted(self._spans, key=lambda span: (span[0], -span[1])):
            if groups and span[0] < max(each[1] for each in groups[-1]):
                groups[-1].append(span)
            else:
                groups.append([span])
        for group in groups:
            start, end = group[0][0], max(span[1] for span in group)
            writable = {bool(span[2].flags.writeable) for span in group}
            if len(writable) > 1 and not group[0][2].flags.writeable:
                raise SimError(f"{group[0][3]} is read-only, but shares memory with an array that is not")
            first = group[0][2]
            unit = np.atleast_1d(first).view(np.uint8)
            data = np.lib.stride_tricks.as_strided(unit, (end - start,), (1,))
            self._placed.append((start, end, self._memory.add(data, group[0][3], read_only=True not in writable)))

    def address(self, array: Array) -> int:
        at = _start(array)
        return next(address + at - start for start, end, address in self._placed if start <= at < max(end, start + 1))

    def table(self, table: PointerTable, name: str) -> int:
        """Puts a table into global memory, unless it is there already. Returns its address."""

        def pointer(each: Pointee, index: int) -> int:
            if each is None:
                return 0
            return self.table(each, f"{name}[{index}]") if isinstance(each, PointerTable) else self.address(each)

        if id(table) not in self._tables:
            words = np.array([pointer(each, index) for index, each in enumerate(table.pointers)], np.uint64)
            self._tables[id(table)] = self._memory.add(words.view(np.uint8), f"the table of {name}")
        return self._tables[id(table)]


def _start(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _is_pointer(argument: Argument, variable: Variable) -> TypeGuard[Array]:
    return isinstance(argument, np.ndarray) and bool(argument.ndim or variable.is_pointer)


def _check_holds_pointer(variable: Variable, what: str) -> None:
    if variable.size != 8 or variable.alignment != 8:  # perhaps a struct of one pointer
        raise SimError(
            f"expected a number for {variable.name} of {variable.size} bytes, found {what}: "
            "only parameters of 8 bytes hold pointers",
            variable.line,
        )


def _collect_table(buffers: _Buffers, variable: Variable, table: PointerTable, name: str) -> None:
    """Collects the arrays to which a table, and the tables in it, point."""
    for index, each in enumerate(table.pointers):
        what = f"{name}[{index}]"
        if isinstance(each, PointerTable):
            _collect_table(buffers, variable, each, what)
        elif isinstance(each, np.ndarray):
            buffers.collect(_contiguous(each, what, variable), f"the array of {what}")
        elif each is not None:
            raise SimError(f"expected an array, a PointerTable or None for {what}, found {each!r}", variable.line)


def _contiguous(array: Array, what: str, variable: Variable) -> Array:
    if not array.flags.c_contiguous:
        raise SimError(f"expected a C-contiguous array for {what}", variable.line)
    return _numbers(array, what, variable)


def _numbers(array: Array, what: str, variable: Variable) -> Array:
    dtype = array.dtype
    if dtype.hasobject or dtype.kind in "SUmM" or not dtype.isnative:
        raise SimError(
            f"expected numbers in the byte order of this machine for {what}, found {dtype.str}", variable.line
        )
    return array


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _fields(variable: Variable, fields: Mapping[int, object]) -> Iterator[tuple[str, object]]:
    """The fields of a struct with their names for messages."""
    return ((f"{variable.name}+{offset}", value) for offset, value in fields.items())


def _struct(buffers: _Buffers, variable: Variable, fields: Mapping[int, object]) -> bytes:
    raw, filled = bytearray(variable.size), np.zeros(variable.size, np.bool_)
    for (name, value), offset in zip(_fields(variable, fields), fields, strict=True):
        alignment = 1
        if isinstance(value, TensorMap):
            field = tensor_map_bytes.encode(value, buffers.address(value.array)).tobytes()
            alignment = tensor_map_bytes.ALIGNMENT
        elif isinstance(value, PointerTable):
            field = buffers.table(value, name).to_bytes(8, "little")
        elif _is_array(value):
            field = buffers.address(value).to_bytes(8, "little")
        elif isinstance(value, (np.ndarray, np.generic)):
            field = value.tobytes()
        elif isinstance(value, bytes):
            field = value
        else:
            raise SimError(
                f"expected an array, a numpy scalar, bytes, a TensorMap or a PointerTable for {name}, found {value!r}",
                variable.line,
            )
        end = offset + len(field)
        if offset < 0 or end > variable.size or filled[offset:end].any():
            raise SimError(
                f"expected {name} of {len(field)} bytes beside the other fields in {variable.size} bytes", variable.line
            )
        if offset % alignment or variable.alignment < alignment:
            raise SimError(f"expected {name}, a tensor map, to be aligned to {alignment} bytes", variable.line)
        raw[offset:end] = field
        filled[offset:end] = True
    return bytes(raw)


def _bytes_of(launch: Launch, buffers: _Buffers, variable: Variable, argument: Argument) -> bytes:
    if isinstance(argument, TensorMap):
        return _tensor_map(launch, buffers, variable, argument)
    if isinstance(argument, PointerTable):
        return buffers.table(argument, variable.name).to_bytes(8, "little")
    if isinstance(argument, Mapping):
        return _struct(buffers, variable, argument)
    if isinstance(argument, np.void):
        return _bytes_of(launch, buffers, variable, argument.tobytes())
    if isinstance(argument, bytes):
        if len(argument) != variable.size:
            raise SimError(f"expected {variable.size} bytes for {variable.name}, found {len(argument)}", variable.line)
        return argument
    if _is_pointer(argument, variable):
        return buffers.address(argument).to_bytes(8, "little")
    return _number(variable, argument)


def _tensor_map(launch: Launch, buffers: _Buffers, variable: Variable, argument: TensorMap) -> bytes:
    """
    Returns the bytes of a tensor map; for a pointer parameter, stores the map in global memory and returns its address.
    """
    raw = tensor_map_bytes.encode(argument, buffers.address(argument.array))
    if variable.size == 8:
        address = launch.global_memory.add(raw, f"tensor map {variable.name}")
        launch.tensor_maps.initial[address] = raw.tobytes()
        return address.to_bytes(8, "little")
    if variable.size < tensor_map_bytes.SIZE or variable.alignment < tensor_map_bytes.ALIGNMENT:
        raise SimError(
            f"expected a parameter of {tensor_map_bytes.SIZE} bytes aligned to {tensor_map_bytes.ALIGNMENT} for a "
            f"tensor map, found {variable.name} of {variable.size} bytes aligned to {variable.alignment}",
            variable.line,
        )
    return raw.tobytes()


def _number(variable: Variable, value: Array | np.generic | int | float) -> bytes:
    if variable.is_array and isinstance(value, (np.ndarray, np.generic)) and value.nbytes == variable.size:
        return value.tobytes()
    if variable.is_array and not (isinstance(value, int) and variable.size <= 8):
        raise SimError(
            f"expected the {variable.size} bytes of {variable.name}, or its fields as a mapping of offsets, "
            f"found {value!r}",
            variable.line,
        )
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
    elif not isinstance(value, Real):
        raise SimError(f"expected an array or a number for {variable.name}, found {value!r}", variable.line)
    if isinstance(value, float) or own_type.is_float:
        dtype = own_type.dtype if own_type.is_float else _FLOATS.get(variable.size)
        if dtype is None or own_type.kind in ("signed", "unsigned"):
            raise SimError(f"expected an integer for {variable.name} ({own_type}), found {value!r}", variable.line)
        try:
            value = float(value)
        except OverflowError:
            value = np.inf if value > 0 else -np.inf
        with np.errstate(over="ignore"):  # too large numbers are infinite, as those that a launch passes
            return np.array([value], np.float64).astype(dtype).tobytes()
    number, bits = int(value), 8 * variable.size
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise SimError(f"expected a value of {bits} bits for {variable.name}, found {number}", variable.line)
    return (number & ((1 << bits) - 1)).to_bytes(variable.size, "little")
