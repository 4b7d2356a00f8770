"""Tables of pointers in global memory as arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import PointerTable, SimError, run

# Block i adds 1 to the first four numbers behind pointer i of the table, unless it is null; `at` is the table's place.
_EACH = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry each({parameter}) {{
  .reg .b64 %d<4>; .reg .b32 %r<3>; .reg .f32 %f<2>; .reg .pred %p;
  ld.param.u64 %d0, [{at}]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1;
  ld.global.u64 %d2, [%d0]; {deeper} setp.eq.u64 %p, %d2, 0; @%p bra END;
  mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3;
  ld.global.f32 %f0, [%d2]; add.f32 %f0, %f0, 0f3F800000; st.global.f32 [%d2], %f0;
END: ret;
}}
"""


def _run(argument: Any, count: int, *, deeper: bool = False, threads: int = 4, **options: Any) -> None:
    is_struct = isinstance(argument, Mapping)
    parameter, at = (".param .align 8 .b8 s[24]", "s+8") if is_struct else (".param .u64 table", "table")
    text = _EACH.format(parameter=parameter, at=at, deeper="ld.global.u64 %d2, [%d2];" if deeper else "")
    run(text, "each", count, threads, [argument], **options)


def test_arrays_of_a_table() -> None:
    """Views point into their array, which they share with each other; None is a null pointer."""
    a, b = np.zeros(12, np.float32), np.zeros((2, 3), np.float32)
    _run(PointerTable([a, None, a[5:], b, a[9:]]), 5, threads=3)
    assert a.tolist() == [1, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1] and b.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_tables_in_tables_and_structs() -> None:
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    inner = PointerTable([b[2:], a])
    _run(PointerTable([inner, PointerTable([a])]), 2, deeper=True, threads=2)
    assert a.tolist() == [1, 1, 0, 0] and b.tolist() == [0, 0, 1, 1]
    _run({0: np.int64(7), 8: PointerTable((b, a))}, 2)
    assert a.tolist() == [2, 2, 1, 1] and b.tolist() == [1, 1, 2, 2]


@pytest.mark.usefixtures("shares_in_turn")
def test_processes_share_tables() -> None:
    arrays = [np.full(4, number, np.float32) for number in range(4)]
    _run(PointerTable(arrays), 4, jobs=2)
    assert [each.tolist() for each in arrays] == [[number + 1] * 4 for number in range(4)]


@together(
    ("pointers", "message"),
    [
        ([np.zeros(2, np.float32)], r"out-of-bounds global load of 4 bytes at offset 12 of the array of table\[0\]"),
        ([np.zeros((4, 4), np.float32)[:, 0]], r"expected a C-contiguous array for table\[0\]"),
        ([np.zeros(4, np.float32), 5], r"expected an array, a PointerTable or None for table\[1\], found 5"),
        ([PointerTable([object()])], r"expected an array, a PointerTable or None for table\[0\]\[0\]"),  # type: ignore
        ([], "out-of-bounds global load of 8 bytes at offset 0 of the table of table"),
    ],
)
def test_wrong_tables(pointers: Any, message: str) -> None:
    with pytest.raises(SimError, match=message):
        _run(PointerTable(pointers), 1)


def test_a_parameter_that_is_no_pointer() -> None:
    text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f(.param .u32 n) { ret; }"
    with pytest.raises(SimError, match="expected a number for n of 4 bytes, found a table of pointers"):
        run(text, "f", 1, 1, [PointerTable([])])
