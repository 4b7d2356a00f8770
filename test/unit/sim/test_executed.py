"""What all forms of each instruction do to registers, memories and barriers is what was recorded."""

from __future__ import annotations

import outputs
import pytest
from unit.sim.executed import EXECUTED, executions


@pytest.mark.parametrize("root", EXECUTED)
def test_executions(root: str):
    outputs.check(f"executing/{root}", executions(root))
