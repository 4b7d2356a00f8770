"""Functions that rewritten code calls in place of the control flow of Python; see `tirx.builder.rewrite`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith

from tirx.builder.branches import if_, if_expression, plain_test
from tirx.builder.carried import Unbound
from tirx.builder.loops import for_, plain, while_
from tirx.builder.memory import Memory
from tirx.builder.scalars import Scalar
from tirx.builder.tiles import Tile
from tirx.builder.trace import name_value
from tirx.builder.truths import and_, assert_, call, compared, not_, or_

__all__ = [
    "and_", "assert_", "call", "compared", "for_", "if_", "if_expression", "kept", "named", "not_", "or_", "pack",
    "plain", "plain_test", "while_",
]  # fmt: skip


def pack(names: tuple[str, ...], values: dict[str, Any]) -> tuple[Any, ...]:
    """The values of the names of a body, which it returns."""
    return tuple(values.get(name, Unbound(name, "this")) for name in names)


def kept(value: Any) -> Any:
    """The value of a second name: that of a sum of products is a tile as it is now, which the first goes on from."""
    return value.load() if isinstance(value, Memory) and value.is_value else value


def named(value: Any, names: Any) -> Any:
    """A value that Python gives a name, or a tuple of names: the IR has them, too."""
    if isinstance(names, tuple):
        parts = [*cast("Sequence[Any]", value)] if isinstance(value, tuple | list) else []
        for each, name in zip(parts, cast("tuple[Any, ...]", names), strict=False):
            named(each, name)
    elif isinstance(value, Tile):
        value.named(names)
    elif isinstance(value, Scalar) and not isinstance(value.value.owner, arith.ConstantOp):
        name_value(value.value, names)
    return cast(Any, value)
