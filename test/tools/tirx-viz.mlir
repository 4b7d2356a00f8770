// RUN: rm -rf %t
// RUN: mkdir %t

// Every tile of a program, with its line: those that the program lays out, and those that a pass does.
// RUN: tirx-viz --list %s | filecheck %s --check-prefix=LIST
// LIST:      {{.*}}tirx-viz.mlir:{{[0-9]+:[0-9]+}}: %g: 8x64xf16, global: S[(8, 64) : (64, 1)]
// LIST-NEXT: {{.*}}tirx-viz.mlir:{{[0-9]+:[0-9]+}}: %s: 8x64xf16, shared: ComposeLayout(Swizzle(3, 3, 3), S[(8, 64) : (64, 1)])
// LIST-NEXT: {{.*}}tirx-viz.mlir:{{[0-9]+:[0-9]+}}: tirx.load: 8x64xf16, register: S[

// One page with all of them, and nothing else is written.
// RUN: tirx-viz %s -o %t/page.html
// RUN: ls %t | filecheck %s --check-prefix=FILES
// RUN: filecheck %s --check-prefix=PAGE --input-file %t/page.html
// FILES:     page.html
// FILES-NOT: {{.}}
// PAGE: "name":"%s: 8x64xf16, shared"

// RUN: not tirx-viz %s -o %t/page.svg 2>&1 | filecheck %s --check-prefix=MANY
// MANY: error: --output: expected one tile for .svg, found 3; .html shows many

// RUN: not tirx-viz "S[(8, 2) : (4@lane, 1)]" -o %t/wrong.html 2>&1 | filecheck %s --check-prefix=AXIS
// AXIS:      <layout>:1:15: error: unknown axis 'lane'; did you mean 'laneid'?
// AXIS-NEXT: S[(8, 2) : (4@lane, 1)]
// AXIS-NEXT: {{^}}              ^

// RUN: not tirx-viz "S[(8, 2) : (4@laneid, 1)]" --shape 8,3 -o %t/wrong.html 2>&1 | filecheck %s --check-prefix=SHAPE
// SHAPE: error: the layout has 16 elements, shape (8, 3) has 24

// RUN: not tirx-viz %t/none.mlir -o %t/wrong.html 2>&1 | filecheck %s --check-prefix=NONE
// NONE: error: cannot read '{{.*}}none.mlir': No such file or directory

// Thread-value layouts of CuTe, as a user and as CUTLASS writes them.
// RUN: tirx-viz --list --thread-value "((4,8),(2,2)):((32,1),(16,8))" "ArithTuple(_0,_0) o ((_4,_8),(_2,_2)):((_2@1,_1@0),(_1@1,_8@0))" --shape 16,8 | filecheck %s --check-prefix=VALUE
// VALUE:      S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]{{$}}
// VALUE-NEXT: S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]{{$}}

// RUN: not tirx-viz --thread-value "(4,2):(2,1)" -o %t/wrong.html 2>&1 | filecheck %s --check-prefix=TILE
// TILE: error: --thread-value: expected the shape of the tile, as --shape 16,8, found none
// RUN: not tirx-viz %s --thread-value --shape 2,4 -o %t/wrong.html 2>&1 | filecheck %s --check-prefix=TEXTS
// TEXTS: error: --thread-value: expected thread-value layouts on the command line, found none
// RUN: not tirx-viz --thread-value "(4,2):(2@2,1)" --shape 2,4 -o %t/wrong.html 2>&1 | filecheck %s --check-prefix=BASIS
// BASIS: error: expected a dimension below 2, found '2@2'

// RUN: ls %t | filecheck %s --check-prefix=FILES

tirx.kernel @k(%x: memref<8x64xf16>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<8x64xf16> -> !tirx.tile<8x64xf16, global>
  %s = tirx.alloc : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>>
  %r = tirx.alloc : !tirx.tile<8x64xf16, register>
  tirx.copy %g, %s : !tirx.tile<8x64xf16, global>, !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>>
  tirx.copy %s, %r : !tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(8, 64) : (64, 1)]>>>, !tirx.tile<8x64xf16, register>
  tirx.copy %r, %g : !tirx.tile<8x64xf16, register>, !tirx.tile<8x64xf16, global>
  tirx.return
}
