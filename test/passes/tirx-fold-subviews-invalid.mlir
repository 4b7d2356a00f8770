// RUN: tirx-opt %s --split-input-file --verify-diagnostics --tirx-fold-subviews --tirx-mem2reg --tirx-pick-layouts --tirx-check-layouts

#boxes = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
#box = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>

// Rows of a swizzled tile repeat every eight.
tirx.kernel @torn(%n: index) target("sm_80") threads(32) {
  %c4 = arith.constant 4 : index
  %t = tirx.alloc : !tirx.tile<64x64xf16, shared, #boxes>
  %m = arith.muli %n, %c4 : index
  // expected-error@+1 {{Swizzle(3, 3, 3) tears the box that begins at (4, 0): its elements do not all move by one displacement; begins at multiples of (8, 0) work}}
  %p = tirx.subview %t[%m, 0] : !tirx.tile<64x64xf16, shared, #boxes> -> !tirx.tile<8x64xf16, shared, #box>
  tirx.return
}

tirx.kernel @outside() target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %t = tirx.alloc : !tirx.tile<64x64xf16, shared>
  scf.for %i = %c0 to %c4 step %c1 {
    %m = arith.muli %i, %c16 : index
    // expected-error@+1 {{expected an offset from 0 to 32 in dimension 0 of the part, found 48}}
    %p = tirx.subview %t[%m, 0] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x64xf16, shared>
  }
  tirx.return
}

// -----

tirx.kernel @one_behind() target("sm_80") threads(32) {
  %c33 = arith.constant 33 : index
  %t = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-error@+1 {{expected an offset from 0 to 32 in dimension 0 of the part, found 33}}
  %p = tirx.subview %t[%c33, 0] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x64xf16, shared>
  tirx.return
}

// -----

tirx.kernel @constant() target("sm_80") threads(32) {
  %c-1 = arith.constant -1 : index
  %t = tirx.alloc : !tirx.tile<64x64xf16, shared>
  // expected-error@+1 {{expected an offset from 0 to 32 in dimension 0 of the part, found -1}}
  %p = tirx.subview %t[%c-1, 0] : !tirx.tile<64x64xf16, shared> -> !tirx.tile<32x64xf16, shared>
  tirx.return
}

// -----

tirx.kernel @registers(%n: index) target("sm_80") threads(32) {
  %t = tirx.alloc : !tirx.tile<64x64xf16, register>
  // expected-error@+1 {{expected a register tile that was written before, found one without contents}}
  %p = tirx.subview %t[%n, 0] : !tirx.tile<64x64xf16, register> -> !tirx.tile<32x64xf16, register>
  tirx.return
}

// -----

tirx.kernel @lanes(%n: index) target("sm_100a") threads(128) {
  %c32 = arith.constant 32 : index
  %t = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  %m = arith.muli %n, %c32 : index
  // expected-error@+1 {{expected computed offsets along the columns of tensor memory, found dimension 0 along TLane}}
  %p = tirx.subview %t[%m, 0] : !tirx.tile<128x64xf32, tensor> -> !tirx.tile<32x64xf32, tensor>
  tirx.return
}

// -----

tirx.kernel @reshaped(%a: memref<64x64xf16>, %n: index) target("sm_80") threads(32) {
  %g = tirx.view %a[%n, %n] : memref<64x64xf16> -> !tirx.tile<32x32xf16, global>
  %r = tirx.reshape %g : !tirx.tile<32x32xf16, global> -> !tirx.tile<1024xf16, global>
  // expected-error@+1 {{expected a part of a view at computed offsets, found one of a reshaped tile}}
  %p = tirx.subview %r[%n] : !tirx.tile<1024xf16, global> -> !tirx.tile<32xf16, global>
  tirx.return
}

// -----

tirx.kernel @steps(%a: memref<64x64xf32>, %n: index) threads(32) {
  // expected-error@+1 {{expected offsets and sizes of memref<64x64xf32>, and constant steps, found others}}
  %s = memref.subview %a[0, 0] [8, 8] [%n, 1] : memref<64x64xf32> to memref<8x8xf32, strided<[?, 1]>>
  tirx.return
}

// -----

tirx.kernel @steps_beyond(%a: memref<64x64xf32>) threads(32) {
  // expected-error@+1 {{expected a part within 64 elements along dimension 0 of memref<64x64xf32>}}
  %s = memref.subview %a[1, 0] [8, 8] [9, 1] : memref<64x64xf32> to memref<8x8xf32, strided<[576, 1], offset: 64>>
  tirx.return
}

// -----

tirx.kernel @others(%a: memref<64x64xf32>) threads(32) {
  %s = memref.subview %a[0, 0] [8, 8] [1, 1] : memref<64x64xf32> to memref<8x8xf32, strided<[64, 1]>>
  // expected-error@+1 {{expected 'tirx.view', 'memref.load', 'memref.store', 'memref.dim', 'memref.subview' or a flag on a part of an argument, found 'test.op'}}
  "test.op"(%s) : (memref<8x8xf32, strided<[64, 1]>>) -> ()
  tirx.return
}

// -----

tirx.kernel @before(%a: memref<64x64xf32>) threads(32) {
  // expected-error@+1 {{expected a part within 64 elements along dimension 0 of memref<64x64xf32>}}
  %s = memref.subview %a[-1, 0] [8, 8] [1, 1] : memref<64x64xf32> to memref<8x8xf32, strided<[64, 1], offset: -64>>
  tirx.return
}

// -----

tirx.kernel @beyond(%a: memref<64x64xf32>) threads(32) {
  // expected-error@+1 {{expected a part within 64 elements along dimension 1 of memref<64x64xf32>}}
  %s = memref.subview %a[0, 60] [8, 8] [1, 1] : memref<64x64xf32> to memref<8x8xf32, strided<[64, 1], offset: 60>>
  tirx.return
}

// -----

!p = memref<8x8xf32, strided<[64, 1], offset: ?>>
tirx.kernel @before(%a: memref<64x64xf32>, %n: index, %m: index) threads(32) {
  %s = memref.subview %a[%n, 8] [8, 8] [1, 1] : memref<64x64xf32> to !p
  // expected-error@+1 {{expected a clipped view that begins inside of the part along dimension 0, found an index}}
  %v = tirx.view %s[%m, 0] clipped : !p -> !tirx.tile<4x8xf32, global>
  tirx.return
}

// -----

!p = memref<8x8xf32, strided<[64, 1], offset: ?>>
tirx.kernel @gathered(%a: memref<64x64xf32>, %n: index, %i: !tirx.tile<4xi32, register>) threads(32) {
  %s = memref.subview %a[%n, 8] [8, 8] [1, 1] : memref<64x64xf32> to !p
  // expected-error@+1 {{expected index tiles along dimensions of which the part is all, found 0}}
  %v = tirx.view %s[[%i], 0] clipped : !p, !tirx.tile<4xi32, register> -> !tirx.tile<4x8xf32, global>
  tirx.return
}

// -----

tirx.kernel @other_type(%a: memref<64x64xf32>) threads(32) {
  // expected-error@+1 {{expected a part of the rank, the strides times steps and the elements of memref<64x64xf32>, found memref<4x4xf16, strided<[64, 1]>>}}
  %s = memref.subview %a[0, 0] [4, 8] [1, 1] : memref<64x64xf32> to memref<4x4xf16, strided<[64, 1]>>
  tirx.return
}

// -----

!p = memref<14x8xf32, strided<[128, 1]>>
tirx.kernel @past_the_part(%a: memref<64x64xf32>) threads(32) {
  %s = memref.subview %a[0, 0] [14, 8] [2, 1] : memref<64x64xf32> to !p
  // expected-error@+1 {{expected a view within 14 elements along dimension 0 of the part, found one from 3 to 14}}
  %v = tirx.view %s[3, 0] : !p -> !tirx.tile<12x8xf32, global>
  tirx.return
}
