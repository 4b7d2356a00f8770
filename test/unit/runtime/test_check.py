"""Programs against their own PTX: they agree, and a compiler with a fault is found out, with the pass that has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from unit.examples import EXAMPLES
from xdsl.dialects.builtin import UNKNOWN_LOC

import tirx
from tirx.diagnostics import Diagnostic
from tirx.dialects.definition import i32_attr
from tirx.dialects.tirx import KernelOp, SubviewOp, kernels
from tirx.passes.checks.tirx_check_synchronization import TirxCheckSynchronizationPass
from tirx.passes.copies import tirx_insert_barriers
from tirx.passes.copies.tirx_fold_subviews import TirxFoldSubviewsPass
from tirx.passes.scalars.convert_arith_to_ptx import ConvertArithToPtxPass
from tirx.runtime import Kernel, Program, comparison, program
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.check import Source, _Compiled, _tile_kernel, _watched, check_kernel  # pyright: ignore[reportPrivateUsage]
from tirx.runtime.check_sizes import sizes_of
from tirx.text.verification import CheckError, InvalidPassOutputError
from tirx.tools import tirx_check, tirx_opt
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


def test_bytes_that_are_no_text(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(b"// caf\xe9\n")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:1:7: error: expected UTF-8 text, found byte 0xe9")


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


def test_a_static_kernel_is_checked_in_other_schedules() -> None:
    """As the command does; options that name the schedule stay."""
    text = _STORES.replace("TARGET", "sm_90a")
    (checked,) = tirx.build(text).check(seconds=20)
    assert str(checked).endswith("; also with order=row and multiprocessors=2")
    assert tirx.build(text, options="order=row").kernels["k"].check(seconds=20).also == ()  # the same PTX


@together(
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


def test_kernels_in_the_terms_of_the_hardware() -> None:
    """They have no meaning of their own."""
    body = "%t = ptx.read_special tid.x\n  tirx.return"
    kernel = tirx.build(
        f'tirx.kernel @k(%a: memref<64xf32>) target("sm_80") grid(1) threads(32) {{\n  {body}\n}}'
    ).kernels["k"]
    for given in ([], [np.zeros(64, np.float32)]):
        with pytest.raises(CheckError, match="^@k: expected a kernel of the tile or scheduled level, found another"):
            kernel.check(*given)


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
    for word in ("--seconds=-1", "--seed=-1", "--seconds=nan"):
        assert main([str(path), word]) == 1
        assert capsys.readouterr().err.startswith("error: expected --seconds and --seed of 0 or more, found ")
    assert main([str(path), "--seconds", "0", "--seed", "0"]) == 0
    capsys.readouterr()
    path.write_text("tirx.kernel @k(")
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:1:")


def test_what_the_command_says_of_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A long change is cut off; a fault of a pass is one of who wrote it."""
    path = tmp_path / "part.mlir"
    path.write_text(PART)
    lines = [f"line {i}" for i in range(200)]
    most = tirx_check._MOST_LINES  # pyright: ignore[reportPrivateUsage]
    for count in (most - 1, most, most + 1):
        error = CheckError("@k, x", "y", "\n".join(lines[:count]))
        monkeypatch.setattr(Kernel, "check", Mock(side_effect=error))
        assert main([str(path)]) == 1
        shown = capsys.readouterr().out.splitlines()[1:]
        assert shown == lines[: min(count, most)] + (["... and 1 lines more"] if count > most else [])
    wrong = InvalidPassOutputError(["toy"], Diagnostic("error", "expected more", UNKNOWN_LOC))
    monkeypatch.setattr(tirx_check, "_check", Mock(side_effect=wrong))
    assert main([str(path)]) == 2
    assert capsys.readouterr().err == f"internal error: {wrong}\nThis is a bug in {wrong.culprit}.\n"


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


def test_passes_behind_parameters_are_compared() -> None:
    """A kernel with parameters has no meaning until a pass binds them: the span of a fault begins behind that."""
    text = (EXAMPLES / "gallery" / "w4a16.mlir").read_text()
    source = Source(text, "sm_100a", "")
    launch = tirx.build(text, "sm_100a").kernels["w4a16"].launch
    compiled = _Compiled("", launch, source, *_tile_kernel(source, "w4a16"))
    size = next(each for each in sizes_of(compiled.tile, 0) if each.shapes[0] == (7, 512))
    culprit, _ = _watched(source, "w4a16", compiled.case(size, "integers", 0))
    assert culprit == "the lowering behind tirx-check-rings differs"
