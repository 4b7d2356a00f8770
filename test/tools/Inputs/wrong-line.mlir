// expected-error {{attribute expected}}
%0 = "test.op"() {value = } : () -> i32
