"""The programs on which mutants of passes are examined: examples, generated ones, and some of their own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]

_EXAMPLES = (
    "flash_attention grouped_gemm mma_gemm_fp8_output mma_m16n8k16_f16_gemm mma_m8n8k4_f16_gemm norms quantize_mxfp8 "
    "tcgen05_2cta_nvfp4_block_scaled_gemm tcgen05_2cta_ring_gemm tcgen05_a_in_tensor_memory tcgen05_attention "
    "tcgen05_gemm_mn_major tcgen05_sparse_gemm tcgen05_ws_zero_columns wgmma_any_size_gemm wgmma_ring_gemm "
    "wgmma_roles_gemm"
).split()
_GALLERY = (
    ("argmax", "sm_100a"), ("conv2d", "sm_80"), ("cumulative_sum_look_back", "sm_100a"), ("histogram", "sm_90a"),
    ("moe", "sm_90a"), ("paged_decode", "sm_100a"), ("rotary_embedding", None), ("selective_scan", None),
    ("w4a16", "sm_100a"),
)  # fmt: skip
_HANDED_ON = (
    ("read back", "sm_90a"), ("overlapping stores", "sm_80"), ("branches", "sm_100a"), ("hardware", "sm_100a"),
    ("pairs", "sm_90a"), ("while", "sm_100a"),
)  # fmt: skip
_OF_PASSES = (("tirx-split-k", "parts=4"), ("tirx-split-last-round", "split=last multiprocessors=2"))
"""The first programs of tests of passes that run on request."""

_LOOP = "  scf.for %k = %c0 to %n step"
_CHANGED: Mapping[str, Mapping[str, str]] = {
    "tirx-split-last-round": {
        "grid(4, 3)": "grid(3, 3)",
        _LOOP: "  %n64 = arith.muli %n, %c64 : index\n" + _LOOP.replace("%n", "%n64"),
    },
    "mma_gemm_fp8_output": {
        "memref<?x128xbf16>": "memref<?x320xbf16>",
        "memref<128x128xbf16>": "memref<128x320xbf16>",
        "%ck = arith.constant 128": "%ck = arith.constant 320",
    },
    "mma_m16n8k16_f16_gemm": {
        "memref<256x128xf16>": "memref<256x256xf16>",
        "memref<512x128xf16>": "memref<512x256xf16>",
        "to %c128 step": "to %c256 step",
    },
}
"""Words that are others here: loops go round their rings, and an odd number of tiles leaves one for the last round."""

_CASES = (1,)
_LOOPS = 2
_LINALG = """
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#all = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
func.func @f(%a: memref<200x96xf16>, %b: memref<96x136xf16>, %d: memref<200x136xf32>)
    attributes {tirx.kernel = "sm_90a"} {
  linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<200x96xf16>, memref<96x136xf16>) outs(%d : memref<200x136xf32>) {
  ^bb0(%x: f16, %y: f16, %acc: f32):
    %xe = arith.extf %x : f16 to f32
    %ye = arith.extf %y : f16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  func.return
}
func.func @g(%x: memref<?x40xf32>, %d: memref<?xf32>) attributes {tirx.kernel = "sm_90a"} {
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x40xf32>) outs(%d : memref<?xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %f = arith.addf %e, %one : f32
    %s = arith.addf %f, %acc : f32
    linalg.yield %s : f32
  }
  func.return
}
"""
_FEW_OWNERS = """
!h = !tirx.tile<64x64xf16, shared>
!p = !tirx.tile<64x64xf32, accumulator>
tirx.kernel @any_depth(%a: memref<64x?xf16>, %b: memref<64x?xf16>, %d: memref<64x64xf32>)
    target("sm_100a") grid(1) threads(128) {
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
    tirx.copy %b[0, %k] clipped, %sb : memref<64x?xf16>, !h
    tirx.mma %sa, %sb, %p : !h, !h, !p
  }
  tirx.copy %p, %d[0, 0] : !p, memref<64x64xf32>
  tirx.return
}
tirx.kernel @k(%a: memref<128x64xf16>, %b: memref<32x64xf16>, %s: memref<4xf32>, %e: memref<4xf32>,
    %d: memref<128x32xf32>) target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x32xf32, tensor>
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<128x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<32x64xf16> -> !tirx.tile<32x64xf16, global>
  %gs = tirx.view %s[%c0] : memref<4xf32> -> !tirx.tile<4xf32, global>
  %ge = tirx.view %e[%c0] : memref<4xf32> -> !tirx.tile<4xf32, global>
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  tirx.copy %gb, %sb engine cp_async : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
  %zero = arith.constant 0.0 : f32
  tirx.fill %acc, %zero : f32, !tirx.tile<128x32xf32, tensor>
  tirx.mma %sa, %sb, %acc
    : !tirx.tile<128x64xf16, shared>, !tirx.tile<32x64xf16, shared>, !tirx.tile<128x32xf32, tensor>
  %x = tirx.load %gs : !tirx.tile<4xf32, global> -> !tirx.tile<4xf32, register>
  tirx.store %x, %ge : !tirx.tile<4xf32, register>, !tirx.tile<4xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x32xf32, tensor>, !tirx.tile<128x32xf32, global>
  tirx.return
}
!c = !tirx.tile<16x8xf32, register>
tirx.kernel @fragments(%a: memref<16x16xf16>, %b: memref<8x16xf16>, %f: memref<2xi32>, %e: memref<?x?xf16>,
    %d: memref<16x8xf32>)
    target("sm_100a") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7 : i32
  %zero = arith.constant 0.0 : f32
  %x = tirx.load %a[0, 0] : memref<16x16xf16> -> !tirx.tile<16x16xf16, register>
  %y = tirx.load %b[0, 0] : memref<8x16xf16> -> !tirx.tile<8x16xf16, register>
  %z = tirx.splat %zero : f32 -> !c
  memref.store %seven, %f[%c0] : memref<2xi32>
  %p = tirx.mma %x, %y, %z : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !c -> !c
  tirx.signal %f[%c1], %seven : memref<2xi32>
  %w = tirx.load %e[0, 0] clipped : memref<?x?xf16> -> !tirx.tile<16x16xf16, register>
  %q = tirx.mma %w, %y, %p : !tirx.tile<16x16xf16, register>, !tirx.tile<8x16xf16, register>, !c -> !c
  tirx.store %q, %d[0, 0] : !c, memref<16x8xf32>
  tirx.return
}
tirx.kernel @alone(%d: memref<?xi32>, %f: memref<1xi32>) target("sm_100a") grid(1) threads(1) in_order {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7 : i32
  %n = memref.dim %d, %c0 : memref<?xi32>
  tirx.signal %f[%c0], %seven : memref<1xi32>
  %seen = tirx.wait_until %f[%c0] sge, %seven : memref<1xi32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %seen, %d[%i] : memref<?xi32>
  }
  tirx.return
}
"""
"""Four threads store a tile in front of an instruction of whole warps, one a number and a flag, and lanes load what
exists of a tile; a copy by an engine that is written; a block of one thread, which is the first one; and a product of
no iterations, whose sums nobody has written.
"""

_STORED_TWICE = """
tirx.kernel @k(%a: memref<128x64xf16>, %d: memref<128x64xf16>) target("sm_90a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %x = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %y = tirx.view %a[%c64, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %u = tirx.view %d[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  %v = tirx.view %d[%c64, %c0] : memref<128x64xf16> -> !tirx.tile<64x64xf16, global>
  tirx.copy %x, %s : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.copy %s, %u engine tma_store : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, global>
  tirx.copy %y, %s : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.copy %s, %v engine tma_store : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, global>
  tirx.return
}
"""
"""Bulk stores of a shared tile, between which it is written again."""


@dataclass(frozen=True)
class Program:
    """A program that is checked."""

    name: str
    text: str
    options: str = ""
    target: str | None = None


def programs() -> list[Program]:
    """The fixed set."""
    from fuzz.handed_on import random_handed_on  # behind what the caller sets in the environment
    from fuzz.loops import random_loop
    from sweeps.programs import random_case

    def read(path: str) -> str:
        text = (_ROOT / path).read_text().partition("// -----")[0]
        for before, after in _CHANGED.get(Path(path).stem, {}).items():
            text = text.replace(before, after)
        return text

    found = [Program(name, read(f"examples/{name}.mlir")) for name in _EXAMPLES]
    found += [Program(name, read(f"examples/gallery/{name}.mlir"), target=target) for name, target in _GALLERY]
    found += [Program(name, read(f"test/passes/{name}.mlir"), options) for name, options in _OF_PASSES]
    for family, target in _HANDED_ON:
        each = random_handed_on(family, target, random.Random(family))
        found.append(Program(family, each.text, each.options))
    found += [Program(f"case {seed}", random_case(seed).text) for seed in _CASES]
    found += [Program(f"loop {seed}", random_loop(random.Random(seed))) for seed in range(_LOOPS)]
    own = {"few owners": _FEW_OWNERS, "stored twice": _STORED_TWICE, "linalg": _LINALG}
    return [*found, *(Program(name, text) for name, text in own.items())]
