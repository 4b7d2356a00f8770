"""Operations that may be computed anywhere, any number of times, or not at all."""

from __future__ import annotations

from tirx.dialects.traits import is_pure, is_terminator

__all__ = ["is_pure", "is_terminator"]
