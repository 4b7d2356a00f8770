// tirx-opt --remarks --tirx-pipeline-loops
// 13:3: remark: each product is awaited: what 'test.op' does with %acc is not known
!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!g = !tirx.tile<128x64xf16, global>
!x = !tirx.tile<128x128xf32, global>
tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !t
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !x
  tirx.fill %acc, %zero : f32, !t
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.mma %sa, %sa, %acc : !s, !s, !t
    "test.op"(%acc) : (!t) -> ()
  }
  tirx.copy %acc, %gd : !t, !x
  tirx.return
}

// -----

// 13:3: remark: each product is awaited: nothing reads the accumulator %acc behind the loop
-    "test.op"(%acc) : (!t) -> ()
@@
-  tirx.copy %acc, %gd : !t, !x

// -----

// 17:3: remark: each product is awaited: 'tirx.mma' reads %h, which products write
 !t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
+!h = !tirx.tile<128x64xf16, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 2@TCol)]>>
+!v = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
@@
   %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !x
+  %h = tirx.alloc : !h
+  %sb = tirx.subview %sa[0, 0] : !s -> !v
@@
-    tirx.mma %sa, %sa, %acc : !s, !s, !t
-    "test.op"(%acc) : (!t) -> ()
+    tirx.mma %sa, %sb, %h : !s, !v, !h
+    tirx.mma %h, %sa, %acc : !h, !s, !t

// -----

// 18:5: remark: %sa keeps one buffer: 'tirx.store' writes it, which is no copy to it
 !t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
+!r = !tirx.tile<128x64xf16, register, #tirx.tile_layout<S[(128, 64) : (1@tid_in_wg, 1)]>>
@@
   %sa = tirx.alloc : !s
+  %r = tirx.zero : !r
@@
     tirx.copy %ga, %sa : !g, !s
+    tirx.store %r, %sa : !r, !s
@@
-    "test.op"(%acc) : (!t) -> ()

// -----

// 17:5: remark: the loop stays sequential: 'tirx.signal' in it orders what blocks do
-tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index) target("sm_100a") threads(128) {
+tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_100a") threads(128) {
@@
-    "test.op"(%acc) : (!t) -> ()
+    tirx.signal %q[%k], %f : memref<?xi32>

// -----

// 14:3: remark: each product is awaited: 'tirx.load' reads %sa beside the products
 !t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
+!r = !tirx.tile<128x64xf16, register, #tirx.tile_layout<S[(128, 64) : (1@tid_in_wg, 1)]>>
@@
-    "test.op"(%acc) : (!t) -> ()
+    %r = tirx.load %sa : !s -> !r
+    "test.op"(%r) : (!r) -> ()

// -----

// 18:5: remark: the loop of products of pairs stays sequential: 'tirx.mma' reads %sb, which is in no ring
 !t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
+!v = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
@@
-tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index) target("sm_100a") threads(128) {
+tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index) target("sm_100a") cluster(2) per_cta threads(128) {
@@
   tirx.fill %acc, %zero : f32, !t
+  %sb = tirx.alloc : !v
@@
-    tirx.mma %sa, %sa, %acc : !s, !s, !t
-    "test.op"(%acc) : (!t) -> ()
+    tirx.mma %sa, %sb, %acc pair : !s, !v, !t

// -----

// 14:3: remark: each product is awaited: 'tirx.copy' uses the accumulator %acc
   tirx.fill %acc, %zero : f32, !t
+  scf.for %o = %c0 to %n step %c1 {
@@
-    "test.op"(%acc) : (!t) -> ()
+  }

// -----

// 14:3: remark: each product is awaited: 'tirx.copy' uses %acc in another place than the loop
   tirx.fill %acc, %zero : f32, !t
+  scf.for %o = %c0 to %n step %c1 {
@@
-    "test.op"(%acc) : (!t) -> ()
+    tirx.copy %acc, %gd : !t, !x
+  }

// -----

// 14:3: remark: each product is awaited: 'scf.for' reads what it writes to the accumulator
 !t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
+!r = !tirx.tile<128x128xf32, register>
@@
-    "test.op"(%acc) : (!t) -> ()
+  }
+  scf.for %o = %c0 to %n step %c1 {
+    %v = tirx.load %acc : !t -> !r
+    tirx.store %v, %acc : !r, !t

// -----

// 13:3: remark: each product is awaited: 'tirx.mma' does not run in every iteration
-    tirx.mma %sa, %sa, %acc : !s, !s, !t
-    "test.op"(%acc) : (!t) -> ()
+    %odd = arith.cmpi eq, %k, %c1 : index
+    scf.if %odd {
+      tirx.mma %sa, %sa, %acc : !s, !s, !t
+    }

// -----

// tirx-opt --remarks --tirx-pipeline-loops
// 9:9: remark: %sa keeps one buffer: the loop does not both fill and read it
!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!g = !tirx.tile<128x64xf16, global>
!x = !tirx.tile<128x128xf32, global>
tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !t
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !x
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
  }
  tirx.return
}

// -----

// 12:3: remark: each product is awaited: a tile of the products in tensor memory is no allocation
-  %acc = tirx.alloc : !t
+  %acc = "test.op"() : () -> !t
@@
     tirx.copy %ga, %sa : !g, !s
+    tirx.mma %sa, %sa, %acc : !s, !s, !t

// -----

// 10:10: error: expected a layout on !tirx.tile<128x128xf32, tensor>; tirx-pick-layouts chooses one
-!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
+!t = !tirx.tile<128x128xf32, tensor>
@@
-  %zero = arith.constant 0.0 : f32
+  %no = arith.constant false
@@
     tirx.copy %ga, %sa : !g, !s
+    tirx.mma %sa, %sa, %acc accumulate(%no) : !s, !s, !t
+    tirx.copy %acc, %gd : !t, !x

// -----

// tirx-opt --remarks --tirx-pipeline-loops
// 19:3: remark: each product is awaited: the scale factors of a product are in no allocation
!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!s8 = !tirx.tile<128x128xf8E4M3FN, shared, #tirx.compose_layout<#tirx.swizzle_layout<4, 3, 3>, #tirx.tile_layout<S[128, 128]>>>
!g8 = !tirx.tile<128x128xf8E4M3FN, global>
!u = !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(4, 32, 4) : (4@TCol, 1@TLane, 1@TCol)] + R[4 : 32@TLane]>>
!us = !tirx.tile<128x4xf8E8M0FNU, shared, #tirx.tile_layout<S[(4, 32, 4) : (4, 16, 1)]>>
!ur = !tirx.tile<128x4xf8E8M0FNU, register, #tirx.tile_layout<S[(128, 4) : (1@tid_in_wg, 1)]>>
!g = !tirx.tile<128x64xf16, global>
!x = !tirx.tile<128x128xf32, global>
tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index, %b: memref<128x4096xf8E4M3FN>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s8
  %acc = tirx.alloc : !t
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !x
  tirx.fill %acc, %zero : f32, !t
  %u = "test.op"() : () -> !u
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %b[%c0, %k] : memref<128x4096xf8E4M3FN> -> !g8
    tirx.copy %ga, %sa : !g8, !s8
    tirx.mma %sa, %sa, %acc scales(%u, %u) : !s8, !s8, !t, !u, !u
  }
  tirx.copy %acc, %gd : !t, !x
  tirx.return
}

// -----

// 20:3: remark: each product is awaited: 'test.op' works on scale factors %u
-  %u = "test.op"() : () -> !u
+  %u = tirx.alloc : !u
+  "test.op"(%u) : (!u) -> ()

// -----

// 20:3: remark: each product is awaited: 'tirx.mma' is of pairs, scaled or sparse, and threads use %acc
-  tirx.fill %acc, %zero : f32, !t
-  %u = "test.op"() : () -> !u
+  %no = arith.constant false
+  %u = tirx.alloc : !u
+  %us = tirx.alloc : !us
@@
-    tirx.mma %sa, %sa, %acc scales(%u, %u) : !s8, !s8, !t, !u, !u
+    tirx.copy %us, %u : !us, !u
+    tirx.mma %sa, %sa, %acc scales(%u, %u) accumulate(%no) : !s8, !s8, !t, !u, !u
+    tirx.copy %acc, %gd : !t, !x
@@
-  tirx.copy %acc, %gd : !t, !x

// -----

// tirx-opt --remarks --tirx-pipeline-loops
// 19:3: remark: each product is awaited: the metadata %e of 'tirx.mma' is in no ring
!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!e = !tirx.tile<128x32xi4, tensor, #tirx.tile_layout<S[(4, 2, 8, 2, 2, 2, 2, 4) : (32@TLane, 4@TCol, 1@TLane, 32@TCol, 16@TCol, 8@TCol, 8@TLane, 1@TCol)]>>
!b = !tirx.tile<128x128xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 2, 64) : (64, 8192, 1)]>>>
!gb = !tirx.tile<128x128xf16, global>
!ge = !tirx.tile<128x32xi4, global>
!g = !tirx.tile<128x64xf16, global>
!x = !tirx.tile<128x128xf32, global>
tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index, %m: memref<128x4096xi4>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s
  %acc = tirx.alloc : !t
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !x
  %sb = tirx.alloc : !b
  tirx.fill %acc, %zero : f32, !t
  %e = tirx.alloc : !e
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %gb = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !gb
    tirx.copy %gb, %sb : !gb, !b
    tirx.mma %sa, %sb, %acc metadata(%e) : !s, !b, !t, !e
  }
  tirx.copy %acc, %gd : !t, !x
  tirx.return
}

// -----

// 19:3: remark: each product is awaited: the metadata of a product is in no allocation
-  %e = tirx.alloc : !e
+  %e = "test.op"() : () -> !e

// -----

// 19:3: remark: each product is awaited: 'test.op' works on metadata %e
     tirx.mma %sa, %sb, %acc metadata(%e) : !s, !b, !t, !e
+    "test.op"(%e) : (!e) -> ()

// -----

// 19:3: remark: each product is awaited: 'tirx.copy' stores metadata %e behind a product
     tirx.mma %sa, %sb, %acc metadata(%e) : !s, !b, !t, !e
+    %ge = tirx.view %m[%c0, %k] : memref<128x4096xi4> -> !ge
+    tirx.copy %ge, %e : !ge, !e

// -----

// 19:3: remark: each product is awaited: 'tirx.copy' works on metadata %e
-tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index, %m: memref<128x4096xi4>) target("sm_100a") threads(128) {
+tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index, %m: memref<128x4096xi4>, %p: i1) target("sm_100a") threads(128) {
@@
     tirx.copy %gb, %sb : !gb, !b
+    %ge = tirx.view %m[%c0, %k] : memref<128x4096xi4> -> !ge
+    scf.if %p {
+      tirx.copy %ge, %e : !ge, !e
+    }

// -----

// tirx-opt --remarks --tirx-pipeline-loops
// 22:5: remark: %sa keeps one buffer: cp_async does this copy to it, and tma the one before
!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!v = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!y = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (4100, 1)]>>
!g = !tirx.tile<64x64xf16, global>
!h = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[4096 : 1] + 4096>>>
!x = !tirx.tile<128x128xf32, global>
tirx.kernel @k(%a: memref<128x4096xf16>, %d: memref<128x128xf32>, %n: index, %b: memref<64x4100xf16>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !s
  %gl = tirx.view %b[%c0, %c0] : memref<64x4100xf16> -> !y
  %acc = tirx.alloc : !t
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !x
  tirx.fill %acc, %zero : f32, !t
  scf.for %k = %c0 to %n step %c1 {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    %hi = tirx.subview %sa[64, 0] : !s -> !h
    tirx.copy %ga, %hi : !g, !h
    %lo = tirx.subview %sa[0, 0] : !s -> !v
    tirx.copy %gl, %lo : !y, !v
    tirx.mma %sa, %sa, %acc : !s, !s, !t
  }
  tirx.copy %acc, %gd : !t, !x
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-pipeline-loops
// 12:8: remark: each product is awaited: 'tirx.mma' reads A from registers
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!r = !tirx.tile<64x64xf16, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 1, 4@laneid, 1@laneid, 1)]>>
!a = !tirx.tile<64x64xf16, register, #tirx.tile_layout<S[(4, 2, 8, 4, 2, 4, 2) : (1@warpid, 2, 4@laneid, 8, 4, 1@laneid, 1)]>>
!t = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%a: memref<64x4096xf16>, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sa = tirx.alloc : !s
  %acc = tirx.zero : !t
  %x = tirx.zero : !a
  %z = scf.for %k = %c0 to %n step %c1 iter_args(%d = %acc) -> (!t) {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    tirx.copy %ga, %sa : !g, !s
    %e = tirx.mma %x, %sa, %d : !a, !s, !t -> !t
    scf.yield %e : !t
  }
  "test.op"(%z) : (!t) -> ()
  tirx.return
}

// -----

// 12:8: remark: each product is awaited: 'tirx.mma' starts from a value from outside of the loop
-  %x = tirx.zero : !a
+  %zo = scf.for %q = %c0 to %n step %c1 iter_args(%o = %acc) -> (!t) {
@@
-    %e = tirx.mma %x, %sa, %d : !a, !s, !t -> !t
-    scf.yield %e : !t
+    %e = tirx.mma %sa, %sa, %o : !s, !s, !t -> !t
+    scf.yield %d : !t
@@
-  "test.op"(%z) : (!t) -> ()
+  scf.yield %z : !t
+  }
+  "test.op"(%zo) : (!t) -> ()

// -----

// tirx-opt --remarks --tirx-mem2reg --tirx-pick-layouts --tirx-fold-zero-fill --tirx-select-instructions --tirx-select-copies --tirx-pipeline-loops
// 25:3: remark: a slot of 16384 bytes for %sa, filled before the loop by tma
// 25:3: remark: each product is awaited: %s has no room for a second slot: 256 columns, with 0 left
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<256x64xf16, global>
!gc = !tirx.tile<128x256xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!c = !tirx.tile<128x256xf16, shared>
!s = !tirx.tile<128x256xf32, tensor>
!o = !tirx.tile<128x128xf32, tensor>
!p = !tirx.tile<128x256xf16, tensor>
tirx.kernel @k(%a: memref<128x64xf16>, %b: memref<512x64xf16>, %c: memref<128x512xf16>, %d: memref<128x128xf32>)
    target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !c
  %s = tirx.alloc : !s
  %o = tirx.alloc : !o
  %p = tirx.alloc : !p
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !o
  scf.for %k = %c0 to %c512 step %c256 {
    %gb = tirx.view %b[%k, %c0] : memref<512x64xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<128x512xf16> -> !gc
    tirx.copy %gb, %sb : !gb, !b
    tirx.copy %gc, %sc : !gc, !c
    tirx.fill %s, %zero : f32, !s
    tirx.mma %sa, %sb, %s : !a, !b, !s
    %w = tirx.load %s : !s -> !tirx.tile<128x256xf32, register>
    %h = tirx.map ins(%w : !tirx.tile<128x256xf32, register>) {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tirx.yield %y : f16
    } -> !tirx.tile<128x256xf16, register>
    tirx.store %h, %p : !tirx.tile<128x256xf16, register>, !p
    tirx.mma %p, %sc, %o : !p, !c, !o
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %o, %gd : !o, !tirx.tile<128x128xf32, global>
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-mem2reg --tirx-pick-layouts --tirx-fold-zero-fill --tirx-select-instructions --tirx-select-copies --tirx-pipeline-loops
// 20:3: remark: a slot of 16384 bytes for %sa, filled before the loop by tma
// 20:3: remark: each product is awaited: 'tirx.mma' would need registers beside those of 'tirx.mma'
!ga = !tirx.tile<128x64xf16, global>
!gc = !tirx.tile<128x128xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!c = !tirx.tile<128x128xf16, shared>
!s = !tirx.tile<128x128xf32, register>
!h = !tirx.tile<128x128xf16, register>
tirx.kernel @k(%a: memref<128x64xf16>, %b: memref<512x64xf16>, %c: memref<128x512xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c512 = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !a
  %sc = tirx.alloc : !c
  %s = tirx.alloc : !s
  %o = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !s
  scf.for %k = %c0 to %c512 step %c128 {
    %gb = tirx.view %b[%k, %c0] : memref<512x64xf16> -> !ga
    %gc = tirx.view %c[%c0, %k] : memref<128x512xf16> -> !gc
    tirx.copy %gb, %sb : !ga, !a
    tirx.copy %gc, %sc : !gc, !c
    tirx.fill %s, %zero : f32, !s
    tirx.mma %sa, %sb, %s : !a, !a, !s
    %h = tirx.map ins(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tirx.yield %y : f16
    } -> !h
    tirx.mma %h, %sc, %o : !h, !c, !s
  }
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-mem2reg --tirx-pick-layouts --tirx-fold-zero-fill --tirx-select-instructions --tirx-select-copies --tirx-pipeline-loops
// 22:3: remark: each product is awaited: 'tirx.mma' needs a sum of the same iteration that threads use, too
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<128x64xf32, register>
!h = !tirx.tile<128x64xf16, register>
tirx.kernel @chain(%a: memref<128x64xf16>, %b: memref<256x64xf16>, %c: memref<64x256xf16>, %d: memref<128x64xf32>) target("sm_90a") grid(1) threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 0.0625 : f32
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %sc = tirx.alloc : !b
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %o = tirx.alloc : !s
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !ga
  tirx.copy %ga, %sa engine tma : !ga, !a
  tirx.fill %o, %zero : f32, !s
  scf.for %k = %c0 to %c256 step %c64 {
    %gb = tirx.view %b[%k, %c0] : memref<256x64xf16> -> !gb
    %gc = tirx.view %c[%c0, %k] : memref<64x256xf16> -> !gb
    tirx.copy %gb, %sb : !gb, !b
    tirx.copy %gc, %sc : !gb, !b
    tirx.fill %s, %zero : f32, !s
    tirx.mma %sa, %sb, %s : !a, !b, !s

    %w = tirx.map ins(%s : !s) {
    ^bb0(%x: f32):
      %y = arith.mulf %x, %two : f32
      tirx.yield %y : f32
    } -> !s
    %h = tirx.map ins(%w : !s) {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tirx.yield %y : f16
    } -> !h
    tirx.fill %t, %zero : f32, !s
    tirx.mma %h, %sb, %t : !h, !b, !s
    tirx.map ins(%o, %t : !s, !s) outs(%o : !s) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tirx.yield %z : f32
    }
    tirx.map ins(%o, %w : !s, !s) outs(%o : !s) {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tirx.yield %z : f32
    }
    tirx.mma %h, %sc, %o : !h, !b, !s
  }
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %o, %gd : !s, !tirx.tile<128x64xf32, global>
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-multicast-copies=cluster=rows
// 3:1: remark: @k has no pairs of blocks: it does not say its grid
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %i = tirx.block_id y
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %used = tirx.acquire %ring at(use)
        "test.op"(%used) : (!s) -> ()
        tirx.release %ring at(use)
      }
    }
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %gb = tirx.view %b[%c0, %k] : memref<64x4096xf16> -> !g
        %filled = tirx.acquire %ring at(fill)
        tirx.async_copy %gb, %filled engine(tma) : !g, !s
        tirx.release %ring at(fill) after(tma)
      }
    }
  }
  tirx.return
}

// -----

// 3:1: remark: @k has no pairs of blocks: its blocks form clusters already
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) cluster(2) per_cta threads(256) {

// -----

// 7:3: remark: @k has no pairs of blocks: 'tirx.barrier' is in the terms of the hardware
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) threads(256) {
@@
   %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
+  tirx.barrier

// -----

// 9:7: remark: @k has no pairs of blocks: its numbers of tiles are not those of the launch
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) threads(256) {
@@
     tirx.role @math warps(4) {
+      tirx.tiles @t %x, %y = order(row) of (%rows, %n) {
@@
         tirx.release %ring at(use)
-      }
+      } }
@@
     tirx.role @load warps(4) {
+      tirx.tiles @t %x, %y = order(row) of (%rows, %n) {
@@
         tirx.release %ring at(fill) after(tma)
-      }
+      } }

// -----

// 10:7: remark: @k has no pairs of blocks: the order of its tiles is hardware
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) threads(256) {
@@
   %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
+  %clc = tirx.ring slots(1) stations(ask, read) : !tirx.ring<tile_id>
@@
     tirx.role @math warps(4) {
+      tirx.tiles @t %x, %y = hardware(%clc, read) {
@@
         tirx.release %ring at(use)
-      }
+      } }
@@
     tirx.role @load warps(4) {
+      tirx.tiles @t %x, %y = hardware(%clc, read) {
@@
         tirx.release %ring at(fill) after(tma)
-      }
+      } }

// -----

// 19:9: remark: @k has no pairs of blocks: a tile of 63 rows has no halves
-!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
-!g = !tirx.tile<64x64xf16, global>
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+!s = !tirx.tile<63x64xf16, shared, #tirx.tile_layout<S[63, 64]>>
+!g = !tirx.tile<63x64xf16, global>
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) threads(256) {

// -----

// 20:9: remark: @k has no pairs of blocks: its pairs share no copy of a part of a tile
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) threads(256) {
@@
-        tirx.async_copy %gb, %filled engine(tma) : !g, !s
+        %half = tirx.subview %filled[0, 0] : !s -> !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[4096 : 1]>>
+        tirx.async_copy %gb, %half engine(tma) : !g, !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[4096 : 1]>>

// -----

// 19:9: remark: @k has no pairs of blocks: half of a tile cannot be loaded: expected every box to start at a multiple of 128 bytes in shared memory, found one at 32 with boxes of 1x16 in S[16 : 1] + 16
-!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
-!g = !tirx.tile<64x64xf16, global>
-tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") threads(256) {
+!s = !tirx.tile<2x16xf16, shared, #tirx.tile_layout<S[2, 16]>>
+!g = !tirx.tile<2x16xf16, global>
+tirx.kernel @k(%b: memref<64x4096xf16>, %n: index, %rows: index) target("sm_90a") grid(1, 2) threads(256) {

// -----

// tirx-opt --remarks --tirx-specialize-warps=roles=load
// 8:3: remark: @k keeps one role: 'tirx.signal' orders what blocks do
!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.signal %q[%c0], %f : memref<?xi32>
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// 8:3: remark: @k keeps one role: 'tirx.barrier' is in the terms of the hardware
-  tirx.signal %q[%c0], %f : memref<?xi32>
+  tirx.barrier

// -----

// 4:1: remark: @k keeps one role: 100 threads are no whole warps
-tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_90a") threads(128) {
+tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_90a") threads(100) {
@@
-  tirx.signal %q[%c0], %f : memref<?xi32>

// -----

// 10:11: remark: @k keeps one role: 'tirx.view' needs a value that 'tirx.for' carries
-  tirx.signal %q[%c0], %f : memref<?xi32>
-  tirx.for @k %k = 0 to %n {
-    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
+  %res = tirx.for @k %k = 0 to %n iter(%l = %c0) {
+    %l2 = arith.addi %l, %c1 : index
+    %ga = tirx.view %a[%c0, %l] : memref<64x4096xf16> -> !g
@@
     "test.op"(%fa) : (!f) -> ()
+    tirx.yield %l2

// -----

// 8:3: remark: @k keeps one role: 'scf.while' is around operations of several roles
-  tirx.signal %q[%c0], %f : memref<?xi32>
-  tirx.for @k %k = 0 to %n {
+  scf.while (%l = %c0) : (index) -> (index) {
+    %p = arith.cmpi ult, %l, %n : index
+    scf.condition(%p) %l : index
+  } do {
+  ^bb0(%k: index):
@@
     "test.op"(%fa) : (!f) -> ()
+    %l2 = arith.addi %k, %c1 : index
+    scf.yield %l2 : index

// -----

// 15:10: remark: @k keeps one role: cannot decide: which slot 'arith.select' gives
-tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_90a") threads(128) {
+tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %p: i32) target("sm_90a") threads(128) {
@@
-  %c1 = arith.constant 1 : index
+  %o = arith.constant 0 : i32
+  %q = arith.cmpi eq, %p, %o : i32
@@
-  tirx.signal %q[%c0], %f : memref<?xi32>
@@
-    %fa = tirx.load %sa_2 : !s -> !f
+    %x = arith.select %q, %sa_1, %sa_2 : !s
+    %fa = tirx.load %x : !s -> !f

// -----

// tirx-opt --remarks --tirx-specialize-warps=roles=load-mma-epilogue
// 16:5: remark: no role of products in @k: 'tirx.async_mma' works on a tile that is in no ring
!s = !tirx.tile<64x64xf16, shared>
!t = !tirx.tile<64x64xf32, tensor>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %acc = tirx.alloc : !t
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    tirx.async_mma %sa_2, %sa_2, %acc : !s, !s, !t
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// 4:1: remark: no role of products in @k: no product of tcgen05 is asynchronous
-!t = !tirx.tile<64x64xf32, tensor>
@@
-tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_100a") threads(128) {
+tirx.kernel @k(%a: memref<64x4096xf16>, %n: index, %q: memref<?xi32>, %f: i32) target("sm_90a") threads(128) {
@@
-  %acc = tirx.alloc : !t
@@
-    tirx.async_mma %sa_2, %sa_2, %acc : !s, !s, !t

// -----

// 18:11: remark: no role of products in @k: threads do 'tirx.load' at a station of the products
-  %acc = tirx.alloc : !t
+  %accs = tirx.ring slots(1) stations(mma, read) : !tirx.ring<!t>
@@
     tirx.release %sa at(fill) after(tma)
+    %acc = tirx.acquire %accs at(mma)
@@
     tirx.release %sa at(use)
+    tirx.release %accs at(mma) after(tcgen05)
+    %y = tirx.acquire %accs at(read)
+    tirx.release %accs at(read)

// -----

// tirx-opt --remarks --tirx-load-operands
// 6:8: warning: multiplied by mma.sync instead of wgmma: expected M in steps of 64, found 32; nearest is 64 [-Wslower-product]
!s = !tirx.tile<32x64xf16, shared>
!acc = !tirx.tile<32x32xf32, register>
tirx.kernel @k() target("sm_90a") threads(128) {
  %s = tirx.alloc : !s
  %c = tirx.zero : !acc
  %d = tirx.mma %s, %s, %c : !s, !s, !acc -> !acc
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-pipeline-loops
// 9:5: remark: the loop stays sequential: 'tirx.await' in it has a schedule already
tirx.kernel @k(%m: memref<64x64xf32>) target("sm_90a") grid(300) threads(32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !tirx.tile<32xf32, shared>
  scf.for %i = %c0 to %c4 step %c1 {
    %g = tirx.view %m[%i, %c0] : memref<64x64xf32> -> !tirx.tile<32xf32, global>
    tirx.copy %g, %s : !tirx.tile<32xf32, global>, !tirx.tile<32xf32, shared>
    tirx.await cp_async pending(0)
    %x = tirx.load %s : !tirx.tile<32xf32, shared> -> !tirx.tile<32xf32, register>
    tirx.store %x, %g : !tirx.tile<32xf32, register>, !tirx.tile<32xf32, global>
  }
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-tile-loop
// 6:3: remark: @k keeps its grid: 'scf.for' gives it a schedule already
tirx.kernel @k(%m: memref<64x64xf32>) target("sm_90a") grid(300) threads(32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !tirx.tile<32xf32, shared>
  scf.for %i = %c0 to %c4 step %c1 {
    %g = tirx.view %m[%i, %c0] : memref<64x64xf32> -> !tirx.tile<32xf32, global>
    tirx.copy %g, %s : !tirx.tile<32xf32, global>, !tirx.tile<32xf32, shared>
    tirx.await cp_async pending(0)
    %x = tirx.load %s : !tirx.tile<32xf32, shared> -> !tirx.tile<32xf32, register>
    tirx.store %x, %g : !tirx.tile<32xf32, register>, !tirx.tile<32xf32, global>
  }
  tirx.return
}

// -----

// tirx-opt --remarks --tirx-tile-loop
// 10:5: remark: @k keeps its grid: 'memref.store' is in the terms of the hardware
tirx.kernel @k(%m: memref<64x64xf32>) target("sm_90a") grid(300) threads(32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !tirx.tile<32xf32, shared>
  scf.for %i = %c0 to %c4 step %c1 {
    %g = tirx.view %m[%i, %c0] : memref<64x64xf32> -> !tirx.tile<32xf32, global>
    tirx.copy %g, %s : !tirx.tile<32xf32, global>, !tirx.tile<32xf32, shared>
    %n = memref.load %m[%i, %c0] : memref<64x64xf32>
    memref.store %n, %m[%c0, %i] : memref<64x64xf32>
    %x = tirx.load %s : !tirx.tile<32xf32, shared> -> !tirx.tile<32xf32, register>
    tirx.store %x, %g : !tirx.tile<32xf32, register>, !tirx.tile<32xf32, global>
  }
  tirx.return
}
