// RUN: tirx-opt --split-input-file --verify-diagnostics --tirx-specialize %s
// RUN: not tirx-opt --tirx-specialize="BQ=64" --split-input-file %s 2>&1 | filecheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: expected parameters that a kernel declares (BM), found BQ [parameter-value]
// RUN: not tirx-opt --tirx-specialize="bm=64" %s 2>&1 | filecheck %s --check-prefix=LOWER
// LOWER: error: 'tirx-specialize': expected NAME=value for parameters of kernels, found 'bm'
// RUN: not tirx-opt --tirx-pick-layouts --split-input-file %s 2>&1 | filecheck %s --check-prefix=UNBOUND
// UNBOUND: error: expected numbers before tirx-pick-layouts, found the parameters BM; run tirx-specialize first

tirx.kernel @bound() target("sm_80") params(BM in [64, 32]) threads(BM) {
  tirx.return
}

// -----

// Candidates are of one kind.

// expected-error@+1 {{expected different candidates of BM, one or more numbers or words, found [64, 'wide']}}
tirx.kernel @kinds() target("sm_80") params(BM in [64, "wide"]) threads(32) {
  tirx.return
}

// -----

// expected-error@+1 {{expected parameters of different names, found BM, BM}}
tirx.kernel @twice() target("sm_80") params(BM in [64], BM in [32]) threads(32) {
  tirx.return
}

// -----

// expected-error@+1 {{expected a parameter, whose name begins with a capital letter, found 'bm'}}
tirx.kernel @small() target("sm_80") params(bm in [64]) threads(32) {
  tirx.return
}

// -----

// expected-error@+1 {{expected a parameter that the kernel declares (BM), found BN}}
tirx.kernel @undeclared() target("sm_80") params(BM in [64]) threads(BN) {
  tirx.return
}

// -----

// Values that no parameter declares.

tirx.kernel @value() target("sm_80") params(BM in [64]) threads(32) {
  %n = tirx.param BN : index // expected-error {{expected a number, found the parameter BN; run tirx-specialize first}}
  tirx.return
}

// -----

// A program is verified with the defaults, and the error names them.

tirx.kernel @shapes(%a: memref<128x64xf16>) target("sm_80") params(BM in [64, 32], BN in [32, 64]) threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<[BM]x64xf16, shared>
  %g = tirx.view %a[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<[BN]x64xf16, global>
  // expected-error@+1 {{expected tiles of one shape, found 32x64 and 64x64; with BM = 64, BN = 32}}
  tirx.copy %g, %s : !tirx.tile<[BN]x64xf16, global>, !tirx.tile<[BM]x64xf16, shared>
  tirx.return
}

// -----

// A word is no number.

tirx.kernel @word() target("sm_80") params(ORDER in ["row", "group"]) threads(32) {
  %n = tirx.param ORDER : index // expected-error {{expected a number for ORDER in ORDER, found 'row'; with ORDER = row}}
  tirx.return
}

// -----

// The launch determines a parameter.

// expected-error@+1 {{expected D = size(0, 1) in [64, 128], found 96 by the types of the arguments}}
tirx.kernel @launched(%a: memref<4x96xf32>) target("sm_80") params(D = size(0, 1) in [64, 128]) threads(32) {
  tirx.return
}

// -----

// expected-error@+1 {{D: expected a memref argument of the kernel that has size(1, 0), found no such argument}}
tirx.kernel @formula(%a: memref<4x96xf32>) target("sm_80") params(D = size(1, 0) in [64, 128]) threads(32) {
  tirx.return
}

// -----

tirx.kernel @layout() target("sm_80") params(BM in [64]) threads(32) {
  // expected-error@+1 {{expected no layout on a tile whose extents depend on parameters}}
  %s = tirx.alloc : !tirx.tile<[BM]x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
  tirx.return
}
