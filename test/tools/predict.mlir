// `--predict` prints the time of every product by the timing model, and needs no GPU.

// RUN: tirx-opt --predict --size 4096x4096x4096 %s | filecheck %s --check-prefix=H200
// H200:      @gemm of 4096x4096x4096 on h200: {{1[78][0-9]\.[0-9]}} us ({{.*}}) at 1.{{[0-9]+}} GHz, 4 rounds of tiles, 97% full, bound by products
// H200-NEXT:   tiles of 128x256, 64 steps of 128 bytes of K, 3 slots, 1 block on a multiprocessor
// H200-NEXT:   a step takes {{[0-9]+}} cycles: products {{[0-9]+}}, shared memory {{[0-9]+}}, L2 {{[0-9]+}}, memory {{[0-9]+}}, latency of slots {{[0-9]+}}; an epilogue {{[0-9]+}}
// H200-NEXT:   changes: {{.*}}one more slot {{[+-]}}0%{{.*}}
// H200-NEXT: @empty: no prediction, it multiplies no tiles, one block on its own, that are views of matrices

// RUN: tirx-opt --lower-to-ptx="stages=2 cluster=rows" --predict=h100 --size 2000x2000x256 %s | filecheck %s --check-prefix=H100
// H100:      @gemm of 2000x2000x256 on h100: {{.*}}
// H100-NEXT:   rates are not measured: the row of the H200 with the memory of NVIDIA's H100 SXM datasheet
// H100-NEXT:   tiles of 128x256, 4 steps of 128 bytes of K, 2 slots

// Of 3 x 3 tiles there are 4 x 4 in clusters.

// RUN: tirx-opt --lower-to-ptx=cluster=2x2 --predict --size 384x768x256 %s | filecheck %s --check-prefix=CLUSTER
// CLUSTER:      @gemm of 384x768x256 on h200: {{.*}}, 1 round of tiles, 100% full
// CLUSTER:      changes: {{.*}}pairs that share A
// CLUSTER-NOT:  clusters of 2x2

// RUN: tirx-opt --predict %s | filecheck %s --check-prefix=NO-SIZE
// NO-SIZE: @gemm: no prediction, expected --size MxNxK for sizes that only a launch knows

// RUN: tirx-opt --predict=b200 --size 64x64x64 %s | filecheck %s --check-prefix=NO-WGMMA
// NO-WGMMA: @gemm: no prediction, expected a GPU with wgmma, found b200; name another in --predict=

// RUN: not tirx-opt --size 64x64x64 %s 2>&1 | filecheck %s --check-prefix=ALONE
// RUN: not tirx-opt --predict --size 64x0x64 %s 2>&1 | filecheck %s --check-prefix=ALONE
// ALONE: error: expected --size MxNxK with --predict, such as 4096x4096x4096, found '64x{{6?[04]}}x64'

!a = !tirx.tile<128x64xf16, shared>
!b = !tirx.tile<256x64xf16, shared>
!acc = !tirx.tile<128x256xf32, register>
!out = !tirx.tile<128x256xf16, register>
!gd = !tirx.tile<128x256xf16, global>

tirx.kernel @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf16>) target("sm_90a")
    grid(ceildiv(size(2, 1), 256), ceildiv(size(2, 0), 128)) threads(256) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c256 : index
  %k_end = memref.dim %a, %c1 : memref<?x?xf16>
  %sa = tirx.alloc : !a
  %sb = tirx.alloc : !b
  %acc = tirx.alloc : !acc
  %sums = tirx.alloc : !out
  tirx.fill %acc, %zero : f32, !acc
  scf.for %k = %c0 to %k_end step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x?xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<?x?xf16> -> !tirx.tile<256x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !a
    tirx.copy %gb, %sb : !tirx.tile<256x64xf16, global>, !b
    tirx.mma %sa, %sb, %acc : !a, !b, !acc
  }
  tirx.map ins(%acc : !acc) outs(%sums : !out) {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tirx.yield %y : f16
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf16> -> !gd
  tirx.copy %sums, %gd : !out, !gd
  tirx.return
}

tirx.kernel @empty() target("sm_90a") threads(32) {
  tirx.return
}
