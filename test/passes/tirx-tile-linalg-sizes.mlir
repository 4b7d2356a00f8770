// RUN: tirx-opt --tirx-tile-linalg="marked=true sizes=16,6144,4096" %s | filecheck %s --check-prefix FEW
// RUN: tirx-opt --tirx-tile-linalg="marked=true sizes=4096,6144,4096" %s | filecheck %s --check-prefix MANY
// RUN: tirx-opt --tirx-tile-linalg="marked=true variants=2" %s | filecheck %s --check-prefix VARIANTS

// Sizes that only a launch knows: one kernel, the best one for the sizes that are given, or two variants.

// FEW-NOT:  tirx.variants
// FEW:      tirx.kernel @product(%a: memref<?x4096xf16>{{.*}}) target("sm_90a") grid(96, ceildiv(size(2, 0), 16)) threads(128) attributes {tirx.requires
// FEW-SAME:   = {{\[\[}}#ptx.formula<size(0, 0)>, "equal", #ptx.formula<size(2, 0)>, "expected as many elements along dimension 0 of 'a' as along dimension 0 of 'd', {bound}, found {value}"]]} {
// FEW:      !tirx.tile<64x16xf16, accumulator>
// FEW-NOT:  tirx.kernel

// MANY:     tirx.kernel @product(%a: memref<?x4096xf16>{{.*}}) target("sm_90a") grid(24, ceildiv(size(2, 0), 128)) threads(256) attributes {tirx.requires
// MANY:     !tirx.tile<128x256xf16, accumulator>
// MANY-NOT: tirx.kernel

// VARIANTS: tirx.kernel @product_{{.*}} threads({{[0-9]+}}) attributes {tirx.requires
// VARIANTS: tirx.kernel @product({{.*}}, tirx.variants = {{\[\[}}"product", #ptx.formula<{{.*}}>], ["product_{{.*}}", #ptx.formula<

func.func @product(%a: memref<?x4096xf16>, %b: memref<4096x6144xf16>, %d: memref<?x6144xf16>)
    attributes {tirx.kernel = "sm_90a"} {
  %zero = arith.constant 0.0 : f16
  linalg.fill ins(%zero : f16) outs(%d : memref<?x6144xf16>)
  linalg.matmul
    ins(%a, %b : memref<?x4096xf16>, memref<4096x6144xf16>) outs(%d : memref<?x6144xf16>)
  func.return
}
