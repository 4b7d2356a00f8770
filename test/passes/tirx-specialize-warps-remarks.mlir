// RUN: tirx-opt %s --split-input-file --verify-diagnostics --remarks -p "tirx-specialize-warps{roles=load}"

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>

// The load role would read ahead what the kernel writes.

tirx.kernel @writes(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    // expected-remark@+1 {{@writes keeps one role: 'tirx.store' may write %a, which the load role reads ahead}}
    tirx.store %fa, %ga : !f, !g
  }
  tirx.return
}

// -----

// All threads copy.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @cp_async(%a: memref<64x4096xf16>, %n: index) target("sm_80") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    // expected-remark@+1 {{@cp_async keeps one role: no ring is filled by TMA alone}}
    tirx.async_copy %ga, %sa_1 engine(cp_async) : !g, !s
    tirx.release %sa at(fill) after(cp_async)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
  }
  tirx.return
}

// -----

// The load role cannot know how often the loop runs: the kernel writes the number.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
tirx.kernel @data(%a: memref<64x4096xf16>, %t: memref<8xi32>) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  // expected-remark@+1 {{@data keeps one role: 'arith.index_cast' in another role needs the result of 'memref.load'}}
  %m = memref.load %t[%c0] : memref<8xi32>
  %n = arith.index_cast %m : i32 to index
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
  %gt = tirx.view %t[%c0] : memref<8xi32> -> !tirx.tile<8xi32, global>
  "test.op"(%gt) : (!tirx.tile<8xi32, global>) -> ()
  tirx.return
}

// -----

// No room for another warp in the block.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
// expected-remark@+1 {{@full keeps one role: 32 and 1 warps are more than the 32 of a block}}
tirx.kernel @full(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(1024) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
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

// expected-error@+1 {{expected roles to be auto, none, load, load-mma-epilogue, found store}}
tirx.kernel @unknown() target("sm_90") threads(128) attributes {tirx.roles = "store"} {
  tirx.return
}

// -----

// 9 warps are dealt to four partitions of an SM, so that each thread has as many registers as in a block of 12 warps.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<128x256xf32, register>
// expected-remark@+2 {{registers of @sums may be spilled: 9 warps have 168 registers a thread, of which sums take 128, and no instruction of the target moves registers between warps}}
// expected-remark@+1 {{roles of @sums: @math with 8 warps, @load with 1 warp}}
tirx.kernel @sums(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(256) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %zeros = tirx.zero : !acc
  %sum = tirx.for @k %k = 0 to %n iter(%x = %zeros) {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
    tirx.yield %x
  }
  "test.op"(%sum) : (!acc) -> ()
  tirx.return
}

// -----

!s = !tirx.tile<128x64xf16, shared>
!g = !tirx.tile<128x64xf16, global>
!f = !tirx.tile<128x64xf16, register>
!acc = !tirx.tile<128x128xf32, register>
// expected-remark@+1 {{@stays keeps one role: 5 warps have 255 registers a thread, of which sums take 256, and no}}
tirx.kernel @stays(%a: memref<128x4096xf16>, %n: index) target("sm_90") threads(128)
    attributes {tirx.roles = "auto"} {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %zeros = tirx.zero : !acc
  %sums:2 = tirx.for @k %k = 0 to %n iter(%x = %zeros, %y = %zeros) {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    %p = tirx.mma %fa, %fa, %x : !f, !f, !acc -> !acc
    tirx.yield %p, %y
  }
  "test.op"(%sums#0) : (!acc) -> ()
  tirx.return
}

// -----

// 31 warps and the one that loads are a whole block.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
// expected-remark@+1 {{roles of @whole: @math with 31 warps, @load with 1 warp}}
tirx.kernel @whole(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(992) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
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

// 104 registers of sums and 64 others are 168.

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<128x208xf32, register>
// expected-remark@+1 {{roles of @fitting_sums: @math with 8 warps, @load with 1 warp}}
tirx.kernel @fitting_sums(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(256) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %zeros = tirx.zero : !acc
  %sum = tirx.for @k %k = 0 to %n iter(%x = %zeros) {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
    tirx.yield %x
  }
  "test.op"(%sum) : (!acc) -> ()
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
!f = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<128x210xf32, register>
// expected-remark@+2 {{registers of @larger_sums may be spilled: 9 warps have 168 registers a thread, of which sums take 105, and no instruction of the target moves registers between warps}}
// expected-remark@+1 {{roles of @larger_sums: @math with 8 warps, @load with 1 warp}}
tirx.kernel @larger_sums(%a: memref<64x4096xf16>, %n: index) target("sm_90") threads(256) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %zeros = tirx.zero : !acc
  %sum = tirx.for @k %k = 0 to %n iter(%x = %zeros) {
    %ga = tirx.view %a[%c0, %k] : memref<64x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    %fa = tirx.load %sa_2 : !s -> !f
    tirx.release %sa at(use)
    "test.op"(%fa) : (!f) -> ()
    tirx.yield %x
  }
  "test.op"(%sum) : (!acc) -> ()
  tirx.return
}

// -----

// Two accumulators of 64 columns next to 384 others, and next to 385.

!s = !tirx.tile<64x64xf16, shared>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!o = !tirx.tile<128x384xf32, tensor, #tirx.tile_layout<S[(128, 384) : (1@TLane, 1@TCol)]>>
// expected-remark@+1 {{roles of @two: @epilogue with 4 warps, @load with 1 warp, @mma with 1 warp}}
tirx.kernel @two(%a: memref<128x4096xf16>, %tm: index) target("sm_100a") threads(128) attributes {tirx.roles = "load-mma-epilogue"} {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!tirx.tile<128x64xf16, shared>>
  %o = tirx.alloc : !o
  %acc = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tm) {
    %acc_1 = tirx.acquire %acc at(sum)
    tirx.for @k %k = 0 to 8 skew(2) {
      tirx.at(0) {
        %ga = tirx.view %a[%i, %k] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
        %sa_1 = tirx.acquire %sa at(fill)
        tirx.async_copy %ga, %sa_1 engine(tma) : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
        tirx.release %sa at(fill) after(tma)
      }
      tirx.at(2) {
        %more = arith.cmpi ne, %k, %c0 : index
        %sa_1 = tirx.acquire %sa at(use)
        %b = tirx.subview %sa_1[64, 0] : !tirx.tile<128x64xf16, shared> -> !s
        tirx.async_mma %sa_1, %b, %acc_1 accumulate(%more) : !tirx.tile<128x64xf16, shared>, !s, !t
        tirx.release %sa at(use) after(tcgen05)
      }
    }
    tirx.release %acc at(sum) after(tcgen05)
    %acc_2 = tirx.acquire %acc at(read)
    %d = tirx.load %acc_2 : !t -> !tirx.tile<128x64xf32, register>
    tirx.release %acc at(read)
    "test.op"(%d) : (!tirx.tile<128x64xf32, register>) -> ()
  }
  tirx.return
}

// -----

!s = !tirx.tile<64x64xf16, shared>
!t = !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>
!o = !tirx.tile<128x385xf32, tensor, #tirx.tile_layout<S[(128, 385) : (1@TLane, 1@TCol)]>>
// expected-remark@+1 {{roles of @one: @epilogue with 4 warps, @load with 1 warp, @mma with 1 warp}}
tirx.kernel @one(%a: memref<128x4096xf16>, %tm: index) target("sm_100a") threads(128) attributes {tirx.roles = "load-mma-epilogue"} {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!tirx.tile<128x64xf16, shared>>
  %o = tirx.alloc : !o
  // expected-remark@+1 {{one accumulator: a second one of 64 columns has no room next to 449}}
  %acc = tirx.ring slots(1) stations(sum, read) : !tirx.ring<!t>
  tirx.tiles @tile %i, %j = order(group 8) of (%tm, %tm) {
    %acc_1 = tirx.acquire %acc at(sum)
    tirx.for @k %k = 0 to 8 skew(2) {
      tirx.at(0) {
        %ga = tirx.view %a[%i, %k] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
        %sa_1 = tirx.acquire %sa at(fill)
        tirx.async_copy %ga, %sa_1 engine(tma) : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
        tirx.release %sa at(fill) after(tma)
      }
      tirx.at(2) {
        %more = arith.cmpi ne, %k, %c0 : index
        %sa_1 = tirx.acquire %sa at(use)
        %b = tirx.subview %sa_1[64, 0] : !tirx.tile<128x64xf16, shared> -> !s
        tirx.async_mma %sa_1, %b, %acc_1 accumulate(%more) : !tirx.tile<128x64xf16, shared>, !s, !t
        tirx.release %sa at(use) after(tcgen05)
      }
    }
    tirx.release %acc at(sum) after(tcgen05)
    %acc_2 = tirx.acquire %acc at(read)
    %d = tirx.load %acc_2 : !t -> !tirx.tile<128x64xf32, register>
    tirx.release %acc at(read)
    "test.op"(%d) : (!tirx.tile<128x64xf32, register>) -> ()
  }
  tirx.return
}

// -----

// Threads would wait for the product in every role.

!s = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>>
!t = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!g = !tirx.tile<128x64xf16, global>
tirx.kernel @waits(%a: memref<128x4096xf16>, %n: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %acc = tirx.alloc : !t
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n {
    %ga = tirx.view %a[%c0, %k] : memref<128x4096xf16> -> !g
    %sa_1 = tirx.acquire %sa at(fill)
    tirx.async_copy %ga, %sa_1 engine(tma) : !g, !s
    tirx.release %sa at(fill) after(tma)
    %sa_2 = tirx.acquire %sa at(use)
    // expected-remark@+1 {{@waits keeps one role: threads wait for 'tirx.mma', which needs all of the block}}
    tirx.mma %sa_2, %sa_2, %acc : !s, !s, !t
    tirx.release %sa at(use)
  }
  tirx.return
}
