// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @number(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  // expected-error@+1 {{expected $0 to $1 in the text, found $2}}
  %r = ptx.inline "add.s32 $0, $1, $2;" (%n) : (i32) -> i32
  ptx.ret
}

// -----

ptx.entry @no_number(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  // expected-error@+1 {{expected $0 to $1 in the text, found $}}
  %r = ptx.inline "add.s32 $0, $x, $1;" (%n) : (i32) -> i32
  ptx.ret
}

// -----

ptx.entry @unused(n : u32) target("sm_80") {
  %n = ptx.ld.param @n : i32
  // expected-error@+1 {{expected every result and input in the text, found no $1}}
  %r = ptx.inline "mov.b32 $0, 1;" (%n) : (i32) -> i32
  ptx.ret
}

// -----

ptx.entry @comment() target("sm_80") {
  // expected-error@+1 {{expected statements without comments}}
  %r = ptx.inline "mov.b32 $0, 1; // one" () : () -> i32
  ptx.ret
}

// -----

ptx.entry @null() target("sm_80") {
  // expected-error@+1 {{expected statements without the null character, which PTX does not have}}
  %r = ptx.inline "mov.b32 $0, 1;\00" () : () -> i32
  ptx.ret
}

// -----

ptx.entry @feature() target("sm_80") {
  // expected-error@+1 {{expected rows of the features of targets behind 'needs', found 'elect'}}
  %r = ptx.inline "mov.b32 $0, 1;" () needs ["elect"] : () -> i32
  ptx.ret
}

// -----

ptx.entry @type(n : u32) target("sm_80") {
  // expected-error@+1 {{expected a register type}}
  %r = ptx.inline "mov.b32 $0, 1;" () : () -> index
  ptx.ret
}
