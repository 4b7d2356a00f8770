"""Messages of verifiers about operations in which one thing is wrong, and facts that instructions of PTX state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import product
from pathlib import Path
from typing import NoReturn, cast
from unittest.mock import patch
from zlib import crc32

from unit.dialects.ptx.families import BRAIN, DOUBLE, FAMILIES, FLOAT, HALF, MASK, PREDICATE, WIDE, WORD
from unit.dialects.ptx.forms import Registers
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    UnitAttr,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.test import TestOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import ptx
from tirx.dialects.ptx.base import PTXInstruction, register_class
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.rules import InvalidOperation
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, OperandFamily
from tirx.tcgen05.tmem import COLUMN_BITS
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_DIALECTS = Path(__file__).parents[1] / "dialects"
_FILES = (
    *("tirx/ops", "tirx/bulk", "tirx/maps", "tirx/rings", "tirx/words", "tirx/slots", "tirx/decisions", "tirx/clauses"),
    *("tirx/layouts", "tirx/mma_instruction", "tcgen05/ops", "tcgen05/padded_descriptor", "tcgen05/cp_descriptor"),
    *("wgmma/ops", "ptx/ops", "ptx/ops_async", "ptx/ops_cp_async", "ptx/ops_functions", "ptx/ops_mma_m16n8"),
    *("ptx/ops_tcgen05", "ptx/ops_wgmma", "ptx/tcgen05_descriptors"),
)
_SHARE = 3
"""One change of so many is looked at, always the same ones."""


def broken_operations() -> str:
    """The messages of verifiers about each operation of the tests with one property, operand or type changed."""
    said: dict[str, str] = {}
    with patch.object(Operation, "emit_error", _raise):  # that of xDSL prints the whole module
        for name in _FILES:
            text = (_DIALECTS / f"{name}.mlir").read_text().partition("// -----")[0]
            for op in parse_located(new_context(), text, name).walk():
                if op.name.partition(".")[0] in ("tirx", "tcgen05", "wgmma", "ptx"):
                    for what, change, restore in changes(op):
                        key = f"{op.name} {what}"
                        if key not in said and crc32(key.encode()) % _SHARE == 0:
                            change()
                            said[key] = _message(op)
                            restore()
    return "\n".join(f"{what}: {message}" for what, message in said.items())


def _raise(op: Operation, message: str, underlying_error: Exception | None = None) -> NoReturn:
    raise VerifyException(message) from underlying_error


def is_right(op: Operation) -> bool:
    """Returns True if an operation verifies."""
    with patch.object(Operation, "emit_error", _raise):
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException:
            return False
    return True


def _message(op: Operation) -> str:
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException as error:
        # That it is not what its definition says is for xDSL to word.
        return str(error.__cause__) if isinstance(error.__cause__, InvalidOperation) else "refused"
    in_registers = all(register_class(value.type) for value in (*op.operands, *op.results))
    return _stated(op) if isinstance(op, PTXInstruction) and in_registers else "accepted"


def _stated(op: PTXInstruction) -> str:
    """The text of an instruction, what it needs, who executes it, and what it does to memory."""
    names = Registers()
    in_place = [(names(result), index) for result, index in op.in_place()]
    parts = [op.emit(names), ", ".join(op.features()), op.issue.name, str(in_place), _text(op.effects(), names)]
    return re.sub(r"\$(\w+?)\d+", r"$\1", "; ".join(parts)).replace("\n", " | ")


def _text(value: object, names: Registers) -> str:
    match value:
        case SSAValue():
            return names(value)
        case Enum():
            return value.name
        case tuple():
            return f"({', '.join(_text(each, names) for each in cast('tuple[object, ...]', value))})"
        case OperandFamily():
            return "wgmma" if value is WGMMA_OPERANDS else "tcgen05"
        case None | int() | str():
            return str(value)
        case _:
            assert is_dataclass(value)
            parts = [f"{each.name}={_text(getattr(value, each.name), names)}" for each in fields(value)]
            return f"{type(value).__name__}({', '.join(parts)})"


def _basic_forms() -> Iterator[PTXInstruction]:
    """Arithmetic, conversions and constants."""
    values = (PREDICATE, MASK, WORD, WIDE, HALF, BRAIN, FLOAT, DOUBLE)
    plain = (ptx.AddOp, ptx.SubOp, ptx.MulOp, ptx.MulLoOp, ptx.AndOp, ptx.OrOp, ptx.XorOp)
    signed = (ptx.DivOp, ptx.RemOp, ptx.MinOp, ptx.MaxOp, ptx.MulWideOp)
    for a in values:
        yield from (kind(a, a) for kind in plain)
        yield from (kind(a) for kind in (ptx.NotOp, ptx.NegOp))
        for kind, unsigned in product(signed, (False, True)):
            yield kind(a, a, unsigned=unsigned)
        for kind in (ptx.MinOp, ptx.MaxOp):
            yield kind(a, a, nan=True)
        yield ptx.ShlOp(a, WORD)
        yield ptx.PackOp(a, a)
        for comparison, unsigned in (("geu", False), ("ne", True), ("ltu", True)):
            yield ptx.SetpOp(comparison, a, a, unsigned=unsigned)
        for kind in (ptx.FmaOp, ptx.MadLoOp):
            yield kind(a, a, a)
        yield ptx.SelpOp(PREDICATE, a, a)
        for unsigned in (False, True):
            yield ptx.ShrOp(a, WORD, unsigned=unsigned)
        for b, unsigned in product(values, (False, True)):
            yield ptx.CvtOp(a, b.type, unsigned=unsigned)
        for b in values:
            yield ptx.MovOp(a, b.type)
            yield ptx.UnpackOp(a, b.type)
        for number, space in product((1, 2, 3, 4), ("global", "shared")):
            where = WIDE if space == "global" else WORD
            yield ptx.LdOp(space, where, [a.type] * number, 8 * number)
            yield ptx.StOp(space, where, [a] * number, 8 * number)
    for type_, number in product((i1, i16, i32, i64), (0, 1, -1, 65535, 65536, -65535, -65536, 2**31, 2**40 + 3)):
        yield ptx.AddOp(constant := ptx.ConstantOp(IntegerAttr(number % (1 << type_.width.data), type_)), constant)
    for type_, number in product((f16, bf16, f32, f64), (0.0, -1.5, 1.00390625, 1.01171875, 3e-5, float("nan"))):
        yield ptx.SelpOp(PREDICATE, constant := ptx.ConstantOp(FloatAttr(number, type_)), constant)


def instructions() -> str:
    """Facts that instructions state, or why they are refused: legal and illegal ones, some of each family."""
    lines: list[str] = []
    with patch.object(Operation, "emit_error", _raise):
        for family in FAMILIES:
            forms = list(family())
            lines += [f"{form.name}: {_message(form)}" for form in forms[:: 1 + len(forms) // 67]]
        lines += [f"{form.name}: {_message(form)}" for form in _basic_forms()]
    return "\n".join(lines)


_Change = tuple[str, Callable[[], None], Callable[[], None]]
"""Name of a change, and functions that make it and take it back."""


def changes(op: Operation) -> Iterator[_Change]:
    yield "as it is", lambda: None, lambda: None
    for name, value in list(op.properties.items()):
        for other in _others(value):
            yield (
                f"{name} = {'none' if other is None else other}",
                lambda name=name, other=other: _set(op, name, other),
                lambda name=name, value=value: _set(op, name, value),
            )
    for index, operand in enumerate(op.operands):
        for type_ in _other_types(operand.type):
            yield (
                f"operand {index} of {type_}",
                lambda index=index, type_=type_: op.operands.__setitem__(
                    index, TestOp(result_types=[type_]).results[0]
                ),
                lambda index=index, operand=operand: op.operands.__setitem__(index, operand),
            )
    if op.operands:
        operands = tuple(op.operands)
        yield "without its last operand", lambda: _operands(op, operands[:-1]), lambda: _operands(op, operands)
    for index, result in enumerate(op.results):
        for type_ in _other_types(result.type):
            yield (
                f"result {index} of {type_}",
                lambda result=result, type_=type_: setattr(result, "_type", type_),
                lambda result=result, type_=result.type: setattr(result, "_type", type_),
            )


def _set(op: Operation, name: str, value: Attribute | None) -> None:
    if value is None:
        del op.properties[name]
    else:
        op.properties[name] = value


def _operands(op: Operation, operands: tuple[SSAValue, ...]) -> None:
    op.operands = operands


def _others(value: Attribute) -> Iterator[Attribute | None]:
    match value:
        case IntegerAttr(value=IntAttr(data=number), type=type_) if type_ != i1:
            for other in dict.fromkeys((number + 1, number - 1, 2 * number, 0, -1)):
                if other != number:
                    yield IntegerAttr(other, type_)
        case EnumAttribute(data=chosen):
            for member in list(type(chosen))[:4]:
                if member is not chosen:
                    yield type(value)(member)
        case StringAttr():
            yield StringAttr("other")
            yield None
        case UnitAttr():
            yield None
        case ArrayAttr(data=data) if data:
            yield ArrayAttr(data[:-1])
            yield ArrayAttr((*data, data[-1]))
        case DenseArrayBase():
            pass  # sizes of segments: those of all others are wrong then
        case _:
            yield None


def _other_types(type_: Attribute) -> Iterator[Attribute]:
    if not isinstance(type_, TileType):
        yield i32 if type_ == i64 else i64
        return
    yield i32
    dims, element, memory, layout = type_.dims, type_.element_type, type_.memory, type_.layout
    for shape in ((dims[0] // 2, *dims[1:]), (*dims[:-1], 2 * dims[-1]), dims[::-1], dims[1:], (*dims, 3)):
        if shape != dims and shape and min(shape) > 0:
            yield TileType.get(shape, element, memory)
    for other in (f16, f32, i8, i32):
        if other != element:
            yield TileType.get(dims, other, memory)
            if layout is not None and type_.dtype.storage_bits == TileType.get(dims, other, memory).dtype.storage_bits:
                yield TileType.get(dims, other, memory, layout)
    for space in MemorySpace:
        if space is not memory and (space is not MemorySpace.TENSOR or type_.dtype.storage_bits <= COLUMN_BITS):
            yield TileType.get(dims, element, space)
    if layout is not None:
        yield TileType.get(dims, element, memory)
