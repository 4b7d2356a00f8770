"""Video instructions against Python's integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from unit.cases import together
from unit.sim.assembled import assembled
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError

_EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678, 33)


def _run(instructions: list[str]) -> tuple[list[list[int]], list[list[int]]]:
    """Operands a, b, c of 128 threads, and the results of the instructions, of which each writes %r8."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**32, (128, 4), dtype=np.uint32)
    words[:96] = rng.choice(np.array(_EDGES, np.uint32), (96, 4))
    out = np.zeros((128, len(instructions)), np.uint32)
    body = "\n".join(f"{text} st.global.b32 [%d1+{4 * index}], %r8;" for index, text in enumerate(instructions))
    text = entry(
        f"""
  mov.u32 %r31, %tid.x; ld.param.u64 %d0, [p]; ld.param.u64 %d1, [q]; mad.wide.u32 %d0, %r31, 16, %d0;
  mad.wide.u32 %d1, %r31, {4 * len(instructions)}, %d1; ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%d0];
  {body}""",
        ("p", "q"),
    )
    run(assembled(text), "k", 1, 128, [words, out])
    return words.tolist(), out.T.tolist()


def _part(value: int, selector: str, signed: bool) -> int:
    """`b2` of a word, extended."""
    bits = {"b": 8, "h": 16, "": 32}[selector[:1]]
    field = value >> int(selector[1:] or 0) * bits & ((1 << bits) - 1)
    return field - (1 << bits) if signed and field >> (bits - 1) else field


def _clamp(value: int, bits: int, signed: bool) -> int:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return max(low, min(high, value))


_SCALAR: dict[str, Callable[[int, int], int]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


_Forms = list[tuple[str, Callable[[int, int, int], int]]]


def _check(forms: _Forms) -> None:
    words, results = _run([text for text, _ in forms])
    for (text, reference), result in zip(forms, results, strict=True):
        assert result == [reference(*row[:3]) & 0xFFFFFFFF for row in words], text


def _scalar_forms(name: str, types: tuple[str, str, str], parts: tuple[str, str]) -> _Forms:
    """An instruction with and without saturation, combined with c, and into a part of c."""
    d, a, b = (each == "s32" for each in types)
    at_a, at_b = (
        f"{register}.{part}" if part else register for register, part in zip(("%r0", "%r1"), parts, strict=True)
    )
    start = f"{name}.{'.'.join(types)}"

    def plain(p: int, q: int, r: int) -> int:
        return _SCALAR[name](_part(p, parts[0], a), _part(q, parts[1], b))

    return [
        (f"{start} %r8, {at_a}, {at_b};", plain),
        (f"{start}.sat %r8, {at_a}, {at_b};", lambda p, q, r: _clamp(plain(p, q, r), 32, d)),
        (f"{start}.add %r8, {at_a}, {at_b}, %r2;", lambda p, q, r: plain(p, q, r) + r),
        (
            f"{start}.min %r8, {at_a}, {at_b}, %r2;",
            lambda p, q, r: min(_part(plain(p, q, r) & 0xFFFFFFFF, "", d), _part(r, "", d)),
        ),
        (
            f"{start}.sat %r8.b2, {at_a}, {at_b}, %r2;",
            lambda p, q, r: r & 0xFF00FFFF | (_clamp(plain(p, q, r), 8, d) & 0xFF) << 16,
        ),
    ]


@pytest.mark.parametrize("name", _SCALAR)
def test_scalar(name: str):
    selectors = [("", ""), ("b1", "h1"), ("h0", "b3")]
    names = ("u32", "s32")
    types = [(d, a, b) for d in names for a in names for b in names]
    _check([form for index, own in enumerate(types) for form in _scalar_forms(name, own, selectors[index % 3])])


def _shift_forms(name: str, mode: str, d: str, a: str) -> _Forms:
    def shifted(p: int, q: int, r: int) -> int:
        by = q & 31 if mode == "wrap" else min(q, 32)
        value = _part(p, "", a == "s32")
        return value << by if name == "vshl" else value >> by

    return [
        (f"{name}.{d}.{a}.u32.{mode} %r8, %r0, %r1;", shifted),
        (f"{name}.{d}.{a}.u32.sat.{mode} %r8, %r0, %r1;", lambda p, q, r: _clamp(shifted(p, q, r), 32, d == "s32")),
    ]


@pytest.mark.sample(2)
@pytest.mark.parametrize("mode", ["clamp", "wrap"])
@pytest.mark.parametrize("name", ["vshl", "vshr"])
def test_shifts(name: str, mode: str):
    names = ("u32", "s32")
    _check([form for d in names for a in names for form in _shift_forms(name, mode, d, a)])


def test_vmad():
    def mixed(p: int, q: int, r: int) -> int:
        return _part(p, "h0", True) * _part(q, "b3", False) + _part(r, "", True)

    def unsigned(p: int, q: int, r: int) -> int:
        return p * q + r

    forms: _Forms = [
        ("vmad.s32.s32.u32 %r8, %r0.h0, %r1.b3, %r2;", mixed),
        ("vmad.s32.s32.u32.sat.shr7 %r8, %r0.h0, %r1.b3, %r2;", lambda p, q, r: _clamp(mixed(p, q, r) >> 7, 32, True)),
        ("vmad.u32.u32.u32.sat.shr15 %r8, %r0, %r1, %r2;", lambda p, q, r: _clamp(unsigned(p, q, r) >> 15, 32, False)),
        ("vmad.u32.u32.u32.po.shr7 %r8, %r0, %r1, %r2;", lambda p, q, r: (unsigned(p, q, r) + 1) >> 7),
        ("vmad.s32.u32.u32 %r8, -%r0, %r1, %r2;", lambda p, q, r: -p * q + _part(r, "", True)),
        ("vmad.s32.u32.u32.sat %r8, %r0.b0, %r1.b0, -%r2;", lambda p, q, r: _clamp(
            _part(p, "b0", False) * _part(q, "b0", False) - _part(r, "", True), 32, True)),
    ]  # fmt: skip
    _check(forms)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def _set_forms(name: str) -> _Forms:
    def holds(p: int, q: int, r: int) -> int:
        return int(_COMPARISONS[name](_part(p, "b1", True), _part(q, "h1", False)))

    return [
        (f"vset.s32.u32.{name} %r8, %r0.b1, %r1.h1;", holds),
        (f"vset.s32.u32.{name}.add %r8, %r0.b1, %r1.h1, %r2;", lambda p, q, r: holds(p, q, r) + r),
        (f"vset.s32.u32.{name} %r8.h1, %r0.b1, %r1.h1, %r2;", lambda p, q, r: r & 0xFFFF | holds(p, q, r) << 16),
    ]


def test_vset():
    _check([form for name in _COMPARISONS for form in _set_forms(name)])


def _average(a: int, b: int) -> int:
    """Ties away from zero."""
    return (a + b + (a + b >= 0)) >> 1


@pytest.mark.parametrize(
    ("text", "parts_a", "parts_b", "computed"),
    [
        ("{}2.s32.s32.u32.sat %r8, %r0, %r1, %r2;", (0, 1), (2, 3), (0, 1)),
        ("{}2.s32.s32.u32.sat %r8.h1, %r0.h31, %r1.h02, %r2;", (1, 3), (2, 0), (1,)),
        ("{}2.u32.s32.s32.add %r8.h10, %r0.h13, %r1.h22, %r2;", (3, 1), (2, 2), (0, 1)),
        ("{}4.u32.s32.u32.sat %r8.b31, %r0.b3210, %r1.b7531, %r2;", (0, 1, 2, 3), (1, 3, 5, 7), (1, 3)),
        ("{}4.s32.u32.u32.add %r8.b210, %r0.b7654, %r1.b0123, %r2;", (4, 5, 6, 7), (3, 2, 1, 0), (0, 1, 2)),
    ],
)
@pytest.mark.parametrize("name", [*_SCALAR, "vavrg"])
@pytest.mark.sample(5)
def test_all_parts(name: str, text: str, parts_a: tuple[int, ...], parts_b: tuple[int, ...], computed: tuple[int, ...]):
    operation = _SCALAR.get(name, _average)
    words, (result,) = _run([text.format(name)])
    count = len(parts_a)
    bits, letter = 32 // count, "h" if count == 2 else "b"
    d, a, b = ("s32" in each for each in text.split(" ")[0].split(".")[1:4])
    for (p, q, r, _), got in zip(words, result, strict=True):

        def pick(which: int, signed: bool, p: int = p, q: int = q) -> int:
            return _part((p, q)[which // count], f"{letter}{which % count}", signed)

        values = [operation(pick(x, a), pick(y, b)) for x, y in zip(parts_a, parts_b, strict=True)]
        if ".add" in text:
            assert got == (r + sum(values[index] for index in computed)) & 0xFFFFFFFF
            continue
        expected = r
        for index in computed:
            field = ((1 << bits) - 1) << index * bits
            expected = expected & ~field | (_clamp(values[index], bits, d) << index * bits & field)
        assert got == expected


@together(
    ("instruction", "message"),
    [
        ("vadd.s32.s32.s32 %r8, %r0.b4, %r1;", "expected one of .b0 to .b3"),
        ("vadd2.s32.s32.s32 %r8.h01, %r0, %r1, %r2;", "in descending order"),
        ("vadd4.s32.s32.s32 %r8, %r0.b83, %r1, %r2;", "expected 4 parts of a and b"),
        ("vmad.s32.s32.s32.po %r8, -%r0, %r1, %r2;", "found several of them"),
        ("vmad.s32.s32.s32 %r8, -%r0, %r1, -%r2;", "found several of them"),
        ("vmad.s32.s32.s32 %r8, %r0, -%r1, -%r2;", "found several of them"),
        ("vshl.u32.u32.s32.clamp %r8, %r0, %r1;", "expected .u32 as the type of b"),
        ("add.s32 %r8, -%r0, %r1;", "expected a register, a literal or a variable"),
    ],
)
def test_wrong_forms(instruction: str, message: str):
    with pytest.raises(SimError, match=message):
        run(entry(instruction), "k", 1, 32, [np.zeros(1, np.uint32)])
