"""What entries of kernels cannot have."""

from __future__ import annotations

import pytest

import tirx
from tirx.diagnostics import LocatedError


def test_arguments_take_no_more_bytes_than_an_entry_has() -> None:
    arguments = ", ".join(f"%a{i}: i64" for i in range(4096))
    text = f'tirx.kernel @k({arguments}) target("sm_80") threads(32) {{ tirx.return }}'
    with pytest.raises(LocatedError, match="expected at most 32764 bytes of arguments, found 32768"):
        tirx.compile(text)
