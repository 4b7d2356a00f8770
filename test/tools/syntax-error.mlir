// RUN: not tirx-opt %s 2>&1 | filecheck %s

// The caret stands under the column also when tabs precede it.

func.func @f(%a: i32) -> i32 {
	%b = arith.addi %a %a : i32
	func.return %b : i32
}

// CHECK-NOT:  Traceback
// CHECK:      syntax-error.mlir:6:21: error: Expected ','
// CHECK-NEXT: {{^}}	%b = arith.addi %a %a : i32
// CHECK-NEXT: {{^	                   \^$}}
