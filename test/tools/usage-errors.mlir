// RUN: not tirx-opt --tirx-pick-layout %s 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: error: unknown argument '--tirx-pick-layout'; did you mean '--tirx-pick-layouts'?

// RUN: not tirx-opt -p canonicalise %s 2>&1 | filecheck %s --check-prefix=PASS
// PASS: error: unknown pass 'canonicalise'; did you mean 'canonicalize'?

// RUN: not tirx-opt -t ptxx %s 2>&1 | filecheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'ptxx'; did you mean 'ptx'?

// RUN: not tirx-opt --cse="max=3" %s 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: error: 'cse': Provided arguments ["max"] not found

// RUN: not tirx-opt --x86-set-arch %s 2>&1 | filecheck %s --check-prefix=REQUIRED
// REQUIRED: error: 'x86-set-arch': x86-set-arch requires argument "arch"

// RUN: not tirx-opt -p "cse{" %s 2>&1 | filecheck %s --check-prefix=SPEC
// SPEC: error: Error parsing pass pipeline specification:

// RUN: not tirx-opt --lower-to-ptx="arch=sm_90a" %s 2>&1 | filecheck %s --check-prefix=LOWER
// LOWER: error: 'lower-to-ptx': Provided arguments ["arch"] not found in expected arguments ["target",

// RUN: not tirx-opt --lower-to-ptx --lower-to-ptx=target=sm_90a %s 2>&1 | filecheck %s --check-prefix=TWICE
// TWICE: error: expected --lower-to-ptx once

// RUN: not tirx-opt -o 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: error: argument -o: expected one argument

func.func @f() {
  func.return
}
