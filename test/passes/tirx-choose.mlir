// RUN: tirx-opt --tirx-choose %s | filecheck %s --check-prefix=MODEL
// RUN: tirx-opt --tirx-choose="BN=256 BM=128" %s | filecheck %s --check-prefix=WRITTEN
// RUN: tirx-opt --tirx-choose --remarks %s 2>&1 | filecheck %s --check-prefix=WHY
// RUN: tirx-opt --lower-to-ptx=choose=model %s | filecheck %s --check-prefix=PTX

// The timing model binds what is open. Few rows want tiles of 64 rows and few columns; a combination that no warpgroups
// multiply, or that has no room, is none.

// MODEL-LABEL: tirx.kernel @few_rows(
// MODEL-SAME:    threads(128) attributes {tirx.params = {BM = 64 : i64, BN = 64 : i64, STAGES = 6 : i64}}
// MODEL-LABEL: tirx.kernel @square(
// MODEL-SAME:    threads(256) attributes {tirx.params = {BM = 128 : i64, BN = 256 : i64}}
// MODEL-LABEL: tirx.kernel @no_product(
// MODEL-SAME:    threads(64) attributes {tirx.params = {BM = 64 : i64}}

// Four blocks of a cluster for each of 33 tiles fill 132 multiprocessors; 132 tiles need no parts.

// MODEL-LABEL: tirx.kernel @parts(
// MODEL-SAME:    attributes {tirx.parts = 4 : i64, tirx.params = {BM = 64 : i64, BN = 64 : i64, P = 4 : i64}}
// MODEL-LABEL: tirx.kernel @enough_tiles(
// MODEL-SAME:    attributes {tirx.parts = 1 : i64, tirx.params = {BM = 64 : i64, BN = 64 : i64, P = 1 : i64}}

// L2 and the latency of slots bind small tiles, of which rows and columns of a cluster load halves for each other.

// MODEL-LABEL: tirx.kernel @shared(
// MODEL-SAME:    attributes {tirx.cluster = "2x2", tirx.params = {BM = 64 : i64, BN = 64 : i64, C = "2x2"}}

// What is written holds.

// WRITTEN-LABEL: tirx.kernel @few_rows(
// WRITTEN-SAME:    threads(256) attributes {tirx.params = {BM = 128 : i64, BN = 256 : i64, STAGES = 3 : i64}}

// WHY: remark: @few_rows multiplies tiles of 64x64x64 (BM = 64, BN = 64, STAGES = 6): {{.*}} us ({{.*}}) at {{.*}} GHz, 1 round of tiles, {{.*}}; 64x128x64: +{{[0-9]+}}%
// WHY: remark: @shared multiplies tiles of 64x64x64 in clusters of 2x2 (BM = 64, BN = 64, C = 2x2): {{.*}}; 64x64x64 in {{.*}}: +{{[0-9]+}}%

// PTX: .entry few_rows
// PTX: wgmma.mma_async.sync.aligned.m64n64k16
// PTX: .entry shared
// PTX: .reqnctapercluster 4

!sa = !tirx.tile<[BM]x64xf16, shared>
!sb = !tirx.tile<[BN]x64xf16, shared>
!acc = !tirx.tile<[BM]x[BN]xf32, register>

tirx.kernel @few_rows(%a: memref<64x7168xf16>, %b: memref<2112x7168xf16>, %d: memref<64x2112xf32>) target("sm_90a")
    params(BM in [128, 64, 100], BN in [256, 128, 64], STAGES in [3, 4, 6])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 7168 : index
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<64x7168xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<2112x7168xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !sa
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  } {tirx.stages = #tirx.size<STAGES>}
  %gd = tirx.view %d[%m, %n] clipped : memref<64x2112xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}

tirx.kernel @square(%a: memref<8192x8192xf16>, %b: memref<8192x8192xf16>, %d: memref<8192x8192xf32>) target("sm_90a")
    params(BM in [64, 128], BN in [64, 128, 256])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 8192 : index
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<8192x8192xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<8192x8192xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !sa
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  }
  %gd = tirx.view %d[%m, %n] : memref<8192x8192xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}

tirx.kernel @no_product(%a: memref<64xf32>) target("sm_90a") params(BM in [64, 32]) threads(BM) {
  tirx.return
}

tirx.kernel @parts(%a: memref<64x7168xf16>, %b: memref<2112x7168xf16>, %d: memref<64x2112xf32>) target("sm_90a")
    params(BM in [64], BN in [64], P in [1, 2, 4, 8])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2)
    attributes {tirx.parts = #tirx.size<P>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 7168 : index
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<64x7168xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<2112x7168xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !sa
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<64x2112xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}

tirx.kernel @enough_tiles(%a: memref<64x512xf16>, %b: memref<8448x512xf16>, %d: memref<64x8448xf32>) target("sm_90a")
    params(BM in [64], BN in [64], P in [1, 2, 4, 8])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2)
    attributes {tirx.parts = #tirx.size<P>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<64x512xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<8448x512xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !sa
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<64x8448xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}

tirx.kernel @shared(%a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %d: memref<4096x4096xf32>) target("sm_90a")
    params(BM in [64], BN in [64], C in ["none", "rows", "2x2", "4x1"])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2)
    attributes {tirx.cluster = #tirx.size<C>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !sa
  %sb = tirx.alloc : !sb
  %acc = tirx.alloc : !acc
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %end step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<4096x4096xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] : memref<4096x4096xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !sa
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !sb
    tirx.mma %sa, %sb, %acc : !sa, !sb, !acc
  }
  %gd = tirx.view %d[%m, %n] : memref<4096x4096xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !acc, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}
