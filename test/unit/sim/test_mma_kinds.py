"""Sparse, block-scaled and narrow mma.sync against numpy, with fragments built place by place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.warp_registers import operand_places, packed, result_places, run_registers

from tirx.sim import SimError

Array = npt.NDArray[Any]

# Element types: bits in registers, numbers of the tests, and numbers to codes.
_FLOATS: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
}
_BITS = {"s4": 4, "u4": 4, "f16": 16, "bf16": 16, "tf32": 32, "e2m1x2": 4}


def _bits(name: str) -> int:
    return _BITS.get(name, 8)


def _numbers(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> Array:
    """Integers that the type has, as float64."""
    limits = {"u4": (0, 16), "s4": (-8, 8), "u8": (0, 256), "s8": (-128, 128)}
    low, high = limits.get(name, (-4, 5))
    return rng.integers(low, high, shape).astype(np.float64)


def _codes(name: str, values: Array) -> Array:
    if name[0] in "su":
        return values.astype(np.int64) & ((1 << _bits(name)) - 1)
    dtype = np.dtype(_FLOATS[name.removesuffix("x2")])
    codes = np.ascontiguousarray(values.astype(dtype)).view(f"u{dtype.itemsize}").astype(np.int64)
    if name == "e2m1":  # in the middle of a byte
        return (codes & 15) << 2
    return codes & 15 if name == "e2m1x2" else codes


def _fragment(operand: str, name: str, matrix: Array) -> Array:
    rows, columns = operand_places(operand, matrix.shape[1], _bits(name))
    return packed(_codes(name, matrix)[rows, columns], _bits(name))


def _accumulators(name: str, values: Array) -> Array:
    """C (16, 8) in registers."""
    rows, columns = result_places()
    chosen = values[rows, columns]
    dtype = {"s32": np.int32, "f32": np.float32, "f16": np.float16}[name]
    return np.ascontiguousarray(chosen.astype(dtype)).view(np.uint32)


def _matrix(name: str, registers: Array) -> Array:
    dtype = {"s32": np.int32, "f32": np.float32, "f16": np.float16}[name]
    rows, columns = result_places()
    found = np.zeros((16, 8))
    found[rows, columns] = np.ascontiguousarray(registers).view(dtype)
    return found


# Where the metadata are: (steps of M + 16 K for the bits 0 and 1 of the number of a thread in its group of four), and
# the elements of K that a thread has codes of, for each of how many rows. As in CUTLASS's ELayout.
_METADATA: dict[str, tuple[tuple[int, int], int, int]] = {
    "f16": ((16 * 16, 0), 16, 2),
    "tf32": ((16 * 8, 0), 8, 2),
    "s8": ((8, 16 * 32), 32, 1),
    "s4": ((8, 16 * 64), 64, 1),
}
_LIKE = {"bf16": "f16", "u8": "s8", "e4m3": "s8", "e5m2": "s8", "e3m2": "s8", "e2m3": "s8", "e2m1": "s8"} | {
    "u4": "s4", "e2m1x2": "s4",
}  # fmt: skip


def _sparse(rng: np.random.Generator, name: str, k: int, selector: int, ordered: bool) -> tuple[Array, Array, Array]:
    """A random A (16, k), its stored elements (16, k / 2) and the metadata of all lanes."""
    steps, depth, rows = _METADATA[_LIKE.get(name, name)]
    chunk = {"tf32": 2, "s4": 8, "u4": 8, "e2m1x2": 8}.get(name, 4)
    unit = 2 if chunk == 8 else 1
    stored = _numbers(rng, name, (16, k // 2))
    full, codes = np.zeros((16, k)), np.zeros((16, k // chunk), np.int64)
    for row in range(16):
        for index in range(k // chunk):
            kept = rng.choice(chunk // unit, chunk // unit // 2, replace=False)
            if ordered:
                kept = np.sort(kept)
            codes[row, index] = (14 if kept[0] else 4) if chunk == 2 else kept[0] | kept[1] << 2
            for number, place in enumerate(kept):
                own = (index * chunk // 2) + number * unit
                at = index * chunk + place * unit
                full[row, at : at + unit] = stored[row, own : own + unit]
    threads = 16 * (k // chunk) * 4 // 32 // 8  # of four
    words = rng.integers(0, 2**32, 32, dtype=np.uint32)
    for lane in range(32):
        group, thread = divmod(lane, 4)
        if not selector * threads <= thread < (selector + 1) * threads:
            continue
        number = thread - selector * threads
        start = group + steps[0] * (number & 1) + steps[1] * (number >> 1)
        row, first = start % 16, start // 16
        bits = 0
        for half in range(rows):
            own = codes[row + 8 * half, first // chunk : (first + depth) // chunk]
            for place, code in enumerate(own.tolist()):
                bits |= code << (32 // rows * half + 4 * place)
        words[lane] = bits
    return full, stored, words[:, None]


_SPARSE = [
    ("m16n8k16", "f32", "f16", "f16", 3), ("m16n8k16", "f32", "bf16", "bf16", 1), ("m16n8k32", "f16", "f16", "f16", 1),
    ("m16n8k8", "f32", "tf32", "tf32", 2), ("m16n8k16", "f32", "tf32", "tf32", 1), ("m16n8k32", "s32", "s8", "u8", 1),
    ("m16n8k64", "s32", "u8", "s8", 0), ("m16n8k64", "s32", "s4", "u4", 1), ("m16n8k128", "s32", "u4", "s4", 0),
    ("m16n8k64", "f32", "e4m3", "e5m2", 0),
]  # fmt: skip


@pytest.mark.parametrize("variant", ["sp", "sp::ordered_metadata"])
@pytest.mark.parametrize(("shape", "result", "a", "b", "selector"), _SPARSE)
@pytest.mark.sample(5)
def test_sparse(shape: str, result: str, a: str, b: str, selector: int, variant: str):
    rng = np.random.default_rng(0)
    k = int(shape[shape.index("k") + 1 :])
    full, stored, words = _sparse(rng, a, k, selector, variant != "sp")
    right, old = _numbers(rng, b, (8, k)), rng.integers(-9, 9, (16, 8)).astype(np.float64)
    operands = {"a": _fragment("a", a, stored), "b": _fragment("b", b, right), "c": _accumulators(result, old)}
    name = f"mma.{variant}.sync.aligned.{shape}.row.col.{result}.{a}.{b}.{result}"
    text = f"{name} {{d}}, {{a}}, {{b}}, {{c}}, %e0, {selector};"
    found = run_registers(text, operands | {"e": words}, 2 if result == "f16" else 4)
    assert np.array_equal(_matrix(result, found), full @ right.T + old)


@pytest.mark.sample(3)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("a", "b", "result"),
    [("e4m3", "e2m1", "f32"), ("e3m2", "e2m3", "f32"), ("e2m1", "e5m2", "f16"), ("e2m3", "e3m2", "f16")],
)
def test_small_floats(a: str, b: str, result: str, sparse: bool):
    rng = np.random.default_rng(1)
    k = 64 if sparse else 32
    full, stored, words = _sparse(rng, a, k, 0, True) if sparse else (_numbers(rng, a, (16, k)),) * 2 + (np.zeros(32),)
    right, old = _numbers(rng, b, (8, k)), rng.integers(-9, 9, (16, 8)).astype(np.float64)
    operands = {"a": _fragment("a", a, stored), "b": _fragment("b", b, right), "c": _accumulators(result, old)}
    name, more = ("mma.sp::ordered_metadata", ", %e0, 0") if sparse else ("mma", "")
    operands |= {"e": words} if sparse else {}
    name = f"{name}.sync.aligned.m16n8k{k}.row.col.kind::f8f6f4.{result}.{a}.{b}.{result}"
    text = f"{name} {{d}}, {{a}}, {{b}}, {{c}}{more};"
    found = run_registers(text, operands, 2 if result == "f16" else 4)
    assert np.array_equal(_matrix(result, found), full @ right.T + old)


def _scales(
    rng: np.random.Generator, which: str, factors: int, byte: int, thread: int, name: str
) -> tuple[Array, Array]:
    """Factors (rows, factors), powers of two, and the registers (32, 1) that have them."""
    rows = 16 if which == "a" else 8
    powers = rng.integers(-3, 4, (rows, factors))
    words = rng.integers(0, 2**31, 32, dtype=np.uint32).view(np.uint8).reshape(32, 4) & 0x7F
    for row in range(rows):
        lane = 4 * (row % 8) + (2 * thread + row // 8 if which == "a" else thread)
        for index in range(factors):
            power = powers[row, index]
            code = power + 127 if name == "ue8m0" else int(np.array(2.0**power, ml_dtypes.float8_e4m3fn).view(np.uint8))
            words[lane, byte + index] = code
    return 2.0**powers, np.ascontiguousarray(words).view(np.uint32)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("kind", "size", "factor", "a", "b", "ids"),
    [
        ("mxf8f6f4", "", "ue8m0", "e4m3", "e2m1", (2, 1, 3, 3)),
        ("mxf8f6f4", ".scale_vec::1X", "ue8m0", "e3m2", "e5m2", (0, 0, 1, 2)),
        ("mxf4", "", "ue8m0", "e2m1", "e2m1", (2, 1, 0, 3)),
        ("mxf4nvf4", ".scale_vec::2X", "ue8m0", "e2m1", "e2m1", (0, 0, 2, 1)),
        ("mxf4nvf4", ".scale_vec::4X", "ue4m3", "e2m1", "e2m1", (0, 1, 0, 2)),
    ],
)
@pytest.mark.sample(5)
def test_block_scales(kind: str, size: str, factor: str, a: str, b: str, ids: tuple[int, ...], sparse: bool):
    rng = np.random.default_rng(2)
    k = (64 if kind.startswith("mxf4") else 32) * (2 if sparse else 1)
    factors = {"mxf8f6f4": 1, "mxf4": 2}.get(kind) or int(size[-2])
    names = (a + "x2", b + "x2") if kind.startswith("mxf4") else (a, b)
    numbers = _numbers(rng, a, (16, k))
    full, stored, words = _sparse(rng, names[0], k, 0, True) if sparse else (numbers, numbers, np.zeros((32, 1)))
    right, old = _numbers(rng, b, (8, k)), rng.integers(-9, 9, (16, 8)).astype(np.float64)
    scale_a, word_a = _scales(rng, "a", factors, ids[0], ids[1], factor)
    scale_b, word_b = _scales(rng, "b", factors, ids[2], ids[3], factor)
    operands = {"a": _fragment("a", names[0], stored), "b": _fragment("b", names[1], right)}
    operands |= {"c": _accumulators("f32", old), "x": word_a, "y": word_b} | ({"e": words} if sparse else {})
    name, more = ("mma.sp::ordered_metadata", ", %e0, 0") if sparse else ("mma", "")
    text = f"""{name}.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{size}.f32.{a}.{b}.f32.{factor}
      {{d}}, {{a}}, {{b}}, {{c}}{more}, %x0, {{{ids[0]}, {ids[1]}}}, %y0, {{{ids[2]}, {ids[3]}}};"""
    found = run_registers(text, operands, 4)
    wide = [np.repeat(scale, k // factors, axis=1) for scale in (scale_a, scale_b)]
    assert np.array_equal(_matrix("f32", found), (full * wide[0]) @ (right * wide[1]).T + old)


@pytest.mark.parametrize(
    ("shape", "a", "b"),
    [("m16n8k32", "s4", "u4"), ("m16n8k64", "u4", "s4"), ("m16n8k64", "s4", "s4"), ("m16n8k32", "s8", "u8")],
)
def test_narrow_integers(shape: str, a: str, b: str):
    rng = np.random.default_rng(3)
    k = int(shape[shape.index("k") + 1 :])
    left, right = _numbers(rng, a, (16, k)), _numbers(rng, b, (8, k))
    old = rng.integers(-9, 9, (16, 8)).astype(np.float64)
    operands = {"a": _fragment("a", a, left), "b": _fragment("b", b, right), "c": _accumulators("s32", old)}
    text = f"mma.sync.aligned.{shape}.row.col.s32.{a}.{b}.s32 {{d}}, {{a}}, {{b}}, {{c}};"
    assert np.array_equal(_matrix("s32", run_registers(text, operands, 4)), left @ right.T + old)


@pytest.mark.parametrize("operation", ["and", "xor"])
@pytest.mark.parametrize("k", [128, 256])
def test_single_bits(operation: str, k: int):
    rng = np.random.default_rng(4)
    left, right = rng.integers(0, 2, (16, k)), rng.integers(0, 2, (8, k))
    fragments: dict[str, Array] = {}
    for name, matrix in (("a", left), ("b", right)):
        rows, columns = operand_places(name, k, 1)
        fragments[name] = packed(matrix[rows, columns], 1)
    operands = fragments | {"c": np.zeros((32, 4), np.uint32)}
    text = f"mma.sync.aligned.m16n8k{k}.row.col.s32.b1.b1.s32.{operation}.popc {{d}}, {{a}}, {{b}}, {{c}};"
    both = left[:, None] & right[None] if operation == "and" else left[:, None] ^ right[None]
    assert np.array_equal(_matrix("s32", run_registers(text, operands, 4)), both.sum(axis=2))


_WRONG = {"a": np.zeros((32, 2), np.uint32), "b": np.zeros((32, 2), np.uint32), "c": np.zeros((32, 4), np.uint32)}
_SPARSE_TEXT = "mma.sp{order}.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{d}}, {{a}}, {{b}}, {{c}}, %e0, 0;"


@pytest.mark.parametrize(
    ("order", "word", "message"),
    [
        ("::ordered_metadata", 0x44444441, r"row 0, chunk 0: expected two places in order, found 0b0001"),
        ("", 0x44445444, r"row 0, chunk 3: expected two places, found 0b0101"),
    ],
)
def test_wrong_metadata(order: str, word: int, message: str):
    words = np.full((32, 1), word, np.uint32)
    with pytest.raises(SimError, match=message) as caught:
        run_registers(_SPARSE_TEXT.format(order=order), _WRONG | {"e": words}, 4)
    assert caught.value.text.startswith("mma.sp")


def test_factors_are_where_they_may_be():
    operands = {"a": np.zeros((32, 4)), "b": np.zeros((32, 2)), "c": np.zeros((32, 4)), "x": np.zeros((32, 1))}
    operands = {name: values.astype(np.uint32) for name, values in operands.items()}
    text = """{{ .reg .b16 %i<2>; mov.b16 %i0, {byte}; mov.b16 %i1, {thread};
  mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0
      {{d}}, {{a}}, {{b}}, {{c}}, %x0, {{%i0, %i1}}, %x0, {{0, 0}}; }}"""
    with pytest.raises(SimError, match="2 scale factors of A cannot start at byte 1"):
        run_registers(text.format(byte=1, thread=0), operands, 4)
    with pytest.raises(SimError, match="expected a thread id below 2 for the factors of A, found 2"):
        run_registers(text.format(byte=2, thread=2), operands, 4)
