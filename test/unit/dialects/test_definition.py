"""Definitions of operations do what xDSL's do, later and faster."""

from __future__ import annotations

from itertools import permutations
from typing import ClassVar
from unittest.mock import patch

import pytest
from unit.cases import together
from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, IntegerType, ModuleOp, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    attr_def,
    operand_def,
    opt_attr_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.irdl.operations import OpDef
from xdsl.traits import SameOperandsAndResultType
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from tirx.dialects.constructor import _conversion  # pyright: ignore[reportPrivateUsage]
from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx import ReturnOp
from tirx.universe import TIRX_UNIVERSE

OPERATIONS = [op for factory in TIRX_UNIVERSE.all_dialects.values() for op in factory().operations]


@together("op", OPERATIONS)
def test_formats_are_right(op: type[IRDLOperation]):
    definition = op.get_irdl_definition()
    if definition.assembly_format is not None:
        FormatProgram.from_str(definition.assembly_format, definition)


@irdl_op_definition
class _Pair(IRDLOperation):
    T: ClassVar = VarConstraint("T", AnyAttr())
    name = "test.pair"
    lhs = operand_def(T)
    rhs = operand_def(T)
    kind = prop_def(i32.__class__)
    hint = opt_prop_def(i32.__class__)
    result = result_def(T)


@irdl_op_definition
class _Many(IRDLOperation):
    name = "test.many"
    first = operand_def(i32)
    rest = var_operand_def(f32)
    last = operand_def(i1)


@irdl_op_definition
class _Optional(IRDLOperation):
    name = "test.optional"
    first = opt_operand_def(i32)
    second = opt_operand_def(f32)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


@irdl_op_definition
class _Segments(IRDLOperation):
    name = "test.segments"
    first = var_operand_def(i32)
    second = operand_def(f32)
    third = var_operand_def(i1)
    tag = attr_def(i32.__class__)
    mark = opt_attr_def(i32.__class__)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


@irdl_op_definition
class _Same(IRDLOperation):
    name = "test.same"
    value = operand_def()
    result = result_def()
    traits = traits_def(SameOperandsAndResultType())


@irdl_op_definition
class _Direct(DirectOperation):
    name = "test.direct"
    first = operand_def()
    rest = var_operand_def()
    third = opt_operand_def()
    fourth = opt_operand_def()
    kind = prop_def(i32.__class__, default_value=i32)
    hint = opt_prop_def(i32.__class__)
    result = result_def()
    others = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


def _op(
    kind: type[IRDLOperation],
    operands: list[Attribute],
    results: list[Attribute] | None = None,
    properties: dict[str, Attribute] | None = None,
    attributes: dict[str, Attribute] | None = None,
) -> IRDLOperation:
    return kind.create(
        operands=[create_ssa_value(type_) for type_ in operands],
        result_types=results or [],
        properties=properties or {},
        attributes=attributes or {},
    )


def _sizes(*sizes: int, of: IntegerType = i32) -> dict[str, Attribute]:
    return {"operandSegmentSizes": DenseArrayBase.from_list(of, sizes)}


TAG: dict[str, Attribute] = {"tag": i32}

CASES = [
    _op(_Pair, [i32, i32], [i32], {"kind": i32}),
    _op(_Pair, [i32, i32], [i32], {"kind": i32, "hint": i32}),
    _op(_Pair, [i32, f32], [i32], {"kind": i32}),
    _op(_Pair, [i32, i32], [f32], {"kind": i32}),
    _op(_Pair, [i32], [i32], {"kind": i32}),
    _op(_Pair, [i32, i32, i32], [i32], {"kind": i32}),
    _op(_Pair, [i32, i32], [], {"kind": i32}),
    _op(_Pair, [i32, i32], [i32]),
    _op(_Pair, [i32, i32], [i32], {"kind": f32}),
    _op(_Pair, [i32, i32], [i32], {"kind": i32, "hint": f32}),
    _op(_Pair, [i32, i32], [i32], {"kind": i32, "other": i32}),
    _op(_Many, [i32, i1]),
    _op(_Many, [i32, f32, f32, i1]),
    _op(_Many, [i32, f32, i32, i1]),
    _op(_Many, [i32]),
    _op(_Many, []),
    _op(_Many, [f32, f32, i1]),
    _op(_Optional, [i32]),
    _op(_Optional, [i32], None, _sizes(1, 0)),
    _op(_Optional, [f32], None, _sizes(0, 1)),
    _op(_Optional, [i32, f32], None, _sizes(1, 1)),
    _op(_Optional, [], None, _sizes(0, 0)),
    _op(_Optional, [i32, i32], None, _sizes(2, 0)),
    _op(_Optional, [i32], None, _sizes(0, 1)),
    _op(_Optional, [i32, f32], None, _sizes(1, 0)),
    _op(_Optional, [i32], None, _sizes(1, 1)),
    _op(_Optional, [i32], None, _sizes(1)),
    _op(_Optional, [i32], None, _sizes(1, 0, 0)),
    _op(_Optional, [i32], None, _sizes(1, 0, of=i64)),
    _op(_Segments, [f32], None, _sizes(0, 1, 0), TAG),
    _op(_Segments, [i32, i32, f32, i1], None, _sizes(2, 1, 1), TAG),
    _op(_Segments, [i32, i32, f32, i1], None, _sizes(2, 1, 1), TAG | {"mark": i32, "more": f32}),
    _op(_Segments, [i32, i32, f32, i1], None, _sizes(2, 1, 1), TAG | {"mark": f32}),
    _op(_Segments, [i32, i32, f32, i1], None, _sizes(2, 1, 1), {"tag": f32}),
    _op(_Segments, [i32, i32, f32, i1], None, _sizes(2, 1, 1)),
    _op(_Segments, [i32, i32, f32, i1], None, _sizes(2, 2, 0), TAG),
    _op(_Segments, [i32, i32, f32, f32], None, _sizes(2, 2, 0), TAG),
    _op(_Segments, [i32, i32, i1], None, _sizes(2, 0, 1), TAG),
    _op(_Segments, [i32, f32, f32, i1], None, _sizes(2, 1, 1), TAG),
    _op(_Segments, [i32, i32, f32, i32], None, _sizes(2, 1, 1), TAG),
    _op(_Many, [i32, i1, i1]),
    _op(_Many, [i32, f32, i1, i1]),
    _op(_Same, [i32], [i32]),
    _op(_Same, [i32], [f32]),
]


def test_parts_of_an_operation():
    for count in (0, 1, 3):
        op = _op(_Many, [i32, *[f32] * count, i1])
        assert isinstance(op, _Many)
        first, *rest, last = op.operands
        assert (op.first, op.rest, op.last) == (first, tuple(rest), last)


def test_an_operation_that_is_built_without_its_definition():
    block = Block(arg_types=[i32, f32])
    number, x = block.args
    source = _op(_Same, [i32], [i32])
    op = _Direct(first=source, rest=[x, source, number], fourth=x, result=i1, others=[i32, f32], hint=None)
    result = source.results[0]
    assert tuple(op.operands) == (result, x, result, number, x)
    assert (op.first, op.rest, op.third, op.fourth) == (result, (x, result, number), None, x)
    assert {(use.operation, use.index) for use in x.uses} == {(op, 1), (op, 4)}
    assert op.properties == _sizes(1, 3, 0, 1) | {"kind": i32}
    assert (op.result.type, op.others.types) == (i1, (i32, f32))
    assert [(value.op, value.index) for value in op.results] == [(op, 0), (op, 1), (op, 2)]
    few = _Direct(first=number, third=x, result=f32, kind=i64, hint=i1)
    assert (few.first, few.rest, few.third, few.fourth, few.others) == (number, (), x, None, ())
    assert few.properties == _sizes(1, 0, 1, 0) | {"kind": i64, "hint": i1}
    assert (few.attributes, few.location, len(few.successors)) == ({}, UNKNOWN_LOC, 0)
    with pytest.raises(ValueError, match="SSAValue.get: expected operation with a single result"):
        _Direct(first=few, third=op, result=f32)


def _message(op: Operation, definition: OpDef) -> str | None:
    try:
        OpDef.verify(definition, op)
    except VerifyException as error:
        return str(error)
    return None


def test_operations_that_are_built_wrongly():
    fields = "first, rest=None, result, others=None, third=None, fourth=None, kind=None, hint=None"
    value = create_ssa_value(i32)
    for positional, named, found in (
        ([], {}, "0 by position"),
        ([value, None, i32], {"first": value}, "3 by position, first"),
        ([value, None, i32], {"nothing": 3}, "3 by position, nothing"),
    ):
        with pytest.raises(TypeError) as caught:
            _Direct(*positional, **named)
        assert str(caught.value) == f"test.direct: expected ({fields}), found {found}"
    with pytest.raises(TypeError, match="^expected a value or an operation, found list$"):
        _Direct(value, [[value]], i32)
    with pytest.raises(TypeError, match="^expected an attribute, found 3$"):
        _conversion(AnyAttr())(3)


@together("op", CASES)
def test_verifies_as_xdsl_does(op: IRDLOperation):
    definition = op.get_irdl_definition()
    expected = _message(op, definition)
    try:
        definition.verify(op)
    except VerifyException as error:
        assert str(error) == expected
    else:
        assert expected is None


@together("op", [op for op in CASES if _message(op, type(op).get_irdl_definition()) is None])
def test_what_is_right_is_verified_without_xdsl(op: IRDLOperation):
    with patch.object(OpDef, "verify", side_effect=AssertionError):
        op.get_irdl_definition().verify(op)


def test_the_first_trait_that_is_broken_has_the_first_name():
    """Traits are a set, whose order is not that of another process."""
    definition = ReturnOp.get_irdl_definition()
    module = ModuleOp([op := ReturnOp(), ReturnOp()])
    assert op.parent_op() is module
    for traits in permutations(definition.traits):
        with patch.object(definition, "traits", traits), pytest.raises(VerifyException, match="expects parent op"):
            vars(definition).pop("_checked_traits", None)
            definition.verify(op)
    vars(definition).pop("_checked_traits", None)
