"""Elementwise instructions: against the results of a GPU, bit by bit, and against Python's integers."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.instructions import CASES, GPU_CASES, Case, edge_operands, module, module_of_all
from unit.sim.kernels import DATA, run_threads
from unit.sim.strict import run

_THREADS = 256
_GPU_RESULTS = np.frombuffer(lzma.decompress((DATA / "gpu_results.xz").read_bytes()), np.uint64).reshape(-1, _THREADS)

# Instructions that the hardware approximates: the relative error between it and the exact result.
_APPROXIMATE = {"rcp": 2e-7, "rsqrt": 2e-7, "sqrt": 2e-7, "ex2": 1e-6, "lg2": 1e-6, "tanh": 1e-3, "sin": 1e-5}
_HALF_ERROR = 2e-3


def _run(case: Case, words: list[int]) -> npt.NDArray[np.uint64]:
    inputs = np.array(words, np.uint64).reshape(-1, 3)
    result = np.zeros(len(inputs), np.uint64)
    run(module([case]), "k0", 1, len(inputs), [inputs, result])
    return result


def _run_all(cases: list[Case], words: list[list[int]]) -> npt.NDArray[np.uint64]:
    """Results of all cases (cases, threads), each for its words."""
    inputs = np.array(words, np.uint64)
    result = np.zeros((len(cases), inputs.shape[1] // 3), np.uint64)
    run(module_of_all(cases, result.shape[1]), "all", 1, result.shape[1], [inputs, result])
    return result


def test_results_of_a_gpu():
    found = _run_all(GPU_CASES, [edge_operands(widths) for _, widths in GPU_CASES])
    for case, result, expected in zip(GPU_CASES, found, _GPU_RESULTS, strict=True):
        _compare(case, result, expected)


def _compare(case: Case, result: npt.NDArray[np.uint64], expected: npt.NDArray[np.uint64]) -> None:
    name, widths = case
    words = edge_operands(widths)
    root = name.split(".")[0]
    if "approx" in name and not name.endswith("f64"):
        dtype = np.float16 if name.endswith("f16") else np.float32
        got, want = (
            each.astype(f"u{np.dtype(dtype).itemsize}").view(dtype).astype(np.float64) for each in (result, expected)
        )
        operand = np.array(words, np.uint64).reshape(-1, 3)[:, 0].astype(np.uint32).view(np.float32)
        # The range reduction of sin.approx is worth nothing for large operands.
        checked = np.abs(operand) < 100 if root == "sin" else np.ones(_THREADS, np.bool_)
        assert np.array_equal(np.isnan(got), np.isnan(want))
        error = _HALF_ERROR if dtype == np.float16 else _APPROXIMATE[root]
        np.testing.assert_allclose(got[checked], want[checked], rtol=error, atol=1e-38)
        return
    if root == "fns":  # the GPU does not find the -2^31st bit as it does not find others
        counts = np.array(words, np.uint64).reshape(-1, 3)[:, 2]
        result, expected = result[counts != 0x80000000], expected[counts != 0x80000000]
    assert [hex(each) for each in result.tolist()] == [hex(each) for each in expected.tolist()], name


# References on Python's integers: operands and result are of the type, wider results are cut.


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b) if b else -1


def _byte_dot(signed_a: bool, signed_b: bool) -> Callable[[int, int, int], int]:
    def dot(a: int, b: int, c: int) -> int:
        left, right = (x.to_bytes(4, "little") for x in (a & 0xFFFFFFFF, b & 0xFFFFFFFF))
        pairs = zip(left, right, strict=True)
        return c + sum(_signed(x, 8, signed_a) * _signed(y, 8, signed_b) for x, y in pairs)

    return dot


def _signed(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _clamped(value: int, bits: int) -> int:
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, value))


# By instruction without its type; functions of three operands, integers of the type (0 for none), and its bits.
_REFERENCES: dict[str, Callable[[int, int, int, int], int]] = {
    "add": lambda a, b, c, bits: a + b,
    "sub": lambda a, b, c, bits: a - b,
    "mul.lo": lambda a, b, c, bits: a * b,
    "mul.hi": lambda a, b, c, bits: a * b >> bits,
    "mul.wide": lambda a, b, c, bits: a * b,
    "mad.lo": lambda a, b, c, bits: a * b + c,
    "mad.hi": lambda a, b, c, bits: (a * b >> bits) + c,
    "mad.wide": lambda a, b, c, bits: a * b + c,
    "mad.hi.sat": lambda a, b, c, bits: _clamped((a * b >> bits) + c, bits),
    "sad": lambda a, b, c, bits: c + abs(a - b),
    "div": lambda a, b, c, bits: _quotient(a, b),
    "rem": lambda a, b, c, bits: _remainder(a, b),
    "min": lambda a, b, c, bits: min(a, b),
    "max": lambda a, b, c, bits: max(a, b),
    "add.sat": lambda a, b, c, bits: _clamped(a + b, bits),
    "sub.sat": lambda a, b, c, bits: _clamped(a - b, bits),
    "neg": lambda a, b, c, bits: -a,
    "abs": lambda a, b, c, bits: abs(a),
    "and": lambda a, b, c, bits: a & b,
    "or": lambda a, b, c, bits: a | b,
    "xor": lambda a, b, c, bits: a ^ b,
    "not": lambda a, b, c, bits: ~a,
    "cnot": lambda a, b, c, bits: int(a == 0),
    "shl": lambda a, b, c, bits: a << min(b, bits),
    "shr": lambda a, b, c, bits: a >> min(b, bits),
    "popc": lambda a, b, c, bits: a.bit_count(),
    "clz": lambda a, b, c, bits: bits - a.bit_length(),
    "brev": lambda a, b, c, bits: int(f"{a:0{bits}b}"[::-1], 2),
    "bfind": lambda a, b, c, bits: (~a if a < 0 else a).bit_length() - 1,
    "shf.l.wrap": lambda a, b, c, bits: (a | b << 32) << (c & 31) >> 32,
    "shf.l.clamp": lambda a, b, c, bits: (a | b << 32) << min(c, 32) >> 32,
    "shf.r.wrap": lambda a, b, c, bits: (a | b << 32) >> (c & 31),
    "shf.r.clamp": lambda a, b, c, bits: (a | b << 32) >> min(c, 32),
    "bmsk.wrap": lambda a, b, c, bits: (1 << (b & 31)) - 1 << (a & 31),
    "bmsk.clamp": lambda a, b, c, bits: (1 << min(b, 32)) - 1 << a if a < 32 else 0,
    "bfind.shiftamt": lambda a, b, c, bits: bits - (a ^ a >> bits).bit_length() if a not in (0, -1) else -1,
}


def _of_low_bits(signed: bool) -> dict[str, Callable[[int, int, int, int], int]]:
    """Instructions on 24 bits, or as many as the second operand says."""
    return {
        "mul24.lo": lambda a, b, c, bits: _signed(a, 24, signed) * _signed(b, 24, signed),
        "mul24.hi": lambda a, b, c, bits: _signed(a, 24, signed) * _signed(b, 24, signed) >> 16,
        "mad24.lo": lambda a, b, c, bits: _signed(a, 24, signed) * _signed(b, 24, signed) + c,
        "mad24.hi": lambda a, b, c, bits: (_signed(a, 24, signed) * _signed(b, 24, signed) >> 16) + c,
        "szext.wrap": lambda a, b, c, bits: _signed(a, b & 31, signed) if b & 31 else 0,
        "szext.clamp": lambda a, b, c, bits: _signed(a, min(b & 0xFFFFFFFF, 32), signed) if b else 0,
    }


for _type, _is_signed in (("u32", False), ("s32", True)):
    _REFERENCES.update({f"{root}.{_type}": reference for root, reference in _of_low_bits(_is_signed).items()})


def _reference(name: str) -> Callable[[int, int, int, int], int] | None:
    return _REFERENCES.get(name) or _REFERENCES.get(name.rpartition(".")[0])


def _is_integer(case: Case) -> bool:
    type_name = case[0].rpartition(".")[2]
    return _reference(case[0]) is not None and type_name[0] in "bus" and type_name[1:].isdigit()


_INTEGER_CASES = [case for case in CASES if _is_integer(case)]


def _mixed_words(rng: np.random.Generator, widths: tuple[int, ...]) -> list[int]:
    """Edges and random words."""
    edges = edge_operands(widths)
    return edges[: 3 * 128] + rng.integers(0, 2**64, 3 * 128, dtype=np.uint64).tolist()


def test_integers():
    words = [_mixed_words(np.random.default_rng(index), case[1]) for index, case in enumerate(_INTEGER_CASES)]
    found = _run_all(_INTEGER_CASES, words)
    for case, own, result in zip(_INTEGER_CASES, words, found.tolist(), strict=True):
        _check_integers(case, own, result)


def _check_integers(case: Case, words: list[int], result: list[int]) -> None:
    name, widths = case
    root, type_name = name.rsplit(".", 1)
    bits, signed = int(type_name[1:]), type_name[0] == "s"
    reference = _reference(name)
    assert reference is not None
    for row, got in enumerate(result):
        operands = [
            # Shift amounts are unsigned.
            _signed(words[3 * row + place], width, signed and not (root in ("shl", "shr") and place == 1))
            for place, width in enumerate(widths[1:])
        ]
        a, b, c = (*operands, 0, 0)[:3]
        assert got == reference(a, b, c, bits) & ((1 << widths[0]) - 1), (name, operands)


def _inserted(a: int, b: int, position: int, length: int, bits: int) -> int:
    """bfi as the pseudocode of the PTX ISA has it."""
    for i in range(length & 0xFF):
        at = (position & 0xFF) + i
        if at < bits:
            b = b & ~(1 << at) | (a >> i & 1) << at
    return b


def test_bit_field_inserts() -> None:
    """Fields that end at, cross and lie behind the last bit; positions and lengths count modulo 256."""
    edges = (0, 1, 7, 31, 32, 33, 63, 64, 65, 255, 256, 264)
    places = [(position, length) for position in edges for length in edges]
    a, b = 0x9234567, 0xF0F05A5A
    rows = np.array([(a, b, position, length) for position, length in places], np.uint32)
    wide = "mov.b64 %d0, {%a0, %a1}; mov.b64 %d1, {%a1, %a0}; bfi.b64 %d2, %d0, %d1, %a2, %a3; mov.b64 {%o1, %o2}, %d2;"
    found = run_threads(f"bfi.b32 %o0, %a0, %a1, %a2, %a3; {wide}", rows, 3)
    for (position, length), (narrow, low, high) in zip(places, found.tolist(), strict=True):
        assert narrow == _inserted(a, b, position, length, 32), (position, length)
        assert low | high << 32 == _inserted(a | b << 32, b | a << 32, position, length, 64), (position, length)


_TABLES = (0x00, 0x01, 0x80, 0x6C, 0xE8, 0xFF)


def test_look_up_tables() -> None:
    """Bit i of the table is the result for (a, b, c) = the bits of i; the predicate is (result != 0) op c."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 1 << 32, (8, 4), np.uint32)
    rows[:2] = 0
    rows[2:4] = 0xFFFFFFFF
    rows[:, 3] = np.arange(8) % 2
    for operation in ("and", "or"):
        body = "setp.ne.u32 %p0, %a3, 0;"
        for index, table in enumerate(_TABLES):
            body += f"lop3.{operation}.b32 %o{2 * index}|%p1, %a0, %a1, %a2, {table}, %p0;"
            body += f"selp.u32 %o{2 * index + 1}, 1, 0, %p1;"
        found = run_threads(body + f"lop3.b32 %o{2 * len(_TABLES)}, %a0, %a1, %a2, 0xE8;", rows, 2 * len(_TABLES) + 1)
        for (a, b, c, given), words in zip(rows.tolist(), found.tolist(), strict=True):
            bits = [(a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) for i in range(32)]
            expected = [sum((table >> which & 1) << i for i, which in enumerate(bits)) for table in _TABLES]
            holds = [int(word != 0 and given) if operation == "and" else int(word != 0 or given) for word in expected]
            assert words[:-1:2] == expected and words[1::2] == [int(bool(each)) for each in holds]
            assert words[-1] == expected[_TABLES.index(0xE8)]


@pytest.mark.parametrize("types", ["u32.u32", "u32.s32", "s32.u32", "s32.s32"])
def test_dot_products(types: str):
    case = next(case for case in CASES if case[0] == f"dp4a.{types}")
    signed_a, signed_b = (name == "s32" for name in types.split("."))
    words = _mixed_words(np.random.default_rng(1), case[1])
    reference = _byte_dot(signed_a, signed_b)
    for row, got in enumerate(_run(case, words).tolist()):
        a, b, c = (word & 0xFFFFFFFF for word in words[3 * row : 3 * row + 3])
        assert got == reference(a, b, c) & 0xFFFFFFFF


@pytest.mark.parametrize("index", range(0, len(CASES), 9), ids=[case[0] for case in CASES[::9]])
@pytest.mark.sample(10)
def test_lanes_do_not_depend_on_their_neighbours(index: int):
    """The same operands give the same results when the thread group is narrower, and in another order."""
    words = np.array(_mixed_words(np.random.default_rng(index), CASES[index][1]), np.uint64).reshape(-1, 3)
    whole = _run(CASES[index], words.ravel().tolist())
    order = np.random.default_rng(0).permutation(len(words))[:40]
    assert np.array_equal(_run(CASES[index], words[order].ravel().tolist()), whole[order])


_MODES = ("rz", "rm", "rp")
_EXACT: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


@pytest.mark.sample(9)
@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("name", _EXACT)
@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_directed_rounding(name: str, mode: str, type_name: str):
    """The result is on the right side of the exact one, and no number is between them."""
    case = next(case for case in CASES if case[0] == f"{name}.{mode}.{type_name}")
    dtype = np.dtype(np.float32 if type_name == "f32" else np.float64)
    rng = np.random.default_rng(3)
    values = rng.standard_normal((64, 3)).astype(dtype) * rng.choice([1, 1e-15, 1e12], (64, 3)).astype(dtype)
    words = values.view(f"u{dtype.itemsize}").astype(np.uint64).ravel().tolist()
    result = _run(case, words).astype(f"u{dtype.itemsize}").view(dtype)
    for (a, b, _), got in zip(values.tolist(), result, strict=True):
        exact = _EXACT[name](Fraction(a), Fraction(b))
        below, above = (Fraction(float(np.nextafter(got, dtype.type(end)))) for end in (-np.inf, np.inf))
        rounds_down = mode == "rm" or (mode == "rz" and exact > 0)
        if rounds_down:
            assert Fraction(float(got)) <= exact < above
        else:
            assert below < exact <= Fraction(float(got))
