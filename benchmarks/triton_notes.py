"""Notes of kernels in Triton, which are counted and compiled beside those here."""

# pyright: basic

from __future__ import annotations

from typing import Any

try:
    import triton
    import triton.language as tl
except ImportError:  # lines are counted without it
    triton = tl = None

SIGNATURES: dict[str, tuple[Any, str, dict[str, int]]] = {}
"""Kernel -> its function, the types of its arguments, and its constants."""


def kernel(signature: str = "", **constants: int) -> Any:
    """Notes a kernel or, without a signature, a function, as Triton's."""

    def note(function: Any) -> Any:
        made = function if triton is None else triton.jit(function)
        if signature:
            SIGNATURES[function.__name__] = made, signature, constants
        return made

    return note
