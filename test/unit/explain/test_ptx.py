"""Explanations of PTX: kernels of Triton, of the examples, and lines that no assembler finds wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.examples import compiled

from tirx.explain import Explanation, PtxInstruction, PtxReport, explain_ptx, ptx
from tirx.explain.report import FieldValue
from tirx.hw.rules import Finding
from tirx.sim import SimError

_TRITON = Path(__file__).parents[1] / "sim" / "triton"


def _kernel(body: str, target: str = "sm_100a") -> str:
    return (
        f".version 8.7\n.target {target}\n.address_size 64\n.shared .align 1024 .b8 tiles[65536];\n"
        ".visible .entry k(.param .u64 x) {\n.reg .b64 %d<20>; .reg .b32 %r<80>; .reg .pred %p<4>;\n"
        + body
        + "\nret; }"
    )


_DESCRIPTOR = """
mov.u32 %r1, tiles; shr.u32 %r2, %r1, 4; and.b32 %r3, %r2, 16383; cvt.u64.u32 %d1, %r3;
or.b64 %d2, %d1, {word}; mov.b32 %r5, 0x08400010;
"""
_MMA = "tcgen05.mma.cta_group::1.kind::f16 [%r9], %d2, %d2, %r5, %p1;"


def _products(report: PtxReport) -> list[PtxInstruction]:
    return [each for each in report.instructions if each.words]


def test_descriptor_of_constants() -> None:
    [mma] = _products(explain_ptx(_kernel(_DESCRIPTOR.format(word="0x4000404000010000") + _MMA)))
    assert mma.legal and mma.line == 10
    assert [name for name, _ in mma.words] == ["instruction", "A", "B"]
    assert "Swizzle<3,4,3> o ((8,16),(8,2)):((64,512),(1,8)), 128 x 16 elements of f16" in mma.words[1][1].summary


def test_wrong_stride() -> None:
    report = explain_ptx(_kernel(_DESCRIPTOR.format(word="0x4000402000010000") + _MMA))
    assert not report.legal
    assert "SBO is 512 bytes, and one repeat of the pattern takes 1024" in report.text("k.ptx")


def test_wrong_target_and_modifiers() -> None:
    text = _kernel(_DESCRIPTOR.format(word="0x4000404000010000") + _MMA, "sm_90a")
    assert any("tcgen05" in problem for problem in _products(explain_ptx(text))[0].problems)


@pytest.mark.parametrize(("scale", "problems"), [(15, 0), (16, 1)])
def test_scale_of_d(scale: int, problems: int) -> None:
    text = _kernel(_DESCRIPTOR.format(word="0x4000404000010000") + _MMA.replace("%p1;", f"%p1, {scale};"))
    [mma] = _products(explain_ptx(text))
    assert len(mma.problems) == problems, mma.problems


def test_collector_without_a_usage() -> None:
    mma = _MMA.replace("kind::f16", "kind::f16.collector::a")
    (product,) = [each for each in explain_ptx(_kernel(mma)).instructions if "mma" in each.text]
    assert product.problems == ("expected .collector::BUFFER::USAGE, found '.collector::a'",)


def test_forms_that_do_not_exist() -> None:
    for text, message in (
        (_MMA.replace(".kind::f16", ".kind::f17"), "expected a kind of f16, tf32, f8f6f4, i8, "),
        (
            "wgmma.mma_async.sync.aligned.m64n8.f32.f16 {%r1}, %d1, %d2;",
            "expected a shape m64nNkK and the types",
        ),
    ):
        (product,) = [each for each in explain_ptx(_kernel(text)).instructions if "mma" in each.text]
        assert product.problems[0].startswith(message)


def test_loops_keep_what_does_not_change() -> None:
    """The start moves in a loop; LBO, SBO and the swizzle stay known, as masks cut carries off."""
    body = """
mov.u32 %r1, tiles; mov.b32 %r9, 0;
again: shr.u32 %r2, %r1, 4; and.b32 %r3, %r2, 16383; cvt.u64.u32 %d1, %r3; or.b64 %d2, %d1, 0x4000404000010000;
tcgen05.mma.cta_group::1.kind::f16 [%r9], %d2, %d2, 0x08400010, %p1;
add.s32 %r1, %r1, 1024; setp.lt.u32 %p2, %r1, 9999; @%p2 bra again;
"""
    [mma] = _products(explain_ptx(_kernel(body)))
    assert mma.legal
    assert "start computed by the kernel, a multiple of 1024 bytes" in mma.words[1][1].summary
    assert "SBO 1024 bytes" in mma.words[1][1].summary


def test_words_of_halves() -> None:
    """CuTe builds descriptors of two words of 32 bits."""
    body = """
mov.b64 {%r1, %r2}, 0x4000404000010000; add.s32 %r3, %r1, 2; mov.b64 %d2, {%r3, %r2};
tcgen05.mma.cta_group::1.kind::f16 [%r9], %d2, %d2, 0x08400010, %p1;
"""
    [mma] = _products(explain_ptx(_kernel(body)))
    assert [word.word for _, word in mma.words] == [0x08400010, 0x4000404000010002, 0x4000404000010002]


def test_wgmma() -> None:
    registers = ", ".join(f"%r{index}" for index in range(32))
    body = (
        f"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{registers}}}, 0x4000004000010000, %d2, 1, 1, 1, 0, 1;"
    )
    [wgmma] = _products(explain_ptx(_kernel(body, "sm_90a")))
    assert wgmma.words[0][1].legal and "K-major" in wgmma.words[0][1].summary
    assert wgmma.words[1][1].word is None


@pytest.mark.parametrize("name", ["matmul_sm90", "matmul_sm100", "attention_sm90", "attention_sm100"])
def test_triton(name: str) -> None:
    """All descriptors of Triton's kernels are known but for their start, and legal."""
    report = explain_ptx((_TRITON / f"{name}.ptx").read_text())
    assert report.legal, report.text(name)
    words = [word for each in _products(report) for _, word in each.words]
    assert len(words) >= 6
    for word in words:
        unknown = {field.name for field in word.fields if field.code is None}
        assert unknown <= {"start address"}
    json.dumps(report.json())


@pytest.mark.parametrize("name", ["tcgen05_gemm", "wgmma_gemm"])
@pytest.mark.sample(1)
def test_examples(name: str) -> None:
    """PTX that tirx prints is legal, with every field known but the start."""
    report = explain_ptx(compiled(name).program.ptx)
    assert report.legal, report.text(name)
    for each in _products(report):
        for _, word in each.words:
            assert {field.name for field in word.fields if field.code is None} <= {"start address"}


def test_text_names_the_line_it_repeats() -> None:
    report = explain_ptx(_kernel(_DESCRIPTOR.format(word="0x4000404000010000") + _MMA + "\n" + _MMA))
    assert report.text("k.ptx").endswith("  as line 10")
    assert "bits 61-63" in report.text("k.ptx", fields=True)


def test_lines_of_reports() -> None:
    """Lines that were printed are not printed again, unless fields are wanted; long lists of registers are cut."""
    registers = "{%r1, %r10, %r11, %r12, %r13, %r14, %r15}"
    long = registers.replace("%r1,", "%r99,")  # 40 characters between the brackets
    first = Explanation("word", 0x1F, 16, (FieldValue("f", (0, 4), 3, "three"),), "all of it")
    wrong = Explanation("word", None, 16, (), "some", (), ("bad",))
    report = PtxReport(
        "sm_100a",
        (
            PtxInstruction("k", 3, f"a {registers}, {long};"),
            PtxInstruction("k", 4, f"a {registers};"),
            PtxInstruction("k", 5, "b;", (("A", first), ("B", wrong)), ("no", "nor this")),
            PtxInstruction("k", 6, "c;", (("A", first), ("B", wrong)), ("no", "nor this")),
            PtxInstruction("k", 7, "d;", (("A", first),)),
            PtxInstruction("k", 8, "e;", (), ("no",)),
            PtxInstruction("k", 9, "f;", (), ("no",)),
        ),
    )
    problems = ["  wrong: no", "  wrong: nor this"]
    heads = [f"k.ptx:3: a {registers}, {{%r99, ..., %r15}};", f"k.ptx:4: a {registers};"]
    assert report.text("k.ptx").splitlines() == [
        *heads,
        "k.ptx:5: b;", "  A: 0x001f: all of it", "  B: some", "    wrong: bad", *problems,
        "k.ptx:6: c;", "  as line 5",
        "k.ptx:7: d;", "  A: 0x001f: all of it",
        "k.ptx:8: e;", "  wrong: no",
        "k.ptx:9: f;", "  as line 8",
    ]  # fmt: skip
    field = first.fields[0].text()
    words = ["  A: word: 0x001f", f"    {field}", "  B: word: not known before the kernel runs", "    wrong: bad"]
    assert report.text("k.ptx", fields=True).splitlines() == [
        *heads, "k.ptx:5: b;", *words, *problems, "k.ptx:6: c;", *words, *problems, "k.ptx:7: d;", *words[:2],
        "k.ptx:8: e;", "  wrong: no", "k.ptx:9: f;", "  wrong: no",
    ]  # fmt: skip
    assert [each.legal for each in report.instructions] == [True, True, False, False, True, False, False]
    assert not report.legal
    assert report.json() == {"target": "sm_100a", "instructions": [each.json() for each in report.instructions]}
    assert report.instructions[2].json() == {
        "entry": "k", "line": 5, "text": "b;", "legal": False, "problems": ["no", "nor this"],
        "words": {"A": first.json(), "B": wrong.json()},
    }  # fmt: skip


def test_problems_that_words_tell() -> None:
    """They are not told again as those of the instruction."""
    rules = ("shape", "a-bits", "mask-bits", "bits-of", "kind", "b-descriptor", "a-descriptor-of")
    findings = [Finding(rule, "wrong", "mend it", "9.7") for rule in rules]
    assert ptx._problems(findings) == [  # pyright: ignore[reportPrivateUsage]
        str(each) for each in findings if each.rule in ("bits-of", "kind", "a-descriptor-of")
    ]


def test_syntax_errors_have_a_line() -> None:
    with pytest.raises(SimError, match="expected"):
        explain_ptx(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { mov.u32 }")
