func.func @f(%a: i32) -> i32 {
  %b = arith.addi %a, %c : i32
  func.return %b : i32
}
