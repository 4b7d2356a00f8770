"""`tirx-sim`: what its options mean, what it writes, and what it says about wrong ones."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tirx
from tirx.runtime.launch import write_launches
from tirx.sim import Dump, Profile, SimError, SimWarning, Timeline, Trace
from tirx.tools import timeline_page, tirx_sim
from tirx.tools.tirx_sim import (
    _progress_line,  # pyright: ignore[reportPrivateUsage]
    _read_array,  # pyright: ignore[reportPrivateUsage]
    _show,  # pyright: ignore[reportPrivateUsage]
    _write_timeline,  # pyright: ignore[reportPrivateUsage]
    main,
    parse_flags,
)

_SCALE = str(Path(__file__).parents[2] / "tools" / "Inputs" / "scale.ptx")
_ENTRY = ".visible .entry {}() {{ ret; }}\n"
_HEADER = ".version 8.6\n.target sm_100a\n.address_size 64\n"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with x.npy: 64 numbers of f32."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(64, dtype=np.float32))
    return tmp_path


@pytest.fixture
def errors(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs a command line that must fail; returns what it says."""

    def fail(*argv: str) -> str:
        assert main(argv) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        return shown.err

    return fail


def test_new_output(directory: Path):
    options = ["--entry", "scale", "--grid", "2", "--block", "32,1"]
    assert main([_SCALE, *options, "--arg", "x.npy", "--arg", "1.5", "--out", "y.npy:f32:8x8"]) == 0
    found = np.load("y.npy")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, (1.5 * np.arange(64)).reshape(8, 8))


def test_existing_output_keeps_what_is_not_written(directory: Path):
    np.save("y.npy", np.full(64, -1, np.float32))
    assert main([_SCALE, "--block", "32", "--arg", "x.npy", "--arg", "2", "--out", "y.npy"]) == 0
    np.testing.assert_array_equal(np.load("y.npy"), [*range(0, 64, 2), *[-1] * 32])


def test_arguments_are_not_written(directory: Path):
    before = Path("x.npy").read_bytes()
    assert main([_SCALE, "--block", "32", "--arg", "x.npy", "--arg=-2", "--arg", "x.npy"]) == 0
    assert Path("x.npy").read_bytes() == before


def test_a_file_given_twice_is_one_array(directory: Path):
    assert main([_SCALE, "--block", "64", "--arg", "x.npy", "--arg", "0x3", "--out", "x.npy"]) == 0
    np.testing.assert_array_equal(np.load("x.npy"), 3 * np.arange(64))


def test_column_major_files_are_passed_row_major(directory: Path):
    rows = np.arange(64, dtype=np.float32).reshape(8, 8)
    np.save("x.npy", np.asfortranarray(rows))
    assert main([_SCALE, "--block", "64", "--arg", "x.npy", "--arg", "1", "--out", "y.npy:f32:8x8"]) == 0
    np.testing.assert_array_equal(np.load("y.npy"), rows)


def test_types_of_new_outputs(directory: Path):
    for name, dtype in (("bf16", np.uint16), ("e4m3", np.uint8), ("s64", np.int64), ("f16", np.float16)):
        size = 256 // np.dtype(dtype).itemsize
        assert main([_SCALE, "--block", "64", "--arg", "x.npy", "--arg", "1", "--out", f"y.npy:{name}:{size}"]) == 0
        assert np.load("y.npy").dtype == dtype
        np.testing.assert_array_equal(np.load("y.npy").view(np.float32), np.arange(64))


_USUAL = ("--block", "32", "--arg", "x.npy", "--arg", "1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--arg", "x.npy"), "expected --block, or --launch with the launch descriptors"),
        (("--block", "32", "--launch", "x.json"), "expected no --block with --launch, which says it; found both"),
        (("--launch", "x.npy"), "cannot read 'x.npy': it has no launch descriptors of 'tirx-opt --launch'"),
        (("--block", "32", "--grid", "1,2,3,4"), "argument --grid: expected one to three positive numbers"),
        (("--block", "32", "--cluster", "a"), "argument --cluster: expected one to three positive numbers"),
        (("--block", "32", "--dynamic-shared", "-1"), "argument --dynamic-shared: expected a number of bytes"),
        (("--block", "2048", *_USUAL[2:], "--arg", "0"), "expected at most 1024 threads in a block, found 2048"),
        (("--block", "32", "--arg", "y.npz"), "--arg: expected a number or a .npy file, found 'y.npz'"),
        (("--block", "32", "--arg", "y.npy"), "cannot read 'y.npy': No such file or directory"),
        (("--block", "32", "--arg", "x.npy"), "expected 3 arguments for scale (x, a, y), found 1"),
        ((*_USUAL, "--entry", "scales", "--arg", "0"), "expected the name of an entry of the module (scale)"),
        ((*_USUAL, "--out", "y.npy"), "cannot read 'y.npy': No such file or directory"),
        ((*_USUAL, "--out", "y.raw:f32:4"), "--out: expected file.npy or file.npy:type:shape, found 'y.raw:f32:4'"),
        ((*_USUAL, "--out", "y.npy:f32"), "--out: expected file.npy or file.npy:type:shape, found 'y.npy:f32'"),
        ((*_USUAL, "--out", "y.npy:float:4"), "--out: expected a type of f16, f32,"),
        ((*_USUAL, "--out", "y.npy:f32:4x0"), "--out: expected a shape as 128x64, found '4x0'"),
        ((*_USUAL, "--out", "y.npy:f32:999999999999x999999999999"), "--out: an array of shape"),
        ((*_USUAL, "--out", "y.npy:f32:" + "9" * 5000), "--out: expected a shape as 128x64, found '999"),
        ((*_USUAL, "--timeline", "t.txt"), "--timeline: expected a file called .html or .json, found 't.txt'"),
        ((*_USUAL, "--check", "strict", "--timeline", "t.json"), "expected no --check with --timeline, which runs"),
        ((*_USUAL, "--out", "x.npy:f32:64"), "--out: 'x.npy' is given already"),
        ((*_USUAL, "--out", "no/y.npy:f32:64"), "cannot write 'no/y.npy': No such file or directory"),
        ((*_USUAL, "--out", f"{'y' * 300}.npy:f32:64"), f"cannot write '{'y' * 300}.npy': File name too long"),
    ],
)
def test_wrong_options_are_errors_of_one_line(
    directory: Path, errors: Callable[..., str], options: tuple[str, ...], message: str
):
    shown = errors(_SCALE, *options)
    assert shown.startswith(f"error: {message}")
    assert shown.count("\n") == 1
    assert [each.name for each in directory.iterdir()] == ["x.npy"]


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"no array", b"\x93NUMPY\x01\x00", b"PK\x03\x04"),
        _header(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**13},), }}\n"),
        _header("{'descr': " + "[" * 5000 + "\n"),
    ],
    ids=["empty", "text", "cut", "zip", "size that lies", "nested"],
)
def test_broken_arrays(directory: Path, errors: Callable[..., str], content: bytes):
    Path("x.npy").write_bytes(content)
    assert "error: cannot read 'x.npy': it is not a .npy file" in errors(_SCALE, *_USUAL, "--out", "y.npy:f32:64")


def test_arrays_of_objects_are_not_read(directory: Path, errors: Callable[..., str]):
    np.save("x.npy", np.array([{}], object), allow_pickle=True)
    shown = errors(_SCALE, *_USUAL, "--out", "y.npy:f32:64")
    assert shown == "error: cannot read 'x.npy': it is not a .npy file of numbers\n"


def test_faults_say_where_and_nothing_is_written(directory: Path, errors: Callable[..., str]):
    shown = errors(_SCALE, "--block", "64", "--arg", "x.npy", "--arg", "1", "--out", "y.npy:f32:63")
    line = 1 + Path(_SCALE).read_text().splitlines().index("  st.global.f32 [%d1], %f1;")
    assert shown.startswith(
        f"{_SCALE}:{line}: error: out-of-bounds global store of 4 bytes at offset 252 of argument y"
    )
    assert shown.splitlines()[1] == "    st.global.f32 [%d1], %f1;"
    assert not Path("y.npy").exists()


def test_the_entry_may_be_left_out_only_if_there_is_one(directory: Path, errors: Callable[..., str]):
    Path("none.ptx").write_text(_HEADER)
    assert errors("none.ptx", "--block", "1") == "error: the module has no entry\n"
    Path("two.ptx").write_text(_HEADER + _ENTRY.format("f") + _ENTRY.format("g"))
    assert errors("two.ptx", "--block", "1") == "error: expected --entry with a name of f, g\n"
    assert main(["two.ptx", "--block", "1", "--entry", "g"]) == 0


def test_text_that_is_no_ptx(directory: Path, errors: Callable[..., str]):
    Path("bad.ptx").write_text(_HEADER + "nonsense\n")
    assert errors("bad.ptx", "--block", "1").startswith("bad.ptx:4: error: ")
    Path("bad.ptx").write_bytes(b"\xff\xfe")
    assert errors("bad.ptx", "--block", "1") == "error: cannot read 'bad.ptx': it is not text in UTF-8\n"


def test_trace_has_every_instruction_of_every_warp(directory: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--grid", "2", "--block", "64", "--trace"]
    np.save("x.npy", np.zeros(128, np.float32))
    assert main([_SCALE, *options, "--arg", "x.npy", "--arg", "1", "--arg", "x.npy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    code = [(n, each.strip()) for n, each in enumerate(Path(_SCALE).read_text().splitlines(), 1)]
    body = [(n, each) for n, each in code if each.endswith(";") and not each.startswith(".")]
    wanted = [
        f"cta ({cta}, 0, 0) warp {warp} line {n}: {text}" for cta in (0, 1) for n, text in body for warp in (0, 1)
    ]
    assert lines == wanted


def test_trace_ends_with_the_instruction_that_fails(directory: Path, capsys: pytest.CaptureFixture[str]):
    assert main([_SCALE, "--block", "32", "--trace", *_USUAL[2:], "--out", "y.npy:f32:31"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith(": st.global.f32 [%d1], %f1;")


def test_check(directory: Path, errors: Callable[..., str]):
    Path("race.ptx").write_text(
        _HEADER
        + ".visible .entry f() {\n.reg .b32 %r<2>; .shared .b32 s;\n"
        + "mov.u32 %r0, %tid.x;\nst.shared.b32 [s], %r0;\nret;\n}\n"
    )
    assert errors("race.ptx", "--block", "64").startswith("race.ptx:7: error: ")
    assert main(["race.ptx", "--block", "64", "--no-check"]) == 0
    assert main(["race.ptx", "--block", "64", "--timeline", "t.json"]) == 0  # runs without checks


def test_levels_of_checks(directory: Path, errors: Callable[..., str], capsys: pytest.CaptureFixture[str]):
    """Accesses that only the letter of the ISA forbids are a warning, and with --check=strict an error."""
    Path("copy.ptx").write_text(
        _HEADER
        + ".visible .entry f(.param .u64 p) {\n.reg .b32 %r<3>; .reg .b64 %d<2>; .reg .pred %q;\n"
        + ".shared .align 16 .b8 s[16]; .shared .align 8 .b8 b[8];\nld.param.u64 %d0, [p];\nmov.u32 %r0, s;\n"
        + "mov.u32 %r1, b;\nmbarrier.init.shared::cta.b64 [%r1], 1;\n"
        + "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 16;\n"
        + "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%d0], 16, [%r1];\n"
        + "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%r1], 0;\n@!%q bra W;\nret;\n}\n"
    )
    arguments = ["copy.ptx", "--block", "1", "--arg", "x.npy"]
    assert main(arguments) == 0
    assert re.match(r"copy.ptx:\d+: warning: the mbarrier object .* fence.mbarrier_init", capsys.readouterr().err)
    assert re.match(r"copy.ptx:\d+: error: the mbarrier object", errors(*arguments, "--check", "strict"))


def test_max_instructions(directory: Path, errors: Callable[..., str]):
    assert "more than 2 warp instructions" in errors(_SCALE, *_USUAL, "--arg", "x.npy", "--max-instructions", "2")
    assert "expected a positive number, found 'many'" in errors(_SCALE, *_USUAL, "--max-instructions", "many")


def test_progress_on_a_terminal(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main([_SCALE, "--grid", "2", *_USUAL, "--arg", "x.npy"]) == 0
    assert capsys.readouterr().err == "1 of 2 CTAs, 0 s left\r2 of 2 CTAs          \n"


def test_time_left_of_a_run(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert _progress_line() is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    times = iter((10.0, 16.0, 20.0))
    monkeypatch.setattr("tirx.tools.tirx_sim.time", SimpleNamespace(monotonic=lambda: next(times)))
    show = _progress_line()
    assert show is not None
    for ended in (0, 2, 5):
        show(ended, 5)
    assert capsys.readouterr().err == "0 of 5 CTAs, 0 s left\r2 of 5 CTAs, 9 s left\r5 of 5 CTAs          \n"
    file = (directory / "errors").open("w")
    with file:
        monkeypatch.setattr(sys, "stderr", file)
        times = iter((16.0,))
        show(3, 5)
        assert (directory / "errors").read_bytes() == b"3 of 5 CTAs, 4 s left\r", "shown at once"


def test_trace_of_values(directory: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--entry", "scale", "--block", "32", "--arg", "x.npy", "--arg", "1.5", "--out", "y.npy:f32:32"]
    assert main([_SCALE, *options, "--trace-values", "--trace-threads", "1", "--trace-lines", "20-21"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "    %f1 = 1.0, %f0 = 1.5 -> %f1 = 1.5"


def test_dump(directory: Path, capsys: pytest.CaptureFixture[str]):
    options = ["--entry", "scale", "--block", "32", "--arg", "x.npy", "--arg", "1.5", "--out", "y.npy:f32:32"]
    assert main([_SCALE, *options, "--dump", "20:registers", "--dump", "21:shared"]) == 0
    shown = capsys.readouterr().out
    assert "  %f0 = 1.5\n" in shown and "shared at line 21" in shown


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--dump", "20", "expected LINE:shared or LINE:tensor or LINE:registers, found '20'"),
        ("--trace-threads", "5-1", "expected a number or a range, as 5 or 0-31, found '5-1'"),
    ],
)
def test_wrong_filters(errors: Callable[..., str], option: str, value: str, message: str):
    assert message in errors(_SCALE, "--block", "32", option, value)


def test_a_timeline_without_a_place_ends_before_the_run(directory: Path, errors: Callable[..., str]):
    (directory / "d.html").mkdir()
    for path, why in (("no/t.html", "No such file or directory"), ("d.html", "Is a directory")):
        assert errors("missing.ptx", "--block", "64", "--timeline", path) == f"error: cannot write '{path}': {why}\n"


_OTHER = 'tirx.kernel @other() target("sm_80") grid(1) threads(32) { tirx.return }'


def test_a_launch_file_nested_too_deep(directory: Path, errors: Callable[..., str]):
    (directory / "deep.json").write_text("[" * 100_000)
    text = errors(_SCALE, "--launch", "deep.json")
    assert text == "error: cannot read 'deep.json': it has no launch descriptors of 'tirx-opt --launch'\n"


def test_a_launch_file_of_another_entry(directory: Path, errors: Callable[..., str]):
    launch = tirx.build(_OTHER).kernels["other"].launch
    (directory / "other.json").write_text(write_launches([launch]))
    text = errors(_SCALE, "--launch", "other.json")
    assert text == "error: --launch: expected a descriptor of scale, found those of other\n"


_ALL_FLAGS = (
    "--grid 3 --dynamic-shared 7 --cluster 1,3 --seed 3 --check strict --arithmetic exact --max-instructions 9 --jobs 2"
)


def test_what_is_run(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Each option as the simulator takes it; who watches, in order; warnings, and then what was written."""
    given: list[Any] = []

    def runs(*arguments: Any, report: Callable[[SimWarning], None], **options: Any) -> None:
        given.append((arguments, options))
        report(SimWarning("r", "odd", 3, "ret;", ""))
        arguments[4][0][:] = 7

    monkeypatch.setattr(tirx_sim, "run", runs)
    text = Path(_SCALE).read_text()
    usual = {"seed": None, "check": "hardware", "arithmetic": "hardware", "max_instructions": None, "jobs": 1,
             "observer": None, "progress": None}  # fmt: skip
    changed = {"seed": 3, "check": "strict", "arithmetic": "exact", "max_instructions": 9, "jobs": 2}
    for line, expected, options in (
        ("", ((1,), (32, 2), 0, (1,)), usual),
        (_ALL_FLAGS, ((3,), (32, 2), 7, (1, 3)), usual | changed),
    ):
        given.clear()
        assert main([_SCALE, "--block", "32,2", *line.split(), "--out", "y.npy:s16:3"]) == 0
        (((*places, arguments, shared, cluster), found),) = given
        assert (*places, shared, cluster) == (text, "scale", *expected) and found == options
        assert [each.tolist() for each in arguments] == [[7, 7, 7]] == [np.load("y.npy").tolist()]
        assert capsys.readouterr() == ("", f"{_SCALE}:3: warning: odd\n    ret;\n")
    flags = "--dump 7:shared --profile --trace --timeline t.json --dump 9:registers"
    assert main([_SCALE, "--block", "32", *flags.split(), "--out", "y.npy:s16:3"]) == 0
    watching = given[-1][1]["observer"]._observers
    assert [type(each) for each in watching] == [Profile, Trace, Timeline, Dump, Dump]
    assert given[-1][1]["check"] is False and capsys.readouterr().out == Profile().table()


@pytest.mark.parametrize(("path", "title"), [("a/k.ptx", "f (k.ptx)"), ("-", "f (<stdin>)")])
def test_files_of_timelines(directory: Path, monkeypatch: pytest.MonkeyPatch, path: str, title: str):
    timeline, given = Timeline(), list[tuple[object, ...]]()
    monkeypatch.setattr(timeline, "finish", lambda: given.append(("finished",)))
    monkeypatch.setattr(timeline_page, "timeline_html", lambda *each: f"page {len(given.append(each) or given)}")  # pyright: ignore
    monkeypatch.setattr(timeline_page, "timeline_trace", lambda *each: f"trace {len(given.append(each) or given)}")  # pyright: ignore
    flags = parse_flags([path, "--block", "1", "--timeline", "t.json", "--timeline", "t.html"])
    _write_timeline(timeline, flags, "f")
    assert given == [("finished",), (timeline,), (timeline, title)]
    assert [Path(name).read_text() for name in ("t.json", "t.html")] == ["trace 2", "page 3"]


def test_errors_with_their_lines():
    at = SimError("wrong", 3, "ret;", "f")
    assert _show("a.ptx", at) == "a.ptx:3: error: wrong\n    ret;\n    in f"
    assert _show("-", SimError("wrong", 3), "warning") == "<stdin>:3: warning: wrong"
    assert _show("a.ptx", SimError("wrong")) == "error: wrong"


def test_arrays_without_dimensions(directory: Path):
    np.save("x.npy", np.float32(7))
    assert _read_array("x.npy").shape == (1,)
