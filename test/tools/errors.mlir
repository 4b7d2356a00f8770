// RUN: not tirx-opt --split-input-file %s 2>%t | filecheck %s --check-prefix=OUTPUT
// RUN: filecheck %s < %t

// Errors go to standard error with the line and a caret. What compiles is printed all the same.
// OUTPUT-NOT: error
// OUTPUT: func.func @ok
// OUTPUT-NOT: error

// CHECK-NOT:  Traceback
// CHECK:      errors.mlir:13:24: error: expected a string literal that is closed on its line
// CHECK-NEXT: "test.op"() {message = "never closed} : () -> ()
// CHECK-NEXT: {{^                       \^$}}
"test.op"() {message = "never closed} : () -> ()

// -----

func.func @ok() {
  func.return
}

// -----

// CHECK:      errors.mlir:26:22: error: Integer value 300 is out of range for type i8
// CHECK-NEXT: "test.op"() {value = 300 : i8} : () -> ()
// CHECK-NEXT: {{^                     \^$}}
"test.op"() {value = 300 : i8} : () -> ()

// -----

// An attribute that does not verify.
// CHECK:      errors.mlir:34:32: error: Integer value 300 is out of range for type i8
// CHECK-NEXT: "test.op"() {value = array<i8: 300>} : () -> ()
// CHECK-NEXT: {{^                               \^$}}
"test.op"() {value = array<i8: 300>} : () -> ()

// -----

// CHECK:      errors.mlir:42:6: error: operand 'lhs' at position 0 does not verify:
// CHECK:      %1 = "arith.addi"(%0, %0) : (f32, f32) -> f32
// CHECK-NEXT: {{^     \^$}}
%0 = arith.constant 1.0 : f32
%1 = "arith.addi"(%0, %0) : (f32, f32) -> f32

// -----

// CHECK:      errors.mlir:51:1: error: re-declaration of block '^bb1'
func.func @twice() {
  cf.br ^bb1
^bb1:
  func.return
^bb1:
  func.return
}

// -----

// A type that would make the compiler count to 2 to the power of it.
// CHECK: error: expected an integer type of at most 16777215 bits, found 999999999
"test.op"() {value = 1 : i999999999} : () -> ()
