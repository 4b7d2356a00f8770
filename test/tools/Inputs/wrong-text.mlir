func.func @fine() {
  func.return
}

// -----

// expected-error@+1 {{some other message}}
%0 = "test.op"() {value = } : () -> i32
