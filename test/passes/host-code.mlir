// Kernels stand beside host code, in any symbol table: passes touch the kernels, and leave the rest as it is.

// RUN: tirx-opt --lower-to-ptx %s | filecheck %s --check-prefix PTX
// RUN: tirx-opt --lower-to-ptx -t mlir %s | filecheck %s --check-prefix HOST
// RUN: tirx-opt --lower-to-ptx -t mlir --tirx-extract-kernels %s | filecheck %s --check-prefix BINARY

// PTX:     .version
// PTX:     .visible .entry copy(
// PTX:     .visible .entry inner(
// PTX-NOT: host

// BINARY: ptx.binary @copy target("sm_80") launch {entry = "copy", {{.*}}block = [128 : i64, 1 : i64, 1 : i64]{{.*}} text {{".version .*visible .entry copy.*"}} {my.note = "kept"}

// What is computed twice stays computed twice in host code.
// HOST-LABEL:  func.func @host
// HOST-NEXT:     %0 = arith.constant 1 : index
// HOST-NEXT:     %1 = arith.constant 1 : index
// HOST-NEXT:     %unused = arith.addi %0, %1 : index
// HOST-NEXT:     %2 = scf.for
// HOST:          gpu.launch_func
// HOST-SAME:     kernel = @kernels::@inner
func.func @host(%a: memref<128xf32>) -> index {
  %0 = arith.constant 1 : index
  %1 = arith.constant 1 : index
  %unused = arith.addi %0, %1 : index
  %2 = scf.for %i = %0 to %1 step %1 iter_args(%s = %0) -> (index) {
    %t = arith.addi %s, %i : index
    scf.yield %t : index
  }
  "gpu.launch_func"(%0, %0, %0, %0, %0, %0, %a) <{kernel = @kernels::@inner, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}> : (index, index, index, index, index, index, memref<128xf32>) -> ()
  func.return %2 : index
}

// HOST: llvm.func @other
llvm.func @other() {
  llvm.return
}

// HOST: ptx.entry @copy(
// HOST-SAME: attributes {my.note = "kept"}
tirx.kernel @copy(%a: memref<128xf32>, %b: memref<128xf32>) target("sm_80") grid(1) threads(128) attributes {my.note = "kept"} {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0] : memref<128xf32> -> !tirx.tile<128xf32, global>
  %gb = tirx.view %b[%c0] : memref<128xf32> -> !tirx.tile<128xf32, global>
  tirx.copy %ga, %gb : !tirx.tile<128xf32, global>, !tirx.tile<128xf32, global>
  tirx.return
}

// HOST:   "gpu.module"() <{sym_name = "kernels"}> ({
// HOST:     ptx.entry @inner(
// BINARY: "gpu.module"() <{sym_name = "kernels"}> ({
// BINARY:   ptx.binary @inner
"gpu.module"() <{sym_name = "kernels"}> ({
  tirx.kernel @inner(%a: memref<128xf32>) target("sm_80") grid(1) threads(128) {
    tirx.return
  }
}) : () -> ()
