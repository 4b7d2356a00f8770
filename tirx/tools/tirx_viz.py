"""`tirx-viz`: shows layouts as one interactive page, as SVG, PNG or PDF, or in the terminal.

Exit code 0 is success and 1 an error in the input or on the command line. Nothing is written when there is an error,
but for the page of a program, which shows it in its lines.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler
from tirx.hw.targets import TARGETS, TargetError
from tirx.layout import LayoutError
from tirx.passes import lower_to_ptx_pipeline
from tirx.ptx.printer import print_ptx, split_lines
from tirx.text.source import Source, check_encoding, decode
from tirx.tools import commands
from tirx.tools.decisions import DecisionRecorder
from tirx.tools.files import FileError, close_output, read_input, write_file, write_output
from tirx.tools.process import ArgumentParser, UsageError
from tirx.viz import Tile, page, presets, read_tiles, tile_svg
from tirx.viz.sources import TileCollector, compile_program, program_tiles, read_thread_value

_KINDS = ("html", "svg", "png", "pdf")
_SVG_SIZE = re.compile(r'width="([0-9.]+)" height="([0-9.]+)"')

_EPILOG = """\
A layout is one of

  "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1)] + R[2:4@warpid]"     the notation; --shape says the dimensions
  "ComposeLayout(Swizzle(3,3,3), S[(8,64):(64,1)])"                 with a swizzle
  "((8,2),(4,4)):((4,32),(1,64))"                                   CuTe; thread-value layouts by --thread-value
  "#ttg.linear<{register = [[0, 1]], lane = [[0, 2]], warp = [], block = []}>"     Triton
  "T.TileLayout(T.S[(2, 4):(4 @ Axis.wgid, 1 @ Axis.warpid)])"      TVM
  kernel.mlir                      every tile of a program, with its line; in .html also what the compiler decided

Without a layout the page has the presets only: the case studies of the notation, swizzles, canonical operands, tensor
memory, and every fragment of mma.sync, wgmma and tcgen05.ld.
"""


def _parser() -> ArgumentParser:
    parser = ArgumentParser("tirx-viz", "Show layouts: which place has which element of a tile.", _EPILOG)
    parser.add_argument("layouts", nargs="*", metavar="LAYOUT|FILE", help="layouts, and files that end in .mlir")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"a file that ends in .{', .'.join(_KINDS)} (default: layout.html)"
    )
    parser.add_argument("--shape", help="logical dimensions, as 8,16 (default: the extents of the layout)")
    parser.add_argument(
        "--thread-value", action="store_true", help="read CuTe texts as thread-value layouts of a tile of --shape"
    )
    parser.add_argument("--dtype", default="f16", help="element type of layouts on the command line (default: f16)")
    parser.add_argument("--target", metavar="TARGET", help="compile programs for this target instead, as sm_100a")
    parser.add_argument(
        "--terminal", action="store_true", help="print to the terminal instead (needs the package rich)"
    )
    parser.add_argument("--list", action="store_true", help="list the presets and the tiles found, and write nothing")
    return parser


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = re.split(r"\s*[,x]\s*", text.strip().strip("()"))
    if not all(part.isdecimal() and len(part) < 12 and int(part) > 0 for part in parts):
        raise UsageError(f"--shape: expected positive integers as 8,16, found '{text[:80]}'")
    return tuple(map(int, parts))


def _pointed(text: str, error: LayoutError) -> str:
    """The message of an error in a layout text, with a caret under the mistake."""
    if error.position is None:
        return str(error)
    before = text[: error.position].split("\n")
    row = text.split("\n")[len(before) - 1]
    return f"<layout>:{len(before)}:{len(before[-1]) + 1}: error: {error}\n{row}\n{' ' * len(before[-1])}^"


class _Reported(Exception):
    """An error whose message is complete."""


def _read_file(path: str, target: str | None, decides: bool) -> tuple[list[Tile], dict[str, Any] | None]:
    """The tiles of a program; with `decides`, also what the whole pipeline decides, for the page."""
    data = read_input(path)
    name = "<stdin>" if path == "-" else path
    source = decode(name, data)
    program = None
    try:
        check_encoding(name, data)
        if decides:
            found, program = _decided(source, target)
        else:
            found = program_tiles(source.text, name, target)
    except LocatedError as error:
        raise _Reported(_rendered(source, error)) from error
    except DiagnosticException as error:
        raise _Reported(f"error: {name}: {error}") from error
    if not found and not (program or {}).get("error"):
        raise UsageError(f"expected a program with tiles, found none with a layout in '{name}'")
    return found, program


def _decided(source: Source, target: str | None) -> tuple[list[Tile], dict[str, Any]]:
    """The tiles, and the program for the page: its text, PTX and decisions, or how far it came and the error."""
    collector, recorder = TileCollector(), DecisionRecorder()
    program: dict[str, Any] = {"name": source.name, "source": source.text}

    def hear(diagnostic: Diagnostic) -> None:
        recorder.hear(diagnostic)
        if diagnostic.severity == "warning":
            print(source.render(diagnostic), file=sys.stderr)

    def after(module_pass: ModulePass, module: ModuleOp) -> None:
        collector.after(module_pass, module)
        recorder.after(module_pass, module)

    with diagnostic_handler(hear):
        try:
            module = compile_program(source.text, source.name, lower_to_ptx_pipeline(target, "lines=on"), after)
            if collector.tiles:
                program["ptx"], program["lines"] = split_lines(print_ptx(module), source.name)
        except (LocatedError, DiagnosticException) as error:
            program["error"] = _rendered(source, error) if isinstance(error, LocatedError) else str(error)
            print(program["error"], file=sys.stderr)
    program["kernels"] = [kernel.json() for kernel in recorder.kernels()]
    return collector.tiles or [], program


def _rendered(source: Source, error: LocatedError) -> str:
    return "\n".join(source.render(each) for each in error.diagnostics)


def _is_file(text: str) -> bool:
    return text == "-" or text.endswith(".mlir")


def _tiles(flags: argparse.Namespace, decides: bool) -> tuple[list[Tile], list[dict[str, Any]]]:
    shape = _shape(flags.shape)
    if flags.thread_value and shape is None:
        raise UsageError("--thread-value: expected the shape of the tile, as --shape 16,8, found none")
    if flags.thread_value and all(map(_is_file, flags.layouts)):
        raise UsageError("--thread-value: expected thread-value layouts on the command line, found none")
    found: list[Tile] = []
    programs: list[dict[str, Any]] = []
    for text in flags.layouts:
        if _is_file(text):
            tiles, program = _read_file(text, flags.target, decides)
            found += tiles
            programs += [] if program is None else [program]
            continue
        try:
            if flags.thread_value and shape is not None:
                found.append(read_thread_value(text, shape, flags.dtype))
            else:
                found += read_tiles(text, shape, flags.dtype)
        except LayoutError as error:
            message = _pointed(text, error)
            raise _Reported(message if "error:" in message else f"error: {message}") from error
    return found, programs


def _kind(path: str) -> str:
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in _KINDS:
        raise UsageError(f"--output: expected a file that ends in .{', .'.join(_KINDS)}, found '{path}'")
    return kind


def _drawn(kind: str, tiles: Sequence[Tile], programs: Sequence[dict[str, Any]], title: str) -> bytes:
    if kind == "html":
        return page(tiles, title, programs).encode(errors="backslashreplace")  # of names of files that are not UTF-8
    if len(tiles) != 1:
        raise UsageError(f"--output: expected one tile for .{kind}, found {len(tiles)}; .html shows many")
    svg = tile_svg(tiles[0])
    if kind == "svg":
        return svg.encode(errors="backslashreplace")
    from tirx.viz.browser import BrowserError, draw_svg

    size = _SVG_SIZE.search(svg)
    assert size is not None, "every picture says its size"
    try:
        return draw_svg(svg, kind, (float(size[1]), float(size[2])))
    except BrowserError as error:
        raise UsageError(f"--output: {error}") from error


def _print(tiles: Sequence[Tile]) -> None:
    try:
        from tirx.viz.terminal import print_tile
    except ModuleNotFoundError as error:
        if error.name != "rich":
            raise
        raise UsageError(
            "--terminal: expected the package rich, found none: pip install 'tirx-compiler[viz]'"
        ) from error
    try:
        for tile in tiles:
            print_tile(tile, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        close_output()
        raise FileError(f"cannot write standard output: {error.strerror}") from error


def _list(tiles: Sequence[Tile]) -> None:
    rows = [f"{tile.place or tile.group}: {tile.name}: {tile.layout}" for tile in tiles or presets()]
    write_output("-", "\n".join(rows) + "\n")


def _run(flags: argparse.Namespace) -> int:
    if flags.target is not None and flags.target not in TARGETS:
        raise UsageError(f"--target: expected one of {', '.join(TARGETS)}, found '{flags.target}'")
    output: str = "layout.html" if flags.output is None else flags.output
    kind = _kind(output)
    tiles, programs = _tiles(flags, decides=kind == "html" and not flags.list and not flags.terminal)
    if flags.list:
        _list(tiles)
    elif flags.terminal:
        if not tiles:
            raise UsageError("--terminal: expected a layout or a program, found none")
        _print(tiles)
    else:
        title = flags.layouts[0] if len(flags.layouts) == 1 else "Layouts"
        write_file(output, _drawn(kind, tiles, programs, title))
        if flags.output is None:
            print(f"wrote {output}", file=sys.stderr)
    return int(any("error" in program for program in programs))


def main(argv: Sequence[str]) -> int:
    """Runs `tirx-viz` with the arguments `argv`, without its name, and returns its exit code."""
    try:
        return _run(_parser().parse_args(argv))
    except _Reported as error:
        print(error, file=sys.stderr)
    except (UsageError, FileError, LayoutError, TargetError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(commands.tirx_viz())
