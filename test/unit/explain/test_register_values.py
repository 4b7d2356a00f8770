"""Known values of registers: each instruction on constants, against its definition in the PTX ISA; unknown bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.explain import nearest, values
from tirx.explain.nearest import nearest_word
from tirx.explain.values import Values
from tirx.sim.reader import parse
from tirx.sim.reader.syntax import Name
from tirx.symbolic.integers import Integers

_A, _B = 0x9BCD1234, 0x80F0F017
_WIDE = 0x8123456789ABCDEF


def _known(body: str, name: str, width: int) -> Integers:
    """Known values of a register behind a body."""
    module = parse(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.shared .align 256 .b8 tiles[4096];\n"
        ".visible .entry k(.param .u64 x) {\n.reg .b64 %d<20>; .reg .b32 %r<20>; .reg .b16 %h<4>; .reg .pred %p<4>;\n"
        f"{body}\nst.shared.b{width} [tiles], {name};\nret; }}"
    )
    (function,) = module.functions.values()
    store = next(each for each in function.code if each.root == "st")
    return Values(function).of(store, Name(name), width)


def _signed(value: int, bits: int = 32) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


@together(
    ("body", "register", "value"),
    [
        (f"mov.b32 %r1, {_A:#x};", "%r1", _A),
        ("mov.b32 %r1, -3;", "%r1", 2**32 - 3),
        (f"mov.b32 %r2, {_A:#x}; mov.b32 %r1, %r2;", "%r1", _A),
        (f"mov.b64 %d1, {{{_A:#x}, {_B:#x}}};", "%d1", _B << 32 | _A),
        (f"mov.b64 {{%r2, %r1}}, {_WIDE:#x};", "%r1", _WIDE >> 32),
        (f"mov.b64 {{%r1, %r2}}, {_WIDE:#x};", "%r1", _WIDE & 0xFFFFFFFF),
        (f"mov.b64 {{%h0, %h1, %h2, %h3}}, {_WIDE:#x}; mov.b32 %r1, {{%h2, %h1}};", "%r1", 0x89AB4567),
        (f"add.s32 %r1, {_A:#x}, {_B:#x};", "%r1", _A + _B),
        (f"sub.u32 %r1, {_A:#x}, {_B:#x};", "%r1", _A - _B),
        (f"and.b32 %r1, {_A:#x}, {_B:#x};", "%r1", _A & _B),
        (f"or.b32 %r1, {_A:#x}, {_B:#x};", "%r1", _A | _B),
        (f"xor.b32 %r1, {_A:#x}, {_B:#x};", "%r1", _A ^ _B),
        (f"not.b32 %r1, {_A:#x};", "%r1", ~_A),
        (f"neg.s32 %r1, {_A:#x};", "%r1", -_A),
        (f"shl.b32 %r1, {_A:#x}, 5;", "%r1", _A << 5),
        (f"shl.b32 %r1, {_A:#x}, 31;", "%r1", _A << 31),
        (f"shl.b32 %r1, {_A:#x}, 32;", "%r1", None),
        (f"shl.b32 %r1, {_A:#x}, 0x80000001;", "%r1", None),
        (f"shr.u32 %r1, {_A:#x}, 5;", "%r1", _A >> 5),
        (f"shr.s32 %r1, {_A:#x}, 5;", "%r1", _signed(_A) >> 5),
        (f"shr.b32 %r1, {_A:#x}, 31;", "%r1", 1),
        (f"shr.u64 %d1, {_WIDE:#x}, 33;", "%d1", _WIDE >> 33),
        (f"mul.lo.s32 %r1, {_A:#x}, {_B:#x};", "%r1", _A * _B),
        (f"mul.hi.s32 %r1, {_A:#x}, {_B:#x};", "%r1", None),
        (f"mul.wide.u32 %d1, {_A:#x}, {_B:#x};", "%d1", _A * _B),
        (f"mul.wide.s32 %d1, {_A:#x}, {_B:#x};", "%d1", _signed(_A) * _signed(_B)),
        (f"mad.lo.s32 %r1, {_A:#x}, 7, {_B:#x};", "%r1", _A * 7 + _B),
        (f"mad.wide.s32 %d1, {_A:#x}, 7, {_WIDE:#x};", "%d1", _signed(_A) * 7 + _WIDE),
        (f"cvt.u64.u32 %d1, {_A:#x};", "%d1", _A),
        (f"cvt.s64.s32 %d1, {_A:#x};", "%d1", _signed(_A)),
        (f"cvt.u32.u64 %r1, {_WIDE:#x};", "%r1", _WIDE & 0xFFFFFFFF),
        (f"cvt.s64.u32 %d1, {_A:#x};", "%d1", _A),
        (f"cvt.u64.s32 %d1, {_A:#x};", "%d1", _signed(_A)),
        (f"cvt.s32.s64 %r1, {_WIDE:#x};", "%r1", _WIDE & 0xFFFFFFFF),
        ("cvt.rn.f32.s32 %r1, 5;", "%r1", None),
        ("cvt.rzi.s32.bf16 %r1, 0x3f80;", "%r1", None),
        ("cvt.rn.bf16.u32 %r1, 1;", "%r1", None),
        ("add.f32 %r1, 0f3F800000, 0f3F800000;", "%r1", None),
        *(
            (f"mov.b32 %r2, 5; {name}.f32 %r1, {operands};", "%r1", None)
            for name, operands in (
                ("add", "%r2, %r2"),
                ("sub", "%r2, %r2"),
                ("mul", "%r2, %r2"),
                ("mad", "%r2, %r2, %r2"),
                ("neg", "%r2"),
            )
        ),
        ("mov.b32 %r2, 5; add.u16x2 %r1, %r2, %r2;", "%r1", None),
        ("add.sat.s32 %r1, 0x7fffffff, 1;", "%r1", None),
        ("cvt.sat.u8.u32 %r1, 300;", "%r1", None),
        ("cvt.u16.u32 %r1, 0xffff8001;", "%r1", 0x8001),
        ("cvt.s16.s32 %r1, -1;", "%r1", 2**32 - 1),
        ("cvt.s8.u32 %r1, 0x17f;", "%r1", 0x7F),
        ("mov.pred %p1, 1; and.pred %p1, %p1, %p1; selp.b32 %r1, 7, 7, %p1;", "%r1", 7),
        ("mov.b32 %r2, 5; mov.f32 %r1, %r2;", "%r1", 5),
        ("mov.b32 %r2, 5; selp.f32 %r1, %r2, %r2, %p1;", "%r1", 5),
        (f"bfi.b32 %r1, {_A:#x}, {_B:#x}, 3, 7;", "%r1", _B & ~(0x7F << 3) | (_A & 0x7F) << 3),
        (f"bfi.b32 %r1, {_A:#x}, {_B:#x}, 25, 7;", "%r1", _B & ~(0x7F << 25) | (_A & 0x7F) << 25),
        (f"bfi.b32 %r1, {_A:#x}, {_B:#x}, 26, 7;", "%r1", None),
        (f"bfe.u32 %r1, {_A:#x}, 3, 7;", "%r1", _A >> 3 & 0x7F),
        (f"bfe.u32 %r1, {_A:#x}, 25, 7;", "%r1", _A >> 25),
        (f"bfe.u32 %r1, {_A:#x}, 26, 7;", "%r1", None),
        (f"bfe.s32 %r1, {_A:#x}, 3, 7;", "%r1", None),
        ("selp.b32 %r1, 5, 5, %p1;", "%r1", 5),
        ("shfl.sync.idx.b32 %r1, 77, 0, 31, -1;", "%r1", 77),
        ("shfl.sync.idx.b32 %r1|%p1, 77, 0, 31, -1;", "%r1", 77),
        ("mov.b32 %r1, 5; shfl.sync.idx.b32 %r1|%p1, 77, 0, 31, -1;", "%r1", None),
        ("mov.b32 %r1, 5; elect.sync %r1|%p1, -1;", "%r1", None),
        ("popc.b32 %r1, 5;", "%r1", None),
        ("ld.shared.b32 %r1, [tiles];", "%r1", None),
        ("mov.b32 %r1, 5; mov.b32 %r1, 5;", "%r1", 5),
        ("lop3.b32 %r1, 1, 2, 3, %r2;", "%r1", None),
        *[
            (f"mov.b32 %r1, 5; {wrong};", "%r1", None)  # which another operation would make 5
            for wrong in (
                *("mov.b32 %r1", "add.s32 %r1, 5", "shl.b32 %r1, 5", "mul.lo.s32 %r1, 5", "mad.lo.s32 %r1, 5, 1"),
                *(
                    "not.b32 %r1",
                    "bfi.b32 %r1, 5, 5, 0",
                    "bfe.u32 %r1, 5, 0",
                    "lop3.b32 %r1, 5, 5, 5",
                    "cvt.u32.u32 %r1",
                ),
            )
        ],
    ],
)
def test_constants(body: str, register: str, value: int | None):
    width = 64 if register[1] == "d" else 32
    found = _known(body, register, width)
    assert found.width == width
    assert found.value == (None if value is None else value & (1 << width) - 1)


_TWO = ("add.s32", "sub.s32", "and.b32", "or.b32", "xor.b32", "shl.b32", "shr.u32", "mul.lo.s32")
_OPERANDS = dict.fromkeys(_TWO, 2) | {
    "mad.lo.s32": 3, "bfi.b32": 4, "bfe.u32": 3, "lop3.b32": 4, "mov.b32": 1, "neg.s32": 1, "cvt.u32.u32": 1
}  # fmt: skip


@together(("name", "place"), [(name, i) for name, count in _OPERANDS.items() for i in range(count)])
def test_operands_without_a_value_yet(name: str, place: int):
    """Two registers that are made of each other: the analysis comes to %r2 before it has a value for %r1."""
    operands = ["0"] * _OPERANDS[name]
    operands[place] = "%r1"
    found = _known(f"mov.b32 %r1, 0; {name} %r2, {', '.join(operands)}; @%p1 mov.b32 %r1, %r2;", "%r1", 32)
    assert found == Integers.of(0, 32)


def test_registers_of_one_name():
    """A register is that of the innermost scope that declares it."""
    body = "mov.b32 %r1, 5;\n{\n.reg .b32 %r1;\nmov.b32 %r1, 7;\n{inside}\n}\n{outside}"
    for wanted, value in (("inside", 7), ("outside", 5)):
        places = {"inside": "", "outside": "", wanted: "mov.b32 %r2, %r1;"}
        text = body.replace("{inside}", places["inside"]).replace("{outside}", places["outside"])
        assert _known(text, "%r2", 32).value == value


@given(st.integers(0, 255), *[st.integers(0, 2**32 - 1)] * 3)
def test_lop3(table: int, a: int, b: int, c: int):
    """Bit i of the result is that of the table at the number that the bits of a, b and c spell."""
    expected = sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))
    assert _known(f"lop3.b32 %r1, {a:#x}, {b:#x}, {c:#x}, {table};", "%r1", 32).value == expected


@together(
    ("body", "zeros", "ones"),
    [
        ("and.b32 %r1, %r2, 0xf0;", ~0xF0, 0),
        ("or.b32 %r1, %r2, 0xf0;", 0, 0xF0),
        ("shl.b32 %r1, %r2, 4;", 0xF, 0),
        ("shr.u32 %r1, %r2, 4;", 0xF << 28, 0),
        ("shr.s32 %r1, %r2, 4;", 0, 0),
        ("shl.b32 %r1, 16, %r2;", 0, 0),
        ("selp.b32 %r1, 0xc, 0xa, %p1;", ~0xE, 0x8),
        ("mov.b32 %r1, 0xc; @%p1 mov.b32 %r1, 0xa;", ~0xE, 0x8),
        ("mov.b32 %r1, 0x1000c; @%p1 cvt.u16.u32 %r1, 0xa;", ~0x1000E, 0x8),
        ("cvt.u16.u32 %r1, 0xa; @%p1 mov.b32 %r1, 0x1000c;", ~0x1000E, 0x8),
        ("ld.shared.u8 %r1, [tiles];", ~0xFF, 0),
        ("ld.shared.s16 %r1, [tiles];", 0, 0),
        ("popc.b64 %r1, %d1;", 0, 0),
        ("mov.b32 %r1, tiles;", 0xFF | ~0 << 18, 0),
        ("mov.b32 %r1, tiles+32;", 0x1F | ~0 << 18, 0x20),
        ("bfi.b32 %r1, %r2, 0xf1, 4, 4;", ~0xF1 & ~0xF0, 0x1),
        ("mov.b32 %r1, %laneid;", ~31, 0),
        ("mov.b32 %r1, %r3;", 0, 0),
    ],
)
def test_bits_that_are_known(body: str, zeros: int, ones: int):
    found = _known(body, "%r1", 32)
    assert (found.zeros & found.ones, found.value) == (0, None)
    mask = 2**32 - 1
    if "mov.b32 %r1, tiles" in body:  # the first byte of shared memory is at a place below 256 KiB
        assert found.zeros & 0x1F == zeros & 0x1F & mask and found.ones & 0x1F == 0
        return
    assert (found.zeros, found.ones) == (zeros & mask, ones)


@together(
    ("body", "expected"),
    [
        ("mov.b32 %r1, %laneid;", Integers.within(0, 31, 32)),
        ("mov.u32 %r1, %ntid.x;", Integers.within(0, 1024, 32)),
        ("mov.b32 %r1, tiles;", Integers.within(0, 2**18 - 1, 32, 256)),
        ("mov.b32 %r1, tiles+32;", Integers.within(0, 2**18 - 1, 32, 256) + Integers.of(32, 32)),
        ("mov.b32 %r1, x;", Integers(32)),
    ],
)
def test_ranges(body: str, expected: Integers):
    assert _known(body, "%r1", 32) == expected


def test_narrow_registers_are_extended_by_zeros():
    assert _known("mov.b32 %r1, 0x80000000;", "%r1", 64) == Integers.of(0x80000000, 64)


@pytest.mark.parametrize(("passes", "highest"), [(0, 14), (1, 14), (2, 10), (3, 10)])
def test_ranges_of_growing_registers(monkeypatch: pytest.MonkeyPatch, passes: int, highest: int):
    """The second pass tells %r3 what %r1 may be; from then on only bits are kept, if ranges have had their passes."""
    monkeypatch.setattr(values, "_EXACT_PASSES", passes)
    found = _known("selp.b32 %r1, 0, %r2, %p1; selp.b32 %r2, 4, %r3, %p1; selp.b32 %r3, 10, %r1, %p1;", "%r1", 32)
    assert (found.low, found.high, found.divisor) == (0, highest, 2)


# The nearest word: fields a (bits 0-3), b (bits 4-7) and c (bits 8-11), and reserved bits 12-15.

_FIELDS: dict[str, Any] = {"a": (0, 4), "b": (4, 4), "c": (8, 4)}
_CODES: dict[str, Any] = {"a": range(16), "b": (1, 4, 9), "c": (0, 8)}


_NEAREST: list[tuple[int, Callable[[int], bool], int | None]] = [
    (0x0045, lambda word: True, 0x0045),
    (0x7045, lambda word: True, 0x0045),
    (0x0065, lambda word: True, 0x0045),  # b may not be 6: 4 is nearer than 9
    (0x0075, lambda word: True, 0x0095),
    (0x0145, lambda word: True, 0x0045),
    (0x0045, lambda word: word & 15 in (1, 8), 0x0048),
    (0x0045, lambda word: word & 15 in (1, 9), 0x0041),  # both are as far: the smaller word
    (0x0045, lambda word: word >> 4 == 0x09, 0x0095),
    (0x0045, lambda word: word in (0x0844, 0x0911, 0x0846), 0x0844),
    (0x0045, lambda word: word in (0x0891, 0x0990), 0x0891),
    (0x0045, lambda word: False, None),
]


@together(("word", "legal", "expected"), _NEAREST)
def test_nearest_words(word: int, legal: Any, expected: int | None):
    assert nearest_word(word, _FIELDS, [(12, 4)], _CODES, legal) == expected


def test_fields_without_an_order_are_far():
    """One step of c counts more than any of a: the word with the smaller change of a field with an order is nearer."""
    both = {0x0840, 0x0045 + 10}
    assert nearest_word(0x0045, _FIELDS, [], _CODES, both.__contains__) == 0x004F
    assert nearest_word(0x0045, _FIELDS, [], _CODES, {0x0845, 0x004F}.__contains__) == 0x0845
    assert nearest_word(0x0045, _FIELDS, [], _CODES, {0x0845, 0x004F}.__contains__, ["c"]) == 0x004F


def test_how_many_words_are_tried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(nearest, "_MAX_TRIES", 19)
    tried: list[int] = []

    def refuse(word: int) -> bool:
        tried.append(word)
        return False

    # The word itself, 15 + 2 + 1 changes of one field; of two fields, 30 are too many, 15 and 2 are not.
    assert nearest_word(0x0045, _FIELDS, [], _CODES, refuse) is None
    assert len(tried) == 19
    tried.clear()
    monkeypatch.setattr(nearest, "_MAX_TRIES", 20)
    nearest_word(0x0045, _FIELDS, [], _CODES, refuse)
    assert len(tried) == 20
    tried.clear()
    monkeypatch.setattr(nearest, "_MAX_TRIES", 10**6)
    nearest_word(0x0045, _FIELDS, [], _CODES, refuse)
    assert len(tried) == len({*tried}) == 16 * 3 * 2
    monkeypatch.setattr(nearest, "_MAX_CHANGES", 1)
    tried.clear()
    nearest_word(0x0065, _FIELDS, [], _CODES, refuse)
    assert tried == [0x0045, 0x0095, 0x0015]


_RING = "mov.b32 %r1, 0; $loop: {first} add.s32 %r2, %r1, 1; {setp} selp.b32 %r1, 0, %r2, %p0; @%p1 bra $loop;"


@together(
    ("first", "setp", "greatest"),
    [
        ("", "setp.eq.s32 %p0, %r2, 5;", 4),
        ("setp.eq.s32 %p0, %r2, 5;", "", None),  # %r2 of the iteration before
        ("", "setp.eq.s32 %p0, %r2, 5; $between:", None),
        ("", "setp.eq.s32 %p0, %r3, 5;", None),
        ("", "@%p2 setp.eq.s32 %p0, %r2, 5;", None),
        ("", "setp.eq.s32 %p2, %r2, 5;", None),
        ("", "setp.ne.s32 %p0, %r2, 5;", None),
    ],
)
def test_slots_of_a_ring(first: str, setp: str, greatest: int | None) -> None:
    assert _known(_RING.format(first=first, setp=setp), "%r1", 32).high == greatest
