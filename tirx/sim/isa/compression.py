"""spcompress, spdecompress: elements of registers of which some in each group are kept (PTX ISA 9.4)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B32, Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.isa.words import word_destinations, word_sources
from tirx.sim.numerics.formats import decode_elements
from tirx.sim.numerics.rounding import ordered
from tirx.sim.program.code import Step

_TYPES = {16: ("f16", "bf16"), 8: ("u8", "s8", "e5m2", "e4m3", "e3m2", "e2m3")}
_PATTERNS = ("sp::1:2", "sp::1:4", "sp::2:4", "sp::2:8", "sp::4:8")
_LEAST, _MOST = 32, 4096  # bits of elements that spdecompress gives


def _form(decoder: Decoder) -> tuple[int, int, int]:
    """Bits of an element and of an index, and the number of repetitions."""
    decoder.need_feature("spcompress", decoder.root)
    bits = int(decoder.need("b8", "b16")[1:])
    return bits, int(decoder.need("b2", "b4")[1:]), int(decoder.need(*(f"x{1 << i}" for i in range(7)))[1:])


def _words(bits: int) -> int:
    return -(-bits // 32)


def _keys(elements: Array, descriptor: int, bits: int) -> Array:
    """Numbers of which the greatest belong to the elements that a descriptor keeps; NaN has the greatest."""
    kind, type_ = descriptor & 3, descriptor >> 2 & 7
    if descriptor >> 5 or type_ >= len(_TYPES[bits]):
        raise SimError(f"expected a descriptor of spcompress of {', '.join(_TYPES[bits])}, found {descriptor:#x}")
    numbers = decode_elements(elements, _TYPES[bits][type_])
    smaller = kind >= 2
    keys = ordered(np.abs(numbers) if kind & 1 else numbers, smaller=smaller, propagate=True).astype(np.int64)
    return -keys if smaller else keys


@instruction("spcompress")
def _compress(decoder: Decoder) -> Step:
    """The two greatest or least of every four elements, in the order of their indices; of equal ones those of lower
    index. PTX leaves the choice between equal ones open.
    """
    bits, width, number = _form(decoder)
    decoder.need("sp::2:4")
    decoder.finish(4)
    put_words = word_destinations(decoder, decoder.vector(0, _words(32 * number * width // bits)))
    put_kept = word_destinations(decoder, decoder.vector(1, number))
    read, descriptor = word_sources(decoder, decoder.vector(2, 2 * number)), decoder.source(3, B32)
    dtype = np.dtype(f"u{bits // 8}")

    def step(group: ThreadGroup, mask: Mask) -> None:
        data, how = np.ascontiguousarray(read(group, mask).T), np.asarray(descriptor(group, mask))
        groups = data.view(dtype).reshape(len(data), -1, 4)
        keys = np.zeros(groups.shape, np.int64)
        how = np.broadcast_to(how, len(data))
        for each in np.unique(how[mask]):
            keys[how == each] = _keys(groups[how == each], int(each), bits)
        chosen = np.sort(np.argsort(-keys, axis=2, kind="stable")[:, :, :2], axis=2)
        kept = np.ascontiguousarray(np.take_along_axis(groups, chosen, axis=2)).reshape(len(data), -1)
        put_kept(group, mask, kept.view(np.uint32).T)
        put_words(group, mask, _packed(chosen.reshape(len(data), -1), width))

    return step


def _packed(indices: Array, width: int) -> Array:
    """Words of metadata, (words, lanes): the first index in the lowest bits."""
    per_word = 32 // width
    padded = np.zeros((len(indices), _words(indices.shape[1] * width), per_word), np.uint32)
    padded.reshape(len(indices), -1)[:, : indices.shape[1]] = indices
    places = (width * np.arange(per_word)).astype(np.uint32)
    return np.bitwise_or.reduce(padded << places, axis=2).T


@instruction("spdecompress")
def _decompress(decoder: Decoder) -> Step:
    """The kept elements where their indices say, and zeros."""
    bits, width, number = _form(decoder)
    kept, of = map(int, decoder.need(*_PATTERNS).removeprefix("sp::").split(":"))
    decoder.finish(3)
    if kept * bits > 32 or (width == 2 and of > 4) or not _LEAST <= of * bits * number <= _MOST:
        raise decoder.error(
            f"expected at most 32 bits kept of a group, 4-bit indices in groups of 8, and {_LEAST} to {_MOST} bits of "
            f"elements, found {kept} of {of} elements of {bits} bits, {number} times"
        )
    put = word_destinations(decoder, decoder.vector(0, _words(of * bits * number)))
    read_words = word_sources(decoder, decoder.vector(1, _words(kept * width * number)))
    read_kept = word_sources(decoder, decoder.vector(2, _words(kept * bits * number)))
    dtype = np.dtype(f"u{bits // 8}")

    def step(group: ThreadGroup, mask: Mask) -> None:
        words, stored = (np.ascontiguousarray(read(group, mask).T) for read in (read_words, read_kept))
        places = (width * np.arange(32 // width)).astype(np.uint32)
        fields = (words[:, :, None] >> places & np.uint32((1 << width) - 1)).reshape(len(words), -1)
        indices = fields[:, : kept * number].reshape(len(words), number, kept).astype(np.int64)
        if (indices[mask] >= of).any():
            raise SimError(f"expected indices of spdecompress below {of}, found {int(indices[mask].max())}")
        spread = np.zeros((len(words), number, of), dtype)
        elements = stored.view(dtype)[:, : kept * number].reshape(len(words), number, kept)
        np.put_along_axis(spread, np.minimum(indices, of - 1), elements, axis=2)
        put(group, mask, spread.reshape(len(words), -1).view(np.uint32).T)

    return step
