"""`convert-math-to-ptx`: functions of numbers become instructions, with the errors of `tirx.hw.approximations`."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.nesting import walk
from tirx.dialects.ptx.core import entries


class ConvertMathToPtxPass(ModulePass):
    """Replaces every `math` op inside a `ptx.entry` by instructions.

    f16 and bf16 go through f32, and are rounded once at the end; f64 has most of them. With `fastmath<afn>`
    functions are single instructions. `tirx.hw.approximations` has the errors. Raises LocatedError for anything else.
    """

    name = "convert-math-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            for inner in walk(entry):
                if inner.name.startswith("math."):
                    from tirx.passes.scalars.math_functions import lower_math  # imports what only such kernels need

                    lower_math(inner)
