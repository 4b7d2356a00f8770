"""Traits of operations that several dialects share."""

from __future__ import annotations

from xdsl.traits import OpTrait


class UsableBeforeDefinition(OpTrait):
    """
    Results may be used by operations that stand before this one in the same block, as in a graph region of MLIR.

    Whoever owns the block verifies the order that it gives such values (`tirx.for` does for `tirx.at`).
    """
