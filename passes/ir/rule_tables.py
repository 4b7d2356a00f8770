"""Tables of rules: how each kind of operation is lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from xdsl.ir import Operation

_ResultT = TypeVar("_ResultT")
_RuleT = TypeVar("_RuleT", bound=Callable[..., object])


class Rules(dict[type[Operation], Callable[..., _ResultT]], Generic[_ResultT]):
    """Operation -> its rule, which emits the replacement and returns what the table is of."""

    def of(self, *op_types: type[Operation]) -> Callable[[_RuleT], _RuleT]:
        """Decorates the rule for some operations."""

        def register(rule: _RuleT) -> _RuleT:
            self.update(dict.fromkeys(op_types, rule))  # pyright: ignore
            return rule

        return register
