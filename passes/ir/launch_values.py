"""Numbers that a launch computes: formulas of sizes, folded where they are constants, and their values in a kernel."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import LaunchValueOp
from tirx.passes.ir.emitter import Emitter


def product_of(a: Formula, b: Formula) -> Formula:
    """The formula of a product."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    return b if a == 1 else a if b == 1 else Call("mul", (a, b))


def sum_of(a: Formula, b: Formula) -> Formula:
    """The formula of a sum."""
    return a + b if isinstance(a, int) and isinstance(b, int) else Call("add", (a, b))


def ceildiv(size: Formula, extent: int) -> Formula:
    """The formula of a quotient that is rounded up."""
    return -(-size // extent) if isinstance(size, int) else size if extent == 1 else Call("ceildiv", (size, extent))


def quotient_of(a: Formula, b: Formula) -> Formula:
    """The formula of a quotient that is rounded down: floor(a / b) is ceil((a + 1) / b) - 1."""
    return sum_of(Call("ceildiv", (sum_of(a, 1), b)), -1)


def launched(emit: Emitter, formula: Formula) -> SSAValue:
    """Emits the value of a formula, a constant where it is one."""
    if isinstance(formula, int):
        return emit.constant(formula, IndexType())
    return emit(LaunchValueOp(formula)).result
