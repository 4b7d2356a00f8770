"""`tirx-select-copies`: the engine of every copy, decided once and stored on it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.tirx import CopyOp, EngineAttr, kernels
from tirx.passes.plan.copies import match_engine


@dataclass(frozen=True)
class TirxSelectCopiesPass(ModulePass):
    """
    Stores on every copy between memories the engine that moves its elements: `tcgen05_cp` for scale factors of a
    product, `tcgen05_ld` and `tcgen05_st` for tensor memory, `ld_st` for all others.

    Later passes read the engine. One that is written stays where it can do the copy, and is an error elsewhere.
    """

    name = "tirx-select-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for copy in kernel.walk():
                if isinstance(copy, CopyOp) and (engine := match_engine(copy)) is not None:
                    copy.engine = EngineAttr(engine)
