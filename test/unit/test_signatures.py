"""The default values of all parameters and fields are the recorded ones."""

from __future__ import annotations

import outputs
from unit.printed_signatures import signatures


def test_default_values() -> None:
    outputs.check("said/signatures", signatures())
