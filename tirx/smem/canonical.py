"""Is this shared-memory layout one that a matrix descriptor can name, and with which fields?

The test is semantic: a layout is canonical when some major-ness, swizzle mode, LBO and SBO make the hardware's address
walk (`tirx.smem.walk`) find every element where the layout puts it. How the layout is written plays no role.
Source: PTX ISA "Canonical layouts", "Strides", "Shared memory descriptor" (seed 9.7.16.3).

The XOR of a swizzle acts on absolute address bits. Addresses here are relative to a tile base aligned to the period of
that XOR, so that relative and absolute bits agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import LegalityError, OperandLayoutError, expect_steps
from tirx.hw.features import supporting_targets
from tirx.layout import ComposeLayout, SwizzleLayout
from tirx.layout.arrays import np
from tirx.layout.caching import bounded_cache
from tirx.smem.canonical_form import CanonicalLayout, CanonicalLayoutError, OperandLayout, OperandSlice, attribute_text
from tirx.smem.operand_fit import Fit, Operand
from tirx.smem.operand_tile import OperandTile, operand_tiles
from tirx.smem.smem_descriptor import ABSOLUTE_LBO, ADDRESS_BYTES
from tirx.smem.swizzle_modes import GEOMETRIES, MAJORS, SWIZZLE_MODES, TCGEN05_OPERANDS, OperandFamily, legal_modes
from tirx.smem.walk import ATOM_BITS, CORE_ROWS, Shape


def _checked_shape(shape: Sequence[int]) -> Shape:
    """The shape as (MN, K). Raises LegalityError for another rank."""
    if len(shape) != 2:
        raise OperandLayoutError(f"expected an operand of shape (MN, K), found rank {len(shape)}: {tuple(shape)}")
    return shape[0], shape[1]


def _operand(
    layout: OperandLayout, shape: Shape, dtype: str | DType, container_bits: int | None, family: OperandFamily
) -> Operand:
    """Checks what does not depend on a geometry, and computes every address."""
    element = find_dtype(dtype)
    modes = [name for major in MAJORS for name in legal_modes(element, major, family)]
    assert modes, element.name
    container = element.storage_bits if container_bits is None else container_bits
    if container not in {element.storage_bits, max(8, element.storage_bits)}:
        raise OperandLayoutError(
            f"{element.name}: expected a container of {element.storage_bits} bits, found {container}"
        )
    mn, k = shape
    if mn < 1:
        raise OperandLayoutError(f"expected a positive MN, found {mn}")
    columns = ATOM_BITS // container  # of 16 bytes
    expect_steps(OperandLayoutError, "expected K", k, columns, f" elements of {element.name} (16 bytes)")
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    if tile.replica:
        raise OperandLayoutError("expected one copy of every element in shared memory, found a layout with replicas")
    table = layout.table(shape)
    if others := sorted(set(table) - {"m"}):
        raise OperandLayoutError(f"expected a shared-memory layout, on axis m only, found axis {', '.join(others)}")
    return Operand(np.asarray(table["m"], dtype=np.int64) * container, element, container, family)


def _check_range(operand: Operand, first: int = 0) -> None:
    """Every element of a layout that fits must lie where an 18-bit address reaches; `first`: its first row."""
    outside = np.argwhere((operand.address < 0) | (operand.address >= ADDRESS_BYTES * 8))
    if len(outside):
        row, column = (int(x) for x in outside[0])
        element, found = (first + row, column), operand.byte(int(operand.address[row, column]))
        raise OperandLayoutError(
            f"the layout: expected every element from byte 0 to {ADDRESS_BYTES - 1} of shared memory, which "
            f"descriptors address in 18 bits, and element {element} is at byte {found}",
            element=element,
            found=found,
        )


def _forbidden(fits: Sequence[Fit], operand: Operand, what: str) -> LegalityError | None:
    """The error about a layout that has a descriptor, which the hardware does not read for this element type."""
    fit = next((fit for fit in fits if fit.exact and not fit.legal), None)
    if fit is None:
        return None
    legal = {x: legal_modes(operand.element, x, operand.family) for x in MAJORS}
    allowed = "; ".join(f"{x}-major {', '.join(names) or 'not at all'}" for x, names in legal.items())
    return CanonicalLayoutError(
        f"{what} is {fit.canonical.major}-major with swizzle {fit.canonical.swizzle}, which the hardware does not read "
        f"for {operand.element.name}: expected {allowed}",
        nearest=fit.canonical,
    )


def _misfit(
    best: Fit, operand: Operand, origin: Shape, what: str, suggestion: OperandLayout | None, hint: str = ""
) -> LegalityError:
    """Explains why a layout does not fit; `origin` is the logical coordinate of the operand's first element."""
    row, column = (int(x) for x in np.argwhere((best.wanted != operand.address) | best.past)[0])
    element = (origin[0] + row, origin[1] + column)
    found = operand.byte(int(operand.address[row, column]))
    mode = SWIZZLE_MODES[best.canonical.swizzle]
    expected = None if best.past[row, column] else operand.byte(int(best.wanted[row, column]))
    if expected is None:
        problem = (
            f"element {element}, at byte {found} of the tile, is past the {mode.row_bytes}-byte row of the swizzle "
            "that one descriptor reads"
        )
    else:
        problem = f"element {element} is expected at byte {expected} of the tile and is at byte {found}"
    hints = ", of which only the swizzle is missing" if best.only_swizzle_missing else ""
    hints += "".join(f"; {each}" for each in best.problems)
    hints += hint
    hints += "" if suggestion is None else f"; write {attribute_text(suggestion)}"
    return CanonicalLayoutError(
        f"{what} is not canonical: {problem}; nearest canonical layout is {best.canonical}{hints}",
        element=element,
        expected=expected,
        found=found,
        nearest=best.canonical,
        suggestion=suggestion,
    )


def _likeness(score: int, operand: Operand) -> int:
    """A score as far as it tells something: the few places that two layouts share by chance do not."""
    return score * (2 * score >= operand.address.size)


def _nearest(operand: Operand, fits: Sequence[Fit]) -> tuple[Fit, OperandLayout | None]:
    """The legal descriptor that explains most elements, and the layout that it describes.

    Each geometry counts with the strides that the layout seems to have, as far as fields hold them, and with those of a
    tile without gaps. The dimension that is contiguous stays so where the element type allows it; where none explains
    much, less room counts, then the widest swizzle.
    """
    legal = [fit for fit in fits if fit.legal]
    tried: list[tuple[Fit, OperandLayout]] = []
    for fitted in legal:
        others = operand.compact(fitted, only_problems=True), operand.compact(fitted)
        for fit in (fitted, *others):
            if (layout := fit.layout(operand.shape)) is not None:
                tried.append((fit, layout))
    if tried:
        return max(
            tried,
            key=lambda each: (
                each[0].canonical.major == operand.contiguous,
                _likeness(each[0].score, operand),
                -int(each[0].wanted.max()),
                SWIZZLE_MODES[each[0].canonical.swizzle].row_bytes,
                each[0].score,
            ),
        )
    return max(legal, key=lambda fit: fit.score), None


def _readable_in_steps(operand: Operand, fits: Sequence[Fit]) -> LegalityError | None:
    """The error about a layout that only needs one descriptor per K step."""
    for fit in fits:
        past = np.argwhere(fit.past)
        if not fit.legal or not len(past):
            continue
        columns = SWIZZLE_MODES[fit.canonical.swizzle].row_bytes * 8 // operand.container_bits
        parts = operand.steps(columns)
        if len({part.shape for part in parts}) == 1 and _read(parts, fit.canonical)[1] is None:
            row, column = (int(x) for x in past[0])
            return CanonicalLayoutError(
                f"the layout has one descriptor for every {columns} elements of K, not one for all {operand.shape[1]}: "
                f"element {(row, column)} is past the row of swizzle {fit.canonical.swizzle}; read it in K steps with "
                "operand_slices",
                element=(row, column),
                found=operand.byte(int(operand.address[row, column])),
                nearest=parts[0].fit(fit.canonical.major, fit.canonical.swizzle, fit.canonical).canonical,
            )
    return None


def canonical_layout(
    layout: OperandLayout,
    shape: Shape,
    dtype: str | DType = "f16",
    *,
    container_bits: int | None = None,
    family: OperandFamily = TCGEN05_OPERANDS,
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
    shape = _checked_shape(shape)
    if (mn := shape[0]) % CORE_ROWS:
        raise OperandLayoutError(f"expected MN in steps of 8, found {mn}; nearest is {max(8, round(mn / 8) * 8)}")
    operand = _operand(layout, shape, dtype, container_bits, family)
    fits: list[Fit] = []
    for geometry in GEOMETRIES:
        fit = operand.fit(*geometry)
        if fit.exact and fit.legal:
            _check_range(operand)
            return fit.canonical
        fits.append(fit)
    if forbidden := _forbidden(fits, operand, "the layout"):
        raise forbidden
    if in_steps := _readable_in_steps(operand, fits):
        raise in_steps
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
    family: OperandFamily = TCGEN05_OPERANDS,
) -> tuple[OperandSlice, ...]:
    """The slices of an operand tile of `shape` (MN, K) that instructions of `k_instr` elements of K read, one a K step.

    All slices agree on major-ness, swizzle, LBO and SBO, so that one descriptor serves all of them: slice i is read
    with start address tile base + `offset_bytes`. `rows`: read only MN elements [first, last) of the tile. The tile may
    end inside a group of 8 rows, as B does when it is read shifted (zero-column mask): nothing reads the rest.

    `absolute_lbo`: the target has the absolute LBO mode (`ABSOLUTE_LBO`). Then a slice of 48 bytes of K may
    cross from one 128-byte row of the swizzle to the next one; such a slice has a descriptor of its own.

    Raises LegalityError when K is no multiple of `k_instr`, or when no such descriptor exists, naming the element and
    the nearest layout of the whole tile that has one.
    """
    return _slices(layout, _checked_shape(shape), dtype, k_instr, rows, container_bits, absolute_lbo, family)


def _checked_rows(shape: Shape, k_instr: int, rows: tuple[int, int] | None) -> tuple[int, int]:
    """Returns the first row and the one behind the last. Raises OperandLayoutError for steps of other sizes."""
    mn, k = shape
    if k_instr < 1 or k % k_instr:
        raise OperandLayoutError(f"expected K in steps of {k_instr} elements, one per instruction, found {k}")
    first, last = rows or (0, mn)
    if not 0 <= first < last <= mn or first % 8 or (last != mn and last % 8):
        raise OperandLayoutError(f"expected rows [first, last) within [0, {mn}) in steps of 8, found [{first}, {last})")
    return first, last


@bounded_cache
def _slices(
    layout: OperandLayout,
    shape: Shape,
    dtype: str | DType,
    k_instr: int,
    rows: tuple[int, int] | None,
    container_bits: int | None,
    absolute_lbo: bool,
    family: OperandFamily,
) -> tuple[OperandSlice, ...]:
    first, last = _checked_rows(shape, k_instr, rows)
    operand = _operand(layout, shape, dtype, container_bits, family)
    columns = ATOM_BITS // operand.container_bits
    if k_instr % columns:
        raise OperandLayoutError(
            f"expected instructions of K in steps of {columns} elements (16 bytes), found {k_instr}"
        )
    selected = operand.slice(slice(first, last), slice(None))
    parts = selected.steps(k_instr)
    fits: list[Fit] = []
    read: list[tuple[list[Fit], Fit | None]] = []
    for geometry in GEOMETRIES:
        fits.append(fit := parts[0].fit(*geometry))
        if fit.legal and (fit.readable or absolute_lbo):
            good, bad = _read(parts, replace(fit.canonical, start=0), absolute_lbo)
            if bad is None:
                _check_range(selected, first)
                return tuple(OperandSlice(each.canonical.start, replace(each.canonical, start=0)) for each in good)
            read.append((good, bad))
    furthest = max(read, key=lambda each: len(each[0])) if read else None
    suggestion = _swizzled(layout, operand, k_instr, fits) or _whole_tile(operand, k_instr, absolute_lbo)
    if furthest is not None and furthest[0] and furthest[1] is not None:
        step, bad = len(furthest[0]), furthest[1]
        hint = _absolute_hint(parts[step], bad.canonical)
    else:
        step, hint = 0, ""
        if forbidden := _forbidden(fits, operand, _slice_name(step, k_instr)):
            raise forbidden
        bad = _nearest(parts[step], fits)[0] if suggestion is None else _unlike(parts[step], fits, suggestion[1])
    whole = None if suggestion is None else suggestion[0]
    raise _misfit(bad, parts[step], (first, step * k_instr), _slice_name(step, k_instr), whole, hint)


def _unlike(part: Operand, fits: Sequence[Fit], suggested: CanonicalLayout) -> Fit:
    """The fit of an unreadable slice to a suggested layout."""
    fit = part.fit(suggested.major, suggested.swizzle, suggested)
    fitted = next(x for x in fits if (x.canonical.major, x.canonical.swizzle) == (suggested.major, suggested.swizzle))
    return replace(fit, problems=fitted.problems)


def _absolute_hint(part: Operand, template: CanonicalLayout) -> str:
    """Says so where the absolute LBO mode would read the part."""
    crossing = part.absolute(template)
    if crossing is None or not crossing.readable:
        return ""
    return f"; in absolute LBO mode ({', '.join(supporting_targets(ABSOLUTE_LBO))}), one descriptor reads it"


def _swizzled(
    layout: OperandLayout, operand: Operand, k_instr: int, fits: Sequence[Fit]
) -> tuple[OperandLayout, CanonicalLayout] | None:
    """The same tile after the swizzle that it lacks, with the descriptor of its first slice, where that is all."""
    if isinstance(layout, ComposeLayout) and not layout.swizzle.is_identity:
        return None
    for fit in fits:
        if fit.legal and fit.only_swizzle_missing and not fit.past.any():
            mode = SWIZZLE_MODES[fit.canonical.swizzle]
            parts = replace(operand, address=mode.on_bits.apply(operand.address)).steps(k_instr)
            if _read(parts, fit.canonical)[1] is None:
                tile = layout.tile if isinstance(layout, ComposeLayout) else layout
                swizzle = SwizzleLayout.for_bits(operand.container_bits, mode.name)
                return ComposeLayout(swizzle, tile), fit.canonical
    return None


def _whole_tile(operand: Operand, k_instr: int, absolute_lbo: bool) -> tuple[OperandLayout, CanonicalLayout] | None:
    """The layout of the whole tile nearest to that of `operand` which instructions of `k_instr` read.

    It comes with the descriptor of its first slice. The contiguous dimension stays where it may; then the layout with
    most elements in their places wins, with the swizzle or before it; of equals the one with less padding, then the
    widest swizzle.
    """
    ranked: list[tuple[tuple[bool, int, int, int], OperandTile, list[Operand]]] = []
    for tile in operand_tiles(operand.shape, operand.element, operand.container_bits, operand.family):
        address = np.asarray(tile.layout.table(operand.shape)["m"], dtype=np.int64) * operand.container_bits
        plain = SWIZZLE_MODES[tile.swizzle].on_bits.inverse(address)
        score = np.count_nonzero(address == operand.address) + np.count_nonzero(plain == operand.address)
        row_bytes = SWIZZLE_MODES[tile.swizzle].row_bytes
        rank = (
            tile.major == operand.contiguous,
            _likeness(int(score), operand),
            -tile.padding_bytes,
            row_bytes,
        )
        ranked.append((rank, tile, replace(operand, address=address).steps(k_instr)))
    for _, tile, parts in sorted(ranked, key=lambda each: each[0], reverse=True):
        template = parts[0].fit(tile.major, tile.swizzle).canonical
        if _read(parts, template, absolute_lbo)[1] is None:
            return tile.layout, template
    return None


def _slice_name(step: int, k_instr: int) -> str:
    return f"the layout of K elements [{step * k_instr}, {(step + 1) * k_instr})"


def _read(
    parts: Sequence[Operand], template: CanonicalLayout, absolute_lbo: bool = False
) -> tuple[list[Fit], Fit | None]:
    """Reads the parts one after the other with the strides of one descriptor, up to the first that it cannot read."""
    good: list[Fit] = []
    for part in parts:
        fit = part.fit(template.major, template.swizzle, template)
        if not fit.readable and absolute_lbo and (crossing := part.absolute(template)) is not None:
            fit = crossing
        if not fit.readable:
            return good, fit
        good.append(fit)
    return good, None
