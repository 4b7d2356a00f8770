// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected cluster(2), a pair of blocks, cluster(2 to 8) per_cta, or no cluster, found cluster(3)}}
tirx.kernel @odd() cluster(3) threads(128) {
}

// -----

// expected-error@+1 {{expected cluster(2), a pair of blocks, cluster(2 to 8) per_cta, or no cluster, found cluster(4)}}
"tirx.kernel"() <{sym_name = "generic", function_type = () -> (), threads = 128 : i32, cluster = 4 : i32}> ({
  "tirx.return"() : () -> ()
}) : () -> ()

// expected-error@+1 {{expected cluster(2) with per_cta, found no cluster}}
"tirx.kernel"() <{sym_name = "alone", function_type = () -> (), threads = 128 : i32, per_cta}> ({
  "tirx.return"() : () -> ()
}) : () -> ()

// expected-error@+1 {{expected at most 1073741823 pairs of blocks along x, found 1073741824}}
tirx.kernel @grid() grid(1073741824) cluster(2) threads(128) {
  tirx.return
}

tirx.kernel @rank() cluster(2) threads(128) {
  // expected-error@+1 {{expected a kernel with cluster(2) per_cta around, found one without}}
  %r = tirx.cta_rank
  tirx.return
}

tirx.kernel @k() cluster(2) per_cta threads(128) {
  %a = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  // rows of b: expected-error@+1 {{expected B as 32x16 (half of N = 64), found 64x16}}
  tirx.mma %a, %a, %acc pair : !tirx.tile<64x16xf16, shared>, !tirx.tile<64x16xf16, shared>, !tirx.tile<64x64xf32, tensor>
  %a2 = tirx.alloc : !tirx.tile<8x4xf64, register>
  %b = tirx.alloc : !tirx.tile<4x4xf64, register>
  %acc2 = tirx.alloc : !tirx.tile<8x8xf64, register>
  // registers: expected-error@+1 {{expected an accumulator in tensor memory for pair, found one in registers}}
  tirx.mma %a2, %b, %acc2 pair : !tirx.tile<8x4xf64, register>, !tirx.tile<4x4xf64, register>, !tirx.tile<8x8xf64, register>
  tirx.return
}
