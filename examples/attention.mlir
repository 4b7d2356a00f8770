// Attention, O = softmax(Q K^T / sqrt(64)) V, in f16 for two heads of 128 rows and size 64, as FlashAttention orders it: a block
// has 64 queries in shared memory and goes through the keys 64 at a time, with the sums, the largest scores and the totals of
// rows in registers. The same program is mma.sync on sm_80 and wgmma on sm_90a.
//
//   tirx-opt --lower-to-ptx attention.mlir
//   tirx-opt --lower-to-ptx="target=sm_90a" attention.mlir

!columns = memref<64x256xf16, strided<[1, 64]>>  // V, whose rows are the K of the second product
!global = !tirx.tile<64x64xf16, global>
!shared = !tirx.tile<64x64xf16, shared>
!scores = !tirx.tile<64x64xf32, register>
!weights = !tirx.tile<64x64xf16, register>
!row = !tirx.tile<64x1xf32, register>

tirx.kernel @attention(%q: memref<256x64xf16>, %k: memref<256x64xf16>, %v: !columns, %o: memref<256x64xf16>)
    target("sm_80") grid(2, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.18033688 : f32  // log2(e) / sqrt(64)

  %block = tirx.block_id x
  %head = tirx.block_id y
  %base = arith.muli %head, %c128 : index
  %first = arith.muli %block, %c64 : index
  %m = arith.addi %base, %first : index
  %end = arith.constant 128 : index

  %sq = tirx.alloc : !shared
  %sk = tirx.alloc : !shared
  %sv = tirx.alloc : !shared
  %scores = tirx.alloc : !scores
  %out = tirx.alloc : !scores
  %most = tirx.alloc : !row
  %total = tirx.alloc : !row

  %gq = tirx.view %q[%m, %c0] : memref<256x64xf16> -> !global
  tirx.copy %gq, %sq : !global, !shared
  tirx.fill %out, %zero : f32, !scores
  tirx.fill %most, %low : f32, !row
  tirx.fill %total, %zero : f32, !row
  scf.for %n = %c0 to %end step %c64 {
    %keys = arith.addi %base, %n : index
    %gk = tirx.view %k[%keys, %c0] : memref<256x64xf16> -> !global
    %gv = tirx.view %v[%c0, %keys] : !columns -> !global
    tirx.copy %gk, %sk : !global, !shared
    tirx.copy %gv, %sv : !global, !shared
    tirx.fill %scores, %zero : f32, !scores
    tirx.mma %sq, %sk, %scores : !shared, !shared, !scores

    // The largest score so far, and what it makes of the sums so far.
    %largest = tirx.reduce %scores dim(1) max : !scores -> !row
    %new, %factor = tirx.map ins(%most, %largest : !row, !row) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      %d = arith.subf %a, %c : f32
      %e = arith.mulf %d, %scale : f32
      %f = math.exp2 %e : f32
      tirx.yield %c, %f : f32, f32
    } -> !row, !row
    %weights, %halves = tirx.map ins(%scores, %new : !scores, !row) {
    ^bb0(%a: f32, %b: f32):
      %d = arith.subf %a, %b : f32
      %e = arith.mulf %d, %scale : f32
      %f = math.exp2 %e : f32
      %h = arith.truncf %f : f32 to f16
      tirx.yield %f, %h : f32, f16
    } -> !scores, !weights
    %sums = tirx.reduce %weights dim(1) add : !scores -> !row
    tirx.map ins(%total, %factor, %sums : !row, !row, !row) outs(%total : !row) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = math.fma %a, %b, %c : f32
      tirx.yield %d : f32
    }
    tirx.map ins(%out, %factor : !scores, !row) outs(%out : !scores) {
    ^bb0(%a: f32, %b: f32):
      %d = arith.mulf %a, %b : f32
      tirx.yield %d : f32
    }
    tirx.copy %new, %most : !row, !row
    tirx.mma %halves, %sv, %out : !weights, !shared, !scores
  }

  %result = tirx.map ins(%out, %total : !scores, !row) {
  ^bb0(%a: f32, %b: f32):
    %d = arith.divf %a, %b : f32
    %h = arith.truncf %d : f32 to f16
    tirx.yield %h : f16
  } -> !weights
  %go = tirx.view %o[%m, %c0] : memref<256x64xf16> -> !global
  tirx.copy %result, %go : !weights, !global
  tirx.return
}

// The same for queries that see the keys up to their own only: blocks of keys behind them are not read.

tirx.kernel @causal_attention(%q: memref<256x64xf16>, %k: memref<256x64xf16>, %v: !columns, %o: memref<256x64xf16>)
    target("sm_80") grid(2, 2) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -1.0e30 : f32
  %scale = arith.constant 0.18033688 : f32  // log2(e) / sqrt(64)

  %block = tirx.block_id x
  %head = tirx.block_id y
  %base = arith.muli %head, %c128 : index
  %first = arith.muli %block, %c64 : index
  %m = arith.addi %base, %first : index
  %end = arith.addi %first, %c64 : index

  %sq = tirx.alloc : !shared
  %sk = tirx.alloc : !shared
  %sv = tirx.alloc : !shared
  %scores = tirx.alloc : !scores
  %out = tirx.alloc : !scores
  %most = tirx.alloc : !row
  %total = tirx.alloc : !row

  %gq = tirx.view %q[%m, %c0] : memref<256x64xf16> -> !global
  tirx.copy %gq, %sq : !global, !shared
  tirx.fill %out, %zero : f32, !scores
  tirx.fill %most, %low : f32, !row
  tirx.fill %total, %zero : f32, !row
  scf.for %n = %c0 to %end step %c64 {
    %keys = arith.addi %base, %n : index
    %gk = tirx.view %k[%keys, %c0] : memref<256x64xf16> -> !global
    %gv = tirx.view %v[%c0, %keys] : !columns -> !global
    tirx.copy %gk, %sk : !global, !shared
    tirx.copy %gv, %sv : !global, !shared
    tirx.fill %scores, %zero : f32, !scores
    tirx.mma %sq, %sk, %scores : !shared, !shared, !scores
    tirx.map ins(%scores : !scores) outs(%scores : !scores) {
    ^bb0(%a: f32):
      %i = tirx.index 0
      %j = tirx.index 1
      %row = arith.addi %i, %first : index
      %column = arith.addi %j, %n : index
      %seen = arith.cmpi uge, %row, %column : index
      %b = arith.select %seen, %a, %low : f32
      tirx.yield %b : f32
    }

    // The largest score so far, and what it makes of the sums so far.
    %largest = tirx.reduce %scores dim(1) max : !scores -> !row
    %new, %factor = tirx.map ins(%most, %largest : !row, !row) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      %d = arith.subf %a, %c : f32
      %e = arith.mulf %d, %scale : f32
      %f = math.exp2 %e : f32
      tirx.yield %c, %f : f32, f32
    } -> !row, !row
    %weights, %halves = tirx.map ins(%scores, %new : !scores, !row) {
    ^bb0(%a: f32, %b: f32):
      %d = arith.subf %a, %b : f32
      %e = arith.mulf %d, %scale : f32
      %f = math.exp2 %e : f32
      %h = arith.truncf %f : f32 to f16
      tirx.yield %f, %h : f32, f16
    } -> !scores, !weights
    %sums = tirx.reduce %weights dim(1) add : !scores -> !row
    tirx.map ins(%total, %factor, %sums : !row, !row, !row) outs(%total : !row) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = math.fma %a, %b, %c : f32
      tirx.yield %d : f32
    }
    tirx.map ins(%out, %factor : !scores, !row) outs(%out : !scores) {
    ^bb0(%a: f32, %b: f32):
      %d = arith.mulf %a, %b : f32
      tirx.yield %d : f32
    }
    tirx.copy %new, %most : !row, !row
    tirx.mma %halves, %sv, %out : !weights, !shared, !scores
  }

  %result = tirx.map ins(%out, %total : !scores, !row) {
  ^bb0(%a: f32, %b: f32):
    %d = arith.divf %a, %b : f32
    %h = arith.truncf %d : f32 to f16
    tirx.yield %h : f16
  } -> !weights
  %go = tirx.view %o[%m, %c0] : memref<256x64xf16> -> !global
  tirx.copy %result, %go : !weights, !global
  tirx.return
}
