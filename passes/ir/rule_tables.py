"""Tables of rules: how each kind of operation is lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.ir import Operation, SSAValue

from tirx.passes.ir.emitter import Emitter

_OpT = TypeVar("_OpT", bound=Operation)


class Rules(dict[type[Operation], Callable[[Any, Emitter], Sequence[SSAValue]]]):
    """Operation -> its rule, which emits the replacement and returns the new results."""

    def of(self, op_type: type[_OpT]) -> Callable[[Callable[[_OpT, Emitter], Sequence[SSAValue]]], None]:
        """Decorates the rule for one operation."""

        def register(rule: Callable[[_OpT, Emitter], Sequence[SSAValue]]) -> None:
            self[op_type] = rule

        return register
