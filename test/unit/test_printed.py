"""What parts of tirx say at length is what was recorded."""

from __future__ import annotations

import outputs
import pytest
from unit.printed import PRINTED


@pytest.mark.parametrize("name", PRINTED)
def test_printed(name: str) -> None:
    outputs.check(name, PRINTED[name]())
