"""Memory that a launch provides beside the arguments of its caller."""

from __future__ import annotations

WORKSPACES = "tirx.workspaces"
"""The attribute of a kernel whose last arguments lie in the workspace of the launch, so many bytes behind its start."""

ZEROS = 4096
"""Bytes at the start of a workspace that are zeros before and behind every launch; the others may be anything."""

FLAGS, SCRATCH = 1024, ZEROS
"""Where flags of blocks lie, behind the counter of blocks in order, and what blocks hand on."""

LARGEST_FLAG = (ZEROS - FLAGS) // 4
"""Flags of 32 bits that have room."""
