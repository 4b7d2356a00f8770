func.func @f(%a: i32) -> i32 {
  // expected-error@+1 {{that never happens}}
  %b = arith.addi %a, %a : i32
  func.return %b : i32
}
