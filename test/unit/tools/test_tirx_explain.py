"""`tirx-explain`: words and fields on the command line, files, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from unit.cases import together

from tirx.sim import SimError
from tirx.tools import tirx_explain
from tirx.tools.files import FileError
from tirx.tools.process import UsageError
from tirx.tools.tirx_explain import _map_bytes, _parser, main  # pyright: ignore[reportPrivateUsage]

_PTX = Path(__file__).parents[1] / "sim" / "triton" / "matmul_sm100.ptx"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("smem 0x4000404000010000 --major K", "bits 61-63    swizzle                     2       128B"),
        ("smem sbo=1024 swizzle=128B", "matrix descriptor of tcgen05.mma: 0x4000404000010000"),
        ("smem lbo=128 sbo=256 swizzle=none", "matrix descriptor of tcgen05.mma: 0x0000401000080000"),
        ("wgmma sbo=1024 swizzle=128B", "matrix descriptor of wgmma.mma_async: 0x4000004000010000"),
        ("idesc 0x08400010 --target sm_100a", "meaning: D (f32, 128 x 256) += A (f16, 128 x 16, K-major)"),
        ("idesc m=128 n=256 a=bf16 b=bf16", "instruction descriptor of kind::f16: 0x08400490"),
        ("mask columns=0-3,12-15,24-27 --m 128 --n 32", "zero-column mask: 0x0007038100000000"),
        ("tensormap element=f16 dims=64,64 strides=128 box=64,8 swizzle=128B", "box: 64 x 8, rows of 128 bytes"),
        (str(_PTX), "matmul_sm100.ptx:270: @%p13 tcgen05.mma.cta_group::1.kind::f16"),
    ],
)
def test_text(arguments: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 0
    assert shown in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mask", "0x010c00820000000b", "0", "--json"]) == 0
    text = capsys.readouterr().out
    first, second = json.loads(text)
    assert text == json.dumps([first, second], indent=2) + "\n"
    assert first["word"] == "0x010c00820000000b" and second["legal"]
    assert main([str(_PTX), "--json"]) == 0
    text = capsys.readouterr().out
    data = json.loads(text)
    assert text == json.dumps(data, indent=2) + "\n"
    assert data["target"] == "sm_100a" and all(each["legal"] for each in data["instructions"])


def test_tensor_map_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("tensormap element=u8 dims=4096 box=128 --json".split()) == 0
    word = json.loads(capsys.readouterr().out)["word"]
    (tmp_path / "map.bin").write_bytes(bytes.fromhex(word))
    for text in (str(tmp_path / "map.bin"), word):
        assert main(["tensormap", text]) == 0
        assert "tensor: 4096 elements of u8" in capsys.readouterr().out


@together(
    ("line", "changes"),
    [
        ("smem", {}),
        ("k.ptx --fields --json", {"what": "k.ptx", "fields": True, "json": True}),
        ("smem 1 2 --target sm_90a --major MN --dtype bf16 --shape 64x16",
         {"words": ["1", "2"], "target": "sm_90a", "major": "MN", "dtype": "bf16", "shape": "64x16"}),
        ("smem --kind mxf4 --cta-group 1 --ws --m 64 --n 8",
         {"kind": "mxf4", "cta_group": 1, "ws": True, "m": 64, "n": 8}),
        ("smem --cta-group 2 --no-ws", {"cta_group": 2, "ws": False}),
    ],
)  # fmt: skip
def test_flags(line: str, changes: dict[str, object]) -> None:
    usual: dict[str, object] = {
        "what": "smem", "words": [], "json": False, "fields": False, "target": None, "major": None, "dtype": None,
        "shape": None, "kind": "f16", "cta_group": None, "ws": None, "m": None, "n": None,
    }  # fmt: skip
    assert vars(_parser().parse_args(line.split())) == usual | changes


@together(
    ("line", "message"),
    [
        ("smem --tar sm_90a", "unrecognized arguments: --tar sm_90a"),
        ("smem --cta-group 0", "argument --cta-group: invalid choice: 0 (choose from 1, 2)"),
        ("smem --cta-group 3", "argument --cta-group: invalid choice: 3 (choose from 1, 2)"),
        ("smem --m x", "argument --m: invalid int value: 'x'"),
        ("", "the following arguments are required: what, WORD|FIELD=VALUE"),
    ],
)
def test_flags_that_make_no_sense(line: str, message: str) -> None:
    with pytest.raises(UsageError) as found:
        _parser().parse_args(line.split())
    assert str(found.value).startswith(message.partition(" what,")[0])


def test_illegal_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smem", "0x4000402000010000", "--major", "K"]) == 2
    assert "nearest: 0x4000404000010000 (sbo 0x20 to 0x40)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("smem", "smem: expected a word or fields"),
        ("smem 12x", "expected a word as 0x4000404000010000, or field=value, found '12x'"),
        ("smem foo=1", "smem: expected fields of start, lbo, sbo, swizzle, base_offset, lbo_absolute, k_segment"),
        ("smem 0x40004040000100000", "expected a word of 64 bits, found '0x40004040000100000'"),
        ("idesc 0x108400010", "expected a word of 32 bits, found '0x108400010'"),
        ("smem start=8", "start address: expected a multiple of 16 bytes, found 8"),
        ("mask columns=0-3", "columns: expected --m and --n of the instruction"),
        ("mask columns=0-3 --m 64", "columns: expected --m and --n of the instruction"),
        ("mask columns=0-3 --n 64", "columns: expected --m and --n of the instruction"),
        ("tensormap dims=64 box=8", "tensormap: missing 1 required positional argument: 'element'\n"),
        ("mask columns=0-99999999999 --m 64 --n 256", "columns: expected as 0-3,12-15, up to 255, found '0-999"),
        ("mask columns=3-0 --m 64 --n 256", "columns: expected as 0-3,12-15, up to 255, found '3-0'"),
        ("mask columns=0-3 n_shift=1 --m 64 --n 256", "mask: expected fields of"),
        ("mask columns=0-3 shift=x --m 64 --n 256", "mask: expected values as --help shows them"),
        ("smem lbo=16 lbo=32", "smem: expected every field once"),
        ("smem start=x", "smem: expected values as --help shows them, found 'start=x'"),
        ("smem 0 --shape 12", "--shape: expected rows and elements of K as 128x16, up to 1024, found '12'"),
        ("smem 0 --shape 100000000x100000000", "--shape: expected rows and elements of K as 128x16, up to 1024"),
        ("smem 0x4000404000010000 --target sm_90a", "smem: 'tcgen05' does not exist on sm_90a"),
        ("wgmma 0x4000004000010000 --target sm_100a", "wgmma: 'wgmma' does not exist on sm_100a"),
        ("mask columns=0-3 shift=1 use_span=3 --m 64 --n 256", "columns: expected no field but shift beside it"),
        ("smem start=16 7", "expected field=value, found '7'"),
        ("none.ptx", "cannot read 'none.ptx'"),
        ("none.ptx 0", "expected one PTX file, or one of smem"),
        ("tensormap element=f16 dims=64,64 strides=100 box=64,8", "global stride 0: expected 0 to"),
    ],
)
def test_usage_errors(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 1
    assert f"error: {message}" in capsys.readouterr().err


def test_files_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.ptx"
    path.write_bytes(b"\xff\xfe")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err == f"error: cannot read '{path}': it is not text in UTF-8\n"


def test_bytes_of_tensor_maps(tmp_path: Path) -> None:
    digits = "".join(f"{n:02x}" for n in range(128))
    assert _map_bytes(digits) == _map_bytes(f"0x{digits[:100].upper()}_{digits[100:]}") == bytes(range(128))
    for text in (digits[:-2], digits[:-1] + "g"):
        with pytest.raises(FileError, match="^cannot read '000102"):
            _map_bytes(text)


def test_what_is_wrong_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of wrong instructions, digits that look hexadecimal, and a program that is no PTX yet."""
    path = tmp_path / "wrong.ptx"
    path.write_text(_PTX.read_text().replace(", %r78, ", ", 1, ", 1))
    assert main([str(path)]) == 2
    assert capsys.readouterr().err == f"{path}: wrong: lines 270\n"
    for count in (8, 9):
        report = Mock(instructions=[Mock(line=3 * n, legal=n >= count) for n in range(12)], legal=False)
        report.text.return_value = "text"
        monkeypatch.setattr(tirx_explain, "explain_ptx", Mock(return_value=report))
        assert main([str(path)]) == 2
        assert capsys.readouterr().err == (
            f"{path}: wrong: lines 0, 3, 6, 9, 12, 15, 18, 21{' and 1 more' if count == 9 else ''}\n"
        )
    monkeypatch.setattr(tirx_explain, "explain_ptx", Mock(side_effect=SimError("expected a version")))
    assert main([str(path)]) == 1
    assert capsys.readouterr().err == "error: expected a version\n"
    main(["smem", "4000404000010000"])
    assert "write 0x4000404000010000 for a hexadecimal one" in capsys.readouterr().err
    assert main(["gemm.mlir"]) == 1
    assert "tirx-opt --lower-to-ptx makes PTX of it" in capsys.readouterr().err
