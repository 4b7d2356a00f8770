// RUN: tirx-opt %s | tirx-opt | filecheck %s

// CHECK-LABEL: tirx.kernel @bulk
tirx.kernel @bulk(%a: memref<256x64xf16>, %d: memref<256x64xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %bar = arith.constant 1024 : i32
  %mask = arith.constant 3 : i16
  %ga = tirx.view %a[%c0, %c0] : memref<256x64xf16> -> !tirx.tile<128x64xf16, global>
  %gd = tirx.view %d[%c0, %c0] : memref<256x64xf16> -> !tirx.tile<128x64xf16, global>
  %s = tirx.alloc : !tirx.tile<128x64xf16, shared>
  // CHECK: tirx.tma_load %ga, %s, %bar : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  tirx.tma_load %ga, %s, %bar : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  // CHECK-NEXT: tirx.tma_load %ga, %s, %bar multicast %mask : !tirx.tile
  tirx.tma_load %ga, %s, %bar multicast %mask : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  // CHECK-NEXT: tirx.tma_load %ga, %s, %bar multicast %mask cta_group 2 : !tirx.tile
  tirx.tma_load %ga, %s, %bar multicast %mask cta_group 2
    : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  // CHECK-NEXT: tirx.tma_store %s, %gd : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, global>
  tirx.tma_store %s, %gd : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, global>
  // CHECK-NEXT: tirx.tma_store %s, %gd reduce(add) : !tirx.tile
  tirx.tma_store %s, %gd reduce(add) : !tirx.tile<128x64xf16, shared>, !tirx.tile<128x64xf16, global>
  // CHECK-NEXT: tirx.cp_async %ga, %s : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  tirx.cp_async %ga, %s : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
  tirx.return
}

// CHECK-LABEL: ptx.entry @map(a : u64 ptr align 16, a_map : b8[128] align 64 from #tirx.tensor_map<argument = 0,
// CHECK-SAME: type = "f16", dims = [64, size(0, 0)], strides = [mul(stride(0, 0), 2)], box = [64, 128],
// CHECK-SAME: swizzle = "128B">)
ptx.entry @map(a : u64 ptr align 16, a_map : b8[128] align 64 from #tirx.tensor_map<argument = 0, type = "f16",
    dims = [64, size(0, 0)], strides = [mul(stride(0, 0), 2)], box = [64, 128], swizzle = "128B", fill = "zero">)
    target("sm_90a") {
  ptx.ret
}
