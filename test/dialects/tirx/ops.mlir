// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: tirx.kernel @least() threads(1) {
// CHECK-NEXT:    tirx.return
// CHECK-NEXT:  }
// GENERIC:      "tirx.kernel"() <{sym_name = "least", function_type = () -> (), threads = 1 : i32}> ({
// GENERIC-NEXT:   "tirx.return"() : () -> ()
// GENERIC-NEXT: }) : () -> ()
tirx.kernel @least() threads(1) {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @most(%a: memref<4x8xf16>, %n: i32, %l: i64, %x: f32, %y: f64, %i: index) target("sm_100a") grid(2147483647, 65535, 65535) threads(1024) attributes {answer = 42 : i32, tag} {
// CHECK-NEXT:    tirx.return {last}
// GENERIC:      "tirx.kernel"() <{{{.*}}target = "sm_100a"{{.*}}}> ({
// GENERIC-NEXT: ^bb0(%a: memref<4x8xf16>, %n: i32, %l: i64, %x: f32, %y: f64, %i: index):
tirx.kernel @most(%a: memref<4x8xf16>, %n: i32, %l: i64, %x: f32, %y: f64, %i: index)
    target("sm_100a") grid(2147483647, 65535, 65535) threads(1024) attributes {answer = 42 : i32, tag} {
  tirx.return {last}
}

// CHECK-LABEL: tirx.kernel @grid_only() grid(3) threads(32) {
tirx.kernel @grid_only() grid(3) threads(32) {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @formulas(%a: memref<?x8xf32>) grid(add(stride(0, 0), 1), max(2, 3)) threads(32) {
tirx.kernel @formulas(%a: memref<?x8xf32>) grid(add(stride(0, 0), 1), max(2, 3)) threads(32) {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @pairs() grid(4, 2) cluster(2) threads(128) {
tirx.kernel @pairs() cluster(2) grid(4, 2) threads(128) {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @per_cta() cluster(2) per_cta threads(128) {
// CHECK-NEXT:    %r = tirx.cta_rank
// CHECK:         tirx.mma %a, %b, %acc pair negate_a : !tirx.tile<64x16xf16, shared>, !tirx.tile<32x16xf16, shared>, !tirx.tile<64x64xf32, tensor>
// CHECK-NEXT:    tirx.return
tirx.kernel @per_cta() threads(128) cluster(2) per_cta {
  %r = tirx.cta_rank
  %a = tirx.alloc : !tirx.tile<64x16xf16, shared>
  %b = tirx.alloc : !tirx.tile<32x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<64x64xf32, tensor>
  tirx.mma %a, %b, %acc pair negate_a : !tirx.tile<64x16xf16, shared>, !tirx.tile<32x16xf16, shared>, !tirx.tile<64x64xf32, tensor>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @target_only() target("sm_70") threads(32) {
tirx.kernel @target_only() target("sm_70") threads(32) {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @"a name"() grid(3, 4) threads(32) {
tirx.kernel @"a name"() grid(3, 4) threads(32) {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @block_ids() threads(32) {
// CHECK-NEXT:    %x = tirx.block_id x
// CHECK-NEXT:    %y = tirx.block_id y
// CHECK-NEXT:    %z = tirx.block_id z {tag}
// CHECK-NEXT:    %i = arith.addi %x, %y : index
// GENERIC:     %x = "tirx.block_id"() <{axis = #tirx<grid_axis x>}> : () -> index
tirx.kernel @block_ids() threads(32) {
  %x = tirx.block_id x
  %y = tirx.block_id y
  %z = tirx.block_id z {tag}
  %i = arith.addi %x, %y : index
  tirx.return
}

// CHECK-LABEL: tirx.kernel @launch_values(%a: memref<?x8xf32>) threads(32) {
// CHECK-NEXT:    %n = tirx.launch_value size(0, 0)
// CHECK-NEXT:    %m = tirx.launch_value ceildiv(stride(0, 1), 2) {tag}
// GENERIC:     %n = "tirx.launch_value"() <{formula = #ptx.formula<size(0, 0)>}> : () -> index
tirx.kernel @launch_values(%a: memref<?x8xf32>) threads(32) {
  %n = tirx.launch_value size(0, 0)
  %m = tirx.launch_value ceildiv(stride(0, 1), 2) {tag}
  tirx.return
}

// CHECK-LABEL: tirx.kernel @allocs() threads(32) {
// CHECK-NEXT:    %s = tirx.alloc : !tirx.tile<128x64xf16, shared>
// CHECK-NEXT:    %p = tirx.alloc {tag} : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>>
// CHECK-NEXT:    %t = tirx.alloc : !tirx.tile<128x256xf32, tensor>
// CHECK-NEXT:    %r = tirx.alloc : !tirx.tile<4x8x8xf32, register>
// GENERIC:     %p = "tirx.alloc"() {tag} : () -> !tirx.tile<8x64xf16, shared, #tirx.compose_layout<
#swizzled = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[8, 64]>>
tirx.kernel @allocs() threads(32) {
  %s = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %p = tirx.alloc {tag} : !tirx.tile<8x64xf16, shared, #swizzled>
  %t = tirx.alloc : !tirx.tile<128x256xf32, tensor>
  %r = tirx.alloc : !tirx.tile<4x8x8xf32, register>
  tirx.return
}

// CHECK-LABEL: tirx.kernel @views(
// CHECK-NEXT:    %0 = tirx.view %a[%i, %j] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>
// CHECK-NEXT:    %1 = tirx.view %a[%i, %j] {tag} : memref<512x256xf16> -> !tirx.tile<256xf16, global>
// CHECK-NEXT:    %2 = tirx.view %a[%i, %j] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global, #tirx.tile_layout<S[(128, 64) : (256, 1)]>>
// CHECK-NEXT:    %3 = tirx.view %a[%i, %j] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global, #tirx.tile_layout<S[(2, 64, 64) : (16384, 256, 1)]>>
// CHECK-NEXT:    %4 = tirx.view %d[%i, %j] : memref<?x256xf16> -> !tirx.tile<1024x64xf16, global>
// CHECK-NEXT:    %5 = tirx.view %s[%i, %j] : memref<8x8xf32, strided<[1, 16]>> -> !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (1, 16)]>>
// CHECK-NEXT:    %6 = tirx.view %v[%i] : memref<64xi8> -> !tirx.tile<64xi8, global>
// GENERIC:     %1 = "tirx.view"(%a, %i, %j) {tag} : (memref<512x256xf16>, index, index) -> !tirx.tile<256xf16, global>
tirx.kernel @views(%a: memref<512x256xf16>, %d: memref<?x256xf16>, %s: memref<8x8xf32, strided<[1, 16]>>,
                   %v: memref<64xi8>, %i: index, %j: index) threads(32) {
  %0 = tirx.view %a[%i, %j] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global>
  %1 = tirx.view %a[%i, %j] {tag} : memref<512x256xf16> -> !tirx.tile<256xf16, global>
  %2 = tirx.view %a[%i, %j] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global, #tirx.tile_layout<S[(128, 64) : (256, 1)]>>
  %3 = tirx.view %a[%i, %j] : memref<512x256xf16> -> !tirx.tile<128x64xf16, global, #tirx.tile_layout<S[(2, 64, 64) : (16384, 256, 1)]>>
  %4 = tirx.view %d[%i, %j] : memref<?x256xf16> -> !tirx.tile<1024x64xf16, global>
  %5 = tirx.view %s[%i, %j] : memref<8x8xf32, strided<[1, 16]>> -> !tirx.tile<8x4xf32, global, #tirx.tile_layout<S[(8, 4) : (1, 16)]>>
  %6 = tirx.view %v[%i] : memref<64xi8> -> !tirx.tile<64xi8, global>
  tirx.return
}

// CHECK-LABEL: func.func @places(
// CHECK-NEXT:    %0 = tirx.view %a[%i, %j, %i] dims(2, 0) steps [3, 1, 2] : memref<64x32x64xf16> -> !tirx.tile<8x16xf16, global>
// CHECK-NEXT:    %1 = tirx.view %a[%i, %j, %i] dims(1, _) clipped : memref<64x32x64xf16> -> !tirx.tile<64x1xf16, global>
// CHECK-NEXT:    %2 = tirx.view %a[%i, %j, %i] clipped to [*, %i, *] begins_inside {tag} : memref<64x32x64xf16> -> !tirx.tile<8x16xf16, global>
// CHECK-NEXT:    %3 = tirx.view %a[%i, {{\[}}%v], %j] clipped to [*, %i, %j] : memref<64x32x64xf16>, !tirx.tile<8xi32, register> -> !tirx.tile<8x16xf16, global>
// CHECK-NEXT:    %4 = tirx.view %a[{{\[}}%w], {{\[}}%v], %j] steps [1, 1, 2] : memref<64x32x64xf16>, !tirx.tile<8x1xi64, register>, !tirx.tile<8xi32, register> -> !tirx.tile<8x16xf16, global>
// CHECK-NEXT:    %5 = tirx.view %s[{{\[}}%v]] clipped : !tirx.tile<64xf16, shared>, !tirx.tile<8xi32, register> -> !tirx.tile<8xf16, shared>
// CHECK-NEXT:    %6 = tirx.load %5 pad(%x) {tag} : !tirx.tile<8xf16, shared> -> !tirx.tile<8xf16, register>
// CHECK-NEXT:    tirx.store %6, %5 reduce(add) : !tirx.tile<8xf16, register>, !tirx.tile<8xf16, shared>
// GENERIC:     %2 = "tirx.view"(%a, %i, %j, %i, %i) <{sized = [1 : i32], clipped, begins_inside}> {tag} : (memref<64x32x64xf16>, index, index, index, index)
func.func @places(%a: memref<64x32x64xf16>, %i: index, %j: index, %v: !tirx.tile<8xi32, register>, %w: !tirx.tile<8x1xi64, register>, %s: !tirx.tile<64xf16, shared>,
                  %x: f16) {
  %0 = tirx.view %a[%i, %j, %i] steps [3, 1, 2] dims(2, 0) : memref<64x32x64xf16> -> !tirx.tile<8x16xf16, global>
  %1 = tirx.view %a[%i, %j, %i] dims(1, _) clipped : memref<64x32x64xf16> -> !tirx.tile<64x1xf16, global>
  %2 = tirx.view %a[%i, %j, %i] clipped to [*, %i, *] begins_inside {tag} : memref<64x32x64xf16> -> !tirx.tile<8x16xf16, global>
  %3 = tirx.view %a[%i, [%v], %j] clipped to [*, %i, %j] : memref<64x32x64xf16>, !tirx.tile<8xi32, register> -> !tirx.tile<8x16xf16, global>
  %4 = tirx.view %a[[%w], [%v], %j] steps [1, 1, 2] : memref<64x32x64xf16>, !tirx.tile<8x1xi64, register>, !tirx.tile<8xi32, register> -> !tirx.tile<8x16xf16, global>
  %5 = tirx.view %s[[%v]] clipped : !tirx.tile<64xf16, shared>, !tirx.tile<8xi32, register> -> !tirx.tile<8xf16, shared>
  %6 = tirx.load %5 pad(%x) {tag} : !tirx.tile<8xf16, shared> -> !tirx.tile<8xf16, register>
  tirx.store %6, %5 reduce(add) : !tirx.tile<8xf16, register>, !tirx.tile<8xf16, shared>
  func.return
}

// CHECK-LABEL: func.func @fill_and_copy(
// CHECK-NEXT:    tirx.fill %s, %x : f32, !tirx.tile<8x4xf32, shared>
// CHECK-NEXT:    tirx.fill %t, %x {tag} : f32, !tirx.tile<8x4xf32, tensor>
// CHECK-NEXT:    tirx.copy %s, %t : !tirx.tile<8x4xf32, shared>, !tirx.tile<8x4xf32, tensor>
// CHECK-NEXT:    tirx.copy %t, %s {tag} : !tirx.tile<8x4xf32, tensor>, !tirx.tile<8x4xf32, shared>
// GENERIC:     "tirx.fill"(%t, %x) {tag} : (!tirx.tile<8x4xf32, tensor>, f32) -> ()
// GENERIC:     "tirx.copy"(%t, %s) {tag} : (!tirx.tile<8x4xf32, tensor>, !tirx.tile<8x4xf32, shared>) -> ()
func.func @fill_and_copy(%s: !tirx.tile<8x4xf32, shared>, %t: !tirx.tile<8x4xf32, tensor>, %x: f32) {
  tirx.fill %s, %x : f32, !tirx.tile<8x4xf32, shared>
  tirx.fill %t, %x {tag} : f32, !tirx.tile<8x4xf32, tensor>
  tirx.copy %s, %t : !tirx.tile<8x4xf32, shared>, !tirx.tile<8x4xf32, tensor>
  tirx.copy %t, %s {tag} : !tirx.tile<8x4xf32, tensor>, !tirx.tile<8x4xf32, shared>
  func.return
}

// CHECK-LABEL: func.func @tensor_products(
// CHECK-NEXT:    tirx.mma %a, %b, %c : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
// CHECK-NEXT:    tirx.mma %a, %b, %c zero_columns([3, 4, 5]) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c zero_columns([]) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c zero_columns(start = 3, zero = 2, use = 6) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c zero_columns(start_count = [0, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %e, %c zero_columns([3, 4, 5], shift = 2) : !tirx.tile<32x64xf16, shared>, !tirx.tile<66x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
// CHECK-NEXT:    tirx.mma %a, %e, %c zero_columns(start = 3, zero = 2, use = 6, shift = 2) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %e, %c zero_columns(start_count = [0, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3, shift = 2) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c negate_a : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c negate_b : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c accumulate(%p) : !tirx.tile<32x64xf16, shared>,
// CHECK-NEXT:    tirx.mma %a, %b, %c zero_columns([0]) negate_a negate_b accumulate(%p) {tag} : !tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
// GENERIC:     "tirx.mma"(%a, %b, %c) <{zero_columns = #tirx.zero_columns<[3, 4, 5]>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}> : (
// GENERIC:     "tirx.mma"(%a, %b, %c, %p) <{zero_columns = #tirx.zero_columns<[0]>, negate_a, negate_b, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> {tag} : (!tirx.tile<32x64xf16, shared>, !tirx.tile<64x64xf16, shared>, !tirx.tile<32x64xf32, tensor>, i1) -> ()
!a = !tirx.tile<32x64xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!e = !tirx.tile<66x64xf16, shared>
!c = !tirx.tile<32x64xf32, tensor>
func.func @tensor_products(%a: !a, %b: !b, %e: !e, %c: !c, %p: i1) {
  tirx.mma %a, %b, %c : !a, !b, !c
  tirx.mma %a, %b, %c zero_columns([3, 4, 5]) : !a, !b, !c
  tirx.mma %a, %b, %c zero_columns([]) : !a, !b, !c
  tirx.mma %a, %b, %c zero_columns(start = 3, zero = 2, use = 6) : !a, !b, !c
  tirx.mma %a, %b, %c zero_columns(start_count = [0, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3)
      : !a, !b, !c
  tirx.mma %a, %e, %c zero_columns([3, 4, 5], shift = 2) : !a, !e, !c
  tirx.mma %a, %e, %c zero_columns(start = 3, zero = 2, use = 6, shift = 2) : !a, !e, !c
  tirx.mma %a, %e, %c
      zero_columns(start_count = [0, 1, 2, 1], first_span = [1, 1, 0, 0], skip_span = 2, use_span = 3, shift = 2)
      : !a, !e, !c
  tirx.mma %a, %b, %c negate_a : !a, !b, !c
  tirx.mma %a, %b, %c negate_b : !a, !b, !c
  tirx.mma %a, %b, %c accumulate(%p) : !a, !b, !c
  tirx.mma %a, %b, %c zero_columns([0]) negate_a negate_b accumulate(%p) {tag} : !a, !b, !c
  func.return
}

// CHECK-LABEL: func.func @scaled_and_sparse_products(
// CHECK-NEXT:    tirx.mma %a, %b, %c scales(%s, %t) : !tirx.tile<128x64xf4E2M1FN, shared>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x4xf8E4M3FN, tensor>, !tirx.tile<64x4xf8E4M3FN, tensor>
// CHECK-NEXT:    tirx.mma %h, %b, %c scales(%s, %t) metadata(%e) accumulate(%p) {tag} : !tirx.tile<128x32xf4E2M1FN, tensor>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x4xf8E4M3FN, tensor>, !tirx.tile<64x4xf8E4M3FN, tensor>, !tirx.tile<128x8xi4, tensor>
// CHECK-NEXT:    tirx.mma %h, %b, %c metadata(%e) weight_stationary negate_a saturate : !tirx.tile<128x32xf4E2M1FN, tensor>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x8xi4, tensor>
func.func @scaled_and_sparse_products(
    %a: !tirx.tile<128x64xf4E2M1FN, shared>, %h: !tirx.tile<128x32xf4E2M1FN, tensor>,
    %b: !tirx.tile<64x64xf4E2M1FN, shared>, %c: !tirx.tile<128x64xf32, tensor>,
    %s: !tirx.tile<128x4xf8E4M3FN, tensor>, %t: !tirx.tile<64x4xf8E4M3FN, tensor>,
    %e: !tirx.tile<128x8xi4, tensor>, %p: i1) {
  tirx.mma %a, %b, %c scales(%s, %t) : !tirx.tile<128x64xf4E2M1FN, shared>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x4xf8E4M3FN, tensor>, !tirx.tile<64x4xf8E4M3FN, tensor>
  tirx.mma %h, %b, %c scales(%s, %t) metadata(%e) accumulate(%p) {tag} : !tirx.tile<128x32xf4E2M1FN, tensor>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x4xf8E4M3FN, tensor>, !tirx.tile<64x4xf8E4M3FN, tensor>, !tirx.tile<128x8xi4, tensor>
  tirx.mma %h, %b, %c metadata(%e) weight_stationary negate_a saturate : !tirx.tile<128x32xf4E2M1FN, tensor>, !tirx.tile<64x64xf4E2M1FN, shared>, !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x8xi4, tensor>
  func.return
}

// CHECK-LABEL: func.func @register_products(
// CHECK-NEXT:    tirx.mma %a, %b, %c : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>
// CHECK-NEXT:    %d = tirx.mma %a, %b, %c {tag} : !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register> -> !tirx.tile<4x8x8xf32, register>
// GENERIC:     %d = "tirx.mma"(%a, %b, %c) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}> {tag} : (!tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x4xf16, register>, !tirx.tile<4x8x8xf32, register>) -> !tirx.tile<4x8x8xf32, register>
!f = !tirx.tile<4x8x4xf16, register>
!g = !tirx.tile<4x8x8xf32, register>
func.func @register_products(%a: !f, %b: !f, %c: !g) {
  tirx.mma %a, %b, %c : !f, !f, !g
  %d = tirx.mma %a, %b, %c {tag} : !f, !f, !g -> !g
  func.return
}

// CHECK-LABEL: func.func @parts(
// CHECK-NEXT:    %0 = tirx.subview %t[0, 32] : !tirx.tile<8x64xf16, shared> -> !tirx.tile<4x32xf16, shared>
// CHECK-NEXT:    %1 = tirx.subview %t[0, 32] {tag} : !tirx.tile<8x64xf16, shared> -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 32) : (32, 1)]>>
// CHECK-NEXT:    %2 = tirx.subview %p[4, 32] : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>> -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 32) : (64, 1)] + 288>>
// CHECK-NEXT:    %3 = tirx.subview %p[4, 32] : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>> -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 2, 16) : (64, 16, 1)] + 288>>
// CHECK-NEXT:    %4 = tirx.subview %s[4, 0] : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>> -> !tirx.tile<4x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[256 : 1] + 256>>>
// CHECK-NEXT:    %5 = tirx.reshape %t : !tirx.tile<8x64xf16, shared> -> !tirx.tile<2x4x64xf16, shared>
// CHECK-NEXT:    %6 = tirx.reshape %s {tag} : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>> -> !tirx.tile<512xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>>
// CHECK-NEXT:    %7 = tirx.subview %p[4, %i] {tag} : !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[(8, 64) : (64, 1)]>> -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 32) : (64, 1)] + 256>>
// CHECK-NEXT:    %8 = tirx.subview %t[%i, %i] : !tirx.tile<8x64xf16, shared> -> !tirx.tile<4x32xf16, shared>
// GENERIC:     %1 = "tirx.subview"(%t) <{offsets = [0 : i32, 32 : i32]}> {tag} : (!tirx.tile<8x64xf16, shared>) -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 32) : (32, 1)]>>
// GENERIC:     %5 = "tirx.reshape"(%t) : (!tirx.tile<8x64xf16, shared>) -> !tirx.tile<2x4x64xf16, shared>
// GENERIC:     %8 = "tirx.subview"(%t, %i, %i) <{offsets = [-1 : i32, -1 : i32]}> : (!tirx.tile<8x64xf16, shared>, index, index) -> !tirx.tile<4x32xf16, shared>
!t = !tirx.tile<8x64xf16, shared>
!p = !tirx.tile<8x64xf16, shared, #tirx.tile_layout<S[8, 64]>>
!s = !tirx.tile<8x64xf16, shared, #swizzled>
#second_half = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[256 : 1] + 256>>
func.func @parts(%t: !t, %p: !p, %s: !s, %i: index) {
  %0 = tirx.subview %t[0, 32] : !t -> !tirx.tile<4x32xf16, shared>
  %1 = tirx.subview %t[0, 32] {tag} : !t -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[4, 32]>>
  %2 = tirx.subview %p[4, 32] : !p -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 32) : (64, 1)] + 288>>
  // Another spelling of the same places.
  %3 = tirx.subview %p[4, 32] : !p -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 2, 16) : (64, 16, 1)] + 288>>
  %4 = tirx.subview %s[4, 0] : !s -> !tirx.tile<4x64xf16, shared, #second_half>
  %5 = tirx.reshape %t : !t -> !tirx.tile<2x4x64xf16, shared>
  %6 = tirx.reshape %s {tag} : !s -> !tirx.tile<512xf16, shared, #swizzled>
  %7 = tirx.subview %p[4, %i] {tag} : !p -> !tirx.tile<4x32xf16, shared, #tirx.tile_layout<S[(4, 32) : (64, 1)] + 256>>
  %8 = tirx.subview %t[%i, %i] : !t -> !tirx.tile<4x32xf16, shared>
  func.return
}

// CHECK-LABEL: func.func @registers(
// CHECK-NEXT:    %v = tirx.load %s : !tirx.tile<8x4xf64, shared> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
// CHECK-NEXT:    %w = tirx.load %g {tag} : !tirx.tile<8x4xf64, global> -> !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
// CHECK-NEXT:    tirx.store %v, %g : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, global>
// CHECK-NEXT:    tirx.store %w, %s {tag} : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, shared>
// CHECK-NEXT:    %z = tirx.splat %x : f64 -> !tirx.tile<8x16xf64, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>
// CHECK-NEXT:    %n = tirx.zero : !tirx.tile<8x4xsi8, register>
// CHECK-NEXT:    %t = tirx.load %u : !tirx.tile<8x4xf32, tensor> -> !tirx.tile<8x4xf32, register>
// CHECK-NEXT:    tirx.store %t, %u : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xf32, tensor>
// CHECK-NEXT:    %d = tirx.mma_sync "m8n8k4.row.col.f64" %v[0], %w[0], %z[2] : !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>, !tirx.tile<8x16xf64, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>
// CHECK-NEXT:    tirx.barrier
// CHECK-NEXT:    tirx.barrier {tag}
// CHECK-NEXT:    %leader = tirx.leader
// CHECK-NEXT:    %address = tirx.address %s : !tirx.tile<8x4xf64, shared> -> i32
// GENERIC:     %d = "tirx.mma_sync"(%v, %w, %z) <{
// GENERIC:     "tirx.barrier"() : () -> ()
// GENERIC:     %leader = "tirx.leader"() : () -> i1
// GENERIC:     %address = "tirx.address"(%s) : (!tirx.tile<8x4xf64, shared>) -> i32
!operand = !tirx.tile<8x4xf64, register, #tirx.tile_layout<S[(8, 4) : (4@laneid, 1@laneid)]>>
!accumulator = !tirx.tile<8x16xf64, register, #tirx.tile_layout<S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]>>
func.func @registers(%s: !tirx.tile<8x4xf64, shared>, %g: !tirx.tile<8x4xf64, global>, %u: !tirx.tile<8x4xf32, tensor>, %x: f64) {
  %v = tirx.load %s : !tirx.tile<8x4xf64, shared> -> !operand
  %w = tirx.load %g {tag} : !tirx.tile<8x4xf64, global> -> !operand
  tirx.store %v, %g : !operand, !tirx.tile<8x4xf64, global>
  tirx.store %w, %s {tag} : !operand, !tirx.tile<8x4xf64, shared>
  %z = tirx.splat %x : f64 -> !accumulator
  %n = tirx.zero : !tirx.tile<8x4xsi8, register>
  %t = tirx.load %u : !tirx.tile<8x4xf32, tensor> -> !tirx.tile<8x4xf32, register>
  tirx.store %t, %u : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xf32, tensor>
  %d = tirx.mma_sync "m8n8k4.row.col.f64" %v[0], %w[0], %z[2] : !operand, !operand, !accumulator
  tirx.barrier
  tirx.barrier {tag}
  %leader = tirx.leader
  %address = tirx.address %s : !tirx.tile<8x4xf64, shared> -> i32
  func.return
}

// The clauses of a kernel may stand in any order.

// CHECK-LABEL: tirx.kernel @any_order() target("sm_80") grid(2) threads(32) {
tirx.kernel @any_order() threads(32) grid(2) target("sm_80") {
  tirx.return
}

// CHECK-LABEL: tirx.kernel @warpgroups
// CHECK-NEXT:    tirx.warpgroup 0 {
// CHECK-NEXT:      %leader = tirx.leader
// CHECK-NEXT:    }
// CHECK-NEXT:    tirx.warpgroup 1 attributes {tag} {
// CHECK-NEXT:    }
tirx.kernel @warpgroups() threads(288) {
  tirx.warpgroup 0 {
    %leader = tirx.leader
  }
  tirx.warpgroup 1 attributes {tag} {
  }
  tirx.return
}

// CHECK-LABEL: tirx.kernel @debugging
// CHECK-NEXT:    tirx.print "here"
// CHECK-NEXT:    tirx.print "x", %x, %n : !tirx.tile<8x4xf32, register>, i32
// CHECK-NEXT:    tirx.assert %p, "p holds" : i1
tirx.kernel @debugging(%x: !tirx.tile<8x4xf32, register>, %n: i32, %p: i1) threads(32) {
  tirx.print "here"
  tirx.print "x", %x, %n : !tirx.tile<8x4xf32, register>, i32
  tirx.assert %p, "p holds" : i1
  tirx.return
}
