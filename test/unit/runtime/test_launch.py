"""Launch descriptors: what is read from entries, formulas, JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.cases import together

import tirx
from tirx.diagnostics import LocatedError
from tirx.dialects.formula import Call, LaunchSizes
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.describe import describe
from tirx.runtime.launch import (
    ComputedArgument,
    Launch,
    PointerArgument,
    Precondition,
    ScalarArgument,
    TensorMapArgument,
    read_launches,
    write_launches,
)
from tirx.text.parsing import parse_located
from tirx.tools import tirx_opt
from tirx.tools.flags import parse_flags
from tirx.universe import new_context

EXAMPLES = Path(__file__).parents[3] / "examples"

ENTRY = """
ptx.entry @copy(a : u64 ptr align 16 from memref<?x8xf16>, b : u64 ptr align 16 from memref<4x8xf32, strided<[16, 1]>>,
                n : s32, m : u64 from #ptx.formula<size(0, 0)>, p : u64 ptr align 4, q : u64 ptr)
    target("sm_90a") grid(ceildiv(size(0, 0), 8), sm_count()) reqntid(64) cluster(2) {
  %a = ptx.ld.param @a : i64
  %b = ptx.ld.param @b : i64
  %p = ptx.ld.param @p : i64
  %0 = ptx.ld global %a : i64 -> f32
  ptx.bra ^loop(%b : i64)
^loop(%at : i64):
  ptx.st global %at, %0 : i64, f32
  %1 = ptx.ld global %p : i64 -> f32
  ptx.st global %p, %1 : i64, f32
  %never = ptx.constant false
  ptx.cond_bra %never, ^loop(%at : i64), ^end
^end:
  ptx.ret
}
"""

LAUNCH = Launch(
    "copy",
    "sm_90a",
    (Call("ceildiv", (Call("size", (0, 0)), 8)), Call("sm_count"), 1),
    (64, 1, 1),
    (2, 1, 1),
    0,
    (
        PointerArgument("a", "f16", (None, 8), (8, 1), 16, "read"),
        PointerArgument("b", "f32", (4, 8), (16, 1), 16, "write"),
        ScalarArgument("n", "s32"),
        ComputedArgument("m", "u64", Call("size", (0, 0))),
        PointerArgument("p", None, None, None, 4, "read_write"),
        PointerArgument("q", None, None, None, 1, "none"),
    ),
)


def launches_of(text: str) -> tuple[Launch, ...]:
    return describe(parse_located(new_context(), text))


def test_an_entry_says_how_to_launch_it() -> None:
    assert launches_of(ENTRY) == (LAUNCH,)
    assert [argument.name for argument in LAUNCH.passed] == ["a", "b", "n", "p", "q"]
    assert [a.is_written for a in LAUNCH.passed if isinstance(a, PointerArgument)] == [False, True, True, False]


def test_an_entry_may_say_nothing() -> None:
    (launch,) = launches_of('ptx.entry @k() target("sm_80") {\n  ptx.ret\n}')
    assert launch == Launch("k", "sm_80", None, None, (1, 1, 1), 0, ())


MAPS = """
ptx.entry @copy(a : u64 ptr align 16 from memref<?x64xf16, strided<[?, 1]>>,
                d : u64 ptr align 16 from memref<?x64xf16>,
                from : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "f16", dims = [64, size(0, 0)],
                  strides = [mul(stride(0, 0), 2)], box = [64, 64], swizzle = "128B">,
                to : b8[128] align 64 from #tirx.tensor_map<argument = 1, type = "f16", dims = [64, size(1, 0)],
                  strides = [128], box = [64, 64], swizzle = "128B">)
    target("sm_90a") grid(1) reqntid(128) {
  %from = ptx.param_address @from
  %to = ptx.param_address @to
  %at = ptx.shared_alloc @tile bytes 8192 align 1024
  %barrier = ptx.shared_alloc @barrier bytes 8 align 8
  %c0 = ptx.constant 0 : i32
  ptx.cp.async.bulk.tensor.load "shared::cta" %at, %from[%c0, %c0], %barrier
  ptx.cp.async.bulk.tensor.store %to[%c0, %c0], %at
  ptx.ret
}
"""


def test_tensor_maps() -> None:
    (launch,) = launches_of(MAPS)
    stride = Call("mul", (Call("stride", (0, 0)), 2))
    assert launch.arguments == (
        PointerArgument("a", "f16", (None, 64), (None, 1), 16, "read"),
        PointerArgument("d", "f16", (None, 64), (64, 1), 16, "write"),
        TensorMapArgument("from", 0, "f16", (64, Call("size", (0, 0))), (stride,), (64, 64), "128B"),
        TensorMapArgument("to", 1, "f16", (64, Call("size", (1, 0))), (128,), (64, 64), "128B"),
    )
    of, to = (f"along dimension 1 of tensor map '{name}'" for name in ("from", "to"))
    limits = {
        f"expected at most 4294967296 elements {of}": ((2**32 + 1, 64), (2**32, 64)),
        f"expected a stride of a multiple of 16 bytes {of}": ((9, 68), (9, 72)),
        f"expected a stride of at most {2**40 - 16} bytes {of}": ((9, 2**39), (9, 2**39 - 8)),
        f"expected 1 element or more {to}, which the kernel stores to": ((0, 64), (1, 64)),
        f"expected at most 4294967296 elements {to}": ((2**32 + 1, 64), (2**32, 64)),
    }
    assert [condition.message for condition in launch.preconditions] == list(limits)
    for condition, cases in zip(launch.preconditions, limits.values(), strict=True):
        holds = [condition.holds(LaunchSizes([(rows, 64)] * 2, [(stride, 1)] * 2, 1)) for rows, stride in cases]
        assert holds == [False, True], condition.message


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("map : b8[128] align 64", "expected parameters that a launch can pass, found 'map' of 128 bytes"),
        ("a : u64 ptr from memref<8xi3>", "parameter 'a': unknown element type 'i3'"),
        (
            "a : u64 ptr from memref<8xf32, affine_map<(d0) -> (d0 floordiv 2)>>",
            "expected a memref with strides for parameter 'a'",
        ),
    ],
)
def test_parameters_that_no_launch_passes(parameter: str, message: str) -> None:
    with pytest.raises(LocatedError, match="(?s)<unknown>:1:1: error: .*" + message.replace("[", r"\[")):
        launches_of(f'ptx.entry @k({parameter}) target("sm_90") {{\n  ptx.ret\n}}')


def test_json_is_read_back() -> None:
    precondition = Precondition(Call("stride", (0, 0)), "multiple_of", 8, "expected rows of 16 bytes")
    tensor_map = TensorMapArgument(
        "map", 0, "f16", (8, Call("size", (0, 0))), (Call("mul", (2, 8)),), (8, 64), "128B", "nan", "none"
    )
    rich = Launch("k", "sm_90a", None, None, (1, 1, 1), 4096, (*LAUNCH.arguments, tensor_map), (precondition,))
    text = write_launches([LAUNCH, rich])
    assert read_launches(text) == (LAUNCH, rich)
    assert json.loads(text)["kernels"][0]["grid"] == [["ceildiv", ["size", 0, 0], 8], ["sm_count"], 1]


_POINTER = {"kind": "pointer", "name": "a", "element": "f16", "shape": [8, None], "strides": [None, 1]}
_MAP = {
    "kind": "tensor_map",
    "name": "map",
    "argument": 0,
    "element": "f16",
    "shape": [["size", 0, 1], 8],
    "strides": [["mul", ["stride", 0, 0], 2]],
    "box": [8, 8],
}


@together(
    ("change", "message"),
    [
        ({"grid": [1, 2]}, "expected three extents"),
        ({"block": [32, 1]}, r"expected three extents, found \[32, 1\]"),
        ({"block": [32, True, 1]}, r"expected extents of 1 or more, found \[32, True, 1\]"),
        ({"cluster": [1, 0, 1]}, r"expected extents of 1 or more, found \[1, 0, 1\]"),
        ({"grid": [1, 2, True]}, "expected a formula, found True"),
        ({"grid": [1, 2, "3"]}, "expected a formula, found 3"),
        (
            {"grid": [1, 2, ["half", 1, 2]]},
            "expected a function of size, stride, sm_count, cluster_count, add",
        ),
        ({"arguments": [{"kind": "texture"}]}, "expected an argument of pointer, scalar, computed, tensor_map"),
        ({"arguments": [{"kind": "scalar"}]}, "found one with a fault"),
        (
            {"arguments": [{"kind": "pointer", "name": "a", "element": "f32", "shape": [8, 4], "strides": [4]}]},
            "expected as many strides as extents, found 1 of a",
        ),
        ({"entry": 5}, r"expected names and bytes, found \[5, 'sm_90a', "),
        (
            {"arguments": [{"kind": "workspace", "name": "w", "bytes": -1}]},
            "expected another value of 'bytes', found -1",
        ),
        (
            {"arguments": [{"kind": "pointer", "name": "a", "element": "f32", "shape": 8, "strides": [1]}]},
            "expected another value of 'shape', found 8",
        ),
        (
            {"arguments": [_POINTER, _MAP | {"swizzle": "p"}]},
            "expected another value of 'swizzle', found 'p'",
        ),
        ({"arguments": [_POINTER, _MAP | {"box": [8, 0]}]}, r"expected another value of 'box', found \(8, 0\)"),
        ({"arguments": [_POINTER, _MAP | {"strides": []}]}, "expected sizes, strides, a box and steps of one tensor"),
        (
            {"arguments": [_POINTER, _MAP | {"argument": 1}]},
            "expected the number of a pointer of one dimension or more",
        ),
        ({"arguments": [_POINTER], "grid": [["size", 0, 2], 1, 1]}, r"expected an argument that has size\(0, 2\)"),
        ({"variants": [{"entry": None, "conditions": []}]}, "expected the name of an entry, found None"),
        ({"preconditions": [{"value": 1, "test": "odd", "bound": 1, "message": ""}]}, "expected a test of multiple_of"),
    ],
)
def test_wrong_json(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Launch.from_json(LAUNCH.to_json() | change)


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="expected launch descriptors of format 1"):
        read_launches('{"format": 0}')
    with pytest.raises(ValueError, match="expected a list of kernels, found None"):
        read_launches('{"format": 1}')


def test_tirx_opt_writes_descriptors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ptx, described = tmp_path / "k.ptx", tmp_path / "k.json"
    source = str(EXAMPLES / "mma_m8n8k4_f64_gemm.mlir")
    assert tirx_opt.main(["--lower-to-ptx", source, "-o", str(ptx), f"--launch={described}"]) == 0
    (launch,) = read_launches(described.read_text())
    assert (launch.entry, launch.grid, launch.block) == ("dgemm", (3, 4, 1), (128, 1, 1))
    assert tirx_opt.main([source, f"--launch={described}"]) == 1
    assert "expected --launch with one module of PTX as output" in capsys.readouterr().err
    assert tirx_opt.main(["--lower-to-ptx", source, "-o", str(ptx), f"--launch={tmp_path}/./k.ptx"]) == 1
    assert "expected PTX and launch descriptors in two files, found" in capsys.readouterr().err
    assert parse_flags(["--lower-to-ptx", source, "-o", os.devnull, f"--launch={os.devnull}"]).launch_path == os.devnull


_K = """
tirx.kernel @k(%a: memref<16x6xf64>, %b: memref<8x?xf64, strided<[16, 1]>>, %d: memref<16x8xf64>)
    target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %size = memref.dim %a, %c1 : memref<16x6xf64>
  %zero = arith.constant 0.0 : f64
  %acc = tirx.alloc : !tirx.tile<16x8xf64, register>
  tirx.fill %acc, %zero : f64, !tirx.tile<16x8xf64, register>
  scf.for %k = %c0 to %size step %c4 {
    %ga = tirx.view %a[%c0, %k] clipped : memref<16x6xf64> -> !tirx.tile<16x4xf64, global>
    %gb = tirx.view %b[%c0, %k] clipped : memref<8x?xf64, strided<[16, 1]>> -> !tirx.tile<8x4xf64, global>
    %ra = tirx.load %ga : !tirx.tile<16x4xf64, global> -> !tirx.tile<16x4xf64, register>
    %rb = tirx.load %gb : !tirx.tile<8x4xf64, global> -> !tirx.tile<8x4xf64, register>
    tirx.mma %ra, %rb, %acc : !tirx.tile<16x4xf64, register>, !tirx.tile<8x4xf64, register>,
      !tirx.tile<16x8xf64, register>
  }
  %gd = tirx.view %d[%c0, %c0] : memref<16x8xf64> -> !tirx.tile<16x8xf64, global>
  tirx.copy %acc, %gd : !tirx.tile<16x8xf64, register>, !tirx.tile<16x8xf64, global>
  tirx.return
}
"""


def test_sizes_that_a_product_needs_to_agree_are_a_precondition() -> None:
    """The smaller matrix is not filled up with zeros."""
    kernel = tirx.build(_K).kernels["k"]
    a, b, d = np.ones((16, 6)), np.ones((8, 16)), np.zeros((16, 8))
    kernel.simulate(a, b[:, :6], d)
    assert (d == 6).all()
    with pytest.raises(ArgumentError, match="expected one size along the last dimension of 'a' and 'b', which is K"):
        kernel.simulate(a, b[:, :4], d)
