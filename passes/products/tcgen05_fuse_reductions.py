"""`tcgen05-fuse-reductions`: loads from tensor memory that find the largest element of each row, too."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import tcgen05, tirx
from tirx.dialects.tcgen05.attributes import Reduction
from tirx.hw.features import supports
from tirx.passes.ir.emitter import erase

_REDUCTIONS = {"max": Reduction.MAX, "min": Reduction.MIN}
_SHAPES = ("32x32b", "16x32bx2")
"""Shapes of `tcgen05.ld.red` (PTX ISA, "tcgen05.ld")."""


class Tcgen05FuseReductionsPass(ModulePass):
    """Makes `tcgen05.ld.red` of a `tcgen05.ld` whose threads reduce what they got by `max` or `min` of f32 (sm_103a,
    sm_107a, sm_110a and their families): the largest score of a row comes with the scores.

    Scores that some branch changes first, as a mask does, are reduced there, and those of the other branch with their
    load. NaN counts for neither, as in `tirx.reduce`. A reduction across threads stays as it is.
    """

    name = "tcgen05-fuse-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            if (target := kernel.target_info) is None or not supports(target, "tcgen05.ld.red"):
                continue
            for reduction in [each for each in kernel.walk() if isinstance(each, tirx.ReduceOp)]:
                _fuse(reduction)


def _fuse(op: tirx.ReduceOp) -> None:
    name = None if op.combination is None else op.combination.data.value
    if (
        len(op.ins) != 1
        or name not in _REDUCTIONS
        or not isinstance(tirx.TileType.of(op.ins[0]).element_type, Float32Type)
    ):
        return
    source = op.ins[0].owner
    if isinstance(source, tcgen05.LdOp):
        if (found := _reducing(source, op, name)) is not None:
            op.res[0].replace_all_uses_with(found)
            erase(op)
    elif isinstance(source, scf.IfOp) and source.false_region.blocks:
        _fuse_branch(source, op, name)


def _fuse_branch(branches: scf.IfOp, op: tirx.ReduceOp, name: str) -> None:
    """Reduces in each branch the tile that it yields, where one of them yields what has been loaded."""
    index = branches.results.index(op.ins[0])
    yields = [region.block.last_op for region in (branches.true_region, branches.false_region)]
    given = [each.operands[index] for each in yields if isinstance(each, scf.YieldOp)]
    loads = [each.owner if isinstance(each.owner, tcgen05.LdOp) else None for each in given]
    load = next((each for each in loads if each is not None), None)
    if len(given) != 2 or None not in loads or load is None or (found := _reducing(load, op, name)) is None:
        return
    for last, loaded in zip(yields, loads, strict=True):
        assert isinstance(last, scf.YieldOp) and op.combination is not None
        if loaded is None:
            own = tirx.ReduceOp([last.operands[index]], op.along, op.combination.data, op.res.types)
            Rewriter.insert_op(own, InsertPoint.before(last))
            last.operands = [*last.operands, own.res[0]]
        else:
            last.operands = [*last.operands, found]
    regions = [branches.detach_region(region) for region in (branches.true_region, branches.false_region)]
    both = scf.IfOp(branches.cond, [*branches.result_types, op.res[0].type], regions[0], regions[1])
    Rewriter.insert_op(both, InsertPoint.before(branches))
    op.res[0].replace_all_uses_with(both.results[-1])
    erase(op)
    for old, new in zip(branches.results, both.results, strict=False):
        old.replace_all_uses_with(new)
    erase(branches)


def _reducing(load: tcgen05.LdOp, op: tirx.ReduceOp, name: str) -> SSAValue | None:
    """The reduced tile of the load, which then is one that reduces; None where each thread has not just its rows."""
    if isinstance(load.taddr.type, tirx.TileType) and load.shape.data in _SHAPES and not load.packs:
        both = tcgen05.LdRedOp(load.shape.data, load.taddr, _REDUCTIONS[name], op.res[0].type, load.res.types)
        try:
            both.verify_tiles()
        except VerifyException:
            both.drop_all_references()
            return None
        Rewriter.insert_op(both, InsertPoint.before(load))
        load.res[0].replace_all_uses_with(both.res[0])
        erase(load)
        return both.reduced
    return None
