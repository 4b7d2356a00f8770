"""Answers to an editor: by the analysis, and by the language server over its standard input and output."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import cast

import pytest
from unit.cases import together
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, ModuleOp, StringAttr

from tirx.diagnostics import Diagnostic, remark, warn
from tirx.layout import ComposeLayout, TileLayout, parse_layout
from tirx.remarks import Reason
from tirx.smem.canonical_form import attribute_text
from tirx.text.source import Source, file_location
from tirx.text.verification import InvalidPassOutputError
from tirx.tools import language
from tirx.tools.decisions import Decision, KernelDecisions
from tirx.tools.language import (
    Analysis,
    _layout_parts,  # pyright: ignore[reportPrivateUsage]
    clauses,
    layout_table,
    operations,
)
from tirx.tools.names import Place, Text

_ROOT = Path(__file__).parents[3]
_PROGRAM = """\
!plain = !tirx.tile<64x32xf16, shared, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
tirx.kernel @k(%a: memref<64x32xf16>) target("sm_80") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !plain
  %g = tirx.view %a[%c0, %c0] : memref<64x32xf16> -> !tirx.tile<64x32xf16, global>
  tirx.copy %g, %s : !tirx.tile<64x32xf16, global>, !plain
  tirx.return
}
"""


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return Analysis.of(_PROGRAM, "k.mlir")


def _at(text: str, word: str, line: int) -> tuple[int, int]:
    return line, text.splitlines()[line].index(word) + len(word)


def test_hover_shows_what_was_decided(analysis: Analysis) -> None:
    assert not analysis.diagnostics
    tile = analysis.hover(*_at(_PROGRAM, "%s", 5))
    assert tile is not None and "%s = tirx.alloc" in tile
    assert "m of the first elements of 64x32" in tile and "| **1** | 32 | 33 |" in tile
    copy = analysis.hover(*_at(_PROGRAM, "tirx.copy", 5))
    assert copy is not None and "element by element" in copy
    # 4096 bytes: 32 rows of all banks, 128 sectors of 32 bytes.
    assert copy.split("\n\n")[0] == (
        "**%g -> %s**\n- engine: ld_st (waits for it), global to shared\n"
        "- faster engines: no tma: expected sm_90 or later, found sm_80\n"
        "- cost: 112 cycles (32 wavefronts x 1 + 128 sectors x 0.5 + 16 instructions x 1)"
    )
    kernel = analysis.hover(*_at(_PROGRAM, "@k", 1))
    assert kernel is not None and "0-4095: %s" in kernel
    alias = analysis.hover(*_at(_PROGRAM, "!plain", 3))
    assert alias is not None and "S[(64, 32) : (32, 1)]" in alias and "| **0** | 0 | 1 |" in alias
    assert analysis.hover(100, 0) is None and analysis.hover(*_at(_PROGRAM, "threads", 1)) is None


@pytest.mark.parametrize("name", ["sa", "s_a"])
def test_hover_shows_the_rings_of_a_loop(name: str) -> None:
    """A ring is named after its tiles, whose names may have underscores."""
    text = (_ROOT / "examples" / "wgmma_gemm.mlir").read_text().replace("%sa", f"%{name}").replace("%sb", f"%b_{name}")
    text = text.replace("  tirx.return", "  scf.for %k = %c0 to %c256 step %c64 {}\n  tirx.return")
    loops = [at for at, line in enumerate(text.splitlines()) if "scf.for" in line]
    used, unused = (Analysis.of(text, "k").hover(*_at(text, "scf.for", at)) for at in loops)
    assert used is not None and used.startswith(f"**ring {name}_b_{name}: 4 slots**\n- stations: fill -> use")
    assert unused is not None and "ring" not in unused


def test_definitions(analysis: Analysis) -> None:
    assert analysis.definition(*_at(_PROGRAM, "%s", 5)) == (3, 2)
    assert analysis.definition(*_at(_PROGRAM, "%a", 4)) == (1, 15)
    assert analysis.definition(*_at(_PROGRAM, "!plain", 5)) == (0, 0)
    assert analysis.definition(*_at(_PROGRAM, "target", 1)) is None


def test_completions(analysis: Analysis) -> None:
    names = [name for name, _ in analysis.completions(*_at(_PROGRAM, "tirx.co", 5))]
    assert names == ["tirx.concat", "tirx.convert", "tirx.copy"]
    assert [name for name, _ in analysis.completions(*_at(_PROGRAM, "%g, %s ", 5))] == ["engine", "reduce"]
    assert {"accumulate", "plan", "zero_columns"} <= set(clauses(operations()["tirx.mma"]))
    assert {"target", "grid", "cluster"} <= set(clauses(operations()["tirx.kernel"]))


def test_errors_are_diagnostics() -> None:
    found = Analysis.of(_PROGRAM.replace("tirx.copy", "tirx.coby") + "// -----\n" + _PROGRAM, "k.mlir")
    (error,) = found.diagnostics
    data = error.to_json()
    assert (data["line"], data["column"], data["severity"]) == (6, 3, "error")
    assert "did you mean 'tirx.copy'" in error.message
    assert [kernel.name for kernel in found.kernels] == ["k"], "the other part is compiled"


def _wrong_word(wrong: str, right: str) -> str:
    return next(word for word in re.findall(r"%?[\w.]+", wrong) if word not in re.findall(r"%?[\w.]+", right))


@together(
    ("right", "wrong", "better"),
    [
        ('target("sm_80")', 'target("sm_80x")', "sm_80"),
        ("tirx.copy", "tirx.coby", "tirx.copy"),
        ("copy %g, %s", "copy %g, %sx", "%s"),
        ("S[(64, 32) : (32, 1)]", "S[(64, 32) : (1@lanid, 1)]", "laneid"),
    ],
)
def test_fixes_write_the_word_that_is_wrong(right: str, wrong: str, better: str) -> None:
    text = _PROGRAM.replace(" target(", "\n    target(").replace(right, wrong)
    found = Analysis.of(text, "k.mlir")
    (fix,) = [fix for each in found.diagnostics for fix in found.fixes(each)][:1]
    title, (at,), written = fix
    assert (title, written) == (f"write '{better}'", better)
    lines = text.split("\n")
    lines[at.line] = lines[at.line][: at.column] + written + lines[at.line][at.column + at.length :]
    assert "\n".join(lines) == text.replace(wrong, wrong.replace(_wrong_word(wrong, right), better))


def test_no_fix_of_what_stands_nowhere() -> None:
    """Of a message without a name, the word at its place; behind the text there is none."""
    text = "tirx.kernel @k() {\n  tirx.retrn\n}\n"
    found = Analysis.of(text, "k.mlir")
    places = {(2, 3): [Place(1, 2, 10)], (2, 13): [Place(1, 2, 10)], (2, 1): [], (9, 1): [], None: []}
    for place, expected in places.items():
        location = UNKNOWN_LOC if place is None else FileLineColLoc(StringAttr("k.mlir"), *map(IntAttr, place))
        fixes = found.fixes(Diagnostic("error", "did you mean 'tirx.return'?", location))
        assert fixes == [("write 'tirx.return'", expected, "tirx.return")] * len(expected)


def test_fixes_write_the_layout_that_a_rule_suggests() -> None:
    text = Path("examples/tcgen05_gemm.mlir").read_text()
    rows = "#tirx.tile_layout<S[(128, 64) : (64, 1)]>"
    wrong = text.replace("!tirx.tile<128x64xf16, shared>", f"!tirx.tile<128x64xf16, shared, {rows}>")
    found = Analysis.of(wrong, "k.mlir")
    ((title, places, better),) = [fix for each in found.diagnostics for fix in found.fixes(each)]
    assert title == f"write {better}" and [at.line for at in places] == [18, 26, 28]
    assert all(found.source.lines[at.line][at.column :].startswith(rows) for at in places)
    assert {at.length for at in places} == {len(rows)}
    right = Analysis.of(wrong.replace(rows, better), "k.mlir")
    assert not right.diagnostics
    assert {hint for _, hint in right.hints() if hint.startswith("plan: ")} == {"plan: tcgen05 m128n256k16"}


def test_what_passes_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are diagnostics; what was decided is told by hovering; a pass that is wrong is an error of its own."""
    heard: list[Diagnostic] = []

    def passes(context: object, module: ModuleOp, *_: object) -> None:
        warn(module, "odd", "never-runs")
        remark(module, Reason("chosen"))

    monkeypatch.setattr(language, "run_passes", passes)
    monkeypatch.setattr(language.DecisionRecorder, "hear", lambda _, each: heard.append(each))  # pyright: ignore
    found = Analysis.of("", "k").diagnostics
    assert [(each.severity, each.message) for each in found] == [("warning", "odd")]
    assert [(each.severity, each.message) for each in heard] == [("warning", "odd"), ("remark", "chosen")]
    at = Diagnostic("error", "of the pass", file_location("k", 3, 4))

    def wrong(*_: object) -> None:
        raise InvalidPassOutputError(["a-pass"], at)

    monkeypatch.setattr(language, "run_passes", wrong)
    (error,) = Analysis.of("", "k").diagnostics
    assert (error.severity, error.position, error.stage) == ("error", ("k", 3, 4), "internal")
    assert error.message == "pass 'a-pass' produced IR that does not verify: k:3:4: error: of the pass"


def test_completions_by_place() -> None:
    """Behind the name of an operation its clauses; where nothing stands, or no line is, all operations."""
    analysis = Analysis(Source("k", "  tirx.copy %a en\ntirx.co\nx"))
    every = [*operations()]
    of_tirx = [name for name in every if name.startswith("tirx.")]
    assert every == [*sorted(of_tirx), *sorted({*every} - {*of_tirx})] and {"arith.addi", "scf.for"} < {*every}
    expected = {
        (0, 0): every, (0, 2): every, (0, 11): ["tirx.copy"], (0, 10): ["tirx.copy"], (0, 12): ["engine", "reduce"],
        (0, 16): ["engine"], (0, 14): [], (2, 0): every, (2, 1): [],
        (1, 7): ["tirx.concat", "tirx.convert", "tirx.copy"],
        (3, 0): every, (3, 1): every, (-1, 1): every,
    }  # fmt: skip
    found = {place: analysis.completions(*place) for place in expected}
    assert {place: [name for name, _ in names] for place, names in found.items()} == expected
    assert found[0, 16] == [("engine", "clause of tirx.copy")]
    assert found[0, 11][0][1].startswith("`tirx.copy %src, %dst : ")


_UNTIDY = """
   tirx.kernel @k(%a: memref<8xf32>,
          %b: memref<8xf32>) target("sm_80")
 threads(32) {$$$
// note
      %c0 = arith.constant 0 : index
      scf.for %i = %c0
          to %c0 step %c0 {
         %x = tirx.map ins(
            %a : !t
         ) {
    ^bb0(%e: f32):
    tirx.yield %e : f32
  }
 }
$$
   } }
"""
_TIDY = """
tirx.kernel @k(%a: memref<8xf32>,
       %b: memref<8xf32>) target("sm_80")
threads(32) {
  // note
  %c0 = arith.constant 0 : index
  scf.for %i = %c0
      to %c0 step %c0 {
    %x = tirx.map ins(
       %a : !t
    ) {
    ^bb0(%e: f32):
      tirx.yield %e : f32
    }
  }

}}
"""


def test_lines_that_go_on_keep_their_distance() -> None:
    """Statements move to where their regions say; lines that begin too far to the left stay at the edge."""
    assert Text(Source("k.mlir", _UNTIDY.replace("$", " "))).formatted() == _TIDY.replace("}}", "} }")
    assert Text(Source("k.mlir", _TIDY)).formatted() == _TIDY


@together(
    ("layout", "shape", "head", "rows"),
    [
        ("S[(2, 3) : (1@laneid, 2)]", None, "laneid m of the first elements of 2x3:", ["0 0|0 2|0 4", "1 0|1 2|1 4"]),
        ("S[(3) : (2)]", None, "m of the first elements of 1x3:", ["0|2|4"]),
        ("S[(2, 3) : (1, 2)]", (3, 2), "m of the first elements of 3x2:", ["0|2", "4|1", "3|5"]),
        ("S[(2, 2, 3) : (1@laneid, 6, 1)]", None, "laneid m of the first elements of 2x2x3:",
         ["0 0|0 1|0 2", "0 6|0 7|0 8"]),
        ("ComposeLayout(Swizzle(1, 1, 1), S[(4, 2) : (2, 1)])", None, "m of the first elements of 4x2:",
         ["0|1", "2|3", "6|7", "4|5"]),
        ("S[(9, 10) : (10, 1)]", None, "m of the first elements of 9x10:",
         ["|".join(str(10 * row + n) for n in range(8)) for row in range(8)]),
    ],
)  # fmt: skip
def test_table_of_a_layout(layout: str, shape: tuple[int, ...] | None, head: str, rows: list[str]) -> None:
    numbers = range(rows[0].count("|") + 1)
    expected = [
        f"{head}\n", f"| | {' | '.join(map(str, numbers))} |", f"|---{'|---' * len(numbers)}|",
        *(f"| **{i}** | {' | '.join(row.split('|'))} |" for i, row in enumerate(rows)),
    ]  # fmt: skip
    found = parse_layout(layout)
    assert isinstance(found, TileLayout | ComposeLayout)
    assert layout_table(found, shape) == "\n".join(expected)
    attribute = attribute_text(found)
    assert _layout_parts(f"!tirx.tile<8xf16, {attribute}> // <", shape) == ["\n".join(expected)]
    assert _layout_parts(attribute[:-1], shape) == [] == _layout_parts(layout)


def test_diagnostics_of_tirx_opt_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tirx.tools.tirx_opt import main

    path = tmp_path / "k.mlir"
    path.write_text(_PROGRAM.replace("sm_80", "sm_8x"))
    assert main(["--lower-to-ptx", "--diagnostics-json", str(path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    data = json.loads(line)
    assert (data["file"], data["line"], data["severity"]) == (str(path), 2, "error")


def test_flags(capsys: pytest.CaptureFixture[str]) -> None:
    main = pytest.importorskip("tirx.tools.lsp", reason="the extra lsp is not installed").main
    assert main(["--tcp"]) == 1
    assert capsys.readouterr().err == "error: unrecognized arguments: --tcp\n"


def test_messages_and_headers_have_limits(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pygls", reason="the extra lsp is not installed")
    from tirx.tools.lsp import LONGEST_MESSAGE, Input, serve

    source = io.BytesIO(b"x" * 10_000)
    with Input(cast(io.RawIOBase, source)) as read:
        assert len(read.readline()) == 1024
        assert read.read(5) == b"xxxxx"
        with pytest.raises(OSError, match="expected messages of at most 67108864 bytes, found one of None"):
            read.read(None)
    header = b"Content-Length: %d\r\n\r\n{}"
    for message in (header % (LONGEST_MESSAGE + 1), header % 10**30, header % (10**900) + b"\n"):
        assert serve(Input(cast(io.RawIOBase, io.BytesIO(message)))) == 1
        assert "expected messages of at most 67108864 bytes, found one of " in capsys.readouterr().err


def test_names_are_more_than_a_sigil() -> None:
    text = Text(Source("k.mlir", "%a % @ ^b x // %c\n"))
    assert list(text.names(range(1))) == [("%a", Place(0, 0, 2)), ("^b", Place(0, 7, 2))]
    assert [text.word(*place) for place in ((0, 4), (0, 10), (1, 0), (2, 0), (-1, 0))] == [
        *(("%", 3), ("x", 10)),
        *(None, None, None),
    ]
    assert text.name(0, 1) == ("%a", Place(0, 0, 2))
    assert text.name(0, 4) is None and text.name(0, 10) is None


_NAMES = """\
func.func @f() {
  scf.for %i = %c0 to %c1 step %c1 {
    %x = tirx.alloc : !t }
  %y = f(%x)
  %x = g(%x)
}
// -----
%z = h(%x, %y)
"""


def test_parts_of_a_text() -> None:
    """A line that parts a text belongs to what is in front of it."""
    text = Text(Source("k.mlir", _NAMES))
    assert [text.function(line) for line in (0, 5, 6, 7)] == [range(6), range(6), range(6), range(7, 9)]
    assert [symbol.name for symbol in text.symbols()] == ["@f"]
    (loop,) = text.symbols()[0].inside
    assert (loop.name, loop.last_line, [each.name for each in loop.inside]) == ("%i", 2, ["%x"])


def test_names_that_are_defined_again() -> None:
    """Each definition has the uses behind it; what no text defines has no other name."""
    text = Text(Source("k.mlir", _NAMES))
    first, second = [Place(2, 4, 2), Place(3, 9, 2)], [Place(4, 2, 2), Place(4, 9, 2)]
    assert text.references(3, 10) == first and text.references(4, 3) == second
    assert text.renamed(2, 5, "%new") == [Place(at.line, at.column + 1, 1) for at in first]
    for line, column in ((1, 15), (7, 9), (0, 1), (3, 8)):
        with pytest.raises(ValueError, match="^expected a value, kernel, alias or block that this text defines$"):
            text.renamed(line, column, "new")


def test_hints_of_decisions() -> None:
    """Of lines that say it already, and of decisions without a line or that fact, there are none."""
    analysis = Analysis(Source("k", "a\nb engine(tma)\nc #tirx.tile_layout<S[(2) : (1)]>\nd\nlayout(x)"))
    layout = "#tirx.tile_layout<S[(2) : (1)]>"

    def decision(line: int | None, name: str, text: str) -> Decision:
        return Decision(line, "x", ((name, text),))

    tiles = tuple(decision(line, "layout", layout) for line in (1, 3, None, 5)) + (decision(4, "slots", "2"),)
    copies = tuple(decision(line, "engine", "tma (waits)") for line in (1, 2, 3))
    products = (decision(4, "plan", "wgmma, m = 64, n = 8, k = 16"), decision(4, "plan", "tcgen05, n = 8, k = 16"))
    analysis.kernels.append(KernelDecisions("k", "", tiles, copies, products, (), (), ()))
    assert analysis.hints() == [
        (0, "engine: tma"), (0, "layout: S[2 : 1]"), (2, "engine: tma"), (3, "plan: tcgen05"),
        (3, "plan: wgmma m64n8k16"),
    ]  # fmt: skip


def test_fixes_of_layouts_need_one_in_the_line() -> None:
    better = "#tirx.tile_layout<S[(2) : (1)]>"
    rows = "%a = tirx.alloc : !t\n%b = tirx.alloc : !tirx.tile<2xf32, shared, #tirx.tile_layout<S[(2) : (2)]>>\nx !u"
    analysis = Analysis(Source("k", rows))
    assert analysis.hover(2, 3) is None
    for line, message, count in ((1, better, 0), (2, better, 1), (2, "#nothing", 0), (3, better, 0)):
        location = FileLineColLoc(StringAttr("k"), IntAttr(line), IntAttr(1))
        assert len(analysis.fixes(Diagnostic("error", f"wrong; write {message}", location))) == count
    located = FileLineColLoc(StringAttr("k"), IntAttr(3), IntAttr(1))
    (fix,) = analysis.fixes(Diagnostic("error", "expected y, found 'x'; did you mean 'y'?", located))
    assert fix == ("write 'y'", [Place(2, 0, 1)], "y")


def test_completions_of_axes_and_dotted_words() -> None:
    analysis = Analysis(Source("k", "tirx.copy tirx.co\nS[(2) : (1@la\nf @k"))
    assert [name for name, _ in analysis.completions(0, 17)] == ["tirx.concat", "tirx.convert", "tirx.copy"]
    assert "laneid" in [name for name, _ in analysis.completions(1, 13)]
    assert analysis.completions(2, 4) == [] and Analysis(Source("k", "2 %x")).completions(0, 3) == []
