"""Is this shared-memory layout one that tcgen05.mma can read, and with which descriptor?

The test is semantic: a layout is canonical when some major-ness, swizzle mode, LBO and SBO make the hardware's address
walk (`tirx.tcgen05.walk`) find every element where the layout puts it. How the layout is written plays no role.
Source: PTX ISA "Canonical layouts", "Strides", "Shared memory descriptor" (seed 9.7.16.3).

The XOR of a swizzle acts on absolute address bits. Addresses here are relative to a tile base aligned to the period of
that XOR, so that relative and absolute bits agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tirx.layout import ComposeLayout
from tirx.tcgen05.canonical_form import CanonicalLayout, OperandLayout, OperandSlice, attribute_text
from tirx.tcgen05.dtypes import DType, find_dtype
from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.operand_tile import operand_tiles
from tirx.tcgen05.smem_descriptor import ABSOLUTE_LBO_BYTES, ABSOLUTE_LBO_SWIZZLE, ADDRESS_BYTES
from tirx.tcgen05.swizzle_modes import (
    GEOMETRIES,
    MAJORS,
    SWIZZLE_MODES,
    BitAddresses,
    Major,
    SwizzleMode,
    SwizzleName,
    legal_modes,
)
from tirx.tcgen05.walk import ATOM_BITS, CORE_ROWS, Shape, Walk


@dataclass(frozen=True)
class _Fit:
    """How well a geometry explains a table of addresses.

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
        """Whether one instruction reads all of it."""
        return self.exact and not self.past.any()

    @property
    def only_swizzle_missing(self) -> bool:
        return self.plain_matches == self.wanted.size and not self.exact

    @property
    def score(self) -> int:
        return self.matches + self.plain_matches

    def layout(self, shape: Shape) -> OperandLayout | None:
        """The fitted layout as one to suggest: None where it has no text or would put two elements in one place."""
        mode = SWIZZLE_MODES[self.canonical.swizzle]
        strides = [x for x in (self.canonical.lbo, self.canonical.sbo) if x is not None]
        if self.past.any() or (mode.swizzled and any(x % mode.period_bytes for x in strides)):
            return None
        if len(np.unique(self.wanted)) != self.wanted.size:
            return None
        return self.canonical.layout(shape)


@dataclass(frozen=True)
class _Operand:
    """An operand with the facts that every geometry needs; `address` is the bit address of each element, [MN, K]."""

    address: BitAddresses
    element: DType
    container_bits: int

    @property
    def shape(self) -> Shape:
        return self.address.shape[0], self.address.shape[1]

    def fit(self, major: Major, name: SwizzleName, template: CanonicalLayout | None = None) -> _Fit:
        """The best descriptor of this geometry, with the LBO and SBO of `template` when there is one.

        Otherwise strides come from the first element that feels each; one that no descriptor field can hold is rounded
        to one that can, so that the walk fails at the element that needed it.
        """
        mode = SWIZZLE_MODES[name]
        found = mode.on_bits.inverse(self.address)
        walk = Walk.of(major, mode, self.shape, self.container_bits)
        start = _start(int(found[0, 0]), mode)
        problems: tuple[str, ...] = ()
        if template is None:
            raw_mn = _raw_stride(found[:, 0] - start, walk.outer_mn)
            raw_k = _raw_stride(found[0, :] - start, walk.outer_k)
            raw = (raw_mn, raw_k) if walk.traded else (raw_k, raw_mn)
            lbo, sbo = (None if bits is None else _encodable(bits, 16) // 8 for bits in raw)
            problems = tuple(
                f"{field} would be {_bytes(bits)} bytes, expected a multiple of 16 from 0 to {ADDRESS_BYTES - 16}, "
                f"nearest {_encodable(bits, 16) // 8}"
                for field, bits in zip(("LBO", "SBO"), raw, strict=True)
                if bits is not None and bits != _encodable(bits, 16)
            )
        else:
            lbo, sbo = template.lbo, template.sbo
        wanted = walk.unswizzled(start, lbo or 0, sbo or 0)
        canonical = self._canonical(walk, start, lbo, sbo)
        return self._fit(canonical, mode, wanted, walk.past_row(start), found, problems)

    def compact(self, major: Major, name: SwizzleName) -> _Fit:
        """The same geometry with the strides of a tile without gaps, for a suggestion."""
        walk = Walk.of(major, SWIZZLE_MODES[name], self.shape, self.container_bits)
        lbo, sbo = _compact_strides(walk, self.shape)
        return self.fit(major, name, self._canonical(walk, 0, lbo, sbo))

    def absolute(self, template: CanonicalLayout) -> _Fit | None:
        """The best descriptor in absolute LBO mode with the SBO of `template`, None where that mode reads nothing."""
        k_bytes = self.shape[1] * self.container_bits // 8
        if (template.major, template.swizzle, k_bytes) != ("K", ABSOLUTE_LBO_SWIZZLE, ABSOLUTE_LBO_BYTES):
            return None
        mode = SWIZZLE_MODES[template.swizzle]
        found = mode.on_bits.inverse(self.address)
        walk = Walk.of(template.major, mode, self.shape, self.container_bits)
        start = _start(int(found[0, 0]), mode)
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
    ) -> _Fit:
        return _Fit(
            canonical,
            legal=mode.name in legal_modes(self.element, canonical.major),
            wanted=mode.on_bits.apply(wanted),
            past=past,
            exact=bool((wanted == found).all()),
            matches=int(np.count_nonzero((wanted == found) & ~past)),
            plain_matches=int(np.count_nonzero((wanted == self.address) & ~past)),
            problems=problems,
        )

    def slice(self, rows: slice, columns: slice) -> _Operand:
        """The part of the operand that one instruction reads."""
        return replace(self, address=self.address[rows, columns])


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


def _start(bits: int, mode: SwizzleMode) -> int:
    """The nearest start address of a walk, in bits: a whole atom, and in row 0 of the swizzle pattern.

    Starting in another row would need a matrix base offset, which tirx always leaves 0.
    """
    start = _encodable(bits, mode.atom_bytes)
    return start - start % (mode.period_bytes * 8) + start % (mode.row_bytes * 8)


def _operand(layout: OperandLayout, shape: Shape, dtype: str | DType, container_bits: int | None) -> _Operand:
    """Checks what does not depend on a geometry, and computes every address."""
    element = find_dtype(dtype)
    modes = [name for major in MAJORS for name in legal_modes(element, major)]
    if not modes:
        raise LegalityError(f"{element.name} has no shared-memory layout")
    container = element.storage_bits if container_bits is None else container_bits
    if container not in {element.storage_bits, 8 if element.bits < 8 else element.storage_bits}:
        raise LegalityError(f"{element.name}: expected a container of {element.storage_bits} bits, got {container}")
    mn, k = shape
    if mn < 1:
        raise LegalityError(f"expected a positive MN, got {mn}")
    columns = ATOM_BITS // container  # of 16 bytes
    if k < 1 or k % columns:
        raise LegalityError(
            f"expected K in steps of {columns} elements of {element.name} (16 bytes), got {k}; "
            f"nearest is {max(columns, round(k / columns) * columns)}"
        )
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    if tile.replica:
        raise LegalityError("expected one copy of every element in shared memory, got a layout with replicas")
    table = layout.table(shape)
    if others := sorted(set(table) - {"m"}):
        raise LegalityError(f"expected a shared-memory layout, on axis m only, got axis {', '.join(others)}")
    return _Operand(np.asarray(table["m"], dtype=np.int64) * container, element, container)


def _check_range(operand: _Operand, origin: Shape, what: str) -> None:
    """Every element of a layout that fits must lie where an 18-bit address reaches."""
    outside = np.argwhere((operand.address < 0) | (operand.address >= ADDRESS_BYTES * 8))
    if len(outside):
        row, column = (int(x) for x in outside[0])
        element, found = (origin[0] + row, origin[1] + column), _bytes(int(operand.address[row, column]))
        raise LegalityError(
            f"{what}: expected every element from byte 0 to {ADDRESS_BYTES - 1} of shared memory, which descriptors "
            f"address in 18 bits, and element {element} is at byte {found}",
            element=element,
            found=found,
        )


def _bytes(bits: int) -> float:
    return bits // 8 if bits % 8 == 0 else bits / 8


def _forbidden(fits: Sequence[_Fit], element: DType, what: str) -> LegalityError | None:
    """The error about a layout that has a descriptor, which the hardware does not read for this element type."""
    fit = next((fit for fit in fits if fit.exact and not fit.legal), None)
    if fit is None:
        return None
    legal = {x: legal_modes(element, x) for x in MAJORS}
    allowed = "; ".join(f"{x}-major {', '.join(names) or 'not at all'}" for x, names in legal.items())
    return LegalityError(
        f"{what} is {fit.canonical.major}-major with swizzle {fit.canonical.swizzle}, which the hardware does not read "
        f"for {element.name}: expected {allowed}",
        nearest=fit.canonical,
    )


def _misfit(best: _Fit, operand: _Operand, origin: Shape, what: str, suggestion: OperandLayout | None) -> LegalityError:
    """Explains why a layout does not fit; `origin` is the logical coordinate of the operand's first element."""
    row, column = (int(x) for x in np.argwhere((best.wanted != operand.address) | best.past)[0])
    element = (origin[0] + row, origin[1] + column)
    found = _bytes(int(operand.address[row, column]))
    mode = SWIZZLE_MODES[best.canonical.swizzle]
    expected = None if best.past[row, column] else _bytes(int(best.wanted[row, column]))
    if expected is None:
        problem = (
            f"element {element}, at byte {found} of the tile, is past the {mode.row_bytes}-byte row of the swizzle "
            "that one descriptor reads"
        )
    else:
        problem = f"element {element} is expected at byte {expected} of the tile and is at byte {found}"
    hints = ", of which only the swizzle is missing" if best.only_swizzle_missing else ""
    hints += "".join(f"; {each}" for each in best.problems)
    hints += "" if suggestion is None else f"; write {attribute_text(suggestion)}"
    return LegalityError(
        f"{what} is not canonical: {problem}; nearest canonical layout is {best.canonical}{hints}",
        element=element,
        expected=expected,
        found=found,
        nearest=best.canonical,
        suggestion=suggestion,
    )


def _nearest(operand: _Operand, fits: Sequence[_Fit]) -> tuple[_Fit, OperandLayout | None]:
    """The legal descriptor that explains most elements, and the layout that it describes.

    Each geometry counts with the strides that the layout seems to have, and with those of a tile without gaps.
    """
    legal = [fit for fit in fits if fit.legal]
    tried: list[tuple[_Fit, OperandLayout]] = []
    for fitted in legal:
        compact = operand.compact(fitted.canonical.major, fitted.canonical.swizzle)
        for fit in (fitted, replace(compact, problems=fitted.problems)):
            if (layout := fit.layout(operand.shape)) is not None:
                tried.append((fit, layout))
    if tried:
        return max(tried, key=lambda each: each[0].score)
    return max(legal, key=lambda fit: fit.score), None


def canonical_layout(
    layout: OperandLayout, shape: Shape, dtype: str | DType = "f16", *, container_bits: int | None = None
) -> CanonicalLayout:
    """The canonical layout that `layout` is, for an operand of `shape` (MN, K) elements read by one descriptor.

    The layout maps a coordinate to axis `m`, an element address relative to a tile base aligned to the swizzle.
    `container_bits`: 8 for e2m1 in kind::f8f6f4 and mxf8f6f4, where it is padded to a byte; by default it is packed.
    A tile wider than one instruction along K may need one start address per step: see `operand_slices`. A K-major
    swizzled layout whose rows run on into each other, as in the ISA's figure for tf32 with 32-byte swizzle, is
    canonical; `operand_slices` says what one instruction reads of it.

    Raises LegalityError when no descriptor reads the operand, with the first element that does not fit and the nearest
    layout that does.
    """
    if (mn := shape[0]) % CORE_ROWS:
        raise LegalityError(f"expected MN in steps of 8, got {mn}; nearest is {max(8, round(mn / 8) * 8)}")
    operand = _operand(layout, shape, dtype, container_bits)
    fits: list[_Fit] = []
    for geometry in GEOMETRIES:
        fit = operand.fit(*geometry)
        if fit.exact and fit.legal:
            _check_range(operand, (0, 0), "the layout")
            return fit.canonical
        fits.append(fit)
    if forbidden := _forbidden(fits, operand.element, "the layout"):
        raise forbidden
    best, suggestion = _nearest(operand, fits)
    raise _misfit(best, operand, (0, 0), "the layout", suggestion)


def operand_slices(
    layout: OperandLayout,
    shape: Shape,
    dtype: str | DType,
    k_instr: int,
    *,
    rows: tuple[int, int] | None = None,
    container_bits: int | None = None,
    absolute_lbo: bool = False,
) -> tuple[OperandSlice, ...]:
    """How instructions of `k_instr` elements of K read an operand tile of `shape` (MN, K), one slice per K step.

    All slices agree on major-ness, swizzle, LBO and SBO, so that one descriptor serves all of them: slice i is read
    with start address tile base + `offset_bytes`. `rows`: read only MN elements [first, last) of the tile. The tile may
    end inside a group of 8 rows, as B does when it is read shifted (zero-column mask): nothing reads the rest.

    `absolute_lbo`: the target has the absolute LBO mode (`ABSOLUTE_LBO_TARGETS`). Then a slice of 48 bytes of K may
    cross from one 128-byte row of the swizzle to the next one; such a slice has a descriptor of its own.

    Raises LegalityError when K is no multiple of `k_instr`, or when no such descriptor exists, naming the element and
    the nearest layout of the whole tile that has one.
    """
    mn, k = shape
    if k_instr < 1 or k % k_instr:
        raise LegalityError(f"expected K in steps of {k_instr} elements, one per instruction, got {k}")
    first, last = rows or (0, mn)
    if not 0 <= first < last <= mn or first % 8 or (last != mn and last % 8):
        raise LegalityError(f"expected rows [first, last) within [0, {mn}) in steps of 8, got [{first}, {last})")
    operand = _operand(layout, shape, dtype, container_bits)
    columns = ATOM_BITS // operand.container_bits
    if k_instr % columns:
        raise LegalityError(f"expected instructions of K in steps of {columns} elements (16 bytes), got {k_instr}")
    parts = [operand.slice(slice(first, last), slice(k0, k0 + k_instr)) for k0 in range(0, k, k_instr)]
    fits = [parts[0].fit(*geometry) for geometry in GEOMETRIES]
    candidates = [replace(fit.canonical, start=0) for fit in fits if fit.legal and (fit.readable or absolute_lbo)]
    read = [_read(parts, candidate, absolute_lbo) for candidate in candidates]
    for good, bad in read:
        if bad is None:
            _check_range(operand.slice(slice(first, last), slice(0, k)), (first, 0), "the layout")
            return tuple(OperandSlice(fit.canonical.start, replace(fit.canonical, start=0)) for fit in good)
    furthest = max(read, key=lambda each: len(each[0])) if read else None
    step = 0 if furthest is None else len(furthest[0])
    part, origin, what = parts[step], (first, step * k_instr), _slice_name(step, k_instr)
    bad = None if step == 0 or furthest is None else furthest[1]
    if bad is None:
        if forbidden := _forbidden(fits, operand.element, what):
            raise forbidden
        bad, _ = _nearest(part, fits)
    raise _misfit(bad, part, origin, what, _whole_tile(operand, k_instr, bad.canonical, absolute_lbo))


def _whole_tile(operand: _Operand, k_instr: int, near: CanonicalLayout, absolute_lbo: bool) -> OperandLayout | None:
    """A layout of the whole tile that instructions of `k_instr` read, as close to `near` as there is one."""
    layouts = operand_tiles(operand.shape, operand.element, operand.container_bits)
    layouts.sort(key=lambda each: (each.major != near.major, each.swizzle != near.swizzle, each.padding_bytes))
    for each in layouts:
        address = np.asarray(each.layout.table(operand.shape)["m"], dtype=np.int64) * operand.container_bits
        whole = replace(operand, address=address)
        parts = [whole.slice(slice(None), slice(k0, k0 + k_instr)) for k0 in range(0, operand.shape[1], k_instr)]
        template = parts[0].fit(each.major, each.swizzle).canonical
        if _read(parts, template, absolute_lbo)[1] is None:
            return each.layout
    return None


def _slice_name(step: int, k_instr: int) -> str:
    return f"the layout of K elements [{step * k_instr}, {(step + 1) * k_instr})"


def _read(parts: Sequence[_Operand], template: CanonicalLayout, absolute_lbo: bool) -> tuple[list[_Fit], _Fit | None]:
    """Reads the parts one after the other with the strides of one descriptor, up to the first that it cannot read."""
    good: list[_Fit] = []
    for part in parts:
        fit = part.fit(template.major, template.swizzle, template)
        if not fit.readable and absolute_lbo and (crossing := part.absolute(template)) is not None:
            fit = crossing
        if not fit.readable:
            return good, fit
        good.append(fit)
    return good, None
