"""Loads of parts of registers from shared memory by whole words, of which threads select bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from tirx.copy.access import THREAD_VARIABLE, AccessPlan
from tirx.dialects.ptx.arith import PrmtOp
from tirx.layout.arrays import IntArray, np
from tirx.passes.ir.emitter import Emitter, bit_pattern
from tirx.symbolic.index_expr import IndexExpr
from tirx.values import dataclass

_WORD = 4
"""Bytes of a register."""

_FEWER = 2
"""Narrow loads that a vector of words has to replace, on average."""

Word = tuple[IndexExpr, int]
"""A word of shared memory: so many bytes behind the word that has the byte of an expression of the thread."""


@dataclass(frozen=True)
class _Part:
    """`size` bytes of a word, `first` bytes behind the byte of its expression."""

    word: Word
    first: int
    size: int


@dataclass(frozen=True)
class WordLoads:
    """Vectors of words that all threads load, and the parts of them that make each register.

    `vectors`: the words of each load. `registers`: number of a register -> its parts, with their first bytes in it.
    """

    vectors: tuple[tuple[Word, ...], ...]
    registers: Mapping[int, Sequence[tuple[int, _Part]]]

    @staticmethod
    def of(plan: AccessPlan) -> WordLoads | None:
        """Returns the loads that replace the accesses of a plan; None where these are few, or of whole registers.

        No word has a byte that no thread asks for.
        """
        bits, threads = plan.element_bits, {THREAD_VARIABLE: np.arange(plan.threads, dtype=np.int64)}
        if plan.owners is not None or any(
            each.count * bits >= 8 * _WORD or each.const * bits % 8 for each in plan.accesses
        ):
            return None
        registers: dict[int, list[tuple[int, _Part]]] = {}
        places: dict[IndexExpr, IntArray] = {}
        words: dict[IndexExpr, set[int]] = {}
        asked = set[int]()
        for access in plan.accesses:
            base = access.base * bits // 8
            at = places.setdefault(base, base.evaluate(threads))
            behind, size = access.const * bits // 8, access.count * bits // 8
            first = behind % _WORD
            if (at % _WORD + first + size > _WORD).any():
                return None
            register, byte = divmod(access.register * bits // 8, _WORD)
            part = _Part((base, behind - first), first, size)
            registers.setdefault(register, []).append((byte, part))
            words.setdefault(base, set()).add(behind - first)
            asked.update(*((np.unique(at) + behind + i).tolist() for i in range(size)))
        starts = {base: np.unique(at - at % _WORD) for base, at in places.items()}
        read = {int(start) + behind for base, each in words.items() for start in starts[base] for behind in each}
        vectors = tuple(vector for base, each in words.items() for vector in _vectors(base, sorted(each), starts[base]))
        if len(asked) < _WORD * len(read) or _FEWER * len(vectors) > len(plan.accesses):
            return None
        return WordLoads(vectors, registers)

    def registers_of(
        self, emit: Emitter, words: Mapping[Word, SSAValue], firsts: Mapping[IndexExpr, SSAValue]
    ) -> dict[int, SSAValue]:
        """Emits the selections; returns the registers (i32) made of loaded words, by number.

        `firsts`: the byte (i32) of its word in which an expression of the thread lies, where that is not always 0.
        """
        made: dict[int, SSAValue] = {}
        for register, parts in self.registers.items():
            sources = [
                _Byte(words[part.word], part.first + i, firsts.get(part.word[0]))
                for _, part in sorted(parts, key=lambda item: item[0])
                for i in range(part.size)
            ]
            if len({each.word for each in sources}) > 2:
                halves = _selected(emit, sources[:2]), _selected(emit, sources[2:])
                sources = [_Byte(half, i) for half in halves for i in range(2)]
            made[register] = _selected(emit, sources)
        return made


@dataclass(frozen=True)
class _Byte:
    """Byte `digit` of a word (i32), counted from byte `first` (i32) if that is given."""

    word: SSAValue
    digit: int
    first: SSAValue | None = None


def _selected(emit: Emitter, sources: Sequence[_Byte]) -> SSAValue:
    """Emits the selection of bytes of at most two words, the lowest first."""
    words = list(dict.fromkeys(each.word for each in sources))
    digits = sum((each.digit + _WORD * words.index(each.word)) << 4 * i for i, each in enumerate(sources))
    selector = emit(arith.ConstantOp(bit_pattern(digits, 32))).result
    for first in dict.fromkeys(each.first for each in sources if each.first is not None):
        places = sum(1 << 4 * i for i, each in enumerate(sources) if each.first is first)
        selector = emit.add(selector, emit.mul(first, places))
    return emit(PrmtOp(words[0], words[-1], selector)).result


def _vectors(base: IndexExpr, distances: Sequence[int], starts: IntArray) -> list[tuple[Word, ...]]:
    """The widest loads of the words at some distances from those where threads start."""
    found: list[tuple[Word, ...]] = []
    left = list(distances)
    while left:
        for n in (4, 2, 1):
            run = [left[0] + i * _WORD for i in range(n)]
            if left[:n] == run and not ((starts + left[0]) % (n * _WORD)).any():
                break
        found.append(tuple((base, distance) for distance in run))
        left = left[n:]
    return found
