"""
Modifiers of ld, ldu and st about order and caches: which go together (PTX ISA, sections 9.7.9.8 to 9.7.9.12).

The syntax of the ISA has one line for each order, which all leave out some others. The rows here are all pairs that
ptxas 13.5 refuses of 28 modifiers, 5 state spaces and 4 widths; no combination is refused that has no such pair.
"""

from __future__ import annotations

from tirx.sim.isa.decoder import Decoder

_LOADED = ("ca", "cg", "cs", "lu", "cv")
_STORED = ("wb", "cg", "cs", "wt")
_CACHE = tuple(dict.fromkeys((*_LOADED, *_STORED)))
_L1 = tuple(f"L1::{each}" for each in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"))
_L2 = ("L2::evict_first", "L2::evict_last", "L2::evict_normal")
_PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_SCOPED = ("relaxed", "acquire", "release")
_BOTH = ("weak", "volatile", "relaxed", "mmio", *_SCOPES, *_L1, *_L2, "L2::cache_hint")
# The modifiers that an instruction may have.
_ALLOWED = {
    "ld": (*_BOTH, *_LOADED, *_PREFETCH, "acquire", "nc", "unified"),
    "ldu": (),
    "st": (*_BOTH, *_STORED, "release"),
}
# An instruction has at most one modifier of each row.
_APART = (
    _SCOPES,
    _L2,
    _PREFETCH,
    (*_CACHE, *_L1, "volatile", "mmio"),
    (*_CACHE, "volatile", *_SCOPED),
    ("nc", "weak", "volatile", *_SCOPED),
    ("nc", "lu", "cv"),
    ("L2::cache_hint", "volatile", "mmio"),
    (*_PREFETCH, "mmio"),
    ("mmio", "weak"),
)
# The state spaces to which modifiers apply, if not to all.
_SPACES = (
    (("nc",), ("global",)),
    ((*_L1, *_L2, *_PREFETCH, "L2::cache_hint", "mmio"), ("global", "generic")),
    (_SCOPED, ("global", "generic", "shared")),
    (("volatile",), ("global", "generic", "shared", "local")),
)
_WIDE = 32  # bytes of the accesses that have a priority in L2
_QUALIFIERS = frozenset((*_BOTH, *_CACHE, *_PREFETCH, *_SCOPED, "nc", "unified"))


def take_qualifiers(decoder: Decoder) -> tuple[str, ...]:
    """Removes and returns the modifiers about order and caches. Raises SimError for those that exclude each other."""
    found = tuple(each for each in decoder.modifiers if each in _QUALIFIERS)
    decoder.drop(_QUALIFIERS)
    root = decoder.root
    if (unknown := next((each for each in found if each not in _ALLOWED[root]), None)) is not None:
        raise decoder.error(f"{root} has no modifier .{unknown}")
    for row in _APART:
        both = [each for each in found if each in row]
        if len(both) > 1:
            raise decoder.error(
                f".{both[0]} and .{both[1]} cannot be combined: expected at most one of .{', .'.join(row)}"
            )
    scoped, has_scope = any(each in _SCOPED for each in found), any(each in _SCOPES for each in found)
    if scoped != has_scope:
        raise decoder.error(f"expected one of .{', .'.join(_SCOPED)} and one of .{', .'.join(_SCOPES)} together")
    asynchronous = "async" in decoder.instruction.opcode.split(".")
    if "mmio" in found and not {"release" if asynchronous else "relaxed", "sys"} <= set(found):
        raise decoder.error("expected .relaxed.sys with .mmio")
    return found


def check_qualifiers(decoder: Decoder, found: tuple[str, ...], space: str, count: int, size: int) -> None:
    """
    Raises SimError for a modifier that does not apply to accesses of `count` elements, `size` bytes, to .`space`.
    """
    for modifiers, allowed in _SPACES:
        wrong = next((each for each in found if each in modifiers), None)
        if wrong is not None and space not in allowed:
            raise decoder.error(f"expected an access to {' or '.join(allowed)} memory with .{wrong}, found .{space}")
    if size != _WIDE and (wrong := next((each for each in found if each in _L2), None)) is not None:
        raise decoder.error(f"expected an access of {_WIDE} bytes with .{wrong}, found {size}")
    if count > 1 and "mmio" in found:
        raise decoder.error(f"expected a single element with .mmio, found {count}")
