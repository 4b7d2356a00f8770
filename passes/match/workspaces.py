"""Memory that a launch provides beside the arguments of its caller."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr

from tirx.dialects.tirx import KernelOp
from tirx.hw.workspaces import ZEROS

WORKSPACES = "tirx.workspaces"
"""The attribute of a kernel whose last arguments lie in the workspace of the launch, so many bytes behind its start."""

FLAGS, SCRATCH = 1024, ZEROS
"""Where flags of blocks lie, behind the counter of blocks in order, and what blocks hand on."""

LARGEST_FLAG = (ZEROS - FLAGS) // 4
"""Flags of 32 bits that have room."""


def workspace_places(kernel: KernelOp) -> Sequence[int]:
    """Offsets of the last arguments of a kernel in the workspace of a launch, in bytes; empty for most kernels."""
    match kernel.attributes.get(WORKSPACES):
        case ArrayAttr(data=places):
            return [place.value.data for place in places if isinstance(place, IntegerAttr)]
        case _:
            return ()
