"""Gathers from tiles that were in registers just before."""

from __future__ import annotations

from tirx.dialects import tirx
from tirx.passes.ir.emitter import Emitter, erase, take_over
from tirx.passes.match.register_gathers import register_gather, stored_before


def gather_in_registers(op: tirx.LoadOp, threads: int) -> None:
    """Lets a load of elements that index tiles name take them from the registers that were stored just before.

    It does so where that is cheaper, and no other load reads what was stored. A shared tile without uses is no more.
    """
    if (store := stored_before(op)) is None:
        return
    view = tirx.indexed_view(op.source)
    assert view is not None, "stored_before looks for it"
    made = tirx.ViewOp.create(
        operands=[store.value, *view.where], properties=dict(view.properties), result_types=[op.result.type]
    )
    if register_gather(made, threads) is None:
        made.erase()
        return
    gathered = Emitter.before(op)(made).result
    take_over(op.result, gathered)
    memory = store.destination.owner
    assert isinstance(memory, tirx.AllocOp), "stored_before looks for it"
    erase(op)
    erase(store)
    for each in (view, memory):
        if not each.result.uses:
            erase(each)
