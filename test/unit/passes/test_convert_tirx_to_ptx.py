"""What entries of kernels cannot have."""

from __future__ import annotations

import pytest

import tirx
from tirx.diagnostics import LocatedError
from tirx.ptx.ptxas import assemble


def test_arguments_take_no_more_bytes_than_an_entry_has() -> None:
    arguments = ", ".join(f"%a{i}: i64" for i in range(4096))
    text = f'tirx.kernel @k({arguments}) target("sm_80") threads(32) {{ tirx.return }}'
    with pytest.raises(LocatedError, match="expected at most 32764 bytes of parameters, found 32768"):
        tirx.compile(text)


@pytest.mark.parametrize(("count", "version"), [(544, "7.0"), (545, "8.1")])
def test_many_arguments_need_a_newer_version(count: int, version: str) -> None:
    """4,352 bytes fit into entries of every PTX version."""
    arguments = ", ".join(f"%a{i}: i64" for i in range(count))
    ptx = tirx.compile(f'tirx.kernel @k({arguments}) target("sm_80") threads(32) {{ tirx.return }}')
    assert ptx.startswith(f".version {version}\n")
    result = assemble(ptx, "sm_80")
    assert result.ok, result.stderr
