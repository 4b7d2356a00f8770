// RUN: not tirx-opt --verify-diagnostics %S/Inputs/unmet.mlir 2>&1 | filecheck %s --check-prefix=UNMET
// RUN: not tirx-opt --verify-diagnostics %S/Inputs/unexpected.mlir 2>&1 | filecheck %s --check-prefix=UNEXPECTED
// RUN: not tirx-opt --verify-diagnostics --split-input-file %S/Inputs/wrong-text.mlir 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not tirx-opt --verify-diagnostics %S/Inputs/wrong-line.mlir 2>&1 | filecheck %s --check-prefix=LINE
// RUN: not tirx-opt --verify-diagnostics %S/Inputs/wrong-severity.mlir 2>&1 | filecheck %s --check-prefix=SEVERITY
// RUN: not tirx-opt --verify-diagnostics %S/Inputs/misspelt.mlir 2>&1 | filecheck %s --check-prefix=MISSPELT

// UNMET:      unmet.mlir:2:6: error: expected error 'that never happens' at line 3, which was not reported
// UNMET-NEXT:   // expected-error@+1 {{[{][{]}}that never happens{{[}][}]}}
// UNMET-NEXT:      ^

// UNEXPECTED:      unexpected.mlir:2:23: error: unexpected error: use of %c, which is not defined
// UNEXPECTED-NEXT:   %b = arith.addi %a, %c : i32
// UNEXPECTED-NEXT:                       ^

// TEXT: wrong-text.mlir:8:27: error: unexpected error: attribute expected
// TEXT: wrong-text.mlir:7:4: error: expected error 'some other message' at line 8, which was not reported

// LINE: wrong-line.mlir:2:27: error: unexpected error: attribute expected
// LINE: wrong-line.mlir:1:4: error: expected error 'attribute expected' at line 1, which was not reported

// SEVERITY: wrong-severity.mlir:1:27: error: unexpected error: attribute expected
// SEVERITY: wrong-severity.mlir:1:45: error: expected warning 'attribute expected' at line 1, which was not reported

// MISSPELT: misspelt.mlir:1:4: error: misspelt diagnostic comment
// MISSPELT: misspelt.mlir:2:4: error: misspelt diagnostic comment
