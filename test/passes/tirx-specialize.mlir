// RUN: tirx-opt %s | filecheck %s --check-prefix=PRINTED
// RUN: tirx-opt %s | tirx-opt | filecheck %s --check-prefix=PRINTED
// RUN: tirx-opt --tirx-specialize %s | filecheck %s --check-prefix=DEFAULT
// RUN: tirx-opt --tirx-specialize="BM=64 ORDER=row" %s | filecheck %s --check-prefix=BOUND
// RUN: tirx-opt --lower-to-ptx="BN=128 BM=64" %s | filecheck %s --check-prefix=PTX

// Parameters stand in extents, the grid, threads, values, formulas and attributes; binding makes numbers of them.

!sa = !tirx.tile<[BM]x64xf16, shared>
!sb = !tirx.tile<[BN]x64xf16, shared>
!acc = !tirx.tile<[BM]x[BN]xf32, register>

// PRINTED-LABEL: tirx.kernel @gemm(%a: memref<512x256xf16>, %b: memref<512x256xf16>, %d: memref<512x512xf32>) target("sm_90a")
// PRINTED-SAME:    params(BM in [128, 64], BN in [256, 128], K = size(0, 1) in [128, 256], ORDER in ["group", "row"])
// PRINTED-SAME:    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2) attributes {tirx.order = #tirx.size<ORDER>}
// PRINTED:         tirx.param BM : index
// PRINTED:         tirx.alloc : !tirx.tile<[BM]x64xf16, shared>
// PRINTED:         tirx.alloc : !tirx.tile<[BM]x[BN]xf32, register>

// DEFAULT-LABEL: tirx.kernel @gemm(
// DEFAULT-SAME:    grid(ceildiv(size(2, 1), 256), ceildiv(size(2, 0), 128)) threads(256) attributes {tirx.order = "group", tirx.params = {BM = 128 : i64, BN = 256 : i64, K = 256 : i64, ORDER = "group"}}
// DEFAULT:         %bm = arith.constant 128 : index
// DEFAULT:         %bn = arith.constant 256 : index
// DEFAULT:         %k_end = arith.constant 256 : index
// DEFAULT:         tirx.alloc : !tirx.tile<128x64xf16, shared>
// DEFAULT:         {tirx.stages = 3 : i64}

// BOUND-LABEL: tirx.kernel @gemm(
// BOUND-SAME:    grid(ceildiv(size(2, 1), 256), ceildiv(size(2, 0), 64)) threads(128) attributes {tirx.order = "row", tirx.params = {BM = 64 : i64, BN = 256 : i64,
// BOUND:         tirx.alloc : !tirx.tile<64x256xf32, register>

// PTX: .entry gemm
// PTX: wgmma.mma_async.sync.aligned.m64n128k16
tirx.kernel @gemm(%a: memref<512x256xf16>, %b: memref<512x256xf16>, %d: memref<512x512xf32>) target("sm_90a")
    params(BM in [128, 64], BN in [256, 128], K = size(0, 1) in [128, 256], ORDER in ["group", "row"])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2) attributes {tirx.order = #tirx.size<ORDER>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %k_end = tirx.param K : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %k_end step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<512x256xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<512x256xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !sa
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  } {tirx.stages = 3}
  %gd = tirx.view %d[%m, %n] : memref<512x512xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}

// A kernel with parameters calls functions, which are verified with it.

// DEFAULT-LABEL: tirx.kernel @calls(
// DEFAULT:         %r = arith.constant 3 : i32
// DEFAULT-NEXT:    func.call @twice(%r) : (i32) -> i32
tirx.kernel @calls(%n: i32) target("sm_90a") params(R in [3, 5]) grid(1) threads(32) {
  %r = tirx.param R : i32
  %s = func.call @twice(%r) : (i32) -> i32
  tirx.return
}

func.func private @twice(%n: i32) -> i32 {
  %r = arith.addi %n, %n : i32
  func.return %r : i32
}
