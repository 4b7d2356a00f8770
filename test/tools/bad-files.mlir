// Files that cannot be read or written, when compiling: one line that names the file, nothing written.

// RUN: rm -rf %t
// RUN: mkdir %t

// RUN: not tirx-opt --lower-to-ptx %t/missing.mlir -o %t/out.ptx 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING:     error: cannot read '{{.*}}/missing.mlir': No such file or directory
// MISSING-NOT: {{.}}

// RUN: not tirx-opt --lower-to-ptx %s -o %t/no/out.ptx 2>&1 | filecheck %s --check-prefix=NO-DIRECTORY
// NO-DIRECTORY:     error: cannot write '{{.*}}/no/out.ptx': No such file or directory
// NO-DIRECTORY-NOT: {{.}}

// RUN: not tirx-opt --lower-to-ptx %s -o %t 2>&1 | filecheck %s --check-prefix=DIRECTORY
// DIRECTORY:     error: cannot write '{{.*}}': Is a directory
// DIRECTORY-NOT: {{.}}

// RUN: not tirx-opt --lower-to-ptx %s -o %s/out.ptx 2>&1 | filecheck %s --check-prefix=NOT-A-DIRECTORY
// NOT-A-DIRECTORY: error: cannot write '{{.*}}/out.ptx': Not a directory

// A target on the command line that is none, or that lacks what the program needs.
// RUN: not tirx-opt --lower-to-ptx="target=sm_1" %s -o %t/out.ptx 2>&1 | filecheck %s --check-prefix=TARGET
// TARGET: error: {{.*}}unknown target 'sm_1'; did you mean 'sm_

// RUN: not tirx-opt --lower-to-ptx="target=sm_75" %s -o %t/out.ptx 2>&1 | filecheck %s --check-prefix=FEATURE
// FEATURE: error: 'mma.m8n8k4.f64' does not exist on sm_75

// RUN: ls -A %t | filecheck %s --check-prefix=NOTHING --allow-empty
// NOTHING-NOT: {{.}}

// With all of it right the file is there.
// RUN: tirx-opt --lower-to-ptx %s -o %t/out.ptx
// RUN: filecheck %s < %t/out.ptx
// CHECK: .target sm_80
// CHECK: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64

tirx.kernel @k(%d: memref<8x8xf64>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f64
  %a = tirx.alloc : !tirx.tile<8x4xf64, register>
  %acc = tirx.alloc : !tirx.tile<8x8xf64, register>
  tirx.fill %a, %one : f64, !tirx.tile<8x4xf64, register>
  tirx.fill %acc, %one : f64, !tirx.tile<8x8xf64, register>
  tirx.mma %a, %a, %acc : !tirx.tile<8x4xf64, register>, !tirx.tile<8x4xf64, register>, !tirx.tile<8x8xf64, register>
  %g = tirx.view %d[%c0, %c0] : memref<8x8xf64> -> !tirx.tile<8x8xf64, global>
  tirx.copy %acc, %g : !tirx.tile<8x8xf64, register>, !tirx.tile<8x8xf64, global>
  tirx.return
}
