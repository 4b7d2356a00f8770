"""Operations that one thread of a kernel executes, in order, with the values that they are given."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, UnrealizedConversionCastOp, UnregisteredOp
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.tirx import AddressOp, KernelOp, LeaderOp, ReturnOp, RolesOp, YieldOp

Step: TypeAlias = "tuple[Any, ...]"
"""The name of an operation, behind its dialect, and the values of its operands."""

_INTEGERS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivUIOp: lambda a, b: a // b,
    arith.RemUIOp: lambda a, b: a % b,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << b,
    arith.ShRUIOp: lambda a, b: a >> b,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
}
_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    *(operator.eq, operator.ne),
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
)
"""By the number of the predicate; the integers of these tests have no sign."""


class Thread:
    """
    One thread of a lowered kernel, in block `rank` of its cluster.

    Integers are numbers, an address the number `address`, anything else the step that gives it, without its own
    operands where it is a view.
    """

    def __init__(self, kernel: KernelOp, thread: int = 0, arguments: Sequence[Any] = (), rank: int = 0):
        self.steps: list[Step] = []
        self.address = 0x1000
        self._special = {"tid.x": thread, "cluster_ctarank": rank}
        self._values: dict[SSAValue, Any] = dict(zip(kernel.body.block.args, arguments, strict=False))
        self._cells: dict[SSAValue, Any] = {}
        self._run(kernel.body.block)

    def named(self, *names: str) -> list[Step]:
        """The steps of some operations."""
        return [step for step in self.steps if step[0] in names]

    def _run(self, block: Block) -> list[Any]:
        """Executes a block, whose values nothing behind it sees. Returns the operands of its terminator."""
        given: list[Any] = []
        for op in block.ops:
            given = [self._values[operand] for operand in op.operands]
            if not isinstance(op, scf.YieldOp | YieldOp | ReturnOp):
                found = self._results(op, given)
                self._values.update(zip(op.results, found, strict=True))
        for op in block.ops:
            for result in op.results:
                del self._values[result]
        return given

    def _results(self, op: Operation, given: list[Any]) -> Iterable[Any]:
        match op:
            case scf.ForOp():
                low, high, step, *carried = given
                for index in range(low, high, step):
                    self._values.update(zip(op.body.block.args, (index, *carried), strict=True))
                    carried = self._run(op.body.block)
                return carried
            case scf.IfOp():
                region = op.true_region if given[0] else op.false_region
                return self._run(region.block) if region.blocks else ()
            case RolesOp():
                for role in op.roles:
                    threads = role.thread_set
                    if threads.first <= self._special["tid.x"] < threads.first + threads.count:
                        self._run(role.body.block)
                return ()
            case memref.AllocaOp():
                return (op.results[0],)
            case memref.LoadOp():
                return (self._cells[given[0]],)
            case memref.StoreOp():
                self._cells[given[1]] = given[0]
                return ()
            case _:
                return self._values_of(op, given)

    def _values_of(self, op: Operation, given: list[Any]) -> Iterable[Any]:
        match op:
            case arith.ConstantOp(value=IntegerAttr() as number):
                return (number.value.data,)
            case arith.CmpiOp():
                return (_COMPARISONS[op.predicate.value.data](*given),)
            case arith.SelectOp():
                return (given[1] if given[0] else given[2],)
            case arith.ExtUIOp() | arith.IndexCastOp():
                return (int(given[0]),)
            case UnrealizedConversionCastOp():
                return given
            case ReadSpecialOp():
                return (self._special[op.register.data],)
            case LeaderOp():
                return (self._special["tid.x"] % 32 == 0,)
            case AddressOp():
                return (self.address,)
            case _ if (function := _INTEGERS.get(type(op))) is not None:
                return (function(*given),)
            case _:
                name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
                step = (name.removeprefix("test."), *given)
                self.steps.append(step)
                return [step if len(op.results) == 1 else (*step, number) for number in range(len(op.results))]
