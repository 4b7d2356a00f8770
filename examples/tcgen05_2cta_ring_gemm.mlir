// D = A * B^T by pairs of blocks, with warps of their own for copies, products and results: A is Mx256, B Nx256, f16.
// Each block loads half of the rows of A and of B, by TMA. One thread of the first block multiplies for both, and two
// accumulators in tensor memory let the next tile begin while the last one is stored.
//
//   tirx-opt --lower-to-ptx tcgen05_2cta_ring_gemm.mlir

!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!b = !tirx.tile<64x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>>
!acc = !tirx.tile<128x128xf32, tensor, #tirx.tile_layout<S[(128, 128) : (1@TLane, 1@TCol)]>>
!r = !tirx.tile<128x128xf32, register>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!gd = !tirx.tile<128x128xf32, global>
tirx.kernel @tcgen05_2cta_ring_gemm(%a: memref<?x256xf16>, %b: memref<?x256xf16>, %d: memref<?x256xf32>, %tm: index, %tn: index,
    %nk: index) target("sm_100a") cluster(2) per_cta threads(256) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %ab = tirx.ring slots(3) stations(fill, use) across(pair) : !tirx.ring<a: !a, b: !b>
  %acc = tirx.ring slots(2) stations(sum, read) across(pair) : !tirx.ring<!acc>
  tirx.roles {
    tirx.role @epilogue warps(4) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        %rank = tirx.cta_rank
        %half = arith.muli %rank, %c128 : index
        %m0 = arith.muli %i, %c256 : index
        %m = arith.addi %m0, %half : index
        %n = arith.muli %j, %c128 : index
        %t = tirx.acquire %acc at(read)
        %loaded = tirx.load %t : !acc -> !r
        tirx.release %acc at(read)
        %zeros = tirx.zero : !r
        %none = arith.cmpi eq, %nk, %c0 : index
        %sum = arith.select %none, %zeros, %loaded : !r
        %gd = tirx.view %d[%m, %n] : memref<?x256xf32> -> !gd
        tirx.store %sum, %gd : !r, !gd
      }
    }
    tirx.role @load warps(1) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        %rank = tirx.cta_rank
        %half = arith.muli %rank, %c128 : index
        %m0 = arith.muli %i, %c256 : index
        %m = arith.addi %m0, %half : index
        %n0 = arith.muli %j, %c128 : index
        %hb = arith.muli %rank, %c64 : index
        %n = arith.addi %n0, %hb : index
        tirx.for @k %k = 0 to %nk {
          %kk = arith.muli %k, %c64 : index
          %ga = tirx.view %a[%m, %kk] : memref<?x256xf16> -> !ga
          %gb = tirx.view %b[%n, %kk] : memref<?x256xf16> -> !gb
          %sa, %sb = tirx.acquire %ab at(fill)
          tirx.async_copy %ga, %sa engine(tma) : !ga, !a
          tirx.async_copy %gb, %sb engine(tma) : !gb, !b
          tirx.release %ab at(fill) after(tma)
        }
      }
    }
    tirx.role @mma warps(3) {
      tirx.tiles @tile %i, %j = order(row) of (%tm, %tn) {
        %t = tirx.acquire %acc at(sum)
        tirx.for @k %k = 0 to %nk {
          %sa, %sb = tirx.acquire %ab at(use)
          %more = arith.cmpi ne, %k, %c0 : index
          tirx.async_mma %sa, %sb, %t pair accumulate(%more) : !a, !b, !acc
          tirx.release %ab at(use) after(tcgen05)
        }
        tirx.release %acc at(sum) after(tcgen05)
      }
    }
  }
  tirx.return
}
