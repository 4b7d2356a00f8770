"""Attributes that launches are made of, in a form that they cannot have, are errors of the operation."""

from __future__ import annotations

import pytest
from unit.cases import together

import tirx
from tirx.diagnostics import LocatedError

_CASES = [
    ("tirx.requires = 1", "expected tirx.requires as a list of [value, test, bound, message], found 1 : i64"),
    ("tirx.requires = [1]", "expected [value, test, bound, message] in tirx.requires, found 1 : i64"),
    ("tirx.schedule = 1", "expected names of roles and rings, found ones with a fault"),
    ("tirx.schedule = 1.0", "expected names and numbers of a schedule, found 1.000000e+00 : f64"),
]


@together(("attribute", "message"), _CASES)
def test_stored_attributes(attribute: str, message: str):
    text = f'tirx.kernel @k() target("sm_90a") grid(1) threads(32) attributes {{{attribute}}} {{ tirx.return }}'
    with pytest.raises(LocatedError) as found:
        tirx.build(text)
    assert found.value.diagnostic.message.startswith(message)
    assert found.value.diagnostic.position is not None
