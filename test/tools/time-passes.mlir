// RUN: tirx-opt --cse --verify-each --time-passes %s -o %t 2>&1 | filecheck %s
// RUN: tirx-opt --cse --time-passes-json %s -o %t 2>&1 | filecheck %s --check-prefix=JSON

// CHECK:      run ms verify ms  share  step
// CHECK-NEXT: {{[0-9.]+ +0.00 +[0-9.]+%}}  parse
// CHECK-NEXT: {{0.00 +[0-9.]+ +[0-9.]+%}}  input
// CHECK-NEXT: {{[0-9.]+ +[0-9.]+ +[0-9.]+%}}  cse
// CHECK-NEXT: {{[0-9.]+ +0.00 +[0-9.]+%}}  print
// CHECK-NEXT: {{[0-9.]+ +[0-9.]+ +100.0%}}  total

// JSON: {"steps": [{"name": "parse", "run": {{[0-9.e-]+}}, "verify": 0.0}, {"name": "input",
func.func @f() {
  func.return
}
