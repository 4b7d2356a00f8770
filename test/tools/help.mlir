// RUN: tirx-opt --help | filecheck %s
// RUN: tirx-opt --version | filecheck %s --check-prefix=VERSION

// CHECK: usage: tirx-opt
// CHECK: --lower-to-ptx
// CHECK: tirx-pick-layouts {{ *[a-z]}}
// CHECK: tirx-check-layouts {{ *[a-z]}}
// CHECK: convert-scf-to-ptx {{ *[a-z]}}
// CHECK: canonicalize
// CHECK: targets: {{.*}}mlir{{.*}}ptx

// VERSION: tirx-opt {{.*}}, xDSL {{[0-9.]+}}, Python {{[0-9.]+}}
