// tirx-opt --tirx-lower-rings
// 2:3: error: expected integers without a sign, floats of 64 bits or less, register tiles or parts of slots, found f80
tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
  tirx.for @k %k = 0 to %n skew(2) {
    %v = tirx.at(0) {
      %x = "test.op"(%k) : (index) -> f80
      tirx.yield %x
    }
    tirx.at(2) {
      "test.op"(%v) : (f80) -> ()
    }
  }
  tirx.return
}

// -----

// 2:3: error: expected integers without a sign, floats of 64 bits or less, register tiles or parts of slots, found ui16
-      %x = "test.op"(%k) : (index) -> f80
+      %x = "test.op"(%k) : (index) -> ui16
@@
-      "test.op"(%v) : (f80) -> ()
+      "test.op"(%v) : (ui16) -> ()

// -----

// tirx-opt --tirx-lower-rings
// 20:1: error: expected all groups of wgmma to be awaited before a branch with further ones
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
tirx.for @k %k = 0 to %n {
  %f12 = tirx.acquire %ab at(fill)
  %g12 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g12, %f12 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u13 = tirx.acquire %ab at(use)
  %p13 = tirx.async_mma %u13, %u13, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
scf.if %b {
  tirx.await wgmma pending(0)
}
tirx.await wgmma pending(1)
}
  tirx.return
}

// -----

// 31:1: error: expected the groups that stay pending in the same loop as the await, found 'scf.if' between them
-  %f12 = tirx.acquire %ab at(fill)
-  %g12 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
-  tirx.async_copy %g12, %f12 engine(tma) : !g, !s
+  %f14 = tirx.acquire %ab at(fill)
+  %g14 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
+  tirx.async_copy %g14, %f14 engine(tma) : !g, !s
@@
-  %u13 = tirx.acquire %ab at(use)
-  %p13 = tirx.async_mma %u13, %u13, %z : !s, !s, !r -> !p
+  %u15 = tirx.acquire %ab at(use)
+  %p15 = tirx.async_mma %u15, %u15, %z : !s, !s, !r -> !p
@@
   tirx.release %ab at(use) after(wgmma)
+  tirx.await wgmma pending(0)
@@
 scf.if %b {
+  %f16 = tirx.acquire %ab at(fill)
+  %g16 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
+  tirx.async_copy %g16, %f16 engine(tma) : !g, !s
+  tirx.release %ab at(fill) after(tma)
+  %u17 = tirx.acquire %ab at(use)
+  %p17 = tirx.async_mma %u17, %u17, %z : !s, !s, !r -> !p
+  tirx.release %ab at(use) after(wgmma)

// -----

// tirx-opt --tirx-lower-rings
// 19:1: error: expected all groups of wgmma to be awaited before a loop with further ones, found releases that are still open
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
  %f1 = tirx.acquire %ab at(fill)
  %g1 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g1, %f1 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u2 = tirx.acquire %ab at(use)
  %p2 = tirx.async_mma %u2, %u2, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
tirx.for @k %k = 0 to %n {
  %f3 = tirx.acquire %ab at(fill)
  %g3 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g3, %f3 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u4 = tirx.acquire %ab at(use)
  %p4 = tirx.async_mma %u4, %u4, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
  tirx.await wgmma pending(0)
}
  tirx.await wgmma pending(0)
  tirx.return
}

// -----

// tirx-opt --tirx-lower-rings
// 12:1: error: expected all groups of wgmma of a branch to be awaited in it
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
scf.if %b {
  %f11 = tirx.acquire %ab at(fill)
  %g11 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g11, %f11 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u12 = tirx.acquire %ab at(use)
  %p12 = tirx.async_mma %u12, %u12, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
}
  tirx.await wgmma pending(0)
  tirx.return
}

// -----

// 12:1: error: expected an await of wgmma in a loop with releases after it, found none
-scf.if %b {
-  %f11 = tirx.acquire %ab at(fill)
-  %g11 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
-  tirx.async_copy %g11, %f11 engine(tma) : !g, !s
+tirx.for @k %k = 0 to %n {
+  %f5 = tirx.acquire %ab at(fill)
+  %g5 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
+  tirx.async_copy %g5, %f5 engine(tma) : !g, !s
@@
-  %u12 = tirx.acquire %ab at(use)
-  %p12 = tirx.async_mma %u12, %u12, %z : !s, !s, !r -> !p
+  %u6 = tirx.acquire %ab at(use)
+  %p6 = tirx.async_mma %u6, %u6, %z : !s, !s, !r -> !p

// -----

// tirx-opt --tirx-lower-rings
// 15:9: error: expected a copy by TMA to a slot acquired in the same round and released after(tma), found another
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
!f = !tirx.tile<64x64xf16, register, #tirx.tile_layout<S[(64, 64) : (1@tid_in_wg, 1)] + R[2 : 64@tid_in_wg]>>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(256) {
  %c0 = arith.constant 0 : index
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %o = tirx.alloc : !s
  tirx.roles {
    tirx.role @load warps(4) {
      tirx.for @k %k = 0 to %n {
        %f = tirx.acquire %ab at(fill)
        %g = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
        tirx.async_copy %g, %f engine(tma) : !g, !s
        tirx.release %ab at(fill)
      }
    }
    tirx.role @math warps(4) {
      tirx.for @k %k = 0 to %n {
        %u = tirx.acquire %ab at(use)
        %x = tirx.load %u : !s -> !f
        tirx.release %ab at(use)
      }
    }
  }
  tirx.return
}

// -----

// 16:2: error: expected a slot of a ring as the destination of a copy by TMA, found another tile
-        tirx.release %ab at(fill)
+ tirx.async_copy %g, %o engine(tma) : !g, !s
+        tirx.release %ab at(fill) after(tma)

// -----

// 16:9: error: expected releases of one kind at a station of a ring, found 2 kinds at(fill) in @load
-        tirx.release %ab at(fill)
+        tirx.release %ab at(fill) after(tma)
+ %f2 = tirx.acquire %ab at(fill)
+ tirx.async_copy %g, %f2 engine(cp_async) : !g, !s
+ tirx.release %ab at(fill) after(cp_async)

// -----

// tirx-opt --tirx-lower-rings
// 12:6: error: expected a loop with a skew to compute what it carries in one of its parts, found another value
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
%e = tirx.for @k %k = 0 to %n skew(1) iter(%l = %c0) {
  tirx.at(0) {
  %f4 = tirx.acquire %ab at(fill)
  %g4 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g4, %f4 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
 }
  tirx.at(1) {
  %u5 = tirx.acquire %ab at(use)
  %p5 = tirx.async_mma %u5, %u5, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
  tirx.await wgmma pending(0)
 }
 tirx.yield %c1
 }
  tirx.return
}

// -----

// tirx-opt --tirx-lower-rings
// 19:7: error: expected a part of a slot, found 'test.op'
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
tirx.for @k %k = 0 to %n skew(1)  {
  %w = tirx.at(0) {
  %f10 = tirx.acquire %ab at(fill)
  %g10 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g10, %f10 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
 %uu = tirx.acquire %ab at(use)
 %v = "test.op"(%uu) : (!s) -> !s
 tirx.yield %v }
  tirx.at(1) {
 "test.op"(%w) : (!s) -> ()
 tirx.release %ab at(use) }
 }
  tirx.return
}

// -----

// 12:1: error: expected integers without a sign, floats of 64 bits or less, register tiles or parts of slots, found memref<4xf32>
-  %f10 = tirx.acquire %ab at(fill)
-  %g10 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
-  tirx.async_copy %g10, %f10 engine(tma) : !g, !s
+  %f8 = tirx.acquire %ab at(fill)
+  %g8 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
+  tirx.async_copy %g8, %f8 engine(tma) : !g, !s
@@
- %uu = tirx.acquire %ab at(use)
- %v = "test.op"(%uu) : (!s) -> !s
+ %v = "test.op"() : () -> memref<4xf32>
@@
- "test.op"(%w) : (!s) -> ()
- tirx.release %ab at(use) }
+  %u9 = tirx.acquire %ab at(use)
+  %p9 = tirx.async_mma %u9, %u9, %z : !s, !s, !r -> !p
+  tirx.release %ab at(use) after(wgmma)
+  tirx.await wgmma pending(0)
+ "test.op"(%w) : (memref<4xf32>) -> () }

// -----

// tirx-opt --tirx-lower-rings
// 12:1: error: expected a pending tile to be carried by iter, found it used across parts
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
tirx.for @k %k = 0 to %n skew(1)  {
  %w = tirx.at(0) {
  %f2 = tirx.acquire %ab at(fill)
  %g2 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g2, %f2 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u1 = tirx.acquire %ab at(use)
  %p1 = tirx.async_mma %u1, %u1, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
  tirx.await wgmma pending(0)
 tirx.yield %p1 }
  tirx.at(1) {
 %d = tirx.await %w : !p
 }
 }
  tirx.return
}

// -----

// tirx-opt --tirx-check-rings
// 15:10: error: cannot decide: which mbarrier an address is, that 'arith.shli' computes
!bars = !tirx.tile<2x2xi32, shared, #tirx.tile_layout<S[(2, 2) : (2, 1)]>>
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @k(%a: memref<64x64xf16>, %slot: i32) target("sm_90a") threads(32) {
  %c0 = arith.constant 0 : index
  %o = arith.constant 0 : i32
  %0 = tirx.alloc {ring_barriers} : !bars
  %1 = tirx.address %0 : !bars -> i32
  %s = tirx.alloc : !s
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  ptx.mbarrier.init %1, 1
  %leader = tirx.leader
  scf.if %leader {
    ptx.mbarrier.arrive.expect_tx %1, 8192
    %p = arith.shli %slot, %o : i32
    tirx.tma_load %g, %s, %p : !g, !s
  }
  tirx.return
}

// -----

// 16:5: error: expected the same bytes in all branches, found 0, 8192
-    %p = arith.shli %slot, %o : i32
-    tirx.tma_load %g, %s, %p : !g, !s
+    %p = arith.cmpi eq, %slot, %o : i32
+    scf.if %p {
+      tirx.tma_load %g, %s, %1 : !g, !s
+    } else {
+    }

// -----

// tirx-opt --tirx-check-rings
// 7:3: error: expected one 'tirx.roles' in a kernel, found a second one
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index) target("sm_90a") threads(64) {
  %r = tirx.ring slots(2) stations(a, b) : !tirx.ring<i32>
  tirx.roles {
    tirx.role @x warps(1) { }
    tirx.role @y warps(1) { }
  }
  tirx.roles {
    tirx.role @x warps(1) { }
    tirx.role @y warps(1) { }
  }
  tirx.return
}

// -----

// tirx-opt --tirx-check-rings
// 26:7: error: cannot decide: how often 'tirx.async_mma' has run before this round
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
tirx.for @k %k = 0 to %n skew(1) {
  %qq = tirx.at(0) {
  %f2 = tirx.acquire %ab at(fill)
  %g2 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g2, %f2 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u = tirx.acquire %ab at(use)
    %w = tirx.for @j %j = 0 to 2 iter(%x : !p = %z) {
  %p = tirx.async_mma %u, %u, %x : !s, !s, !p -> !p
  tirx.yield %p
 }
 tirx.release %ab at(use) after(wgmma)
 tirx.yield %w }
 tirx.at(1) {
 %d = tirx.await %qq : !p
 }
 }
  tirx.return
}

// -----

// tirx-opt --tirx-check-rings
// 19:8: error: cannot decide: which product a tile pending from before the loop waits for
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
  %f3 = tirx.acquire %ab at(fill)
  %g3 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g3, %f3 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u4 = tirx.acquire %ab at(use)
  %p4 = tirx.async_mma %u4, %u4, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
  %e = tirx.for @k %k = 0 to %n iter(%x = %p4) {
  %y = tirx.await %x : !p
  tirx.yield %x
 }
  tirx.return
}

// -----

// tirx-opt --tirx-check-rings
// 19:8: error: cannot decide: which product a pending tile waits for
!s = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[64, 64]>>>
!g = !tirx.tile<64x64xf16, global>
!r = !tirx.tile<64x64xf32, register, #tirx.tile_layout<S[(4, 2, 8, 8, 4, 2) : (1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!p = !tirx.pending<!r>
tirx.kernel @k(%m: memref<64x4096xf16>, %n: index, %q: i32) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zi = arith.constant 0 : i32
  %b = arith.cmpi eq, %q, %zi : i32
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %z = tirx.zero : !r
  %f8 = tirx.acquire %ab at(fill)
  %g8 = tirx.view %m[%c0, %c0] : memref<64x4096xf16> -> !g
  tirx.async_copy %g8, %f8 engine(tma) : !g, !s
  tirx.release %ab at(fill) after(tma)
  %u9 = tirx.acquire %ab at(use)
  %p9 = tirx.async_mma %u9, %u9, %z : !s, !s, !r -> !p
  tirx.release %ab at(use) after(wgmma)
  %e = scf.if %b -> (!p) {
  scf.yield %p9 : !p
 } else {
  scf.yield %p9 : !p
 }
  %d = tirx.await %e : !p
  tirx.return
}
