// tirx-opt --tirx-expand-exchanges
// 3:8: error: expected a layout on !tirx.tile<32x32xf32, register>; tirx-pick-layouts chooses one
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !tirx.tile<32x32xf32, register>
  %b = tirx.reduce %a dim(1) add : !tirx.tile<32x32xf32, register> -> !tirx.tile<32x1xf32, register>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 2:8: error: expected a layout on every tile before convert-tirx-to-ptx, found 'tirx.zero'; run tirx-pick-layouts first
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !tirx.tile<32x32xf32, register>
  %b = tirx.reduce %a dim(1) add : !tirx.tile<32x32xf32, register> -> !tirx.tile<32x1xf32, register>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 3:8: error: expected a reduction within warps; run tirx-expand-exchanges first
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.zero : !tirx.tile<1x128xf32, register, #tirx.tile_layout<S[(1, 128) : (1, 1@tid_in_wg)]>>
  %b = tirx.reduce %a dim(1) add : !tirx.tile<1x128xf32, register, #tirx.tile_layout<S[(1, 128) : (1, 1@tid_in_wg)]>> -> !tirx.tile<1x1xf32, register, #tirx.tile_layout<S[(1, 1) : (1, 1)] + R[128 : 1@tid_in_wg]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 3:8: error: expected a change of layout within warps; run tirx-expand-exchanges first
tirx.kernel @k() target("sm_90a") threads(64) {
  %a = tirx.zero : !tirx.tile<64x2xf32, register, #tirx.tile_layout<S[(2, 32, 2) : (1@warpid, 1@laneid, 1)]>>
  %b = tirx.convert %a : !tirx.tile<64x2xf32, register, #tirx.tile_layout<S[(2, 32, 2) : (1@warpid, 1@laneid, 1)]>> -> !tirx.tile<64x2xf32, register, #tirx.tile_layout<S[(32, 2, 2) : (1@laneid, 1@warpid, 1)]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 3:8: error: expected a layout on !tirx.tile<32x4xf32, register>; tirx-pick-layouts chooses one
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>
  %b = tirx.map ins(%a : !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>) {
  ^bb(%x: f32):
    %y = arith.addf %x, %x : f32
    tirx.yield %y : f32
  } -> !tirx.tile<32x4xf32, register>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 1:1: error: expected a target, such as target("sm_100a"), on the kernel or on the command line
tirx.kernel @k() threads(32) {
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 1:1: error: expected the name of a kernel to be a PTX identifier ([A-Za-z][A-Za-z0-9_$]*|[_$][A-Za-z0-9_$]+), found '1k'
tirx.kernel @"1k"() target("sm_90a") threads(32) {
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 2:8: error: expected a place in shared memory; tirx-allocate-memory chooses it
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.alloc : !tirx.tile<32x4xf32, shared, #tirx.tile_layout<S[32, 4]>>
  %z = tirx.load %a : !tirx.tile<32x4xf32, shared, #tirx.tile_layout<S[32, 4]>> -> !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 2:8: error: expected a place in tensor memory; tirx-allocate-memory chooses it
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

// tirx-opt --tirx-pipeline-loops
// 1:1: error: expected a target, such as target("sm_100a"), on the kernel or on the command line
tirx.kernel @k() threads(128) {
  tirx.return
}

// -----

// tirx-opt --tirx-pipeline-loops=stages=0
// 1:1: error: expected stages to be auto or 1 or more, found 0
tirx.kernel @k() target("sm_90a") threads(128) {
  tirx.return
}

// -----

// tirx-opt --tirx-expand-copies
// 5:3: error: expected copies with reduce to be expanded; run tirx-expand-async-copies
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  tirx.copy %s, %g reduce(add) engine tma_reduce : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, global>
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions --convert-tirx-to-wgmma
// 4:3: error: expected a register accumulator that is a value; tirx-mem2reg makes one
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
  %c = tirx.alloc : !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
  tirx.mma %a, %a, %c : !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>, !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>, !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-wgmma
// 4:8: error: expected a plan of wgmma; tirx-select-instructions chooses it
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared>
  %c = tirx.zero : !tirx.tile<64x64xf32, register>
  %p = tirx.async_mma %a, %a, %c : !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<64x64xf32, register> -> !tirx.pending<!tirx.tile<64x64xf32, register>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-mma
// 8:8: error: expected registers of C in whole fragments of 8 elements per thread, found 4 with S[(2, 32, 2) : (2, 1@laneid, 1)]
!a = !tirx.tile<16x16xf16, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>
!b = !tirx.tile<8x16xf16, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>
!c = !tirx.tile<16x8xf32, register, #tirx.tile_layout<S[(2, 32, 2) : (2, 1@laneid, 1)]>>
tirx.kernel @k() target("sm_80") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.zero : !b
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c plan(mma_sync, variants = ["m8n8k4.row.col.f32.f16"]) : !a, !b, !c -> !c
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-wgmma
// 8:8: error: expected the plan wgmma, shapes = ["m64n32k16"], a_major = "K", b_major = "K", found wgmma, shapes = ["m64n16k16"], a_major = "K", b_major = "K"
!a = !tirx.tile<64x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[64, 32]>>>
!b = !tirx.tile<32x32xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[32, 32]>>>
!c = !tirx.tile<64x32xf32, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c plan(wgmma, shapes = ["m64n16k16"], a_major = "K", b_major = "K") : !a, !b, !c -> !c
  tirx.return
}

// -----

// tirx-opt --convert-math-to-ptx
// 3:8: error: expected 'math.exp' on f16, bf16, f32 or f64, found f80
ptx.entry @k() target("sm_80") {
  %x = "test.op"() : () -> f80
  %y = math.exp %x : f80
  ptx.ret
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 3:8: error: expected layouts that matrix instructions move; run tirx-select-copies
tirx.kernel @k() target("sm_90a") threads(32) memory(shared = 512) {
  %a = tirx.alloc at 0 : !tirx.tile<32x4xf32, shared, #tirx.tile_layout<S[32, 4]>>
  %z = tirx.load %a engine ldmatrix : !tirx.tile<32x4xf32, shared, #tirx.tile_layout<S[32, 4]>> -> !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 1:1: error: expected a memory plan; tirx-allocate-memory chooses it
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc at 0 : !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

// tirx-opt --convert-wgmma-to-ptx
// 3:8: error: expected materialized descriptors, found wgmma.smem_descriptor; run tirx-materialize-descriptors first
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
  %d = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0] : !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>> -> i64
  tirx.return
}

// -----

// tirx-opt --tirx-materialize-descriptors
// 3:8: error: the layout of K elements [0, 16) is not canonical: element (1, 0) is expected at byte 144 of the tile and is at byte 128; nearest canonical layout is K-major, swizzle 128B, LBO None, SBO 1024 bytes, Swizzle<3,4,3> o ((8,8),(8,2)):((64,512),(1,8)), of which only the swizzle is missing; write #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
  %d = wgmma.smem_descriptor %a, 0 of 16 rows 64 from [0] : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>> -> i64
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 5:3: error: expected a copy that engine cp_async can do: expected layouts on !tirx.tile<64x64xf16, global> and !tirx.tile<64x64xf16, shared>; tirx-pick-layouts chooses them
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  tirx.copy %g, %s engine cp_async : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 5:3: error: expected a copy that engine tma can do: expected a layout on !tirx.tile<64x64xf16, shared>; tirx-pick-layouts chooses one
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared>
  tirx.copy %g, %s engine tma : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared>
  tirx.return
}

// -----

// tirx-opt --tirx-expand-async-copies
// 1:1: error: expected a memory plan; tirx-allocate-memory chooses it
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
  tirx.copy %g, %s engine tma : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
  tirx.return
}

// -----

// tirx-opt --tirx-expand-async-copies
// 5:3: error: expected every box to start at a multiple of 128 bytes in shared memory, found one at 6 with boxes of 1x64 in S[(64, 64) : (3, 1)]
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) memory(shared = 8192) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %s = tirx.alloc : !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (3, 1)]>>
  tirx.copy %g, %s engine tma : !tirx.tile<64x64xf16, global>, !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (3, 1)]>>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 3:8: error: no PTX form for 'arith.truncf' on f64 -> bf16
tirx.kernel @k(%i: f64, %m: memref<4xbf16>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %x = arith.truncf %i : f64 to bf16
  %e = arith.extf %x : bf16 to f32
  tirx.return
}

// -----

// tirx-opt --convert-arith-to-ptx
// 4:8: error: no PTX form for 'arith.shli' on i1
ptx.entry @k() target("sm_80") {
  %i = "ptx.constant"() <{value = true}> : () -> i1
  %x = arith.muli %i, %i : i1
  %y = arith.shli %i, %i : i1
  ptx.ret
}

// -----

// tirx-opt --tirx-split-pairs
// 3:8: error: dimension 1 of shape (6, 8) does not line up with the iters of the layout: 8 elements remain where an iter of extent 3 stands, and neither divides the other
!t = !tirx.tile<6x8xf32, shared, #tirx.tile_layout<S[(4, 4, 3) : (12, 1, 4)] + R[4 : 1@cbx]>>
tirx.kernel @k() cluster(2) threads(128) {
  %s = tirx.alloc : !t
  tirx.return
}

// -----

// tirx-opt --tirx-split-pairs
// 6:3: error: kind::f16, cta_group 2: expected M in {128, 256}, found 100; nearest is 128 [tcgen05-product]
!a = !tirx.tile<256x64xf16, shared>
!acc = !tirx.tile<256x128xf32, tensor>
tirx.kernel @k() target("sm_100a") cluster(2) threads(128) {
  %a = tirx.alloc : !tirx.tile<100x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<100x100xf32, tensor>
  tirx.mma %a, %a, %acc : !tirx.tile<100x64xf16, shared>, !tirx.tile<100x64xf16, shared>, !tirx.tile<100x100xf32, tensor>
  tirx.return
}

// -----

// tirx-opt --tirx-split-pairs
// 5:8: error: expected a product of registers on tiles of one block, found distributed ones
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(2, 32, 64) : (1@cbx, 64, 1)]>>
tirx.kernel @k() target("sm_90a") cluster(2) threads(128) {
  %a = tirx.alloc : !s
  %c = tirx.zero : !tirx.tile<64x64xf32, register>
  %d = tirx.mma %a, %a, %c : !s, !s, !tirx.tile<64x64xf32, register> -> !tirx.tile<64x64xf32, register>
  tirx.return
}

// -----

// tirx-opt --tirx-split-pairs
// 4:8: error: expected no distributed tile on 'tirx.address', found !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(2, 32, 64) : (1@cbx, 64, 1)]>>
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(2, 32, 64) : (1@cbx, 64, 1)]>>
tirx.kernel @k() target("sm_90a") cluster(2) threads(128) {
  %a = tirx.alloc : !s
  %c = tirx.address %a : !s -> i32
  tirx.return
}

// -----

// tirx-opt --tirx-split-pairs
// 6:3: error: expected a view of a memref, or a part of one, for a tile of the pair
tirx.kernel @k(%m: memref<8x8xf32>) cluster(2) threads(128) {
  %c = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<64xf32, shared, #tirx.tile_layout<S[(2, 32) : (1@cbx, 1)]>>
  %g = tirx.view %m[%c, %c] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  %r = tirx.reshape %g : !tirx.tile<8x8xf32, global> -> !tirx.tile<64xf32, global>
  tirx.copy %r, %s : !tirx.tile<64xf32, global>, !tirx.tile<64xf32, shared, #tirx.tile_layout<S[(2, 32) : (1@cbx, 1)]>>
  tirx.return
}

// -----

// tirx-opt --tirx-split-pairs
// 2:8: error: expected a sequential kernel in what a pair of blocks does, found 'tirx.ring'; rings and roles are those of one block, cluster(2) per_cta
tirx.kernel @k() cluster(2) threads(128) {
  %r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<64x64xf16, shared>>
  tirx.return
}

// -----

// tirx-opt --tirx-check-layouts
// 10:3: error: expected scale factors from a shared tile, which tcgen05.cp copies to all four partitions of lanes, found one in registers
!a = !tirx.tile<128x128xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[128, 128]>>>
!acc = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!r = !tirx.tile<128x4xf8E8M0FNU, register, #tirx.tile_layout<S[(128, 4) : (1@tid_in_wg, 1)]>>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %s = tirx.alloc : !s
  %r = tirx.zero : !r
  tirx.store %r, %s : !r, !s
  tirx.mma %a, %a, %acc scales(%s, %s) : !a, !a, !acc, !s, !s
  tirx.return
}

// -----

// tirx-opt --tirx-check-layouts
// 5:8: error: expected tiles of one layout, found S[(32, 4) : (1@laneid, 1)] and S[(32, 4) : (1, 1@laneid)]
!a = !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(32, 4) : (1@laneid, 1)]>>
!b = !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(32, 4) : (1, 1@laneid)]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.map ins(%a : !a) {
  ^bb(%x: f32):
    tirx.yield %x : f32
  } -> !b
  tirx.return
}

// -----

// tirx-opt --tirx-mem2reg
// 6:3: error: expected a scalar of a type that arith has constants of, found f80
tirx.kernel @k(%n: index) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = "test.op"() : () -> f80
  %x = memref.alloca() : memref<f80>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %p, %x[] : memref<f80>
  }
  %r = memref.load %x[] : memref<f80>
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 5:8: error: the layout picked for the source has no such part: region ((1, 4), (1, 4)) of shape (6, 5) is no tile layout: dimension 1 of shape (6, 5) does not line up with the iters of the layout: 5 elements remain where an iter of extent 6 stands, and neither divides the other
tirx.kernel @k(%m: memref<8x8xf32>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<5x6xf32, global>
  %r = tirx.reshape %g : !tirx.tile<5x6xf32, global> -> !tirx.tile<6x5xf32, global>
  %h = tirx.subview %r[1, 1] : !tirx.tile<6x5xf32, global> -> !tirx.tile<3x3xf32, global>
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 6:8: error: expected A in registers for mma.sync, found it in shared memory; tirx-load-operands loads it (wgmma on sm_90a reads it there)
!a = !tirx.tile<64x100xf16, shared>
!c = !tirx.tile<64x64xf32, register>
tirx.kernel @k() target("sm_90a") threads(256) {
  %a = tirx.alloc : !a
  %c = tirx.zero : !c
  %d = tirx.mma %a, %a, %c : !a, !a, !c -> !c
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 10:3: error: expected rows in steps of 32 (lanes), found 130; nearest above is 160
!a = !tirx.tile<128x128xf8E4M3FN, shared>
!acc = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor>
!t = !tirx.tile<128x4xf8E8M0FNU, shared>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %s = tirx.alloc : !tirx.tile<130x4xf8E8M0FNU, tensor>
  %s2 = tirx.subview %s[0, 0] : !tirx.tile<130x4xf8E8M0FNU, tensor> -> !s
  tirx.mma %a, %a, %acc scales(%s2, %s2) : !a, !a, !acc, !s, !s
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 11:3: error: expected rows in steps of 128 (blocks), found 130; nearest above is 256
!a = !tirx.tile<128x128xf8E4M3FN, shared>
!acc = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor>
!t = !tirx.tile<130x4xf8E8M0FNU, shared>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %s = tirx.alloc : !s
  %t = tirx.alloc : !t
  %u = tirx.subview %t[0, 0] : !t -> !tirx.tile<128x4xf8E8M0FNU, shared>
  tirx.copy %u, %s : !tirx.tile<128x4xf8E8M0FNU, shared>, !s
  tirx.mma %a, %a, %acc scales(%s, %s) : !a, !a, !acc, !s, !s
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 5:3: error: expected a layout on the tile type !tirx.tile<128x128xf32, tensor>, which is not an allocation
!a = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x128xf32, tensor>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a, %b = "test.op"() : () -> (!a, !acc)
  tirx.mma %a, %a, %b : !a, !a, !acc
  tirx.return
}

// -----

// tirx-opt --tirx-expand-exchanges
// 5:8: error: expected whole warps to combine across threads, found 48 threads
!r = !tirx.tile<48x4xf32, register, #tirx.tile_layout<S[(48, 4) : (1@tx, 1)]>>
!q = !tirx.tile<1x4xf32, register, #tirx.tile_layout<S[(1, 4) : (1, 1)] + R[48 : 1@tx]>>
tirx.kernel @k() target("sm_90a") threads(48) {
  %a = tirx.zero : !r
  %b = tirx.reduce %a dim(0) add : !r -> !q
  tirx.return
}

// -----

// tirx-opt --tirx-tile-linalg=tile=64
// 1:1: error: expected 3 tile sizes, 2 of the last parallel dimensions and that of the reduction, found 1
func.func @f(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) {
  linalg.matmul ins(%a, %b : memref<64x64xf32>, memref<64x64xf32>) outs(%c : memref<64x64xf32>)
  func.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 5:8: error: dimension 1 of shape (6, 8) does not line up with the iters of the layout: 8 elements remain where an iter of extent 12 stands, and neither divides the other
!a = !tirx.tile<6x8xf32, register, #tirx.tile_layout<S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]>>
!b = !tirx.tile<6x1xf32, register>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.reduce %a dim(1) add : !a -> !b
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 5:8: error: dimension 1 of shape (6, 8) does not line up with the iters of the layout: 8 elements remain where an iter of extent 12 stands, and neither divides the other
!a = !tirx.tile<6x8xf32, register, #tirx.tile_layout<S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]>>
!b = !tirx.tile<6x1xf32, register, #tirx.tile_layout<S[6 : 1] + R[32 : 1@laneid]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.reduce %a dim(1) add : !a -> !b
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 5:8: error: dimension 1 of shape (6, 8) does not line up with the iters of the layout: 8 elements remain where an iter of extent 12 stands, and neither divides the other
!a = !tirx.tile<6x8xf32, register, #tirx.tile_layout<S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]>>
!b = !tirx.tile<6x1xf32, register, #tirx.tile_layout<S[6 : 1] + R[32 : 1@laneid]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.reduce %a dim(1) add : !a -> !b
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 5:8: error: expected every thread to hold what it needs in one slot, found element (0, 0), for slot 0, in none or in different ones: S[6 : 1] + R[32 : 1@laneid] does not follow from S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]
!a = !tirx.tile<6x8xf32, register, #tirx.tile_layout<S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]>>
!b = !tirx.tile<6x1xf32, register, #tirx.tile_layout<S[6 : 1] + R[32 : 1@laneid]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !b
  %b = tirx.broadcast %a : !b -> !a
  tirx.return
}

// -----

// tirx-opt --tirx-expand-exchanges
// 5:8: error: dimension 1 of shape (6, 8) does not line up with the iters of the layout: 8 elements remain where an iter of extent 12 stands, and neither divides the other
!a = !tirx.tile<6x8xf32, register, #tirx.tile_layout<S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]>>
!b = !tirx.tile<6x1xf32, register, #tirx.tile_layout<S[6 : 1] + R[32 : 1@laneid]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.reduce %a dim(1) add : !a -> !b
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 5:8: error: expected every thread to hold what it needs in one slot, found element (0, 0), for slot 0, in none or in different ones: S[6 : 1] + R[32 : 1@laneid] does not follow from S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]
!a = !tirx.tile<6x8xf32, register, #tirx.tile_layout<S[(4, 12) : (1@laneid, 1)] + R[8 : 4@laneid]>>
!b = !tirx.tile<6x1xf32, register, #tirx.tile_layout<S[6 : 1] + R[32 : 1@laneid]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %b = tirx.zero : !b
  %c = tirx.map ins(%b : !b) {
  ^bb(%x: f32):
    tirx.yield %x : f32
  } -> !a
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 9:10: error: expected arith.extf and arith.truncf only on f8E4M3FN, found 'arith.addf'
!r = !tirx.tile<32x8xf32, register>
!h = !tirx.tile<32x8xf8E4M3FN, register>
tirx.kernel @k(%m: memref<32x8xf8E4M3FN>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<32x8xf8E4M3FN> -> !tirx.tile<32x8xf8E4M3FN, global>
  %a = tirx.load %g : !tirx.tile<32x8xf8E4M3FN, global> -> !h
  %c = tirx.map ins(%a, %a : !h, !h) {
  ^bb(%x: f8E4M3FN, %y: f8E4M3FN):
    %z = arith.addf %x, %y : f8E4M3FN
    tirx.yield %z : f8E4M3FN
  } -> !h
  tirx.store %c, %g : !h, !tirx.tile<32x8xf8E4M3FN, global>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 9:10: error: expected f16, bf16 or f32 to convert to f8E4M3FN, found f64
!h = !tirx.tile<32x8xf64, register>
!o = !tirx.tile<32x8xf8E4M3FN, register>
tirx.kernel @k(%m: memref<32x8xf8E4M3FN>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<32x8xf8E4M3FN> -> !tirx.tile<32x8xf8E4M3FN, global>
  %a = tirx.zero : !h
  %c = tirx.map ins(%a : !h) {
  ^bb(%x: f64):
    %z = arith.truncf %x : f64 to f8E4M3FN
    tirx.yield %z : f8E4M3FN
  } -> !o
  tirx.store %c, %g : !o, !tirx.tile<32x8xf8E4M3FN, global>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 7:8: error: expected f8E4M3FN to come from arith.truncf or an operand
!o = !tirx.tile<32x8xf8E4M3FN, register>
tirx.kernel @k(%m: memref<32x8xf8E4M3FN>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<32x8xf8E4M3FN> -> !tirx.tile<32x8xf8E4M3FN, global>
  %a = tirx.zero : !tirx.tile<32x8xf32, register>
  %one = arith.constant 1.0 : f8E4M3FN
  %c = tirx.map ins(%a : !tirx.tile<32x8xf32, register>) {
  ^bb(%x: f32):
    tirx.yield %one : f8E4M3FN
  } -> !o
  tirx.store %c, %g : !o, !tirx.tile<32x8xf8E4M3FN, global>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 6:3: error: expected add, min or max of f16, bf16, f32 or f64, or add, min, max, and, or, xor of integers of 32 or 64 bits in memory, found and of f16
!r = !tirx.tile<32x8xf16, register>
tirx.kernel @k(%m: memref<32x8xf16>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<32x8xf16> -> !tirx.tile<32x8xf16, global>
  %a = tirx.zero : !r
  tirx.store %a, %g reduce(and) : !r, !tirx.tile<32x8xf16, global>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 6:3: error: expected add, min or max of f16, bf16, f32 or f64, or add, min, max, and, or, xor of integers of 32 or 64 bits in memory, found or of f16
!r = !tirx.tile<32x9xf16, register, #tirx.tile_layout<S[(32, 9) : (1@laneid, 1)]>>
tirx.kernel @k(%m: memref<32x9xf16>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<32x9xf16> -> !tirx.tile<32x9xf16, global>
  %a = tirx.zero : !r
  tirx.store %a, %g reduce(or) : !r, !tirx.tile<32x9xf16, global>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 4:8: error: expected a clipped view of whole bytes in every row, found 4 bits
tirx.kernel @k(%m: memref<32x9xf4E2M1FN>) target("sm_100a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] clipped : memref<32x9xf4E2M1FN> -> !tirx.tile<32x16xf4E2M1FN, global>
  %a = tirx.load %g : !tirx.tile<32x16xf4E2M1FN, global> -> !tirx.tile<32x16xf4E2M1FN, register>
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions --convert-tirx-to-ptx
// 5:8: error: expected a clipped view of a kernel argument or a part of one, found another shape of it
tirx.kernel @k(%m: memref<8x8xf32>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] clipped : memref<8x8xf32> -> !tirx.tile<4x8xf32, global>
  %r = tirx.reshape %g : !tirx.tile<4x8xf32, global> -> !tirx.tile<32xf32, global>
  %l = tirx.load %r : !tirx.tile<32xf32, global> -> !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 6:8: error: expected a layout on the tile type !tirx.tile<64x64xf16, shared>, which is not an allocation
!a = !tirx.tile<64x64xf16, shared>
!c = !tirx.tile<64x64xf32, register>
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = "test.op"() : () -> !a
  %c = tirx.zero : !c
  %d = tirx.mma %a, %a, %c : !a, !a, !c -> !c
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 7:3: error: expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found memref<?x?xf6E3M2FN> (no tma: expected elements that global and shared memory hold alike for a bulk tensor copy, found e3m2, which shared memory pads; no cp_async: expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found memref<?x?xf6E3M2FN>)
!s = !tirx.tile<64x64xf6E3M2FN, shared>
!g = !tirx.tile<64x64xf6E3M2FN, global>
tirx.kernel @k(%a: memref<?x?xf6E3M2FN>) target("sm_100") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<?x?xf6E3M2FN> -> !g
  tirx.copy %ga, %sa : !g, !s
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 7:3: error: expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found memref<?x?xf6E3M2FN>
!r = !tirx.tile<64x64xf6E3M2FN, register>
!g = !tirx.tile<64x64xf6E3M2FN, global>
tirx.kernel @k(%a: memref<?x?xf6E3M2FN>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %r = tirx.alloc : !r
  %ga = tirx.view %a[%c0, %c0] : memref<?x?xf6E3M2FN> -> !g
  tirx.copy %ga, %r : !g, !r
  tirx.return
}

// -----

// tirx-opt --convert-arith-to-ptx
// 3:8: error: no PTX form for 'arith.bitcast' on f32 -> i64
ptx.entry @k(x : f32) target("sm_90") {
  %x = ptx.ld.param @x : f32
  %0 = arith.bitcast %x : f32 to index
  ptx.ret
}

// -----

// tirx-opt --tirx-select-instructions
// 6:8: error: expected A in registers for mma.sync, found it in shared memory; tirx-load-operands loads it (wgmma on sm_90a reads it there)
!s = !tirx.tile<32x16xf16, shared, #tirx.tile_layout<S[32, 16]>>
!t = !tirx.tile<32x32xf32, register, #tirx.tile_layout<S[(32, 32) : (1@laneid, 1)]>>
tirx.kernel @k() target("sm_80") threads(32) {
  %a = tirx.alloc : !s
  %c = tirx.zero : !t
  %d = tirx.mma %a, %a, %c : !s, !s, !t -> !t
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions
// 8:8: error: expected A and B of one type, found f16 and bf16
!s = !tirx.tile<16x16xf16, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>
!b = !tirx.tile<16x16xbf16, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>
!t = !tirx.tile<16x16xf32, register, #tirx.tile_layout<S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]>>
tirx.kernel @k() target("sm_80") threads(32) {
  %a = tirx.zero : !s
  %b = tirx.zero : !b
  %c = tirx.zero : !t
  %d = tirx.mma %a, %b, %c : !s, !b, !t -> !t
  tirx.return
}

// -----

// tirx-opt -t ptx
// 1:1: error: expected a body for @unsaid, found none
ptx.entry @unsaid() target("sm_80") {}

// -----

// tirx-opt --tirx-pick-layouts
// 6:3: error: kind i8: expected an accumulator of s32, found s8 [tcgen05-product]
!a = !tirx.tile<128x32xsi8, shared>
!d = !tirx.tile<128x128xsi8, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  tirx.mma %a, %a, %d : !a, !a, !d
  tirx.return
}

// -----

// tirx-opt --tirx-lower-rings
// 2:10: error: expected 'tirx.async_next' in a loop over the tiles of this ring, found none
tirx.kernel @k() target("sm_100a") cluster(2) threads(32) {
  %clc = tirx.ring slots(1) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.release %clc at(ask) after(tma)
  }
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 6:3: error: expected a plan of tcgen05; tirx-select-instructions chooses it
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 32784, alignment = 1024, columns = 128, slot = 32768, mbarrier = 32776) {
  %a = tirx.alloc at 0 : !a
  %t = tirx.alloc at 0 : !t
  tirx.mma %a, %a, %t : !a, !a, !t
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 2:8: error: expected a tile within the 64 columns of tensor memory that the kernel has, found columns 1 to 64
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 12, alignment = 8, columns = 64, slot = 8) {
  %t = tirx.alloc at 1 : !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 6:3: error: kind f16: expected an accumulator of f16 or f32, found s32 [tcgen05-product]
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xi32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 16400, alignment = 1024, columns = 128, slot = 16392, mbarrier = 16384) {
  %a = tirx.alloc at 0 : !a
  %t = tirx.alloc at 0 : !t
  tirx.mma %a, %a, %t plan(tcgen05, kind = "f16", m = 128, n = 128, k = 16, a_major = "K", b_major = "K") : !a, !a, !t
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 6:3: error: expected scale factors in shared memory without a swizzle, found ComposeLayout(Swizzle(3, 3, 3), S[(128, 64) : (64, 1)])
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 16400, alignment = 1024, columns = 32, slot = 16392, mbarrier = 16384) {
  %a = tirx.alloc at 0 : !a
  %t = tirx.alloc at 0 : !t
  tirx.async_copy %a, %t engine(tcgen05_cp) : !a, !t
  tirx.return
}

// -----

// tirx-opt --tirx-expand-copies
// 6:3: error: expected a swizzle that keeps 16 bytes together, found ComposeLayout(Swizzle(2, 3, 3), S[(128, 32) : (32, 1)])
!s = !tirx.tile<128x32xf6E3M2FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<2, 3, 3>, #tirx.tile_layout<S[128, 32]>>>
!r = !tirx.tile<128x32xf6E3M2FN, register, #tirx.tile_layout<S[(128, 32) : (1@tx, 1)]>>
tirx.kernel @k() target("sm_100a") threads(128) {
  %s = tirx.alloc : !s
  %r = tirx.zero : !r
  tirx.store %r, %s : !r, !s
  tirx.return
}

// -----

// tirx-opt --tirx-fold-zero-fill
// 15:3: error: expected a tensor-memory layout with axis TLane, found S[(128, 128) : (1@TCol, 1@TCol)]
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TCol, 1@TCol)]>>
!g = !tirx.tile<128x128xf32, global, #tirx.tile_layout<S[128, 128]>>
tirx.kernel @k(%d: memref<128x128xf32>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tirx.alloc : !a
  %t = tirx.alloc : !t
  %z = arith.constant 0.0 : f32
  %g = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !g
  tirx.fill %t, %z : f32, !t
  scf.for %k = %c0 to %n step %c1 {
    tirx.mma %a, %a, %t : !a, !a, !t
  }
  tirx.copy %t, %g : !t, !g
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 7:3: error: expected a copy that engine tma can do: expected a view of a kernel argument or a part of one for a bulk tensor copy, found none
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %g = "test.op"() : () -> !g
  tirx.copy %g, %s engine tma : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 8:3: error: expected a copy that engine tma can do: expected a view that starts on a whole byte for a tensor map, found none
!s = !tirx.tile<64x64xf4E2M1FN, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf4E2M1FN, global>
tirx.kernel @k(%a: memref<64x256xf4E2M1FN>) target("sm_100a") threads(128) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %v = tirx.view %a[%c0, %c1] : memref<64x256xf4E2M1FN> -> !g
  tirx.copy %v, %s engine tma : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 7:3: error: expected a copy that engine tma can do: expected rows of an even number of e2m1 elements for a tensor map, found 97
!s = !tirx.tile<64x64xf4E2M1FN, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf4E2M1FN, global>
tirx.kernel @k(%a: memref<64x97xf4E2M1FN, strided<[128, 1]>>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %v = tirx.view %a[%c0, %c0] : memref<64x97xf4E2M1FN, strided<[128, 1]>> -> !g
  tirx.copy %v, %s engine tma : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 7:3: error: expected a copy that engine cp_async can do: expected a view that starts on a whole byte for cp.async, found none
!s = !tirx.tile<64x64xf4E2M1FN, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf4E2M1FN, global, #tirx.tile_layout<S[(64, 64) : (128, 1)]>>
tirx.kernel @k(%a: memref<64x128xf4E2M1FN>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %v = tirx.view %a[%c0, %n] : memref<64x128xf4E2M1FN> -> !g
  tirx.copy %v, %s engine cp_async : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 7:3: error: expected a copy that engine cp_async can do: expected elements that global and shared memory hold alike for cp.async, found e2m3, which shared memory pads
!s = !tirx.tile<64x64xf6E2M3FN, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf6E2M3FN, global, #tirx.tile_layout<S[(64, 64) : (128, 1)]>>
tirx.kernel @k(%a: memref<64x128xf6E2M3FN>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !s
  %v = tirx.view %a[%c0, %c0] : memref<64x128xf6E2M3FN> -> !g
  tirx.copy %v, %s engine cp_async : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 10:3: error: expected layouts on both tiles; tirx-pick-layouts chooses them
!a = !tirx.tile<128x128xf8E4M3FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!u = !tirx.tile<128x4xf8E8M0FNU, tensor>
!us = !tirx.tile<128x4xf8E8M0FNU, shared>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %u = tirx.alloc : !u
  %us = tirx.alloc : !us
  tirx.copy %us, %u : !us, !u
  tirx.mma %a, %a, %d scales(%u, %u) : !a, !a, !d, !u, !u
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions
// 8:3: error: expected a layout on SFA; tirx-pick-layouts chooses one
!a = !tirx.tile<128x128xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[128, 128]>>>
!d = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!u = !tirx.tile<128x4xf8E8M0FNU, tensor>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %u = tirx.alloc : !u
  tirx.mma %a, %a, %d scales(%u, %u) : !a, !a, !d, !u, !u
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions
// 7:8: error: expected A in registers for mma.sync, found it in shared memory; tirx-load-operands loads it (wgmma on sm_90a reads it there)
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!t = !tirx.tile<2x64x64xf32, register>
!b = !tirx.tile<2x64x64xf16, shared>
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !b
  %c = tirx.zero : !t
  %d = tirx.mma %a, %a, %c : !b, !b, !t -> !t
  tirx.return
}

// -----

// tirx-opt --tirx-check-layouts
// 4:8: error: expected a layout on !tirx.tile<64x64xf16, shared>; tirx-pick-layouts chooses one
!s = !tirx.tile<64x64xf16, shared>
tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
  %c = tirx.alloc : !s
  %d = tirx.subview %c[%n, 0] : !s -> !tirx.tile<8x64xf16, shared>
  tirx.return
}

// -----

// tirx-opt --tirx-check-layouts
// 5:8: error: expected a part of a tile in shared or tensor memory at computed offsets, found global memory
!s = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%n: index, %m: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c = tirx.view %m[%c0, %c0] : memref<64x64xf16> -> !s
  %d = tirx.subview %c[%n, 0] : !s -> !tirx.tile<8x64xf16, global>
  tirx.return
}

// -----

// tirx-opt --tirx-check-layouts
// 4:8: error: expected parts that start on a whole byte, found steps of 4 bits along dimension 1
!s = !tirx.tile<64x64xf4E2M1FN, shared, #tirx.tile_layout<S[64, 64]>>
tirx.kernel @k(%n: index) target("sm_100a") threads(128) {
  %c = tirx.alloc : !s
  %d = tirx.subview %c[0, %n] : !s -> !tirx.tile<64x8xf4E2M1FN, shared, #tirx.tile_layout<S[(64, 8) : (64, 1)]>>
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 10:3: error: expected scale factors of shape MxS, found rank 1
!a = !tirx.tile<128x128xf8E4M3FN, shared>
!d = !tirx.tile<128x128xf32, tensor>
!u = !tirx.tile<128x4xf8E8M0FNU, tensor>
!v = !tirx.tile<512xf8E8M0FNU, tensor>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %v = tirx.alloc : !v
  %u = tirx.reshape %v : !v -> !u
  tirx.mma %a, %a, %d scales(%u, %u) : !a, !a, !d, !u, !u
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 8:8: error: K-major f16: expected K in steps of 8 elements (16 bytes), found 69; nearest is 72
!a = !tirx.tile<64x64xf16, shared>
!c = !tirx.tile<64x64xf32, register>
tirx.kernel @k() target("sm_90a") threads(128) {
  %r = tirx.alloc : !tirx.tile<67x69xf16, shared>
  %a = tirx.subview %r[0, 0] : !tirx.tile<67x69xf16, shared> -> !a
  %b = tirx.alloc : !a
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c : !a, !a, !c -> !c
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 11:3: error: no tile layout describes [1, 34) of dimension 1 of shape (64, 64): the longest part from 1 that one does starts with [1, 32)
!a = !tirx.tile<64x64xf16, shared>
!c = !tirx.tile<64x64xf32, register>
!g = !tirx.tile<33x33xf16, global>
!p = !tirx.tile<33x33xf16, shared>
tirx.kernel @k(%m: memref<64x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !a
  %g = tirx.view %m[%c0, %c0] : memref<64x64xf16> -> !g
  %p = tirx.subview %a[1, 1] : !a -> !p
  tirx.copy %g, %p : !g, !p
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c : !a, !a, !c -> !c
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-resolve-accumulators
// 5:8: remark: accumulator in registers, for mma.sync, not in tensor memory: expected a target, found none
!a = !tirx.tile<128x64xf16, shared>
!d = !tirx.tile<128x64xf32, accumulator>
tirx.kernel @k() threads(128) {
  %a = tirx.alloc : !a
  %d = tirx.alloc : !d
  %b = tirx.alloc : !tirx.tile<64x64xf16, shared>
  tirx.mma %a, %b, %d : !a, !tirx.tile<64x64xf16, shared>, !d
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 6:3: error: expected elements of u32, s32, u64, f16, bf16, f32, f64 for add in a bulk tensor copy, found s8
!s = !tirx.tile<32x32xi8, shared, #tirx.tile_layout<S[32, 32]>>
tirx.kernel @k(%m: memref<32x32xi8>) target("sm_90a") threads(32) memory(shared = 1024, alignment = 128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc at 0 : !s
  %g = tirx.view %m[%c0, %c0] : memref<32x32xi8> -> !tirx.tile<32x32xi8, global>
  tirx.tma_store %s, %g reduce(add) : !s, !tirx.tile<32x32xi8, global>
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions --convert-tirx-to-wgmma
// 10:12: error: expected threads from a multiple of 128 on for wgmma, found those from thread 32 on
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
tirx.kernel @k() target("sm_90a") threads(160) {
  %a = tirx.alloc : !s
  tirx.roles lowered {
    tirx.role @l warps(1) {
    }
    tirx.role @m warps(4) {
      %c = tirx.zero : !r
      %d = tirx.mma %a, %a, %c : !s, !s, !r -> !r
    }
  }
  tirx.return
}

// -----

// tirx-opt --tirx-select-instructions --convert-tirx-to-tcgen05
// 3:1: error: expected products that all threads wait for in one role, found them in 2; tirx.async_mma starts products that rings wait for
!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
tirx.kernel @k() target("sm_100a") threads(256) memory(shared = 32784, alignment = 1024, columns = 128, slot = 32768, mbarrier = 32776) {
  %a = tirx.alloc at 0 : !a
  %t = tirx.alloc at 0 : !t
  tirx.roles lowered {
    tirx.role @l warps(4) {
      tirx.mma %a, %a, %t : !a, !a, !t
    }
    tirx.role @m warps(4) {
      tirx.mma %a, %a, %t : !a, !a, !t
    }
  }
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 2:3: error: expected at most 64512 registers in all roles together, 168 of each thread at the entry, found 65536
tirx.kernel @k(%m: memref<32x8xf32>) target("sm_90a") threads(384) {
  tirx.roles {
    tirx.role @x warps(4) registers(232) {
    }
    tirx.role @y warps(4) registers(232) {
    }
    tirx.role @z warps(4) registers(48) {
    }
  }
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 6:10: error: expected the iters on each thread axis to form a mixed-radix number (each stride larger than what the smaller ones reach together), found S[(2, 2, 3) : (5@laneid, 3@laneid, 6@laneid)]: it cannot be solved for thread 8, register 0
!a = !tirx.tile<12xi32, register, #tirx.tile_layout<S[(2, 2, 3) : (5@laneid, 3@laneid, 6@laneid)]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %b = tirx.zero : !a
  %c = tirx.map ins(%b : !a) {
  ^bb(%x: i32):
    %i = tirx.index 0
    %j = arith.index_cast %i : index to i32
    tirx.yield %j : i32
  } -> !a
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 5:8: error: expected neighbouring elements of whole bytes in threads, found 1 in S[(2, 16, 2) : (1, 1@laneid, 16@laneid)]
!a = !tirx.tile<32x2xf4E2M1FN, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>
!b = !tirx.tile<32x2xf4E2M1FN, register, #tirx.tile_layout<S[(2, 16, 2) : (1, 1@laneid, 16@laneid)]>>
tirx.kernel @k() target("sm_100a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.convert %a : !a -> !b
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 5:8: error: expected a layout on !tirx.tile<32x2xf32, register>; tirx-pick-layouts chooses one
!a = !tirx.tile<32x1xf32, register, #tirx.tile_layout<S[(32, 1) : (1@laneid, 1)]>>
!b = !tirx.tile<32x2xf32, register>
tirx.kernel @k() target("sm_100a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.broadcast %a : !a -> !b
  tirx.return
}

// -----

// tirx-opt --tirx-lower-rings
// 3:9: error: expected a ring that is used, found none of its users
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
tirx.kernel @k() target("sm_90a") threads(128) {
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.return
}

// -----

// tirx-opt --tirx-fold-subviews
// 5:8: error: no tile layout describes [1, 5) of dimension 0 of shape (8,): the longest part from 1 that one does starts with [1, 4)
!s = !tirx.tile<8xf16, shared, #tirx.tile_layout<S[(2, 4) : (10, 1)]>>
tirx.kernel @k() target("sm_80") threads(32) {
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !s
  %p = tirx.subview %s[%c1] : !s -> !tirx.tile<4xf16, shared, #tirx.tile_layout<S[4]>>
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 4:1: error: expected a layout on the tile type !tirx.tile<128x4xf8E8M0FNU, tensor>, which is not an allocation
!a = !tirx.tile<128x128xf8E4M3FN, shared>
!acc = !tirx.tile<128x128xf32, tensor>
!s = !tirx.tile<128x4xf8E8M0FNU, tensor>
tirx.kernel @k() target("sm_100a") threads(128) {
  %a = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %s = "test.op"() : () -> !s
  tirx.mma %a, %a, %acc scales(%s, %s) : !a, !a, !acc, !s, !s
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 6:3: error: expected a layout that lets one thread reduce each element to memory, found S[(32, 8) : (1@laneid, 1)] + R[2 : 8]
!r = !tirx.tile<32x8xf32, register, #tirx.tile_layout<S[(32, 8) : (1@laneid, 1)] + R[2 : 8]>>
tirx.kernel @k(%m: memref<32x8xf32>) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %m[%c0, %c0] : memref<32x8xf32> -> !tirx.tile<32x8xf32, global, #tirx.tile_layout<S[32, 8]>>
  %a = tirx.zero : !r
  tirx.store %a, %g reduce(add) : !r, !tirx.tile<32x8xf32, global, #tirx.tile_layout<S[32, 8]>>
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 9:3: error: A in tensor memory: expected K in steps of 2 elements of f16 (one column), up to 512 columns, found 2048; nearest is 1024
!a = !tirx.tile<128x64xf16, shared>
!acc = !tirx.tile<128x128xf32, tensor>
!p = !tirx.tile<128x64xf16, tensor>
tirx.kernel @k() target("sm_100a") threads(128) {
  %b = tirx.alloc : !a
  %acc = tirx.alloc : !acc
  %s = tirx.alloc : !tirx.tile<128x2048xf16, tensor>
  %p = tirx.subview %s[0, 3] : !tirx.tile<128x2048xf16, tensor> -> !p
  tirx.mma %p, %b, %acc : !p, !a, !acc
  tirx.return
}

// -----

// tirx-opt --tirx-allocate-memory
// 1:1: error: expected a tile with ring = NAME for each tile of the rings of tirx.schedule
tirx.kernel @k() target("sm_90a") threads(32) attributes {tirx.schedule = {roles = [], rings = [{name = "a", slots = 2, stations = ["x", "y"], barriers = [0, 16], tiles = [{name = "t", memory = "shared", start = -1, stride = 64}]}]}} {
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 16:3: error: expected M in steps of 64 and N in steps of 8 for each of 3 warpgroups, found D of 64x16
!a = !tirx.tile<64x16xf16, register>
!b = !tirx.tile<16x16xf16, shared>
!acc = !tirx.tile<64x16xf32, register, #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!g = !tirx.tile<64x16xf32, global>
tirx.kernel @k(%a: memref<64x16xf16>, %b: memref<16x16xf16>, %d: memref<64x16xf32>) target("sm_90a") threads(384) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<64x16xf16> -> !tirx.tile<64x16xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<16x16xf16> -> !tirx.tile<16x16xf16, global>
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  tirx.copy %ga, %sa : !tirx.tile<64x16xf16, global>, !a
  tirx.copy %gb, %sb : !tirx.tile<16x16xf16, global>, !b
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  tirx.mma %sa, %sb, %acc : !a, !b, !acc
  %g = tirx.view %d[%c0, %c0] : memref<64x16xf32> -> !g
  tirx.copy %acc, %g : !acc, !g
  tirx.return
}

// -----

// tirx-opt -t ptx
// 1:1: error: no PTX register for type 'index' (block argument)
ptx.entry @k() target("sm_90a") {
  ptx.ret
^bb1(%x: index):
  ptx.bra ^bb1(%x : index)
}

// -----

// tirx-opt --tirx-pick-layouts
// 5:8: error: expected a layout of !tirx.tile<2x4xf16, shared> for all loads and copies, found none: expected the iters on each thread axis to form a mixed-radix number (each stride larger than what the smaller ones reach together), found S[(2, 2, 2) : (2@laneid, 3@laneid, 4@laneid)]: it cannot be solved for thread 5, register 0
!s = !tirx.tile<2x4xf16, shared>
!a = !tirx.tile<2x4xf16, register, #tirx.tile_layout<S[(2, 2, 2) : (2@laneid, 3@laneid, 4@laneid)]>>
!c = !tirx.tile<2x2xf32, register, #tirx.tile_layout<S[(2, 2) : (2@laneid, 1@laneid)]>>
tirx.kernel @k() target("sm_80") threads(32) {
  %s = tirx.alloc : !s
  %a = tirx.load %s : !s -> !a
  %c = tirx.zero : !c
  %d = tirx.mma %a, %a, %c : !a, !a, !c -> !c
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts --tirx-expand-copies
// 7:3: error: expected a tile that 32 threads can share out, found one of which a thread has to move 5476 bytes at once; extents with more divisors in common with the threads help
!s = !tirx.tile<1369xf32, shared, #tirx.tile_layout<S[(37, 37) : (1, 37)]>>
!g = !tirx.tile<1369xf32, global>
tirx.kernel @k(%a: memref<1369xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0] : memref<1369xf32> -> !g
  %s = tirx.alloc : !s
  tirx.copy %g, %s : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 5:8: error: expected rows of a multiple of 16 elements of 6 bits, found 24
!t = !tirx.tile<32x24xf6E3M2FN, register>
tirx.kernel @k(%a: memref<32x24xf6E3M2FN>) target("sm_100a") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<32x24xf6E3M2FN> -> !tirx.tile<32x24xf6E3M2FN, global>
  %r = tirx.load %g : !tirx.tile<32x24xf6E3M2FN, global> -> !t
  tirx.return
}

// -----

// tirx-opt --tirx-select-copies
// 5:8: error: expected ld_st for 6-bit elements, found ldmatrix
!s = !tirx.tile<32x16xf6E3M2FN, shared>
!t = !tirx.tile<32x16xf6E3M2FN, register>
tirx.kernel @k() target("sm_100a") threads(32) {
  %s = tirx.alloc : !s
  %r = tirx.load %s engine ldmatrix : !s -> !t
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 8:3: error: expected a clipped view of 6-bit elements whose rows are all in the memref
!s = !tirx.tile<64x48xf6E3M2FN, shared>
!g = !tirx.tile<64x48xf6E3M2FN, global>
tirx.kernel @k(%a: memref<40x48xf6E3M2FN>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %s = tirx.alloc : !s
  %g = tirx.view %a[%c0, %c32] clipped : memref<40x48xf6E3M2FN> -> !g
  tirx.copy %g, %s engine ld_st : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-lower-rings
// 4:8: error: axis 'TCol' must stay in 0..511, the layout S[(2, 128, 300) : (300@TCol, 1@TLane, 1@TCol)] reaches 0..599
!t = !tirx.tile<128x300xf32, tensor, #tirx.tile_layout<S[(128, 300) : (1@TLane, 1@TCol)]>>
!v = !tirx.tile<128x300xf32, register, #tirx.tile_layout<S[(128, 300) : (1@tid_in_wg, 1)]>>
tirx.kernel @k() target("sm_100a") threads(128) {
  %r = tirx.ring slots(2) stations(write, read) : !tirx.ring<!t>
  tirx.roles {
    tirx.role @all warps(4) {
      %w = tirx.acquire %r at(write)
      %v = tirx.zero : !v
      tirx.store %v, %w : !v, !t
      tirx.release %r at(write)
      %x = tirx.acquire %r at(read)
      %y = tirx.load %x : !t -> !v
      tirx.release %r at(read)
    }
  }
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 2:8: error: expected at most 65536 elements in a thread, found 65537 in S[65537 : 1]
tirx.kernel @k() target("sm_80") threads(1) {
  %v = tirx.zero : !tirx.tile<65537xi8, register>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 18:3: error: expected metadata of 64x16 i4, a code for every 4 elements along K of a matrix A, found !tirx.tile<64x16xui8, register>
!a = !tirx.tile<64x32xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<64x64xf32, register>
tirx.kernel @k(%pa: memref<64x32xf16>, %pb: memref<64x64xf16>, %pe: memref<64x16xui8>, %pd: memref<64x64xf32>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %ga = tirx.view %pa[%c0, %c0] : memref<64x32xf16> -> !tirx.tile<64x32xf16, global>
  %gb = tirx.view %pb[%c0, %c0] : memref<64x64xf16> -> !tirx.tile<64x64xf16, global>
  %ge = tirx.view %pe[%c0, %c0] : memref<64x16xui8> -> !tirx.tile<64x16xui8, global>
  %gd = tirx.view %pd[%c0, %c0] : memref<64x64xf32> -> !tirx.tile<64x64xf32, global>
  tirx.copy %ga, %a : !tirx.tile<64x32xf16, global>, !a
  tirx.copy %gb, %b : !tirx.tile<64x64xf16, global>, !b
  %e = tirx.load %ge : !tirx.tile<64x16xui8, global> -> !tirx.tile<64x16xui8, register>
  %d = tirx.alloc : !d
  %z = arith.constant 0.0 : f32
  tirx.fill %d, %z : f32, !d
  tirx.mma %a, %b, %d metadata(%e) : !a, !b, !d, !tirx.tile<64x16xui8, register>
  tirx.store %d, %gd : !d, !tirx.tile<64x64xf32, global>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-tcgen05
// 2:8: error: expected a power of two of columns from 32 to 512, found 48; round up with allocation_columns
tirx.kernel @k() target("sm_100a") threads(128) memory(shared = 16, columns = 48, slot = 8) {
  %a = tirx.alloc at 0 : !tirx.tile<128x32xf32, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 1@TCol)]>>
  tirx.return
}

// -----

// tirx-opt --convert-wgmma-to-ptx
// 4:8: error: expected 4 registers from element 10 on in !tirx.tile<64x32xf16, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>, found fewer
!a = !tirx.tile<64x32xf16, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!d = !tirx.tile<64x16xf16, register, #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
func.func @f(%b: i64, %d: !d, %a: !a) {
  %p = wgmma.mma_async "f16" "f16" n 8 a(%a : !a) b(%b) c(%d : !d) at 4 a_at 10 -> !tirx.pending<!d>
  func.return
}

// -----

// tirx-opt --convert-wgmma-to-ptx
// 4:8: error: expected 4 registers from element -16 on in !tirx.tile<64x32xf16, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>, found fewer
!a = !tirx.tile<64x32xf16, register, #tirx.tile_layout<S[(4, 2, 8, 4, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!d = !tirx.tile<64x16xf16, register, #tirx.tile_layout<S[(4, 2, 8, 2, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
func.func @f(%b: i64, %d: !d, %a: !a) {
  %p = wgmma.mma_async "f16" "f16" n 8 a(%a : !a) b(%b) c(%d : !d) at 4 a_at -16 -> !tirx.pending<!d>
  func.return
}

// -----

// tirx-opt --tirx-lower-rings
// 2:1: error: expected whole warps of 32 threads for rings, found 48 threads
!s = !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[8, 64]>>
tirx.kernel @k() target("sm_90a") threads(48) {
  %r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  %s = tirx.acquire %r at(fill)
  tirx.release %r at(fill)
  %u = tirx.acquire %r at(use)
  tirx.release %r at(use)
  tirx.return
}

// -----

// tirx-opt --tirx-expand-async-copies
// 7:3: error: expected engine tma_store on a copy from shared memory to global memory, found one from global memory to shared memory
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) memory(shared = 8192) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %s = tirx.alloc : !s
  tirx.copy %g, %s engine tma_store : !g, !s
  tirx.return
}

// -----

// tirx-opt --tirx-expand-async-copies
// 7:3: error: expected engine cp_async on a copy from global memory to shared memory, found one from shared memory to global memory
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) memory(shared = 8192) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %s = tirx.alloc : !s
  tirx.copy %s, %g engine cp_async : !s, !g
  tirx.return
}

// -----

// tirx-opt --tirx-resolve-accumulators
// 5:10: error: expected %acc to come into role @one through a ring, found a register tile (not in tensor memory: 'tcgen05' does not exist on sm_90a; supported on sm_100a, sm_100f, sm_103a, sm_103f, sm_107a, sm_107f, sm_110a, sm_110f)
!s = !tirx.tile<64x64xf16, shared>
!acc = !tirx.tile<64x64xf32, accumulator>
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  tirx.roles {
    tirx.role @one warps(4) {
      tirx.mma %a, %a, %acc : !s, !s, !acc
    }
  }
  tirx.return
}

// -----

// tirx-opt --tirx-pick-layouts
// 1:1: error: expected memrefs and numbers as arguments of a kernel, found !tirx.tile<32x4xf32, register>
tirx.kernel @k(%t: !tirx.tile<32x4xf32, register>) target("sm_90a") threads(32) {
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-mma
// 8:8: error: expected a plan of mma_sync; tirx-select-instructions chooses it
!a = !tirx.tile<16x16xf16, register>
!b = !tirx.tile<8x16xf16, register>
!c = !tirx.tile<16x8xf32, register>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !a
  %b = tirx.zero : !b
  %c = tirx.zero : !c
  %d = tirx.mma %a, %b, %c : !a, !b, !c -> !c
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 5:7: error: expected a number to be stored by all threads of the kernel, found a role
tirx.kernel @k(%m: memref<4xf32>, %x: f32) target("sm_90a") threads(64) {
  %c0 = arith.constant 0 : index
  tirx.roles {
    tirx.role @one warps(1) {
      memref.store %x, %m[%c0] : memref<4xf32>
    }
    tirx.role @two warps(1) {
    }
  }
  tirx.return
}

// -----

// tirx-opt -p tirx-specialize{BM=x}
// 1:1: error: expected a value like one of BM in [32, 64], found x
tirx.kernel @k(%m: memref<64x64xf16>) params(BM in [32, 64]) target("sm_90a") threads(64) {
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 3:8: error: expected a reduction within warps; run tirx-expand-exchanges first
tirx.kernel @k() target("sm_90a") threads(128) {
  %a = tirx.zero : !tirx.tile<1x128xf32, register, #tirx.tile_layout<S[(1, 128) : (1, 1@tid_in_wg)]>>
  %b = tirx.reduce ins(%a : !tirx.tile<1x128xf32, register, #tirx.tile_layout<S[(1, 128) : (1, 1@tid_in_wg)]>>) dim(1) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tirx.yield %s : f32
  } -> !tirx.tile<1x1xf32, register, #tirx.tile_layout<S[(1, 1) : (1, 1)] + R[128 : 1@tid_in_wg]>>
  tirx.return
}

// -----

// tirx-opt --convert-tirx-to-ptx
// 5:10: error: expected no 'func.call' in the body of an operation; run tirx-inline first
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  %b = tirx.map ins(%a : !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>) {
  ^bb0(%x: f32):
    %s = func.call @f(%x) : (f32) -> f32
    tirx.yield %s : f32
  } -> !tirx.tile<32xf32, register, #tirx.tile_layout<S[32 : 1@laneid]>>
  tirx.return
}
func.func @f(%x: f32) -> f32 {
  func.return %x : f32
}

// -----

// tirx-opt --tirx-fold-subviews
// 6:8: error: expected a load, a store, a copy or an atomic operation on all of a view with index tiles or of a shared tile, found 'tirx.subview'
tirx.kernel @k(%m: memref<64x64xf32>, %i: memref<8xi32>) target("sm_90a") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %i[%c0] : memref<8xi32> -> !tirx.tile<8xi32, global>
  %t = tirx.load %g : !tirx.tile<8xi32, global> -> !tirx.tile<8xi32, register>
  %v = tirx.view %m[[%t], %c0] clipped : memref<64x64xf32>, !tirx.tile<8xi32, register> -> !tirx.tile<8x64xf32, global>
  %p = tirx.subview %v[0, 0] : !tirx.tile<8x64xf32, global> -> !tirx.tile<8x32xf32, global>
  %x = tirx.load %p : !tirx.tile<8x32xf32, global> -> !tirx.tile<8x32xf32, register>
  tirx.store %x, %p : !tirx.tile<8x32xf32, register>, !tirx.tile<8x32xf32, global>
  tirx.return
}

// -----

// tirx-opt --tirx-resolve-accumulators
// 5:3: warning: multiplied by mma.sync instead of tcgen05: expected B in shared memory for tcgen05, found it in registers [-Wslower-product]
tirx.kernel @k() target("sm_100a") grid(1) threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %b = tirx.zero : !tirx.tile<64x64xf16, register>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, accumulator>
  tirx.mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<64x64xf16, register>, !tirx.tile<128x64xf32, accumulator>
  tirx.return
}

// -----

// tirx-opt --lower-to-ptx
// 7:8: error: expected a part of a tile, or a layout of it that threads keep, found S[(4, 32, 3) : (1@warpid, 1@laneid, 1)]
#l = #tirx.tile_layout<S[(4, 32, 3) : (1@warpid, 1@laneid, 1)]>
tirx.kernel @k(%a: memref<48x8xf32>, %b: memref<8x48xf32>) target("sm_80") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<48x8xf32> -> !tirx.tile<48x8xf32, global>
  %h = tirx.view %b[%c0, %c0] : memref<8x48xf32> -> !tirx.tile<8x48xf32, global>
  %x = tirx.load %g : !tirx.tile<48x8xf32, global> -> !tirx.tile<48x8xf32, register, #l>
  %y = tirx.transpose %x [1, 0] : !tirx.tile<48x8xf32, register, #l> -> !tirx.tile<8x48xf32, register>
  tirx.store %y, %h : !tirx.tile<8x48xf32, register>, !tirx.tile<8x48xf32, global>
  tirx.return
}
