// RUN: not tirx-opt < %s 2>&1 | filecheck %s

// CHECK:      <stdin>:6:6: error: operation name expected
// CHECK-NEXT: %x = 3
// CHECK-NEXT: {{^     \^$}}
%x = 3
