"""`tirx-keep-lines`: lets PTX say the lines of the source."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from tirx.dialects.ptx.core import LINES, entries


class TirxKeepLinesPass(ModulePass):
    """Marks every entry with `ptx.lines`: its PTX says by `.loc` which line of MLIR or Python each instruction is from,
    for `ncu` and `cuda-gdb`. The last pass of `--lower-to-ptx=lines=on`.
    """

    name = "tirx-keep-lines"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for entry in entries(op):
            entry.attributes[LINES] = UnitAttr()
