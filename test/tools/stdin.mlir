// RUN: tirx-opt < %s | filecheck %s
// RUN: tirx-opt - < %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt /dev/null | filecheck %s --check-prefix=EMPTY
// RUN: not tirx-opt - --no-such-flag < %s

// CHECK:      func.func @identity(%a: i32) -> i32 {
// CHECK-NEXT:   func.return %a : i32
func.func @identity(%a: i32) -> i32 {
  func.return %a : i32
}

// EMPTY: builtin.module {
// EMPTY-NEXT: }
