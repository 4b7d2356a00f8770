"""`tirx.build`: kernels that simulate with nothing spelled out, checked arguments, the cache."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from hashlib import sha256
from importlib import import_module, invalidate_caches
from importlib.machinery import ModuleSpec
from io import BytesIO
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import Any, ClassVar
from unittest.mock import Mock
from zipfile import ZipFile

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from xdsl.dialects import arith
from xdsl.dialects.builtin import UNKNOWN_LOC, FloatAttr, f32
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError, warn
from tirx.dialects.tirx import TileType
from tirx.runtime import ArgumentError, Program, imports, program, stored
from tirx.runtime.arrays import StrideError
from tirx.text.parsing import parse_located
from tirx.universe import new_context

KERNEL = """
tirx.kernel @rows(%x: memref<?x8xf32>, %y: memref<?x8xf32, strided<[16, 1]>>, %n: i32) target("sm_80")
    grid(ceildiv(size(0, 0), 8)) threads(32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %i = tirx.block_id x
  %m = arith.muli %i, %c8 : index
  %s = tirx.view %x[%m, %c0] : memref<?x8xf32> -> !tirx.tile<8x8xf32, global>
  %d = tirx.view %y[%m, %c0] : memref<?x8xf32, strided<[16, 1]>> -> !tirx.tile<8x8xf32, global>
  tirx.copy %s, %d : !tirx.tile<8x8xf32, global>, !tirx.tile<8x8xf32, global>
  tirx.return
}
"""

NO_GRID = """
tirx.kernel @k(%x: memref<8x8xbf16>, %f: memref<8x8xf4E2M1FN>) target("sm_80") threads(32) {
  tirx.return
}
"""


def arrays(rows: int = 24) -> tuple[Any, Any]:
    x = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8)
    return x, np.zeros((rows, 16), np.float32)[:, :8]


@pytest.mark.parametrize("rows", [8, 24])
def test_a_kernel_simulates_with_nothing_spelled_out(rows: int) -> None:
    kernel = tirx.build(KERNEL).kernels["rows"]
    x, y = arrays(rows)
    kernel.simulate(x, y, np.int32(3), seed=1, check="strict")
    np.testing.assert_array_equal(y, x)
    assert not y.base[:, 8:].any()
    assert repr(kernel) == "<tirx kernel rows(x, y, n) for sm_80>"


def test_nothing_runs_for_no_rows() -> None:
    tirx.build(KERNEL).kernels["rows"].simulate(*arrays(0), 3)


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


X, Y = arrays()


@together(
    ("arguments", "message"),
    [
        ((X, Y), "'rows': expected 3 arguments (x, y, n), found 2"),
        ((X.astype(np.float64), Y, 3), "'x': expected dtype float32 for elements of type f32, found float64"),
        ((X[:, :4], Y, 3), "argument 'x': expected shape (?, 8), found (24, 4)"),
        ((X[:, 0], Y, 3), "argument 'x': expected shape (?, 8), found (24)"),
        ((Y, Y, 3), "argument 'x': expected strides (8, 1) in elements, found (16, 1)"),
        ((X[::-1], Y, 3), "argument 'x': expected strides of 0 or more, found (-8, 1)"),
        ((X, read_only(arrays()[1]), 3), "argument 'y': expected an array that can be written, found a read-only one"),
        ((X, Y, X), "argument 'n': expected a number, found an array"),
        ((3, Y, 3), "argument 'x': expected an array, found 3"),
        ((X, Y, 2**32), "argument 'n': expected an integer of 32 bits, found 4294967296"),
        ((X, Y, 1.5), "argument 'n': expected an integer of 32 bits, found 1.5"),
        ((X, Y, "3"), "argument 'n': expected a numpy array or a number to simulate, found str"),
        ((X, Y, np.complex64(3)), "argument 'n': expected a numpy array or a number to simulate, found complex64"),
        ((X, Y, 3, "4"), "argument 3: expected a numpy array or a number to simulate, found str"),
        ((np.zeros((8, 8), "V6,f4")["f1"], Y, 3), "expected strides of whole elements of 4 bytes, found strides (80"),
    ],
)
def test_arguments_that_do_not_fit(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        tirx.build(KERNEL).kernels["rows"].simulate(*arguments)


def test_a_gpu_has_multiprocessors() -> None:
    with pytest.raises(ArgumentError, match="expected a GPU of 1 multiprocessor or more, found sm_count=0"):
        tirx.build(KERNEL).kernels["rows"].simulate(*arrays(), 3, sm_count=0)


FILL = """
tirx.kernel @fill(%y: memref<32xf32>, %x: f32) target("sm_80") grid(1) threads(32) {
  %t = tirx.splat %x : f32 -> !tirx.tile<32xf32, register>
  tirx.store %t, %y[0] : !tirx.tile<32xf32, register>, memref<32xf32>
}
"""


def test_numbers_are_those_that_a_gpu_gets() -> None:
    kernel = tirx.build(FILL).kernels["fill"]
    for number, expected in (
        (np.float16(0.5), 0.5), (ml_dtypes.bfloat16(1.5), 1.5), (np.float64(0.1), np.float32(0.1)), (True, 1.0),
        (1e300, np.inf), (10**400, np.inf), (-(10**400), -np.inf),
    ):  # fmt: skip
        y = np.zeros(32, np.float32)
        kernel.simulate(y, number)
        assert y.tolist() == [expected] * 32


def test_a_grid_is_given_where_the_kernel_has_none() -> None:
    kernel = tirx.build(NO_GRID).kernels["k"]
    x = np.zeros((8, 8), ml_dtypes.bfloat16)
    packed = np.zeros((8, 4), np.uint8)
    kernel.simulate(x, packed, grid=(2, 1))
    kernel.simulate(x.view(np.uint16), packed, grid=(1,))
    with pytest.raises(ArgumentError, match=r"expected grid=\(x, y, z\): the kernel has no clause grid"):
        kernel.simulate(x, packed)
    with pytest.raises(ArgumentError, match=r"expected a grid of at most .*, found \(1, 65536, 1\)"):
        kernel.simulate(x, packed, grid=(1, 65536))
    with pytest.raises(ArgumentError, match=r"expected a grid of 1 to 3 extents, found \(1.5,\)"):
        kernel.simulate(x, packed, grid=(1.5,))
    with pytest.raises(ArgumentError, match=re.escape("expected shape (8, 4) (e2m1, packed in bytes), found (8, 8)")):
        kernel.simulate(x, np.zeros((8, 8), np.uint8), grid=(1,))
    with pytest.raises(ArgumentError, match="expected no grid: the kernel has a clause grid"):
        tirx.build(KERNEL).kernels["rows"].simulate(X, Y, 3, grid=(1, 1, 1))


def test_text_and_module_and_json_are_the_same_program() -> None:
    module = parse_located(new_context(), KERNEL)
    built = tirx.build(module)
    assert built.ptx == tirx.compile(KERNEL) == tirx.build(KERNEL).ptx
    read = Program.from_json(built.to_json())
    assert read.ptx == built.ptx and read.kernels["rows"].launch == built.kernels["rows"].launch
    with pytest.raises(ValueError, match="expected a program of PTX and launch descriptors"):
        Program.from_json("[]")
    with pytest.raises(TypeError, match="expected a module or its text, found int"):
        tirx.build(3)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("given", [KERNEL, parse_located(new_context(), KERNEL)], ids=["text", "module"])
def test_programs_and_kernels_are_pickled_with_their_source(given: Any) -> None:
    built = tirx.build(given)
    read = pickle.loads(pickle.dumps(built.kernels["rows"]))
    assert read is read.program.kernels["rows"] and read.launch == built.kernels["rows"].launch
    assert read.program.to_json() == built.to_json() and read.check(seconds=0).launches == 1
    other, expected = read.program.for_any_strides, built.for_any_strides
    assert other is not None and expected is not None and other.ptx == expected.ptx
    unsourced = pickle.loads(pickle.dumps(Program.from_json(built.to_json())))
    assert unsourced.ptx == built.ptx and unsourced.source is None


def test_programs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_cache", {})
    first = tirx.build(KERNEL, cache_directory=tmp_path)
    assert tirx.build(KERNEL) is first
    assert tirx.build(KERNEL, target="sm_90") is not first
    (path,) = tmp_path.iterdir()
    # From here on, the file is all there is.
    monkeypatch.setattr(program, "_cache", {})
    monkeypatch.setattr(program, "compiled", Mock(side_effect=AssertionError))
    assert tirx.build(KERNEL, cache_directory=tmp_path).ptx == first.ptx
    path.write_text("cut off")
    monkeypatch.setattr(program, "_cache", {})
    monkeypatch.setattr(program, "compiled", Mock(return_value=first))
    assert tirx.build(KERNEL, cache_directory=tmp_path) is first
    (kept,) = tmp_path.iterdir()
    assert kept == path
    digest, _, rest = path.read_text().partition("\n")
    assert Program.from_json(rest.partition("\n")[2]).ptx == first.ptx
    assert digest == sha256(rest.encode()).hexdigest()
    path.write_text(f"{digest}\n{rest.replace('.entry', '.extry')}")
    monkeypatch.setattr(program, "_cache", {})
    assert tirx.build(KERNEL, cache_directory=tmp_path) is first


@irdl_op_definition
class _ScaleOp(IRDLOperation, embed.TileOpInterface):
    """An operation whose lowering depends on more than its source."""

    name = "own.scale"
    x = operand_def(TileType)
    result = result_def(TileType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($result)"
    traits = traits_def(Pure())
    FACTOR: ClassVar[list[float]] = []

    def same_layout(self) -> list[tuple[SSAValue, SSAValue]]:
        return [(self.x, self.result)]

    def lower(self, threads: embed.ThreadLowering) -> list[list[SSAValue]]:
        factor = threads.insert(arith.ConstantOp(FloatAttr(self.FACTOR[-1], f32))).result
        return [[threads.insert(arith.MulfOp(x, factor)).result for x in threads.registers(self.x)]]


def test_programs_of_operations_defined_elsewhere_are_kept_under_a_salt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
    tirx.kernel @k(%a: memref<64xf32>, %d: memref<64xf32>) target("sm_80") grid(1) threads(64) {
      %c0 = arith.constant 0 : index
      %ga = tirx.view %a[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
      %gd = tirx.view %d[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
      %x = tirx.load %ga : !tirx.tile<64xf32, global> -> !tirx.tile<64xf32, register>
      %y = own.scale %x : !tirx.tile<64xf32, register> -> !tirx.tile<64xf32, register>
      tirx.store %y, %gd : !tirx.tile<64xf32, register>, !tirx.tile<64xf32, global>
      tirx.return
    }
    """
    module = embed.parse(text, context=embed.context(Dialect("own", [_ScaleOp])))

    def scaled(factor: float, **options: Any) -> float:
        _ScaleOp.FACTOR[:] = [factor]
        a, d = np.ones(64, np.float32), np.zeros(64, np.float32)
        tirx.build(module, **options).kernels["k"].simulate(a, d)
        return float(d[0])

    assert [scaled(factor) for factor in (2, 3)] == [2, 3]
    with pytest.raises(
        ValueError,
        match=(
            r"^expected `salt`, a text that changes whenever the lowering of own\.scale does, since "
            "programs on disk outlive it; or no `cache_directory`$"
        ),
    ):
        tirx.build(module, cache_directory=tmp_path)
    assert [scaled(factor, cache_directory=tmp_path, salt=str(factor)) for factor in (4, 5)] == [4, 5]
    monkeypatch.setattr(program, "_cache", {})
    assert scaled(6, cache_directory=tmp_path, salt="4") == 4


def test_sources_of_extensions_are_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(stored, "extensions", lambda: ("some_extension",))
    (tmp_path / "some_extension").mkdir()
    for name, text in (("__init__.py", "FACTOR = 1"), ("__init__.py", "FACTOR = 2"), ("factors.json", "[3]")):
        (tmp_path / "some_extension" / name).write_text(text)
        monkeypatch.setattr(program, "_cache", {})
        stored.version.cache_clear()
        tirx.build(KERNEL, cache_directory=tmp_path / "kept")
    stored.version.cache_clear()
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_archives_of_extensions_are_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "extensions", lambda: ("zipped_extension", "zipped_module"))
    versions: set[str] = set()
    for n, names in enumerate((("zipped_extension/__init__.py", "zipped_module.py"),) * 2):
        archive = tmp_path / f"{n}.zip"
        with ZipFile(archive, "w") as file:
            for name in names:
                file.writestr(name, f"FACTOR = {n}")
        (tmp_path / "a.zip").write_bytes(archive.read_bytes())
        invalidate_caches()
        monkeypatch.setattr("sys.path", [str(tmp_path / "a.zip"), *sys.path])
        versions.add(stored.version.__wrapped__())
    assert len(versions) == 2


def test_modules_that_an_extension_imports_are_those_of_a_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules and packages, relative and within functions, in one step and more; others are not."""
    sources = {
        "own_extension/__init__.py": "from . import part\nfrom own_helper import f",
        "own_extension/part.py": "def g():\n    import own_package.inner as i\n    return i",
        "own_helper.py": "import json, numpy, own_further\ndef f(): ...",
        "own_further.py": "FACTOR = 2",
        "own_package/__init__.py": "",
        "own_package/inner.py": "from .other import FACTOR",
        "own_package/other.py": "FACTOR = 3",
        "own_unused.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.setattr("sys.modules", sys.modules.copy())
    monkeypatch.setattr(stored, "extensions", lambda: ("own_extension",))
    for name in ("own_extension", "own_package.inner", "own_unused"):
        import_module(name)
    path = str(tmp_path / "kept")
    stored.write(path, "text")
    assert stored.read(path) == "text"
    for name, text in sources.items():
        (tmp_path / name).write_text(f"{text}\n")
        is_outside = not name.startswith(("own_extension", "own_unused"))
        assert stored.read(path) == (None if is_outside else "text"), name
        (tmp_path / name).write_text(text)
    (tmp_path / "own_helper.py").unlink()
    assert stored.read(path) is None
    stored.write(path, "text")
    assert stored.read(path) is None  # nobody knows what is loaded


def test_locations_are_part_of_the_key_of_ptx_with_lines() -> None:
    for first_lines in ("", "\n\n"):
        module = parse_located(new_context(), first_lines + KERNEL, "rows.mlir")
        program = tirx.build(module, options="lines=on")
        line = 1 + len(first_lines) + KERNEL[: KERNEL.index("tirx.kernel")].count("\n")
        assert f".loc 1 {line} " in program.ptx
        assert program.for_any_strides is not None and f".loc 1 {line} " in program.for_any_strides.ptx


def test_warnings_come_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The program for other strides warns of nothing: its source has been warned of."""
    built = Program.from_json(tirx.build(KERNEL).to_json())

    def remake() -> Program:
        warn(embed.parse(KERNEL), "expected another kernel", "slower-product")
        return built

    monkeypatch.setattr(built, "remake", remake)
    assert built.for_any_strides is built and capsys.readouterr().err == ""


def test_a_source_that_takes_no_strides_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    built = Program.from_json(tirx.build(KERNEL).to_json())
    monkeypatch.setattr(built, "remake", Mock(side_effect=LocatedError(UNKNOWN_LOC, "expected rows of whole words")))
    with pytest.raises(StrideError, match="^expected strides of multiples of 16 bytes: expected rows of whole words$"):
        _ = built.for_any_strides


def test_strides_without_another_program_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the simulator nor a check has another kernel for them then."""
    refused = Mock(side_effect=StrideError("expected other strides"))
    monkeypatch.setattr("tirx.runtime.simulation.simulate", refused)
    monkeypatch.setattr("tirx.runtime.check.check_launch", refused)
    built = tirx.build(KERNEL)
    built.remake = None
    for launch in (built.kernels["rows"].simulate, built.kernels["rows"].check):
        with pytest.raises(StrideError, match="^expected other strides$"):
            launch(X, Y, 3)


def test_texts_that_are_no_programs() -> None:
    for text in ("[]", '"ptx"', "{}", '{"ptx": ""}', '{"ptx": "", "launches": "", "more": ""}'):
        with pytest.raises(ValueError, match="^expected a program of PTX and launch descriptors$"):
            Program.from_json(text)
    built = Program.from_json(tirx.build(KERNEL).to_json())
    assert built.with_option("order=row") is None and built.for_any_strides is None


def test_modules_without_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages without a file count as what they have; of files that are no sources the size and the time count."""
    (tmp_path / "own_names").mkdir()
    for name, text in {
        "own_start.py": "import own_names.inner, own_native",
        "own_names/inner.py": "from . import other\ndef f():\n    from .. import x",
        "own_names/other.py": "",
        "own_native.so": "binary",
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    native = ModuleType("own_native")
    native.__file__ = str(tmp_path / "own_native.so")
    native.__spec__ = ModuleSpec("own_native", None, origin=native.__file__)
    monkeypatch.setattr("sys.modules", {**sys.modules, "own_native": native})
    for name in ("own_names.inner", "own_names.other"):
        import_module(name)
    monkeypatch.setitem(sys.modules, "own_start", ModuleType("own_start"))
    sys.modules["own_start"].__file__ = str(tmp_path / "own_start.py")
    found = imports.imported(["own_start"])
    assert [each[:2] for each in found] == [
        ("own_names", os.path.join("own_names", "inner.py")),
        ("own_names", os.path.join("own_names", "other.py")),
        ("own_native", "own_native.so"),
    ]
    assert imports.are_unchanged(found) and found[2][2] is not None and found[2][2].startswith("6 ")
    (tmp_path / "own_native.so").write_text("larger binary")
    assert not imports.are_unchanged(found)


def test_files_of_which_programs_are_made(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("a.py", "b.pyc", "inner/c.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nothing.py")
    found = stored._files(str(tmp_path))  # pyright: ignore[reportPrivateUsage]
    assert sorted(found) == [str(tmp_path / "a.py"), str(tmp_path / "inner" / "c.txt")]


def test_the_oldest_program_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_cache", {})
    monkeypatch.setattr(program, "_CACHE_SIZE", 2)
    made = Mock(side_effect=lambda *inputs, verify: Program(str(inputs), []))  # pyright: ignore
    monkeypatch.setattr(program, "compiled", made)
    found = [tirx.build(text).ptx for text in ("a", "b", "a", "c", "b", "a", "c")]
    assert found == [f"('{text}', None, '')" for text in "abacbac"]
    # "c" makes "a" go, "a" then "b".
    assert [call.args[0] for call in made.call_args_list] == ["a", "b", "c", "a"]
    tirx.build("c", "sm_90", "pipeline=on")
    tirx.build("c", options="pipeline=on")
    assert [call.args for call in made.call_args_list[4:]] == [
        ("c", "sm_90", "pipeline=on"),
        ("c", None, "pipeline=on"),
    ]


def test_where_programs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "version", lambda: "0123456789abcdefX")
    directory = tmp_path / "a" / "b"
    paths = [stored.place(str(directory), key) for key in ("x", "y")]
    monkeypatch.setattr(os, "replace", replaced := Mock(side_effect=os.replace))
    for path in paths:
        assert stored.read(path) is None
        stored.write(path, path)
        replaced.assert_called_with(f"{path}.{os.getpid()}-{get_ident()}.tmp", path)
    names = [f"{sha256(key.encode()).hexdigest()[:32]}-0123456789abcdef.json" for key in ("x", "y")]
    assert [path.name for path in sorted(directory.iterdir())] == sorted(names)
    assert [stored.read(path) for path in paths] == paths
    (tmp_path / "other").touch()
    assert os.stat(paths[0]).st_mode == os.stat(tmp_path / "other").st_mode  # others may read it
    os.mkdir(f"{paths[0]}x")
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        stored.write(f"{paths[0]}x", "")
    assert {path.name for path in directory.iterdir()} == {*names, f"{Path(paths[0]).name}x"}


def test_a_hit_imports_neither_numpy_nor_xdsl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the launch descriptors are there."""
    monkeypatch.setattr(program, "_cache", {})
    program.build(KERNEL, cache_directory=tmp_path)
    code = """if True:
        import sys, tirx
        kernel = tirx.build(sys.argv[1], cache_directory=sys.argv[2]).kernels["rows"]
        assert kernel.launch.block == (32, 1, 1) and tirx.compile(sys.argv[1], cache_directory=sys.argv[2])
        print({"numpy", "xdsl"} & sys.modules.keys())"""
    command = [sys.executable, "-c", code, KERNEL, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_a_kernel_of_another_name() -> None:
    with pytest.raises(KeyError, match="expected a kernel of rows, found 'row'; did you mean 'rows'"):
        program.build(KERNEL).kernels["row"]


def test_the_version_is_that_of_all_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()

    def opened(path: str, mode: str) -> BytesIO:
        names.add(Path(path).resolve().relative_to(root).as_posix())
        return BytesIO()

    root = Path(__file__).parents[3]
    monkeypatch.setattr(stored, "open", opened, raising=False)
    stored.version.__wrapped__()
    assert {"tirx/layout/algebra.py", "tirx/runtime/program.py", "dialects/tirx/ops.py", "passes/pipeline.py"} <= names
