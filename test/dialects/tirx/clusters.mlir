// RUN: tirx-opt %s | tirx-opt | filecheck %s

!x = !tirx.tile<64x64xf32, register>
!b = !tirx.tile<64x64xf32, shared>
!s = !tirx.tile<64x16xf32, register>

// CHECK: tirx.kernel @sum(%x: !tirx.tile<64x64xf32, register>) cluster(4) per_cta threads(128) {
// CHECK: %s = tirx.cluster_sum %x, %b : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, shared> -> !tirx.tile<64x16xf32, register>
tirx.kernel @sum(%x: !x) cluster(4) per_cta threads(128) {
  %b = tirx.alloc : !b
  %s = tirx.cluster_sum %x, %b : !x, !b -> !s
  tirx.return
}
