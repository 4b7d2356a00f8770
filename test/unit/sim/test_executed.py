"""Effects of all forms of each instruction on registers, memories and barriers are those that were recorded."""

from __future__ import annotations

import outputs
import pytest
from unit.sim.executed import EXECUTED, executions


@pytest.mark.parametrize("root", EXECUTED)
def test_executions(root: str):
    outputs.check(f"executing/{root}", executions(root))
