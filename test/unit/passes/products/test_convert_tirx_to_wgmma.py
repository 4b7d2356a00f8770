"""Accumulators that the registers of the threads hold."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import MmaOp
from tirx.passes.products.convert_tirx_to_wgmma import _check_registers  # pyright: ignore[reportPrivateUsage]
from tirx.rules import RegisterLayoutError


def _mma(threads: int, rows: int, columns: int) -> MmaOp:
    text = f"""
!a = !tirx.tile<{rows}x64xf16, shared>
!b = !tirx.tile<{columns}x64xf16, shared>
!d = !tirx.tile<{rows}x{columns}xf32, register>
tirx.kernel @k() target("sm_90a") threads({threads}) {{
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %z = tirx.zero : !d
  %0 = tirx.mma %sa, %sb, %z : !a, !b, !d -> !d
  tirx.return
}}"""
    module = parsed(text)
    return next(op for op in module.walk() if isinstance(op, MmaOp))


@pytest.mark.parametrize(
    ("threads", "rows", "most"), [(128, 64, 247), (256, 128, 247), (384, 192, 160), (512, 256, 120), (1024, 512, 56)]
)
def test_registers_of_accumulators(threads: int, rows: int, most: int) -> None:
    """65536 registers for all threads, in eights, and 8 of them for other values: 65536 / 384 is 168 + 2.67."""
    _check_registers(_mma(threads, rows, 2 * most))
    with pytest.raises(RegisterLayoutError) as error:
        _check_registers(_mma(threads, rows, 2 * most + 2))
    assert error.value.message == (
        f"expected an accumulator of at most {most} registers in each of {threads} threads, found {most + 1}; "
        "take smaller tiles or more threads"
    )
