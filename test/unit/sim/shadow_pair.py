"""A shadow of memory and its definition, which hear of the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.sim import SimError
from tirx.sim.hazards.clocks import Clocks


class Refused(Exception):
    """The definition refuses an access, with this message."""


class ShadowPair:
    """`shadow` tells its notes to `note`, `model` keeps its own in `notes`; `outcomes`: (access, refused)."""

    shadow: Any
    model: Any

    def __init__(self, seed: int, threads: int):
        self.rng = np.random.default_rng(seed)
        self.clocks = Clocks(threads)
        self.notes: list[tuple[str, str]] = []
        self.outcomes: set[tuple[str, bool]] = set()

    def note(self, rule: str, message: str) -> None:
        self.notes.append((rule, message))

    def tell(self, name: str, told: tuple[Any, ...], model: tuple[Any, ...]) -> bool:
        """Both must say the same to an access. Returns True if it is not refused."""
        expected = found = ""
        try:
            getattr(self.model, name)(*model)
        except Refused as error:
            expected = str(error)
        try:
            getattr(self.shadow, name)(*told)
        except SimError as error:
            found = error.message
        assert found == expected, (name, told)
        assert self.notes == self.model.notes
        self.outcomes.add((name, bool(found)))
        return not found
