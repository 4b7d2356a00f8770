// RUN: tirx-opt %s --split-input-file --verify-diagnostics

!x = !tirx.tile<64x64xf32, register>
!b = !tirx.tile<64x64xf32, shared>
!h = !tirx.tile<64x64xf16, register>
!hb = !tirx.tile<64x64xf16, shared>
!s = !tirx.tile<64x16xf32, register>
tirx.kernel @k(%x: !x, %h: !h, %y: !b) cluster(4) per_cta threads(128) {
  %b = tirx.alloc : !b
  %n = tirx.alloc : !tirx.tile<64x32xf32, shared>
  %hb = tirx.alloc : !hb
  %yes = arith.constant true
  // expected-error@+1 {{expected sums of f32 or i32, found f16}}
  %0 = tirx.cluster_sum %h, %hb : !h, !hb -> !tirx.tile<64x16xf16, register>
  // expected-error@+1 {{expected a shared tile to read sums from, found !tirx.tile<64x64xf32, register>}}
  %1 = tirx.cluster_sum %x, %x : !x, !x -> !s
  // expected-error@+1 {{expected a shared tile like !tirx.tile<64x64xf32, register>, found !tirx.tile<64x32xf32, shared>}}
  %2 = tirx.cluster_sum %x, %n : !x, !tirx.tile<64x32xf32, shared> -> !s
  // expected-error@+1 {{expected a share of !tirx.tile<64x64xf32, register> for each block of a cluster, cluster(4) per_cta, found !tirx.tile<64x8xf32, register>}}
  %3 = tirx.cluster_sum %x, %b : !x, !b -> !tirx.tile<64x8xf32, register>
  scf.if %yes {
    // expected-error@+1 {{expected all threads of a kernel, or of one role, to add sums once, found a region}}
    %4 = tirx.cluster_sum %x, %b : !x, !b -> !s
  }
  tirx.return
}

// -----

!x = !tirx.tile<64x64xf32, register>
!b = !tirx.tile<64x64xf32, shared>
tirx.kernel @alone(%x: !x) threads(128) {
  %b = tirx.alloc : !b
  // expected-error@+1 {{expected a share of !tirx.tile<64x64xf32, register> for each block of a cluster, cluster(1) per_cta, found !tirx.tile<64x64xf32, register>}}
  %0 = tirx.cluster_sum %x, %b : !x, !b -> !x
  tirx.return
}
