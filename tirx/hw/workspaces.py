"""The memory that a launch provides beside the arguments of its caller: what compiler and runtime agree on."""

from __future__ import annotations

ZEROS = 4096
"""Bytes at the start of a workspace that are zeros before and behind every launch; the others may be anything."""
