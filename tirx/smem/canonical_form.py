"""Canonical layouts: the parameters of one shared-memory descriptor, and the texts that name it."""

from __future__ import annotations

from tirx.hw.errors import LegalityError, OperandLayoutError
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import SWIZZLE_MODES, Major, SwizzleName
from tirx.values import dataclass

OperandLayout = TileLayout | ComposeLayout


@dataclass(frozen=True)
class CanonicalLayout:
    """A layout that one shared-memory descriptor describes.

    - `major`: "K" or "MN"; `swizzle`: name of the mode; `t`: elements in 16 bytes, the T of the ISA;
    - `m`, `k`: repeats of the pattern along MN and along K (a partly used one counts);
    - `lbo`, `sbo`: byte offsets; None where the hardware reads none (K-major swizzled LBO, or a single repeat);
    - `start`: unswizzled byte offset of element (0, 0) from the tile base, a plain add to the start address;
    - `lbo_absolute`: absolute LBO mode, where `lbo` is the byte offset from the tile base to the second data chunk.
    """

    major: Major
    swizzle: SwizzleName
    t: int
    m: int
    k: int
    lbo: int | None
    sbo: int | None
    start: int = 0
    lbo_absolute: bool = False

    @property
    def base_alignment(self) -> int:
        """Bytes to which the tile base must be aligned: 16, 256, 512 or 1024."""
        return SWIZZLE_MODES[self.swizzle].base_alignment

    def descriptor(self, base: int = 0) -> SmemDescriptor:
        """The descriptor for a tile at byte address `base`. Raises LegalityError for a base off its alignment."""
        if base % self.base_alignment:
            raise OperandLayoutError(
                f"swizzle {self.swizzle}: expected a tile base aligned to {self.base_alignment} bytes, found {base}; "
                f"nearest is {round(base / self.base_alignment) * self.base_alignment}"
            )
        lbo = self.lbo + base if self.lbo_absolute and self.lbo is not None else self.lbo
        return SmemDescriptor(base + self.start, lbo, self.sbo, self.swizzle, lbo_absolute=self.lbo_absolute)

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

    def layout(self, shape: tuple[int, int]) -> OperandLayout | None:
        """The layout of an operand of `shape` (MN, K) that this descriptor reads, None where none has a text.

        A tile layout cannot say that the last repeat of several is partly used. Absolute mode has two chunks, no text.
        """
        mode = SWIZZLE_MODES[self.swizzle]
        row = self.t * mode.row_bytes // 16
        lbo, sbo = ((x or 0) * self.t // 16 for x in (self.lbo, self.sbo))
        if self.major == "K":
            step_k = shape[1] if mode.swizzled else self.t
            dimensions = (8, row, sbo), (step_k, 1, lbo)
        else:
            outer_mn, outer_k = (lbo, sbo) if mode.swizzled else (sbo, lbo)
            dimensions = (row, 1, outer_mn), (mode.rows, row, outer_k)
        iters: list[Iter] = []
        for extent, (inside, stride, outer) in zip(shape, dimensions, strict=True):
            if extent <= inside:
                iters.append(Iter(extent, stride, "m"))
            elif extent % inside == 0:
                iters += Iter(extent // inside, outer, "m"), Iter(inside, stride, "m")
            else:
                return None
        if self.lbo_absolute:
            return None
        tile = TileLayout(iters).with_offset(m=self.start * self.t // 16)
        return ComposeLayout(SwizzleLayout.for_bits(128 // self.t, self.swizzle), tile) if mode.swizzled else tile

    def _repr_html_(self) -> str:
        """Returns a grid of the elements of an operand with their places in shared memory, which notebooks show."""
        from html import escape

        from tirx.layout.picture import html_of

        mode = SWIZZLE_MODES[self.swizzle]
        row = self.t * mode.row_bytes // 16
        shape = (8 * self.m, 2 * self.k * self.t) if self.major == "K" else (row * self.m, mode.rows * self.k)
        if (layout := self.layout(shape)) is None:
            return f"<code>{escape(str(self))}</code>"
        return html_of(str(self), shape, layout.table, shape=shape)

    def __str__(self) -> str:
        lbo = f"LBO {self.lbo}" + (" (absolute, from the tile base)" if self.lbo_absolute else "")
        return f"{self.major}-major, swizzle {self.swizzle}, {lbo}, SBO {self.sbo} bytes, {self.cute()}"


class CanonicalLayoutError(LegalityError):
    """No descriptor reads a layout, or none that the hardware accepts for its element type.

    `nearest`: the canonical layout that fits most elements. The other attributes are those of `LegalityError`.
    """

    rule = "operand-not-canonical"

    def __init__(
        self,
        message: str,
        nearest: CanonicalLayout,
        *,
        element: tuple[int, int] | None = None,
        expected: float | None = None,
        found: float | None = None,
        suggestion: OperandLayout | None = None,
    ):
        super().__init__(message, element=element, expected=expected, found=found, suggestion=suggestion)
        self._nearest = nearest

    @property
    def nearest(self) -> CanonicalLayout:
        """The canonical layout that fits most elements."""
        return self._nearest


@dataclass(frozen=True)
class OperandSlice:
    """The operand of one instruction along K: `offset_bytes` from the tile base, and its canonical layout (start 0)."""

    offset_bytes: int
    canonical: CanonicalLayout

    def descriptor(self, base: int = 0) -> SmemDescriptor:
        """The descriptor for a tile at byte address `base`. Raises LegalityError for a base off its alignment."""
        whole = self.canonical.descriptor(base)
        return SmemDescriptor(
            whole.start + self.offset_bytes, whole.lbo, whole.sbo, whole.swizzle, lbo_absolute=whole.lbo_absolute
        )


def attribute_text(layout: OperandLayout) -> str:
    """The layout as it is written in the IR, to be pasted into a tile type."""
    if isinstance(layout, TileLayout):
        return f"#tirx.tile_layout<{layout}>"
    swizzle = layout.swizzle
    numbers = f"{swizzle.per_element}, {swizzle.swizzle_len}, {swizzle.atom_len}"
    return f"#tirx.compose_layout<#tirx.swizzle_layout<{numbers}>, #tirx.tile_layout<{layout.tile}>>"
