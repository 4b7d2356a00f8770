// RUN: tirx-opt --split-input-file --verify-diagnostics %s | filecheck %s

// Every way of saying where, and every kind of error: parser, attribute, verifier, dominance.
// Only the chunks that compile are printed.

%0 = "test.op"() {value = } : () -> i32  // expected-error {{attribute expected}}

// -----

// expected-error@+1 {{operation 'arith.adddi' is not registered; did you mean 'arith.addi'?}}
%0 = arith.adddi %a, %b : i32

// -----

func.func @undefined(%a: i32) -> i32 {
  %b = arith.addi %a, %c : i32
  // expected-error@-1 {{use of %c, which is not defined}}
  func.return %b : i32
}

// -----

func.func @before_its_definition() {
  // expected-error@below {{use of %early before its definition (defined at 26:12)}}
  "test.op"(%early) : (i32) -> ()
  %early = arith.constant 1 : i32
  func.return
}

// -----

func.func @inner_region() {
  // expected-error@+1 {{use of %inner, whose definition does not dominate this use (defined at 36:14)}}
  "test.op"(%inner) : (i32) -> ()
  "test.op"() ({
    %inner = arith.constant 1 : i32  // expected-error {{terminates block in single-block region}}
  }) : () -> ()
  func.return
}

// -----

func.func @condition_of_its_own(%n: index) {
  // expected-error@+1 {{use of operand #0, which no definition reaches}}
  scf.if %p {
    %p = arith.constant true
  }
  func.return
}

// -----

func.func @one_branch(%b: i1) {
  cf.cond_br %b, ^bb1, ^bb2
^bb1:
  %x = arith.constant 1 : i32
  cf.br ^bb2
^bb2:
  "test.op"(%x) : (i32) -> ()  // expected-error {{use of %x, whose definition does not dominate this use}}
  func.return
}

// -----

func.func @out_of_range() {
  %c = arith.constant 300 : i8
  // expected-error@above {{Integer value 300 is out of range for type i8}}
  func.return
}

// -----

func.func @no_terminator(%a: i32) {
  // expected-error@+1 {{terminates block in single-block region but is not a terminator}}
  %b = arith.addi %a, %a : i32
}

// -----

// CHECK:      func.func @ok
// CHECK-NEXT:   func.return
func.func @ok() {
  func.return
}

// -----

// Blocks that nothing branches to cannot use a value too early; this is also what MLIR says.
// CHECK: func.func @unreachable
func.func @unreachable() {
  func.return
^bb1:
  "test.op"(%x) : (i32) -> ()
  cf.br ^bb2
^bb2:
  %x = arith.constant 1 : i32
  cf.br ^bb1
}
