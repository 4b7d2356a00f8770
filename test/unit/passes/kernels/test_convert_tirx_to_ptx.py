"""Kernels of which no entry can be made."""

from __future__ import annotations

import pytest
from unit.cases import together
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


_INDEXED = """
!tile = !tirx.tile<48x128xf16, shared,
  #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(48, 2, 64) : (64, 3072, 1)]>>>
!ids = !tirx.tile<48xi32, register{ids}>
!g = !tirx.tile<48x128xf16, global>
tirx.kernel @k(%a: memref<?x?xf16>, %n: memref<48x128xi4>) target("sm_100a") threads(128)
    memory(shared = 16384, alignment = 1024) {{
  %c0 = arith.constant 0 : index
  %bar = arith.constant 64 : i32
  %s = tirx.alloc at 0 : !tile
  %i = tirx.zero : !ids
  {body}
  tirx.return
}}
"""
_LOADED = "%g = tirx.view %a[[%i], %c0] clipped : memref<?x?xf16>, !ids -> !g\n tirx.tma_load %g, %s, %bar : !g, !tile"
_STORED = "%g = tirx.view %a[[%i], %c0] clipped : memref<?x?xf16>, !ids -> !g\n tirx.tma_store %s, %g : !tile, !g"
_NIBBLES = """%g = tirx.view %n[[%i], %c0] : memref<48x128xi4>, !ids -> !tirx.tile<48x128xi4, global>
  %v = tirx.load %g : !tirx.tile<48x128xi4, global>
    -> !tirx.tile<48x128xi4, register, #tirx.tile_layout<S[(48, 16, 8) : (8, 1@laneid, 1)] + R[4 : 1@warpid]>>"""


@together(
    ("ids", "body", "message"),
    [
        *(
            (
                layout := f", #tirx.tile_layout<{iters}>",
                body,
                "expected indices as S[(12, 4) : (1@laneid, 1)] + R[2 : 12@laneid], found "
                f"!tirx.tile<48xi32, register{layout}>; tirx-fit-index-tiles converts them",
            )
            for iters in ("S[(24, 2) : (1@laneid, 1)]", "S[48 : 1]")
            for body in (_LOADED, _STORED)
        ),
        (
            ", #tirx.tile_layout<S[48 : 1] + R[128 : 1@tx]>",
            _NIBBLES,
            "expected elements of whole bytes in a view with index tiles, found !tirx.tile<48x128xi4, global>",
        ),
    ],
)
def test_index_tiles_that_are_refused(ids: str, body: str, message: str) -> None:
    with pytest.raises(LocatedError) as error:
        ConvertTirxToPtxPass().apply(context(), parsed(_INDEXED.format(ids=ids, body=body)))
    assert error.value.diagnostic.message == message


def test_regions_of_operations_that_are_not_known() -> None:
    """All blocks in them are lowered."""
    module = parsed("""tirx.kernel @k() target("sm_90a") threads(32) {
      "test.op"() ({
        %i = tirx.block_id x
        "test.op"(%i) ({
          %j = tirx.block_id y
          "test.termop"(%j) [^c] : (index) -> ()
        ^c:
          %k = tirx.block_id z
          "test.op"(%k) : (index) -> ()
        }) : (index) -> ()
      }) : () -> ()
      tirx.return
    }""")
    ConvertTirxToPtxPass().apply(context(), module)
    assert [name for name in ("x", "y", "z") if f"ptx.read_special ctaid.{name}" in str(module)] == ["x", "y", "z"]
    assert "tirx." not in str(module)
