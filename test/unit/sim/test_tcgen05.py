"""tcgen05: operands in every layout and kind against numpy, data paths, and what must be an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER, integers
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.tensor.instruction_descriptor import decode_instruction_descriptor

_MODES = {"none": 0, "32B": 6, "64B": 4, "128B": 2, "128B_atom_32B": 1}
_ROWS = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B_atom_32B": 128}
_XOR = {"none": (3, 0), "32B": (3, 0x10), "64B": (3, 0x30), "128B": (3, 0x70), "128B_atom_32B": (2, 0x60)}
_KINDS = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32}  # K of an instruction
_CODES = {
    "f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5, "u8": 0, "s8": 1,
}  # fmt: skip
_DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "u8": np.uint8, "s8": np.int8,
}  # fmt: skip
_NARROW = {"e2m1": 4, "e2m3": 6, "e3m2": 6}
_D_CODES = {"f16": 0, "f32": 1, "s32": 2}
_PARTS = {128: 1, 64: 2, 32: 4}
_Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class _Image:
    """An operand in shared memory: its bytes, leading and stride offsets, and where element (row, k) starts."""

    data: _Bytes
    leading: int
    stride: int
    offset: Callable[[int, int], int]


def _image(elements: _Bytes, major: str, swizzle: str) -> _Image:
    """(rows, K, bytes of an element) in the canonical layout that the ISA gives as a CuTe layout."""
    rows, depth, size = elements.shape
    per_chunk, row = 16 // size, _ROWS[swizzle]
    per_row = row // size
    group = 4 if swizzle == "128B_atom_32B" else 8
    if major == "K" and swizzle == "none":  # ((8, m), (T, 2k)) : ((1T, SBO), (1, LBO))
        leading, stride = 128, 128 * (depth // per_chunk)

        def offset(r: int, c: int) -> int:
            return r % 8 * 16 + r // 8 * stride + c % per_chunk * size + c // per_chunk * leading
    elif major == "K":
        leading, stride = 16, 8 * row

        def offset(r: int, c: int) -> int:
            return c // per_row * (rows * row) + r * row + c % per_row * size
    elif swizzle == "none":  # ((T, 1, m), (8, k)) : ((1, T, SBO), (1T, LBO))
        leading, stride = 128, 128 * (depth // 8)

        def offset(r: int, c: int) -> int:
            return r % per_chunk * size + r // per_chunk * stride + c % 8 * 16 + c // 8 * leading
    else:  # ((T, x, m), (8, k)) : ((1, T, LBO), (S, SBO))
        leading, stride = group * row * (depth // group), group * row

        def offset(r: int, c: int) -> int:
            return r % per_row * size + r // per_row * leading + c % group * row + c // group * stride

    shift, mask = _XOR[swizzle]
    data = np.zeros(rows * depth * size, np.uint8)
    for r in range(rows):
        for c in range(depth):
            at = offset(r, c)
            at ^= at >> shift & mask
            data[at : at + size] = elements[r, c]
    return _Image(data, leading, stride, offset)


def _descriptor(start: int, image: _Image, swizzle: str) -> int:
    fields = start >> 4 | image.leading >> 4 << 16 | image.stride >> 4 << 32
    return fields | 1 << 46 | _MODES[swizzle] << 61


def kernel(
    size: int, issue: Sequence[str], dump: int, *, columns: int = 512, words: int = 0, without: Sequence[str] = ()
) -> str:
    """
    Copies `size` bytes to shared memory, issues `issue` by one thread, and dumps `dump` columns of all lanes.

    `words`: columns that every lane first stores to the upper half of its columns. `without` names steps to leave out.
    %base is the address of the bytes, %desc that in a descriptor's units, %tm the tensor memory address.
    """
    lines: list[str] = []

    def add(text: str, step: str = "") -> None:
        if step not in without or not step:
            lines.append(text)

    def vector(count: int) -> str:
        return "{" + ", ".join(f"%v{index}" for index in range(count)) + "}"

    add(f"""{HEADER}
.visible .entry k(.param .u64 p_image, .param .u64 p_d, .param .u64 p_words) .reqntid 128, 1, 1 {{
  .reg .pred %p<8>; .reg .b32 %r<32>, %v<128>, %base, %tm; .reg .b64 %rd<64>, %desc;
  .shared .align 1024 .b8 image[{size}]; .shared .align 8 .b64 mbar; .shared .align 4 .b32 slot;
  mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 0; mov.b32 %base, image; mov.b32 %r4, mbar;
  @!%p0 bra COPY;
  mov.b32 %r7, slot;""")
    add(f"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r7], {columns};", "alloc")
    add("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; setp.eq.u32 %p1, %r0, 0;")
    add("@%p1 mbarrier.init.shared::cta.b64 [%r4], 1;", "mbarrier")
    add("@%p1 fence.mbarrier_init.release.cluster;")
    add(f"""COPY:
  ld.param.u64 %rd0, [p_image]; shl.b32 %r8, %r0, 4;
NEXT:
  setp.ge.u32 %p2, %r8, {size}; @%p2 bra COPIED;
  cvt.u64.u32 %rd1, %r8; add.u64 %rd1, %rd1, %rd0; ld.global.v4.b32 {vector(4)}, [%rd1];
  add.u32 %r9, %base, %r8; st.shared.v4.b32 [%r9], {vector(4)};
  add.u32 %r8, %r8, 2048; bra NEXT;
COPIED:
  bar.warp.sync 0xffffffff;""")
    add("fence.proxy.async.shared::cta;", "proxy")
    add("tcgen05.fence::before_thread_sync;")
    add("bar.sync 0;", "barrier")
    add("tcgen05.fence::after_thread_sync;")
    add("ld.shared.b32 %tm, [slot]; shl.b32 %r22, %r1, 21; add.u32 %r19, %tm, %r22;")
    add("shr.u32 %r3, %base, 4; cvt.u64.u32 %desc, %r3;")
    if words:
        add(f"ld.param.u64 %rd2, [p_words]; mad.wide.u32 %rd2, %r0, {4 * words}, %rd2;")
        for index in range(words):
            add(f"ld.global.b32 %v{index}, [%rd2+{4 * index}];")
        add(f"add.u32 %r20, %r19, {columns // 2};")
        add(f"tcgen05.st.sync.aligned.32x32b.x{words}.b32 [%r20], {vector(words)};")
        add("tcgen05.wait::st.sync.aligned;", "wait::st")
        add("tcgen05.fence::before_thread_sync;", "fence after st")
        add("bar.sync 0; tcgen05.fence::after_thread_sync;")
    add("@!%p0 bra WAIT; elect.sync _|%p3, 0xffffffff; @!%p3 bra WAIT;")
    lines.extend(issue)
    add("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];", "commit")
    add("WAIT:")
    add("mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r4], 0; @!%p5 bra WAIT;", "wait")
    add("bar.warp.sync 0xffffffff;")
    add("tcgen05.fence::after_thread_sync;", "fence")
    add(f"ld.param.u64 %rd9, [p_d]; mad.wide.u32 %rd10, %r0, {4 * dump}, %rd9;")
    for column in range(0, dump, 16):
        add(f"add.u32 %r20, %r19, {column};")
        add(f"tcgen05.ld.sync.aligned.32x32b.x16.b32 {vector(16)}, [%r20];")
        add("tcgen05.wait::ld.sync.aligned;", "wait::ld")
        for index in range(16):
            add(f"st.global.b32 [%rd10+{4 * (column + index)}], %v{index};")
    add("tcgen05.fence::before_thread_sync;")
    add("bar.sync 0;", "last barrier")
    add("@!%p0 bra END; tcgen05.fence::after_thread_sync;")
    add(f"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, {columns};", "dealloc")
    add("END: ret; }")
    return "\n".join(lines)


@dataclass(frozen=True)
class _Product:
    """A product to try: `major` of A and B, `swizzle` of both."""

    kind: str
    a: str
    b: str
    d: str
    m: int
    n: int
    k: int
    major: tuple[str, str] = ("K", "K")
    swizzle: str = "128B"
    weight_stationary: bool = False
    a_in_tensor_memory: bool = False
    negate: int = 0
    suffix: str = ""
    without: tuple[str, ...] = field(default=())


def _operand(rng: np.random.Generator, rows: int, depth: int, element: str) -> tuple[npt.NDArray[np.float64], _Bytes]:
    """Values, and the bytes of each element (narrow ones are packed 16 to 16 bytes)."""
    values = rng.integers(0 if element == "u8" else -3, 4, (rows, depth)).astype(np.float32).astype(_DTYPES[element])
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(rows, depth, -1)
    bits = _NARROW.get(element)
    if bits is not None:
        single = np.unpackbits(raw.reshape(rows, -1, 16, 1), axis=3, bitorder="little")[..., :bits]
        packed = np.packbits(single.reshape(rows, -1, 16 * bits), axis=2, bitorder="little")
        padding = rng.integers(0, 256, (*packed.shape[:2], 16 - packed.shape[2]), dtype=np.uint8)
        raw = np.concatenate([packed, padding], axis=2).reshape(rows, depth, 1)
    return values.astype(np.float64), raw


def _run(product: _Product, seed: int | None = None) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Results of the simulator and of numpy."""
    rng = np.random.default_rng(0)
    depth = _KINDS[product.kind]
    a, raw_a = _operand(rng, product.m, product.k, product.a)
    b, raw_b = _operand(rng, product.n, product.k, product.b)
    image_a = _image(raw_a, product.major[0], product.swizzle)
    image_b = _image(raw_b, product.major[1], product.swizzle)
    start_b = -(-len(image_a.data) // 1024) * 1024
    data = np.concatenate([image_a.data, np.zeros(start_b - len(image_a.data), np.uint8), image_b.data])
    descriptor = _D_CODES[product.d] << 4 | _CODES[product.a] << 7 | _CODES[product.b] << 10 | product.negate << 13
    descriptor |= (product.major[0] == "MN") << 15 | (product.major[1] == "MN") << 16
    descriptor |= product.n >> 3 << 17 | product.m >> 4 << 24
    issue = [f"mov.b32 %r18, {descriptor:#x};"]
    words = _tensor_memory_rows(raw_a, product) if product.a_in_tensor_memory else None
    name = f"tcgen05.mma{'.ws' if product.weight_stationary else ''}.cta_group::1.kind::{product.kind}"
    for step, first in enumerate(range(0, product.k, depth)):
        operand = "%rd4"
        at_a, at_b = image_a.offset(0, first), start_b + image_b.offset(0, first)
        issue.append(f"add.s64 %rd4, %desc, {_descriptor(at_a, image_a, product.swizzle)};")
        issue.append(f"add.s64 %rd5, %desc, {_descriptor(at_b, image_b, product.swizzle)};")
        if words is not None:
            issue.append(f"add.u32 %r16, %tm, {256 + 8 * step};")
            operand = "[%r16]"
        issue.append(f"{name} [%tm], {operand}, %rd5, %r18, {int(step > 0)}{product.suffix};")
    parts = _PARTS[product.m] if product.weight_stationary else 1
    dump = product.n // parts
    text = kernel(len(data), issue, dump, words=0 if words is None else words.shape[1], without=product.without)
    d = np.zeros((128, dump), np.uint32)
    run(text, "k", 1, 128, [data, d, np.zeros(4, np.uint32) if words is None else words], seed=seed)
    row, column = np.arange(product.m)[:, None], np.arange(product.n)[None, :]
    cells = d[row + product.m * (column // dump), column % dump]
    signs = (-1 if product.negate & 1 else 1) * (-1 if product.negate & 2 else 1)
    return _values(cells, product.d), signs * (a @ b.T)


def _values(cells: npt.NDArray[np.uint32], element: str) -> npt.NDArray[np.float64]:
    if element == "f16":
        return (cells & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float64)
    return cells.view(np.float32 if element == "f32" else np.int32).astype(np.float64)


def _tensor_memory_rows(raw: _Bytes, product: _Product) -> npt.NDArray[np.uint32]:
    rows = np.ascontiguousarray(raw).reshape(product.m, -1).view(np.uint32)
    return np.ascontiguousarray(np.concatenate([rows] * (128 // product.m)))


_PLAIN = [
    _Product("f16", "f16", "f16", "f32", 128, 64, 64),
    _Product("f16", "bf16", "bf16", "f32", 128, 128, 64),
    _Product("f16", "f16", "f16", "f16", 128, 32, 64),
    _Product("tf32", "tf32", "tf32", "f32", 128, 32, 32),
    _Product("f8f6f4", "e4m3", "e5m2", "f32", 128, 32, 128),
    _Product("i8", "s8", "u8", "s32", 128, 32, 128),
    _Product("f16", "f16", "bf16", "f32", 128, 64, 64),
    _Product("f16", "bf16", "f16", "f32", 128, 32, 64),
]


def _check(product: _Product) -> None:
    got, expected = _run(product)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("product", _PLAIN, ids=lambda product: f"{product.a}-{product.d}")
@pytest.mark.sample(3)
def test_k_major(product: _Product, swizzle: str):
    _check(_with(product, swizzle=swizzle))


@together("m", [64, 128])
@together(
    ("kind", "codes", "n", "missing"),
    [("f16", 0x10, (8, 24, 256), (4, 264)), ("i8", 0x20, (8, 16, 24, 32, 48), (40, 56, 264))],
)
def test_shapes(kind: str, codes: int, m: int, n: tuple[int, ...], missing: tuple[int, ...]):
    """The table of matrix shapes in the PTX ISA has the same N for both M."""
    for found in (*n, *missing):
        word = codes | found >> 3 << 17 | m >> 4 << 24
        if found in missing:
            with pytest.raises(SimError, match=f"there is no shape M={m}, N="):
                decode_instruction_descriptor(word, kind, False, False, False)
        else:
            assert decode_instruction_descriptor(word, kind, False, False, False).n == found


@pytest.mark.parametrize(
    ("kind", "codes", "problem"),
    [
        ("f16", 1 << 7 | 1 << 10, "D is f16, but A is bf16 and B is bf16"),
        (
            "ti16",
            2 << 4 | 3 << 7 | 3 << 10 | 1 << 15,
            r"transposes of kind::ti16 \(bits 15, 16\), about which two tables of the ISA contradict each other",
        ),
        ("f8f6f4", 1 << 4 | 3 << 10 | 1 << 29, "K = 64 of e4m3 and e2m3, expected e4m3 or e5m2"),
    ],
)
def test_fields_that_exclude_each_other(kind: str, codes: int, problem: str):
    with pytest.raises(SimError, match=f"for kind::{kind}: {problem}$"):
        decode_instruction_descriptor(codes | 64 >> 3 << 17 | 128 >> 4 << 24, kind, False, False, False, "sm_107a")


def _with(product: _Product, **changes: Any) -> _Product:
    return replace(product, **changes)


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("major", [("MN", "K"), ("K", "MN"), ("MN", "MN")], ids=str)
@pytest.mark.parametrize("product", [_PLAIN[0], _PLAIN[5]], ids=lambda product: product.a)
@pytest.mark.sample(3)
def test_mn_major(product: _Product, major: tuple[str, str], swizzle: str):
    _check(_with(product, major=major, swizzle=swizzle, n=128))


def test_mn_major_tf32():
    product = _Product("tf32", "tf32", "tf32", "f32", 128, 64, 16, ("MN", "MN"), "128B_atom_32B")
    _check(product)
    with pytest.raises(SimError, match="MN-major elements of 4 bytes"):
        _run(_with(product, swizzle="128B"))


@pytest.mark.parametrize("element", ["e2m3", "e3m2", "e2m1"])
def test_narrow_elements(element: str):
    _check(_Product("f8f6f4", element, "e4m3", "f32", 128, 32, 64, swizzle="64B"))
    _check(_Product("f8f6f4", "e5m2", element, "f32", 128, 32, 64, swizzle="none"))


@pytest.mark.parametrize("m", [32, 64, 128])
def test_weight_stationary(m: int):
    _check(_Product("f16", "f16", "f16", "f32", m, 128, 32, swizzle="64B", weight_stationary=True))


@pytest.mark.parametrize(("m", "weight_stationary"), [(128, False), (128, True), (64, True), (32, True)])
@pytest.mark.sample(2)
def test_a_in_tensor_memory(m: int, weight_stationary: bool):
    _check(
        _Product(
            "f16",
            "f16",
            "f16",
            "f32",
            m,
            64,
            32,
            swizzle="64B",
            weight_stationary=weight_stationary,
            a_in_tensor_memory=True,
        )  # fmt: skip
    )


@pytest.mark.parametrize("negate", [1, 2, 3])
def test_negation(negate: int):
    _check(_Product("f16", "f16", "f16", "f32", 128, 32, 32, swizzle="64B", negate=negate))


def test_scale_of_d():
    """The first step's result counts half in the second."""
    rng = np.random.default_rng(0)
    a, _ = _operand(rng, 128, 32, "f16")
    b, _ = _operand(rng, 32, 32, "f16")
    product = _Product("f16", "f16", "f16", "f32", 128, 32, 32, swizzle="64B", suffix=", 1")
    got, _ = _run(product)
    assert np.array_equal(got, a[:, :16] @ b[:, :16].T / 2 + a[:, 16:] @ b[:, 16:].T)


_SMALL = _Product("f16", "f16", "f16", "f32", 128, 32, 32, swizzle="64B")


@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("proxy", "expected fence.proxy.async in that thread before"),
        ("barrier", "data race|no mbarrier|not ordered"),
        ("alloc", "never written|allocated columns are none"),
        ("commit", "deadlock.*waits for phase 0"),
        ("wait", "before a commit was waited for|never written"),
        ("fence", "without tcgen05.fence::before_thread_sync there"),
        ("wait::ld", "is read before tcgen05.wait::ld"),
        ("last barrier", "dealloc|allocated columns are none"),
        ("dealloc", "not deallocated"),
        ("mbarrier", "no mbarrier object"),
    ],
)
@pytest.mark.sample(5)
def test_missing_steps(step: str, message: str, seed: int | None):
    with pytest.raises(SimError, match=f"(?s){message}"):
        _run(_with(_SMALL, without=(step,)), seed)


@pytest.mark.parametrize(
    ("step", "message"), [("wait::st", "without tcgen05.wait::st"), ("fence after st", "without tcgen05.fence")]
)
def test_missing_steps_after_a_store(step: str, message: str):
    with pytest.raises(SimError, match=message):
        _run(_with(_SMALL, n=64, a_in_tensor_memory=True, without=(step,)))


def _small_kernel() -> tuple[str, list[npt.NDArray[Any]], npt.NDArray[np.float64]]:
    """One 128x32x16 product with 32B swizzle."""
    rng = np.random.default_rng(0)
    a, b = integers(rng, (128, 16)), integers(rng, (32, 16))
    images = [_image(x.view(np.uint8).reshape(x.shape[0], 16, 2), "K", "32B") for x in (a, b)]
    descriptor = 1 << 4 | 32 >> 3 << 17 | 128 >> 4 << 24
    issue = [
        f"mov.b32 %r18, {descriptor:#x};",
        f"add.s64 %rd4, %desc, {_descriptor(0, images[0], '32B')};",
        f"add.s64 %rd5, %desc, {_descriptor(4096, images[1], '32B')};",
        "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r18, 0;",
    ]
    data = np.concatenate([image.data for image in images])
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    return (
        kernel(len(data), issue, 32, columns=32),
        [data, np.zeros((128, 32), np.float32), np.zeros(4, np.uint32)],
        expected,
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mov.b32 %r18, 0x8080010;", "mov.b32 %r18, 0x8080050;", "bit 6 must be zero"),
        ("mov.b32 %r18, 0x8080010;", "mov.b32 %r18, 0x80c0010;", "out-of-bounds shared tcgen05.mma B"),
        ("mov.b32 %r18, 0x8080010;", "mov.b32 %r18, 0x8420010;", "there is no shape M=128, N=264"),
        ("mov.b32 %r18, 0x8080010;", "mov.b32 %r18, 0x8080400;", "D is f16, but A is f16 and B is bf16"),
        ("shl.b32 %r22, %r1, 21;", "shl.b32 %r22, %r1, 20;", "it may touch lanes"),
        ("add.u32 %r20, %r19, 0;", "add.u32 %r20, %r19, 32;", "are not in tensor memory|allocated columns"),
        ("add.s64 %rd4, %desc, ", "add.s64 %rd4, %desc, 70368744177664; add.s64 %rd4, %rd4, ", "bits 46-48"),
        ("@!%p3 bra WAIT;", "", "expected one thread to issue tcgen05.mma, found 32 lanes"),
        ("END:", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v0}, [%r19];\nEND:", "the allocated columns are none"),
        ("END:", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;\nEND:", "but the allocated columns are none"),
        ("[%r7], 32;", "[%r7], 48;", "expected a power of two from 32 to 512 columns, found 48"),
        ("%r18, 0;", "%r18, 1;", "reads cells that were never written"),
        ("\nWAIT:", "\nst.shared.b32 [%base], %r0;\nWAIT:", "while tcgen05 may still read it"),
        ("%desc, %r3;", "%desc, %r3; add.s64 %desc, %desc, 400;", "out-of-bounds|never written"),
        ("tcgen05.mma.cta_group::1", "tcgen05.mma.cta_group::2", "expected .cta_group::1 like"),
        (
            "tcgen05.mma.cta_group::1.kind::f16 [%tm]",
            "tcgen05.mma.cta_group::1.kind::f16.what [%tm]",
            "unknown modifier",
        ),
    ],
)
@pytest.mark.sample(8)
def test_errors(old: str, new: str, message: str):
    text, arguments, expected = _small_kernel()
    run(text, "k", 1, 128, arguments)
    assert np.array_equal(arguments[1], expected)
    assert old in text
    with pytest.raises(SimError, match=message) as caught:
        run(text.replace(old, new, 1), "k", 1, 128, arguments)
    assert caught.value.line is not None


_Place = Callable[[int, int], tuple[int, int]]
# Repetitions, registers of each, and the row and column of register r of thread t.
_SHAPES: dict[str, tuple[int, int, _Place]] = {
    "16x256b": (4, 4, lambda t, r: (t // 4 + 8 * (r // 2 % 2), r % 2 + 2 * (t % 4) + 8 * (r // 4))),
    "16x128b": (8, 2, lambda t, r: (t // 4 + 8 * (r % 2), t % 4 + 4 * (r // 2))),
    "16x64b": (16, 1, lambda t, r: (t // 4 + 8 * (t % 2), t // 2 % 2 + 2 * r)),
    "16x32bx2": (16, 1, lambda t, r: (t % 16, r + 16 * (t // 16))),
}


@pytest.mark.parametrize("shape", _SHAPES)
def test_layout_f_and_shapes_of_loads(shape: str):
    """M=64: rows 16 i.. are in the first half of the lanes of warp i."""
    rng = np.random.default_rng(0)
    a, b = integers(rng, (64, 16)), integers(rng, (32, 16))
    images = [_image(x.view(np.uint8).reshape(x.shape[0], 16, 2), "K", "none") for x in (a, b)]
    issue = [
        f"mov.b32 %r18, {1 << 4 | 32 >> 3 << 17 | 64 >> 4 << 24:#x};",
        f"add.s64 %rd4, %desc, {_descriptor(0, images[0], 'none')};",
        f"add.s64 %rd5, %desc, {_descriptor(2048, images[1], 'none')};",
        "tcgen05.mma.cta_group::1.kind::f16 [%tm], %rd4, %rd5, %r18, 0;",
    ]
    repetitions, per, place = _SHAPES[shape]
    count = per * repetitions
    registers = ", ".join(f"%v{index}" for index in range(count))
    split = ", 16" if shape == "16x32bx2" else ""
    load = f"tcgen05.ld.sync.aligned.{shape}.x{repetitions}.b32 {{{registers}}}, [%r19]{split};\n"
    load += "tcgen05.wait::ld.sync.aligned;\n"
    load += "".join(f"st.global.b32 [%rd10+{4 * index}], %v{index};\n" for index in range(count))
    data = np.concatenate([image.data for image in images])
    text = kernel(len(data), issue, 32, columns=32)
    first, last = text.index("add.u32 %r20, %r19, 0;"), text.rindex("tcgen05.fence::before_thread_sync;")
    out = np.zeros((128, 32), np.float32)
    run(text[:first] + load + text[last:], "k", 1, 128, [data, out, np.zeros(4, np.uint32)])
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    for thread in range(128):
        for register in range(count):
            row, column = place(thread % 32, register)
            assert out[thread, register] == expected[16 * (thread // 32) + row, column]
