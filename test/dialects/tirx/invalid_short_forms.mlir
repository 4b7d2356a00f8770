// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{SSA value %i is already defined}}
tirx.kernel @twice(%i: memref<8xf32>) grid(%i = 8) threads(32) {
}

// -----

tirx.kernel @both(%a: memref<8xf32>, %b: memref<8xf32>) threads(32) {
  // expected-error@+1 {{expected one of two tiles at a place, whose extents are those of the other, found memref<8xf32>}}
  tirx.copy %a[0], %b[0] : memref<8xf32>, memref<8xf32>
}

// -----

tirx.kernel @below(%a: memref<8xf32>) threads(32) {
  // expected-error@+1 {{expected a value that is defined above, found %rows}}
  %x = tirx.load %a[[%rows]] : memref<8xf32> -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @elements(%a: memref<8xf32>) threads(32) {
  // expected-error@+1 {{expected f32 elements, found f16}}
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf16, register>
}

// -----

tirx.kernel @clauses(%a: memref<8xf32>) threads(32) {
  // expected-error@+1 {{expected the clause 'clipped' once, found it again}}
  %x = tirx.load %a[0] clipped clipped : memref<8xf32> -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e0(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected an expression, found '}'}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %p + } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e1(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected operands of one type, found f32 and index}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %p + %n } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e2(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected integers for '&', found f32}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %p & %p } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e3(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected names of 1 arguments, found 2}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p, %q) { %p } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e4(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected 1 expressions, found 2}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %p, %p } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e5(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected a value that is defined above, found %q}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %q } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @flag(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected one of reassoc, nnan, ninf, nsz, arcp, contract, afn, found 'slow'}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { exp<slow>(%p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @no_flag(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected an operation with fastmath for <afn>, found select(...)}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { select<afn>(%p < 1.0, %p, 1.0) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @no_flag_of_integers(%a: memref<8xi32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xi32> -> !tirx.tile<8xi32, register>
  // expected-error@+1 {{expected an operation with fastmath for <afn>, found 'arith.divui'}}
  %y = tirx.map ins(%x : !tirx.tile<8xi32, register>) (%p) { divui<afn>(%p, %p) } -> !tirx.tile<8xi32, register>
}

// -----

tirx.kernel @e6(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected a function of math or arith, index, select, a type or as_ and a type, found 'foo'}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { foo(%p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e7(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected a number of type that another operand has, found 1}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { select(1 < 2, %p, %p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e8(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected a number that is converted to f32, found index}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { f32(%n) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e9(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected operands of 'arith.extf', all of the type of its result}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { extf(%p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e10(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected an expression, found '$'}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %p $ %p } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e11(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected ';', found '%q'}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %q = %p %q } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e12(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected ')', found '}'}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { (%p } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e13(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected index(DIMENSION)}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { index(%p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @e14(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected a number of type i32, found 1.5}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { 1.5 + i32(%p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n0(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{'math.fma' has 3 operands and 1 results, found 4 operands and 1 result}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { fma(%p, %p, %p, %p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n1(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{'arith.constant' has 0 operands}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { constant(%p) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n2(%a: memref<8xi32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xi32> -> !tirx.tile<8xi32, register>
  // expected-error@+1 {{'arith.mulsi_extended' has 2 operands and 2 results}}
  %y = tirx.map ins(%x : !tirx.tile<8xi32, register>) (%p) { mulsi_extended(%p, %p) } -> !tirx.tile<8xi32, register>
}

// -----

tirx.kernel @n3(%a: memref<8xf16>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf16> -> !tirx.tile<8xf16, register>
  // expected-error@+1 {{expected a number that f16 has, found 70000.0}}
  %y = tirx.map ins(%x : !tirx.tile<8xf16, register>) (%p) { %p + 70000.0 } -> !tirx.tile<8xf16, register>
}

// -----

tirx.kernel @n4(%a: memref<8xbf16>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xbf16> -> !tirx.tile<8xbf16, register>
  // expected-error@+1 {{expected a number that bf16 has, found 1.0e39}}
  %y = tirx.map ins(%x : !tirx.tile<8xbf16, register>) (%p) { %p + 1.0e39 } -> !tirx.tile<8xbf16, register>
}

// -----

tirx.kernel @n5(%a: memref<8xf8E4M3FN>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf8E4M3FN> -> !tirx.tile<8xf8E4M3FN, register>
  // expected-error@+1 {{expected a number that f8E4M3FN has, found inf}}
  %y = tirx.map ins(%x : !tirx.tile<8xf8E4M3FN, register>) (%p) { %p + inf } -> !tirx.tile<8xf8E4M3FN, register>
}

// -----

tirx.kernel @n6(%a: memref<8xi8>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xi8> -> !tirx.tile<8xi8, register>
  // expected-error@+1 {{expected a number of type i8, from -128 to 255, found 256}}
  %y = tirx.map ins(%x : !tirx.tile<8xi8, register>) (%p) { %p + 256 } -> !tirx.tile<8xi8, register>
}

// -----

tirx.kernel @signed_number(%a: memref<8xi8>) threads(32) {
  %x = tirx.load %a[0] : memref<8xi8> -> !tirx.tile<8xi8, register>
  // expected-error@+1 {{expected a number of i8 with a sign, from -128 to 127, found 200}}
  %y = tirx.map ins(%x : !tirx.tile<8xi8, register>) (%p) { %p / 200 } -> !tirx.tile<8xi8, register>
}

// -----

tirx.kernel @unsigned_number(%a: memref<8xui8>) threads(32) {
  %x = tirx.load %a[0] : memref<8xui8> -> !tirx.tile<8xui8, register>
  // expected-error@+1 {{expected a number of i8 with no sign, from 0 to 255, found -1}}
  %y = tirx.map ins(%x : !tirx.tile<8xui8, register>) (%p) { %p > -1 } -> !tirx.tile<8xi1, register>
}

// -----

tirx.kernel @n7(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{SSA value %n is already defined}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %n = %p; %n } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n8(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{SSA value %q is already defined}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %q = %p; %q = %q + 1; %q } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n9(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected a name of one value, found %q#1}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { %q#1 = %p; %p } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n10(%a: memref<8xf32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xf32> -> !tirx.tile<8xf32, register>
  // expected-error@+1 {{expected numbers for '<', found i1}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { select((%p < 1) < (%p < 2), %p, 0) } -> !tirx.tile<8xf32, register>
}

// -----

tirx.kernel @n11(%a: memref<8xi32>, %n: index) threads(32) {
  %x = tirx.load %a[0] : memref<8xi32> -> !tirx.tile<8xi32, register>
  // expected-error@+1 {{expected a comparison, found i32}}
  %y = tirx.map ins(%x : !tirx.tile<8xi32, register>) (%p) { select(!%p, %p, 0) } -> !tirx.tile<8xi32, register>
}

// -----

tirx.kernel @n12(%x: !tirx.tile<8xf32, register>) threads(32) {
  // expected-error@+1 {{expected a number of another type with 16 bits, found f32}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { as_i16(%p) } -> !tirx.tile<8xi16, register>
}

// -----

tirx.kernel @of_two(%x: !tirx.tile<8xf32, register>) threads(32) {
  // expected-error@+1 {{expected one operand of as_i32(...)}}
  %y = tirx.map ins(%x : !tirx.tile<8xf32, register>) (%p) { as_i32(%p, %p) } -> !tirx.tile<8xi32, register>
}

// -----

tirx.kernel @n13() threads(32) {
  // expected-error@+1 {{expected a number of type i32, found 0.5}}
  %a = tirx.alloc fill(0.5) : !tirx.tile<8xi32, shared>
}

// -----

tirx.kernel @n14(%m: memref<8xf32>) threads(32) {
  // expected-error@+1 {{expected f32 elements, found f16}}
  %a = tirx.alloc copy(%m[0]) : memref<8xf32>, !tirx.tile<8xf16, shared>
}

// -----

tirx.kernel @two_scalars(%n: index, %f: f32) params(BM in [1, 2]) threads(32) {
  // expected-error@+1 {{expected one scalar, found 2}}
  %x, %y = tirx.map () { %n * 2, %n * 3 } -> index, index
}

// -----

tirx.kernel @no_name(%n: index, %f: f32) params(BM in [1, 2]) threads(32) {
  // expected-error@+1 {{expected an operator or a function of scalars, found a name or index(...)}}
  %x = tirx.map () { %n } -> index
}

// -----

tirx.kernel @no_coordinate(%n: index, %f: f32) params(BM in [1, 2]) threads(32) {
  // expected-error@+1 {{expected an operator or a function of scalars, found a name or index(...)}}
  %x = tirx.map () { index(0) * 2 } -> index
}

// -----

tirx.kernel @another_type(%n: index, %f: f32) params(BM in [1, 2]) threads(32) {
  // expected-error@+1 {{expected an expression of type i1, found one of type index}}
  %x = tirx.map () { %n * 2 } -> i1
}

// -----

tirx.kernel @no_parameter(%n: index, %f: f32) params(BM in [1, 2]) threads(32) {
  // expected-error@+1 {{expected a number of type f32, found the parameter BM}}
  %x = tirx.map () { %f * BM } -> f32
}

// -----

tirx.kernel @no_change(%n: i32) threads(32) {
  // expected-error@+1 {{expected a number that i32(...) changes, found an integer of 32 bits}}
  %x = tirx.map () { i32(%n) } -> i32
}

// -----

tirx.kernel @no_conversion(%h: f16) threads(32) {
  // expected-error@+1 {{expected a number that is converted to bf16, found f16}}
  %x = tirx.map () { bf16(%h) } -> bf16
}
