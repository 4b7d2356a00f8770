// RUN: tirx-opt %s --tirx-materialize-descriptors | filecheck %s

// The constants are derived by hand from the PTX ISA, "Shared memory descriptor": LBO / 16 in bits 16-29, SBO / 16 in
// bits 32-45, bit 46, the swizzle mode in bits 61-63. MLIR prints them as signed decimals.

// K-major, 128-byte swizzle (mode 2): LBO is not read and is 1, SBO is 8 rows of 128 bytes. 0x4000404000010000.
// 16 elements along K are 32 bytes, 2 units of 16, and the address is computed once.

#k128 = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>

// CHECK-LABEL: tirx.kernel @k_major_128b
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant 4611756662049538048 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 2 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    %10 = arith.constant 4 : i64
// CHECK-NEXT:    %11 = arith.addi %7, %10 : i64
// CHECK-NEXT:    %12 = arith.constant 6 : i64
// CHECK-NEXT:    %13 = arith.addi %7, %12 : i64
// CHECK-NEXT:    %14 = arith.addi %7, %9 : i64
// CHECK-NEXT:    %15 = arith.addi %11, %13 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @k_major_128b() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #k128>
  %0 = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<64x64xf16, shared, #k128> -> i64
  %1 = tcgen05.smem_descriptor %a, 1 of 16 : !tirx.tile<64x64xf16, shared, #k128> -> i64
  %2 = tcgen05.smem_descriptor %a, 2 of 16 : !tirx.tile<64x64xf16, shared, #k128> -> i64
  %3 = tcgen05.smem_descriptor %a, 3 of 16 : !tirx.tile<64x64xf16, shared, #k128> -> i64
  %4 = arith.addi %0, %1 : i64
  %5 = arith.addi %2, %3 : i64
  tirx.return
}

// K-major, 64-byte swizzle (mode 4), two atoms along K of 4096 bytes: 0x8000402000010000. Steps 0, 2, 256, 258.

#k64 = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[(64, 2, 32) : (32, 2048, 1)]>>

// CHECK-LABEL: tirx.kernel @k_major_64b
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant -9223301530671579136 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 2 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    %10 = arith.constant 256 : i64
// CHECK-NEXT:    %11 = arith.addi %7, %10 : i64
// CHECK-NEXT:    %12 = arith.constant 258 : i64
// CHECK-NEXT:    %13 = arith.addi %7, %12 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @k_major_64b() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #k64>
  %0 = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<64x64xf16, shared, #k64> -> i64
  %1 = tcgen05.smem_descriptor %a, 1 of 16 : !tirx.tile<64x64xf16, shared, #k64> -> i64
  %2 = tcgen05.smem_descriptor %a, 2 of 16 : !tirx.tile<64x64xf16, shared, #k64> -> i64
  %3 = tcgen05.smem_descriptor %a, 3 of 16 : !tirx.tile<64x64xf16, shared, #k64> -> i64
  tirx.return
}

// K-major, 32-byte swizzle (mode 6), an atom of 2048 bytes per step: 0xC000401000010000.

#k32 = #tirx.compose_layout<#tirx.swizzle_layout<3, 1, 3>, #tirx.tile_layout<S[(64, 4, 16) : (16, 1024, 1)]>>

// CHECK-LABEL: tirx.kernel @k_major_32b
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant -4611615580963667968 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 384 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @k_major_32b() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #k32>
  %3 = tcgen05.smem_descriptor %a, 3 of 16 : !tirx.tile<64x64xf16, shared, #k32> -> i64
  tirx.return
}

// K-major without swizzle: LBO is the 1024 bytes from one 16-byte column to the next, SBO the 128 bytes from one group
// of 8 rows to the next. 0x400800400000, and 2 LBO from step to step.

#none = #tirx.tile_layout<S[(8, 8, 8, 8) : (64, 8, 512, 1)]>

// CHECK-LABEL: tirx.kernel @k_major_none
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant 70403108110336 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 128 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @k_major_none() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #none>
  %1 = tcgen05.smem_descriptor %a, 1 of 16 : !tirx.tile<64x64xf16, shared, #none> -> i64
  tirx.return
}

// MN-major, 128-byte swizzle: LBO is the 8192 bytes from one chunk of 64 elements along MN to the next, SBO the 1024
// bytes from one group of 8 along K to the next. 0x4000404002000000, and 2 SBO from step to step.

#mn128 = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(2, 64, 64) : (4096, 1, 64)]>>

// CHECK-LABEL: tirx.kernel @mn_major_128b
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant 4611756662083026944 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 128 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @mn_major_128b() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<128x64xf16, shared, #mn128>
  %1 = tcgen05.smem_descriptor %a, 1 of 16 : !tirx.tile<128x64xf16, shared, #mn128> -> i64
  tirx.return
}

// MN-major without swizzle trades them: LBO is the 128 bytes between groups of 8 along K, SBO the 1024 bytes between
// 16-byte chunks along MN. 0x404000080000, and 2 LBO from step to step.

#mn_none = #tirx.tile_layout<S[(8, 8, 8, 8) : (512, 1, 64, 8)]>

// CHECK-LABEL: tirx.kernel @mn_major_none
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant 70643622608896 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 16 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @mn_major_none() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #mn_none>
  %1 = tcgen05.smem_descriptor %a, 1 of 16 : !tirx.tile<64x64xf16, shared, #mn_none> -> i64
  tirx.return
}

// MN-major tf32 has 32-byte atoms (mode 1) and groups of 4 along K: LBO 2048, SBO 512 bytes, 0x2000402000800000, and 2
// SBO for the 8 elements of a step.

#tf32 = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 2>, #tirx.tile_layout<S[(2, 32, 16) : (512, 1, 32)]>>

// CHECK-LABEL: tirx.kernel @mn_major_tf32
// CHECK:         %a = tirx.alloc
// CHECK-NEXT:    %0 = tirx.address %a
// CHECK-NEXT:    %1 = arith.constant 4 : i32
// CHECK-NEXT:    %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:    %3 = arith.constant 16383 : i32
// CHECK-NEXT:    %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:    %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:    %6 = arith.constant 2305913515405213696 : i64
// CHECK-NEXT:    %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    %8 = arith.constant 64 : i64
// CHECK-NEXT:    %9 = arith.addi %7, %8 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @mn_major_tf32() target("sm_100a") threads(128) {
  %a = tirx.alloc : !tirx.tile<64x16xtf32, shared, #tf32>
  %1 = tcgen05.smem_descriptor %a, 1 of 8 : !tirx.tile<64x16xtf32, shared, #tf32> -> i64
  tirx.return
}

// Instruction descriptors ("Instruction descriptor"): 0x08200010, 0x08400490, 0x04100910, 0x082004A0, MN-major and
// negated operands (bits 13 to 16) 0x0411E010, and with a shift of up to 16 columns 0x82100010.

// CHECK-LABEL: tirx.kernel @instruction_descriptors
// CHECK:         %f16 = arith.constant 136314896 : i32
// CHECK-NEXT:    %bf16 = arith.constant 138413200 : i32
// CHECK-NEXT:    %tf32 = arith.constant 68159760 : i32
// CHECK-NEXT:    %i8 = arith.constant 136316064 : i32
// CHECK-NEXT:    %mn = arith.constant 68280336 : i32
// CHECK-NEXT:    %ws = arith.constant -2112880624 : i32
// CHECK-NEXT:    tirx.return
tirx.kernel @instruction_descriptors() target("sm_100a") threads(128) {
  %f16 = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 128, n = 128> : i32
  %bf16 = tcgen05.instruction_descriptor <kind = "f16", a = "bf16", b = "bf16", d = "f32", m = 128, n = 256> : i32
  %tf32 = tcgen05.instruction_descriptor <kind = "tf32", a = "tf32", b = "tf32", d = "f32", m = 64, n = 64> : i32
  %i8 = tcgen05.instruction_descriptor <kind = "i8", a = "s8", b = "s8", d = "s32", m = 128, n = 128> : i32
  %mn = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 64, n = 64, a_major = "MN", b_major = "MN", negate_a = true, negate_b = true> : i32
  %ws = tcgen05.instruction_descriptor <kind = "f16", a = "f16", b = "f16", d = "f32", m = 32, n = 64, max_shift = 16> : i32
  tirx.return
}

// Zero-column masks of the PTX ISA's examples 2 and 4.

// CHECK-LABEL: tirx.kernel @zero_column_masks
// CHECK:         %0 = arith.constant 847173709201408 : i64
// CHECK-NEXT:    %1 = arith.constant 144962374686867712 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @zero_column_masks() target("sm_100a") threads(128) {
  %0 = tcgen05.zero_column_mask <0x0003028000000000> : i64
  %1 = tcgen05.zero_column_mask <0x0203028301020100> : i64
  tirx.return
}

// A descriptor inside a branch does not borrow the address of another block.

// CHECK-LABEL: tirx.kernel @blocks
// CHECK:         %p = arith.cmpi eq, %n, %n : i32
// CHECK-NEXT:    %a = tirx.alloc
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      %0 = tirx.address %a
// CHECK-NEXT:      %1 = arith.constant 4 : i32
// CHECK-NEXT:      %2 = arith.shrui %0, %1 : i32
// CHECK-NEXT:      %3 = arith.constant 16383 : i32
// CHECK-NEXT:      %4 = arith.andi %2, %3 : i32
// CHECK-NEXT:      %5 = arith.extui %4 : i32 to i64
// CHECK-NEXT:      %6 = arith.constant 4611756662049538048 : i64
// CHECK-NEXT:      %7 = arith.ori %5, %6 : i64
// CHECK-NEXT:    }
// CHECK-NEXT:    %8 = tirx.address %a
// CHECK-NEXT:    %9 = arith.constant 4 : i32
// CHECK-NEXT:    %10 = arith.shrui %8, %9 : i32
// CHECK-NEXT:    %11 = arith.constant 16383 : i32
// CHECK-NEXT:    %12 = arith.andi %10, %11 : i32
// CHECK-NEXT:    %13 = arith.extui %12 : i32 to i64
// CHECK-NEXT:    %14 = arith.constant 4611756662049538048 : i64
// CHECK-NEXT:    %15 = arith.ori %13, %14 : i64
// CHECK-NEXT:    tirx.return
tirx.kernel @blocks(%n: i32) target("sm_100a") threads(128) {
  %p = arith.cmpi eq, %n, %n : i32
  %a = tirx.alloc : !tirx.tile<64x64xf16, shared, #k128>
  scf.if %p {
    %0 = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<64x64xf16, shared, #k128> -> i64
  }
  %1 = tcgen05.smem_descriptor %a, 0 of 16 : !tirx.tile<64x64xf16, shared, #k128> -> i64
  tirx.return
}
