"""Evaluation of emitted operations for the lanes of a warp: values are arrays with an element for each lane."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.ptx.conversion import MovOp, PackOp, UnpackOp
from tirx.dialects.ptx.core import ConstantOp
from tirx.dialects.ptx.packed import CvtFromPairOp, CvtPairOp, PairOp
from tirx.dialects.ptx.warp import ReduxSyncOp, ShflSyncOp

Lanes = np.ndarray[Any, Any]

DTYPES = {
    "i1": np.uint8,
    "i8": np.uint8,
    "i16": np.uint16,
    "i32": np.uint32,
    "i64": np.uint64,
    "index": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
}
"""Types of numpy that keep the registers of a type."""

_Function = Callable[..., Any]


def _fma(a: Any, b: Any, c: Any) -> Any:
    """Of numbers whose product f32 holds."""
    return (a.astype(np.float32) * b + c).astype(a.dtype)


def _ceil_div(a: Any, b: Any) -> Any:
    return (a + b - 1) // b


_OF_NAMES: dict[str, _Function] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "sub": np.subtract,
    "fma": _fma,
    "neg": np.negative,
    "abs": np.abs,
    "max_nan": np.maximum,
    "min_nan": np.minimum,
}

_FUNCTIONS: dict[type[Operation], _Function] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.DivUIOp: np.floor_divide,
    arith.CeilDivUIOp: _ceil_div,
    arith.RemUIOp: np.remainder,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRUIOp: np.right_shift,
    arith.MaxUIOp: np.maximum,
    arith.MinUIOp: np.minimum,
    arith.AddfOp: np.add,
    arith.SubfOp: np.subtract,
    arith.MulfOp: np.multiply,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.NegfOp: np.negative,
    math.AbsFOp: np.abs,
    math.Exp2Op: np.exp2,
    math.FmaOp: _fma,
}
_SIGNED: dict[type[Operation], _Function] = {
    arith.ShRSIOp: np.right_shift,
    arith.FloorDivSIOp: np.floor_divide,
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
}
_PREDICATES: tuple[_Function, ...] = (
    *(np.equal, np.not_equal),
    *(np.less, np.less_equal, np.greater, np.greater_equal) * 2,
)
"""By the number of the predicate: those of integers with a sign, and then without."""


def dtype_of(type_: Attribute) -> type[Any]:
    return DTYPES[str(type_)]


def _signed(x: Lanes) -> Lanes:
    return x.view(f"i{x.dtype.itemsize}")


def _word(x: Lanes) -> Lanes:
    return x.view(f"u{x.dtype.itemsize}")


def evaluated(ops: Iterable[Operation], values: dict[SSAValue, Lanes]) -> None:
    """Adds the results of `ops`, in order, to `values`."""
    for op in ops:
        inputs = [values[operand] for operand in op.operands]
        for result, value in zip(op.results, _results(op, inputs), strict=True):
            values[result] = value.astype(dtype_of(result.type))


def _results(op: Operation, inputs: list[Lanes]) -> list[Lanes]:
    if (function := _FUNCTIONS.get(type(op))) is not None:
        return [function(*inputs)]
    if (function := _SIGNED.get(type(op))) is not None:
        return [_word(function(*map(_signed, inputs)))]
    match op:
        case arith.ConstantOp(value=constant) | ConstantOp(value=constant):
            assert isinstance(constant, IntegerAttr | FloatAttr)
            number = constant.value.data
            dtype = np.dtype(dtype_of(op.results[0].type))
            return [np.full(32, number % (1 << 8 * dtype.itemsize) if isinstance(number, int) else number, dtype)]
        case arith.CmpiOp():
            predicate = op.predicate.value.data
            return [_PREDICATES[predicate](*(map(_signed, inputs) if 2 <= predicate < 6 else inputs))]
        case arith.SelectOp():
            return [np.where(inputs[0] != 0, inputs[1], inputs[2])]
        case arith.ExtUIOp() | arith.TruncIOp() | arith.ExtFOp() | arith.IndexCastOp():
            return inputs
        case CvtFromPairOp():
            assert op.format.data.value == "e4m3x2"
            pairs = inputs[0].copy().view(ml_dtypes.float8_e4m3fn).reshape(32, 2)
            return [pairs.astype(np.float16).view(np.uint32)[:, 0]]
        case CvtPairOp():
            dtype = {"f16x2": np.float16, "bf16x2": ml_dtypes.bfloat16}[op.format.data.value]
            return [np.stack(inputs, 1).astype(dtype).view(np.uint32)[:, 0]]
        case arith.TruncFOp():
            return [inputs[0].astype(dtype_of(op.results[0].type))]
        case MovOp() | arith.BitcastOp():
            return [inputs[0].view(dtype_of(op.result.type))]
        case PackOp():
            return [np.stack([_word(each) for each in inputs], 1).copy().view(dtype_of(op.result.type))[:, 0]]
        case UnpackOp():
            halves = inputs[0].copy().view(dtype_of(op.low.type)).reshape(32, 2)
            return [halves[:, 0].copy(), halves[:, 1].copy()]
        case PairOp():
            dtype = {"f16x2": np.float16, "bf16x2": ml_dtypes.bfloat16}[op.format.data.value]
            pairs = [each.copy().view(dtype) for each in inputs]
            return [_OF_NAMES[op.operation.data.value](*pairs).view(np.uint32)]
        case ShflSyncOp():
            lanes, by = np.arange(32), inputs[1].astype(np.int64)
            read = {"bfly": lanes ^ by, "idx": by, "up": lanes - by, "down": lanes + by}[op.mode.data.value]
            return [inputs[0][np.where((read >= 0) & (read < 32), read, lanes)]]
        case ReduxSyncOp():
            words = inputs[0] if op.unsigned is not None or inputs[0].dtype.kind == "f" else _signed(inputs[0])
            function = _OF_NAMES[op.reduction.data.value]
            total = words[0]
            for each in words[1:]:
                total = function(total, each)
            return [np.full(32, total, words.dtype).view(inputs[0].dtype)]
        case _:
            raise AssertionError(f"nobody has said what '{op.name}' computes")
