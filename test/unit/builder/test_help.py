"""Help and completion of Python itself for the builder."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import tirx as tx
from tirx import f32


def _shown(a: Any) -> None:
    tile = a[:].load()
    for each in (tile, a[:], tx.shared(a[:])):
        assert all(hasattr(each, name) for name in dir(each))
        assert not {"flush", "ssa", "trace", "is_cheap"} & set(dir(each))
        assert all(inspect.getdoc(getattr(tx.Tile, name)) for name in dir(each) if name not in ("dtype", "shape"))
    a[:] = tile


def test_functions_have_their_own_help_and_tiles_complete_names_for_kernels() -> None:
    for name in tx.builder.__all__:
        made = getattr(tx, name)
        if callable(made) and not isinstance(made, tx.DType) and name != "op":
            assert made.__doc__ and made.__doc__ != type(made).__doc__, name
    assert "e to the power of `x`" in pydoc.plain(pydoc.render_doc(tx.exp))
    assert "_shown" in tx.jit(f32[64], threads=32)(_shown).ptx(target="sm_80")
