"""Functions of the device runtime, which a module may call without defining them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.memory import spaces
from tirx.sim.program.code import Step
from tirx.sim.reader.syntax import Name, Operand
from tirx.sim.text import format_arguments

_Intrinsic: TypeAlias = Callable[[Decoder, Sequence[Operand], Sequence[Operand]], Step]

_POINTER = np.dtype(np.uint64)
_MAX_STRING = 1 << 16


def _parameter(decoder: Decoder, operand: Operand) -> int:
    """The place in each thread's memory of an argument or result."""
    variable = decoder.instruction.scope.variable(operand.name) if isinstance(operand, Name) else None
    place = None if variable is None else decoder.symbols.place(variable)
    if place is None or place.space != "local":
        raise decoder.error("expected .param variables as arguments and results")
    return place.address


def _value(group: ThreadGroup, lane: int, offset: int, dtype: np.dtype[np.generic]) -> int:
    raw = group.cta.local_bytes[group.first + lane, offset : offset + dtype.itemsize]
    return np.frombuffer(raw.tobytes(), dtype).item()


def read_string(group: ThreadGroup, lane: int, address: int) -> str:
    """The zero-terminated string at a generic address."""
    found = bytearray()
    lanes = np.array([lane])
    while len(found) < _MAX_STRING:
        at = np.array([address + len(found)], np.uint64)
        byte: int = spaces.load(group, lanes, "generic", at, np.dtype(np.uint8), 1).item()
        if byte == 0:
            return found.decode("utf-8", "replace")
        found.append(byte)
    raise SimError(f"expected a string that ends within {_MAX_STRING} bytes")


def _vprintf(decoder: Decoder, arguments: Sequence[Operand], results: Sequence[Operand]) -> Step:
    if len(arguments) != 2 or len(results) != 1:
        raise decoder.error("expected vprintf with two arguments and one result")
    text_at, values_at = (_parameter(decoder, operand) for operand in arguments)
    result_at = _parameter(decoder, results[0])

    def step(group: ThreadGroup, mask: Mask) -> None:
        for lane in np.flatnonzero(mask).tolist():
            text = read_string(group, lane, _value(group, lane, text_at, _POINTER))
            values = _value(group, lane, values_at, _POINTER)

            def word(offset: int, size: int, lane: int = lane, values: int = values) -> bytes:
                at = np.array([values + offset], np.uint64)
                unit = np.dtype(f"u{size}")
                return spaces.load(group, np.array([lane]), "generic", at, unit, 1).tobytes()

            def string(address: int, lane: int = lane) -> str:
                return read_string(group, lane, address)

            shown, count = format_arguments(text, word, string)
            group.cta.launch.print(shown)
            raw = np.frombuffer(count.to_bytes(4, "little"), np.uint8)
            group.cta.local_bytes[group.first + lane, result_at : result_at + 4] = raw

    return step


def _assertfail(decoder: Decoder, arguments: Sequence[Operand], results: Sequence[Operand]) -> Step:
    if len(arguments) != 5:
        raise decoder.error("expected __assertfail with five arguments")
    message_at, file_at, line_at, function_at = (_parameter(decoder, operand) for operand in arguments[:4])

    def step(group: ThreadGroup, mask: Mask) -> NoReturn:
        lane = int(np.flatnonzero(mask)[0])
        message, file, function = (
            read_string(group, lane, _value(group, lane, at, _POINTER)) for at in (message_at, file_at, function_at)
        )
        line = _value(group, lane, line_at, np.dtype(np.uint32))
        raise SimError(f"assertion failed: {message} ({function}, {file}:{line})")

    return step


INTRINSICS: dict[str, _Intrinsic] = {"vprintf": _vprintf, "__assertfail": _assertfail}
