"""printf of device code."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from tirx.sim.errors import SimError

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d*)?(?P<length>hh|h|ll|l|z|j|t)?(?P<type>[diouxXeEfFgGaAcsp%])"
)
_STAR = re.compile(r"(?<!%)(?:%%)*%[-+ #0]*(?:\d*\.)?\*")  # a width or precision that is an argument


def format_arguments(text: str, word: Callable[[int, int], bytes], string: Callable[[int], str]) -> tuple[str, int]:
    """
    `text` with its conversions replaced, and how many there were.

    `word(offset, size)` reads the argument buffer, in which arguments are aligned to their size (4 or 8 bytes);
    `string(address)` reads a string.
    """
    offset = count = 0

    def argument(size: int) -> bytes:
        nonlocal offset
        offset = -(-offset // size) * size
        raw = word(offset, size)
        offset += size
        return raw

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        kind = match["type"]
        if kind == "%":
            return "%"
        count += 1
        style = f"%{match['flags']}{match['width']}{match['precision'] or ''}"
        if kind in "eEfFgGaA":
            value = float(np.frombuffer(argument(8), np.float64)[0])
            return value.hex() if kind in "aA" else (style + kind) % value
        size = 8 if match["length"] in ("l", "ll", "z", "j", "t") or kind in "sp" else 4
        raw = int.from_bytes(argument(size), "little", signed=kind in "di")
        if kind == "s":
            return (style + "s") % string(raw)
        if kind == "p":
            return hex(raw)
        if kind == "c":
            return (style + "c") % (raw & 0xFF)
        return (style + ("d" if kind in "diu" else kind)) % raw

    if _STAR.search(text):
        raise SimError("printf with '*' as width or precision is not simulated")
    return _CONVERSION.sub(replace, text), count
