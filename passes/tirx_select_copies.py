"""`tirx-select-copies`: the engine of every copy, decided once and stored on it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.diagnostics import remark
from tirx.dialects.tirx import AsyncCopyOp, CopyOp, Engine, EngineAttr, LoadOp, StoreOp, kernels
from tirx.passes.plan.bulk_copies import async_engine
from tirx.passes.plan.copies import check_written, match_engine, match_transfer


def _explain(copy: AsyncCopyOp) -> None:
    """Says why a copy by threads is not one by the tensor memory accelerator, or that it could be."""
    if copy.engine.data is not Engine.CP_ASYNC:
        return
    choice = async_engine(copy)
    remark(copy, choice.reason if choice.engine is Engine.CP_ASYNC else f"{choice.engine} could do this copy")


@dataclass(frozen=True)
class TirxSelectCopiesPass(ModulePass):
    """
    Stores on every copy between memories the engine that moves its elements: `tcgen05_cp` for scale factors of a
    product, `tcgen05_ld` and `tcgen05_st` for tensor memory, `ld_st` for all others. Loads and stores of fragments in
    shared memory get `ldmatrix` and `stmatrix` where target and layouts have them.

    Later passes read the engine. One that is written stays where it can do the copy, and is an error elsewhere: `tma`,
    `cp_async` and `tma_store` between global and shared memory need a target and layouts that allow them. A remark says
    why an asynchronous copy does not have the fastest engine of its target.
    """

    name = "tirx-select-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for move in kernel.walk():
                if isinstance(move, CopyOp):
                    engine = match_engine(move)
                elif isinstance(move, LoadOp | StoreOp):
                    engine = match_transfer(move)
                elif isinstance(move, AsyncCopyOp):
                    check_written(move, move.engine.data)
                    _explain(move)
                    continue
                else:
                    continue
                if engine is not None:
                    move.engine = EngineAttr(engine)
