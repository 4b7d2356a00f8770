"""Compares the addresses of an operand with the address walk of each major-ness and swizzle."""

from __future__ import annotations

from tirx.hw.dtypes import DType
from tirx.layout.arrays import NDArray, np
from tirx.smem.canonical_form import CanonicalLayout, OperandLayout
from tirx.smem.packing import SmemPacking
from tirx.smem.smem_descriptor import ABSOLUTE_LBO_BYTES, ABSOLUTE_LBO_SWIZZLE, ADDRESS_BYTES
from tirx.smem.swizzle_modes import (
    SWIZZLE_MODES,
    TCGEN05_OPERANDS,
    BitAddresses,
    Major,
    OperandFamily,
    SwizzleMode,
    SwizzleName,
    legal_modes,
)
from tirx.smem.walk import ATOM_BITS, CORE_ROWS, Shape, Walk
from tirx.values import dataclass, replace


@dataclass(frozen=True)
class Fit:
    """The comparison of a table of addresses with the walk of one major-ness and swizzle.

    `wanted`: where the hardware looks for each element, in bits. `past`: elements past the row that one descriptor
    reads. `exact`: whether every element is where the walk looks, were it to go on past that row. `matches`: elements
    within the row that are; `plain_matches`: those that would be if nothing were swizzled. `problems`: strides that no
    descriptor field holds.
    """

    canonical: CanonicalLayout
    legal: bool
    wanted: BitAddresses
    past: NDArray[np.bool_]
    exact: bool
    matches: int
    plain_matches: int
    problems: tuple[str, ...]

    @property
    def readable(self) -> bool:
        """Returns True if one instruction reads all of it."""
        return self.exact and not self.past.any()

    @property
    def only_swizzle_missing(self) -> bool:
        return self.plain_matches == self.wanted.size and not self.exact

    @property
    def score(self) -> int:
        return self.matches + self.plain_matches

    def layout(self, shape: Shape) -> OperandLayout | None:
        """The fitted layout as one to suggest: None where it has no text, no address, or one place for two elements."""
        mode = SWIZZLE_MODES[self.canonical.swizzle]
        strides = [x for x in (self.canonical.lbo, self.canonical.sbo) if x is not None]
        if self.past.any() or (mode.swizzled and any(x % mode.period_bytes for x in strides)):
            return None
        if len(np.unique(self.wanted)) != self.wanted.size or int(self.wanted.max()) >= ADDRESS_BYTES * 8:
            return None
        return self.canonical.layout(shape)


@dataclass(frozen=True)
class Operand:
    """An operand with the facts that every geometry needs; `address` is the bit address of each element, [MN, K]."""

    address: BitAddresses
    element: DType
    container_bits: int
    family: OperandFamily = TCGEN05_OPERANDS

    @property
    def shape(self) -> Shape:
        return self.address.shape[0], self.address.shape[1]

    def byte(self, slot: int) -> float:
        """The byte where an element lies whose slot starts at bit `slot`: padding lies behind 16 elements."""
        return byte_count(SmemPacking(self.element.bits, self.container_bits).bit_of_slot(slot))

    @property
    def contiguous(self) -> Major:
        """The dimension along which the first two elements are closer."""
        first = int(self.address[0, 0])
        steps = [abs(int(line[1]) - first) for line in (self.address[0], self.address[:, 0]) if len(line) > 1]
        return "K" if len(steps) < 2 or steps[0] <= steps[1] else "MN"

    def fit(self, major: Major, name: SwizzleName, template: CanonicalLayout | None = None) -> Fit:
        """The best descriptor of this geometry, with the LBO and SBO of `template` when there is one.

        Otherwise strides come from the first element that feels each; one that no descriptor field can hold is rounded
        to one that can, so that the walk fails at the element that needed it.
        """
        mode = SWIZZLE_MODES[name]
        found = mode.on_bits.inverse(self.address)
        walk = Walk.of(major, mode, self.shape, self.container_bits)
        start = _start(int(found[0, 0]), mode, major)
        problems: tuple[str, ...] = ()
        if template is None:
            raw_mn = _raw_stride(found[:, 0] - start, walk.outer_mn)
            raw_k = _raw_stride(found[0, :] - start, walk.outer_k)
            raw = (raw_mn, raw_k) if walk.traded else (raw_k, raw_mn)
            lbo, sbo = (None if bits is None else _encodable(bits, 16) // 8 for bits in raw)
            problems = tuple(
                f"{field} would be {byte_count(bits)} bytes, expected a multiple of 16 from 0 to {ADDRESS_BYTES - 16}, "
                f"nearest {_encodable(bits, 16) // 8}"
                for field, bits in zip(("LBO", "SBO"), raw, strict=True)
                if bits is not None and bits != _encodable(bits, 16)
            )
        else:
            lbo, sbo = template.lbo, template.sbo
        wanted = walk.unswizzled(start, lbo or 0, sbo or 0)
        canonical = self._canonical(walk, start, lbo, sbo)
        return self._fit(canonical, mode, wanted, walk.past_row(start), found, problems)

    def compact(self, fitted: Fit, *, only_problems: bool = False) -> Fit:
        """A fit with the strides of a tile without gaps, for a suggestion.

        `only_problems`: a single stride that no field holds steps over all repeats of the other one, which stays.
        """
        canonical = fitted.canonical
        walk = Walk.of(canonical.major, SWIZZLE_MODES[canonical.swizzle], self.shape, self.container_bits)
        lbo, sbo = _compact_strides(walk, self.shape)
        if only_problems:
            repeats = {"mn": int(walk.outer_mn[-1]) + 1, "k": int(walk.outer_k[-1]) + 1}
            lbo_repeats, sbo_repeats = repeats["mn" if walk.traded else "k"], repeats["k" if walk.traded else "mn"]
            match [problem.partition(" ")[0] for problem in fitted.problems]:
                case ["SBO"] if canonical.lbo is not None:
                    lbo, sbo = canonical.lbo, canonical.lbo * lbo_repeats
                case ["LBO"] if canonical.sbo is not None:
                    lbo, sbo = canonical.sbo * sbo_repeats, canonical.sbo
                case _:
                    pass
        fit = self.fit(canonical.major, canonical.swizzle, self._canonical(walk, 0, lbo, sbo))
        return replace(fit, problems=fitted.problems)

    def absolute(self, template: CanonicalLayout) -> Fit | None:
        """The best descriptor in absolute LBO mode with the SBO of `template`, None where that mode reads nothing."""
        k_bytes = self.shape[1] * self.container_bits // 8
        if (template.major, template.swizzle, k_bytes) != ("K", ABSOLUTE_LBO_SWIZZLE, ABSOLUTE_LBO_BYTES):
            return None
        mode = SWIZZLE_MODES[template.swizzle]
        found = mode.on_bits.inverse(self.address)
        walk = Walk.of(template.major, mode, self.shape, self.container_bits)
        start = _start(int(found[0, 0]), mode, template.major)
        past = walk.past_row(start)
        if not past.any():
            return None
        period = mode.period_bytes * 8
        second = round(int(found[0, int(np.argmax(past[0]))]) / period) * period
        wanted = walk.absolute(start, second, template.sbo or 0)
        canonical = self._canonical(walk, start, second // 8, template.sbo)
        fit = self._fit(replace(canonical, lbo_absolute=True), mode, wanted, np.zeros_like(past), found, ())
        return fit if second < ADDRESS_BYTES * 8 else None

    def _canonical(self, walk: Walk, start: int, lbo: int | None, sbo: int | None) -> CanonicalLayout:
        return CanonicalLayout(
            walk.major,
            walk.mode.name,
            t=ATOM_BITS // self.container_bits,
            m=walk.repeats_mn,
            k=walk.repeats_k,
            lbo=lbo,
            sbo=sbo,
            start=start // 8,
        )

    def _fit(
        self,
        canonical: CanonicalLayout,
        mode: SwizzleMode,
        wanted: BitAddresses,
        past: NDArray[np.bool_],
        found: BitAddresses,
        problems: tuple[str, ...],
    ) -> Fit:
        return Fit(
            canonical,
            legal=mode.name in legal_modes(self.element, canonical.major, self.family),
            wanted=mode.on_bits.apply(wanted),
            past=past,
            exact=bool((wanted == found).all()),
            matches=int(np.count_nonzero((wanted == found) & ~past)),
            plain_matches=int(np.count_nonzero((wanted == self.address) & ~past)),
            problems=problems,
        )

    def slice(self, rows: slice, columns: slice) -> Operand:
        """A part of the operand."""
        return replace(self, address=self.address[rows, columns])

    def steps(self, k_instr: int) -> list[Operand]:
        """The operands of the instructions along K, each `k_instr` columns wide."""
        return [self.slice(slice(None), slice(k0, k0 + k_instr)) for k0 in range(0, self.shape[1], k_instr)]


def _compact_strides(walk: Walk, shape: Shape) -> tuple[int | None, int | None]:
    """LBO and SBO in bytes when the pattern repeats without gaps, as `operand_tile` puts it."""
    row, rows = walk.mode.row_bytes, CORE_ROWS if walk.major == "K" else walk.mode.rows
    if walk.major == "K":
        stride_mn, stride_k = rows * row, -(-shape[0] // rows) * rows * row
    else:
        stride_mn, stride_k = -(-shape[1] // rows) * rows * row, rows * row
    mn = stride_mn if walk.repeats_mn > 1 else None
    k = stride_k if int(walk.outer_k[-1]) else None
    return (mn, k) if walk.traded else (k, mn)


def _raw_stride(line: BitAddresses, outer: BitAddresses) -> int | None:
    """Bits from the first repeat to the second along one dimension; None when there is only one repeat."""
    second = int(np.searchsorted(outer, 1))
    return None if second == len(outer) else int(line[second])


def _encodable(bits: int, atom_bytes: int) -> int:
    """The nearest byte quantity that an 18-bit descriptor field can hold, in bits."""
    unit = atom_bytes * 8
    return min(max(round(bits / unit), 0) * unit, ADDRESS_BYTES * 8 - unit)


def _start(bits: int, mode: SwizzleMode, major: Major) -> int:
    """The nearest start address of a walk, in bits: a whole atom, and where `SwizzleMode.start_bytes` allows it."""
    start = _encodable(bits, mode.atom_bytes)
    return start - start % (mode.period_bytes * 8) + start % (mode.start_bytes(major) * 8)


def byte_count(bits: int) -> float:
    """Bits as bytes, a whole number where they are one."""
    return bits // 8 if bits % 8 == 0 else bits / 8
