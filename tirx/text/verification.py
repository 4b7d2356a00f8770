"""Verification that says where: the first operation that does not verify, at its own location."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import Diagnostic, LocatedError, nearest_location
from tirx.text.dominance import Dominance


class InvalidPassOutputError(Exception):
    """A pass turned valid IR into IR that does not verify: a bug in the pass, not in the user's input."""

    def __init__(self, pass_name: str, diagnostic: Diagnostic):
        super().__init__(f"pass '{pass_name}' produced IR that does not verify: {diagnostic}")
        self.pass_name = pass_name
        self.diagnostic = diagnostic


def _verify_structure(op: Operation) -> None:
    """Verifies `op` itself; the operations inside of it are somebody else's turn."""
    for region in op.regions:
        for block in region.blocks:
            if block.is_empty:
                block.verify()
    op.verify(verify_nested_ops=False)


def _definition(value: SSAValue) -> str:
    """` (defined at line:column)`, or nothing for a value whose definition has no location."""
    match value:
        case OpResult(op=Operation(location=location)) | BlockArgument(location=location):
            if isinstance(location, FileLineColLoc):
                return f" (defined at {location.line.data}:{location.column.data})"
        case _:
            pass
    return ""


def _verify_operands(op: Operation, dominance: Dominance) -> None:
    for index, operand in enumerate(op.operands):
        if dominance.is_defined_at(operand, op):
            continue
        name = f"operand #{index}" if operand.name_hint is None else f"%{operand.name_hint}"
        owner = operand.owner
        if isinstance(owner, Operation) and owner.parent is op.parent:
            problem = f"use of {name} before its definition"
        else:
            problem = f"use of {name}, whose definition does not dominate this use"
        raise LocatedError(nearest_location(op), problem + _definition(operand))


def verify_located(module: Operation) -> None:
    """
    Verifies every operation of `module`, innermost first, and that values are defined before they are used.

    Raises LocatedError at the first operation that does not verify.
    """
    dominance = Dominance()
    for op in module.walk(region_first=True):
        try:
            _verify_structure(op)
        except VerifyException as error:
            raise LocatedError(nearest_location(op), str(error)) from error
        _verify_operands(op, dominance)


def run_passes(
    ctx: Context,
    module: ModuleOp,
    passes: Iterable[ModulePass],
    after_each: Callable[[ModulePass, ModuleOp], None] = lambda _pass, _module: None,
) -> None:
    """
    Verifies `module`, then applies the passes to it in order and verifies it after each.

    Raises LocatedError when the module does not verify at first, InvalidPassOutputError when it does not verify after
    a pass, and whatever a pass raises: LocatedError or PassFailedException for input that it cannot handle.
    """
    verify_located(module)
    for module_pass in passes:
        module_pass.apply(ctx, module)
        try:
            verify_located(module)
        except LocatedError as error:
            raise InvalidPassOutputError(module_pass.name, error.diagnostic) from error
        after_each(module_pass, module)
