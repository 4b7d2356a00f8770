"""The `mma.sync` instructions that tirx knows, as data: which thread holds which element of each operand.

A fragment is a plain `TileLayout` over `laneid` and `m`, the position in the thread's vector of elements. Every
row of `VARIANTS` follows PTX ISA 9.7.14.5: "Matrix Fragments for mma.m8n8k4", and those for m16n8k4, m16n8k8, m16n8k16,
m16n8k32 and m16n8k64, which are one pattern at different sizes. Scale factors follow 9.7.14.3, "Block Scaling for
mma.sync", a sparse A and its codes 9.7.14.6, "Matrix Fragments for sparse mma" and "Sparse matrix storage".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Literal

from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout import Iter, TileLayout
from tirx.layout.arrays import IntArray
from tirx.layout.axis import WARP_SIZE
from tirx.values import dataclass, replace

Orientation = Literal["row", "col"]
"""The `.alayout` and `.blayout` of the instruction: how the M x K matrix A and the K x N matrix B are laid out."""


class FragmentError(ValueError):
    """Register layouts that no sequence of `mma.sync` instructions fits, or sizes that none can have."""

    rule = "mma-product"


@dataclass(frozen=True)
class Fragment:
    """One operand of an instruction, over one warp.

    shape:             (products, rows, columns); A is M x K, B is always N x K, C is M x N. dtype:             the
    element type, under its PTX name. layout:            element to laneid and m. A fragment of one element per thread
    does not use m. register_type:     the PTX type of the registers that the instruction takes. elements_per_register:
    elements packed in one register, the first in the low bits.
    """

    shape: tuple[int, int, int]
    dtype: str
    layout: TileLayout
    register_type: str
    elements_per_register: int

    def _repr_html_(self) -> str:
        """Returns a grid of the elements with their lanes and registers, which notebooks show."""
        from tirx.layout.picture import html_of

        shape = prod(self.shape[:-1]), self.shape[-1]
        return html_of(f"{self.dtype} {self.layout}", shape, self.layout.table, self.layout.replica, shape)

    @property
    def elements(self) -> int:
        """Elements per thread."""
        return prod((*self.shape, *(it.extent for it in self.layout.replica))) // WARP_SIZE

    @property
    def registers(self) -> int:
        """Registers per thread."""
        return self.elements // self.elements_per_register

    @cached_property
    def places(self) -> tuple[IntArray, IntArray]:
        """The lane of each element, and its position among those of the thread: arrays of `shape`."""
        return self.layout.axis_table("laneid", self.shape), self.layout.axis_table("m", self.shape)


@dataclass(frozen=True)
class ScaleFactors:
    """The scale factors of a block-scaled instruction, each of `block` elements along K.

    `a` is over (1, M, K / block), `b` over (1, N, K / block). A register has four, of which the instruction takes those
    from a byte on.
    """

    block: int
    a: Fragment
    b: Fragment

    @property
    def dtype(self) -> str:
        """Element type of the factors, as tiles have it: e4m3 for ue4m3, which is e4m3 without its sign."""
        return self.a.dtype


@dataclass(frozen=True)
class SparseCodes:
    """The metadata of an instruction whose A is sparse: codes of 4 bits that say which elements are stored.

    `chunk`: elements along K that a code stands for, half of them stored. `fragment`: the codes over
    (1, M, codes of a row). `pair`: those of two steps along K in one register, of which the sparsity selector names the
    lanes; None where all lanes of an instruction hold codes.
    """

    chunk: int
    fragment: Fragment
    pair: Fragment | None

    @property
    def selector_lanes(self) -> tuple[int, ...]:
        """Sparsity selectors by number: how many lanes further on each finds the fragment."""
        return (0,) if self.pair is None else (0, 2)


@dataclass(frozen=True)
class MmaVariant:
    """One form of the instruction; D has the type and the fragment of C, and takes its place.

    name:     unique, without the shape's common prefix `mma.sync.aligned.`: "m8n8k4.row.col.f32.f16". mnemonic: the
    instruction as PTX spells it. feature:  the row of the table of targets and PTX versions that has to allow it.
    shape:    (M, N, K) of one product. products: independent products of one instruction, over one warp. emulation:
    capability of the targets on which `ptxas` makes shuffles and FMAs of it, None for no target. scales:   the scale
    factors of A and B, None without. codes:    the metadata of a sparse A, of which `a` is the stored half.
    """

    name: str
    mnemonic: str
    feature: str
    shape: tuple[int, int, int]
    products: int
    a_orientation: Orientation
    b_orientation: Orientation
    a: Fragment
    b: Fragment
    c: Fragment
    emulation: str | None = None
    scales: ScaleFactors | None = None
    codes: SparseCodes | None = None

    @property
    def instruction(self) -> str:
        """The shape of one product as PTX spells it: m16n8k16."""
        m, n, k = self.shape
        return f"m{m}n{n}k{k}"

    @property
    def operand_type(self) -> str:
        """Element type of A, and of B where no scale factors are."""
        return self.a.dtype

    @property
    def accumulator_type(self) -> str:
        """Element type of C and D."""
        return self.c.dtype

    @property
    def types(self) -> str:
        """The types that it multiplies, in words."""
        scaled = "" if self.scales is None else f" scaled by {self.scales.dtype} for {self.scales.block} of K"
        return f"{_types(self.a.dtype, self.b.dtype, self.c.dtype)}{scaled}{_SPARSE_TEXT if self.codes else ''}"


# m8n8k4 with .f16: four products per warp; product q is done by lanes 4q..4q+3 and 16+4q..16+4q+3. B is given
# as N x K, so a col-major B has the fragment of a row-major A.
_F16_ROWS_ON_LANES = TileLayout.parse("S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]")
_F16_COLUMNS_ON_LANES = TileLayout.parse("S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1, 1@laneid)]")
_F16_A: dict[Orientation, TileLayout] = {"row": _F16_ROWS_ON_LANES, "col": _F16_COLUMNS_ON_LANES}
_F16_B: dict[Orientation, TileLayout] = {"col": _F16_ROWS_ON_LANES, "row": _F16_COLUMNS_ON_LANES}
_F16_C = {
    "f16": TileLayout.parse("S[(4, 2, 4, 8) : (4@laneid, 16@laneid, 1@laneid, 1)]"),
    "f32": TileLayout.parse("S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]"),
}
# C and D of .f16 are packed two to a register, those of .f32 are not.
_F16_C_REGISTERS = {"f16": ("b32", 2), "f32": ("f32", 1)}

# m8n8k4 with .f64: one product per warp, row.col only.
_F64_AB = TileLayout.parse("S[(8, 4) : (4@laneid, 1@laneid)]")
_F64_C = TileLayout.parse("S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]")


def _f16(a: Orientation, b: Orientation, acc: str) -> MmaVariant:
    types = "f16" if acc == "f16" else f"{acc}.f16"
    return MmaVariant(
        name=f"m8n8k4.{a}.{b}.{types}",
        mnemonic=f"mma.sync.aligned.m8n8k4.{a}.{b}.{acc}.f16.f16.{acc}",
        feature="mma.m8n8k4.f16",
        shape=(8, 8, 4),
        products=4,
        a_orientation=a,
        b_orientation=b,
        a=Fragment((4, 8, 4), "f16", _F16_A[a], "b32", 2),
        b=Fragment((4, 8, 4), "f16", _F16_B[b], "b32", 2),
        c=Fragment((4, 8, 8), acc, _F16_C[acc], *_F16_C_REGISTERS[acc]),
        emulation="mma.m8n8k4.f16.is_emulated",
    )


_F64 = MmaVariant(
    name="m8n8k4.row.col.f64",
    mnemonic="mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    feature="mma.m8n8k4.f64",
    shape=(8, 8, 4),
    products=1,
    a_orientation="row",
    b_orientation="col",
    a=Fragment((1, 8, 4), "f64", _F64_AB, "f64", 1),
    b=Fragment((1, 8, 4), "f64", _F64_AB, "f64", 1),
    c=Fragment((1, 8, 8), "f64", _F64_C, "f64", 1),
)

_ORIENTATIONS: tuple[Orientation, ...] = ("row", "col")

_M8N8K4 = (*(_f16(a, b, acc) for acc in ("f16", "f32") for a in _ORIENTATIONS for b in reversed(_ORIENTATIONS)), _F64)


@dataclass(frozen=True)
class _Registers:
    """The registers of an element type: their PTX type, and the number of elements in each."""

    type: str
    elements: int


_M16N8_OPERANDS = {
    "f16": _Registers("b32", 2),
    "bf16": _Registers("b32", 2),
    "tf32": _Registers("b32", 1),
    "f64": _Registers("f64", 1),
    "s8": _Registers("b32", 4),
    "u8": _Registers("b32", 4),
    "e4m3": _Registers("b32", 4),
    "e5m2": _Registers("b32", 4),
    "e2m1": _Registers("b32", 8),
}
_M16N8_ACCUMULATORS = {
    "f16": _Registers("b32", 2),
    "f32": _Registers("f32", 1),
    "f64": _Registers("f64", 1),
    "s32": _Registers("b32", 1),
}

# (type of A and B, types of C, K, feature); the largest K first, which needs the fewest instructions.
_M16N8_TYPES: tuple[tuple[str, tuple[str, ...], int, str], ...] = (
    ("f16", ("f16", "f32"), 16, "mma.m16n8k16.f16"),
    ("f16", ("f16", "f32"), 8, "mma.m16n8k8.f16"),
    ("bf16", ("f32",), 16, "mma.m16n8.bf16"),
    ("bf16", ("f32",), 8, "mma.m16n8.bf16"),
    ("tf32", ("f32",), 8, "mma.m16n8.tf32"),
    ("tf32", ("f32",), 4, "mma.m16n8.tf32"),
    ("f64", ("f64",), 16, "mma.m16n8.f64"),
    ("f64", ("f64",), 8, "mma.m16n8.f64"),
    ("f64", ("f64",), 4, "mma.m16n8.f64"),
    ("s8", ("s32",), 32, "mma.m16n8.i8"),
    ("s8", ("s32",), 16, "mma.m16n8.i8"),
    ("u8", ("s32",), 32, "mma.m16n8.i8"),
    ("u8", ("s32",), 16, "mma.m16n8.i8"),
    ("e4m3", ("f32",), 32, "mma.m16n8k32.f8.f32"),
    ("e4m3", ("f16",), 32, "mma.m16n8.f8"),
    ("e4m3", ("f16", "f32"), 16, "mma.m16n8.f8"),
    ("e5m2", ("f32",), 32, "mma.m16n8k32.f8.f32"),
    ("e5m2", ("f16",), 32, "mma.m16n8.f8"),
    ("e5m2", ("f16", "f32"), 16, "mma.m16n8.f8"),
)


_SCALES = {"ue8m0": "ue8m0", "ue4m3": "e4m3"}
"""PTX type of scale factors -> their element type in tiles."""

# (kind, types of A and B, K, type of the scale factors, elements of K of each, feature).
_SCALED: tuple[tuple[str, tuple[str, str], int, str, int, str], ...] = (
    *(("mxf8f6f4", (a, b), 32, "ue8m0", 32, "mma.block_scale") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    ("mxf4", ("e2m1", "e2m1"), 64, "ue8m0", 32, "mma.block_scale"),
    ("mxf4nvf4", ("e2m1", "e2m1"), 64, "ue4m3", 16, "mma.block_scale"),
    ("mxf4nvf4", ("e2m1", "e2m1"), 64, "ue8m0", 16, "mma.block_scale.4X.ue8m0"),
)


def _modes(*modes: tuple[int, int, str]) -> TileLayout:
    return TileLayout(Iter(*mode) for mode in modes if mode[0] > 1)


def _m16n8(a: str, b: str, acc: str, k: int, feature: str) -> MmaVariant:
    """One product of 16x8xK, row.col: lane 4g + t holds row g (and g + 8) of A, row g of B given as N x K, and of each
    block of K the t-th register. C has column pairs instead."""
    ab, c = _M16N8_OPERANDS[a], _M16N8_ACCUMULATORS[acc]
    e = ab.elements
    blocks = k // (4 * e)
    a_layout = _modes((2, e, "m"), (8, 4, "laneid"), (blocks, 2 * e, "m"), (4, 1, "laneid"), (e, 1, "m"))
    b_layout = _modes((8, 4, "laneid"), (blocks, e, "m"), (4, 1, "laneid"), (e, 1, "m"))
    c_layout = _modes((2, 2, "m"), (8, 4, "laneid"), (4, 1, "laneid"), (2, 1, "m"))
    types = ".".join(dict.fromkeys((acc, a, b)))
    return MmaVariant(
        name=f"m16n8k{k}.row.col.{types}",
        mnemonic=f"mma.sync.aligned.m16n8k{k}.row.col.{acc}.{a}.{b}.{acc}",
        feature=feature,
        shape=(16, 8, k),
        products=1,
        a_orientation="row",
        b_orientation="col",
        a=Fragment((1, 16, k), a, a_layout, ab.type, e),
        b=Fragment((1, 8, k), b, b_layout, ab.type, e),
        c=Fragment((1, 16, 8), acc, c_layout, c.type, c.elements),
    )


def _scaled(kind: str, types: tuple[str, str], k: int, scale: str, block: int, feature: str) -> MmaVariant:
    """`_m16n8` with scale factors: lanes 4g and 4g + 1 hold those of rows g and g + 8 of A, lane 4g those of row g of
    B, thread id 0 of the instruction. The other lanes of four have copies, so that any thread id takes the same.
    """
    plain, count = _m16n8(*types, "f32", k, feature), k // block
    form = f"kind::{kind}.block_scale.scale_vec::{count}X"
    of_a = TileLayout((Iter(2, 1, "laneid"), Iter(8, 4, "laneid"), Iter(count, 1, "m")), (Iter(2, 2, "laneid"),))
    of_b = TileLayout((Iter(8, 4, "laneid"), Iter(count, 1, "m")), (Iter(4, 1, "laneid"),))
    factors = (Fragment((1, rows, count), _SCALES[scale], own, "b32", 4) for rows, own in ((16, of_a), (8, of_b)))
    return replace(
        plain,
        name=f"m16n8k{k}.{kind}.{'.'.join(dict.fromkeys(types))}.{scale}.{count}X",
        mnemonic=plain.mnemonic.replace(".row.col.", f".row.col.{form}.") + f".{scale}",
        scales=ScaleFactors(block, *factors),
    )


# (type of A and B, types of C, K, elements along K of a code, feature) of instructions whose A is sparse.
_SPARSE: tuple[tuple[str, tuple[str, ...], int, int, str], ...] = (
    ("f16", ("f16", "f32"), 32, 4, "mma.sp"),
    ("bf16", ("f32",), 32, 4, "mma.sp"),
    ("tf32", ("f32",), 16, 2, "mma.sp"),
    ("s8", ("s32",), 64, 4, "mma.sp"),
    ("u8", ("s32",), 64, 4, "mma.sp"),
    ("e4m3", ("f32",), 64, 4, "mma.sp.f8"),
    ("e5m2", ("f32",), 64, 4, "mma.sp.f8"),
)


def _sparse(operand: str, acc: str, k: int, chunk: int, feature: str) -> MmaVariant:
    """`_m16n8` with half of A stored, and its codes. Lanes 4g + t hold codes of rows g and g + 8: four of each row in a
    register of two lanes of four, and the next instruction along K takes the other two; with 8-bit elements, eight
    codes of one row in each lane.
    """
    dense, half = _m16n8(operand, operand, acc, k, feature), _m16n8(operand, operand, acc, k // 2, feature)
    count, pair = k // chunk, None
    if _M16N8_OPERANDS[operand].elements < 4:
        rows, own = ((2, 4, "m"), (8, 4, "laneid")), ((2, 1, "laneid"), (4, 1, "m"))
        pair = Fragment((1, 16, 2 * count), "b4", _modes(*rows, (2, 2, "laneid"), *own), "b32", 8)
        codes = TileLayout(_modes(*rows, *own).shard, (Iter(2, 2, "laneid"),))
    else:
        codes = _modes((2, 1, "laneid"), (8, 4, "laneid"), (2, 2, "laneid"), (8, 1, "m"))
    return replace(
        dense,
        name=dense.name.replace(".row.", ".sp.row."),
        mnemonic=dense.mnemonic.replace("mma.", "mma.sp::ordered_metadata.", 1),
        a=half.a,
        codes=SparseCodes(chunk, Fragment((1, 16, count), "b4", codes, "b32", 8), pair),
    )


_ROWS = (
    *_M8N8K4,
    *(_m16n8(operand, operand, acc, k, feature) for operand, accs, k, feature in _M16N8_TYPES for acc in accs),
    *(_scaled(*row) for row in _SCALED),
    *(_sparse(operand, acc, k, chunk, feature) for operand, accs, k, chunk, feature in _SPARSE for acc in accs),
)

VARIANTS: Mapping[str, MmaVariant] = MappingProxyType({row.name: row for row in _ROWS})
"""Every variant by name. Among those of equal element types, m8n8k4 comes first, with K contiguous in A and B before
other orientations, then m16n8 with falling K."""


WIDENING: Mapping[str, MmaVariant] = MappingProxyType(
    {v.name: VARIANTS[v.name.replace(".f32.f16", ".f16")] for v in _M8N8K4 if v.c.dtype == "f32"}
)
"""The variants that have a form with C in f16 and D in f32, by name, each with the variant that has C of that form.

PTX ISA 9.7.14.5, mma: `.f32.f16.f16.f16` is a form of m8n8k4 only; m16n8 has C and D of one type.
"""


PREFERENCES = {("f16", "m16n8k8"): "mma.f16.prefers_m16n8k8", ("f64", "m16n8k8"): "mma.f64.prefers_m16n8k8"}
"""Operand type and shape -> capability of the targets that had better multiply this type by this shape."""


def is_preferred(variant: MmaVariant, target: Target) -> bool:
    """Returns True if `target` had better multiply the variant's type of operands by this variant."""
    capability = PREFERENCES.get((variant.operand_type, variant.instruction))
    return capability is not None and supports(target, capability)


_SPARSE_TEXT = " of a sparse A"


def _types(a: str, b: str, accumulator: str) -> str:
    return f"{a} x {b} + {accumulator}"


def variants_for(
    operand_type: str,
    accumulator_type: str,
    b_type: str | None = None,
    scales: tuple[str, int] | None = None,
    *,
    sparse: bool = False,
) -> tuple[MmaVariant, ...]:
    """The variants with these element types (PTX names), in the order of the table.

    B has the type of A if it is not given. `scales`: the type of scale factors, and the elements along K of each.
    `sparse`: half of A is stored.
    Raises FragmentError, with the combinations that exist, when there is none.
    """
    b_type = operand_type if b_type is None else b_type
    known = [v for v in VARIANTS.values() if (v.scales is None) == (scales is None) and (v.codes is not None) == sparse]
    found = tuple(
        v
        for v in known
        if (v.operand_type, v.b.dtype, v.accumulator_type) == (operand_type, b_type, accumulator_type)
        and (v.scales is None or (v.scales.dtype, v.scales.block) == scales)
    )
    if not found:
        scaled = "" if scales is None else f" scaled by {scales[0]} for {scales[1]} of K"
        raise FragmentError(
            f"expected one of {', '.join(dict.fromkeys(v.types for v in known))}, "
            f"found {_types(operand_type, b_type, accumulator_type)}{scaled}{_SPARSE_TEXT if sparse else ''}"
        )
    return found
