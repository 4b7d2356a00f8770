// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks --tirx-tile-loop | filecheck %s

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>

// More tiles than SMs, staged in a loop: a block goes through several of them. What does not depend on the tile stays
// outside, registers start anew in each.

// CHECK-LABEL: tirx.kernel @many(
// CHECK-SAME:    grid(min(3200, sm_count())) threads(128) {
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c64 = arith.constant 64 : index
// CHECK-NEXT:    %sa = tirx.alloc
// CHECK-NEXT:    %0 = arith.constant 64 : index
// CHECK-NEXT:    %1 = arith.constant 50 : index
// CHECK-NEXT:    tirx.tiles @tile %i, %j = order(row) of (%0, %1) {
// CHECK-NEXT:      %zeros = tirx.zero
// CHECK-NEXT:      %m = arith.muli %i, %c64 : index
// CHECK-NEXT:      scf.for %k = %c0 to %j step %c64 {
// CHECK:           }
// CHECK-NEXT:      "test.op"(%zeros)
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.return
// expected-remark@+1 {{@many loops over 3200 tiles in the order row, a block on each SM}}
tirx.kernel @many(%a: memref<4096x4096xf16>) target("sm_90") grid(50, 64) threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %row = tirx.block_id y
  %column = tirx.block_id x
  %sa = tirx.alloc : !s
  %zeros = tirx.zero : !f
  %m = arith.muli %row, %c64 : index
  scf.for %k = %c0 to %column step %c64 {
    %ga = tirx.view %a[%m, %k] : memref<4096x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  "test.op"(%zeros) : (!f) -> ()
  tirx.return
}

// -----

// A third dimension counts with the rows; asked for, it does not matter how many tiles there are.

// CHECK-LABEL: tirx.kernel @batch(
// CHECK-SAME:    grid(min(24, sm_count())) threads(32) {
// CHECK:         tirx.tiles @tile %i, %j = order(group 8) of (%{{.*}}, %{{.*}}) {
// CHECK-NEXT:      %[[C3:.*]] = arith.constant 3 : index
// CHECK-NEXT:      %[[Y:.*]] = arith.remui %i, %[[C3]] : index
// CHECK-NEXT:      %[[C3B:.*]] = arith.constant 3 : index
// CHECK-NEXT:      %[[Z:.*]] = arith.divui %i, %[[C3B]] : index
// CHECK-NEXT:      "test.op"(%j, %[[Y]], %[[Z]])
// expected-remark@+1 {{@batch loops over 24 tiles in the order group 8, a block on each SM}}
tirx.kernel @batch() target("sm_90") grid(4, 3, 2) threads(32) attributes {tirx.order = "group"} {
  %x = tirx.block_id x
  %y = tirx.block_id y
  %z = tirx.block_id z
  "test.op"(%x, %y, %z) : (index, index, index) -> ()
  tirx.return
}

// A grid of two dimensions has one layer of tiles, number 0.

// CHECK-LABEL: tirx.kernel @layer(
// CHECK:         tirx.tiles @tile %i, %j = order(row) of (%{{.*}}, %{{.*}}) {
// CHECK-NEXT:      %[[Z:.*]] = arith.constant 0 : index
// CHECK-NEXT:      "test.op"(%j, %i, %[[Z]])
// expected-remark@+1 {{@layer loops over 12 tiles in the order row, a block on each SM}}
tirx.kernel @layer() target("sm_90") grid(4, 3) threads(32) attributes {tirx.order = "row"} {
  %x = tirx.block_id x
  %y = tirx.block_id y
  %z = tirx.block_id z
  "test.op"(%x, %y, %z) : (index, index, index) -> ()
  tirx.return
}

// -----

// Few tiles, or no staging: the grid stays.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
// CHECK-LABEL: tirx.kernel @few(
// CHECK-SAME:    grid(11, 12)
// expected-remark@+1 {{@few keeps its grid: its 132 tiles are no more than 132 multiprocessors}}
tirx.kernel @few(%a: memref<4096x4096xf16>, %n: index) target("sm_90") grid(11, 12) threads(128) {
  %c1 = arith.constant 1 : index
  %sa = tirx.alloc : !s
  scf.for %k = %c1 to %n step %c1 {
    %ga = tirx.view %a[%k, %k] : memref<4096x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  tirx.return
}
// CHECK-LABEL: tirx.kernel @plain(
// CHECK-SAME:    grid(1000)
tirx.kernel @plain() target("sm_90") grid(1000) threads(128) {
  tirx.return
}

// -----

// expected-error@+1 {{expected a kernel that can loop over its tiles, found that it does not say its grid}}
tirx.kernel @unknown() target("sm_90") threads(128) attributes {tirx.order = "row"} {
  tirx.return
}

// -----

// expected-error@+1 {{expected an order of auto, none, row, group, hilbert, hardware, found table}}
tirx.kernel @table() target("sm_90") grid(4) threads(128) attributes {tirx.order = "table"} {
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

// A grid of formulas: the launch counts the tiles.

// CHECK-LABEL: tirx.kernel @formulas(
// CHECK-SAME:    grid(min(mul(mul(ceildiv(size(0, 1), 64), size(0, 0)), 3), sm_count()))
// CHECK-SAME:    tirx.requires = {{\[\[}}#ptx.formula<mul(mul(size(0, 0), 3), ceildiv(size(0, 1), 64))>, "at_most", #ptx.formula<2147483647>, "expected at most 2147483647 tiles of a grid, which blocks count in 32 bits"]]
// CHECK:         %[[ROWS:.*]] = tirx.launch_value size(0, 0)
// CHECK-NEXT:    %[[ALL:.*]] = tirx.launch_value mul(size(0, 0), 3)
// CHECK-NEXT:    %[[COLUMNS:.*]] = tirx.launch_value ceildiv(size(0, 1), 64)
// CHECK-NEXT:    tirx.tiles @tile %[[I:.*]], %[[J:.*]] = order(row) of (%[[ALL]], %[[COLUMNS]]) {
// CHECK-NEXT:      %[[Y:.*]] = arith.remui %[[I]], %[[ROWS]] : index
// CHECK-NEXT:      %[[Z:.*]] = arith.divui %[[I]], %[[ROWS]] : index
// CHECK:           tirx.view %a[%[[Y]], %[[Z]]]
// expected-remark@+1 {{@formulas loops over mul(mul(ceildiv(size(0, 1), 64), size(0, 0)), 3) tiles in the order row, a block on each SM}}
tirx.kernel @formulas(%a: memref<?x?xf16>, %n: index) target("sm_90") grid(ceildiv(size(0, 1), 64), size(0, 0), 3) threads(128) {
  %c1 = arith.constant 1 : index
  %y = tirx.block_id y
  %z = tirx.block_id z
  %sa = tirx.alloc : !s
  scf.for %k = %c1 to %n step %c1 {
    %ga = tirx.view %a[%y, %z] : memref<?x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  tirx.return
}

// -----

!q = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf32, register>

// Loops of several products are persistent where two slots of all that is loaded have room.

// CHECK-LABEL: tirx.kernel @several(
// CHECK:         tirx.tiles @tile %{{.*}}, %{{.*}} = order(row)
// expected-remark@+1 {{@several loops over ceildiv(size(0, 0), 64) tiles in the order row, a block on each SM}}
tirx.kernel @several(%a: memref<?x?xf16>, %n: index) target("sm_90a") grid(ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.block_id x
  %sa = tirx.alloc : !q
  %s = tirx.alloc : !f
  %t = tirx.alloc : !f
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%x, %k] : memref<?x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !q
    tirx.mma %sa, %sa, %s : !q, !q, !f
    tirx.mma %sa, %sa, %t : !q, !q, !f
  }
  tirx.return
}

// -----

!q = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf32, register>

// As many blocks as tiles are faster where loops differ in length, and nothing else is known without wgmma.

// CHECK-LABEL: tirx.kernel @lengths(
// CHECK-NOT:     tirx.tiles
tirx.kernel @lengths(%a: memref<?x?xf16>, %n: index) target("sm_90a") grid(ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.block_id x
  %end = arith.addi %x, %c1 : index
  %sa = tirx.alloc : !q
  %s = tirx.alloc : !f
  %t = tirx.alloc : !f
  // expected-remark@+1 {{@lengths keeps its grid: its loop has several products and is not as long in each block}}
  scf.for %k = %c0 to %end step %c1 {
    %ga = tirx.view %a[%x, %k] : memref<?x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !q
    tirx.mma %sa, %sa, %s : !q, !q, !f
    tirx.mma %sa, %sa, %t : !q, !q, !f
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @older(
// CHECK-NOT:     tirx.tiles
tirx.kernel @older(%a: memref<?x?xf16>, %n: index) target("sm_80") grid(ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.block_id x
  %sa = tirx.alloc : !q
  %s = tirx.alloc : !f
  %t = tirx.alloc : !f
  // expected-remark@+1 {{@older keeps its grid: its loop has several products: blocks that start when others have ended}}
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%x, %k] : memref<?x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !q
    tirx.mma %sa, %sa, %s : !q, !q, !f
    tirx.mma %sa, %sa, %t : !q, !q, !f
  }
  tirx.return
}

// -----

// Twice 113.5 KiB, of which 226 are free beside mbarriers.

!q = !tirx.tile<256x227xf16, shared>
!g = !tirx.tile<256x227xf16, global>
!f = !tirx.tile<256x256xf32, register>

// CHECK-LABEL: tirx.kernel @large(
// CHECK-NOT:     tirx.tiles
tirx.kernel @large(%a: memref<?x?xf16>, %n: index) target("sm_90a") grid(ceildiv(size(0, 0), 256)) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = tirx.block_id x
  %sa = tirx.alloc : !q
  %s = tirx.alloc : !f
  %t = tirx.alloc : !f
  // expected-remark@+1 {{@large keeps its grid: its loop has several products, and no room for two of each tile}}
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%x, %k] : memref<?x?xf16> -> !g
    tirx.copy %ga, %sa : !g, !q
    tirx.mma %sa, %sa, %s : !q, !q, !f
    tirx.mma %sa, %sa, %t : !q, !q, !f
  }
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

// Cluster launch control: the grid stays, every tile asks for one more.

// CHECK-LABEL: tirx.kernel @launched(
// CHECK-SAME:    grid(4, 5, 2)
// CHECK:         %[[CLC:.*]] = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
// CHECK-NEXT:    tirx.tiles @tile %[[I:.*]], %[[J:.*]] = hardware(%[[CLC]], read) {
// CHECK-NEXT:      tirx.acquire %[[CLC]] at(ask)
// CHECK-NEXT:      tirx.async_next %[[CLC]] engine(clc)
// CHECK-NEXT:      tirx.release %[[CLC]] at(ask) after(tma)
// CHECK:           %[[Y:.*]] = arith.remui %[[I]]
// CHECK:           %[[Z:.*]] = arith.divui %[[I]]
// CHECK:           tirx.view %a[%[[Z]], %[[Y]], %[[J]]]
// expected-remark@+1 {{@launched has 40 tiles, of which blocks that run take over those of others}}
tirx.kernel @launched(%a: memref<?x?x?xf16>) target("sm_100") grid(4, 5, 2) threads(128) attributes {tirx.order = "hardware"} {
  %x = tirx.block_id x
  %y = tirx.block_id y
  %z = tirx.block_id z
  %sa = tirx.alloc : !s
  %ga = tirx.view %a[%z, %y, %x] : memref<?x?x?xf16> -> !g
  tirx.copy %ga, %sa : !g, !s
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

// In a cluster one block asks for all.

// CHECK-LABEL: tirx.kernel @clusters(
// CHECK:         tirx.ring slots(2) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
// expected-remark@+1 {{@clusters has 4 tiles}}
tirx.kernel @clusters(%a: memref<?x?xf16>) target("sm_100a") grid(4) cluster(2) per_cta threads(128) attributes {tirx.order = "hardware"} {
  %x = tirx.block_id x
  %sa = tirx.alloc : !s
  %ga = tirx.view %a[%x, %x] : memref<?x?xf16> -> !g
  tirx.copy %ga, %sa : !g, !s
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

// The two blocks of a pair take one tile together; half as many pairs run at once as there are multiprocessors.

// CHECK-LABEL: tirx.kernel @pairs(
// CHECK-SAME:    grid(min(400, ceildiv(sm_count(), 2)))
// CHECK:         tirx.tiles @tile %{{.*}}, %{{.*}} = order(row) of
// expected-remark@+1 {{@pairs loops over 400 tiles in the order row, a block on each SM}}
tirx.kernel @pairs(%a: memref<?x?xf16>) target("sm_100a") grid(20, 20) cluster(2) per_cta threads(128) attributes {tirx.order = "row"} {
  %x = tirx.block_id x
  %sa = tirx.alloc : !s
  %ga = tirx.view %a[%x, %x] : memref<?x?xf16> -> !g
  tirx.copy %ga, %sa : !g, !s
  tirx.return
}

// -----

// expected-error@+1 {{expected a kernel that can loop over its tiles, found that the 65 threads of the kernel are not whole warps of 32}}
tirx.kernel @part_of_a_warp(%a: memref<?x?xf16>) target("sm_90a") grid(4) threads(65) attributes {tirx.order = "row"} {
  tirx.return
}

// -----

// expected-error@+1 {{expected a kernel that can loop over its tiles, found that 'clusterlaunchcontrol' does not exist on sm_90a}}
tirx.kernel @before(%a: memref<?x?xf16>) target("sm_90a") grid(4) threads(128) attributes {tirx.order = "hardware"} {
  tirx.return
}

// -----

// expected-error@+1 {{expected a kernel that can loop over its tiles, found that it has no target}}
tirx.kernel @anywhere(%a: memref<?x?xf16>) grid(4) threads(128) attributes {tirx.order = "hardware"} {
  tirx.return
}

// -----

// Blocks count tiles in 32 bits, groups of rows whole.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>

// expected-error@+1 {{expected a kernel that can loop over its tiles, found that it has more than 2147483647 tiles}}
tirx.kernel @many(%a: memref<64x4096xf16>, %n: index) target("sm_90") grid(65536, 32761) threads(128) attributes {tirx.order = "group"} {
  tirx.return
}
