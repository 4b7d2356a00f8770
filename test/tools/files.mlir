// RUN: rm -rf %t
// RUN: mkdir %t

// RUN: not tirx-opt %t/missing.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: error: cannot read '{{.*}}/missing.mlir': No such file or directory

// RUN: not tirx-opt %t 2>&1 | filecheck %s --check-prefix=DIRECTORY
// DIRECTORY: error: cannot read '{{.*}}': Is a directory

// RUN: not tirx-opt %s -o %t/no/such/directory 2>&1 | filecheck %s --check-prefix=UNWRITABLE
// UNWRITABLE: error: cannot write '{{.*}}/no/such/directory': No such file or directory

// RUN: tirx-opt %s -o %t/out.mlir | filecheck %s --check-prefix=NOTHING --allow-empty
// RUN: filecheck %s < %t/out.mlir
// NOTHING-NOT: {{.}}
// CHECK: func.func @f

// A failure leaves the old output alone, and nothing else behind.
// RUN: not tirx-opt %S/Inputs/unexpected.mlir -o %t/out.mlir
// RUN: filecheck %s < %t/out.mlir
// RUN: not tirx-opt %S/Inputs/unexpected.mlir -o %t/new.mlir
// RUN: ls -A %t | filecheck %s --check-prefix=LEFT
// LEFT:     out.mlir
// LEFT-NOT: {{.}}

// A device is written to, not replaced.
// RUN: tirx-opt %s -o /dev/null
// RUN: tirx-opt /dev/null

func.func @f() {
  func.return
}
