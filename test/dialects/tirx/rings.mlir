// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!acc = !tirx.tile<128x256xf32, register>

// CHECK-LABEL: tirx.kernel @rings() cluster(2) threads(32) {
// CHECK-NEXT:    %ab = tirx.ring slots(4) stations(fill, use) across(cluster) : !tirx.ring<a: !tirx.tile<128x64xf16, shared>, b: !tirx.tile<256x64xf16, shared>>
// CHECK-NEXT:    %sp = tirx.ring slots(2) stations(qk, softmax, pv) across(pair) : !tirx.ring<s: !tirx.tile<128x128xf32, tensor> | p: !tirx.tile<128x128xf16, tensor>>
// CHECK-NEXT:    %o = tirx.ring slots(1) stations(pv, correct) carries : !tirx.ring<!tirx.tile<128x128xf32, tensor>>
// CHECK-NEXT:    %turn = tirx.ring slots(1) stations(wg0, wg1) {tag} : !tirx.ring<>
// CHECK-NEXT:    %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
// CHECK-NEXT:    %work = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index, last: i1>
// GENERIC:       %ab = "tirx.ring"() <{slots = 4 : i32, stations = ["fill", "use"], across = #tirx<across cluster>}> : () -> !tirx.ring<a: !tirx.tile<128x64xf16, shared>, b: !tirx.tile<256x64xf16, shared>>
// GENERIC:       %clc = "tirx.ring"() <{slots = 2 : i32, stations = ["ask", "read"]}> : () -> !tirx.ring<tile_id>
tirx.kernel @rings() cluster(2) threads(32) {
  %ab = tirx.ring slots(4) stations(fill, use) across(cluster) : !tirx.ring<a: !a, b: !b>
  %sp = tirx.ring slots(2) stations(qk, softmax, pv) across(pair)
    : !tirx.ring<s: !tirx.tile<128x128xf32, tensor> | p: !tirx.tile<128x128xf16, tensor>>
  %o = tirx.ring slots(1) stations(pv, correct) carries : !tirx.ring<!tirx.tile<128x128xf32, tensor>>
  %turn = tirx.ring slots(1) stations(wg0, wg1) {tag} : !tirx.ring<>
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  %work = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index, last: i1>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @pairs() cluster(4) per_cta threads(32) {
// CHECK-NEXT:    %ab = tirx.ring slots(4) stations(fill, use) across(pairs) : !tirx.ring<!tirx.tile<128x64xf16, shared>>
// GENERIC:       across = #tirx<across pairs>
tirx.kernel @pairs() cluster(4) per_cta threads(32) {
  %ab = tirx.ring slots(4) stations(fill, use) across(pairs) : !tirx.ring<!a>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @acquire_release(%n: index, %last: i1) threads(32) {
// CHECK:         %a, %b = tirx.acquire %ab at(fill)
// CHECK-NEXT:    tirx.release %ab at(fill) after(tma)
// CHECK-NEXT:    %s, %p = tirx.acquire %sp at(pv) {tag}
// CHECK-NEXT:    tirx.release %sp at(pv) after(tcgen05) {tag}
// CHECK-NEXT:    tirx.acquire %turn at(self)
// CHECK-NEXT:    tirx.release %turn at(self)
// CHECK-NEXT:    tirx.acquire %work at(write)
// CHECK-NEXT:    tirx.release %work at(write) with(%n, %last)
// CHECK-NEXT:    %m, %l = tirx.acquire %work at(read)
// CHECK-NEXT:    tirx.release %work at(read)
// CHECK-NEXT:    tirx.acquire %clc at(ask)
// CHECK-NEXT:    tirx.async_next %clc engine(clc)
// CHECK-NEXT:    tirx.release %clc at(ask) after(tma)
// CHECK-NEXT:    %more, %i, %j = tirx.acquire %clc at(read)
// CHECK-NEXT:    tirx.release %clc at(read)
// GENERIC:       "tirx.release"(%ab) <{station = "fill", after = #tirx<queue tma>}> : (!tirx.ring<
// GENERIC:       %more, %i, %j = "tirx.acquire"(%clc) <{station = "read"}> : (!tirx.ring<tile_id>) -> (i1, index, index)
tirx.kernel @acquire_release(%n: index, %last: i1) threads(32) {
  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  %sp = tirx.ring slots(2) stations(qk, softmax, pv)
    : !tirx.ring<s: !tirx.tile<128x128xf32, tensor> | p: !tirx.tile<128x128xf16, tensor>>
  %turn = tirx.ring slots(1) stations(wg0, wg1) : !tirx.ring<>
  %work = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index, last: i1>
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  %a, %b = tirx.acquire %ab at(fill)
  tirx.release %ab at(fill) after(tma)
  %s, %p = tirx.acquire %sp at(pv) {tag}
  tirx.release %sp at(pv) after(tcgen05) {tag}
  tirx.acquire %turn at(self)
  tirx.release %turn at(self)
  tirx.acquire %work at(write)
  tirx.release %work at(write) with(%n, %last)
  %m, %l = tirx.acquire %work at(read)
  tirx.release %work at(read)
  tirx.acquire %clc at(ask)
  tirx.async_next %clc engine(clc)
  tirx.release %clc at(ask) after(tma)
  %more, %i, %j = tirx.acquire %clc at(read)
  tirx.release %clc at(read)
  tirx.return
}

// CHECK-LABEL: tirx.kernel @queues(
// CHECK:         tirx.async_copy %ga, %a engine(tma) : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
// CHECK-NEXT:    tirx.async_copy %ga, %a engine(cp_async) {tag} : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
// CHECK-NEXT:    tirx.async_copy %a, %ga engine(tma_store) : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, global>
// CHECK-NEXT:    %q = tirx.async_mma %a, %b, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, register> -> !tirx.pending<!tirx.tile<128x256xf32, register>>
// CHECK-NEXT:    %r = tirx.async_mma %a, %b, %q negate_a accumulate(%p) {tag} : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.pending<!tirx.tile<128x256xf32, register>> -> !tirx.pending<!tirx.tile<128x256xf32, register>>
// CHECK-NEXT:    tirx.async_mma %a, %b, %t scales(%sfa, %sfb) accumulate(%p) : !tirx.tile<128x64xf16, shared>, !tirx.tile<256x64xf16, shared>, !tirx.tile<128x256xf32, tensor>, !tirx.tile<128x2xf8E8M0FNU, tensor>, !tirx.tile<256x2xf8E8M0FNU, tensor>
// CHECK-NEXT:    tirx.await wgmma pending(1)
// CHECK-NEXT:    tirx.await store pending(0) {tag}
// CHECK-NEXT:    %d = tirx.await %r {tag} : !tirx.pending<!tirx.tile<128x256xf32, register>>
// GENERIC:       "tirx.await"() <{queue = #tirx<queue wgmma>, pending = 1 : i32}> : () -> ()
// GENERIC:       %d = "tirx.await"(%r) {tag} : (!tirx.pending<!tirx.tile<128x256xf32, register>>) -> !tirx.tile<128x256xf32, register>
tirx.kernel @queues(%ma: memref<128x64xf16>, %p: i1) threads(128) {
  %i = arith.constant 0 : index
  %ga = tirx.view %ma[%i, %i] : memref<128x64xf16> -> !tirx.tile<128x64xf16, global>
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %t = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  %sfa = tirx.alloc : !tirx.tile<128x2xf8E8M0FNU, tensor>
  %sfb = tirx.alloc : !tirx.tile<256x2xf8E8M0FNU, tensor>
  tirx.async_copy %ga, %a engine(tma) : !tirx.tile<128x64xf16, global>, !a
  tirx.async_copy %ga, %a engine(cp_async) {tag} : !tirx.tile<128x64xf16, global>, !a
  tirx.async_copy %a, %ga engine(tma_store) : !a, !tirx.tile<128x64xf16, global>
  %q = tirx.async_mma %a, %b, %acc : !a, !b, !acc -> !tirx.pending<!acc>
  %r = tirx.async_mma %a, %b, %q negate_a accumulate(%p) {tag} : !a, !b, !tirx.pending<!acc> -> !tirx.pending<!acc>
  tirx.async_mma %a, %b, %t scales(%sfa, %sfb) accumulate(%p) : !a, !b, !tirx.tile<128x256xf32, tensor>, !tirx.tile<128x2xf8E8M0FNU, tensor>, !tirx.tile<256x2xf8E8M0FNU, tensor>
  tirx.await wgmma pending(1)
  tirx.await store pending(0) {tag}
  %d = tirx.await %r {tag} : !tirx.pending<!acc>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @loops(%n: index, %x: i32) threads(32) {
// CHECK-NEXT:    tirx.for @empty %e = 0 to 8 {
// CHECK-NEXT:    }
// CHECK-NEXT:    %sum = tirx.for @sum %k = 0 to %n iter(%s = %x) attributes {tag} {
// CHECK-NEXT:      %t = arith.addi %s, %x : i32
// CHECK-NEXT:      tirx.yield %t
// CHECK-NEXT:    }
// CHECK-NEXT:    %last, %other = tirx.for @skewed %j = 0 to %n skew(2) iter(%u = %x, %v = %x) {
// CHECK-NEXT:      %later = tirx.at(2) {
// CHECK-NEXT:        %w = arith.addi %early, %u : i32
// CHECK-NEXT:        tirx.yield %w
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.at(1) {
// CHECK-NEXT:      }
// CHECK-NEXT:      %early = tirx.at(0) {
// CHECK-NEXT:        %c = arith.addi %v, %x : i32
// CHECK-NEXT:        tirx.yield %c
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.yield %later, %early
// CHECK-NEXT:    }
// GENERIC:       %sum = "tirx.for"(%n, %x) <{loop = "sum", operandSegmentSizes = array<i32: 1, 1>}> ({
// GENERIC-NEXT:  ^bb0(%k: index, %s: i32):
// GENERIC:       %early = "tirx.at"() <{stage = 0 : i32}> ({
tirx.kernel @loops(%n: index, %x: i32) threads(32) {
  tirx.for @empty %e = 0 to 8 {
  }
  %sum = tirx.for @sum %k = 0 to %n iter(%s = %x) attributes {tag} {
    %t = arith.addi %s, %x : i32
    tirx.yield %t
  }
  %last, %other = tirx.for @skewed %j = 0 to %n skew(2) iter(%u = %x, %v = %x) {
    %later = tirx.at(2) {
      %w = arith.addi %early, %u : i32
      tirx.yield %w
    }
    tirx.at(1) {
    }
    %early = tirx.at(0) {
      %c = arith.addi %v, %x : i32
      tirx.yield %c
    }
    tirx.yield %later, %early
  }
  tirx.return
}

// A loop inside of a part carries what a part of the loop around it computes.
// CHECK-LABEL: tirx.kernel @loop_in_a_part(
// CHECK:           %{{.*}} = tirx.for @inner %j = 0 to 4 iter(%c = %v) {
// CHECK:             tirx.yield %v
tirx.kernel @loop_in_a_part(%x: i32) threads(32) {
  tirx.for @outer %k = 0 to 4 skew(1) {
    %v = tirx.at(0) {
      tirx.yield %x
    }
    tirx.at(1) {
      %last = tirx.for @inner %j = 0 to 4 iter(%c = %v) {
        tirx.at(0) {
          %u = arith.addi %c, %c : i32
        }
        tirx.yield %v
      }
    }
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @pending_iter(
// CHECK:         %p = tirx.for @k %k = 0 to %n iter(%acc : !tirx.pending<!tirx.tile<128x256xf32, register>> = %zeros) {
// CHECK-NEXT:      %q = tirx.async_mma %a, %b, %acc :
// CHECK-NEXT:      tirx.yield %q
tirx.kernel @pending_iter(%n: index) threads(128) {
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %zeros = tirx.alloc : !acc
  %p = tirx.for @k %k = 0 to %n iter(%acc : !tirx.pending<!acc> = %zeros) {
    %q = tirx.async_mma %a, %b, %acc : !a, !b, !tirx.pending<!acc> -> !tirx.pending<!acc>
    tirx.yield %q
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @tiles(
// CHECK:         tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
// CHECK:         tirx.tiles @tile %i_1, %j_1 = order(group 8) of (%tm, %tn) attributes {tag} {
// CHECK:         tirx.tiles @tile %i_2, %j_2 = order(hilbert) of (%tm, %tn) {
// CHECK:         tirx.tiles @tile %i_3, %j_3 = order(table %t : memref<?xi32>) of (%tm, %tn) {
// CHECK:         tirx.tiles @tile %i_4, %j_4 = hardware(%clc, read) {
// CHECK:         tirx.tiles @item %i_5, %j_5, %k0, %k1 = items(%u : memref<?x4xi32>) {
// CHECK-NEXT:      %c = arith.subi %k1, %k0 : index
// GENERIC:       "tirx.tiles"(%tm, %tn) <{loop = "tile", order = #tirx<tile_order group>, group = 8 : i32, operandSegmentSizes = array<i32: 0, 2>}> ({
tirx.kernel @tiles(%tm: index, %tn: index, %t: memref<?xi32>, %u: memref<?x4xi32>) threads(32) {
  %clc = tirx.ring slots(2) stations(ask, read) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
  }
  tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tn) attributes {tag} {
  }
  tirx.tiles @tile %i, %j = order(hilbert) of (%tm, %tn) {
  }
  tirx.tiles @tile %i, %j = order(table %t : memref<?xi32>) of (%tm, %tn) {
  }
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
  }
  tirx.tiles @item %i, %j, %k0, %k1 = items(%u : memref<?x4xi32>) {
    %c = arith.subi %k1, %k0 : index
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @roles(%n: index) threads(384) {
// CHECK:         tirx.roles {
// CHECK-NEXT:      tirx.role @load warps(4) registers(40) unit(thread) {
// CHECK-NEXT:        %k = arith.addi %n, %n : index
// CHECK-NEXT:      }
// CHECK-NEXT:      tirx.role @math warps(8) registers(232) attributes {tag} {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// GENERIC:       "tirx.roles"() ({
// GENERIC-NEXT:    "tirx.role"() <{sym_name = "load", warps = 4 : i32, registers = 40 : i32, unit = #tirx<unit thread>}> ({
tirx.kernel @roles(%n: index) threads(384) {
  tirx.roles {
    tirx.role @load warps(4) registers(40) unit(thread) {
      %k = arith.addi %n, %n : index
    }
    tirx.role @math warps(8) registers(232) attributes {tag} {
    }
  }
  tirx.return
}
