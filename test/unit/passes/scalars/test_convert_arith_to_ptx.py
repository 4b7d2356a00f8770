"""convert-arith-to-ptx, with convert-scf-to-ptx: values, locations, and registers of what comes out."""

import itertools
from collections.abc import Callable

import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, ModuleOp, i32
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.passes import PassPipeline
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from tirx.dialects import ptx
from tirx.passes.scalars.convert_arith_to_ptx import ConvertArithToPtxPass
from tirx.passes.scalars.convert_scf_to_ptx import ConvertScfToPtxPass
from tirx.ptx.printer import print_ptx
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.universe import new_context


def _convert(text: str, *, scf_too: bool = False) -> ModuleOp:
    context = new_context()
    module = Parser(context, text).parse_module()
    ConvertArithToPtxPass().apply(context, module)
    if scf_too:
        ConvertScfToPtxPass().apply(context, module)
    module.verify()
    return module


def _truncated_division(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _floor_division(a: int, b: int) -> int:
    return a // b


def _ceiling_division(a: int, b: int) -> int:
    return -(-a // b)


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
}

_BINARY: dict[type[Operation], Callable[[int, int], int]] = {
    ptx.AddOp: lambda a, b: a + b,
    ptx.SubOp: lambda a, b: a - b,
    ptx.MulLoOp: lambda a, b: a * b,
    ptx.DivOp: _truncated_division,
    ptx.XorOp: lambda a, b: a ^ b,
    ptx.AndOp: lambda a, b: a & b,
}


def _evaluate(entry: ptx.EntryOp, params: dict[str, int]) -> int:
    """The operand of the last store: small signed integers, one block."""
    values: dict[SSAValue, int] = {}
    for op in entry.body.block.ops:
        match op:
            case ptx.LdParamOp():
                values[op.result] = params[op.param.data]
            case ptx.ConstantOp(value=IntegerAttr(value=number)):
                values[op.result] = number.data
            case ptx.SetpOp():
                a, b = values[op.lhs], values[op.rhs]
                values[op.result] = int(_COMPARE[op.comparison.data.value](a, b))
            case ptx.SelpOp():
                values[op.result] = values[op.on_true if values[op.condition] else op.on_false]
            case ptx.StOp():
                return values[op.data[0]]
            case _:
                a, b = (values[v] for v in op.operands)
                values[op.results[0]] = _BINARY[type(op)](a, b)
    raise ValueError("expected a store, found none")


@pytest.mark.parametrize(("name", "expected"), [("floordivsi", _floor_division), ("ceildivsi", _ceiling_division)])
def test_rounding_divisions(name: str, expected: Callable[[int, int], int]):
    module = _convert(
        f"""ptx.entry @k(a : s32, b : s32) target("sm_80") {{
          %a = ptx.ld.param @a : i32
          %b = ptx.ld.param @b : i32
          %0 = arith.{name} %a, %b : i32
          ptx.st shared %a, %0 : i32, i32
          ptx.ret
        }}"""
    )
    entry = next(op for op in module.ops if isinstance(op, ptx.EntryOp))
    for a, b in itertools.product(range(-9, 10), range(-4, 5)):
        if b:
            assert _evaluate(entry, {"a": a, "b": b}) == expected(a, b)


def test_every_arith_op_of_the_table_is_gone_and_assembles():
    text = """ptx.entry @k(n : u64, a : u64 ptr align 4) target("sm_80") {
      %n64 = ptx.ld.param @n : i64
      %a = ptx.ld.param @a : i64
      %n = arith.index_cast %n64 : i64 to index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %f0 = arith.constant 0.0 : f32
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %f0) -> (f32) {
        %odd = arith.remui %i, %n : index
        %p = arith.cmpi ne, %odd, %c0 : index
        %next = scf.if %p -> (f32) {
          %i32 = arith.index_cast %i : index to i32
          %x = arith.sitofp %i32 : i32 to f32
          %y = arith.addf %acc, %x : f32
          scf.yield %y : f32
        } else {
          scf.yield %acc : f32
        }
        scf.yield %next : f32
      }
      ptx.st global %a, %sum : i64, f32
      ptx.ret
    }"""
    module = _convert(text, scf_too=True)
    assert not [op for op in module.walk() if op.name.startswith(("arith.", "scf."))]
    ptx_text = print_ptx(module)
    if find_ptxas() is not None:
        result = assemble(ptx_text, "sm_80")
        assert result.ok, result.stderr


def test_locations_are_kept():
    text = """ptx.entry @k(n : u32) target("sm_80") {
      %n = ptx.ld.param @n : i32 loc("k.py":1:1)
      %c = arith.constant 1 : i32 loc("k.py":2:1)
      %0 = arith.ceildivui %n, %c : i32 loc("k.py":3:1)
      scf.for %i = %c to %n step %c : i32 {
        ptx.bar.sync 0 loc("k.py":5:1)
        scf.yield loc("k.py":6:1)
      } loc("k.py":4:1)
      ptx.ret loc("k.py":7:1)
    }"""
    module = _convert(text, scf_too=True)

    def line(op: Operation) -> int:
        assert isinstance(op.location, FileLineColLoc), op.name
        return op.location.line.data

    lines = [(op.name, line(op)) for op in module.walk() if not isinstance(op, ModuleOp | ptx.EntryOp)]
    assert ("ptx.div", 3) in lines
    assert ("ptx.selp", 3) in lines
    assert ("ptx.setp", 4) in lines
    assert ("ptx.cond_bra", 4) in lines
    assert ("ptx.bra", 6) in lines


def test_code_outside_entries_is_left_alone():
    context = new_context()
    module = Parser(context, "%0 = arith.constant 1 : index").parse_module()
    ConvertArithToPtxPass().apply(context, module)
    assert isinstance(module.body.block.first_op, arith.ConstantOp)


def test_name_hints_survive():
    module = _convert(
        'ptx.entry @k(n : u32) target("sm_80") {\n  %n = ptx.ld.param @n : i32\n  %twice = arith.addi %n, %n : i32\n'
        "  ptx.ret\n}"
    )
    add = next(op for op in module.walk() if isinstance(op, ptx.AddOp))
    assert add.result.name_hint == "twice"
    assert add.result.type == i32
    assert scf.ForOp not in {type(op) for op in module.walk()}


def test_cse_and_dce_keep_what_has_effects():
    text = """ptx.entry @k() target("sm_100a") {
      %s = ptx.shared_alloc @s bytes 16 align 16
      %s2 = ptx.shared_alloc @s bytes 16 align 16
      %dead = ptx.add %s, %s2 : i32
      %t = ptx.ld shared %s : i32 -> i32
      ptx.bar.sync 0
      ptx.bar.sync 0
      %t2 = ptx.ld shared %s2 : i32 -> i32
      %t3 = ptx.ld shared %s : i32 -> i32
      %0 = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
      %1 = tcgen05.ld "32x32b" num 1 %t : i32 -> i32
      tcgen05.wait ld
      %2 = ptx.elect.sync
      %3 = ptx.elect.sync
      ptx.st shared %s, %t2, %t3 : i32, i32, i32
      ptx.ret
    }"""
    context = new_context()
    module = Parser(context, text).parse_module()
    PassPipeline((CommonSubexpressionElimination(), DeadCodeElimination())).apply(context, module)
    names = [op.name.removeprefix("ptx.") for op in module.walk()]
    kept = {"shared_alloc": 1, "add": 0, "ld": 2, "bar.sync": 2, "tcgen05.ld": 2, "elect.sync": 2, "st": 1}
    assert {name: names.count(name) for name in kept} == kept
