// Flags and -p mix, and run in the order of the command line.
// RUN: tirx-opt --cse -p dce,licm %s --arith-add-fastmath --print-between-passes 2>&1 | filecheck %s --check-prefix=ORDER
// ORDER: IR after cse
// ORDER: IR after dce
// ORDER: IR after licm
// ORDER: IR after arith-add-fastmath
// ORDER: arith.addf %a, %a fastmath<fast> : f32

// The IR between passes does not disturb the output.
// RUN: tirx-opt --cse --print-between-passes %s | filecheck %s --check-prefix=CLEAN
// CLEAN-NOT: IR after

// Options, for a flag and for -p.
// RUN: tirx-opt --arith-add-fastmath="flags=nnan,ninf" %s | filecheck %s --check-prefix=OPTIONS
// RUN: tirx-opt -p "arith-add-fastmath{flags=nnan,ninf}" %s | filecheck %s --check-prefix=OPTIONS
// OPTIONS: arith.addf %a, %a fastmath<nnan,ninf> : f32

// A target.
// RUN: tirx-opt -t "mlir{print-generic-format=true}" %s | filecheck %s --check-prefix=GENERIC
// RUN: tirx-opt --print-op-generic %s | filecheck %s --check-prefix=GENERIC
// GENERIC: "arith.addf"(%a, %a)

// Locations: of the name of an operation, of a block argument, or as written.
// RUN: tirx-opt --print-debuginfo %s | filecheck %s --check-prefix=LOCATION
// LOCATION: func.func @f(%a: f32 loc("{{.*}}pass-flags.mlir":29:14)) -> f32 {
// LOCATION: arith.addf %a, %a : f32 loc("{{.*}}pass-flags.mlir":30:8)
// LOCATION: func.return %0 : f32 loc("written.py":4:2)

func.func @f(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  func.return %0 : f32 loc("written.py":4:2)
}
