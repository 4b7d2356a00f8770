"""Private names of xDSL are used in two modules."""

from __future__ import annotations

import ast
import inspect
import re
from abc import ABC
from functools import cache
from operator import attrgetter
from pathlib import Path
from weakref import ref

import pytest
from unit.cases import together
from xdsl.dialects import arith, cf, scf, test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, IntegerType, StringAttr, i32
from xdsl.ir import Attribute, Block, Operation, OpResult, ParametrizedAttribute, Region, SSAValue, Use
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRLexer

import tirx
from tirx.dialects import xdsl_parser, xdsl_private
from tirx.dialects.definition import quicken
from tirx.dialects.xdsl_private import FIELDS, IDENTIFIED, NOTHING_INSIDE, VIEWS, ExactClass
from tirx.text.collector import paused_collector

_CLASSES = (Block, Operation, OpResult, Region, SSAValue, Use, Parser, Printer, MLIRLexer)


@cache
def _private(classes: tuple[type, ...]) -> set[str]:
    """The private names of classes and of those that they inherit from."""
    every = [each for kind in classes for each in kind.__mro__ if each.__module__.startswith("xdsl.")]
    names = {name for each in every for name in (*vars(each), *inspect.get_annotations(each))}
    return {name for name in names if name.startswith("_") and not name.startswith(("__", "_abc"))}


def _uses(path: Path) -> list[str]:
    """Private names of xDSL that a file imports, overrides, or reads from another object than its own."""
    names, overridden = _private(_CLASSES), _private((Parser, MLIRLexer))
    found: list[str] = []
    text = path.read_text()
    if re.search(rf"\b({'|'.join(names)})\b|xdsl\S*\._|xdsl.* import (.*, |\(\s*(\w+,\s*)*)?_", text) is None:
        return found  # most files have none of the words, which are found sooner than syntax
    nodes = list(ast.walk(ast.parse(text)))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                is_private = name in names and name not in own and name != "_name"  # of tiles of the builder
            case ast.Attribute(attr=name):
                is_private = name in names
            case ast.FunctionDef(name=name):
                is_private = name in overridden
            case ast.ImportFrom(module=str(module), names=imported) if module.startswith("xdsl"):
                is_private, name = any(part.startswith("_") for part in module.split(".")), module
                is_private |= any(each.name.startswith("_") for each in imported)
            case _:
                continue
        if is_private:
            found.append(f"{path.name}:{node.lineno}: {name}")
    return found


def test_no_other_file_touches_private_names():
    root, own = Path(tirx.__file__).parent, [Path(inspect.getfile(each)) for each in (xdsl_private, xdsl_parser)]
    files = {path.resolve() for folder in (root, root / "dialects", root / "passes") for path in folder.rglob("*.py")}
    assert all(map(_uses, own))
    assert [use for path in sorted(files - {each.resolve() for each in own}) for use in _uses(path)] == []


@cache
def _of_xdsl() -> dict[str, ast.ClassDef]:
    """The classes that the sources of xDSL define."""
    trees = [ast.parse(inspect.getsource(inspect.getmodule(cls) or cls)) for cls in (*FIELDS, *IDENTIFIED)]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def _method(cls: type, name: str) -> str:
    """Source of a method in xDSL, in front of changes, without its docstring."""
    functions = [each for each in _of_xdsl()[cls.__name__].body if isinstance(each, ast.FunctionDef)]
    found = next(each for each in functions if each.name == name)
    statements = [each for each in found.body if not isinstance(getattr(each, "value", None), ast.Constant)]
    return "\n".join(map(ast.unparse, statements))


@together("cls, name, field", [(c, n, f) for c, names in FIELDS.items() for n, f in names.items()])
def test_properties_that_are_replaced_return_a_field(cls: type, name: str, field: str):
    assert _method(cls, name) == f"return self.{field}"
    assert vars(cls)[name].fget.__class__.__name__ == "attrgetter"


@pytest.mark.parametrize("cls, name, view", [(c, n, v) for c, names in VIEWS.items() for n, v in names.items()])
def test_properties_that_are_replaced_return_a_view(cls: type, name: str, view: type):
    assert _method(cls, name).split("\n")[0] == f"return {view.__name__}(self)"
    assert vars(cls)[name].fget is view


def test_items_without_calls():
    one = arith.ConstantOp.from_int_and_width(1, i32)
    both = arith.AddiOp(one, one).operands
    assert xdsl_private.operands_of(scf.YieldOp(*both)).at1 is one.result and one.results.at0 is one.result  # pyright: ignore
    with pytest.raises(IndexError, match="index out of range"):
        attrgetter("at1")(one.results)


def _uses_of(value: SSAValue) -> list[tuple[Operation, int]]:
    found = [(use.operation, use.index) for use in value.uses]
    last = value.first_use
    while last is not None and last._next_use is not None:  # pyright: ignore[reportPrivateUsage]
        assert last._next_use._prev_use is last  # pyright: ignore[reportPrivateUsage]
        last = last._next_use  # pyright: ignore[reportPrivateUsage]
    return found


def test_operands_that_are_set_and_replaced():
    one, two = (arith.ConstantOp.from_int_and_width(n, i32).result for n in (1, 2))
    first, second = arith.AddiOp(one, one), arith.AddiOp(one, two)
    first.operands = [*second.operands][::-1]
    second.operands = [*second.operands][:1] + [second.operands[0]]
    assert tuple(first.operands) == (two, one) and first.results.types == (i32,)
    assert _uses_of(one) == [(second, 1), (second, 0), (first, 1)] and _uses_of(two) == [(first, 0)]
    second.operands[1] = two
    second.operands[0] = second.operands[0]
    assert _uses_of(one) == [(second, 0), (first, 1)] and _uses_of(two) == [(second, 1), (first, 0)]
    two.name_hint = "two"
    two.replace_all_uses_with(two)
    two.replace_all_uses_with(one)
    assert _uses_of(two) == [] and one.name_hint == "two"
    assert _uses_of(one) == [(first, 0), (second, 1), (second, 0), (first, 1)]
    with pytest.raises(IndexError, match="index out of range"):
        first.operands[2] = one
    assert _uses_of(one) == [(first, 0), (second, 1), (second, 0), (first, 1)]
    first.operands = ()
    assert not first.operands and _uses_of(one) == [(second, 1), (second, 0)]


@pytest.mark.parametrize("cls", IDENTIFIED)
def test_hashes_that_are_replaced_are_identities(cls: type):
    assert _method(cls, "__hash__") == "return id(self)"
    assert cls.__hash__ is object.__hash__


def test_instances_of_classes_of_ir():
    @irdl_attr_definition
    class Later(ParametrizedAttribute):
        name = "test.later"

    one = arith.ConstantOp.from_int_and_width(1, i32)
    assert {type(each) for each in (Later, IntegerType, Operation, Block, SSAValue, scf.ForOp)} == {ExactClass}
    assert isinstance(Later(), Attribute) and isinstance(i32, IntegerType) and not isinstance(i32, Later)
    assert isinstance(one, Operation) and isinstance(one.result, OpResult) and not isinstance(one, scf.ForOp)
    assert issubclass(Later, ABC) and isinstance(Later(), ABC)


def test_operations_of_xdsl_have_quick_accessors():
    one = arith.ConstantOp.from_int_and_width(1, i32)
    total = arith.AddiOp(one, one)
    loop = scf.ForOp(one, one, one, [total], Block([scf.YieldOp(total)], arg_types=[i32, i32]))
    before = total.lhs, total.rhs, total.result, loop.lb, tuple(loop.iter_args), tuple(loop.res), loop.body
    quicken(arith.AddiOp)
    quicken(scf.ForOp)
    assert all(type(vars(scf.ForOp)[name]) is property for name in ("lb", "iter_args", "res", "body"))
    assert (total.lhs, total.rhs, total.result, loop.lb, tuple(loop.iter_args), tuple(loop.res), loop.body) == before


def _shape(op: Operation, values: dict[SSAValue, int]) -> list[object]:
    """All that a copy has in common: names, types, operands and their uses by number, blocks by number."""
    blocks = [block for region in op.regions for block in region.blocks]
    for value in (*op.results, *(argument for block in blocks for argument in block.args)):
        values[value] = len(values)
    inside = [_shape(inner, values) for block in blocks for inner in block.ops]
    known = (*op.results, *(argument for block in blocks for argument in block.args))
    named = [(values[each], each.type, each.name_hint, len(list(each.uses))) for each in known]
    ends = [(end.parent is op.parent_region(), end.name_hint) for end in op.successors]
    given = [values.get(operand, operand) for operand in op.operands]
    return [op.name, op.location, dict(op.properties), dict(op.attributes), named, ends, given, inside]


def test_copies_are_those_of_xdsl():
    outside = arith.ConstantOp.from_int_and_width(1, i32)
    body, end = Block(arg_types=[i32, i32]), Block(arg_types=[i32])
    body.args[1].name_hint = "x"
    body.args[1].location = FileLineColLoc(StringAttr("f"), IntAttr(1), IntAttr(2))
    inner = arith.AddiOp(body.args[0], outside)
    inner.result.name_hint, inner.attributes["a.b"] = "sum", i32
    condition = arith.ConstantOp.from_int_and_width(1, 1)
    body.add_ops([inner, condition, scf.IfOp(condition, [], [arith.AddiOp(inner, outside), scf.YieldOp()])])
    body.add_op(cf.ConditionalBranchOp(condition, end, [inner], end, [body.args[1]]))
    end.add_op(cf.BranchOp(end, end.args[0]))
    op = test.TestOp(result_types=[i32], regions=[Region([body, end])], properties={"prop1": i32})
    values: dict[SSAValue, SSAValue] = {outside.result: (other := arith.ConstantOp.from_int_and_width(2, i32)).result}
    of_xdsl, own = op.clone(dict(values)), xdsl_private.clone(op, values)
    own.verify()
    assert _shape(own, {other.result: -1}) == _shape(of_xdsl, {other.result: -1})
    assert own.regions[0].blocks[0].args[1].location == body.args[1].location
    assert [each.name for each in own.walk(reverse=True)] == [each.name for each in op.walk(reverse=True)]
    assert values[op.results[0]] is own.results[0] and _uses_of(outside.result)[-1] == (inner, 1)
    assert own.properties is not op.properties and own.regions[0].parent is own


def test_operations_become_others_in_their_place():
    one = arith.ConstantOp.from_int_and_width(1, i32)
    total = arith.AddiOp(one, one)
    total.attributes["a.b"], total.result.name_hint = i32, "x"
    total.location = location = FileLineColLoc(StringAttr("f"), IntAttr(1), IntAttr(2))
    user = arith.SubiOp(total, one)
    block, of_total = Block([one, total, user]), ref(total)
    made = xdsl_private.become(total, arith.MuliOp, dict(total.properties))
    assert total.parent is None and not total.operands and not total.results
    del total
    assert of_total() is None and [*block.ops] == [one, made, user]
    assert user.lhs is made.result and made.result.owner is made and made.result.name_hint == "x"
    assert _uses_of(one.result) == [(user, 1), (made, 1), (made, 0)] and not made.attributes
    assert made.location == location
    last = xdsl_private.become(user, arith.AddiOp, dict(user.properties))
    first = xdsl_private.become(one, arith.ConstantOp, dict(one.properties))
    assert block.first_op is first and block.last_op is last and made.prev_op is first and made.next_op is last
    block.verify()


def test_arguments_of_a_block_become_those_of_another():
    block, other = Block(arg_types=[i32, i32]), Block()
    first, second = block.args
    user = arith.AddiOp(first, second)
    xdsl_private.move_arguments(block, other)
    assert not block.args and tuple(other.args) == tuple(user.operands) == (first, second)
    assert [(each.owner, each.index) for each in other.args] == [(other, 0), (other, 1)]
    with pytest.raises(ValueError, match="expected a block without arguments, found one with 2"):
        xdsl_private.move_arguments(Block(arg_types=[i32]), other)


def test_operations_move_with_those_behind_them():
    ops = [arith.ConstantOp.from_int_and_width(i, i32) for i in range(3)]
    block, behind, whole = Block(ops), Block(), Block()
    xdsl_private.move_rest(ops[1], behind)
    assert [*block.ops] == ops[:1] and [*behind.ops] == ops[1:] and [*reversed(behind.ops)] == ops[:0:-1]
    assert block.last_op is ops[0] and all(op.parent is behind for op in ops[1:])
    xdsl_private.move_rest(ops[1], whole)
    assert behind.is_empty and behind.last_op is None and [*whole.ops] == ops[1:]
    with pytest.raises(ValueError, match="expected 'arith.constant' in a block, and a block without operations"):
        xdsl_private.move_rest(ops[0], whole)


def _weak(region: Region) -> list[ref[Operation | Block | Region]]:
    return [ref(each) for each in (region, *region.blocks, *region.walk())]


def test_discarded_regions_are_gone_at_once():
    outside = arith.ConstantOp.from_int_and_width(1, i32)
    reader = arith.AddiOp(outside, outside)
    body, end = Block(arg_types=[i32]), Block()
    inner = arith.AddiOp(body.args[0], outside)
    condition = arith.ConstantOp.from_int_and_width(1, 1)
    body.add_ops([inner, condition, scf.IfOp(condition, [], [arith.AddiOp(inner, outside), scf.YieldOp()])])
    body.add_op(cf.BranchOp(end))
    end.add_op(cf.BranchOp(end))
    region = Region([body, end])
    del body, end, inner, condition
    weak = _weak(region)
    with paused_collector():
        xdsl_private.discard(region)
        assert {use.operation for use in outside.result.uses} == {reader}
        del region
        assert [each() for each in weak if each() is not None] == []


def test_erased_operations_are_gone_with_what_is_inside():
    condition = arith.ConstantOp.from_int_and_width(1, 1)
    branch = scf.IfOp(condition, [], [arith.AddiOp(condition, condition), scf.YieldOp()])
    block = Block([branch])
    weak = [ref(branch), *_weak(branch.true_region)]
    with paused_collector():
        xdsl_private.erase(branch)
        del branch
        assert [each() for each in weak if each() is not None] == []
    assert block.is_empty
    with pytest.raises(ValueError, match=re.escape("expected 'scf.yield' in a block, found it in none")):
        xdsl_private.erase(scf.YieldOp())
    assert condition.result.first_use is None


def test_operations_whose_results_are_used_are_not_erased():
    one = arith.ConstantOp.from_int_and_width(1, 32)
    block = Block([one, arith.AddiOp(one, one)])
    with pytest.raises(ValueError, match="still has uses"):
        xdsl_private.erase(one)
    assert len(block.ops) == 1


@together("kind", NOTHING_INSIDE)
def test_attributes_without_parameters_need_no_verifier(kind: type[ParametrizedAttribute]):
    definition = kind.get_irdl_definition()
    assert not definition.parameters and kind.verify is Attribute.verify
    assert kind() is kind() == kind.new([]) and hash(kind()) == hash(kind.new([])) and str(kind()) == str(kind.new([]))
