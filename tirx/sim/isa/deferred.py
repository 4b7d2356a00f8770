"""
Products of mma.sync and wgmma that are computed together.

A product is only needed when somebody reads D. Until then its operands wait here, so that several products of one form
become one: numpy takes about as long for eight of them as for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Array, Mask
from tirx.sim.isa.words import WriteWords
from tirx.sim.numerics.chains import Chain

# Computes D (products, registers, lanes). A and B are (steps, products, registers, lanes): each step is added to the
# sum of those before it, which begins with C (products, registers, lanes).
Compute: TypeAlias = Callable[[ThreadGroup, Mask, Array, Array, Array], Array]
_MOST = 256  # products


@dataclass(slots=True)
class _Sum:
    """The products that are added to one D, one after another."""

    c: Array
    mask: Mask
    write: WriteWords
    a: list[Array] = field(default_factory=list[Array])
    b: list[Array] = field(default_factory=list[Array])


class _Waiting:
    """Products of one form, `key`, by a thread group that does not change meanwhile."""

    def __init__(self, key: object, compute: Compute):
        self.key = key
        self.rows: frozenset[int] = frozenset()
        self._compute = compute
        self._sums: dict[tuple[int, ...], _Sum] = {}  # by the registers of D
        self._count = 0

    @property
    def is_full(self) -> bool:
        return self._count >= _MOST

    def sum_of(self, form: Products) -> _Sum | None:
        """Returns the sum to which a product of this form is added."""
        return self._sums.get(form.d) if form.chains and form.c == form.d else None

    def takes(self, form: Products) -> bool:
        """Returns True if a product of this form can wait, too: all that it needs of the others is their sum."""
        if self.key != form.key or self.is_full:
            return False
        return self.sum_of(form) is not None or (form.c is not None and self.rows.isdisjoint((*form.c, *form.d)))

    def begin(self, d: tuple[int, ...], started: _Sum) -> None:
        self._sums[d] = started
        self.rows |= frozenset(d)

    def add(self, to: _Sum, a: Array, b: Array) -> None:
        to.a.append(a)
        to.b.append(b)
        self._count += 1

    def finish(self, group: ThreadGroup) -> None:
        """Computes and writes all of them: D of one is an operand of no other."""
        by_length: dict[int, list[_Sum]] = {}
        for each in self._sums.values():
            by_length.setdefault(len(each.a), []).append(each)
        for sums in by_length.values():
            a, b = (np.stack([np.stack(steps) for steps in zip(*each, strict=True)]) for each in _operands(sums))
            found = self._compute(group, group.mask, a, b, np.stack([each.c for each in sums]))
            for each, words in zip(sums, found, strict=True):
                each.write(group, each.mask, words)


def _operands(sums: Sequence[_Sum]) -> tuple[list[list[Array]], list[list[Array]]]:
    return [each.a for each in sums], [each.b for each in sums]


@dataclass(frozen=True, slots=True)
class Products:
    """
    A form of mma.sync whose products may wait: `compute`, the same for all with this `key`. `chains`: a product may
    wait for one whose D is its C. `c` and `d` are the 32-bit registers of C (None: not all are registers) and of D.
    """

    key: object
    compute: Compute
    chains: bool
    c: tuple[int, ...] | None
    d: tuple[int, ...]


def defer(
    group: ThreadGroup,
    form: Products,
    mask: Mask,
    read_a: Callable[[], Array],
    read_b: Callable[[], Array],
    read_c: Callable[[], Array],
    write: WriteWords,
) -> None:
    """Adds a product of a form to those that wait. Nobody else has used D since the product before."""
    waiting = group.deferred
    if not isinstance(waiting, _Waiting) or not waiting.takes(form):
        group.finish_deferred()
        group.deferred = waiting = _Waiting(form.key, form.compute)
    a, b = read_a(), read_b()
    found = waiting.sum_of(form)
    if found is None:
        found = _Sum(read_c(), mask, write)
        waiting.begin(form.d, found)
    waiting.add(found, a, b)


class WarpgroupProducts:
    """
    Products of wgmma.mma_async of one warpgroup to the same registers, `rows`; equal ones have the same `key`.

    `read` gives C as numbers, `write` takes D.
    """

    def __init__(
        self,
        key: object,
        rows: frozenset[int],
        chain: Chain,
        read: Callable[[ThreadGroup], Array],
        write: Callable[[ThreadGroup, Array], None],
    ):
        self.key = key
        self.rows = rows
        self.chain = chain
        self._read = read
        self._write = write

    @property
    def is_full(self) -> bool:
        return self.chain.is_full

    def finish(self, group: ThreadGroup) -> None:
        """Computes and writes D."""
        self._write(group, self.chain.plus(self._read(group)))
