"""Is this shared-memory layout one that tcgen05.mma can read, and with which descriptor?

The test is semantic: a layout is canonical when some major-ness, swizzle mode, LBO and SBO make the hardware's address
walk find every element where the layout puts it. How the layout is written plays no role. Source: PTX ISA "Canonical
layouts", "Strides", "Shared memory descriptor" (seed 9.7.16.3).

With S the row bytes of the swizzle mode, `size` the bytes of an element and all divisions rounding down, the walk is

    K-major    start + (mn % 8) * S + (mn / 8) * SBO + (kbyte / 16) * (LBO if not swizzled else 16) + kbyte % 16
    MN-major   start + (mn % c) * size + (mn / c) * (LBO if swizzled else SBO)
                     + (k % g) * S + (k / g) * (SBO if swizzled else LBO)      c = S / size, g = 8 (4 with 32-byte
                     atoms)

followed by the XOR of the swizzle mode, which acts on absolute shared-memory address bits. Addresses here are relative
to a tile base aligned to the period of that XOR, so that relative and absolute bits agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tirx.layout import ComposeLayout, TileLayout
from tirx.tcgen05.dtypes import DType, find_dtype
from tirx.tcgen05.errors import LegalityError
from tirx.tcgen05.smem_descriptor import ADDRESS_BYTES, SmemDescriptor
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

OperandLayout = TileLayout | ComposeLayout
Shape = tuple[int, int]


@dataclass(frozen=True)
class CanonicalLayout:
    """A layout that one shared-memory descriptor describes.

    - `major`: "K" or "MN"; `swizzle`: name of the mode; `t`: elements in 16 bytes, the T of the ISA;
    - `m`, `k`: repeats of the pattern along MN and along K (a partly used one counts);
    - `lbo`, `sbo`: byte offsets; None where the hardware reads none (K-major swizzled LBO, or a single repeat);
    - `start`: unswizzled byte offset of element (0, 0) from the tile base, a plain add to the start address.
    """

    major: Major
    swizzle: SwizzleName
    t: int
    m: int
    k: int
    lbo: int | None
    sbo: int | None
    start: int = 0

    @property
    def base_alignment(self) -> int:
        """Bytes to which the tile base must be aligned: 16, 256, 512 or 1024."""
        return SWIZZLE_MODES[self.swizzle].base_alignment

    def descriptor(self, base: int = 0) -> SmemDescriptor:
        """The descriptor for a tile at byte address `base`. Raises LegalityError for a base off its alignment."""
        if base % self.base_alignment:
            raise LegalityError(
                f"swizzle {self.swizzle}: expected a tile base aligned to {self.base_alignment} bytes, got {base}; "
                f"nearest is {round(base / self.base_alignment) * self.base_alignment}"
            )
        return SmemDescriptor(base + self.start, self.lbo, self.sbo, self.swizzle)

    def cute(self) -> str:
        """The canonical layout in the ISA's CuTe notation, with strides in elements. Unread strides print as `_`."""
        mode = SWIZZLE_MODES[self.swizzle]
        lbo, sbo = ("_" if x is None else str(x * self.t // 16) for x in (self.lbo, self.sbo))
        row = self.t * mode.row_bytes // 16
        if self.major == "K":
            shape = f"((8,{self.m}),({self.t},{2 * self.k}))"
            stride = f"(({row},{sbo}),(1,{self.t if mode.swizzled else lbo}))"
        else:
            outer_mn, outer_k = (lbo, sbo) if mode.swizzled else (sbo, lbo)
            shape = f"(({self.t},{mode.row_bytes // 16},{self.m}),({mode.rows},{self.k}))"
            stride = f"((1,{self.t},{outer_mn}),({row},{outer_k}))"
        return f"{mode.cute} o {shape}:{stride}"

    def __str__(self) -> str:
        return f"{self.major}-major, swizzle {self.swizzle}, LBO {self.lbo}, SBO {self.sbo} bytes, {self.cute()}"


@dataclass(frozen=True)
class OperandSlice:
    """What one instruction along K reads: `offset_bytes` to add to the tile base, and the layout it walks (start 0)."""

    offset_bytes: int
    canonical: CanonicalLayout


@dataclass(frozen=True)
class _Fit:
    """How well a geometry explains a table of addresses.

    `wanted`: where the hardware looks for each element, in bits. `matches`: elements that are there; `plain_matches`:
    elements that would be if nothing were swizzled.
    """

    canonical: CanonicalLayout
    legal: bool
    wanted: BitAddresses
    matches: int
    plain_matches: int

    @property
    def exact(self) -> bool:
        return self.matches == self.wanted.size

    @property
    def only_swizzle_missing(self) -> bool:
        return self.plain_matches == self.wanted.size and not self.exact


@dataclass(frozen=True)
class _Operand:
    """An operand with the facts that every geometry needs; `address` is the bit address of each element, [MN, K]."""

    address: BitAddresses
    element: DType
    container_bits: int

    def fit(self, major: Major, name: SwizzleName, template: CanonicalLayout | None = None) -> _Fit:
        """The best descriptor of this geometry, with the LBO and SBO of `template` when there is one.

        Otherwise strides come from the first element that feels each; one that no descriptor field can hold is rounded
        to one that can, so that the walk fails at the element that needed it.
        """
        mode = SWIZZLE_MODES[name]
        swizzled = mode.swizzled
        walk = mode.on_bits.inverse(self.address)
        row, atom = mode.row_bytes * 8, 16 * 8
        mn, k = (np.arange(extent, dtype=np.int64) for extent in walk.shape)
        start = _start(int(walk[0, 0]), mode)
        if major == "K":
            bits = k * self.container_bits
            outer_mn, inner_mn = np.divmod(mn, 8)
            outer_k, inner_k = (np.zeros_like(bits), bits) if swizzled else np.divmod(bits, atom)
            inner = (inner_mn * row)[:, None] + inner_k
            repeats_k = -(-int(walk.shape[1] * self.container_bits) // (2 * atom))
        else:
            outer_mn, inner_mn = np.divmod(mn, row // self.container_bits)
            outer_k, inner_k = np.divmod(k, mode.rows)
            inner = (inner_mn * self.container_bits)[:, None] + inner_k * row
            repeats_k = int(outer_k[-1]) + 1
        # SBO repeats along MN and LBO along K, except where an MN-major swizzled layout trades them.
        traded = major == "MN" and swizzled
        if template is None:
            stride_mn, stride_k = _stride(walk[:, 0] - start, outer_mn), _stride(walk[0, :] - start, outer_k)
            lbo, sbo = (stride_mn, stride_k) if traded else (stride_k, stride_mn)
        else:
            lbo, sbo = template.lbo, template.sbo
            stride_mn, stride_k = (lbo, sbo) if traded else (sbo, lbo)
        wanted = start + inner + (outer_mn * (stride_mn or 0) * 8)[:, None] + outer_k * (stride_k or 0) * 8
        canonical = CanonicalLayout(
            major,
            name,
            t=atom // self.container_bits,
            m=int(outer_mn[-1]) + 1,
            k=repeats_k,
            lbo=lbo,
            sbo=sbo,
            start=start // 8,
        )
        return _Fit(
            canonical,
            legal=name in legal_modes(self.element, major),
            wanted=mode.on_bits.apply(wanted),
            matches=int(np.count_nonzero(wanted == walk)),
            plain_matches=int(np.count_nonzero(wanted == self.address)),
        )

    def slice(self, rows: slice, columns: slice) -> _Operand:
        """The part of the operand that one instruction reads."""
        return replace(self, address=self.address[rows, columns])


def _stride(line: BitAddresses, outer: BitAddresses) -> int | None:
    """Bytes from the first repeat to the second along one dimension; None when there is only one repeat."""
    second = int(np.searchsorted(outer, 1))
    return None if second == len(outer) else _encodable(int(line[second]), 16) // 8


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
    columns = 128 // container  # of 16 bytes
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


def _bytes(bits: int) -> float:
    return bits // 8 if bits % 8 == 0 else bits / 8


def _misfit(operand: _Operand, fits: Sequence[_Fit], origin: Shape, what: str) -> LegalityError:
    """Explains why no legal geometry fits; `origin` is the logical coordinate of the operand's first element."""
    if forbidden := next((fit for fit in fits if fit.exact), None):
        major, element = forbidden.canonical.major, operand.element.name
        legal = {x: legal_modes(operand.element, x) for x in MAJORS}
        allowed = "; ".join(f"{x}-major {', '.join(names) or 'not at all'}" for x, names in legal.items())
        return LegalityError(
            f"{what} is {major}-major with swizzle {forbidden.canonical.swizzle}, which the hardware does not read for "
            f"{element}: expected {allowed}",
            nearest=forbidden.canonical,
        )
    best = max((fit for fit in fits if fit.legal), key=lambda fit: fit.matches + fit.plain_matches)
    row, column = (int(x) for x in np.argwhere(best.wanted != operand.address)[0])
    element = (origin[0] + row, origin[1] + column)
    expected, found = _bytes(int(best.wanted[row, column])), _bytes(int(operand.address[row, column]))
    hint = ", of which only the swizzle is missing" if best.only_swizzle_missing else ""
    return LegalityError(
        f"{what} is not canonical: element {element} is expected at byte {expected} of the tile and is at byte "
        f"{found}; nearest canonical layout is {best.canonical}{hint}",
        element=element,
        expected=expected,
        found=found,
        nearest=best.canonical,
    )


def canonical_layout(
    layout: OperandLayout, shape: Shape, dtype: str | DType = "f16", *, container_bits: int | None = None
) -> CanonicalLayout:
    """The canonical layout that `layout` is, for an operand of `shape` (MN, K) elements read by one descriptor.

    The layout maps a coordinate to axis `m`, an element address relative to a tile base aligned to the swizzle.
    `container_bits`: 8 for e2m1 in kind::f8f6f4 and mxf8f6f4, where it is padded to a byte; by default it is packed.
    A tile wider than one instruction along K may need one start address per step: see `operand_slices`.

    Raises LegalityError when no descriptor reads the operand, with the first element that does not fit.
    """
    if (mn := shape[0]) % 8:
        raise LegalityError(f"expected MN in steps of 8, got {mn}; nearest is {max(8, round(mn / 8) * 8)}")
    operand = _operand(layout, shape, dtype, container_bits)
    fits: list[_Fit] = []
    for major, name in GEOMETRIES:
        fit = operand.fit(major, name)
        if fit.exact and fit.legal:
            return fit.canonical
        fits.append(fit)
    raise _misfit(operand, fits, (0, 0), "the layout")


def operand_slices(
    layout: OperandLayout,
    shape: Shape,
    dtype: str | DType,
    k_instr: int,
    *,
    rows: tuple[int, int] | None = None,
    container_bits: int | None = None,
) -> tuple[OperandSlice, ...]:
    """How instructions of `k_instr` elements of K read an operand tile of `shape` (MN, K), one slice per K step.

    All slices agree on major-ness, swizzle, LBO and SBO, so that one descriptor serves all of them: slice i is read
    with start address tile base + `offset_bytes`. `rows`: read only MN elements [first, last) of the tile. The tile may
    end inside a group of 8 rows, as B does when it is read shifted (zero-column mask): nothing reads the rest.

    Raises LegalityError when K is no multiple of `k_instr`, or when no such descriptor exists, naming the element.
    """
    mn, k = shape
    if k_instr < 1 or k % k_instr:
        raise LegalityError(f"expected K in steps of {k_instr} elements, one per instruction, got {k}")
    first, last = rows or (0, mn)
    if not 0 <= first < last <= mn or first % 8 or (last != mn and last % 8):
        raise LegalityError(f"expected rows [first, last) within [0, {mn}) in steps of 8, got [{first}, {last})")
    operand = _operand(layout, shape, dtype, container_bits)
    columns = 128 // operand.container_bits
    if k_instr % columns:
        raise LegalityError(f"expected instructions of K in steps of {columns} elements (16 bytes), got {k_instr}")
    parts = [operand.slice(slice(first, last), slice(k0, k0 + k_instr)) for k0 in range(0, k, k_instr)]
    fits = [parts[0].fit(*geometry) for geometry in GEOMETRIES]
    candidates = [replace(fit.canonical, start=0) for fit in fits if fit.exact and fit.legal]
    if not candidates:
        raise _misfit(parts[0], fits, (first, 0), _slice_name(0, k_instr))
    read: list[list[_Fit]] = []
    for candidate in candidates:
        good, bad = _read(parts, candidate)
        if bad is None:
            return tuple(OperandSlice(fit.canonical.start, candidate) for fit in good)
        read.append([*good, bad])
    longest = max(read, key=len)
    step = len(longest) - 1
    raise _misfit(parts[step], longest[step:], (first, step * k_instr), _slice_name(step, k_instr))


def _slice_name(step: int, k_instr: int) -> str:
    return f"the layout of K elements [{step * k_instr}, {(step + 1) * k_instr})"


def _read(parts: Sequence[_Operand], template: CanonicalLayout) -> tuple[list[_Fit], _Fit | None]:
    """Reads the parts one after the other with the strides of one descriptor, up to the first that it cannot read."""
    good: list[_Fit] = []
    for part in parts:
        fit = part.fit(template.major, template.swizzle, template)
        if not fit.exact:
            return good, fit
        good.append(fit)
    return good, None
