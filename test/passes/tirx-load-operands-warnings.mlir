// RUN: tirx-opt %s --tirx-load-operands --verify-diagnostics

// What wgmma of the target would do in other sizes or from shared memory says so; what asks for mma.sync does not.

!s = !tirx.tile<96x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf16, register>
!acc = !tirx.tile<96x64xf32, register>
!acc64 = !tirx.tile<64x64xf32, register>
tirx.kernel @products() target("sm_90a") threads(128) {
  %s = tirx.alloc : !s
  %b = tirx.alloc : !b
  %r = tirx.zero : !r
  %c = tirx.zero : !acc
  %f = tirx.zero : !acc64
  // expected-warning@+1 {{multiplied by mma.sync instead of wgmma: expected M in steps of 64, found 96; nearest is 128}}
  %d = tirx.mma %s, %b, %c : !s, !b, !acc -> !acc
  %e = tirx.mma %s, %b, %d instruction("m16n8k16") : !s, !b, !acc -> !acc
  // expected-warning@+1 {{multiplied by mma.sync instead of wgmma: expected B in shared memory for wgmma, found it in registers}}
  %g = tirx.mma %b, %r, %f : !b, !r, !acc64 -> !acc64
  tirx.return
}
