"""Every fragment of the tensor-core and matrix instructions, as plain data for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tirx.copy.banks import MATRIX_ROWS
from tirx.copy.matrix import MATRIX_FORMS, MOST_MATRICES, REGISTER_BITS, ROW_LANES
from tirx.layout import Iter, TileLayout, element_type
from tirx.mma.fragments import VARIANTS, WIDENING, Fragment
from tirx.tcgen05.tmem_access import LD_SHAPES, LdShape, ld_fragment
from tirx.wgmma import fragments as wgmma
from tirx.wgmma.kinds import KINDS, Form, Kind

_N_STEP = 8
"""Columns of D that one step of N adds to a wgmma."""


@cache
def fragment_tables() -> list[dict[str, Any]]:
    """The instructions whose operands lie in the registers of a warp or warpgroup.

    An entry has `group` and `name`; `mnemonic`, with `{n}` where a size goes; and `operands` by letter: the text of a
    layout, its shape, element type, and `title`. With `sizes`, the last dimension of an operand that `grows` is
    repeated size / `step` times, registers of one repeat behind those of the one before. B of mma.sync is N x K.
    """
    return [*_mma(), *_other_mma(), *_wgmma(), *_tensor_memory(), *_matrices()]


def _operand(layout: TileLayout, shape: tuple[int, ...], dtype: str, title: str, grows: bool = False) -> dict[str, Any]:
    found = {"text": str(layout), "shape": shape, "dtype": dtype, "title": title}
    return found | {"grows": True} if grows else found


def _mma() -> Iterator[dict[str, Any]]:
    for variant in VARIANTS.values():
        if variant.codes is not None:
            continue  # one of `_OTHER_FORMS`
        found = {"A": variant.a, "B": variant.b, "C": variant.c}
        yield _product(variant.name, variant.mnemonic, found)
        if (narrow := WIDENING.get(variant.name)) is not None:
            c = narrow.accumulator_type
            mnemonic = f"{variant.mnemonic.rpartition('.')[0]}.{c}"
            yield _product(f"{variant.name}, C in {c}", mnemonic, found | {"C": narrow.c, "D": variant.c})


def _product(name: str, mnemonic: str, fragments: Mapping[str, Fragment]) -> dict[str, Any]:
    """A form of mma.sync; D is named where it lies elsewhere than C."""
    operands: dict[str, Any] = {}
    for letter, fragment in fragments.items():
        shape = fragment.shape if fragment.shape[0] > 1 else fragment.shape[1:]
        size = " × ".join(map(str, shape[-2:] if letter != "B" else shape[:-3:-1]))
        sides = {"A": "M × K", "B": "K × N"}.get(letter, "M × N")
        registers = f"{fragment.registers} .{fragment.register_type} registers"
        title = f"{letter}: {size} {fragment.dtype} ({sides}), {registers}"
        operands[letter] = _operand(fragment.layout, shape, fragment.dtype, title)
    return {"group": "mma.sync", "name": name, "mnemonic": mnemonic, "operands": operands}


# (shape, element type of A and B, its bits, of C, what follows the types, sparse), PTX ISA, "Warp-level matrix
# multiply-accumulate": "Matrix Fragments" of m8n8k16 to m16n8k256, and of sparse m16n8k8 to m16n8k128.
_OTHER_FORMS: tuple[tuple[tuple[int, int, int], str, int, str, str, bool], ...] = (
    ((8, 8, 16), "s8", 8, "s32", "", False),
    ((8, 8, 32), "s4", 4, "s32", "", False),
    ((16, 8, 32), "s4", 4, "s32", "", False),
    ((16, 8, 64), "s4", 4, "s32", "", False),
    ((8, 8, 128), "b1", 1, "s32", ".xor.popc", False),
    ((16, 8, 128), "b1", 1, "s32", ".xor.popc", False),
    ((16, 8, 256), "b1", 1, "s32", ".xor.popc", False),
    ((16, 8, 64), "e2m1", 4, "f32", ".ue8m0", False),
    ((16, 8, 16), "f16", 16, "f32", "", True),
    ((16, 8, 32), "f16", 16, "f32", "", True),
    ((16, 8, 8), "tf32", 32, "f32", "", True),
    ((16, 8, 16), "tf32", 32, "f32", "", True),
    ((16, 8, 32), "s8", 8, "s32", "", True),
    ((16, 8, 64), "s8", 8, "s32", "", True),
    ((16, 8, 64), "e4m3", 8, "f32", "", True),
    ((16, 8, 64), "s4", 4, "s32", "", True),
    ((16, 8, 128), "s4", 4, "s32", "", True),
)


def warp_fragment(rows: int, k: int, bits: int) -> TileLayout:
    """A of mma.sync of 8 or 16 rows and `k` stored elements of `bits` bits, or B as N x K; C is one of 32 bits whose
    neighbours share a thread: `warp_accumulator`.

    With E elements in a register, element E r + x of lane 4g + t is A[g + 8 (r % 2), E t + x + 4 E (r / 2)] of 16 rows,
    and A[g, E t + x + 4 E r] of 8.
    """
    each = REGISTER_BITS // bits
    halves = (Iter(2, each),) if rows == 16 else ()
    steps = k // (ROW_LANES * each)
    columns = (Iter(steps, rows // 8 * each), Iter(ROW_LANES, 1, "laneid"), Iter(each, 1))
    return TileLayout((*halves, Iter(8, ROW_LANES, "laneid"), *columns))


def warp_accumulator(rows: int) -> TileLayout:
    """C of mma.sync of 8 or 16 rows and 8 columns, in elements of any width."""
    halves = (Iter(2, 2),) if rows == 16 else ()
    return TileLayout((*halves, Iter(8, ROW_LANES, "laneid"), Iter(ROW_LANES, 1, "laneid"), Iter(2, 1)))


def _other_mma() -> Iterator[dict[str, Any]]:
    """Forms of a sparse A, and those that tirx does not compile to."""
    compiled = {variant.mnemonic for variant in VARIANTS.values()}
    for (m, n, k), dtype, bits, accumulator, suffix, sparse in _OTHER_FORMS:
        stored = k // 2 if sparse else k
        a, b, c = warp_fragment(m, stored, bits), warp_fragment(n, k, bits), warp_accumulator(m)
        counts = [each.span("m") * bits // REGISTER_BITS for each in (a, b)]
        half = ", the stored half" if sparse else ""
        prefix = "mma.sp::ordered_metadata" if sparse else "mma"
        kind = ".kind::mxf4.block_scale.scale_vec::2X" if suffix == ".ue8m0" else ""
        types = f"{accumulator}.{dtype}.{dtype}.{accumulator}"
        mnemonic = f"{prefix}.sync.aligned.m{m}n{n}k{k}.row.col{kind}.{types}{suffix}"
        yield {
            "group": "mma.sync, others",
            "name": f"m{m}n{n}k{k}.{accumulator}.{dtype}{'.sp' if sparse else ''}",
            "mnemonic": mnemonic,
            "operands": {
                "A": _operand(
                    a, (m, stored), dtype, f"A: {m} × {stored} {dtype} (M × K{half}), {counts[0]} .b32 registers"
                ),
                "B": _operand(b, (n, k), dtype, f"B: {k} × {n} {dtype} (K × N), {counts[1]} .b32 registers"),
                "C": _operand(c, (m, n), accumulator, f"C: {m} × {n} {accumulator} (M × N), {c.span('m')} registers"),
            },
            **({} if mnemonic in compiled else {"note": "tirx does not compile to this form."}),
        }


def _wgmma() -> Iterator[dict[str, Any]]:
    """One entry for all kinds whose fragments and sizes are the same."""
    alike: dict[tuple[object, ...], list[tuple[Kind, str]]] = {}
    for kind in KINDS.values():
        for result in kind.results:
            alike.setdefault((kind.bits, kind.n, result), []).append((kind, result))
    for kinds in alike.values():
        kind, result = kinds[0]
        types = ", ".join(f"{each.a} x {each.b}" for each, _ in kinds)
        for sparse in (False, True) if kind.sparse else (False,):
            if kind.bits < 8:
                continue  # layouts have no elements of a bit
            form = Form(kind.a, kind.b, result, 8, sparse)
            mnemonic = form.mnemonic.replace("n8k", "n{n}k")
            bits = element_type(result).storage_bits
            d = wgmma.accumulator_layout(64, _N_STEP)
            stored = f"64 × {kind.k} {kind.a}, {'the stored half' if sparse else 'in registers or in shared memory'}"
            operands = {
                "A": _operand(wgmma.operand_a_layout(64, kind.k, kind.a), (64, kind.k), kind.a, f"A: {stored}"),
                "D": _operand(
                    d, (64, _N_STEP), result, f"D: 64 × N {result}, {REGISTER_BITS // bits} to a register", True
                ),
            }
            if sparse:
                metadata = wgmma.metadata_layout(64, form.k, kind.a)
                shape = (64, metadata.size() // 64)
                operands["E"] = _operand(metadata, shape, "b4", "E: codes of the sparsity metadata")
            yield {
                "group": "wgmma",
                "name": f"{form.shape.replace('n8', 'nN')}.{result}{'.sp' if sparse else ''}: {types}",
                "mnemonic": mnemonic,
                "operands": operands,
                "sizes": kind.n,
                "unit": "N",
                "step": _N_STEP,
                "note": f"B, N x {form.k}, is read from shared memory through its matrix descriptor.",
            }


def _tensor_memory() -> Iterator[dict[str, Any]]:
    for shape in LD_SHAPES.values():
        layout, dims = _loaded(shape)
        registers = shape.registers_per_repeat
        title = f"{dims[0]} lanes of tensor memory × 32-bit columns, {registers} × NUM registers"
        nums = [1 << k for k in range(shape.max_num.bit_length())]
        split = ", split" if shape.halves else ""
        yield {
            "group": "tcgen05.ld, tcgen05.st",
            "name": shape.name,
            "mnemonic": f"tcgen05.ld.sync.aligned.{shape.name}.x{{n}}.b32 registers, [address]{split}",
            "operands": {"T": _operand(layout, dims, "f32", title, True)},
            "sizes": nums,
            "unit": "NUM",
            "step": 1,
            "note": "Warp w of a warpgroup reaches lanes 32 w to 32 w + 31."
            + ("" if shape.lanes == 32 else " This shape takes 16 of them: the rows are lanes 32 w to 32 w + 15."),
        }


def _loaded(shape: LdShape) -> tuple[TileLayout, tuple[int, ...]]:
    """Returns the registers that `.x1` loads; the shape with halves has them as a dimension of their own."""
    layout = ld_fragment(shape.name, 1)
    rows = 128 if shape.lanes == 32 else 64
    columns = layout.size() // rows
    return layout, (rows, columns, 1) if shape.halves else (rows, columns)


def matrix_fragment(count: int, transposed: bool, element_bits: int = 16) -> TileLayout:
    """The registers of a warp behind `ldmatrix.xCOUNT`: of shape (8 * count, elements of 16 bytes), matrices one below
    the other, each as it lies in shared memory.

    Lane 4g + t holds bytes 4t to 4t + 3 of row g of matrix i in the i-th register; with `.trans` the g-th elements of
    rows 2t and 2t + 1 (PTX ISA, "Warp-level matrix load instruction: ldmatrix").
    """
    packed = REGISTER_BITS // element_bits
    matrices = Iter(count, packed)
    if transposed:
        rows = (Iter(ROW_LANES, 1, "laneid"), Iter(packed, 1))
        columns = (Iter(MATRIX_ROWS, ROW_LANES, "laneid"),)
    else:
        rows = (Iter(MATRIX_ROWS, ROW_LANES, "laneid"),)
        columns = (Iter(ROW_LANES, 1, "laneid"), Iter(packed, 1))
    return TileLayout((matrices, *rows, *columns))


def _matrices() -> Iterator[dict[str, Any]]:
    for form in MATRIX_FORMS:
        for count in (1, 2, MOST_MATRICES):
            trans = ".trans" if form.transposed else ""
            shape = (MATRIX_ROWS * count, 8)
            addresses = TileLayout((Iter(shape[0], 1, "laneid"), Iter(8, 1)))
            rows = f"Rows of 16 bytes in shared memory: lanes 0 to {shape[0] - 1} give their addresses"
            registers = f"The lanes that hold their elements, {count} .b32 registers"
            yield {
                "group": "ldmatrix, stmatrix",
                "name": f"m8n8.x{count}{trans}.b16",
                "mnemonic": f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16; stmatrix the other way",
                "operands": {
                    "S": _operand(addresses, shape, "f16", rows),
                    "R": _operand(matrix_fragment(count, form.transposed), shape, "f16", registers),
                },
            }
