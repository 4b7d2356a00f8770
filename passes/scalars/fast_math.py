"""The freedom that operations of `arith` and `math` give beyond their exact meaning."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation


def may_approximate(op: Operation) -> bool:
    """Returns True if an operation has `fastmath<afn>`: one instruction may stand for a function."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
