"""Sizes beyond what a GPU or the simulator has are errors with a line, before memory is taken for them."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER

from tirx.sim import SimError, run

_TB = 1 << 40
_CASES = [
    (f".global .b8 x[{_TB}];", "", "at most 536870912 bytes of variables in .global, found 1099511627776 with x"),
    (f".const .b8 x[{_TB}];", "", "at most 720896 bytes of variables in .const, found 1099511627776 with x"),
    ("", f".local .b8 x[{_TB}];", "at most 524288 bytes of local memory for each thread, found 1099511627776 with x"),
    ("", f".shared .b8 x[{_TB}];", "at most 232448 bytes of shared memory, found 1099511627776"),
    ("", ".reg .b64 %d; mov.u64 %d, 18446744073709551616;", "a literal of at most 64 bits, found 18446744073709551616"),
    ("", f".reg .b64 %d; mov.u64 %d, {'9' * 5000};", "a literal of at most 64 bits, found one of 5000 digits"),
    (".global .u64 x = 99999999999999999999;", "", "a literal of at most 64 bits, found 99999999999999999999"),
]


@together(("module", "body", "message"), _CASES)
def test_sizes(module: str, body: str, message: str):
    with pytest.raises(SimError, match=f"expected {message}"):
        run(f"{HEADER}{module}\n.visible .entry k() {{ {body} ret; }}", "k", 1, 32, [])


def test_parameters():
    with pytest.raises(
        SimError, match="expected at most 32764 bytes of parameters, found 1099511627776 with p"
    ) as found:
        run(f"{HEADER}.visible .entry k(.param .b8 p[{_TB}]) {{ ret; }}", "k", 1, 32, [b""])
    assert found.value.line == HEADER.count("\n") + 1


def test_variables_that_the_caller_holds_are_not_limited():
    text = f"{HEADER}.global .b8 x[{600 << 20}];\n.visible .entry k() {{ ret; }}"
    with pytest.raises(SimError, match="expected at most 536870912 bytes"):
        run(text, "k", 1, 1, [])
    run(text, "k", 1, 1, [], variables={"x": np.zeros(600 << 20, np.uint8)})


@together("grid", [10**30, (1, 65536), (1, 1, 65536), 2**31])
def test_grids(grid: int | tuple[int, ...]):
    with pytest.raises(SimError, match=r"expected a grid of at most \(2147483647, 65535, 65535\) blocks, found"):
        run(f"{HEADER}.visible .entry k() {{ ret; }}", "k", grid, 1, [])


@pytest.mark.parametrize(("grid", "cluster"), [((2**31 - 1,), (2,)), ((1, 65535), (1, 2)), ((1, 1, 65535), (1, 1, 2))])
def test_largest_grids(grid: tuple[int, ...], cluster: tuple[int, ...]):
    with pytest.raises(SimError, match="expected a grid that is a multiple of the cluster"):
        run(f"{HEADER}.visible .entry k() {{ ret; }}", "k", grid, 1, [], cluster=cluster)


def test_less_than_no_dynamic_shared_memory():
    with pytest.raises(SimError, match="expected 0 or more bytes of dynamic shared memory, found -4"):
        run(f"{HEADER}.visible .entry k() {{ ret; }}", "k", 1, 1, [], dynamic_shared=-4)


def test_loops_that_compute():
    loop = ".reg .b32 %r; mov.u32 %r, 0; NEXT: add.u32 %r, %r, 1; bra NEXT;"
    with pytest.raises(SimError, match="more than 1000 warp instructions"):
        run(f"{HEADER}.visible .entry k() {{ {loop} ret; }}", "k", 1, 1, [], max_instructions=1000)
