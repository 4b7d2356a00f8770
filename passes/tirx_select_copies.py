"""`tirx-select-copies`: the engine of every copy, decided once and stored on it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.tirx import CopyOp, EngineAttr, LoadOp, StoreOp, kernels
from tirx.passes.plan.copies import match_engine, match_transfer


@dataclass(frozen=True)
class TirxSelectCopiesPass(ModulePass):
    """
    Stores on every copy between memories the engine that moves its elements: `tcgen05_cp` for scale factors of a
    product, `tcgen05_ld` and `tcgen05_st` for tensor memory, `ld_st` for all others. Loads and stores of fragments in
    shared memory get `ldmatrix` and `stmatrix` where target and layouts have them.

    Later passes read the engine. One that is written stays where it can do the copy, and is an error elsewhere.
    """

    name = "tirx-select-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for move in kernel.walk():
                if isinstance(move, CopyOp):
                    engine = match_engine(move)
                elif isinstance(move, LoadOp | StoreOp):
                    engine = match_transfer(move)
                else:
                    continue
                if engine is not None:
                    move.engine = EngineAttr(engine)
