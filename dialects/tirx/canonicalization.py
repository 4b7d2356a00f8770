"""Canonical forms of views: one view of a tile instead of a view of a view."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tirx.dialects.tirx.parts import ReshapeOp, SubviewOp


class MergeReshapes(RewritePattern):
    """A reshape of a reshape is a reshape, and one to the same shape is nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        if op.source.type == op.result.type:
            rewriter.replace(op, [], [op.source])
        elif isinstance(inner := op.source.owner, ReshapeOp):
            rewriter.replace(op, ReshapeOp(inner.source, op.result.type.dims))


class MergeSubviews(RewritePattern):
    """A part of a part is a part, and all of a tile is the tile."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SubviewOp, rewriter: PatternRewriter) -> None:
        if op.source.type == op.result.type:
            rewriter.replace(op, [], [op.source])
        elif isinstance(inner := op.source.owner, SubviewOp):
            start = [a + b for a, b in zip(inner.start, op.start, strict=True)]
            rewriter.replace(op, SubviewOp(inner.source, start, op.result.type))
