// D = A * B^T in f16 with f32 accumulation on Hopper, with copies and products that overlap. A is Mx256 and B Nx256, both
// K-major. Two warpgroups compute tiles of 128x256, one after the other: a block goes through every `grid`-th tile.
//
// One thread fills a ring of four slots by TMA, two iterations ahead of the products. One product stays pending while the
// next one starts. No phase, byte count or fence is written: they follow from the ring and who uses it.
//
//   tirx-opt --lower-to-ptx wgmma_ring_gemm.mlir

!a = !tirx.tile<128x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(128, 64) : (64, 1)]>>>
!b = !tirx.tile<256x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[(256, 64) : (64, 1)]>>>
!acc = !tirx.tile<128x256xf32, register, #tirx.tile_layout<S[(2, 4, 2, 8, 32, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>>
!ga = !tirx.tile<128x64xf16, global>
!gb = !tirx.tile<256x64xf16, global>
!gd = !tirx.tile<128x256xf32, global>

tirx.kernel @wgmma_ring_gemm(%a: memref<?x256xf16>, %b: memref<?x256xf16>, %d: memref<?x512xf32>, %rows: index,
    %columns: index, %steps: index) target("sm_90a") threads(256) {
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index

  %ab = tirx.ring slots(4) stations(fill, use) : !tirx.ring<a: !a, b: !b>
  tirx.tiles @tile %i, %j = order(group 8) of (%rows, %columns) {
    %m = arith.muli %i, %c128 : index
    %n = arith.muli %j, %c256 : index
    %zeros = tirx.zero : !acc
    %sums = tirx.for @k %step = 0 to %steps skew(2) iter(%acc : !tirx.pending<!acc> = %zeros) {
      tirx.at(0) {
        %k = arith.muli %step, %c64 : index
        %ga = tirx.view %a[%m, %k] : memref<?x256xf16> -> !ga
        %gb = tirx.view %b[%n, %k] : memref<?x256xf16> -> !gb
        %sa, %sb = tirx.acquire %ab at(fill)
        tirx.async_copy %ga, %sa engine(tma) : !ga, !a
        tirx.async_copy %gb, %sb engine(tma) : !gb, !b
        tirx.release %ab at(fill) after(tma)
      }
      %next = tirx.at(2) {
        %sa, %sb = tirx.acquire %ab at(use)
        %product = tirx.async_mma %sa, %sb, %acc : !a, !b, !tirx.pending<!acc> -> !tirx.pending<!acc>
        tirx.release %ab at(use) after(wgmma)
        tirx.await wgmma pending(1)
        tirx.yield %product
      }
      tirx.yield %next
    }
    %sum = tirx.await %sums : !tirx.pending<!acc>
    %gd = tirx.view %d[%m, %n] : memref<?x512xf32> -> !gd
    tirx.store %sum, %gd : !acc, !gd
  }
  tirx.return
}
