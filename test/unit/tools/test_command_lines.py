"""Values and flags on command lines: what they become, and what is refused, on both sides of each limit."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from xdsl.utils.exceptions import PassFailedException

from tirx.passes import lower_to_ptx_pipeline
from tirx.tools import flags, language, tirx_opt
from tirx.tools import tirx_explain as explain
from tirx.tools import tirx_sim as sim
from tirx.tools.files import FileError
from tirx.tools.flags import OptFlags, _disabled_warnings, parse_flags  # pyright: ignore[reportPrivateUsage]
from tirx.tools.process import UsageError
from tirx.tools.tirx_sim import SimFlags
from tirx.tools.tirx_sim import parse_flags as parse_sim_flags

_PARTS = "expected one to three positive numbers, as 4 or 4,2,1, found '{}'"
_RANGE = "expected a number or a range, as 5 or 0-31, found '{}'"
_DUMP = "expected LINE:registers or LINE:shared or LINE:tensor or LINE:mbarriers, found '{}'"
_COLUMNS = "columns: expected as 0-3,12-15, up to 255, found '{}'"
_SHAPE = "--shape: expected rows and elements of K as 128x16, up to 1024, found '{}'"


@together(
    ("parse", "text", "expected"),
    [
        *((sim._dimensions, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("4", (4,)), ("4,2, 7", (4, 2, 7)), ("1,1,1,1", _PARTS), ("0", _PARTS), ("2,0", _PARTS), ("-1", _PARTS),
            ("", _PARTS))),
        *((sim._bytes, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("0", 0), ("17", 17), ("-1", "expected a number of bytes, found '{}'"))),
        *((sim._count, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("1", 1), ("17", 17), ("0", "expected a positive number, found '{}'"),
            ("x", "expected a positive number, found '{}'"))),
        *((sim._range, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("5", range(5, 6)), ("0-31", range(32)), ("7-7", range(7, 8)), ("7-6", _RANGE), ("a", _RANGE),
            ("1-a", _RANGE), ("-3", _RANGE))),
        *((explain._word, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("0", 0), ("0xffffffffffffffff", 2**64 - 1), ("0b101", 5),
            ("0x10000000000000000", "expected a word of 64 bits, found '{}'"),
            ("-1", "expected a word of 64 bits, found '{}'"),
            ("x", "expected a word as 0x4000404000010000, or field=value, found '{}'"))),
        *((explain._value, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("Yes", True), ("true", True), ("no", False), ("FALSE", False), ("None", None), ("0x10", 16),
            ("K", "K"), ("1,0x2,no", (1, 2, False)), ("5,", (5,)))),
        *((explain._columns, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            ("0-3,12", {0, 1, 2, 3, 12}), ("255", {255}), ("7-7", {7}), ("256", _COLUMNS), ("3-2", _COLUMNS),
            ("0-256", _COLUMNS), ("3-", _COLUMNS), ("-3", _COLUMNS), ("a", _COLUMNS), ("0255", _COLUMNS),
            ("", _COLUMNS))),
        *((explain._shape, *case) for case in (  # pyright: ignore[reportPrivateUsage]
            (None, None), ("128x16", (128, 16)), ("1024x1", (1024, 1)), ("1025x1", _SHAPE), ("1x1025", _SHAPE),
            ("0x16", _SHAPE), ("16x0", _SHAPE), ("16", _SHAPE), ("1x2x3", _SHAPE))),
    ],
)  # fmt: skip
def test_values(parse: Callable[[str | None], object], text: str | None, expected: Any) -> None:
    if not isinstance(expected, str) or "expected" not in expected:
        found = parse(text)
        assert (found, type(found)) == (expected, type(expected))
        return
    with pytest.raises((argparse.ArgumentTypeError, UsageError)) as caught:
        parse(text)
    assert str(caught.value) == expected.format(text)


def test_words_of_fewer_bits() -> None:
    word: Callable[..., int] = explain._word  # pyright: ignore[reportPrivateUsage]
    assert word("0xffffffff", bits=32) == 2**32 - 1
    with pytest.raises(UsageError, match="^expected a word of 32 bits, found '0x100000000'$"):
        word("0x100000000", bits=32)


def _sim_flags(**changes: Any) -> SimFlags:
    defaults: dict[str, Any] = {
        "input": "k.ptx", "entry": None, "launch": None, "grid": None, "block": (32,), "cluster": (1,),
        "parameters": (), "dynamic_shared": 0, "seed": None, "check": "hardware", "arithmetic": "hardware",
        "max_instructions": None, "jobs": 1, "trace": False, "trace_values": False, "trace_threads": None,
        "trace_lines": None, "dump": (), "profile": False, "timeline": (),
    }  # fmt: skip
    return SimFlags(*(defaults | changes).values())


@together(
    ("line", "changes"),
    [
        ("", {}),
        ("--entry f --grid 3,5 --cluster 1,5 --dynamic-shared 7 --seed 0 --jobs 3",
         {"entry": "f", "grid": (3, 5), "cluster": (1, 5), "dynamic_shared": 7, "seed": 0, "jobs": 3}),
        ("--arg 5 --out o.npy:f32:3 --arg 7", {"parameters": ((False, "5"), (True, "o.npy:f32:3"), (False, "7"))}),
        ("--check strict --arithmetic exact --max-instructions 9 --profile",
         {"check": "strict", "arithmetic": "exact", "max_instructions": 9, "profile": True}),
        ("--no-check", {"check": False}),
        ("--timeline a.html --timeline b.json", {"check": False, "timeline": ("a.html", "b.json")}),
        ("--trace", {"trace": True}),
        ("--trace-values", {"trace": True, "trace_values": True}),
        ("--trace-threads 0-3", {"trace": True, "trace_threads": range(4)}),
        ("--trace-lines 7", {"trace": True, "trace_lines": range(7, 8)}),
        ("--dump 7:shared --dump 9:registers", {"dump": ((7, "shared"), (9, "registers"))}),
    ],
)  # fmt: skip
def test_flags_of_the_simulator(line: str, changes: dict[str, Any]) -> None:
    assert parse_sim_flags(["k.ptx", "--block", "32", *line.split()]) == _sim_flags(**changes)


def test_a_descriptor_says_extents() -> None:
    found = parse_sim_flags(["k.ptx", "--launch", "l.json", "--grid", "2"])
    assert found == _sim_flags(launch="l.json", block=(), grid=(2,))


@together(
    ("line", "message"),
    [
        ("", "expected --block, or --launch with the launch descriptors of 'tirx-opt --launch'"),
        ("--block 2 --launch l", "expected no --block with --launch, which says it; found both"),
        ("--cluster 2 --launch l", "expected no --cluster with --launch, which says it; found both"),
        ("--dynamic-shared 0 --launch l", "expected no --dynamic-shared with --launch, which says it; found both"),
        ("--block 2 --timeline t.png", "--timeline: expected a file called .html or .json, found 't.png'"),
        ("--block 2 --timeline t.json --check strict",
         "expected no --check with --timeline, which runs without checks; found both"),
    ],
)  # fmt: skip
def test_flags_that_the_simulator_refuses(line: str, message: str) -> None:
    with pytest.raises(UsageError) as found:
        parse_sim_flags(["k.ptx", *line.split()])
    assert str(found.value) == message


def test_help_of_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="^0$"):
        parse_sim_flags(["--help"])
    shown = capsys.readouterr().out
    assert "  --arg VALUE  " in shown and "  --out FILE[:TYPE:SHAPE]\n" in shown
    assert shown.endswith(sim._EPILOG)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(UsageError, match="^unrecognized arguments: --trace-val$"):
        parse_sim_flags(["k.ptx", "--block", "1", "--trace-val"])


def _opt_flags(line: str) -> dict[str, Any]:
    """The flags that differ from those of no arguments; of passes and the target their names."""
    found, usual = (parse_flags(each) for each in (line.split(), []))
    assert isinstance(found, OptFlags)
    changed = {name: value for name, value in vars(found).items() if value != getattr(usual, name)}
    if "target" in changed:
        changed["target"] = changed["target"].name
    return changed


@together(
    ("line", "changes"),
    [
        ("", {}),
        ("a.mlir -o b", {"input_path": "a.mlir", "output_path": "b"}),
        ("--split-input-file --verify-diagnostics --verify-each",
         {"split_input_file": True, "verify_diagnostics": True, "verify_each": True}),
        ("--time-passes", {"time_passes": "text"}),
        ("--time-passes-json", {"time_passes": "json"}),
        ("--remarks --diagnostics-json", {"remarks": True, "diagnostics_json": True}),
        ("--print-between-passes --print-whole", {"print_between_passes": True, "print_whole": True}),
        ("--print-after tirx-pick-layouts", {"print_between_passes": True, "print_after": ("tirx-pick-layouts",)}),
        ("--allow-unregistered-dialect", {"allow_unregistered_dialect": True}),
        ("-t ptx --launch l", {"target": "ptx", "launch_path": "l"}),
        ("-Wno-never-runs -Wno-operand-pattern", {"disabled_warnings": frozenset({"never-runs", "operand-pattern"})}),
    ],
)  # fmt: skip
def test_flags_of_the_compiler(line: str, changes: dict[str, Any]) -> None:
    assert _opt_flags(line) == changes


@together(
    ("line", "message"),
    [
        ("--print-whole", "expected --print-whole with --print-between-passes or --print-after"),
        ("--launch l", "expected --launch with one module of PTX as output, as of --lower-to-ptx"),
        ("--launch l -t ptx --split-input-file",
         "expected --launch with one module of PTX as output, as of --lower-to-ptx"),
        ("--launch x/../l -o l -t ptx", "expected PTX and launch descriptors in two files, found 'x/../l' for both"),
    ],
)  # fmt: skip
def test_flags_that_the_compiler_refuses(line: str, message: str) -> None:
    with pytest.raises(UsageError) as found:
        parse_flags(line.split())
    assert str(found.value) == message


def test_flags_that_choose_passes() -> None:
    """Passes that are explained are the whole pipeline where none are named; both outputs may go to one stream."""
    pipeline = [spec.partition("{")[0] for spec in lower_to_ptx_pipeline()]
    for line, names in (("--explain", pipeline), ("--explain-json --cse", ["cse"]), ("--cse", ["cse"]), ("", [])):
        assert [each.name for each in parse_flags(line.split()).passes] == names
    assert parse_flags(["--lower-to-ptx", "--launch", "-"]).launch_path == "-"
    null = parse_flags(["-t", "ptx", "--launch", os.devnull, "-o", os.devnull])
    assert null.launch_path == null.output_path == os.devnull


def test_a_trace_on_a_full_disk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    closed: list[bool] = []
    monkeypatch.setattr(sim, "_run", fail)
    monkeypatch.setattr(sim, "close_output", lambda: closed.append(True))
    assert sim.main(["k.ptx", "--block", "1"]) == 1
    assert closed == [True] and capsys.readouterr().err == (
        "error: cannot write standard output: No space left on device\n"
    )


def test_how_the_compiler_prints() -> None:
    for line, generic, locations in (
        ("", False, False), ("--print-op-generic", True, False), ("--print-debuginfo", False, True),
        ("-t mlir{print_generic_format=true}", True, False),
    ):  # fmt: skip
        target: Any = parse_flags(line.split()).target
        assert (target.print_generic_format, target.print_debuginfo) == (generic, locations)


def test_warnings_that_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings of installed packages have names that nobody else knows."""
    assert _disabled_warnings([]) == frozenset()
    with monkeypatch.context() as installed:
        installed.setattr(flags, "extensions", lambda: ("toy",))
        assert _disabled_warnings(["no-toy-wide"]) == {"toy-wide"}
    with pytest.raises(UsageError, match="^unknown argument '-Wnever-runs'"):
        _disabled_warnings(["never-runs"])
    with pytest.raises(UsageError, match="^expected a warning behind -Wno-, found 'view-bounds': errors are"):
        _disabled_warnings(["no-view-bounds"])
    with pytest.raises(UsageError, match="^unknown argument '-Wno-nothing'"):
        _disabled_warnings(["no-nothing"])


# Arrays and entries of the simulator

_NEW = "--out: expected file.npy or file.npy:type:shape, found '{}'"


@together(
    ("text", "found"),
    [
        ("a.npy:f32:3x5", ("a.npy", (3, 5), "float32")),
        ("b:c.npy:u8:7", ("b:c.npy", (7,), "uint8")),
        ("a.npy", _NEW),
        ("a.npy:3", _NEW),
        ("a.np:f32:3", _NEW),
        ("a.npy:f32:3x0", "--out: expected a shape as 128x64, found '3x0'"),
        ("a.npy:f32:3x", "--out: expected a shape as 128x64, found '3x'"),
        (f"a.npy:f32:{10**20}", f"--out: expected a shape as 128x64, found '{10**20}'"),
        (f"a.npy:f32:{10**19}", f"--out: an array of shape {10**19} is too large"),
    ],
)
def test_new_arrays(text: str, found: Any) -> None:
    make: Callable[[str], tuple[str, Any]] = sim._new_array  # pyright: ignore[reportPrivateUsage]
    if isinstance(found, tuple):
        path, array = make(text)
        assert (path, array.shape, array.dtype.name) == found and not array.any()
        return
    with pytest.raises(UsageError) as caught:
        make(text)
    assert str(caught.value) == found.format(text)


def test_parameters_of_the_simulator(tmp_path: Path) -> None:
    given = tmp_path / "g.npy"
    np.save(given, np.arange(6, dtype=np.int16).reshape(2, 3))
    new = tmp_path / "n.npy"
    found = sim._Parameters(  # pyright: ignore[reportPrivateUsage]
        [
            (False, "7"),
            (False, str(given)),
            (True, str(given)),
            (True, f"{new}:f32:4"),
            (False, str(new)),
            (False, "0.5"),
        ]
    )
    number, first, second, made, again, half = found.arguments
    assert (number, half) == (7, 0.5) and first is second and made is again
    assert [*found.outputs] == [str(given), str(new)] and found.outputs[str(given)] is first
    with pytest.raises(FileError, match="cannot write '.*/no/o.npy': No such file or directory"):
        sim._Parameters([(True, f"{tmp_path}/no/o.npy:f32:3")])  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(UsageError, match="^--out: '.*g.npy' is given already, and cannot be a new array$"):
        sim._Parameters([(False, str(given)), (True, f"{given}:f32:3")])  # pyright: ignore[reportPrivateUsage]


def test_entries_of_the_simulator() -> None:
    entry: Callable[[str, str | None], str] = sim._entry  # pyright: ignore[reportPrivateUsage]
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    one, two = (head + "".join(f".visible .entry {name}() {{ ret; }}\n" for name in names) for names in ("a", "ab"))
    assert (entry(one, None), entry(two, "b"), entry("", "c")) == ("a", "b", "c")
    for text, message in ((two, "expected --entry with a name of a, b"), (head, "the module has no entry")):
        with pytest.raises(UsageError) as found:
            entry(text, None)
        assert str(found.value) == message


def test_times_of_a_compilation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter(range(1, 100))
    for module in ("tirx.tools.tirx_opt", "tirx.text.verification"):
        monkeypatch.setattr(f"{module}.perf_counter", lambda: 2.0 ** next(clock))
    monkeypatch.setattr("tirx.tools.tirx_opt.read_input", lambda _: b"")  # pyright: ignore
    assert tirx_opt.main(["--time-passes-json"]) == 0
    steps = json.loads(capsys.readouterr().err)
    rows = [(each["name"], each["run"], each["verify"]) for each in steps["steps"]]
    # Clocks: 2, 4 around parsing, 8, 16 around verification, 32, 64 around printing.
    assert rows == [("parse", 2.0, 0.0), ("input", 0.0, 8.0), ("print", 32.0, 0.0)]
    assert steps["total"] == 42.0


def test_errors_of_passes_without_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise PassFailedException("no place")

    monkeypatch.setattr(language, "run_passes", failing)
    (first,) = language.Analysis.of("", "k").diagnostics
    assert (first.position, first.message, first.severity) == (("k", 1, 1), "no place", "error")
