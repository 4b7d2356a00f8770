"""Rules of `scf`: loops and branches. xDSL has them, too, in a package that takes 0.3 s to import."""

from __future__ import annotations

from xdsl.dialects import affine, scf
from xdsl.interpreter import Interpreter, PythonValues

from tirx.interp.errors import RunError
from tirx.interp.numbers import Value, data_of, select
from tirx.interp.state import definite
from tirx.interp.tiles import rules
from tirx.layout.arrays import np


def _for(interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
    low, high, step = (definite(op, each) for each in args[:3])
    carried = args[3:]
    if step <= 0:
        raise RunError(op, "undefined", f"expected a step of 1 or more, found {step}")
    for i in range(low, high, step):
        carried = interpreter.run_ssacfg_region(op.body, (i, *carried))
    return tuple(carried)


def _if(interpreter: Interpreter, op: scf.IfOp, args: PythonValues) -> PythonValues:
    condition: Value = args[0]
    if np.ndim(data_of(condition)):  # one for each element of a map
        ways = (interpreter.run_ssacfg_region(region, ()) for region in op.regions)
        return tuple(select(condition, *values) for values in zip(*ways, strict=True))
    return interpreter.run_ssacfg_region(op.true_region if definite(op, condition) else op.false_region, ())


def _apply(op: affine.ApplyOp, args: PythonValues) -> PythonValues:
    count = op.map.data.num_dims
    return (op.map.data.results[0].eval(args[:count], args[count:]),)


def _while(interpreter: Interpreter, op: scf.WhileOp, args: PythonValues) -> PythonValues:
    while True:
        condition, *values = interpreter.run_ssacfg_region(op.before_region, args)
        if not definite(op, condition):
            return tuple(values)
        args = interpreter.run_ssacfg_region(op.after_region, tuple(values))


CONTROL = rules(
    {affine.ApplyOp: lambda run, op, args: _apply(op, args)},
    carrying={scf.ForOp: _for, scf.IfOp: _if, scf.WhileOp: _while},
    terminators=(scf.YieldOp, scf.ConditionOp),
)
"""Implementations for an interpreter."""
