// RUN: tirx-opt %s | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | tirx-opt | filecheck %s
// RUN: tirx-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

#accumulator = #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>
#operand = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#registers = #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>
!accumulator = !tirx.tile<128x256xf32, tensor, #accumulator>
!operand = !tirx.tile<128x64xf16, shared, #operand>
!registers = !tirx.tile<128x256xf32, register, #registers>

// CHECK-LABEL: func.func @allocation(
// CHECK-NEXT:    tcgen05.alloc %slot columns 32
// CHECK-NEXT:    tcgen05.alloc %slot columns 512 {tag}
// CHECK-NEXT:    tcgen05.relinquish_alloc_permit
// CHECK-NEXT:    %acc = tcgen05.tile %base, 256 : i32 -> !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tcgen05.dealloc %base columns 512
// GENERIC:     "tcgen05.alloc"(%slot) <{columns = 512 : i32, cta_group = 1 : i32}> {tag} : (i32) -> ()
// GENERIC:     %acc = "tcgen05.tile"(%base) <{column = 256 : i32}> : (i32) -> !tirx.tile<128x256xf32, tensor,
func.func @allocation(%slot: i32, %base: i32) {
  tcgen05.alloc %slot columns 32
  tcgen05.alloc %slot columns 512 {tag}
  tcgen05.relinquish_alloc_permit
  %acc = tcgen05.tile %base, 256 : i32 -> !accumulator
  tcgen05.dealloc %base columns 512
  func.return
}

// Fields are printed in their order, defaults are left out.
// CHECK-LABEL: func.func @descriptors(
// CHECK-NEXT:    %0 = tcgen05.smem_descriptor %a, 3 of 16 : !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>> -> i64
// CHECK-NEXT:    %1 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256> : i32
// CHECK-NEXT:    %2 = tcgen05.instruction_descriptor <kind = "f8f6f4", a = "e4m3", b = "e5m2", d = "f16", m = 64, n = 64, a_major = "MN", negate_a = true, max_shift = 32> : i32
// CHECK-NEXT:    %3 = tcgen05.instruction_descriptor <kind = "i8", a = "s8", b = "u8", d = "s32", m = 128, n = 32, saturate = true> {tag} : i32
// CHECK-NEXT:    %4 = tcgen05.instruction_descriptor <kind = "mxf8f6f4", a = "e4m3", b = "e2m1", d = "f32", m = 128, n = 64, scale = "ue8m0", sf_a_id = 1, sf_b_id = 3> : i32
// CHECK-NEXT:    %5 = tcgen05.instruction_descriptor <kind = "tf32", a = "tf32", b = "tf32", d = "f32", m = 64, n = 8, b_major = "MN", negate_b = true, sparse = true, sparsity_selector = 1> : i32
// CHECK-NEXT:    %6 = tcgen05.zero_column_mask <0x0203028301020100> : i64
// CHECK-NEXT:    %7 = tcgen05.zero_column_mask <0x0000000000000000> {tag} : i64
// GENERIC:     %0 = "tcgen05.smem_descriptor"(%a) <{step = 3 : i32, k = 16 : i32}> : (
// GENERIC:     %1 = "tcgen05.instruction_descriptor"() <{descriptor = #tcgen05.instruction_descriptor<kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 256>}> : () -> i32
// GENERIC:     %6 = "tcgen05.zero_column_mask"() <{mask = #tcgen05.zero_column_mask<0x0203028301020100>}> : () -> i64
func.func @descriptors(%a: !operand) {
  %0 = tcgen05.smem_descriptor %a, 3 of 16 : !operand -> i64
  %1 = tcgen05.instruction_descriptor <n = 256, m = 128, d = "f32", b = "f16", a = "f16", kind = "f16"> : i32
  %2 = tcgen05.instruction_descriptor <kind = "f8f6f4", a = "f8E4M3FN", b = "f8E5M2", d = "f16", m = 64, n = 64,
                                       a_major = "MN", b_major = "K", negate_a = true, negate_b = false, max_shift = 32> : i32
  %3 = tcgen05.instruction_descriptor <kind = "i8", a = "i8", b = "ui8", d = "i32", m = 128, n = 32, saturate = true> {tag} : i32
  %4 = tcgen05.instruction_descriptor <kind = "mxf8f6f4", a = "e4m3", b = "e2m1", d = "f32", m = 128, n = 64,
                                       scale = "f8E8M0FNU", sf_a_id = 1, sf_b_id = 3> : i32
  %5 = tcgen05.instruction_descriptor <kind = "tf32", a = "tf32", b = "tf32", d = "f32", m = 64, n = 8,
                                       b_major = "MN", negate_b = true, sparse = true, sparsity_selector = 1> : i32
  %6 = tcgen05.zero_column_mask <0x0203028301020100> : i64
  %7 = tcgen05.zero_column_mask <0> {tag} : i64
  func.return
}

// CHECK-LABEL: func.func @products(
// CHECK-NEXT:    tcgen05.mma f16 %acc, %a, %b, %idesc, %enable : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
// CHECK-NEXT:    tcgen05.mma f8f6f4 %acc, %a, %b, %idesc, %enable {tag} : !tirx.tile<128x256xf32, tensor,
// CHECK-NEXT:    tcgen05.mma ws tf32 %acc, %a, %b, %idesc, %enable zero_column_mask %mask : !tirx.tile<128x256xf32, tensor,
// CHECK-NEXT:    tcgen05.commit %mbarrier
// GENERIC:     "tcgen05.mma"(%acc, %a, %b, %idesc, %enable) <{kind = #tcgen05<mma_kind f8f6f4>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0>, cta_group = 1 : i32}> {tag} : (!tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64, i64, i32, i1) -> ()
// GENERIC:     "tcgen05.mma"(%acc, %a, %b, %idesc, %enable, %mask) <{ws, kind = #tcgen05<mma_kind tf32>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 1, 0, 0, 0>, cta_group = 1 : i32}> : (
// GENERIC:     "tcgen05.commit"(%mbarrier) <{operandSegmentSizes = array<i32: 1, 0, 0>, cta_group = 1 : i32}> : (i32) -> ()
func.func @products(%acc: !accumulator, %a: i64, %b: i64, %idesc: i32, %enable: i1, %mask: i64, %mbarrier: i32) {
  tcgen05.mma f16 %acc, %a, %b, %idesc, %enable : !accumulator, i64
  tcgen05.mma f8f6f4 %acc, %a, %b, %idesc, %enable {tag} : !accumulator, i64
  tcgen05.mma ws tf32 %acc, %a, %b, %idesc, %enable zero_column_mask %mask : !accumulator, i64
  tcgen05.commit %mbarrier
  func.return
}

// CHECK-LABEL: func.func @movement(
// CHECK-NEXT:    %v = tcgen05.ld "32x32b" %t : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
// CHECK-NEXT:    tcgen05.st "32x32b" %t, %v {tag} : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
// CHECK-NEXT:    tcgen05.wait ld
// CHECK-NEXT:    tcgen05.wait st
// CHECK-NEXT:    tcgen05.fence before_thread_sync
// CHECK-NEXT:    tcgen05.fence after_thread_sync
// GENERIC:     %v = "tcgen05.ld"(%t) <{shape = "32x32b", offset = 0 : i32}> : (
// GENERIC:     "tcgen05.st"(%v, %t) <{shape = "32x32b", offset = 0 : i32}> {tag} : (
// GENERIC:     "tcgen05.wait"() <{kind = #tcgen05<wait_for ld>}> : () -> ()
// GENERIC:     "tcgen05.fence"() <{position = #tcgen05<fence_position before_thread_sync>}> : () -> ()
func.func @movement(%t: !accumulator) {
  %v = tcgen05.ld "32x32b" %t : !accumulator -> !registers
  tcgen05.st "32x32b" %t, %v {tag} : !accumulator, !registers
  tcgen05.wait ld
  tcgen05.wait st
  tcgen05.fence before_thread_sync
  tcgen05.fence after_thread_sync
  func.return
}

// Pairs of CTAs, and everything that a product may ask for.

#a_tmem = #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>
#column = #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>
!a_tmem = !tirx.tile<128x16xf16, tensor, #a_tmem>
!scales = !tirx.tile<128x4xf8E8M0FNU, tensor, #column>
!metadata = !tirx.tile<128x4xf32, tensor, #column>

// CHECK-LABEL: func.func @pairs(
// CHECK-NEXT:    tcgen05.alloc %slot columns 256 cta_group 2
// CHECK-NEXT:    tcgen05.relinquish_alloc_permit cta_group 2
// CHECK-NEXT:    tcgen05.commit %mbarrier cta_group 2
// CHECK-NEXT:    tcgen05.commit %mbarrier multicast %ctas cta_group 2
// CHECK-NEXT:    tcgen05.commit %mbarrier multicast %ctas
// CHECK-NEXT:    tcgen05.commit %mbarrier reads_a multicast_32b %slot cta_group 2
// CHECK-NEXT:    tcgen05.dealloc %base columns 256 cta_group 2 {tag}
func.func @pairs(%slot: i32, %base: i32, %mbarrier: i32, %ctas: i16) {
  tcgen05.alloc %slot columns 256 cta_group 2
  tcgen05.relinquish_alloc_permit cta_group 2
  tcgen05.commit %mbarrier cta_group 2
  tcgen05.commit %mbarrier multicast %ctas cta_group 2
  tcgen05.commit %mbarrier multicast %ctas
  tcgen05.commit %mbarrier reads_a multicast_32b %slot cta_group 2
  tcgen05.dealloc %base columns 256 cta_group 2 {tag}
  func.return
}

// CHECK-LABEL: func.func @modifiers(
// CHECK-NEXT:    tcgen05.mma f16 %acc, %a, %b, %i, %p cta_group 2 disable_lanes(%w, %w, %w, %w, %w, %w, %w, %w) : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
// CHECK-NEXT:    tcgen05.mma tf32 %acc, %a, %b, %i, %p sparse(%meta : !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>) disable_lanes(%w, %w, %w, %w) collector fill scale_d 4 {tag} : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
// CHECK-NEXT:    tcgen05.mma f16 %acc, %at, %b, %i, %p ashift collector lastuse : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tcgen05.mma ws i8 %acc, %a, %b, %i, %p : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
// CHECK-NEXT:    tcgen05.mma ws f8f6f4 %acc, %at, %b, %i, %p zero_column_mask %b sparse(%meta : !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>) buffer "b3" collector use : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>>
func.func @modifiers(%acc: !accumulator, %at: !a_tmem, %meta: !metadata, %a: i64, %b: i64, %i: i32, %p: i1, %w: i32) {
  tcgen05.mma f16 %acc, %a, %b, %i, %p cta_group 2 disable_lanes(%w, %w, %w, %w, %w, %w, %w, %w) : !accumulator, i64
  tcgen05.mma tf32 %acc, %a, %b, %i, %p sparse(%meta : !metadata) disable_lanes(%w, %w, %w, %w) collector fill scale_d 4 {tag} : !accumulator, i64
  tcgen05.mma f16 %acc, %at, %b, %i, %p ashift collector lastuse : !accumulator, !a_tmem
  tcgen05.mma ws i8 %acc, %a, %b, %i, %p : !accumulator, i64
  tcgen05.mma ws f8f6f4 %acc, %at, %b, %i, %p zero_column_mask %b sparse(%meta : !metadata) buffer "b3" collector use : !accumulator, !a_tmem
  func.return
}

// CHECK-LABEL: func.func @block_scaled(
// CHECK-NEXT:    tcgen05.mma mxf8f6f4 %acc, %a, %b, %i, %p scales(%s, %s : !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>) : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
// CHECK-NEXT:    tcgen05.mma mxf4nvf4 "block16" %acc, %a, %b, %i, %p scales(%s, %s : !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>) cta_group 2 collector fill {tag} : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, i64
// CHECK-NEXT:    tcgen05.mma mxf4 "scale_vec::2X" %acc, %at, %b, %i, %p scales(%s, %s : !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>) sparse(%meta : !tirx.tile<128x4xf32, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>) : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>, !tirx.tile<128x16xf16, tensor, #tirx.tile_layout<S[(128, 16) : (1@TLane, 1@TCol)]>>
func.func @block_scaled(%acc: !accumulator, %at: !a_tmem, %s: !scales, %meta: !metadata, %a: i64, %b: i64, %i: i32, %p: i1) {
  tcgen05.mma mxf8f6f4 %acc, %a, %b, %i, %p scales(%s, %s : !scales, !scales) : !accumulator, i64
  tcgen05.mma mxf4nvf4 "block16" %acc, %a, %b, %i, %p scales(%s, %s : !scales, !scales) cta_group 2 collector fill {tag} : !accumulator, i64
  tcgen05.mma mxf4 "scale_vec::2X" %acc, %at, %b, %i, %p scales(%s, %s : !scales, !scales) sparse(%meta : !metadata) : !accumulator, !a_tmem
  func.return
}

// CHECK-LABEL: func.func @copies(
// CHECK-NEXT:    tcgen05.cp "128x256b" %acc, %d : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tcgen05.cp "64x128b" %acc, %d multicast "warpx2::01_23" decompress "b6x16_p32" cta_group 2 : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tcgen05.cp "32x128b" %s, %d multicast "warpx4" {tag} : !tirx.tile<128x4xf8E8M0FNU, tensor, #tirx.tile_layout<S[(128, 4) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tcgen05.shift %acc : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
// CHECK-NEXT:    tcgen05.shift %acc cta_group 2 : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>>
func.func @copies(%d: i64, %acc: !accumulator, %s: !scales) {
  tcgen05.cp "128x256b" %acc, %d : !accumulator
  tcgen05.cp "64x128b" %acc, %d multicast "warpx2::01_23" decompress "b6x16_p32" cta_group 2 : !accumulator
  tcgen05.cp "32x128b" %s, %d multicast "warpx4" {tag} : !scales
  tcgen05.shift %acc : !accumulator
  tcgen05.shift %acc cta_group 2 : !accumulator
  func.return
}

// 16-bit elements, two to a register; the greatest of each row.

#wide = #tirx.tile_layout<S[(128, 32) : (1@TLane, 2@TCol)]>
#packed = #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>
#rows = #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>
!wide = !tirx.tile<128x32xf16, tensor, #wide>
!packed = !tirx.tile<128x32xf16, register, #packed>
!rows = !tirx.tile<128xf32, register, #rows>

// CHECK-LABEL: func.func @packed(
// CHECK-NEXT:    %v = tcgen05.ld "32x32b" %t pack : !tirx.tile<128x32xf16, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 2@TCol)]>> -> !tirx.tile<128x32xf16, register, #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>>
// CHECK-NEXT:    tcgen05.st "32x32b" %t unpack, %v : !tirx.tile<128x32xf16, tensor, #tirx.tile_layout<S[(128, 32) : (1@TLane, 2@TCol)]>>, !tirx.tile<128x32xf16, register, #tirx.tile_layout<S[(4, 32, 32) : (1@warpid, 1@laneid, 1)]>>
// CHECK-NEXT:    %m, %0 = tcgen05.ld.red max "32x32b" %acc abs nan : !tirx.tile<128x256xf32, tensor, #tirx.tile_layout<S[(128, 256) : (1@TLane, 1@TCol)]>> -> !tirx.tile<128xf32, register, #tirx.tile_layout<S[(4, 32) : (1@warpid, 1@laneid)]>>, !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]>>
func.func @packed(%t: !wide, %acc: !accumulator) {
  %v = tcgen05.ld "32x32b" %t pack : !wide -> !packed
  tcgen05.st "32x32b" %t unpack, %v : !wide, !packed
  %m, %0 = tcgen05.ld.red max "32x32b" %acc abs nan : !accumulator -> !rows, !registers
  func.return
}
