"""Products by tcgen05.mma for tests: kernels with their inputs, and what numpy says about the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from unit.sim.tensor_kernels import Bytes, Words, run_tensor_kernel, tensor_kernel
from unit.sim.tensor_operands import (
    FOUR_BIT_KINDS,
    SparseRows,
    Values,
    factor_codes,
    is_half,
    k_major,
    lane_words,
    mn_major,
    numbers,
    put_factors,
    put_metadata,
    result_rows,
    row_bytes,
    row_places,
    sparse_rows,
)

_DEPTHS = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
_CODES = {
    "f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1,
}  # fmt: skip
_RESULTS = {"f16": 0, "f32": 1, "s32": 2}
_WIDE_KINDS = ("f16", "tf32")
# Where things are in tensor memory.
_A, _METADATA, _SFA, _SFB, _D = 0, 32, 48, 96, 256


@dataclass(frozen=True)
class Scales:
    """`factors` of each row in an instruction, of type `element`; `name` is the modifier."""

    name: str
    factors: int
    element: str = "ue8m0"


@dataclass(frozen=True)
class Product:
    """
    D (m, n) of type `d` = A (m, K) * B (n, K)^T; K is `steps` instructions, `long` ones of 96.

    `base_offset`: patterns start so many times 128 bytes behind a multiple of their size. `absolute`: rows go on at the
    absolute address in the leading dimension field. `copied`: tcgen05.cp brings the factors to tensor memory.
    `mn_major` and `negate`: 1 for A, 2 for B, 3 for both.
    """

    kind: str
    a: str
    b: str
    m: int
    n: int
    d: str = "f32"
    steps: int = 2
    sparse: bool = False
    scales: Scales | None = None
    ctas: int = 1
    weight_stationary: bool = False
    a_in_tensor_memory: bool = False
    swizzle: int = 0
    base_offset: int = 0
    long: bool = False
    absolute: bool = False
    copied: bool = False
    base_lane: int = 0
    zero_mask: int | None = None
    zero_columns: tuple[int, ...] = ()
    disabled_lanes: tuple[int, ...] = ()
    negate: int = 0
    mn_major: int = 0
    collectors: tuple[str, ...] = ()
    target: str = "sm_100a"

    @property
    def depth(self) -> int:
        """Elements of a row of A that are stored for an instruction."""
        return 96 if self.long else _DEPTHS[self.kind]

    def __str__(self) -> str:
        words = [self.kind, f"{self.a}-{self.b}", f"{self.m}x{self.n}", self.d]
        words += [name for name, used in (("sp", self.sparse), ("ws", self.weight_stationary)) if used]
        words += [] if self.scales is None else [self.scales.name, self.scales.element]
        words += ["tensor"] if self.a_in_tensor_memory else []
        words += [f"{name}{value}" for name, value in (("lane", self.base_lane), ("base", self.base_offset)) if value]
        words += ["K96"] if self.long else []
        words += [f"mn{self.mn_major}"] if self.mn_major else []
        return "-".join(words)


@dataclass
class Case:
    """A kernel with its inputs, and the numbers (m, n) that it must compute."""

    product: Product
    text: str
    shared: Bytes
    words: Words
    expected: Values
    first: Values  # what the first step alone computes

    @property
    def columns(self) -> int:
        groups = len(row_places(self.product.m, self.product.ctas, *self._places)[0])
        return self.product.n // groups

    @property
    def _places(self) -> tuple[bool, bool, int]:
        return self.product.weight_stationary, self.product.sparse, self.product.base_lane

    def run(self, text: str | None = None, seed: int | None = None) -> Values:
        """D as the simulator computes it; NaN (or -1) where no thread has written it."""
        dump = run_tensor_kernel(self.text if text is None else text, self.shared, self.words, self.columns, seed)
        cells = result_rows(dump, self.product.m, self.product.n, *self._places)
        if self.product.d == "f16":
            return (cells & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64)
        return cells.view(np.float32 if self.product.d == "f32" else np.int32).astype(np.float64)


def build(product: Product, seed: int = 0, without: Sequence[str] = ()) -> Case:
    """A case of random small integers (and factors), of which all sums are exact."""
    rng = np.random.default_rng(seed)
    depth, ctas, kind = product.depth, product.ctas, product.kind
    b_depth = 2 * depth if product.sparse else depth
    k = b_depth * product.steps
    found = _a(rng, product, k)
    b = numbers(rng, (product.n, k), product.b)
    a_words, b_bytes = row_bytes(found.stored, product.a, kind), row_bytes(b, product.b, kind)
    size = a_words.shape[1] // found.stored.shape[1]
    images = [
        [mn_major(part, size) if own else k_major(part, product.swizzle) for part in np.split(operand, ctas)]
        for operand, own in ((a_words, product.mn_major & 1), (b_bytes, product.mn_major & 2))
    ]
    starts = [128 * product.base_offset]
    starts.append(-(-(starts[0] + images[0][0].data.size) // 1024) * 1024 + starts[0])
    shared = np.zeros((ctas, starts[1] + images[1][0].data.size), np.uint8)
    for start, parts in zip(starts, images, strict=True):
        for own, image in zip(shared, parts, strict=True):
            own[start : start + image.data.size] = image.data
    words = np.zeros((ctas, 128, _D), np.uint32)
    factors = _tensor_operands(rng, product, found, words)
    bytes_of = depth // 2 if kind in FOUR_BIT_KINDS else depth * a_words.shape[1] // found.stored.shape[1]
    issue: list[str] = []
    if product.copied:
        issue, copies = _copies(product, words, shared.shape[1])
        shared = np.concatenate([shared, copies], axis=1)
    for step in range(product.steps):
        for number, (image, *_) in enumerate(images):
            first = step * bytes_of * (2 if number and product.sparse else 1)
            found_at = starts[number] + image.start(first)
            fields = image.descriptor(found_at) | product.base_offset << 49
            issue.append(f"add.s64 %y{number}, %desc, {fields:#x};")
            if product.absolute:
                following = starts[number] + image.start((first + bytes_of - 1) // 128 * 128)
                change = (1 << 52) + (following - 16 >> 4 << 16)
                issue.append(
                    f"shl.b64 %y2, %desc, 16; add.s64 %y2, %y2, {change:#x}; add.s64 %y{number}, %y{number}, %y2;"
                )
        issue += _instruction(product, step)
    expected = _expected(product, found.dense, b, factors)
    first_step = _expected(product, found.dense[:, :b_depth], b[:, :b_depth], factors, 1)
    used: list[int] = np.flatnonzero(words.max(axis=(0, 1))).tolist()
    width = used[-1] // 4 * 4 + 4 if used else 0
    case = Case(product, "", shared, words[:, :, :width], expected, first_step)
    half = product.base_lane if is_half(product.m, ctas, product.weight_stationary, product.sparse) else None
    case.text = tensor_kernel(
        shared.shape[1], width, issue, (_D, case.columns), ctas=ctas, half=half, target=product.target, without=without
    )
    return case


def _a(rng: np.random.Generator, product: Product, k: int) -> SparseRows:
    if product.sparse:
        return sparse_rows(rng, product.m, k, product.a, product.kind)
    dense = numbers(rng, (product.m, k), product.a)
    return SparseRows(dense, dense, np.zeros((product.m, 0), np.uint32))


def _tensor_operands(rng: np.random.Generator, product: Product, a: SparseRows, words: Words) -> list[Values]:
    """Puts A, metadata and factors into `words` (ctas, 128, columns); returns the factors of A and of B."""
    ctas, rows = product.ctas, product.m // product.ctas
    places = row_places(product.m, ctas, product.weight_stationary, product.sparse, product.base_lane)
    stored = lane_words(a.stored, product.a, product.kind)
    chunks = a.codes.shape[1] // product.steps
    for cta in range(ctas):
        own = slice(cta * rows, (cta + 1) * rows)
        if product.a_in_tensor_memory:
            for row, lanes in enumerate(places):
                words[cta, lanes, _A : _A + stored.shape[1]] = stored[own][row]
        for step in range(product.steps if product.sparse else 0):
            column = step if product.kind in _WIDE_KINDS else 2 * step
            codes = a.codes[own, step * chunks : (step + 1) * chunks]
            put_metadata(words[cta], codes, places, _METADATA + column, product.kind)
    if product.scales is None:
        return []
    found: list[Values] = []
    count = product.scales.factors
    for total, base in ((product.m, _SFA), (product.n, _SFB)):
        values, codes = factor_codes(rng, (total, count * product.steps), product.scales.element)
        found.append(values)
        is_b = base == _SFB
        for cta in range(ctas):
            own = codes if is_b else codes[cta * rows : (cta + 1) * rows]
            halves = 2 if is_b and ctas == 2 and product.m == 128 else 1
            for step in range(product.steps):
                column, first = factor_place(count, step, total if is_b else 128)
                put_factors(words[cta], own[:, step * count : (step + 1) * count], base + column, first, halves)
    return found


def _copies(product: Product, words: Words, start: int) -> tuple[list[str], Bytes]:
    """Instructions that copy the factors, four columns each, and what they copy, which is behind `start` bytes."""
    issue: list[str] = []
    images: list[Bytes] = []
    for column in range(_SFA, _D, 4):
        own = words[:, :, column : column + 4]
        if not own.any():
            continue
        halves = column >= _SFB and product.ctas == 2 and product.m == 128
        lanes = np.r_[0:32, 64:96] if halves else np.r_[0:32]
        shape = "64x128b.warpx2::01_23" if halves else "32x128b.warpx4"
        parts = [k_major(np.ascontiguousarray(each[lanes]).view(np.uint8), 0) for each in own]
        fields = parts[0].descriptor(start + sum(image.shape[1] for image in images))
        issue.append(f"add.s64 %y0, %desc, {fields:#x}; add.u32 %x0, %tm, {column};")
        issue.append(f"tcgen05.cp.cta_group::{product.ctas}.{shape} [%x0], %y0;")
        images.append(np.stack([part.data for part in parts]))
        own[:] = 0
    return issue, np.concatenate(images, axis=1)


def factor_place(count: int, step: int, rows: int) -> tuple[int, int]:
    """Column and first byte of an instruction's factors: the bytes of a word first, then the next 4 or 8 columns."""
    return step * count // 4 * (4 if rows <= 128 else 8), step * count % 4


def _instruction(product: Product, step: int) -> list[str]:
    sp = ".sp" if product.sparse else ""
    name = f"tcgen05.mma{'.ws' if product.weight_stationary else ''}{sp}.cta_group::{product.ctas}.kind::{product.kind}"
    lines = [f"add.u32 %x0, %tm, {_D | product.base_lane << 16:#x};"]
    operands = ["[%x0]"]
    if product.a_in_tensor_memory:
        lines.append(f"add.u32 %x1, %tm, {_A + (12 if product.long else 8) * step | product.base_lane << 16:#x};")
        operands.append("[%x1]")
    else:
        operands.append("%y0")
    operands.append("%y1")
    if product.sparse:
        column = step & ~1 if product.kind in _WIDE_KINDS else 2 * step
        lines.append(f"add.u32 %x2, %tm, {_METADATA + column | product.base_lane << 16:#x};")
        operands.append("[%x2]")
    operands.append(f"{idesc(product, step):#010x}")
    if product.scales is not None:
        name += f".block_scale{'.' + product.scales.name if product.scales.name else ''}"
        columns = [factor_place(product.scales.factors, step, rows)[0] for rows in (128, product.n)]
        lines.append(f"add.u32 %x3, %tm, {_SFA + columns[0]}; add.u32 %x4, %tm, {_SFB + columns[1]};")
        operands += ["[%x3]", "[%x4]"]
    if product.disabled_lanes and step:
        names = [f"%x{8 + index}" for index in range(len(product.disabled_lanes))]
        lines += [f"mov.b32 {name}, {word:#x};" for name, word in zip(names, product.disabled_lanes, strict=True)]
        operands.append("{" + ", ".join(names) + "}")
    operands.append(str(int(step > 0)))
    if product.zero_mask is not None:
        operands.append(f"{product.zero_mask:#x}")
    if product.collectors:
        name += f".collector::{product.collectors[step]}"
    lines.append(f"{name} {', '.join(operands)};")
    return lines


def idesc(product: Product, step: int) -> int:
    """The instruction descriptor, field by field (tables "Instruction descriptor format")."""
    four_bit = product.kind in FOUR_BIT_KINDS
    a, b = (1, 1) if four_bit else (_CODES[product.a], _CODES[product.b])
    found = (
        product.mn_major << 15
        | int(product.sparse) << 2
        | a << 7
        | b << 10
        | product.negate << 13
        | product.n >> 3 << 17
    )
    if product.scales is None:
        selector = step & 1 if product.sparse and product.kind in _WIDE_KINDS else 0
        return found | selector | _RESULTS[product.d] << 4 | product.m >> 4 << 24
    _, first = factor_place(product.scales.factors, step, product.n)
    found |= int(product.long) << 31
    found |= first << 4 | int(product.scales.element == "ue8m0") << 23 | product.m >> 7 << 27 | first << 29
    return found


def _expected(product: Product, a: Values, b: Values, factors: list[Values], steps: int | None = None) -> Values:
    if product.scales is not None:
        count = product.scales.factors * (product.steps if steps is None else steps)
        a, b = (
            each * np.repeat(factor[:, :count], each.shape[1] // count, axis=1)
            for each, factor in zip((a, b), factors, strict=True)
        )
    b = b.copy()
    b[list(product.zero_columns)] = 0
    return (-1.0) ** (product.negate & 1) * (-1.0) ** (product.negate >> 1) * (a @ b.T)
