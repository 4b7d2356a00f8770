"""Registers of the threads that load and that multiply."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.examples import EXAMPLES

from tirx import embed
from tirx.dialects.tirx import kernels
from tirx.dialects.tirx.product import ProductOp
from tirx.passes.match.slots import MOST_SLOTS
from tirx.passes.rings.start_values import entry_bound, has_registers, role_registers, start_values


@together(
    ("warpgroups", "registers"),
    [(1, None), (2, (40, 232)), (3, (32, 160)), (4, (24, 112)), (5, (24, 88)), (6, (24, 80)), (7, None), (8, None)],
)
def test_registers_of_roles(warpgroups: int, registers: tuple[int, int] | None) -> None:
    """65536 registers for all; those that multiply have more than without roles, in eights (PTX ISA, setmaxnreg)."""
    assert role_registers(warpgroups) == registers
    if registers is not None:
        entry = 65536 // (128 * (warpgroups + 1)) // 8 * 8
        load, math = registers
        assert load + warpgroups * math <= (warpgroups + 1) * entry < load + warpgroups * (math + 8) or math == 240


def test_registers_of_roles_with_many_tiles() -> None:
    """Threads that load give what they can where the others' tiles need it beside 32 registers of other values."""
    assert [role_registers(2, needed) for needed in (200, 201, 300)] == [(40, 232), (24, 240), (24, 240)]
    assert [role_registers(groups, 255) for groups in (1, 3, 4, 7)] == [None, (32, 160), (24, 112), None]


def test_registers_at_the_entry() -> None:
    assert [entry_bound(n) for n in (1, 4, 8, 9, 12, 13, 20, 28, 29, 32)] == [
        255,
        255,
        255,
        168,
        168,
        128,
        96,
        72,
        64,
        64,
    ]


@together(
    ("threads", "each"),
    [(128, 240), (100, 240), (129, 232), (256, 232), (257, 160), (384, 160), (512, 112), (896, 64), (1024, 56)],
)
def test_room_for_register_tiles(threads: int, each: int) -> None:
    """Beside 32 registers of other values."""
    most = (each - 32) * 32 * threads
    assert has_registers(threads, most)
    assert not has_registers(threads, most + 1)


@pytest.mark.parametrize(
    ("name", "slots"),
    [
        ("gallery/w4a16", 3),
        ("gallery/w4a16_row", 3),
        ("flash_attention", MOST_SLOTS),
        ("wgmma_gemm", MOST_SLOTS),
    ],
)
def test_operands_that_threads_make(name: str, slots: int) -> None:
    """Loops all of whose products read A from registers get rings of three slots, and blocks side by side on an SM."""
    kernel, *_ = kernels(embed.parse((EXAMPLES / f"{name}.mlir").read_text(), name))
    found = start_values(op for op in kernel.walk() if isinstance(op, ProductOp))
    assert (found.slots, found.persistent) == (slots, slots > 3)


@pytest.mark.parametrize(
    ("first", "second", "row"),
    [
        ("%x", "%x", "mma_sync"),
        ("%y", "%x", "mma_sync, computed operands"),
        ("%x", "%y", "mma_sync, computed operands"),
        ("%z", "%x", "mma_sync"),  # what is computed of sums comes later than what is loaded
    ],
)
def test_operands_of_mma_sync_that_threads_make(first: str, second: str, row: str) -> None:
    text = f"""
!h = !tirx.tile<16x16xf16, register>
!f = !tirx.tile<16x16xf32, register>
tirx.kernel @k(%a: memref<16x16xf16>, %d: memref<16x16xf32>) target("sm_80") threads(32) {{
  %c = tirx.zero : !f
  %x = tirx.load %a[0, 0] : memref<16x16xf16> -> !h
  %y = tirx.map ins(%x : !h) (%e) {{ %e * 2.0 }} -> !h
  %s = tirx.mma %x, %x, %c : !h, !h, !f -> !f
  %z = tirx.map ins(%s : !f) (%e) {{ f16(%e) }} -> !h
  %r = tirx.mma {first}, {second}, %c : !h, !h, !f -> !f
  tirx.store %r, %d[0, 0] : !f, memref<16x16xf32>
}}"""
    (kernel,) = kernels(embed.parse(text))
    found = start_values([[op for op in kernel.walk() if isinstance(op, ProductOp)][-1]])
    assert (found.name, found.moves_registers) == (row, row == "mma_sync")
