"""
Programs on which a fuzzer found TileLang wrong in 2026, said in tirx: they are right, and the same faults are refused.

The numbers are those of issues of tile-ai/tilelang; docs/proofs.md has the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.dialects.formula import Call
from tirx.passes import lower_to_ptx_passes
from tirx.runtime import Kernel, Program
from tirx.runtime.launch import ComputedArgument
from tirx.sim import SimError
from tirx.text.verification import CheckError, run_passes
from tirx.universe import new_context

_CONSTANTS = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 64, 128))
_ZERO = "  %zero = arith.constant 0.0 : f32\n"


def _product(name: str, a: str, b: str, n: int) -> str:
    tiles = f"!tirx.tile<64x64xf16, shared>, !tirx.tile<{n}x64xf16, shared>, !tirx.tile<64x{n}xf32, accumulator>"
    return f"    tirx.mma %{a}, %{b}, %{name} : {tiles}\n"


def _staged(name: str, rows: int, at: str = "%k") -> str:
    tiles = f"!tirx.tile<{rows}x64xf16, global>, !tirx.tile<{rows}x64xf16, shared>"
    view = f"tirx.view %{name}[%c0, {at}] : memref<{rows}x?xf16> -> !tirx.tile<{rows}x64xf16, global>"
    return f"    %g{name} = {view}\n    tirx.copy %g{name}, %s{name} : {tiles}\n"


def _kernel(target: str, body: str, arguments: str, n: int = 64) -> str:
    """A kernel of one block, with tiles %sa, %sb and %sc and accumulators %p and %q."""
    tiles = "".join(
        f"  %s{name} = tirx.alloc : !tirx.tile<{rows}x64xf16, shared>\n"
        for name, rows in (("a", 64), ("b", n), ("c", n))
        if f"%s{name}" in body
    )
    sums = "".join(
        f"  %{name} = tirx.alloc : !tirx.tile<64x{n}xf32, accumulator>\n"
        f"  tirx.fill %{name}, %zero : f32, !tirx.tile<64x{n}xf32, accumulator>\n"
        for name in ("p", "q")
        if f"%{name} :" in body
    )
    stores = "".join(
        f"  %g{name} = tirx.view %{out}[%c0, %c0] : memref<64x{n}xf32> -> !tirx.tile<64x{n}xf32, global>\n"
        f"  tirx.copy %{name}, %g{name} : !tirx.tile<64x{n}xf32, accumulator>, !tirx.tile<64x{n}xf32, global>\n"
        for name, out in (("p", "d"), ("q", "e"))
        if f"%{name} :" in body
    )
    head = f'tirx.kernel @k({arguments}) target("{target}") grid(1) threads(128) {{\n'
    depth = "  %depth = memref.dim %a, %c1 : memref<64x?xf16>\n"
    return head + _CONSTANTS + _ZERO + depth + tiles + sums + body + stores + "  tirx.return\n}\n"


_ARGUMENTS = "%a: memref<64x?xf16>, %b: memref<64x?xf16>, %d: memref<64x64xf32>"
_LOOP = "  scf.for %k = %c0 to %depth step %c64 {\n"

_SHARED_OPERAND = (
    _LOOP
    + _staged("a", 64) + _staged("b", 64) + _staged("c", 64)
    + _product("p", "sa", "sb", 64) + _product("q", "sa", "sc", 64) + "  }\n"
)  # fmt: skip
"""An operand that is staged once and read by two products (#2613)."""

_TWO = f"{_ARGUMENTS}, %c: memref<64x?xf16>, %e: memref<64x64xf32>"
_ONE = _LOOP + _staged("a", 64) + _staged("b", 64) + _product("p", "sa", "sb", 64) + "  }\n"
_IN_A_WHILE = (
    "  %end = scf.while (%i = %c0) : (index) -> index {\n"
    "    %more = arith.cmpi slt, %i, %c128 : index\n    scf.condition(%more) %i : index\n  } do {\n  ^bb0(%i: index):\n"
    + _ONE
    + "    %next = arith.addi %i, %c64 : index\n    scf.yield %next : index\n  }\n"
)
"""A loop that is pipelined, inside of a while (#2548)."""

_READ_THEN_FILLED = (
    _staged("b", 64, "%c0") + _staged("a", 64, "%c0") + _LOOP.replace("%c0 to", "%c64 to")
    + _product("p", "sa", "sb", 64) + _staged("a", 64).replace("%ga", "%gn") + "  }\n" + _product("p", "sa", "sb", 64)
)  # fmt: skip
"""A loop that reads a tile and fills it again afterwards (#2668)."""


def _arguments(program: Program, depth: int, n: int = 64) -> list[Any]:
    rng = np.random.default_rng(depth)
    found: list[Any] = []
    for argument in program.kernels["k"].launch.passed:
        rows = 64 if argument.name in "ade" else n
        shape = (64, n) if argument.name in "de" else (rows, depth)
        found.append(rng.integers(-2, 3, shape).astype(np.float32 if argument.name in "de" else np.float16))
    return found


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("target", "options"), [("sm_80", "pipeline=off"), ("sm_90a", ""), ("sm_100a", "stages=2 roles=load")]
)
@pytest.mark.parametrize(
    ("body", "arguments"),
    [(_SHARED_OPERAND, _TWO), (_ONE, _ARGUMENTS), (_IN_A_WHILE, _ARGUMENTS), (_READ_THEN_FILLED, _ARGUMENTS)],
    ids=["2613", "2566", "2548", "2668"],
)
def test_the_program_is_right(body: str, arguments: str, target: str, options: str) -> None:
    """For loops of one iteration and of three."""
    with diagnostic_handler(lambda _: None):
        program = tirx.build(_kernel(target, body, arguments), options=options)
    for depth in (64, 192):
        assert program.kernels["k"].check(*_arguments(program, depth)).exact == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [24, 40, 72])
def test_columns_that_are_no_multiple_of_16(n: int) -> None:
    """#2593: products of wgmma of 8 columns more than a multiple of 16."""
    body = _LOOP + _staged("a", 64) + _staged("b", n) + _product("p", "sa", "sb", n) + "  }\n"
    arguments = _ARGUMENTS.replace("%b: memref<64x", f"%b: memref<{n}x").replace("64x64xf32", f"64x{n}xf32")
    program = tirx.build(_kernel("sm_90a", body, arguments, n))
    assert "wgmma.mma_async" in program.ptx and f"m64n{n}k16" in program.ptx
    assert program.kernels["k"].check(*_arguments(program, 128, n)).exact == 1


def _refused(program: Program, change: Callable[[str], str], depth: int = 192) -> str:
    """Runs changed PTX, and returns the message of the simulator."""
    wrong = Program(change(program.ptx), [program.kernels["k"].launch])
    assert wrong.ptx != program.ptx
    kernel: Kernel = wrong.kernels["k"]
    with pytest.raises(SimError) as caught:
        kernel.simulate(*_arguments(program, depth), check="strict", max_instructions=100_000)
    return caught.value.message


def _without(instruction: str, number: int) -> Callable[[str], str]:
    def change(ptx: str) -> str:
        found = list(re.finditer(rf"^\s*(@!?%p\d+ )?{re.escape(instruction)}[^\n]*\n", ptx, re.MULTILINE))
        return ptx[: found[number].start()] + ptx[found[number].end() :]

    return change


def test_without_the_barrier_at_the_end_of_the_loop() -> None:
    """#2613: the next iteration fills the operand while some warps still read it."""
    program = tirx.build(_kernel("sm_90a", _SHARED_OPERAND, _TWO), options="pipeline=off")
    assert "while wgmma may still read it" in _refused(program, _without("bar.sync", 1))


def test_without_the_barrier_behind_the_reads() -> None:
    """#2668: the tile is filled again while some threads still read it."""
    program = tirx.build(_kernel("sm_80", _READ_THEN_FILLED, _ARGUMENTS), options="pipeline=off")
    assert re.search("is written by thread .*: data race", _refused(program, _without("bar.sync", 1)))


@pytest.mark.parametrize(
    ("instruction", "number", "message"),
    [
        ("tcgen05.commit", 0, "deadlock"),
        ("tcgen05.wait::ld", 0, "is read before tcgen05.wait::ld"),
        ("tcgen05.dealloc", 0, "tensor memory is not deallocated"),
        ("tcgen05.fence::after_thread_sync", 2, "without tcgen05.fence::before_thread_sync there and"),
    ],
)
def test_without_what_tcgen05_needs(instruction: str, number: int, message: str) -> None:
    """#2644: defects of code for tcgen05, which were found by reading there, and are found in a run here."""
    program = tirx.build(_kernel("sm_100a", _ONE, _ARGUMENTS), options="pipeline=off")
    assert message in _refused(program, _without(instruction, number))


def test_a_slot_that_is_never_given_back() -> None:
    """#2566: a loop that waits for ever, for which no run is needed."""
    context, module = new_context(), embed.parse(_kernel("sm_90a", _ONE, _ARGUMENTS), "k.mlir")
    passes = lower_to_ptx_passes(None, "stages=2 roles=load").passes
    names = [each.name for each in passes]
    run_passes(context, module, passes[: names.index("tirx-check-rings")])
    text = str(module)
    wrong = re.sub(r"^\s*\"?tirx\.release[^\n]*\n", "", text, count=1, flags=re.MULTILINE)
    assert wrong != text
    with pytest.raises(LocatedError, match="ring|release"):
        run_passes(context, embed.parse(wrong, "k.mlir"), passes[names.index("tirx-check-rings") :][:1])


_PERSISTENT = """
!h = !tirx.tile<64x64xf16, shared>
!p = !tirx.tile<64x64xf32, accumulator>
tirx.kernel @k(%a: memref<64x?xf16>, %b: memref<?x?xf16>, %d: memref<64x?xf32>)
    grid(%i = ceildiv(size(1, 0), 64)) threads(128) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %depth = memref.dim %a, %c1 : memref<64x?xf16>
  %sa = tirx.alloc : !h
  %sb = tirx.alloc : !h
  %p = tirx.alloc : !p
  tirx.fill %p, %zero : f32, !p
  scf.for %k = %c0 to %depth step %c64 {
    tirx.copy %a[0, %k] clipped, %sa : memref<64x?xf16>, !h
    tirx.copy %b[%i * 64, %k] clipped, %sb : memref<?x?xf16>, !h
    tirx.mma %sa, %sb, %p : !h, !h, !p
  }
  tirx.copy %p, %d[0, %i * 64] clipped : !p, memref<64x?xf32>
  tirx.return
}
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_a_number_of_tiles_that_is_no_multiple_of_8(target: str) -> None:
    """#2433: persistent blocks leave out the tiles behind the last group of 8."""
    with diagnostic_handler(lambda _: None):
        program = tirx.build(_PERSISTENT, target, options="multiprocessors=2")
    launch = program.kernels["k"].launch
    tiles = next(each for each in launch.arguments if isinstance(each, ComputedArgument) and each.name == "launch")
    groups = Call("add", (Call("ceildiv", (Call("add", (tiles.value, 1)), 8)), -1))  # rounded down
    dropped = replace(tiles, value=Call("mul", (8, groups)))
    arguments = tuple(dropped if each is tiles else each for each in launch.arguments)
    wrong = Program(program.ptx, [replace(launch, arguments=arguments)], program.source)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((64, 64), (640, 64)))
    given = a, b, np.zeros((64, 640), np.float32)
    assert program.kernels["k"].check(*given).exact == 1
    with pytest.raises(CheckError, match=r"of 40960 elements of %d differ, first %d\[0, 512\]"):
        wrong.kernels["k"].check(*given)


def _looked_up(target: str, index: str) -> Program:
    return tirx.build(
        f"""
!x = !tirx.tile<32x32xf32, register>
tirx.kernel @k(%a: memref<32x32xf32>, %b: memref<24xf32>, %d: memref<32x32xf32>) grid(1) threads(128) {{
  %c24 = arith.constant 24 : index
  %c32 = arith.constant 32 : index
  %x = tirx.load %a[0, 0] : memref<32x32xf32> -> !x
  %at = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %i = tirx.index 0
    %j = tirx.index 1
    %rows = arith.muli %i, %c32 : index
    %fused = arith.addi %rows, %j : index
    %rest = arith.remui {index}, %c24 : index
    %n = arith.index_cast %rest : index to i32
    tirx.yield %n : i32
  }} -> !tirx.tile<32x32xi32, register>
  %t = tirx.load %b[[%at]] : memref<24xf32> -> !x
  tirx.store %t, %d[0, 0] : !x, memref<32x32xf32>
  tirx.return
}}
""",
        target,
    )


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a"])
def test_a_table_whose_size_does_not_divide_the_rows(target: str) -> None:
    """#2955: `B[j % 24]` in rows of 32, for which `B[(32 * i + j) % 24]` was read."""
    program, fused = (_looked_up(target, index) for index in ("%j", "%fused"))
    (checked,) = program.check()
    assert checked.exact == checked.launches > 0
    with pytest.raises(CheckError, match=r"of 1024 elements of %d differ, first %d\[1, 0\]"):
        Program(fused.ptx, [fused.kernels["k"].launch], program.source).check()
