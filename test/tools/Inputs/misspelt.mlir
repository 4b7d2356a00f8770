// expected-error@1 {{attribute expected}}
// expected-error {attribute expected}
func.func @f() {
  func.return
}
