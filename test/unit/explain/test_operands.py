"""Operands and modifiers of instructions, as the checks and the explanations of words get them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from unit.cases import together

from tirx.explain import explain_ptx, ptx
from tirx.explain.report import Explanation
from tirx.symbolic.integers import Integers
from tirx.tcgen05.check_memory import Alloc, Cp, LdSt
from tirx.tcgen05.mma_info import Mma, SmemOperand, TmemOperand
from tirx.wgmma.check import RegisterOperand, Wgmma
from tirx.wgmma.check import SmemOperand as WgmmaSmem
from tirx.wgmma.kinds import Form


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Facts that checks and explanations are given, in order."""
    found: list[Any] = []

    def note(name: str, kind: str | None = None) -> Any:
        def function(*arguments: Any, **options: Any) -> Any:
            plain = [each.value if isinstance(each, Integers) else each for each in arguments]
            shown = {key: value.value if isinstance(value, Integers) else value for key, value in options.items()}
            found.append((kind, *plain, shown) if kind else plain[0])
            return Explanation("", None, 64, (), "") if kind else []

        return function

    for name in ("find_mma_violations", "find_memory_violations"):
        monkeypatch.setattr(ptx, name, note(name))
    monkeypatch.setattr(ptx.wgmma_check, "find_violations", note("find_violations"))
    for kind in ("instruction_descriptor", "matrix_descriptor", "zero_column_mask"):
        monkeypatch.setattr(ptx, f"explain_{kind}", note(f"explain_{kind}", kind))
    return found


def _explain(line: str, target: str = "sm_100a", version: str = "8.7") -> Any:
    (found,) = explain_ptx(
        f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 x) {{\n"
        f".reg .b64 %d<20>; .reg .b32 %r<80>; .reg .pred %p<4>;\n{line}\nret; }}"
    ).instructions
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 96;", Alloc(96, 1, "sm_100a", (8, 7))),
        ("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r1], %r2;", Alloc(None, 2, "sm_100a", (8, 7))),
        (
            "tcgen05.cp.cta_group::2.64x128b.warpx2::02_13.b8x16.b6x16_p32 [%r1], 0x1003;",
            Cp("64x128b", "warpx2::02_13", "b6x16_p32", 2, target="sm_100a", ptx=(8, 7)),
        ),
        ("tcgen05.cp.cta_group::1.128x256b [%r1], 0x1003;", Cp("128x256b", target="sm_100a", ptx=(8, 7))),
        (
            "tcgen05.ld.sync.aligned.16x256b.x2.pack::16b.b32 {%r1, %r2, %r3}, [%r9];",
            LdSt("16x256b", 2, 3, True, target="sm_100a", ptx=(8, 7)),
        ),
        (
            "tcgen05.ld.sync.aligned.16x128b.b32 %r1, [%r9], 5;",
            LdSt("16x128b", 1, 1, split=5, target="sm_100a", ptx=(8, 7)),
        ),
        (
            "tcgen05.st.sync.aligned.32x32b.x16.unpack::16b.b32 [%r9], {%r1, %r2};",
            LdSt("32x32b", 16, 2, True, target="sm_100a", ptx=(8, 7)),
        ),
        (
            "tcgen05.ld.red.sync.aligned.32x32b.x4.max.abs.f32 {%r1, %r2, %r3, %r4}, %r5, [%r9];",
            LdSt("32x32b", 4, 4, reduce="max", type="f32", modified=True, target="sm_100a", ptx=(8, 7)),
        ),
        (
            "tcgen05.ld.red.sync.aligned.32x32b.x4.min.NaN.s32 {%r1, %r2, %r3, %r4}, %r5, [%r9];",
            LdSt("32x32b", 4, 4, reduce="min", type="s32", modified=True, target="sm_100a", ptx=(8, 7)),
        ),
        (
            "tcgen05.ld.red.sync.aligned.32x32b.min.u32 {%r1, %r2}, %r5, [%r9];",
            LdSt("32x32b", 1, 2, reduce="min", type="u32", target="sm_100a", ptx=(8, 7)),
        ),
    ],
)
def test_accesses(told: list[Any], line: str, expected: Any):
    _explain(line)
    found = told[-1]
    if isinstance(found, Cp):
        assert found.descriptor == Integers.of(0x1003, 64)
        (word,) = told[:-1]
        rows = {"64x128b": (64, 16), "128x256b": (128, 32)}[found.shape]
        assert word == ("matrix_descriptor", 0x1003, {"major": "K", "dtype": "u8", "shape": rows, "target": "sm_100a"})
        found = replace(found, descriptor=None)
    assert found == expected


def test_accesses_that_lack_operands(told: list[Any]):
    found = _explain("tcgen05.ld.sync.aligned.32x32b.x1.b32 [%r9];")
    assert found.problems == ("expected registers and an address, found 1 operands",)
    assert _explain("tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r9], 3;").problems == () and not told


_A, _B = 0x1001, 0x1002
"""Descriptors, numbered by their operands."""


def _word(value: int | None) -> Any:
    return Integers.of(value, 64) if value is not None else Integers(64)


@pytest.mark.parametrize(
    ("modifiers", "operands", "expected"),
    [
        ("cta_group::1.kind::f16", "%p1", {}),
        ("cta_group::2.kind::f16", "%p1", {"cta_group": 2}),
        ("cta_group::1.kind::f16", "%p1, 7", {"scale_input_d": 7}),
        ("cta_group::1.kind::f16.ashift", "{%r1, %r2, %r3, %r4}, %p1", {"disable_output_lane": 4, "ashift": True}),
        ("cta_group::1.kind::f16", "{%r1, %r2, %r3}, %p1, 9", {"disable_output_lane": 3, "scale_input_d": 9}),
        (
            "cta_group::1.kind::f16.collector::a::lastuse",
            "%p1",
            {"collector_buffer": "a", "collector_usage": "lastuse"},
        ),
        ("ws.cta_group::1.kind::f16", "%p1", {"ws": True}),
        ("ws.cta_group::1.kind::f16", "%p1, 0x10000000f", {"ws": True, "masked": True, "mask": 0x10000000F}),
        ("ws.cta_group::1.kind::f16", "%p1, %d3", {"ws": True, "masked": True}),
        ("sp.cta_group::1.kind::f16", "%p1", {"sparse": True}),
        ("sp.cta_group::1.kind::f16", "%p1, 5", {"sparse": True, "scale_input_d": 5}),
        ("ws.sp.cta_group::1.kind::f16", "%p1, 3", {"ws": True, "sparse": True, "masked": True, "mask": 3}),
        ("cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X", "[%r7], [%r8], %p1",
         {"kind": "mxf8f6f4", "scale_vector": "scale_vec::1X"}),
        ("cta_group::1.kind::mxf4nvf4.block_scale.block16", "[%r7], [%r8], %p1",
         {"kind": "mxf4nvf4", "scale_vector": "block16"}),
        ("cta_group::1.kind::mxf4.block_scale.block32", "[%r7], [%r8], %p1, 5",
         {"kind": "mxf4", "scale_vector": "block32"}),
    ],
)  # fmt: skip
def test_products(told: list[Any], modifiers: str, operands: str, expected: dict[str, Any]):
    """A in shared memory, and then in tensor memory. Metadata stands before the descriptor of the instruction."""
    values: dict[str, Any] = {
        "kind": "f16",
        "cta_group": 1,
        "ws": False,
        "sparse": False,
        "scale_vector": None,
    } | expected
    metadata = "[%r6], " if values["sparse"] else ""
    given = {key: values.pop(key) for key in ("kind", "cta_group", "ws", "sparse", "scale_vector")}
    for a in (_A, None):
        told.clear()
        first = "[%r2]" if a is None else f"{a:#x}"
        _explain(f"tcgen05.mma.{modifiers} [%r9], {first}, {_B:#x}, {metadata}0x08400010, {operands};")
        mma = told[-1]
        assert isinstance(mma, Mma)
        assert mma == Mma(
            *given.values(),
            a=TmemOperand() if a is None else SmemOperand(_word(_A)),
            b=SmemOperand(_word(_B)),
            descriptor=0x08400010,
            target="sm_100a",
            ptx=(8, 7),
            **values,
        )
        # M is 128 and N 256.
        group = given["cta_group"]
        words = told[:-1]
        options = {"cta_group": group, "ws": given["ws"], "target": "sm_100a"}
        assert words.pop(0) == ("instruction_descriptor", 0x08400010, given["kind"], options)
        if values.get("masked"):
            assert words.pop() == ("zero_column_mask", values.get("mask"), {"m": 128, "n": 256})
        assert [each[:2] for each in words] == [
            *([("matrix_descriptor", _A)] if a is not None else []), ("matrix_descriptor", _B)
        ]  # fmt: skip
        assert all(each[2]["target"] == "sm_100a" for each in words)


def test_shapes_of_operands(told: list[Any]):
    """f16, M = 256 and N = 96 for two CTAs; sparse: half of A is stored. B of e5m2 is MN-major; i8 has one type."""

    def shapes(line: str) -> list[Any]:
        told.clear()
        _explain(line)
        return [(each[2]["dtype"], each[2]["major"], each[2]["shape"], each[2]["container_bits"])
                for each in told if isinstance(each, tuple) and each[0] == "matrix_descriptor"]  # fmt: skip

    m, n = 256 >> 4 << 24, 96 >> 3 << 17
    f16 = "tcgen05.mma.cta_group::2.kind::f16 [%r9], 1, 2, {:#x}, %p1;"
    assert shapes(f16.format(m | n | 0x10)) == [("f16", "K", (128, 16), 16), ("f16", "K", (48, 16), 16)]
    sparse = "tcgen05.mma.sp.cta_group::2.kind::f16 [%r9], 1, 2, [%r6], {:#x}, %p1;"
    assert shapes(sparse.format(m | n | 0x14)) == [("f16", "K", (128, 16), 16), ("f16", "K", (48, 32), 16)]
    f8 = "tcgen05.mma.cta_group::2.kind::f8f6f4 [%r9], 1, 2, {:#x}, %p1;"
    mixed = m | n | 0x10 | 1 << 10 | 1 << 16
    assert shapes(f8.format(mixed)) == [("e4m3", "K", (128, 32), 8), ("e5m2", "MN", (48, 32), 8)]
    unknown = "tcgen05.mma.cta_group::2.kind::{} [%r9], 1, 2, %r3, %p1;"
    assert shapes(unknown.format("tf32")) == 2 * [("tf32", None, None, 32)]
    assert shapes(unknown.format("i8")) == 2 * [("u8", None, None, 8)]


_NAME = "wgmma.mma_async.sync.aligned"


@pytest.mark.parametrize(
    ("modifiers", "operands", "form", "more"),
    [
        ("m64n24k16.f32.f16.f16", "%p1, 1, 1, 0, 1", Form("f16", "f16", "f32", 24), {"transpose_b": True}),
        ("m64n24k16.f32.f16.f16", "%p1, 1, 1, 1, 0", Form("f16", "f16", "f32", 24), {"transpose_a": True}),
        ("m64n24k16.f32.bf16.bf16", "%p1, 1, -1, 0, 0", Form("bf16", "bf16", "f32", 24), {}),
        ("m64n8k8.f32.tf32.tf32", "%p1, 1, 1", Form("tf32", "tf32", "f32", 8), {}),
        ("m64n8k32.f16.e4m3.e5m2", "%p1, 1, 1", Form("e4m3", "e5m2", "f16", 8), {}),
        ("m64n8k256.s32.b1.b1.and.popc", "%p1", Form("b1", "b1", "s32", 8), {}),
        ("m64n8k32.s32.s8.u8.satfinite", "%p1", Form("s8", "u8", "s32", 8, saturate=True), {}),
    ],
)
def test_warpgroup_products(told: list[Any], modifiers: str, operands: str, form: Form, more: dict[str, Any]):
    ends: dict[str, Any] = {"target": "sm_90a", "ptx": (8, 5), **more}
    for a in (_A, None):
        for sparse in (False, True):
            told.clear()
            first = "{%r1, %r2}" if a is None else f"{a:#x}"
            flags = operands
            if a is None and "transpose_b" in more:
                flags = "%p1, 1, 1, 1"  # A in registers has no flag
            selector = "%r5, 3, " if sparse else ""
            name = _NAME.replace("async", "async.sp") if sparse else _NAME
            _explain(f"{name}.{modifiers} {{%r1}}, {first}, {_B:#x}, {selector}{flags};", "sm_90a", "8.5")
            product = told[-1]
            if a is None and "transpose_a" in more:
                continue
            assert product == Wgmma(
                Form(form.a, form.b, form.d, form.n, sparse, form.saturate),
                RegisterOperand() if a is None else WgmmaSmem(_word(_A)),
                WgmmaSmem(_word(_B)),
                selector=3 if sparse else None,
                **ends,
            )
            stored = [{"b1": "u8"}.get(dtype, dtype) for dtype in (form.a, form.b)]
            bits = {"f16": 16, "bf16": 16, "tf32": 32}.get(form.a, 8)
            majors = ["MN" if more.get(f"transpose_{each}") else "K" for each in "ab"]
            k = 256 // bits
            expected = [
                ("matrix_descriptor", word, {"major": major, "dtype": dtype, "shape": shape})
                for word, major, dtype, shape in zip(
                    (_A, _B), majors, stored, ((64, k), (form.n, 2 * k if sparse else k)), strict=True
                )
            ]
            found = [(each[0], each[1], each[3]) for each in told[:-1]]
            assert found == (expected if a is not None else expected[1:])


@together("modifiers", ["m32n8k16.f32.f16.f16", "m64n8k16.f32.f16", "m64n8k16.f32.f16.tf32", "m64n8.f32.f16.f16"])
def test_other_forms(modifiers: str):
    found = _explain(f"{_NAME}.{modifiers} {{%r1}}, %d1, %d2, %p1, 1, 1, 0, 0;", "sm_90a")
    assert found.problems == ("expected a shape m64nNkK and the types of D, A and B, found another form",)


def test_what_is_left_as_it_is(told: list[Any]):
    for line in (
        "tcgen05.wait::ld.sync.aligned;",
        "wgmma.fence.sync.aligned;",
        "tcgen05.dealloc.cta_group::1 %r1, 32;",
    ):
        found = _explain(line)
        assert (found.words, found.problems, found.legal, found.line) == ((), (), True, 6)
    assert not told


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("8.7", "sm_100a, debug", ("sm_100a", (8, 7))),
        ("8.7", "sm_999", (None, (8, 7))),
        ("9", "sm_103a", ("sm_103a", None)),
    ],
)
def test_modules(told: list[Any], version: str, target: str, expected: Any):
    _explain("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 96;", target, version)
    assert (told[-1].target, told[-1].ptx) == expected


def test_operands_that_are_missing(told: list[Any]):
    """They are unknown."""
    _explain("tcgen05.mma.cta_group::1.kind::f16 [%r9];")
    assert (
        told[-1].a == SmemOperand(Integers(64))
        and told[-1].descriptor is None
        and told[-1].b == SmemOperand(Integers(64))
    )
    _explain("tcgen05.mma.cta_group::1.kind::f16 [%r9], [%r2];")
    assert told[-1].a == TmemOperand()
    _explain("tcgen05.mma.cta_group::1.kind::f16 [%r9], [%r2], 1, 0x88400010, %p1;")
    assert told[-1].descriptor == 0x88400010
    _explain("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1];")
    assert told[-1].columns is None
    _explain(f"{_NAME}.sp.m64n8k16.f32.f16.f16 {{%r1}};", "sm_90a")
    assert told[-1].selector is None and not told[-1].transpose_a and not told[-1].transpose_b
