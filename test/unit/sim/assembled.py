"""PTX of tests: what the simulator runs, `ptxas` has assembled."""

from __future__ import annotations

from functools import lru_cache

from tirx.ptx.ptxas import assemble, find_ptxas


@lru_cache(maxsize=256)
def assembled(text: str) -> str:
    """`text`, after ptxas has accepted it for its own target (if there is a ptxas)."""
    target = next(line.split()[1].rstrip(",") for line in text.splitlines() if line.startswith(".target"))
    if find_ptxas() is not None:
        result = assemble(text, target, warnings_as_errors=False)
        assert result.ok, result.stderr
    return text
