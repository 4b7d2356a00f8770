"""Arguments and results of calls: copied between the caller's and the callee's parameters."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import TYPES, Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Step
from tirx.sim.reader.syntax import Immediate, Name, Operand, Variable


def _undefined(group: ThreadGroup) -> Mask:
    """Marks the bytes of each lane's local memory that nobody has written, or that hold undefined values."""
    cta = group.cta
    return cta.local_undefined.reshape(cta.local_bytes.shape)[group.first : group.last]


def copy_parameter(decoder: Decoder, item: Operand, formal: Variable, *, into: bool) -> Step:
    """
    A step that copies the actual parameter `item` to the callee's `formal` (`into`) or back.

    Actual parameters are `.param` variables of the caller, registers, or (arguments only) literals.
    """
    target = decoder.symbols.place(formal).address
    actual = decoder.instruction.scope.variable(item.name) if isinstance(item, Name) else None
    if actual is not None and actual.space == "param":
        place = decoder.symbols.place(actual)
        if place.space != "local" or actual.size != formal.size:
            raise decoder.error(f"expected a parameter of {formal.size} bytes for {formal.name}, found {actual.name}")
        first, second = (place.address, target) if into else (target, place.address)
        size = formal.size

        def copy(group: ThreadGroup, mask: Mask) -> None:
            memory = group.cta.local_bytes[group.first : group.last]
            rows = np.flatnonzero(mask)
            for bytes_ in (memory, _undefined(group)):
                bytes_[rows, second : second + size] = bytes_[rows, first : first + size]

        return copy
    value_type = TYPES[formal.type]
    if formal.is_array or not (isinstance(item, Name) or (into and isinstance(item, Immediate))):
        raise decoder.error(f"expected a .param variable for {formal.name}")
    if into:
        source = decoder.source(item, value_type)

        def pass_value(group: ThreadGroup, mask: Mask) -> None:
            memory = group.cta.local_bytes[group.first : group.last]
            values = np.ascontiguousarray(source(group, mask)[mask])
            memory[mask, target : target + value_type.bytes] = values.view(np.uint8).reshape(-1, value_type.bytes)
            _undefined(group)[mask, target : target + value_type.bytes] = False

        return pass_value
    put = decoder.destination(item, value_type)

    def take_value(group: ThreadGroup, mask: Mask) -> None:
        if _undefined(group)[mask, target : target + value_type.bytes].any():
            raise SimError(f"the result {formal.name} depends on what was never written")
        memory = group.cta.local_bytes[group.first : group.last, target : target + value_type.bytes]
        put(group, mask, np.ascontiguousarray(memory).view(value_type.dtype)[:, 0])

    return take_value
