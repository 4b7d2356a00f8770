"""The nearest legal word: as few fields changed as possible, and these by as little as possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from math import prod

from tirx.hw.bits import Bits, deposit, extract

_MAX_CHANGES = 4
_FAR = 1 << 20
_MAX_TRIES = 1500
"""Words that are tried for one choice of fields, and in all; beyond that no nearest word is named."""


def nearest_word(
    word: int,
    fields: Mapping[str, Bits],
    reserved: Sequence[Bits],
    choices: Mapping[str, Sequence[int]],
    legal: Callable[[int], bool],
    unordered: Sequence[str] = (),
) -> int | None:
    """The legal word that changes the fewest fields of `word`, None where none was found.

    `choices`: the codes that a field may have; a field that is missing is left alone. A field with a code that it may
    not have counts as changed in any case. Codes of `unordered` fields are far from each other. Reserved bits become 0.
    """
    for bits in reserved:
        word = deposit(word, bits, 0)
    must = [name for name, codes in choices.items() if extract(word, fields[name]) not in codes]
    may = [name for name in choices if name not in must]
    tries = 0
    for changes in range(_MAX_CHANGES + 1 - len(must)):
        found: list[tuple[int, int]] = []
        for extra in combinations(may, changes):
            changed = [*must, *extra]
            options = [[c for c in choices[name] if c != extract(word, fields[name])] for name in changed]
            if prod(map(len, options)) > _MAX_TRIES:
                continue
            for codes in product(*options):
                candidate = word
                for name, code in zip(changed, codes, strict=True):
                    candidate = deposit(candidate, fields[name], code)
                distances = (
                    _FAR if name in unordered else abs(code - extract(word, fields[name]))
                    for name, code in zip(changed, codes, strict=True)
                )
                found.append((sum(distances), candidate))
        for _, candidate in sorted(found)[: _MAX_TRIES - tries]:
            if legal(candidate):
                return candidate
        tries += len(found)
        if tries >= _MAX_TRIES:
            break
    return None
