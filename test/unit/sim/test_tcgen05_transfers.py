"""tcgen05.cp, shift, ld, ld.red and st against numpy, and .ashift, which shifts A behind a product."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from unit.cases import together
from unit.sim.machine import message_of
from unit.sim.tensor_kernels import Bytes, Words, run_tensor_kernel, tensor_kernel, vector
from unit.sim.tensor_operands import k_major
from unit.sim.tensor_products import Product, build

from tirx.ptx.ptxas import assemble
from tirx.sim import SimError
from tirx.sim.tensor.data_path import check_warp_lanes

_COLUMNS = 16
# Shape and multicast: rows, bytes of each, and the lanes that row r goes to.
_COPIES: dict[str, tuple[int, int, Callable[[int], list[int]]]] = {
    "128x256b": (128, 32, lambda row: [row]),
    "128x128b": (128, 16, lambda row: [row]),
    "4x256b": (4, 32, lambda row: [32 * row]),
    "64x128b.warpx2::02_13": (64, 16, lambda row: [row, row + 64]),
    "64x128b.warpx2::01_23": (64, 16, lambda row: [row % 32 + row // 32 * 64 + 32 * copy for copy in (0, 1)]),
    "32x128b.warpx4": (32, 16, lambda row: [row + 32 * copy for copy in range(4)]),
}


def _random_words(ctas: int = 1) -> Words:
    return np.random.default_rng(ctas).integers(0, 1 << 32, (ctas, 128, _COLUMNS), dtype=np.uint32)


def _decompressed(rows: Bytes, packing: str) -> Bytes:
    """16 elements of 4 bits in 8 bytes (of 6 bits in 12) of every 16 bytes: each in a byte, from bit 2 (0) on."""
    bits, first = {"b4x16_p64": (4, 2), "b6x16_p32": (6, 0)}[packing]
    found = np.zeros_like(rows)
    for chunk in range(0, rows.shape[1], 16):
        for index in range(16):
            whole = [int.from_bytes(row[chunk : chunk + 16].tobytes(), "little") for row in rows]
            found[:, chunk + index] = [(value >> bits * index & (1 << bits) - 1) << first for value in whole]
    return found


@pytest.mark.parametrize("packing", ["", "b4x16_p64", "b6x16_p32"])
@pytest.mark.parametrize("ctas", [1, 2])
@pytest.mark.parametrize("shape", _COPIES)
@pytest.mark.sample(3)
def test_copies(shape: str, ctas: int, packing: str):
    """
    To columns 4, ...; of a pair, each CTA copies what is in its own shared memory. A base offset says nothing here.
    """
    rows, size, lanes = _COPIES[shape]
    rng = np.random.default_rng(rows)
    sources = rng.integers(0, 256, (ctas, -(-rows // 8) * 8, size), dtype=np.uint8)
    images = [k_major(source, 0) for source in sources]
    suffix = f".b8x16.{packing}" if packing else ""
    issue = [
        f"add.s64 %y0, %desc, {images[0].descriptor(0) | 5 << 49:#x}; add.u32 %x0, %tm, 4;",
        f"tcgen05.cp.cta_group::{ctas}.{shape}{suffix} [%x0], %y0;",
    ]
    words = _random_words(ctas)
    text = tensor_kernel(images[0].data.size, _COLUMNS, issue, (0, _COLUMNS), ctas=ctas)
    assert assemble(text, "sm_100a").ok
    expected = words.copy()
    for cta, source in enumerate(sources):
        data = np.ascontiguousarray(_decompressed(source, packing) if packing else source).view(np.uint32)
        for row in range(rows):
            for lane in lanes(row):
                expected[cta, lane, 4 : 4 + size // 4] = data[row]
    shared = np.stack([image.data for image in images])
    assert np.array_equal(run_tensor_kernel(text, shared, words, _COLUMNS), expected)


@pytest.mark.parametrize("ctas", [1, 2])
def test_shift(ctas: int):
    """Rows of warps 1 and 3 move down by one in eight columns; the last one stays."""
    issue: list[str] = []
    for lane in (32, 96):
        issue.append(f"add.u32 %x0, %tm, {lane << 16 | 3:#x}; tcgen05.shift.cta_group::{ctas}.down [%x0];")
    words = _random_words(ctas)
    expected = words.copy()
    for lane in (32, 96):
        expected[:, lane : lane + 31, 3:11] = words[:, lane + 1 : lane + 32, 3:11]
    text = tensor_kernel(16, _COLUMNS, issue, (0, _COLUMNS), ctas=ctas)
    assert assemble(text, "sm_100a").ok
    assert np.array_equal(run_tensor_kernel(text, np.zeros((ctas, 16), np.uint8), words, _COLUMNS), expected)


def test_shift_and_refill():
    """Steps of a convolution: after a shift the last lane of every warp gets a new row, without a wait."""
    new = np.random.default_rng(0).integers(0, 256, (8, 32), dtype=np.uint8)
    image = k_major(new, 0)
    issue = [f"add.u32 %x0, %tm, {32 * warp << 16:#x}; tcgen05.shift.cta_group::1.down [%x0];" for warp in range(4)]
    issue.append(f"add.s64 %y0, %desc, {image.descriptor(0):#x}; add.u32 %x0, %tm, {31 << 16:#x};")
    issue.append("tcgen05.cp.cta_group::1.4x256b [%x0], %y0;")
    words = _random_words()
    rows = np.concatenate([words[0].reshape(4, 32, _COLUMNS), words[0].reshape(4, 32, _COLUMNS)[:, :1]], axis=1)
    rows[:, 32, :8] = np.ascontiguousarray(new[:4]).view(np.uint32)
    expected = words[0].copy().reshape(4, 32, _COLUMNS)
    expected[:, :, :8] = rows[:, 1:, :8]
    text = tensor_kernel(image.data.size, _COLUMNS, issue, (0, _COLUMNS))
    assert np.array_equal(run_tensor_kernel(text, image.data[None], words, _COLUMNS)[0], expected.reshape(128, -1))


@pytest.mark.parametrize("m", [128, 256])
def test_shift_of_a(m: int):
    """A product with .ashift has A as it is, and the next one has it shifted in each warp's lanes."""
    case = build(Product("f16", "f16", "f16", m, 32, steps=1, a_in_tensor_memory=True, ctas=m // 128))
    first = next(line for line in case.text.splitlines() if line.startswith("tcgen05.mma"))
    shifting = first.replace("kind::f16", "kind::f16.ashift")
    assert np.array_equal(case.run(case.text.replace(first, shifting)), case.expected)
    text = case.text.replace(first, f"{shifting}\n{first}")
    assert assemble(text, "sm_100a").ok
    shifted = case.expected[np.where(np.arange(m) % 32 == 31, np.arange(m), (np.arange(m) + 1) % m)]
    assert np.array_equal(case.run(text), shifted)


def test_shift_of_a_has_many_rows():
    case = build(Product("f16", "f16", "f16", 64, 32, steps=1, a_in_tensor_memory=True))
    with pytest.raises(SimError, match="expected M = 128 or 256, found 64"):
        case.run(case.text.replace("kind::f16 ", "kind::f16.ashift "))


def _floats() -> Words:
    rng = np.random.default_rng(5)
    values = rng.choice([-2.5, -1, -0.0, 0.0, 1, 3, np.inf, -np.inf, np.nan], (1, 128, _COLUMNS)).astype(np.float32)
    values[0, :8] = np.nan
    values[0, 8:64] = rng.integers(-4, 5, (56, _COLUMNS))
    values[0, 64:70] = rng.choice([0.0, -0.0], (6, _COLUMNS))
    return values.view(np.uint32)


def _reduced(values: Words, operation: str, modifiers: str, element: str) -> Words:
    """One value after another, as min and max compare them."""
    numbers = values.view({"f32": np.float32, "s32": np.int32, "u32": np.uint32}[element])
    if element != "f32":
        return (numbers.min(axis=-1) if operation == "min" else numbers.max(axis=-1)).view(np.uint32)
    result: list[float] = []
    for row in numbers.reshape(-1, numbers.shape[-1]).astype(np.float64).tolist():
        row = [abs(each) for each in row] if "abs" in modifiers else row
        real = [each for each in row if each == each]
        if not real or ("NaN" in modifiers and len(real) < len(row)):
            result.append(float("nan"))
            continue
        ordered = sorted(real, key=lambda each: (each, 0 if np.signbit(each) else 1))
        result.append(ordered[0] if operation == "min" else ordered[-1])
    found = np.array(result, np.float32)
    words = np.where(np.isnan(found), np.uint32(0x7FFFFFFF), found.view(np.uint32))
    return words.reshape(numbers.shape[:-1]).astype(np.uint32)


def _load(shape: str, count: int, modifiers: str, result: int, split: str = "") -> str:
    return (
        f"tcgen05.ld.red.sync.aligned.{shape}.x{count}.{modifiers} {vector(count)}, %v{result}, [%r19]{split};\n"
        "tcgen05.wait::ld.sync.aligned;"
    )


@pytest.mark.parametrize("element", ["f32", "f32.abs", "f32.NaN", "f32.abs.NaN", "s32", "u32"])
@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.sample(6)
def test_loads_that_reduce(operation: str, element: str):
    element, _, modifiers = element.partition(".")
    words = _floats() if element == "f32" else _random_words()
    asked = ".".join(filter(None, (operation, modifiers, element)))
    text = tensor_kernel(16, _COLUMNS, [], (0, 9), target="sm_103a", epilogue=_load("32x32b", 8, asked, 8))
    assert assemble(text, "sm_103a").ok
    found = run_tensor_kernel(text, np.zeros((1, 16), np.uint8), words, 9)
    assert np.array_equal(found[..., :8], words[..., :8])
    assert np.array_equal(found[..., 8], _reduced(words[..., :8], operation, modifiers, element))


def test_loads_of_two_halves_that_reduce():
    """Threads 0-15 of a warp reduce the columns from the address on, threads 16-31 those behind the split."""
    text = tensor_kernel(
        16, _COLUMNS, [], (0, 5), target="sm_110a", version="9.0", epilogue=_load("16x32bx2", 4, "max.s32", 4, ", 9")
    )
    assert assemble(text, "sm_110a").ok
    words = _random_words()
    found = run_tensor_kernel(text, np.zeros((1, 16), np.uint8), words, 5)[0]
    for thread in range(128):
        lane, first = thread // 32 * 32 + thread % 16, 9 * (thread % 32 // 16)
        own = words[0, lane, first : first + 4]
        assert np.array_equal(found[thread, :4], own)
        assert found[thread, 4].view(np.int32) == own.view(np.int32).max()


@together(
    ("load", "target", "message"),
    [
        (_load("32x32b", 4, "max.s32", 4), "sm_100a", "ld.red does not exist on sm_100a; supported on sm_103a"),
        (_load("32x32b", 1, "max.s32", 4), "sm_103a", "at least .x2"),
        (_load("16x64b", 4, "max.s32", 4), "sm_103a", "expected one of .32x32b, .16x32bx2"),
        (_load("32x32b", 4, "max.abs.s32", 4), "sm_103a", "with .f32 only"),
        (_load("32x32b", 4, "max.b32", 4), "sm_103a", "expected one of .f32, .u32, .s32"),
        (_load("32x32b", 4, "pack::16b.max.s32", 4), "sm_103a", "unknown modifier .pack::16b"),
        (_load("32x32b", 4, "max.s32", 3), "sm_103a", "every destination register once"),
        (_load("32x32b", 4, "max.s32", 4).split("\n")[0], "sm_103a", "before tcgen05.wait::ld"),
        ("tcgen05.ld.red.sync.aligned.32x32b.x2.s32 {%v0, %v1}, %v4, [%r19];", "sm_103a", "one of .min, .max"),
    ],
)
def test_faults_of_loads_that_reduce(load: str, target: str, message: str):
    text = tensor_kernel(16, _COLUMNS, [], (0, 5), target=target, epilogue=load)
    with pytest.raises(SimError, match=message):
        run_tensor_kernel(text, np.zeros((1, 16), np.uint8), _random_words(), 5)


def _compressed(row: Words, operation: str, absolute: bool) -> list[int]:
    """Indices and words of the two of every four that are kept, one thread's."""
    meta, kept = 0, list[int]()
    for group in range(len(row) // 4):
        own = row[4 * group : 4 * group + 4]
        numbers = [abs(each) if absolute else each for each in own.view(np.float32).tolist()]
        sign = 1 if operation == "min" else -1
        keys = [
            (0, 0.0, 0, at) if each != each else (1, sign * each, sign * -int(np.signbit(each)), at)
            for at, each in enumerate(numbers)
        ]
        chosen = sorted(key[-1] for key in sorted(keys)[:2])
        meta |= (chosen[0] | chosen[1] << 2) << 4 * group
        kept += [int(own[at]) for at in chosen]
    return [meta, *kept]


def _compressing(modifiers: str, operands: str, count: int = 16) -> str:
    load = f"tcgen05.ld.{'red.' * ('%v9' in operands)}spcompress.sync.aligned.32x32b.x{count}.{modifiers}"
    return f"{load} {operands}, [%r19];\ntcgen05.wait::ld.sync.aligned;"


@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.parametrize("absolute", [False, True])
def test_loads_that_keep_two_of_four(operation: str, absolute: bool):
    """Words of indices, what is kept in its order, and the reduction of all."""
    words = _floats()
    form = f"{operation}.sp::2:4{'.abs' * absolute}{'.NaN' * (not absolute)}.f32.b2"
    operands = f"{{%v0}}, {vector(8, 1)}" + ", %v9" * (not absolute)
    epilogue = _compressing(form, operands)
    text = tensor_kernel(16, _COLUMNS, [], (0, 10 - absolute), target="sm_107a", version="9.4", epilogue=epilogue)
    assert assemble(text, "sm_107a").ok
    found = run_tensor_kernel(text, np.zeros((1, 16), np.uint8), words, 10 - absolute)[0]
    expected = np.array([_compressed(row, operation, absolute) for row in words[0]], np.uint64)
    assert np.array_equal(found[:, :9], expected)
    if not absolute:
        assert np.array_equal(found[:, 9], _reduced(words[0], operation, "NaN", "f32"))


@together(
    ("load", "target", "message"),
    [
        (_compressing("min.sp::2:4.f32.b2", f"{{%v0}}, {vector(8, 1)}"), "sm_103a", "does not exist on sm_103a"),
        (_compressing("min.sp::2:4.f32.b2", "{%v0}, {%v1}", 2), "sm_107a", "expected at least .x4 with .spcompress"),
        (_compressing("min.sp::2:4.NaN.f32.b2", f"{{%v0}}, {vector(8, 1)}"), "sm_107a", "expected .NaN with .red only"),
        (_compressing("min.sp::2:4.abs.f32.b2", f"{{%v0}}, {vector(8, 1)}, %v9"), "sm_107a", "not simulated"),
    ],
)
def test_faults_of_loads_that_keep_two_of_four(load: str, target: str, message: str):
    text = tensor_kernel(16, _COLUMNS, [], (0, 5), target=target, version="9.4", epilogue=load)
    with pytest.raises(SimError, match=message):
        run_tensor_kernel(text, np.zeros((1, 16), np.uint8), _random_words(), 5)


@pytest.mark.parametrize("shape", ["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"])
def test_packed_halves(shape: str):
    """Halves that .unpack::16b stores to two columns each, .pack::16b loads; the halves above are zero."""
    count = {"16x128b": 2, "16x256b": 4}.get(shape, 1) * 2
    split = ", 8" if shape == "16x32bx2" else ""
    store = f"[%r19]{split}, {vector(count, 8)}" if split else f"[%r19], {vector(count, 8)}"
    # Each register has its number and that of the thread.
    numbers = " ".join(f"mad.lo.u32 %v{8 + i}, %r0, 65537, {i + 1 << 8 | i + 1 << 24:#x};" for i in range(count))
    epilogue = f"""{numbers}
tcgen05.st.sync.aligned.{shape}.x2.unpack::16b.b32 {store}; tcgen05.wait::st.sync.aligned;
tcgen05.ld.sync.aligned.{shape}.x2.pack::16b.b32 {vector(count)}, [%r19]{split}; tcgen05.wait::ld.sync.aligned;"""
    text = tensor_kernel(16, 0, [], (0, count), epilogue=epilogue)
    assert assemble(text, "sm_100a").ok
    found = run_tensor_kernel(text, np.zeros((1, 16), np.uint8), np.zeros((1, 128, 0), np.uint32), count)[0]
    threads, registers = np.arange(128)[:, None], np.arange(count)[None, :]
    assert np.array_equal(found, threads * 65537 + (registers + 1 << 8 | registers + 1 << 24))


def _fault(issue: Sequence[str], words: Words | None = None, target: str = "sm_100a") -> None:
    text = tensor_kernel(4096, _COLUMNS, issue, (0, _COLUMNS), target=target)
    run_tensor_kernel(text, np.zeros((1, 4096), np.uint8), _random_words() if words is None else words, _COLUMNS)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("tcgen05.shift.cta_group::1 [%tm];", "expected one of .down"),
        ("tcgen05.shift.cta_group::1.up [%tm];", "expected one of .down"),
        ("tcgen05.shift.down [%tm];", "expected one of .cta_group::1"),
        ("add.u32 %x0, %tm, 0x100000; tcgen05.shift.cta_group::1.down [%x0];", "a multiple of 32, found 16"),
        ("tcgen05.shift.cta_group::1.down [%tm], %y0;", "expected 1 operands"),
        ("tcgen05.cp.cta_group::1.128x128b.warpx4 [%tm], %desc;", "no tcgen05.cp of .128x128b with warpx4"),
        ("tcgen05.cp.cta_group::1.64x128b [%tm], %desc;", "no tcgen05.cp of .64x128b with no multicast"),
        ("tcgen05.cp.cta_group::1.128x128b.b8x16 [%tm], %desc;", "expected one of .b4x16_p64, .b6x16_p32"),
        ("tcgen05.cp.cta_group::1.128x128b.b6x16_p32 [%tm], %desc;", "unknown modifier .b6x16_p32"),
        ("tcgen05.cp.cta_group::1.128x128b [%tm], %desc;", "bits 46-48 must be 0b001"),
        ("add.u32 %x0, %tm, 0x100000; or.b64 %y0, %desc, 0x400800080000; "
         "tcgen05.cp.cta_group::1.128x128b [%x0], %y0;", "expected lane 0 in the destination, found 16"),
        ("add.u32 %x0, %tm, 0x200000; or.b64 %y0, %desc, 0x400800080000; "
         "tcgen05.cp.cta_group::1.4x256b [%x0], %y0;", "expected lane 0-31 in the destination, found 32"),
    ],
)  # fmt: skip
def test_faults(instruction: str, message: str):
    with pytest.raises(SimError, match=message) as caught:
        _fault([instruction])
    assert caught.value.line is not None


def test_shift_is_of_some_targets():
    with pytest.raises(SimError, match="shift does not exist on sm_100f; supported on sm_100a, sm_103a"):
        _fault(["tcgen05.shift.cta_group::1.down [%tm];"], target="sm_100f")


def test_lanes_of_a_warp() -> None:
    """The first of its 32 lanes, or with shapes of 16 lanes also the one in the middle."""
    shapes = {"32x32b": (0,), **dict.fromkeys(("16x64b", "16x128b", "16x256b", "16x32bx2"), (0, 16))}
    for shape, starts in shapes.items():
        for warp in (0, 3, 6):
            own = warp % 4 * 32
            shown = " or ".join(str(own + start) for start in starts)
            for lane in (0, 15, 16, 17, 31, 32, 64, 80, 95, 96, 111, 112, 113):
                if lane - own in starts:
                    check_warp_lanes(shape, lane, warp)
                    continue
                assert message_of(lambda shape=shape, lane=lane, warp=warp: check_warp_lanes(shape, lane, warp)) == (
                    f"expected lane {shown} in the address of a {shape} access by warp {warp} (it may touch lanes "
                    f"{own}-{own + 31}), found {lane}"
                )
