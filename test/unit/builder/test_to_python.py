"""
Text as Python: the Python that a module is printed as gives the same IR again.

`docs/language.md` has every operation, clause and type of the tile level, as `test_language` holds it to; Python says
all that its programs say.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp

from tirx import embed
from tirx.builder.printer import to_python
from tirx.builder.trace import drop_unused
from tirx.tools.tirx_opt import main

_ROOT = Path(__file__).parents[3]
_EXAMPLES = sorted(
    path.relative_to(_ROOT).as_posix()
    for path in (_ROOT / "examples").rglob("*.mlir")
    if path.parent.name != "stablehlo"  # no kernels yet
)
_PROGRAMS = re.findall(r"^```mlir\n(.*?)^```$", (_ROOT / "docs" / "language.md").read_text(), re.MULTILINE | re.DOTALL)


def canonical(module: ModuleOp) -> str:
    """The text of a module without names, without what nobody uses, and with its constants in front, each once."""
    module = module.clone()
    for block in (block for top in module.ops for region in top.regions for block in region.blocks):
        drop_unused(block)
        constants: dict[str, arith.ConstantOp] = {}
        for op in [each for each in block.walk() if isinstance(each, arith.ConstantOp)]:
            first = constants.setdefault(str(op.value), op)
            if first is not op:
                op.result.replace_all_uses_with(first.result)
            op.detach()
        for _, op in sorted(constants.items()):
            block.insert_op_before(op, next(iter(block.ops)))
    for op in module.walk():
        for value in (
            *op.results,
            *(argument for region in op.regions for block in region.blocks for argument in block.args),
        ):
            value.name_hint = None
    return str(module)


def _again(text: str) -> ModuleOp:
    names: dict[str, ModuleOp] = {}
    name = f"<python {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    return names["program"]


@pytest.mark.sample(18)
@pytest.mark.parametrize("path", _EXAMPLES)
def test_examples(path: str) -> None:
    module = embed.parse((_ROOT / path).read_text(), path)
    assert canonical(_again(to_python(module))) == canonical(module)


@pytest.mark.parametrize("number", range(len(_PROGRAMS)))
def test_the_language(number: int) -> None:
    module = embed.parse(_PROGRAMS[number])
    assert canonical(_again(to_python(module))) == canonical(module)


def test_short_forms_subviews_and_attributes() -> None:
    """Forms of the language that no program of `docs/language.md` has."""
    module = embed.parse("""
!part = memref<16x32xf32, strided<[64, 1], offset: ?>>
!t = !tirx.tile<16x32xf32, shared>
tirx.kernel @part(%a: memref<?x64xf32>, %f: memref<4xi32>, %n: index, %p: i1) target("sm_80") grid(1)
    threads(32) attributes {tirx.split = "stream"} {
  %s = memref.subview %a[%n, 0] [16, 32] [1, 1] : memref<?x64xf32> to !part
  %t = tirx.alloc fill(1.0) : !t
  %u = tirx.alloc copy(%s[0, 0]) : !part, !t
  tirx.copy %t, %u : !t, !t
  %c1 = arith.constant 1 : i32
  %g = tirx.view %f[%n] : memref<4xi32> -> !tirx.tile<1xi32, global>
  %c2 = arith.select %p, %c1, %c1 : i32
  %o = tirx.atomic add %c2, %g : i32, !tirx.tile<1xi32, global> -> i32
  tirx.return
}
""")
    text = to_python(module)
    assert "op.memref.subview(" in text and "'stream'" in text.replace('"', "'")
    assert "tx.where(p, " in text
    assert "atomic(" in text and "relaxed" not in text and "gpu" not in text  # as the definition has them
    assert canonical(_again(text)) == canonical(module)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--to-python", str(_ROOT / "examples" / "softmax.mlir")]) == 0
    found = capsys.readouterr().out
    assert found.startswith("import tirx as tx\nfrom tirx import op\n\nT0 = ") and "\n\n\n@tx.jit(" in found


def test_the_lines() -> None:
    text = """
func.func private @f(i32)
tirx.kernel @g() target("sm_80") threads(32) {
  tirx.return
}"""
    assert (
        to_python(embed.parse(text))
        == """import tirx as tx
from tirx import op


@tx.fn
def part():
    op.func.func(sym_name='f', function_type=tx.attribute('(i32) -> ()'), sym_visibility='private')


@tx.jit(name='g', target='sm_80', threads=32)
def g():
    pass


program = tx.module(part, g)
"""
    )
