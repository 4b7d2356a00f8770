"""Launches that are made up: sizes, arguments, those that are left out, and what is said where none is left."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from unit.examples import EXAMPLES
from unit.runtime.test_check import PART

import tirx
from tirx import embed
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.tirx import kernels
from tirx.runtime.check import Source, check_kernel
from tirx.runtime.check_arguments import _strided, arguments_of, integers_of  # pyright: ignore[reportPrivateUsage]
from tirx.runtime.check_sizes import Sizes
from tirx.runtime.watch import _cases  # pyright: ignore[reportPrivateUsage]
from tirx.text.verification import CheckError
from tirx.tools.tirx_check import main

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


@together(
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


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ("memref<3000x3000xf32>", "", "@k: expected sizes that the kernel can be launched with, and does something, "
         "found none: expected arrays of at most 4194304 elements, found 9000000\n"),
        ("memref<?x?x?x?x?x?x?x?xf32>", "", "k.mlir: warning: nothing was compared of @k: the kernel writes to no "),
        ("memref<4xf32>", "", "warning: nothing was compared of @k: the kernel writes to no array; 2 launches have "),
        ("memref<4xf32>", "--seconds 0 --seed 0", "warning: nothing was compared of @k: the kernel writes to no array"),
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


_WIDENED = """
tirx.kernel @k(%a: memref<256xi16>, %b: memref<256xui32>, %d: memref<256xi32>, %e: memref<256xi64>)
    target("sm_80") grid(1) threads(64) {
  %x = tirx.load %a[0] : memref<256xi16> -> !tirx.tile<256xi16, register>
  %y = tirx.map ins(%x : !tirx.tile<256xi16, register>) (%n) { i32(%n) * 3 } -> !tirx.tile<256xi32, register>
  tirx.store %y, %d[0] : !tirx.tile<256xi32, register>, memref<256xi32>
  %u = tirx.load %b[0] : memref<256xui32> -> !tirx.tile<256xui32, register>
  %v = tirx.map ins(%u : !tirx.tile<256xui32, register>) (%n) { i64(%n) } -> !tirx.tile<256xi64, register>
  tirx.store %v, %e[0] : !tirx.tile<256xi64, register>, memref<256xi64>
}
"""


def test_extremes_of_integers() -> None:
    """They show an extension by the wrong sign, which small numbers do not."""
    program = tirx.build(_WIDENED)
    (done,) = program.check(seconds=0.5)
    assert done.exact == done.launches == 2
    (kernel,) = kernels(embed.parse(_WIDENED, "k.mlir"))
    assert integers_of(kernel, "integers") == ("few", "positive")
    assert integers_of(kernel, "normal") == ("any", "few", "positive")
    sizes = Sizes(((256,),) * 4, ())
    for array, few in zip(*(arguments_of(kernel, sizes, "normal", 0, each) for each in ("any", "few")), strict=True):
        limits = np.iinfo(array.dtype)
        assert {0, 1, 2, limits.min, limits.max} <= {*array.tolist()} and {*few.tolist()} == {0, 1, 2}
    launch = program.kernels["k"].launch
    for right, wrong in (("cvt.s32.s16", "cvt.u32.u16"), ("cvt.u64.u32", "cvt.s64.s32")):
        assert right in program.ptx
        ptx = program.ptx.replace(right, wrong)
        assert check_kernel(ptx, launch, Source(_WIDENED, None, ""), numbers=["integers"]).launches == 1
        with pytest.raises(CheckError, match="elements of %[de] differ"):
            check_kernel(ptx, launch, Source(_WIDENED, None, ""))


def test_places_are_small_where_extremes_have_no_result() -> None:
    """Rows that do not exist are no reason to compare fewer launches."""
    text = """
    tirx.kernel @k(%ids: memref<1xi32>, %a: memref<4x64xf32>, %d: memref<1x64xf32>) target("sm_80")
        grid(%i = 1) threads(64) {
      %n = memref.load %ids[%i] : memref<1xi32>
      %row = arith.index_cast %n : i32 to index
      %x = tirx.load %a[%row, 0] : memref<4x64xf32> -> !tirx.tile<1x64xf32, register>
      tirx.store %x, %d[0, 0] : !tirx.tile<1x64xf32, register>, memref<1x64xf32>
    }"""
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    sizes = Sizes(((1,), (4, 64), (1, 64)), ())
    seed = next(n for n in range(99) if abs(int(arguments_of(kernel, sizes, "normal", n, "any")[0][0])) > 3)
    (done,) = tirx.build(text).check(seconds=0.2, seed=seed)
    assert done.exact == done.launches == 2


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_extremes_of_floats(element: str) -> None:
    """They are among special numbers."""
    text = f"""
    tirx.kernel @k(%a: memref<64x64x{element}>, %d: memref<64x64x{element}>) target("sm_90") grid(1) threads(64) {{
      %x = tirx.load %a[0, 0] : memref<64x64x{element}> -> !tirx.tile<64x64x{element}, register>
      %y = tirx.map ins(%x : !tirx.tile<64x64x{element}, register>) (%e) {{ %e * %e + %e }}
        -> !tirx.tile<64x64x{element}, register>
      tirx.store %y, %d[0, 0] : !tirx.tile<64x64x{element}, register>, memref<64x64x{element}>
    }}"""
    program = tirx.build(text)
    (done,) = program.check(numbers=["special"], seconds=0.2)
    assert done.exact == done.launches == 1
    (kernel,) = kernels(embed.parse(text, "k.mlir"))
    (array, _) = arguments_of(kernel, Sizes(((64, 64),) * 2, ()), "special", 0)
    finfo: Any = ml_dtypes.finfo
    limits = finfo(array.dtype)
    found = {*array.reshape(-1).astype(np.float64).tolist()}
    assert {float(limits.max), -float(limits.max), float(limits.smallest_subnormal), np.inf, -np.inf} <= found


def test_zero_columns_of_what_is_no_number() -> None:
    """They count as zeros, by which A is multiplied: infinities of A are seen."""
    text = (EXAMPLES / "tcgen05_ws_zero_columns.mlir").read_text()
    (checked,) = tirx.build(text).check(numbers=["special"], seconds=0.1)
    assert checked.launches == 1
