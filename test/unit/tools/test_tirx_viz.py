"""`tirx-viz`: notations, kinds of output, the terminal, errors; nothing is written when there is one."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdsl.utils.exceptions import PassFailedException

import tirx
from tirx.diagnostics import Diagnostic, Facts, report
from tirx.text.source import file_location
from tirx.tools import tirx_viz
from tirx.tools.files import FileError
from tirx.tools.process import UsageError
from tirx.tools.tirx_viz import _print, main  # pyright: ignore[reportPrivateUsage]
from tirx.viz import read_tiles
from tirx.viz.sources import read_thread_value

_Capture = pytest.CaptureFixture[str]

_TILE = "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid]"
_SWIZZLED = "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])"
_TRITON = "#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [], block = []}>"


def test_a_drawing_has_the_size_of_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, tuple[float, float]]] = []

    def draw(svg: str, kind: str, size: tuple[float, float]) -> bytes:
        assert f'width="{size[0]:g}" height="{size[1]:g}"' in svg
        asked.append((kind, size))
        return b"drawn"

    monkeypatch.setattr("tirx.viz.browser.draw_svg", draw)
    assert main([_TILE, "--shape", "8,16", "--output", str(tmp_path / "t.png")]) == 0
    assert (tmp_path / "t.png").read_bytes() == b"drawn"
    assert [kind for kind, _ in asked] == ["png"] and asked[0][1][0] != asked[0][1][1]


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (_TILE, "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid]"),
        ("((8,2),(4,4)):((4,32),(1,64))", "S[(2, 8, 4, 4) : (32, 4, 64, 1)]"),
        ("Sw<3,3,3> o 0 o (8,64):(64,1)", _SWIZZLED),
        ("Swizzle<3,4,3> o (8,64):(64,1)", _SWIZZLED),
        ("T.TileLayout(T.S[(2, 4):(4 @ Axis.wgid, 1 @ Axis.warpid)])", "S[(2, 4) : (4@wgid, 1@warpid)]"),
        (
            "T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[(8, 64):(64, 1)]))",
            "ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])",
        ),
        (_TRITON, "S[(4, 2) : (1@laneid, 1)]"),
    ],
)
def test_notations(text: str, layout: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([text, "--list"]) == 0
    assert capsys.readouterr().out == f"Given: {layout}: {layout}\n"


def test_bare_swizzle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["Swizzle(3, 3, 3)", "--shape", "8,64", "--list"]) == 0
    assert "S[(8, 64) : (64, 1)]" in capsys.readouterr().out


def test_svg(tmp_path: Path) -> None:
    path = tmp_path / "layout.svg"
    assert main([_TILE, "--shape", "8,16", "-o", str(path)]) == 0
    text = path.read_text()
    assert text.count("<rect") == 128
    assert "every element has 2 owners" in text


def test_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="the extra viz is not installed")
    assert main([_TILE, "--shape", "8,16", "--terminal"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "in each cell: laneid warpid m; coloured by laneid"
    assert lines[3].split()[:4] == ["0", "0", "0", "0"]
    assert len(lines) >= 11


def test_terminal_without_rich(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "tirx.viz.terminal":
            raise ModuleNotFoundError("No module named 'rich'", name="rich")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert main([_TILE, "--terminal"]) == 1
    assert "error: --terminal: expected the package rich, found none" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_no_browser(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: _Capture) -> None:
    """The error says what to do, and nothing is written."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TIRX_BROWSER", raising=False)
    assert main([_TILE, "-o", str(tmp_path / f"x.{kind}")]) == 1
    assert "error: --output: expected one of chromium" in capsys.readouterr().err
    monkeypatch.setenv("TIRX_BROWSER", "none-such")
    assert main([_TILE, "-o", str(tmp_path / f"x.{kind}")]) == 1
    assert "found no program 'none-such'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [_TILE, "-o", "x.gif"],
            "error: --output: expected a file that ends in .html, .svg, .png, .pdf, found",
        ),
        ([_TILE, "--shape", "8,x"], "error: --shape: expected positive integers as 8,16, found '8,x'"),
        ([_TILE, "--shape", "8,17"], "error: the layout has 128 elements, shape (8, 17) has 136"),
        ([_TILE, "--dtype", "f17"], "error: unknown element type 'f17'"),
        (["--terminal"], "error: --terminal: expected a layout or a program, found none"),
        (["Swizzle(3, 3, 3)"], "<layout>:1:1: error: a swizzle alone has no size: expected --shape"),
        (["S[(8, 4) : (4@laneid"], "<layout>:1:21: error: expected ')', found the end of the text"),
        (["(8,4):(1,8,2)"], "<layout>:1:7: error: expected strides nested like the shape"),
        (["#ttg.linear<{register = [[0, 1]]"], "<layout>:1:33: error: expected '}', found the end of the text"),
        (["S[(n, 64) : (64, 1)]"], "error: expected a layout with numbers as extents"),
        (["x.mlir", "--target", "sm_1"], "error: --target: expected one of"),
        ([_TILE, "--li"], "unrecognized arguments: --li"),
        (["none.mlir"], "error: cannot read 'none.mlir': No such file or directory"),
        (["nonsense"], "<layout>:1:1: error: expected"),
    ],
)
def test_errors(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: _Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_program_without_tiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text('tirx.kernel @k() target("sm_80") threads(32) { tirx.return }')
    assert main([str(path), "-o", str(tmp_path / "x.html")]) == 1
    assert "expected a program with tiles, found none with a layout" in capsys.readouterr().err


def test_program_with_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The diagnostic is that of tirx-opt, and a page shows it with the program."""
    path = tmp_path / "wrong.mlir"
    path.write_text(
        "tirx.kernel @k() threads(32) {\n  %t = tirx.alloc : !tirx.tile<8xf16, shrared>\n  tirx.return\n}\n"
    )
    assert main([str(path), "-o", str(tmp_path / "x.html")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}:2:") and "\n  %t = tirx.alloc" in error
    (program,) = _programs(tmp_path / "x.html")
    assert program == {"name": str(path), "source": path.read_text(), "error": error.rstrip("\n"), "kernels": []}
    assert main([str(path), "--list"]) == 1
    assert capsys.readouterr() == ("", error)


def _programs(path: Path) -> list[dict[str, Any]]:
    data = path.read_text(encoding="utf-8").partition('id="data">')[2].partition("</script>")[0]
    return json.loads(data)["programs"]


def test_lines_of_ptx(tmp_path: Path) -> None:
    """Each line of PTX has the line of the program that it comes from; the PTX is that of tirx-opt."""
    text = Path("examples/tcgen05_gemm.mlir").read_text()
    (path := tmp_path / "é.mlir").write_text(text)
    assert main([str(path), "-o", str(tmp_path / "x.html")]) == 0
    (program,) = _programs(tmp_path / "x.html")
    assert program["ptx"] == tirx.compile(text)
    lines = program["ptx"].split("\n")
    assert len(lines) == len(program["lines"])
    product = next(k for k, line in enumerate(text.split("\n"), 1) if "tirx.mma" in line)
    of_products = {at for line, at in zip(lines, program["lines"], strict=True) if "tcgen05.mma." in line}
    assert of_products == {product}
    assert {at for line, at in zip(lines, program["lines"], strict=True) if not line.startswith("  ")} == {0}


def test_program_that_does_not_compile_to_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page shows what was decided, and the error."""
    path = tmp_path / "large.mlir"
    path.write_text(
        """tirx.kernel @k(%x: memref<512x512xf32>) target("sm_80") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<512x512xf32> -> !tirx.tile<512x512xf32, global>
  %s = tirx.alloc : !tirx.tile<512x512xf32, shared>
  tirx.copy %g, %s : !tirx.tile<512x512xf32, global>, !tirx.tile<512x512xf32, shared>
  tirx.return
}
"""
    )
    assert main([str(path), "-o", str(tmp_path / "x.html")]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{path}:4:8: error: expected at most 166912 bytes of shared memory")
    (program,) = _programs(tmp_path / "x.html")
    assert program["error"] == error.rstrip("\n")
    assert [tile["what"] for tile in program["kernels"][0]["tiles"]] == ["%s: 512x512 f32, shared"]


def test_warnings_about_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: _Capture) -> None:
    """They are shown; remarks are for the page only."""
    path = tmp_path / "k.mlir"
    path.write_text("first\n  second")

    def compiled(text: str, name: str, *_: object) -> None:
        place = file_location(name, 2, 3)
        report(Diagnostic("remark", "a remark", place))
        report(Diagnostic("warning", "a warning", place, Facts(rule="never-runs")))

    monkeypatch.setattr(tirx_viz, "compile_program", compiled)
    assert main([str(path), "-o", str(tmp_path / "x.html")]) == 1
    assert capsys.readouterr().err == (
        f"{path}:2:3: warning: a warning [-Wnever-runs]\n  second\n  ^\n"
        f"error: expected a program with tiles, found none with a layout in '{path}'\n"
    )


def test_tiles_of_files_and_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, in the order of the command line; the programs are those of files that decide something."""
    of_file, asked = read_tiles("S[16]"), list[tuple[object, ...]]()

    def read(*given: object) -> object:
        asked.append(given)
        return of_file, {"name": given[0]} if given[2] else None

    monkeypatch.setattr(tirx_viz, "_read_file", read)
    flags = SimpleNamespace(
        layouts=["S[4]", "a.mlir", "-", "S[8]"], shape=None, thread_value=False, target="sm_80", dtype="f32"
    )
    for decides, programs in ((True, [{"name": "a.mlir"}, {"name": "-"}]), (False, [])):
        asked.clear()
        tiles, found = tirx_viz._tiles(flags, decides)  # pyright: ignore
        assert [(str(tile.layout), tile.dtype) for tile in tiles] == [
            ("S[4 : 1]", "f32"), ("S[16 : 1]", "f16"), ("S[16 : 1]", "f16"), ("S[8 : 1]", "f32")
        ]  # fmt: skip
        assert found == programs and asked == [("a.mlir", "sm_80", decides), ("-", "sm_80", decides)]
    flags = SimpleNamespace(layouts=["a.mlir", "(4,2):(1,4)"], shape="2,4", thread_value=True, target=None, dtype="f32")
    (_, tile), _ = tirx_viz._tiles(flags, False)  # pyright: ignore
    assert tile == read_thread_value("(4,2):(1,4)", (2, 4), "f32")
    for changes, message in (
        ({"shape": None}, "--thread-value: expected the shape of the tile, as --shape 16,8, found none"),
        ({"layouts": ["a.mlir", "-"]}, "--thread-value: expected thread-value layouts on the command line, found none"),
    ):
        with pytest.raises(UsageError) as caught:
            tirx_viz._tiles(SimpleNamespace(**vars(flags) | changes), False)  # pyright: ignore
        assert str(caught.value) == message


def test_programs_that_are_no_text(tmp_path: Path, capsys: _Capture) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(b"// \xff\n")
    assert main([str(path), "--list"]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:1:4: error: expected UTF-8 text, found byte 0xff")


def test_how_many_tiles_are_drawn(tmp_path: Path, capsys: _Capture) -> None:
    """Pages show any number of them, pictures one."""
    for layouts in ([], ["S[4]", "S[8]"]):
        assert main([*layouts, "-o", str(tmp_path / "x.svg")]) == 1
        assert capsys.readouterr().err == (
            f"error: --output: expected one tile for .svg, found {len(layouts)}; .html shows many\n"
        )
    assert not list(tmp_path.iterdir())
    for layouts, title in (([], "Layouts"), (["S[4]"], "S[4]"), (["S[4]", "S[8]"], "Layouts")):
        assert main([*layouts, "-o", str(tmp_path / "x.html")]) == 0
        assert f"<title>{title}</title>" in (tmp_path / "x.html").read_text(encoding="utf-8")


def test_a_file_without_a_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: _Capture):
    monkeypatch.chdir(tmp_path)
    assert main([_SWIZZLED]) == 0 and [each.name for each in tmp_path.iterdir()] == ["layout.html"]
    assert capsys.readouterr().err == "wrote layout.html\n"
    assert main([_SWIZZLED, "-o", "a.svg"]) == 0 and capsys.readouterr().err == ""


def test_an_empty_name_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: _Capture):
    monkeypatch.chdir(tmp_path)
    assert main([_SWIZZLED, "-o", ""]) == 1
    assert (
        capsys.readouterr().err == "error: --output: expected a file that ends in .html, .svg, .png, .pdf, found ''\n"
    )
    assert not list(tmp_path.iterdir())


def test_a_file_whose_name_is_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    name = "\udcff.mlir"
    try:
        Path(name).write_text(
            'tirx.kernel @k() target("sm_80") threads(32) {\n'
            "  %a = tirx.alloc : !tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[(8, 8) : (8, 1)]>>\n  tirx.return\n}\n"
        )
    except OSError:
        pytest.skip("the file system has names in UTF-8 only")
    assert main([name, "-o", "k.html"]) == 0
    assert "<title>\\udcff.mlir" in Path("k.html").read_text(encoding="utf-8")


def test_a_full_disk_is_an_error_of_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: _Capture):
    pytest.importorskip("rich")
    closed: list[bool] = []
    monkeypatch.setattr("tirx.tools.tirx_viz.close_output", lambda: closed.append(True))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("tirx.viz.terminal.print_tile", "sys.stdout.flush"):  # of a short text, the flush fails
        with monkeypatch.context() as patched:
            patched.setattr(name, fail)
            assert main([_SWIZZLED, "--terminal"]) == 1
        assert capsys.readouterr().err == "error: cannot write standard output: No space left on device\n"
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", SimpleNamespace(flush=fail))
        with pytest.raises(FileError, match="^cannot write standard output: No space left on device$"):
            _print([])
    assert closed == [True, True, True]


def test_terminals_that_fail(monkeypatch: pytest.MonkeyPatch, capsys: _Capture) -> None:
    def closed(*arguments: Any) -> None:
        raise BrokenPipeError("gone")

    monkeypatch.setitem(sys.modules, "tirx.viz.terminal", SimpleNamespace(print_tile=closed))  # pyright: ignore[reportArgumentType]
    with pytest.raises(BrokenPipeError, match="gone"):
        _print(read_tiles(_TILE))
    monkeypatch.setitem(sys.modules, "tirx.viz.terminal", None)
    with pytest.raises(ModuleNotFoundError, match="tirx.viz.terminal"):
        _print([])


def test_errors_without_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: _Capture) -> None:
    def failed(*arguments: Any) -> None:
        raise PassFailedException("no such thing")

    monkeypatch.setattr(tirx_viz, "program_tiles", failed)
    path = tmp_path / "k.mlir"
    path.write_text("")
    assert main([str(path), "--list"]) == 1
    assert capsys.readouterr().err == f"error: {path}: no such thing\n"
