"""Rules of `scf`: loops and branches."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.interpreter import (
    Interpreter,
    PythonValues,
    ReturnedValues,
    TerminatorValue,
    impl_terminator,
    register_impls,
)

from tirx.interp.errors import RunError
from tirx.interp.state import Functions
from tirx.interp.tiles import RULED, rule

RULED.update((scf.YieldOp, scf.ConditionOp))


@register_impls
class ControlFunctions(Functions):
    """Control flow. xDSL has these rules, too, in a package that takes 0.3 s to import."""

    @rule(scf.ForOp)
    def for_(self, interpreter: Interpreter, op: scf.ForOp, args: PythonValues) -> PythonValues:
        low, high, step, *carried = args
        if step <= 0:
            raise RunError(op, "undefined", f"expected a step of 1 or more, found {step}")
        for i in range(low, high, step):
            carried = interpreter.run_ssacfg_region(op.body, (i, *carried))
        return tuple(carried)

    @rule(scf.IfOp)
    def if_(self, interpreter: Interpreter, op: scf.IfOp, args: PythonValues) -> PythonValues:
        return interpreter.run_ssacfg_region(op.true_region if args[0] else op.false_region, ())

    @rule(scf.WhileOp)
    def while_(self, interpreter: Interpreter, op: scf.WhileOp, args: PythonValues) -> PythonValues:
        while True:
            condition, *values = interpreter.run_ssacfg_region(op.before_region, args)
            if not condition:
                return tuple(values)
            args = interpreter.run_ssacfg_region(op.after_region, tuple(values))

    @impl_terminator(scf.YieldOp)
    def yield_(
        self, interpreter: Interpreter, op: scf.YieldOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()

    @impl_terminator(scf.ConditionOp)
    def condition(
        self, interpreter: Interpreter, op: scf.ConditionOp, args: PythonValues
    ) -> tuple[TerminatorValue, PythonValues]:
        return ReturnedValues(args), ()
