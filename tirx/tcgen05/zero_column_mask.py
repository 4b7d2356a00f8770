"""The 64-bit zero-column mask descriptor of tcgen05.mma.ws (PTX ISA "Zero-Column Mask Descriptor").

The mask has one bit per column of B: 0 means that the column is used, 1 that it counts as zero. It is cut into
sub-masks (one for M = 128, two for M = 64, four for M = 32), each a window of one and the same periodic pattern.

The ISA's field table swaps two names: it calls Skip Span the run of columns where B is used and Use Span the run of
zeroes. Its own examples 2 to 4 do the opposite, which is what this file does: **skip** (bits 40-47) is
the run of zeroed columns, mask bits 1, and **use** (bits 48-55) the run of used columns, mask bits 0. First Span 1
starts a sub-mask with the zeroed run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple

from tirx.hw.bits import Bits, bits_text, deposit, extract
from tirx.hw.errors import ZeroColumnsError
from tirx.hw.rules import result
from tirx.layout.arrays import NDArray, np
from tirx.values import dataclass

SUB_MASKS: dict[int, int] = {128: 1, 64: 2, 32: 4}
"""Number of sub-masks for each M."""

MAX_COLUMN_SHIFT: dict[int, int] = {128: 32, 64: 32, 32: 16}
"""Largest column shift for each M."""

_SHOWN_COLUMNS = 64

MAX_SPAN = 256
"""Longest run that a span field can express; also the largest N."""

FIELDS: Mapping[str, Bits] = {
    **{f"start_count[{i}]": (8 * i, 8) for i in range(4)},
    **{f"first_span[{i}]": (32 + i, 1) for i in range(4)},
    "generate": (39, 1),
    "skip_span": (40, 8),
    "use_span": (48, 8),
    "shift": (56, 6),
}
"""The fields of a mask descriptor."""

RESERVED: tuple[Bits, ...] = ((36, 3), (62, 2))
"""Bits that are always zero."""

Four = tuple[int, int, int, int]


class _Run(NamedTuple):
    """Equal neighbours inside one sub-mask: columns [start, stop) of the whole mask."""

    start: int
    stop: int
    zeroed: bool
    bounded: bool  # whether both ends are changes of value, so that the length is exactly a span

    @property
    def length(self) -> int:
        return self.stop - self.start


def sub_mask_width(m: int, n: int) -> int:
    """Columns that one sub-mask covers. Raises LegalityError for an M or N that tcgen05.mma.ws cannot mask."""
    if m not in SUB_MASKS:
        raise ZeroColumnsError(f"zero-column mask: expected M = {', '.join(map(str, SUB_MASKS))}, found {m}")
    if not 0 < n <= MAX_SPAN or n % SUB_MASKS[m]:
        raise ZeroColumnsError(
            f"zero-column mask: expected N from 1 to {MAX_SPAN}, a multiple of {SUB_MASKS[m]} for M = {m}, found {n}"
        )
    return n // SUB_MASKS[m]


@dataclass(frozen=True)
class ZeroColumnMask:
    """A zero-column mask descriptor. Every field holds the value of the descriptor field.

    - `start_count`: for sub-masks 0 to 3, columns of the first run that lie before the sub-mask;
    - `first_span`: for sub-masks 0 to 3, whether the first run is the zeroed one (1) or the used one (0);
    - `skip_span`, `use_span`: length - 1 of the runs of zeroed and of used columns;
    - `shift`: logical column j reads column j + shift of B;
    - `generate`: the ISA's "Non-Zero Mask" bit; False means that all of B is used.

    Raises LegalityError for a value that does not fit its field or exceeds the largest shift, 32.
    """

    start_count: Four = (0, 0, 0, 0)
    first_span: Four = (0, 0, 0, 0)
    skip_span: int = 0
    use_span: int = 0
    shift: int = 0
    generate: bool = True

    def __post_init__(self) -> None:
        for name, values in (("start_count", self.start_count), ("first_span", self.first_span)):
            if len(values) != 4:
                raise ZeroColumnsError(f"{name}: expected 4 values, one per sub-mask, found {len(values)}")
        limits = [(f"start_count[{i}]", value, 255) for i, value in enumerate(self.start_count)]
        limits += [(f"first_span[{i}]", value, 1) for i, value in enumerate(self.first_span)]
        limits += [("skip_span", self.skip_span, 255), ("use_span", self.use_span, 255), ("shift", self.shift, 32)]
        for name, value, limit in limits:
            if not 0 <= value <= limit:
                raise ZeroColumnsError(f"{name}: expected 0 to {limit}, found {value}")

    def _repr_html_(self) -> str:
        """Returns a table of the fields with their bits, which notebooks show."""
        from tirx.hw.word_picture import descriptor_html

        return descriptor_html(self, self.encode, FIELDS, self._columns())

    def _columns(self) -> list[str]:
        """A line for each M that has the mask: its first columns, 0 where they are zeroed, as in the ISA's examples."""
        masks = {m: result(lambda m=m: self.expand(m, _SHOWN_COLUMNS)) for m in SUB_MASKS}
        return [
            f"M = {m}, N = {_SHOWN_COLUMNS}: {''.join('0' if zero else '1' for zero in mask.tolist())}"
            for m, mask in masks.items()
            if mask is not None
        ]

    def encode(self) -> int:
        """The descriptor as a 64-bit integer."""
        codes = {
            **{f"start_count[{i}]": count for i, count in enumerate(self.start_count)},
            **{f"first_span[{i}]": first for i, first in enumerate(self.first_span)},
            "generate": int(self.generate),
            "skip_span": self.skip_span,
            "use_span": self.use_span,
            "shift": self.shift,
        }
        value = 0
        for name, code in codes.items():
            value = deposit(value, FIELDS[name], code)
        return value

    @staticmethod
    def decode(value: int) -> ZeroColumnMask:
        """The descriptor that a 64-bit integer means. Raises LegalityError when a reserved bit is set."""
        if not 0 <= value < 1 << 64:
            raise ZeroColumnsError(f"expected a 64-bit zero-column mask descriptor, found {value:#x}")
        for bits in RESERVED:
            if found := extract(value, bits):
                raise ZeroColumnsError(f"reserved {bits_text(bits)}: expected 0, found {found:#b}")
        codes = {name: extract(value, bits) for name, bits in FIELDS.items()}
        if (shift := codes["shift"]) > max(MAX_COLUMN_SHIFT.values()):
            raise ZeroColumnsError(
                f"{bits_text(FIELDS['shift'])}, column shift: expected 0 to {max(MAX_COLUMN_SHIFT.values())}, "
                f"found {shift}"
            )
        count = [codes[f"start_count[{i}]"] for i in range(4)]
        first_span = [codes[f"first_span[{i}]"] for i in range(4)]
        return ZeroColumnMask(
            start_count=(count[0], count[1], count[2], count[3]),
            first_span=(first_span[0], first_span[1], first_span[2], first_span[3]),
            skip_span=codes["skip_span"],
            use_span=codes["use_span"],
            shift=shift,
            generate=bool(codes["generate"]),
        )

    def verify(self, m: int, n: int) -> None:
        """Raises LegalityError unless the descriptor is meaningful for an instruction of this M and N."""
        sub_mask_width(m, n)
        if self.shift > MAX_COLUMN_SHIFT[m]:
            raise ZeroColumnsError(f"shift: expected at most {MAX_COLUMN_SHIFT[m]} for M = {m}, found {self.shift}")

    def late_starts(self, m: int | None) -> tuple[str, ...]:
        """Says which sub-masks of an instruction with M rows (None: of any) start behind their first run.

        Legal, and probably a mistake: the ISA has a start count skip bits of the pattern, and in all its examples fewer
        than the first run has. `expand` skips on, into the runs that follow.
        """
        found: list[str] = []
        subs = 4 if m is None else SUB_MASKS.get(m, 4)
        for i in range(subs if self.generate else 0):
            kind, span = ("zeroed", self.skip_span) if self.first_span[i] else ("used", self.use_span)
            if (count := self.start_count[i]) > span:
                found.append(
                    f"start_count[{i}]: {count} skips more than the first run of {span + 1} {kind} columns; no example "
                    "of the PTX ISA does so, and the columns are those after so many bits of the pattern"
                )
        return tuple(found)

    def expand(self, m: int, n: int) -> NDArray[np.bool_]:
        """The mask itself: a boolean array of N, element j True when logical column j of B counts as zero.

        Raises LegalityError as `verify` does.
        """
        self.verify(m, n)
        if not self.generate:
            return np.zeros(n, dtype=np.bool_)
        subs, width = SUB_MASKS[m], sub_mask_width(m, n)
        skip, use = self.skip_span + 1, self.use_span + 1
        # Position in the pattern "skip zeroed columns, then use used ones" of the first column of each sub-mask.
        phase = [self.start_count[i] + (0 if self.first_span[i] else skip) for i in range(subs)]
        position = (np.array(phase)[:, None] + np.arange(width)) % (skip + use)
        return (position < skip).reshape(n)

    @staticmethod
    def from_columns(
        zero: Sequence[bool] | NDArray[np.bool_] | AbstractSet[int], m: int, n: int, shift: int = 0
    ) -> ZeroColumnMask:
        """The descriptor whose mask is exactly `zero`: N booleans, True where logical column j of B counts as zero, or
        the set of those columns.

        Complete: when it raises, no descriptor has that mask. A run that is bounded on both sides inside a sub-mask
        fixes a span; a run cut by the edge of a sub-mask only bounds it from below; every phase can be encoded.
        Canonical: of all descriptors with that mask and shift, the one whose 64-bit integer is smallest.
        Raises LegalityError naming the column where the pattern stops being periodic (also in its `column`).
        """
        width = sub_mask_width(m, n)
        wanted = _columns(zero, n)
        if not wanted.any():
            mask = ZeroColumnMask(shift=shift, generate=False)
            mask.verify(m, n)
            return mask
        sub_masks = [_runs(wanted, first, first + width) for first in range(0, n, width)]
        runs = [run for sub_mask in sub_masks for run in sub_mask]
        skip, use = _span(runs, zeroed=True), _span(runs, zeroed=False)
        count, first_span = [0] * 4, [0] * 4
        for i, (first, *rest) in enumerate(sub_masks):
            first_span[i] = int(first.zeroed)
            # The first run ends where the sub-mask changes; a sub-mask of one run may as well start its run.
            count[i] = (skip if first.zeroed else use) - first.length if rest else 0
        mask = ZeroColumnMask(
            start_count=(count[0], count[1], count[2], count[3]),
            first_span=(first_span[0], first_span[1], first_span[2], first_span[3]),
            skip_span=skip - 1,
            use_span=use - 1,
            shift=shift,
        )
        mask.verify(m, n)
        return mask


def _columns(zero: Sequence[bool] | NDArray[np.bool_] | AbstractSet[int], n: int) -> NDArray[np.bool_]:
    """N booleans from what `from_columns` accepts; raises LegalityError for anything else."""
    if isinstance(zero, AbstractSet):
        if outside := sorted(column for column in zero if not 0 <= column < n):
            raise ZeroColumnsError(f"expected columns 0 to {n - 1}, found {outside[0]}", column=outside[0])
        wanted = np.zeros(n, dtype=np.bool_)
        wanted[list(zero)] = True
        return wanted
    values = np.asarray(zero)
    if values.shape != (n,):
        raise ZeroColumnsError(f"expected {n} columns, found an array of shape {values.shape}")
    wanted = values.astype(np.bool_)
    if (values != wanted).any():
        column = int(np.flatnonzero(values != wanted)[0])
        raise ZeroColumnsError(
            f"column {column}: expected True or False, found {values[column]}; column numbers are passed as a set",
            column=column,
        )
    return wanted


def _runs(wanted: NDArray[np.bool_], start: int, stop: int) -> list[_Run]:
    """Runs of the sub-mask of columns [start, stop)."""
    changes = (np.flatnonzero(np.diff(wanted[start:stop])) + start + 1).tolist()
    bounds = list(pairwise([start, *changes, stop]))
    return [_Run(a, b, bool(wanted[a]), bounded=0 < i < len(bounds) - 1) for i, (a, b) in enumerate(bounds)]


def _span(runs: list[_Run], zeroed: bool) -> int:
    """Length of the runs of one kind, the shortest that fits; raises LegalityError when they disagree."""
    own = [run for run in runs if run.zeroed == zeroed]
    model = next((run for run in own if run.bounded), None)
    if model is None:
        return max((run.length for run in own), default=1)
    kind, other = ("zeroed", "used") if zeroed else ("used", "zeroed")
    for run in own:
        if run.length > model.length:
            column, now, then = run.start + model.length, other, kind
        elif run.bounded and run.length < model.length:
            column, now, then = run.stop, kind, other
        else:
            continue
        raise ZeroColumnsError(
            f"no zero-column mask descriptor has these columns: column {column} is expected {now} and is {then}, "
            f"because columns {model.start} to {model.stop - 1} make a run of {model.length} {kind} columns and "
            f"all such runs must have that length; the run at column {run.start} has {run.length}",
            column=column,
        )
    return model.length
