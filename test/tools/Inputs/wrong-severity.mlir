%0 = "test.op"() {value = } : () -> i32  // expected-warning {{attribute expected}}
