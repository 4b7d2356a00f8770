"""PTX written by hand inside of a kernel."""

from __future__ import annotations

import abc
import re
from collections.abc import Iterator
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.irdl import opt_prop_def, prop_def, var_operand_def, var_result_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, PTXInstruction, PureInstruction, Register, ThreadOp
from tirx.dialects.ptx.effects import NO_EFFECTS
from tirx.hw.features import FEATURES
from tirx.rules import InstructionFormError

_PLACEHOLDER = re.compile(r"\$(\d*)")


class _Inline(PTXInstruction, abc.ABC):
    """Statements in which `$0`, `$1`, ... are the registers of the results and then of the inputs.

    `needs` names rows of `tirx.hw.features.FEATURES`, by which a target that lacks them is refused and the PTX version
    follows. The text is checked by `ptxas` only; registers of its own stand in a block, `{ .reg .b32 t; ... }`.
    """

    text = prop_def(StringAttr)
    inputs = var_operand_def(Register)
    needs = opt_prop_def(ArrayAttr[StringAttr])
    outputs = var_result_def(Register)

    assembly_format = "$text `(` $inputs `)` (`needs` $needs^)? attr-dict `:` functional-type($inputs, $outputs)"

    def verify_(self) -> None:
        text, count = self.text.data, len(self.results) + len(self.operands)
        named = {found[1] for found in _PLACEHOLDER.finditer(text)}
        if wrong := [name for name in named if not name or int(name) >= count]:
            raise InstructionFormError(f"expected $0 to ${count - 1} in the text, found ${min(wrong)}")
        if missing := [i for i in range(count) if str(i) not in named]:
            raise InstructionFormError(f"expected every result and input in the text, found no ${missing[0]}")
        if "//" in text or "/*" in text or not text.strip(" \n;"):
            raise InstructionFormError("expected statements without comments")
        if "\0" in text:
            raise InstructionFormError("expected statements without the null character, which PTX does not have")
        for name in self.features():
            if name not in FEATURES:
                raise InstructionFormError(f"expected rows of the features of targets behind 'needs', found '{name}'")

    def features(self) -> tuple[str, ...]:
        return () if self.needs is None else tuple(each.data for each in self.needs)

    def emit(self, reg: Names) -> str:
        registers = [reg(value) for value in (*self.results, *self.operands)]
        statements = _statements(self.text.data)
        return "\n".join(_PLACEHOLDER.sub(lambda found: registers[int(found[1])], each) for each in statements)


def _statements(text: str) -> Iterator[str]:
    """The statements without their semicolons; braces of blocks are lines of their own."""
    for part in re.split(r"[;\n]", text):
        statement = part.strip()
        while statement.startswith(("{", "}")):
            yield statement[0]
            statement = statement[1:].lstrip()
        if statement:
            yield statement


@irdl_op_definition
class InlineOp(_Inline, PureInstruction):
    """
    `%y = ptx.inline "lg2.approx.f32 $0, $1;" (%x) : (f32) -> f32`: PTX written by hand, whose results depend on nothing
    but its inputs. It may stand in the body of a `tirx.map`, may be computed anywhere, and is gone without a use.
    """

    name = "ptx.inline"


@irdl_op_definition
class InlineVolatileOp(_Inline, ThreadOp):
    """
    `ptx.inline_volatile "prefetch.global.L2 [$0];" (%p) : (i64) -> ()`: PTX written by hand that may do anything, each
    time that control comes by, in order. What it does to memory is known to the simulator, and not to other checks.
    """

    name = "ptx.inline_volatile"
    EFFECTS: ClassVar = NO_EFFECTS


__all__ = ["InlineOp", "InlineVolatileOp"]
