// RUN: tirx-opt %s --split-input-file | filecheck %s
// RUN: tirx-opt %s --split-input-file | tirx-opt --split-input-file | filecheck %s

// Places of loads, stores and copies make views; blocks have their positions from the grid, and kernels end by themselves.

!x = !tirx.tile<32x64xf32, register>

// CHECK-LABEL: tirx.kernel @places
// CHECK-SAME: grid(ceildiv(size(0, 1), 64), ceildiv(size(1, 0), 32), 2)
// CHECK-NEXT: %j = tirx.block_id x
// CHECK-NEXT: %b = tirx.block_id z
// CHECK: [[IDS:%\d+]] = tirx.view %ids[{{%\d+}}] clipped : memref<?xi32> -> !tirx.tile<32xi32, global>
// CHECK-NEXT: %row = tirx.load [[IDS]] pad(%none) : !tirx.tile<32xi32, global> -> !tirx.tile<32xi32, register>
// CHECK: [[FROM:%\d+]] = tirx.view %table{{\[\[}}%row], {{%\d+}}] clipped to [*, %j] : memref<?x?xf32>, !tirx.tile<32xi32, register> -> !tirx.tile<32x64xf32, global>
// CHECK-NEXT: %x = tirx.load [[FROM]] engine ld_st : !tirx.tile<32x64xf32, global> -> !tirx.tile<32x64xf32, register>
// CHECK: [[TO:%\d+]] = tirx.view %y[%b, {{%\d+}}, {{%\d+}}] dims(1, 2) steps [1, 2, 1] clipped begins_inside : memref<?x?x?xf32>
// CHECK-NEXT: tirx.store %x, [[TO]] reduce(add) : !tirx.tile<32x64xf32, register>, !tirx.tile<32x64xf32, global>
// CHECK: [[OF:%\d+]] = tirx.view %table[{{%\d+}}, %j] : memref<?x?xf32> -> !tirx.tile<32x64xf32, global>
// CHECK-NEXT: tirx.copy [[OF]], %s engine cp_async : !tirx.tile<32x64xf32, global>, !tirx.tile<32x64xf32, shared>
// CHECK: [[ROWS:%\d+]] = tirx.view %s{{\[\[}}%row], {{%\d+}}] : !tirx.tile<32x64xf32, shared>, !tirx.tile<32xi32, register> -> !tirx.tile<32x64xf32, shared>
// CHECK-NEXT: tirx.store %x, [[ROWS]] : !tirx.tile<32x64xf32, register>, !tirx.tile<32x64xf32, shared>
// CHECK-NEXT: tirx.return
tirx.kernel @places(%table: memref<?x?xf32>, %ids: memref<?xi32>, %y: memref<?x?x?xf32>)
    grid(%j = ceildiv(size(0, 1), 64), ceildiv(size(1, 0), 32), %b = 2) threads(128) {
  %none = arith.constant -1 : i32
  %i = tirx.block_id y
  %s = tirx.alloc : !tirx.tile<32x64xf32, shared>
  %row = tirx.load %ids[%i * 32] clipped pad(%none) : memref<?xi32> -> !tirx.tile<32xi32, register>
  %x = tirx.load %table[[%row], %j * 64] clipped to [*, %j] engine ld_st : memref<?x?xf32> -> !x
  tirx.store %x, %y[%b, %i * 32, %j * 64] dims(1, 2) steps [1, 2, 1] clipped begins_inside reduce(add) : !x, memref<?x?x?xf32>
  tirx.copy %table[0, %j], %s engine cp_async : memref<?x?xf32>, !tirx.tile<32x64xf32, shared>
  tirx.store %x, %s[[%row], 0] : !x, !tirx.tile<32x64xf32, shared>
}

// -----

// A name of a block is that of its kernel only.

// CHECK-LABEL: tirx.kernel @symbols
// CHECK: %i = tirx.block_id x
// CHECK-NEXT: %j = tirx.block_id y
// CHECK: tirx.view %a[%i, %j] : memref<?x?xf32> -> !tirx.tile<[BM]x64xf32, global>
tirx.kernel @symbols(%a: memref<?x?xf32>) params(BM in [64, 128]) grid(%i = 8, %j = 4) threads(128) {
  %x = tirx.load %a[%i, %j] : memref<?x?xf32> -> !tirx.tile<[BM]x64xf32, register>
}
// CHECK-LABEL: tirx.kernel @empty() grid(8) threads(32)
// CHECK-NEXT: %i = tirx.block_id x
// CHECK-NEXT: tirx.return
tirx.kernel @empty() grid(%i = 8) threads(32) {
}

// -----

// Bodies of maps and folds may be expressions.

!v = !tirx.tile<4x64xf32, register>
!c = !tirx.tile<4x1xf32, register>
!i = !tirx.tile<4x64xi32, register>

// CHECK-LABEL: tirx.kernel @expressions
tirx.kernel @expressions(%x: memref<4x64xf32>, %n: index, %s: f32) threads(32) {
  %a = tirx.load %x[0, 0] : memref<4x64xf32> -> !v

  // CHECK: %i = tirx.map {
  // CHECK-NEXT: [[J:%\d+]] = tirx.index 1
  // CHECK-NEXT: [[C:%\d+]] = arith.constant 3 : index
  // CHECK-NEXT: [[K:%\d+]] = arith.addi [[J]], [[C]] : index
  // CHECK-NEXT: [[R:%\d+]] = arith.index_cast [[K]] : index to i32
  // CHECK-NEXT: tirx.yield [[R]] : i32
  %i = tirx.map () { i32(index(1) + 3) } -> !i

  // CHECK: tirx.reduce ins(%a, %a : {{.*}}) dim(1) {
  // CHECK-NEXT: ^bb0(%m: f32, %t: f32, %p: f32, %q: f32):
  // CHECK-NEXT: %k = arith.maximumf %m, %p : f32
  // CHECK-NEXT: [[D:%\d+]] = arith.subf %p, %k : f32
  // CHECK-NEXT: [[E:%\d+]] = math.exp [[D]] : f32
  // CHECK: math.exp {{%\d+}} fastmath<afn> : f32
  // CHECK: math.fma %q, [[E]], {{%\d+}} : f32
  %most, %total = tirx.reduce ins(%a, %a : !v, !v) dim(1) (%m, %t, %p, %q) {
    %k = maximumf(%m, %p);
    %k, fma(%q, exp(%p - %k), %t * exp<afn>(%m - %k))
  } -> !c, !c

  // CHECK: tirx.scan ins(%a : {{.*}}) dim(1) exclusive init(%total : {{.*}}) {
  // CHECK-NEXT: ^bb0(%p_1: f32, %q_1: f32):
  // CHECK-NEXT: arith.addf %p_1, %q_1 : f32
  %y = tirx.scan ins(%a : !v) dim(1) exclusive init(%total : !c) (%p, %q) { %p + %q } -> !v

  // CHECK: tirx.map ins(%a, %most, %i : {{.*}}) {
  // CHECK-NEXT: ^bb0(%p_2: f32, %m_1: f32, %j: i32):
  // CHECK: arith.cmpi slt, {{%\d+}}, %n : index
  // CHECK: arith.constant 7 : i32
  // CHECK: arith.cmpi eq, %j, {{%\d+}} : i32
  // CHECK: [[TRUE:%\d+]] = arith.constant true
  // CHECK: [[NOT:%\d+]] = arith.xori {{%\d+}}, [[TRUE]] : i1
  // CHECK: %in = arith.andi {{%\d+}}, [[NOT]] : i1
  // CHECK: arith.constant 2.000000e+00 : f32
  // CHECK: arith.constant {{.*}} : f32
  // CHECK: arith.select %in, {{%\d+}}, {{%\d+}} : f32
  // CHECK: [[H:%\d+]] = arith.truncf %p_2 : f32 to f16
  // CHECK: [[W:%\d+]] = arith.extf [[H]] : f16 to f32
  // CHECK: [[P:%\d+]] = arith.mulf %s, [[W]] : f32
  // CHECK: [[G:%\d+]] = arith.negf [[P]] : f32
  // CHECK: [[S:%\d+]] = arith.shli %j, {{%\d+}} : i32
  // CHECK: [[F:%\d+]] = arith.sitofp [[S]] : i32 to f32
  // CHECK: arith.subf [[G]], [[F]] : f32
  %z, %w = tirx.map ins(%a, %most, %i : !v, !c, !i) (%p, %m, %j) {
    %in = index(1) < %n & !(%j == 7);  // inside, and no multiple
    select(%in, (%p - %m) / 2, -inf), -(%s * f32(f16(%p))) - f32(%j << 1)
  } -> !v, !v
}

// -----

// Integers of ui tiles have no signs, truths become 0 or 1, a comment may have a brace, and two signs are none.

// CHECK-LABEL: tirx.kernel @unsigned
// CHECK: ^bb0(%p: i8, %q: i8):
// CHECK-NEXT: %h = arith.divui %p, %q : i8
// CHECK: [[S:%\d+]] = arith.shrui %h, {{%\d+}} : i8
// CHECK-NEXT: [[L:%\d+]] = arith.cmpi ult, [[S]], %q : i8
// CHECK-NEXT: [[A:%\d+]] = arith.extui [[L]] : i1 to i32
// CHECK-NEXT: [[B:%\d+]] = arith.extui %p : i8 to i32
// CHECK-NEXT: [[C:%\d+]] = arith.addi [[A]], [[B]] : i32
// CHECK-NEXT: [[U:%\d+]] = arith.uitofp %q : i8 to f32
// CHECK-NEXT: [[T:%\d+]] = arith.constant 2.000000e+00 : f32
// CHECK-NEXT: [[M:%\d+]] = arith.mulf [[T]], [[U]] : f32
// CHECK-NEXT: [[O:%\d+]] = arith.fptoui [[M]] : f32 to i8
// CHECK-NEXT: [[W:%\d+]] = arith.extui [[O]] : i8 to i32
// CHECK-NEXT: tirx.yield [[C]], [[W]] : i32, i32
tirx.kernel @unsigned(%x: memref<64xui8>) threads(32) {
  %a = tirx.load %x[0] : memref<64xui8> -> !tirx.tile<64xui8, register>
  %z, %w = tirx.map ins(%a, %a : !tirx.tile<64xui8, register>, !tirx.tile<64xui8, register>) (%p, %q) {
    %h = %p / %q;  // halves }
    i32(%h >> 1 < %q) + i32(%p), i32(ui8(- -2.0 * f32(%q)))
  } -> !tirx.tile<64xi32, register>, !tirx.tile<64xi32, register>
}

// -----

// A number of the type that is written.

// CHECK-LABEL: tirx.kernel @typed_numbers
// CHECK: [[O:%\d+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: [[N:%\d+]] = arith.constant {{200|-56}} : i8
// CHECK-NEXT: [[F:%\d+]] = arith.uitofp [[N]] : i8 to f32
// CHECK-NEXT: arith.divf [[O]], [[F]] : f32
tirx.kernel @typed_numbers() threads(32) {
  %z = tirx.map () { f32(1.0) / f32(ui8(200)) } -> !tirx.tile<64xf32, register>
}

// -----

// Tiles with their first contents, and bits of numbers.

// CHECK-LABEL: tirx.kernel @contents
// CHECK: [[ZERO:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %a = tirx.alloc {tag} : !tirx.tile<8xf32, shared>
// CHECK-NEXT: tirx.fill %a, [[ZERO]] : f32, !tirx.tile<8xf32, shared>
// CHECK-NEXT: [[FOUR:%.+]] = arith.constant 4 : i32
// CHECK-NEXT: %b = tirx.alloc : !tirx.tile<8xi32, shared>
// CHECK-NEXT: tirx.fill %b, [[FOUR]] : i32, !tirx.tile<8xi32, shared>
// CHECK-NEXT: %c = tirx.alloc at 16 : !tirx.tile<8xf32, shared>
// CHECK-NEXT: tirx.fill %c, %x : f32, !tirx.tile<8xf32, shared>
// CHECK-NEXT: [[VIEW:%.+]] = tirx.view %m[%i] clipped : memref<?xf32> -> !tirx.tile<8xf32, global>
// CHECK-NEXT: %d = tirx.alloc : !tirx.tile<8xf32, shared>
// CHECK-NEXT: tirx.copy [[VIEW]], %d : !tirx.tile<8xf32, global>, !tirx.tile<8xf32, shared>
// CHECK-NEXT: %e = tirx.alloc : !tirx.tile<8xf32, shared>
// CHECK-NEXT: tirx.copy %d, %e : !tirx.tile<8xf32, shared>, !tirx.tile<8xf32, shared>
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK-NEXT: arith.uitofp
tirx.kernel @contents(%m: memref<?xf32>, %i: index, %x: f32, %v: !tirx.tile<8xf32, register>) threads(32) {
  %a = tirx.alloc fill(0.0) {tag} : !tirx.tile<8xf32, shared>
  %b = tirx.alloc fill(4) : !tirx.tile<8xi32, shared>
  %c = tirx.alloc at 16 fill(%x) : !tirx.tile<8xf32, shared>
  %d = tirx.alloc copy(%m[%i] clipped) : memref<?xf32>, !tirx.tile<8xf32, shared>
  %e = tirx.alloc copy(%d) : !tirx.tile<8xf32, shared>, !tirx.tile<8xf32, shared>
  %y = tirx.map ins(%v : !tirx.tile<8xf32, register>) (%p) { as_f32(as_i32(%p) & -8) + f32(as_ui32(%p)) } -> !tirx.tile<8xf32, register>
}

// -----

// An expression of scalars is the operations of arith that compute it; names of parameters are their values.

// CHECK-LABEL: tirx.kernel @scalars
// CHECK:         %[[BM:.*]] = tirx.param BM : index
// CHECK-NEXT:    %[[C:.*]] = arith.constant 3 : index
// CHECK-NEXT:    %[[P:.*]] = arith.muli %i, %[[C]] : index
// CHECK-NEXT:    %n = arith.addi %[[P]], %[[BM]] : index
// CHECK:         %[[TWO:.*]] = tirx.param BM : i32
// CHECK-NEXT:    %[[W:.*]] = arith.constant 2 : i32
// CHECK:         arith.muli %[[TWO]], %[[W]] : i32
// CHECK:         arith.cmpi sgt, %n
// CHECK:         %is = arith.ori
// CHECK:         %[[EACH:.*]] = tirx.param BM : i32
// CHECK-NEXT:    tirx.map ins(%x
// CHECK:         arith.muli %e, %[[EACH]] : i32
tirx.kernel @scalars(%a: memref<?x64xi32>) params(BM in [64, 128]) grid(%i = 8) threads(128) {
  %n = tirx.map () { %i * 3 + BM } -> index
  %two = tirx.map () { BM * 2 } -> i32
  %is = tirx.map () { %n > BM | %n == 7 } -> i1
  %x = tirx.load %a[%n, 0] : memref<?x64xi32> -> !tirx.tile<1x64xi32, register>
  %y = tirx.map ins(%x : !tirx.tile<1x64xi32, register>) (%e) { %e * BM } -> !tirx.tile<1x64xi32, register>
}
