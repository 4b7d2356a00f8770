"""Programs against their own PTX: they agree, and a compiler with a fault is found out, with the pass that has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.examples import EXAMPLES

import tirx
from tirx import embed
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.definition import i32_attr
from tirx.dialects.tirx import KernelOp, SubviewOp, kernels
from tirx.passes.checks.tirx_check_synchronization import TirxCheckSynchronizationPass
from tirx.passes.copies import tirx_insert_barriers
from tirx.passes.copies.tirx_fold_subviews import TirxFoldSubviewsPass
from tirx.passes.scalars.convert_arith_to_ptx import ConvertArithToPtxPass
from tirx.runtime import Program, comparison, program
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.check import Source, check_kernel
from tirx.runtime.check_arguments import _strided  # pyright: ignore[reportPrivateUsage]
from tirx.runtime.watch import _cases  # pyright: ignore[reportPrivateUsage]
from tirx.text.verification import CheckError
from tirx.tools import tirx_opt
from tirx.tools.tirx_check import main

_STORES = """
tirx.kernel @k(%m: memref<192x64xf16>) target("TARGET") grid(3) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant 7.0 : f16
  %b = tirx.block_id x
  %s = arith.muli %b, %c64 : index
  %ta = tirx.alloc : !tirx.tile<64x32xf16, shared>
  scf.for %i = %c0 to %c1 step %c1 {
    %ga = tirx.view %m[%s, %i] : memref<192x64xf16> -> !tirx.tile<64x32xf16, global>
    tirx.copy %ga, %ta : !tirx.tile<64x32xf16, global>, !tirx.tile<64x32xf16, shared>
  }
  %t3 = tirx.splat %z : f16 -> !tirx.tile<32x32xf16, register>
  %r = arith.addi %c20, %s : index
  %g1 = tirx.view %m[%r, %c16] : memref<192x64xf16> -> !tirx.tile<32x32xf16, global>
  tirx.copy %t3, %g1 : !tirx.tile<32x32xf16, register>, !tirx.tile<32x32xf16, global>
  %g2 = tirx.view %m[%s, %c0] : memref<192x64xf16> -> !tirx.tile<64x32xf16, global>
  tirx.copy %ta, %g2 : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x32xf16, global>
  tirx.return
}
"""
"""The later one of two stores to overlapping parts of one memref wins."""

_READ_BACK = """
tirx.kernel @k(%a: memref<128x32xf16>, %d: memref<128x32xf16>) target("TARGET") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 7.0 : f16
  %s = tirx.alloc : !tirx.tile<64x32xf16, shared>
  %r = tirx.splat %z : f16 -> !tirx.tile<64x32xf16, register>
  %g = tirx.view %a[%c0, %c0] : memref<128x32xf16> -> !tirx.tile<64x32xf16, global>
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf16> -> !tirx.tile<64x32xf16, global>
  tirx.copy %r, %s : !tirx.tile<64x32xf16, register>, !tirx.tile<64x32xf16, shared>
  tirx.copy %s, %g engine tma_store : !tirx.tile<64x32xf16, shared>, !tirx.tile<64x32xf16, global>
  %x = tirx.load %g : !tirx.tile<64x32xf16, global> -> !tirx.tile<64x32xf16, register>
  tirx.store %x, %gd : !tirx.tile<64x32xf16, register>, !tirx.tile<64x32xf16, global>
  tirx.return
}
"""
"""A tile of global memory is loaded behind a bulk store to it."""


def _believe(self: TirxCheckSynchronizationPass, ctx: Any, op: Any) -> None:
    assert any(op.walk())


def _built(text: str, options: str, salt: str) -> Program:
    return tirx.build(text, options=options, salt=salt)


_OVERWRITTEN = (
    _READ_BACK.split("  %x = ")[0]
    + """  %n = arith.constant 9.0 : f16
  tirx.fill %g, %n : f16, !tirx.tile<64x32xf16, global>
  tirx.return
}
"""
)
_READ_PRODUCT = """
tirx.kernel @k(%a: memref<ROWSx64xf16>, %b: memref<64x64xf16>, %d: memref<ROWSx64xf16>, %e: memref<ROWSx32xf16>)
    target("TARGET") grid(%i = BLOCKS) threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %sb = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, accumulator>
  tirx.fill %acc, %zero : f32, !tirx.tile<64x64xf32, accumulator>
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  scf.for %k = %c0 to %c64 step %c16 {
    tirx.copy %a[%i * 64, %k], %sa : memref<ROWSx64xf16>, !tirx.tile<64x16xf16, shared>
    tirx.copy %b[0, %k], %sb : memref<64x64xf16>, !tirx.tile<64x16xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<64x16xf16, shared>, !tirx.tile<64x16xf16, shared>,
      !tirx.tile<64x64xf32, accumulator>
  }
  %y = tirx.map ins(%acc : !tirx.tile<64x64xf32, accumulator>) (%x) { f16(%x) } -> !tirx.tile<64x64xf16, register>
  tirx.copy %y, %d[%i * 64, 0] : !tirx.tile<64x64xf16, register>, memref<ROWSx64xf16>
  %s = tirx.alloc : !tirx.tile<32x32xf16, shared>
  tirx.copy %d[%i * 64 + 8, 16], %s : memref<ROWSx64xf16>, !tirx.tile<32x32xf16, shared>
  tirx.copy %s, %e[%i * 64, 0] : !tirx.tile<32x32xf16, shared>, memref<ROWSx32xf16>
  tirx.return
}
"""
"""A part of a product's tile is read behind the store of it."""


def _read_product(blocks: int) -> str:
    return _READ_PRODUCT.replace("ROWS", str(64 * blocks)).replace("BLOCKS", str(blocks))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize(
    "text",
    [_STORES, _READ_BACK, _OVERWRITTEN, _read_product(3), _read_product(160)],
    ids=["stores", "read back", "overwritten", "product read back", "product of many tiles read back"],
)
def test_order_of_global_memory(
    text: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`tirx-check`, without options, finds a compiler that does not wait for bulk stores, nor misses the wait."""
    path = tmp_path / "k.mlir"
    path.write_text(text.replace("TARGET", target))
    monkeypatch.setattr(program, "_cache", {})
    assert main([str(path), "--seconds", "60"]) == 0
    assert "; also with order=row" in capsys.readouterr().out

    def forget(kernel: KernelOp) -> None:
        assert kernel.sym_name.data == "k"

    monkeypatch.setattr(program, "_cache", {})
    monkeypatch.setattr(tirx_insert_barriers, "order_bulk_copies", forget)
    monkeypatch.setattr(TirxCheckSynchronizationPass, "apply", _believe)
    assert main([str(path)]) == 1
    said = capsys.readouterr().out
    assert re.search("of %[made] differ|the simulator refuses it", said)
    assert "the lowering behind tirx-" in said, said


PART = """
tirx.kernel @k(%a: memref<?x64xf32>, %d: memref<?x32xf32>) target("sm_80") grid(ceildiv(size(1, 0), 16)) threads(64) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %i = tirx.block_id x
  %m = arith.muli %i, %c16 : index
  %ga = tirx.view %a[%m, %c0] clipped : memref<?x64xf32> -> !tirx.tile<16x64xf32, global>
  %gd = tirx.view %d[%m, %c0] clipped : memref<?x32xf32> -> !tirx.tile<16x32xf32, global>
  %s = tirx.alloc : !tirx.tile<16x64xf32, shared>
  tirx.copy %ga, %s : !tirx.tile<16x64xf32, global>, !tirx.tile<16x64xf32, shared>
  %h = tirx.subview %s[0, 32] : !tirx.tile<16x64xf32, shared> -> !tirx.tile<16x32xf32, shared>
  tirx.copy %h, %gd : !tirx.tile<16x32xf32, shared>, !tirx.tile<16x32xf32, global>
  tirx.return
}
"""


def test_the_pass_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A pass that moves a part of a tile is the one behind which the program differs; its change is shown."""
    (checked,) = _built(PART, "", "right").check()
    assert checked.sizes > 1 and checked.exact == checked.launches
    right = TirxFoldSubviewsPass.apply

    def wrong(self: TirxFoldSubviewsPass, ctx: Any, op: Any) -> None:
        right(self, ctx, op)
        for kernel in kernels(op):
            for part in kernel.walk():
                if isinstance(part, SubviewOp):
                    part.offsets = type(part.offsets)([part.offsets.data[0], i32_attr(31)])

    monkeypatch.setattr(TirxFoldSubviewsPass, "apply", wrong)
    program = _built(PART, "", "wrong")
    with pytest.raises(CheckError) as caught:
        program.kernels["k"].check()
    assert caught.value.culprit is not None and caught.value.culprit.startswith("first behind tirx-fold-subviews: ")
    assert "elements of %d differ, first %d[0, " in caught.value.message
    assert "-    %h = tirx.subview %s[0, 32]" in caught.value.change
    assert "+    %h = tirx.subview %s[0, 31]" in caught.value.change
    with pytest.raises(CheckError, match=r"modulo a prime, arguments of 1x64, .*; first behind tirx-fold-subviews"):
        program.kernels["k"].check(numbers=["modular"])
    with pytest.raises(CheckError, match=r"^<string>:12:3: @k, arguments of 1x64, 1x32; first behind tirx-fold-sub"):
        tirx.compile(PART, verify=True)
    path = tmp_path / "part.mlir"
    path.write_text(PART)
    assert tirx_opt.main(["--lower-to-ptx", "--verify-lowering", str(path)]) == 2
    assert f"internal error: {path}:12:3: @k, " in (said := capsys.readouterr().err)
    assert "\n+    %h = tirx.subview %s[0, 31]" in said


def test_the_lowering_is_watched_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The PTX runs in the simulator, which finds what goes wrong behind the last pass that keeps tiles."""
    assert tirx.compile(PART, verify=True) == tirx.compile(PART)
    right = ConvertArithToPtxPass.apply

    def wrong(self: ConvertArithToPtxPass, ctx: Any, op: Any) -> None:
        right(self, ctx, op)
        for each in op.walk():
            if each.name == "ptx.bar.sync":
                each.detach()
                each.erase()

    monkeypatch.setattr(ConvertArithToPtxPass, "apply", wrong)
    monkeypatch.setattr(TirxCheckSynchronizationPass, "apply", _believe)
    with pytest.raises(CheckError, match="the simulator refuses it: .*; the lowering behind convert-wgmma") as caught:
        tirx.build(PART, verify=True, salt="wrong")
    assert caught.value.change.startswith("--- in front of convert-tirx-to-ptx")


def test_a_note_says_how_far_results_are_right(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.mlir"
    path.write_text(PART)
    assert tirx_opt.main(["--tirx-fold-subviews", "--convert-tirx-to-ptx", "--verify-lowering", str(path)]) == 1
    assert "note: @k does what it means up to tirx-fold-subviews\n" in capsys.readouterr().err


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", ["", "pipeline=off"])
def test_residues(options: str) -> None:
    """Modulo a prime every order of a sum is right to the bit: split sums, atomics and functions of maps, too."""
    for name in ("softmax", "split_k_gemm"):
        text = (EXAMPLES / f"{name}.mlir").read_text()
        (checked,) = tirx.build(text, options=options).check(numbers=["modular"], seconds=0.1)
        assert checked.exact == checked.launches > 0


def _mapped(body: str) -> Program:
    """A kernel that computes %z from %e, elements of f32."""
    copy = "tirx.copy %ga, %s : !tirx.tile<16x64xf32, global>, !tirx.tile<16x64xf32, shared>"
    return tirx.build(
        PART.replace("?", "32").replace(
            copy,
            f"""%x = tirx.load %ga : !tirx.tile<16x64xf32, global> -> !tirx.tile<16x64xf32, register>
  %y = tirx.map ins(%x : !tirx.tile<16x64xf32, register>) {{
  ^bb0(%e: f32):
    {body}
    tirx.yield %z : f32
  }} -> !tirx.tile<16x64xf32, register>
  tirx.store %y, %s : !tirx.tile<16x64xf32, register>, !tirx.tile<16x64xf32, shared>""",
        )
    )


_SUM = ("arith.addf %z1, %z2 : f32", "arith.addf %z3, %z4 : f32", "arith.subf %z5, %z6 : f32")


@pytest.mark.parametrize(
    "operations",
    [
        (*(f"math.{name} %e : f32" for name in ("floor", "ceil", "trunc", "roundeven")), *_SUM),
        (*(f"math.{name} %e fastmath<afn> : f32" for name in ("exp", "log", "exp2", "log2")), *_SUM),
        (
            "arith.cmpf olt, %e, %z0 : f32",
            "arith.select %z1, %e, %z0 : f32",
            "arith.fptosi %e : f32 to i32",
            "arith.sitofp %z3 : i32 to f32",
            "arith.truncf %e : f32 to f16",
            "arith.extf %z5 : f16 to f32",
            "arith.subf %z2, %z4 : f32",
            "arith.mulf %z6, %z7 : f32",
        ),
    ],
)
def test_functions_of_residues(operations: tuple[str, ...]) -> None:
    """They are the same at the tile level and in the simulator."""
    body = [f"%z{n} = {each}" for n, each in enumerate(("arith.constant 3.0 : f32", *operations))]
    last = f"%z = arith.addf %z{len(operations)}, %z0 : f32"
    (checked,) = _mapped("\n".join((*body, last))).check(numbers=["modular"], seconds=0.1)
    assert checked.exact == checked.launches > 0


def test_functions_that_residues_do_not_have() -> None:
    with pytest.raises(CheckError, match="expected operations that residues have, found 'math.erf'"):
        _mapped("%z = math.erf %e : f32").check(numbers=["modular"])


def test_ptx_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_MOST_INSTRUCTIONS", 1000)
    program = _built(PART, "", "right")
    ptx = program.ptx.replace("  ret;", "$forever:\n  bra $forever;")
    with pytest.raises(CheckError, match=r"^<string>:2:1: @k, .*: the simulator refuses it: more than \d+ warp "):
        check_kernel(ptx, program.kernels["k"].launch, Source(PART, None, ""), numbers=["integers"])


_CLASH = """tirx.kernel @k(%a: memref<8xf32>) target("sm_80") grid(2) threads(32) {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id x
  %n = arith.index_cast %i : index to i32
  %f = arith.sitofp %n : i32 to f32
  memref.store %f, %a[%c0] : memref<8xf32>
OTHER
  tirx.return
}"""


@pytest.mark.parametrize(
    ("other", "line", "also"),
    [
        ("", 6, ""),
        ("  tirx.barrier\n  memref.store %f, %a[%c0] : memref<8xf32>", 6, "; %a is also written at <string>:8:3"),
    ],
)
def test_blocks_that_clash(other: str, line: int, also: str) -> None:
    """Both stores are named, if there are two."""
    with pytest.raises(CheckError) as caught:
        tirx.build(_CLASH.replace("OTHER", other)).check()
    assert str(caught.value) == (
        f"<string>:{line}:3: @k: expected sizes that the kernel can be launched with, and does something, found none: "
        f"expected blocks that write one element to write the same number, found different ones{also}"
    )


def test_a_static_kernel_is_checked_in_other_schedules() -> None:
    """As the command does; options that name the schedule stay."""
    text = _STORES.replace("TARGET", "sm_90a")
    (checked,) = tirx.build(text).check(seconds=20)
    assert str(checked).endswith("; also with order=row and multiprocessors=2")
    assert tirx.build(text, options="order=row").kernels["k"].check(seconds=20).also == ()  # the same PTX


def test_launches_that_do_nothing_are_not_enough() -> None:
    """A program that refuses each launch that has a block is not called right for those that have none."""
    line = '  tirx.assert %never, "rows" : i1\n  %h = '
    text = PART.replace("  %h = ", f"  %never = arith.cmpi ult, %i, %c0 : index\n{line}")
    with pytest.raises(
        CheckError, match="^<string>:12:3: @k: expected sizes .* and does something, found none: rows: "
    ):
        tirx.build(text).check(numbers=["integers"])


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        ("%z = arith.constant 0 : i32\n  memref.store %z, %a[%c0] : memref<1xi32>", 1),  # may be there already
        ("%z = memref.load %a[%c0] : memref<1xi32>\n  memref.store %z, %a[%c0] : memref<1xi32>", None),
        ('tirx.print "here", %c0 : index', 0),  # nothing to compare
        ('%z = arith.cmpi eq, %c0, %c0 : index\n  tirx.assert %z, "zero" : i1', 0),
    ],
)
def test_launches_that_change_an_array_are_needed(body: str, sizes: int | None) -> None:
    program = tirx.build(
        'tirx.kernel @k(%a: memref<1xi32>) target("sm_80") grid(1) threads(32) {\n'
        f"  %c0 = arith.constant 0 : index\n  {body}\n  tirx.return\n}}"
    )
    for seed in range(3):
        if sizes is not None:
            (checked,) = program.check(seed=seed)
            assert checked.sizes == sizes and ("warning: nothing was compared of @k" in str(checked)) is (sizes == 0)
            continue
        with pytest.raises(CheckError, match="^@k: expected .*, found none: no launch changes an array, and nothing"):
            program.check(seed=seed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": []}, 'numbers: a list of one or more of "integers", "normal", "special", "modular", found []'),
        ({"numbers": ["bogus"]}, "numbers: a list of one or more of \"integers\", .*, found ['bogus']"),
        ({"numbers": "normal"}, "numbers: a list of one or more of \"integers\", .*, found 'normal'"),
        ({"seconds": -1}, "seconds of 0 or more, found -1"),
        ({"seconds": float("nan")}, "seconds of 0 or more, found nan"),
        ({"seed": -1}, "a seed, an integer of 0 or more, found -1"),
        ({"seed": 0.5}, "a seed, an integer of 0 or more, found 0.5"),
    ],
)
def test_options_that_are_not_supported(options: Any, message: str) -> None:
    message = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(ArgumentError, match=f"^expected {message}$"):
        _built(PART, "", "right").check(**options)


_PRINTS = """
tirx.kernel @k(%a: memref<16xf32>) target("sm_80") grid(1) threads(32) {
  %x = tirx.load %a[0] : memref<16xf32> -> !tirx.tile<16xf32, register>
  tirx.print "x", %x : !tirx.tile<16xf32, register>
  %y = tirx.map ins(%x : !tirx.tile<16xf32, register>) (%e) { %e + 1.0 } -> !tirx.tile<16xf32, register>
  tirx.store %y, %a[0] : !tirx.tile<16xf32, register>, memref<16xf32>
}
"""


def test_comparisons_print_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs that print are compared in silence: standard output is for PTX and for the line of each kernel."""
    path = tmp_path / "k.mlir"
    path.write_text(_PRINTS)
    assert main([str(path)]) == 0
    assert re.fullmatch(r".*: @k: 2 launches of 1 sizes agree, .*\n", capsys.readouterr().out)
    assert tirx_opt.main(["--lower-to-ptx", "--verify-lowering", str(path)]) == 0
    verified = capsys.readouterr().out
    assert tirx_opt.main(["--lower-to-ptx", str(path)]) == 0
    assert verified == capsys.readouterr().out
    program = tirx.build(_PRINTS, verify=True)
    program.kernels["k"].check(np.zeros(16, np.float32))
    assert not capsys.readouterr().out
    program.kernels["k"].simulate(np.zeros(16, np.float32))
    assert capsys.readouterr().out == "x\n" + " 0" * 16 + "\n"


def test_the_rounding_of_numbers_that_are_nearly_known() -> None:
    """A function is right within some bits of f32, and most of its results are one number of f16 then."""
    text = """
tirx.kernel @k(%a: memref<64xf32>, %d: memref<64xf16>) target("sm_90a") grid(1) threads(32) {
  %x = tirx.load %a[0] : memref<64xf32> -> !tirx.tile<64xf32, register>
  %y = tirx.map ins(%x : !tirx.tile<64xf32, register>) {
  ^bb0(%e: f32):
    %p = math.exp2 %e : f32
    %h = arith.truncf %p : f32 to f16
    tirx.yield %h : f16
  } -> !tirx.tile<64xf16, register>
  tirx.store %y, %d[0] : !tirx.tile<64xf16, register>, memref<64xf16>
  tirx.return
}"""
    program = tirx.build(text)
    (done,) = program.check(numbers=["normal"])
    assert (done.launches, done.exact) == (1, 0)
    ptx = program.ptx.replace("cvt.rn.", "cvt.rz.")
    with pytest.raises(CheckError, match=r"differ, first %d\[\d+\]: expected [\d.]+, found "):
        check_kernel(ptx, program.kernels["k"].launch, Source(text, None, ""), numbers=["normal"])


def test_sizes_that_a_launch_refuses_leave_room_for_others() -> None:
    """Rows of 1, 129 or 383 elements are no multiples of 16 bytes, as a tensor map has them."""
    text = """
tirx.kernel @k(%a: memref<?x?xf32>, %d: memref<?x?xf32>) target("sm_90a")
    grid(ceildiv(size(0, 1), 32), ceildiv(size(0, 0), 8)) threads(32) {
  %i = tirx.block_id y
  %j = tirx.block_id x
  %s = tirx.alloc : !tirx.tile<8x32xf32, shared>
  tirx.copy %a[%i * 8, %j * 32] clipped, %s engine tma : memref<?x?xf32>, !tirx.tile<8x32xf32, shared>
  tirx.copy %s, %d[%i * 8, %j * 32] clipped : !tirx.tile<8x32xf32, shared>, memref<?x?xf32>
  tirx.return
}"""
    (done,) = tirx.build(text).check(seconds=60)
    assert (done.sizes, done.launches, done.exact) == (6, 12, 12)


def test_sums_whose_order_nobody_knows_are_compared() -> None:
    """The simulator says that it does not know how sm_107a adds, which is no fault of the PTX."""
    text = """
    tirx.kernel @k(%a: memref<128x32xf16>, %b: memref<8x32xf16>, %d: memref<128x8xf32>) grid(1) threads(128) {
      %zero = arith.constant 0.0 : f32
      %x = tirx.alloc copy(%a[0, 0]) : memref<128x32xf16>, !tirx.tile<128x32xf16, shared>
      %y = tirx.alloc copy(%b[0, 0]) : memref<8x32xf16>, !tirx.tile<8x32xf16, shared>
      %s = tirx.alloc : !tirx.tile<128x8xf32, accumulator>
      tirx.fill %s, %zero : f32, !tirx.tile<128x8xf32, accumulator>
      tirx.mma %x, %y, %s : !tirx.tile<128x32xf16, shared>, !tirx.tile<8x32xf16, shared>,
        !tirx.tile<128x8xf32, accumulator>
      tirx.copy %s, %d[0, 0] : !tirx.tile<128x8xf32, accumulator>, memref<128x8xf32>
    }"""
    (checked,) = tirx.build(text, "sm_107a").check(seconds=0.5)
    assert checked.exact


def test_blocks_in_conflict_are_told() -> None:
    """One block alone agrees, more of them read what others write."""
    text = """
    tirx.kernel @k(%d: memref<?xf32>) target("sm_80") grid(%i = ceildiv(size(0, 0), 64)) threads(64) {
      %x = tirx.load %d[%i * 64 + AHEAD] clipped : memref<?xf32> -> !tirx.tile<64xf32, register>
      %y = tirx.map ins(%x : !tirx.tile<64xf32, register>) (%e) { %e + %e } -> !tirx.tile<64xf32, register>
      tirx.store %y, %d[%i * 64] clipped : !tirx.tile<64xf32, register>, memref<?xf32>
    }"""
    said = "; others have no result: <string>:5:7: expected elements of global memory that one block changes to be "
    for ahead, ends in ((0, " s"), (1, f"{said}used by no other, found some")):
        (checked,) = tirx.build(text.replace("AHEAD", str(ahead))).check(seconds=0.3)
        assert checked.launches and str(checked).endswith(ends), str(checked)


def test_one_launch() -> None:
    program = _built(PART, "", "right")
    a, d = np.ones((20, 64), np.float32), np.zeros((20, 32), np.float32)
    checked = program.kernels["k"].check(a, d)
    assert (checked.launches, checked.exact) == (1, 1) and not d.any()
    with pytest.raises(ArgumentError, match="expected dtype float32"):
        program.kernels["k"].check(a.astype(np.float64), d)
    with pytest.raises(ArgumentError, match="^arguments 'a' and 'd': expected arrays that do not overlap"):
        program.kernels["k"].check(a, a.reshape(40, 32)[:20])
    with pytest.raises(ArgumentError, match="argument 'a': expected"):
        program.kernels["k"].check(a[::-1], d)


_FILLED = """
tirx.kernel @k(%a: memref<?xf32>) target("sm_80") grid(ceildiv(size(0, 0), 8)) threads(32) {
  %x = tirx.block_id x
  %c8 = arith.constant 8 : index
  %one = arith.constant 7.0 : f32
  %i = arith.muli %x, %c8 : index
  %g = tirx.view %a[%i] clipped : memref<?xf32> -> !tirx.tile<8xf32, global>
  tirx.fill %g, %one : f32, !tirx.tile<8xf32, global>
  tirx.return
}
"""


def test_a_compilation_is_watched_for_two_sizes() -> None:
    (kernel,) = kernels(embed.parse(_FILLED, "k.mlir"))
    words = [case.words for case in _cases(kernel, None)]
    assert len(words) == 4 and words[0] == words[1] != words[2] == words[3]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("memref<?xf32>", "memref<5000000xf32>", r"expected arrays of at most 4194304 elements, found 5000000"),
        ("%x, %c8", "%none, %c8", r"<string>:9:8: expected numbers .* 'arith.divui' at <string>:6:11, .*, found 0"),
        ("tirx.fill %g, %one : f32, !tirx.tile<8xf32, global>", "", "expected launches that change .*, found none"),
    ],
)
def test_nothing_that_was_compared_is_a_warning(old: str, new: str, why: str) -> None:
    text = _FILLED.replace("grid(ceildiv(size(0, 0), 8))", "grid(1)").replace(old, new)
    text = text.replace("  %one", "  %zero = arith.constant 0 : index\n  %none = arith.divui %x, %zero : index\n  %one")
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        tirx.build(text, verify=True, salt="compared")
    (found,) = [each for each in said if each.rule == "not-compared"]
    assert re.fullmatch(f"nothing was compared of @k: {why}", found.message), found.message
    assert found.location is not None


def test_kernels_in_the_terms_of_the_hardware() -> None:
    """They have no meaning of their own."""
    body = "%t = ptx.read_special tid.x\n  tirx.return"
    kernel = tirx.build(
        f'tirx.kernel @k(%a: memref<64xf32>) target("sm_80") grid(1) threads(32) {{\n  {body}\n}}'
    ).kernels["k"]
    for given in ([], [np.zeros(64, np.float32)]):
        with pytest.raises(CheckError, match="^@k: expected a kernel of the tile or scheduled level, found another"):
            kernel.check(*given)


@pytest.mark.parametrize(
    ("strides", "shape", "found"),
    [
        (None, (2, 3), (12, 4)),
        ([None, 2], (2, 3), (24, 8)),
        ([3, 1], (2, 3), (12, 4)),
        ([0], (0,), (0,)),
        ([0], (4,), "strides of 1 or more, found [0]"),
        ([2, 1], (2, 3), "strides that give each element a place of its own, found [2, 1] for (2, 3)"),
        ([1 << 40], (4,), "arrays within 67108864 elements, found one of strides [1099511627776]"),
    ],
)
def test_arrays_of_strides(strides: Any, shape: tuple[int, ...], found: Any) -> None:
    if isinstance(found, tuple):
        array = _strided(strides, shape, np.dtype(np.float32))
        assert (array.shape, array.strides) == (shape, found) and not array.any()
        return
    with pytest.raises(ValueError, match=f"^expected {re.escape(found)}$"):
        _strided(strides, shape, np.dtype(np.float32))


_NIBBLES = """
tirx.kernel @k(%a: memref<?x64xTYPE>, %b: memref<?x64xTYPE>, %d: memref<?x64xf16>) target("sm_80")
    grid(ceildiv(size(0, 0), 16)) threads(64) {
  %i = tirx.block_id x
  %x = tirx.load %a[%i * 16, 0] clipped : memref<?x64xTYPE> -> !tirx.tile<16x64xTYPE, register>
  %y, %z = tirx.map ins(%x : !tirx.tile<16x64xTYPE, register>) (%e) {
    i4(i32(%e) * 3 + 1), f16(%e)
  } -> !tirx.tile<16x64xTYPE, register>, !tirx.tile<16x64xf16, register>
  tirx.store %y, %b[%i * 16, 0] clipped : !tirx.tile<16x64xTYPE, register>, memref<?x64xTYPE>
  tirx.store %z, %d[%i * 16, 0] clipped : !tirx.tile<16x64xf16, register>, memref<?x64xf16>
}
"""


@pytest.mark.parametrize("element", ["i4", "si4", "ui4"])
def test_integers_of_four_bits(element: str) -> None:
    """Arguments are packed bytes, in which all numbers of the type are found: signs too."""
    program = tirx.build(_NIBBLES.replace("TYPE", element))
    assert [each.exact == each.launches for each in program.check(seconds=0.5)] == [True]
    codes = np.arange(16 * 32, dtype=np.uint8).reshape(16, 32)
    results, wide = np.zeros_like(codes), np.zeros((16, 64), np.float16)
    program.kernels["k"].simulate(codes, results, wide)
    n = np.stack([codes & 15, codes >> 4], -1).reshape(16, 64).astype(np.int64)
    n = n if element == "ui4" else (n ^ 8) - 8
    assert np.array_equal(wide, n)
    found = np.stack([results & 15, results >> 4], -1).reshape(16, 64)
    assert np.array_equal(found, n * 3 + 1 & 15)


def test_a_program_without_its_source() -> None:
    program = Program.from_json(_built(PART, "", "right").to_json())
    with pytest.raises(
        ValueError, match="^expected a program that was compiled by this process, found one without its source$"
    ):
        program.check()


def test_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.mlir"
    path.write_text(PART)
    assert main([str(path), "--numbers", "special", "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{path}: @k: ") and " bit for bit, in " in said and said.count("\n") == 1
    assert main([str(path), "--kernel", "other"]) == 1
    assert "expected a kernel of the file (@k), found other" in capsys.readouterr().err
    path.write_text("tirx.kernel @k(")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:1:")


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ("memref<3000x3000xf32>", "", "@k: expected sizes that the kernel can be launched with, and does something, "
         "found none: expected arrays of at most 4194304 elements, found 9000000\n"),
        ("memref<?x?x?x?x?x?x?x?xf32>", "", "k.mlir: warning: nothing was compared of @k: the kernel writes to no "),
        ("memref<4xf32>", "", "warning: nothing was compared of @k: the kernel writes to no array; 2 launches have "),
        ("memref<4xf32>", "--seconds nan", "error: expected --seconds and --seed of 0 or more, found nan and 0\n"),
        ("memref<4xf32>", "--seed -1", "error: expected --seconds and --seed of 0 or more, found 3.0 and -1\n"),
    ],
)  # fmt: skip
def test_arguments_that_are_huge_or_empty(
    arguments: str, options: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f'tirx.kernel @k(%a: {arguments}) target("sm_80") grid(1) threads(32) {{\n  tirx.return\n}}'
    Path("k.mlir").write_text(text)
    assert main(["k.mlir", *options.split()]) == (0 if "warning" in said else 1)
    assert said in "".join(capsys.readouterr())


_FOLDED = """
!t = !tirx.tile<8x64xi32, register>
tirx.kernel @k(%a: memref<8x64xi32>, %d: memref<8x64xi32>) target("sm_80") grid(1) threads(32) {
  %x = tirx.load %a[0, 0] : memref<8x64xi32> -> !t
  %y = tirx.FOLD ins(%x : !t) dim(1) (%p, %q) { BODY } -> !tirx.tile<RESULT, register>
  tirx.store %y, %d[0, 0] : !tirx.tile<RESULT, register>, memref<8x64xi32>
}
"""


@pytest.mark.parametrize(("fold", "result"), [("scan", "8x64xi32"), ("reduce", "8x1xi32")])
@pytest.mark.parametrize("body", ["%p - %q", "%p * 2 + %q"])
def test_regions_that_are_not_associative(fold: str, result: str, body: str) -> None:
    """Random numbers show that the order in which a target combines is not that of the elements."""
    text = _FOLDED.replace("FOLD", fold).replace("RESULT", result)
    assert tirx.build(text.replace("BODY", "%p + %q")).check(seconds=0.1)[0].exact
    with pytest.raises(CheckError, match="elements of %d differ"):
        tirx.build(text.replace("BODY", body)).check(seconds=0.1)
