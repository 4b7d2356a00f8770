"""`examples/embed_dsl`: a language with tirx behind it, and the three ways in."""

from __future__ import annotations

import re
import shutil
import site
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from io import StringIO
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.exceptions import PassFailedException, VerifyException

import tirx as tx
from tirx import embed, universe
from tirx.dialects.ptx import ConstantOp, Names, PureInstruction
from tirx.passes import lower_to_ptx_pipeline
from tirx.text.source import file_location
from tirx.tools.tirx_opt import main as tirx_opt

_INSTALLED = any(distribution.name == "tirx-compiler" for distribution in distributions(path=site.getsitepackages()))
_DIRECTORY = Path(__file__).parents[2] / "examples" / "embed_dsl"
_TOY: dict[str, Any] = run_path(str(_DIRECTORY / "toy.py"))
_PROGRAM = (_DIRECTORY / "dense.toy").read_text()


@pytest.fixture(autouse=True)
def _verify_once(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Leaves out the verification behind each pass, which the tests of passes do."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")


def test_the_compiler_is_small() -> None:
    assert len((_DIRECTORY / "toy.py").read_text().splitlines()) < 150


@pytest.mark.parametrize("expression", ["relu(A @ B^T + bias)", "A @ B^T"])
def test_programs_compute_what_they_say(expression: str) -> None:
    m, n, k = 64, 128, 64
    program = f"A: f16[{m}, {k}]\nB: f16[{n}, {k}]\nbias: f32[1, {n}]\nC: f32[{m}, {n}] = {expression}"
    module = _TOY["compile"](program, "p.toy", "sm_90a")
    assert [op.name for op in module.ops] == ["func.func", "ptx.binary"]
    assert "toy.launch @dense" in str(module)
    (binary,) = (op for op in module.ops if isinstance(op, embed.BinaryOp))
    kernel = embed.program(binary).kernels["dense"]
    rng = np.random.default_rng(0)
    a, b, bias = (rng.integers(-2, 3, shape) for shape in ((m, k), (n, k), (1, n)))
    c = np.zeros((m, n), np.float32)
    expected = a @ b.T + (bias if "bias" in expression else 0)
    arrays = [a.astype(np.float16), b.astype(np.float16)] + ([bias.astype(np.float32)] if "bias" in expression else [])
    kernel.simulate(*arrays, c)
    assert np.array_equal(c, np.maximum(expected, 0) if "relu" in expression else expected)


_NAMES = [each.name for each in embed.pipeline("sm_90a")]


@pytest.mark.parametrize("name", dict.fromkeys(_NAMES[: _NAMES.index("convert-tirx-to-ptx")]))
@pytest.mark.sample(1)
def test_an_operation_may_be_lowered_behind_any_pass(name: str) -> None:
    program = "A: f16[64, 128]\nB: f16[64, 128]\nC: f32[64, 64] = relu(A @ B^T)"
    module, context = _TOY["parse"](program, "p.toy", "sm_90a"), embed.context(_TOY["TOY"])
    embed.run(module, embed.pipeline("sm_90a", after={name: [_TOY["LowerToyPass"]()]}), context=context)
    (binary,) = embed.extract(module).values()
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (64, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros((64, 64), np.float32)
    embed.program(binary).kernels["dense"].simulate(a, b, c, check="strict")
    assert np.array_equal(c, np.maximum(a.astype(np.float32) @ b.T.astype(np.float32), 0))


@irdl_op_definition
class _SineOp(PureInstruction):
    name = "own.sine"

    operand, result = operand_def(f32), result_def(f32)

    assembly_format = "$operand attr-dict"

    def emit(self, reg: Names) -> str:
        return f"sin.approx.f32 {reg(self.result)}, {reg(self.operand)}"


@pytest.mark.parametrize("written", ["own.sine %e", 'ptx.inline "sin.approx.f32 $0, $1;" (%e) : (f32) -> f32'])
def test_instructions_of_other_dialects_and_by_hand_stand_in_maps(written: str) -> None:
    text = f"""
tirx.kernel @k(%a: memref<64xf32>, %d: memref<64xf32>) target("sm_80") grid(1) threads(32) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
  %gd = tirx.view %d[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
  %x = tirx.load %ga : !tirx.tile<64xf32, global> -> !tirx.tile<64xf32, register>
  %y = tirx.map ins(%x : !tirx.tile<64xf32, register>) {{
  ^bb0(%e: f32):
    %s = {written}
    tirx.yield %s : f32
  }} -> !tirx.tile<64xf32, register>
  tirx.store %y, %gd : !tirx.tile<64xf32, register>, !tirx.tile<64xf32, global>
  tirx.return
}}"""
    context = embed.context(Dialect("own", [_SineOp]))
    module = embed.parse(text, "sine.own", context)
    assert embed.run(module, embed.pipeline(), context=context, verify_each=True)
    a, d = np.linspace(-3, 3, 64, dtype=np.float32), np.zeros(64, np.float32)
    embed.program(embed.extract(module, context)["k"]).kernels["k"].simulate(a, d)
    np.testing.assert_allclose(d, np.sin(a), atol=1e-6)
    one = ConstantOp(FloatAttr(1.0, f32)).result
    assert _SineOp(operands=[one], result_types=[f32]).operand is one  # the arguments that xDSL's operations take


def test_diagnostics_are_shown_at_lines_of_the_program() -> None:
    shown: list[str] = []
    program = _PROGRAM.replace("A: f16", "A: f32")
    assert _TOY["compile"](program, "p.toy", "sm_90a", shown.append) is None
    assert shown == ["p.toy, line 5: error: expected A and B of one type, found f32 and f16 (mma-product)"]


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("A: f16[4", "p.toy, line 1: expected 'name: type\\[sizes\\]'"),
        ("A: f16[4, 4]\nC: f32[4, 4] = A * A", "p.toy, line 2: expected A @ B\\^T"),
        ("A: f16[4, 4]", "p.toy: expected one line that computes, found none"),
    ],
)
def test_errors_of_the_language(program: str, message: str) -> None:
    with pytest.raises(_TOY["ToyError"], match=message):
        _TOY["compile"](program, "p.toy", "sm_90a")


def _tiles() -> ModuleOp:
    """A program with its own operation lowered, and nothing else."""
    program = "A: f16[64, 64]\nB: f16[64, 64]\nC: f32[64, 64] = relu(A @ B^T)"
    module = _TOY["parse"](program, "dense.toy", "sm_90a")
    embed.run(module, [_TOY["LowerToyPass"]()], context=embed.context(_TOY["TOY"]))
    return module


def test_three_ways_in(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Python, `tirx-opt` and the stock `xdsl-opt` give one PTX, whose host code none of them touches."""
    module = _tiles()
    text = str(module)
    embed.run(module, embed.pipeline(), context=embed.context(_TOY["TOY"]))
    ptx = embed.ptx(module)

    path = tmp_path / "tiles.mlir"
    generic = StringIO()
    _print_generic(text, generic)
    path.write_text(generic.getvalue())
    assert tirx_opt(["--lower-to-ptx", "--allow-unregistered-dialect", str(path)]) == 0
    assert capsys.readouterr().out == ptx

    if not _INSTALLED:
        pytest.skip("the stock xdsl-opt finds installed plugins only")
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "--allow-unregistered-dialect", "--disable-verify"]
    command += ["-t", "ptx", str(path)]
    done = subprocess.run(
        [*command, "-p", ",".join(lower_to_ptx_pipeline())], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ptx


_FOREIGN = """
"gpu.module"() <{sym_name = "first"}> ({
  tirx.kernel @k(%a: memref<64xf32>) target("sm_80") grid(1) threads(32) {
    %c0 = arith.constant 0 : index
    %g = tirx.view %a[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
    %x = tirx.load %g : !tirx.tile<64xf32, global> -> !tirx.tile<64xf32, register>
    %y = toy.relu %x : !tirx.tile<64xf32, register> -> !tirx.tile<64xf32, register>
    tirx.copy %y, %g : !tirx.tile<64xf32, register>, !tirx.tile<64xf32, global>
    tirx.return
  }
}) : () -> ()
"gpu.module"() <{sym_name = "second"}> ({
  tirx.kernel @k(%a: memref<64xf32>) target("sm_90a") grid(1) threads(64) {
    %c0 = arith.constant 0 : index
    %g = tirx.view %a[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
    %x = tirx.load %g : !tirx.tile<64xf32, global> -> !tirx.tile<64xf32, register>
    %y = toy.relu %x : !tirx.tile<64xf32, register> -> !tirx.tile<64xf32, register>
    tirx.copy %y, %g : !tirx.tile<64xf32, register>, !tirx.tile<64xf32, global>
    tirx.return
  }
}) : () -> ()
"""


def test_passes_of_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package of docs/embedding.md, as `pip install --target` leaves it."""
    text = (_DIRECTORY.parents[1] / "docs" / "embedding.md").read_text()
    config, source = (
        re.findall(rf"^```{start}(.*?)^```$", text, re.M | re.S)[0] for start in ("toml", "python\n# toy")
    )
    project = tomllib.loads(config)["project"]
    directory = tmp_path / f"toy_tirx-{project['version']}.dist-info"
    directory.mkdir()
    (directory / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    (group, names), *_ = project["entry-points"].items()
    (directory / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{n} = {p}\n" for n, p in names.items()))
    (tmp_path / "toy_tirx.py").write_text(f"# toy{source}")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    file = tmp_path / "k.mlir"
    file.write_text('tirx.kernel @k() target("sm_80") grid(1) threads(32) { tirx.return }')

    def output(*arguments: str) -> str:
        assert tirx_opt([*arguments, str(file)]) == 0
        return capsys.readouterr().out

    universe.all_passes.cache_clear()
    try:
        with pytest.raises(SystemExit, match="^0$"):
            tirx_opt(["--help"])
        assert "and those of installed packages: toy-mark\n" in capsys.readouterr().out
        seen = [
            "toy.seen" in output("--lower-to-ptx", f"--{where}", f"{name}=toy-mark", "-t", "mlir")
            for where, name in (("after", "tirx-mem2reg:2"), ("before", "tirx-mem2reg"), ("before", "tirx-cse"))
        ]
        assert seen == [True, True, False]  # there are entries in front of tirx-cse, no kernels
        assert "toy.seen" in output("-p", "tirx-inline,tirx-cse", "--replace", "tirx-cse=toy-mark,toy-mark")
    finally:
        universe.all_passes.cache_clear()


def test_attributes_stay_where_an_operation_becomes_another() -> None:
    text = (_DIRECTORY.parent / "wgmma_gemm.mlir").read_text()
    module = embed.parse(re.sub(r"(tirx\.(copy|mma) [^:]*?) :", r'\1 {own.tag = "\2"} :', text))
    names = [each.name for each in embed.pipeline()]
    embed.run(module, embed.pipeline()[: names.index("tirx-pipeline-loops") + 1])
    tagged = sorted((op.name, op.attributes["own.tag"].data) for op in module.walk() if "own.tag" in op.attributes)  # pyright: ignore
    copies, others = [("tirx.async_copy", "copy")] * 2, [("tirx.async_mma", "mma"), ("tirx.store", "copy")]
    assert tagged == [*copies, *others]


def test_stablehlo_becomes_kernels_and_a_host_function_that_launches_them() -> None:
    names = run_path(str(_DIRECTORY.parent / "stablehlo" / "stablehlo.py"))
    text = (_DIRECTORY.parent / "stablehlo" / "mlp.stablehlo").read_text()
    rng = np.random.default_rng(0)
    x, w1, w2 = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 64), (64, 128), (128, 64)))
    bias = rng.integers(-3, 4, 128).astype(np.float32)
    (y,) = names["run"](names["compile"](text, "mlp.mlir", "sm_80"), x, w1, bias, w2)
    hidden = np.maximum(x.astype(np.float32) @ w1.astype(np.float32) + bias, 0)
    assert np.array_equal(y, hidden @ w2.astype(np.float32))
    shown: list[str] = []
    for wrong in ("convert %0 : (tensor<128x128xf32>) -> tensor<128x128xf32>", "tanh %0 : tensor<128x128xf32>"):
        program = re.sub(r"stablehlo\.add .*", f"stablehlo.{wrong}", text)
        try:
            assert names["compile"](program, "mlp.mlir", "sm_80", shown.append) is None
        except embed.LocatedError as error:
            shown.append(str(error))
    assert [str(each).partition(": error: ")[0] for each in shown] == ["mlp.mlir:6:10"] * 2


@pytest.mark.skipif(shutil.which("mlir-opt") is None, reason="expected mlir-opt, found none (apt: mlir-22-tools)")
def test_upstream_reads_generic_form() -> None:
    tiles = embed.parse((_DIRECTORY.parent / "wgmma_gemm.mlir").read_text())
    kernel = _generic(tiles).partition("({")[2].rpartition("})")[0]
    head = '"gpu.module"() ({' + kernel + '}) {sym_name = "kernels"} : () -> ()'
    module = embed.parse(head + " func.func @host(%a: memref<64xf32>) { func.return }")
    command = ["mlir-opt", "--allow-unregistered-dialect", "--mlir-print-op-generic"]
    for _ in range(2):
        read = subprocess.run(command, input=_generic(module), capture_output=True, text=True, check=True).stdout
        assert module.is_structurally_equivalent(embed.parse(read))
        embed.run(module, embed.pipeline())
        embed.extract(module)


def _generic(module: ModuleOp) -> str:
    text = StringIO()
    Printer(stream=text, print_generic_format=True).print_op(module)
    return text.getvalue()


def test_errors_of_kernels_in_python_are_at_the_program() -> None:
    """A kernel without a target, and what Python cannot say in it."""
    with tx.located("p.toy", 2):

        @tx.jit(tx.f32[64], tx.f32[32], threads=64)
        def wrong(a: tx.Array, d: tx.Array) -> None:
            with tx.located("p.toy", 4):
                d[:] = a[:]

    with pytest.raises(
        tx.BuildError, match=r"^p\.toy:4:1: error: expected .*\n.*test_embedding\.py:\d+:\d+: note: "
    ) as error:
        _ = wrong.module
    assert error.value.location is not None and error.value.location.line.data == 4
    with tx.located("p.toy", 2):

        @tx.jit(tx.f32[64], threads=64)
        def double(a: tx.Array) -> None:
            a[:] = 2.0 * a[:]

    with pytest.raises(embed.LocatedError, match=r"^p\.toy:2:1: error: expected a target"):
        embed.run(double.module, embed.pipeline())


def test_no_passes_behind_one_that_does_not_run() -> None:
    with pytest.raises(KeyError, match="expected pass 1 named 'tirx-cse2' in the pipeline, found none among tirx-"):
        embed.pipeline(after={"tirx-cse2": []})


def test_places_of_own_passes() -> None:
    """Right behind the first pass of a name, in their order."""
    usual = embed.pipeline("sm_90a")
    first, second = _FailingPass(), _FailingPass()
    for at in (0, 3, len(usual) - 1):
        name = usual[at].name
        at = next(i for i, each in enumerate(usual) if each.name == name)
        found = embed.pipeline("sm_90a", after={name: [first, second]})
        assert found[at + 1] is first and found[at + 2] is second
        assert found[: at + 1] + found[at + 3 :] == usual


class _MakingPass(ModulePass):
    name = "toy-make"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = embed.parse('tirx.kernel @k() target("sm_80") grid(1) threads(32) { tirx.return }')
        op.body.block.add_op(made.body.block.detach_op(next(iter(made.ops))))


def test_kernels_that_a_pass_makes_get_the_target_of_the_pipeline() -> None:
    """In front of the first pass, which every pipeline has."""
    for target in (None, "sm_90a"):
        module, passes = embed.parse(""), embed.pipeline(target)
        assert passes[0].name == "tirx-tile-linalg"
        embed.run(module, passes.insert_before(passes[0].name, _MakingPass()))
        assert f".target {target or 'sm_80'}\n" in embed.ptx(module)


def test_pipelines_are_values() -> None:
    usual, own = embed.pipeline(), _FailingPass()
    again = [at for at, each in enumerate(usual) if each.name == "tirx-check-rings"][1]
    found = usual.replace("tirx-check-rings", own, own, occurrence=2)
    assert found == usual[:again] + (own, own) + usual[again + 1 :] and usual == embed.pipeline()
    assert found.remove(own.name, occurrence=2).remove(own.name) == usual.remove("tirx-check-rings", occurrence=2)
    assert usual.insert_before(usual[0].name, own)[:2] == (own, usual[0])
    for occurrence in (0, 3):
        message = f"expected pass {occurrence} named 'tirx-check-rings' in the pipeline, found 2 of that name"
        with pytest.raises(KeyError, match=message):
            usual.remove("tirx-check-rings", occurrence=occurrence)


def test_hooks_are_called_around_each_pass() -> None:
    said, passes = list[str](), embed.pipeline()

    def before(each: ModulePass, module: ModuleOp) -> None:
        said.append(f"before {each.name} {module.name}")

    def after(each: ModulePass, module: ModuleOp) -> None:
        said.append(f"after {each.name} {module.name}")

    for handler in (None, list[embed.Diagnostic]().append):
        said.clear()
        module = embed.parse('tirx.kernel @k() target("sm_80") grid(1) threads(32) { tirx.return }')
        assert embed.run(module, passes, on_diagnostic=handler, before_each=before, after_each=after)
        assert said == [f"{name} {each.name} builtin.module" for each in passes for name in ("before", "after")]


def test_errors_of_all_kernels_come_at_once() -> None:
    context, found = embed.context(_TOY["TOY"]), list[embed.Diagnostic]()
    module = embed.parse(_FOREIGN, "two.toy", context)
    assert not embed.run(module, embed.pipeline(), context=context, on_diagnostic=found.append)
    errors = [each for each in found if each.severity == "error"]
    assert [each.position for each in errors] == [("two.toy", 7, 10), ("two.toy", 17, 10)]
    assert all("expected 'toy.relu' to be lowered before convert-tirx-to-ptx" in each.message for each in errors)


def test_kernels_of_one_name_in_several_modules() -> None:
    context = embed.context(_TOY["TOY"])
    module = embed.parse(_FOREIGN, "two.toy", context)
    embed.run(module, embed.pipeline(after={"tirx-mem2reg": [_TOY["LowerToyPass"]()]}), context=context)
    launches = embed.launches(module)
    assert {name: launch.block for name, launch in launches.items()} == {
        "first::k": (32, 1, 1),
        "second::k": (64, 1, 1),
    }
    binaries = embed.extract(module)
    assert {name: op.target.data for name, op in binaries.items()} == {"first::k": "sm_80", "second::k": "sm_90a"}


def test_kernels_of_other_modules_with_a_name_of_their_own() -> None:
    entry = 'ptx.entry @{} target("sm_80") reqntid({}) {{ ptx.ret }}'
    inner = [entry.format(*each) for each in (("k()", 1), ("k()", 2), ("l()", 3), ("m()", 4))]
    nested = f"builtin.module @b {{ builtin.module @c {{ {inner[1]} {inner[2]} }} }}"
    module = embed.parse(f"builtin.module @a {{ {inner[0]} }}\n{nested}\n{inner[3]}")
    blocks = {name: launch.block for name, launch in embed.launches(module).items()}
    assert blocks == {"a::k": (1, 1, 1), "b::c::k": (2, 1, 1), "l": (3, 1, 1), "m": (4, 1, 1)}


class _FailingPass(ModulePass):
    name = "toy-fail"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise PassFailedException("expected better weather")


def test_failures_of_passes_of_others_are_diagnostics() -> None:
    module, found = embed.parse("func.func @f() { func.return }"), list[embed.Diagnostic]()
    assert not embed.run(module, [_FailingPass()], on_diagnostic=found.append)
    assert [(each.rule, each.message, each.position) for each in found] == [
        ("toy-fail", "expected better weather", None)
    ]
    with pytest.raises(PassFailedException, match="expected better weather"):
        embed.run(module, [_FailingPass()])


@irdl_op_definition
class _PickyOp(IRDLOperation):
    name = "picky.op"

    def verify_(self) -> None:
        raise VerifyException("expected something else")


def test_errors_of_others_have_no_rule_of_an_error_beside_them() -> None:
    """Each error of the verifier has its own facts."""
    context, found = embed.context(Dialect("picky", [_PickyOp])), list[embed.Diagnostic]()
    wrong = """
    %c0 = arith.constant 0 : index
    %g = tirx.view %a[%c0, %c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
    "picky.op"() : () -> ()
    tirx.return"""
    text = f'tirx.kernel @k(%a: memref<64xf32>) target("sm_80") grid(1) threads(32) {{{wrong}\n}}'
    embed.run(embed.parse(text, "p.mlir", context), embed.pipeline(), context=context, on_diagnostic=found.append)
    assert [each.rule for each in found] == ["view", "operation-definition"]


def _print_generic(text: str, output: StringIO) -> None:
    """The module in generic form, which tools read that do not know its dialect."""
    Printer(stream=output, print_generic_format=True).print_op(embed.parse(text, context=embed.context(_TOY["TOY"])))


def test_places_of_texts_that_a_compiler_makes() -> None:
    """Operations that the text gives another place keep it; errors say where in the text they are."""
    place = file_location("mine.toy", 7, 3)
    body = '"test.op"() : () -> () loc("other":1:2)\n"test.op"() : () -> () loc(unknown)\nfunc.return'
    module = embed.parse(f"func.func @f() {{\n{body}\n}}", "made.mlir", location=place)
    (function,) = module.ops
    _, unknown, last = places = [op.location for op in function.regions[0].block.ops]
    assert str(places[0]) == 'loc("other":1:2)' and unknown is last is function.location is place
    with pytest.raises(embed.LocatedError) as error:
        embed.parse("func.func @f( {", "made.mlir", location=place)
    assert error.value.location is place
    assert [note.message for note in error.value.notes] == ["in this text"]
