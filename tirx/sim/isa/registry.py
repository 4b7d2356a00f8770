"""The table of instructions: from the first part of an opcode to the function that decodes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.program.code import Step

Decode: TypeAlias = Callable[[Decoder], Step]

_DECODERS: dict[str, Decode] = {}


def instruction(*roots: str) -> Callable[[Decode], Decode]:
    """Registers a decoder: it gets a `Decoder`, takes all modifiers and operands, and returns the step."""

    def register(decode: Decode) -> Decode:
        for root in roots:
            if root in _DECODERS:
                raise AssertionError(f"instruction {root} has two decoders")
            _DECODERS[root] = decode
        return decode

    return register


def decode(decoder: Decoder) -> Step:
    """The step of an instruction; SimError if it is unknown."""
    found = _DECODERS.get(decoder.root)
    if found is None:
        raise decoder.error(f"unknown instruction '{decoder.root}'")
    try:
        return found(decoder)
    except SimError as error:
        raise error.at(decoder.instruction.line, decoder.instruction.text) from None


def known_instructions() -> tuple[str, ...]:
    """Returns the first parts of all known opcodes, sorted."""
    return tuple(sorted(_DECODERS))
