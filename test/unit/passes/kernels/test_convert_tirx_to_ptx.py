"""What entries of kernels cannot have."""

from __future__ import annotations

import pytest
from unit.passes.parsed import context, parsed

import tirx
from tirx.diagnostics import LocatedError
from tirx.passes import ConvertTirxToPtxPass
from tirx.ptx.ptxas import assemble
from tirx.rules import StageError


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


@pytest.mark.parametrize(("memory", "place"), [("", " at 0"), (" memory(shared = 256)", "")])
def test_tiles_without_a_place(memory: str, place: str) -> None:
    """A place is one in memory that the kernel has."""
    module = parsed(
        f'tirx.kernel @k() target("sm_90a") threads(32){memory} {{\n'
        f"  %t = tirx.alloc{place} : !tirx.tile<64xf32, shared, #tirx.tile_layout<S[64 : 1]>>\n  tirx.return\n}}"
    )
    with pytest.raises(StageError) as error:
        ConvertTirxToPtxPass().apply(context(), module)
    assert error.value.message == "expected a place in shared memory; tirx-allocate-memory chooses it"
