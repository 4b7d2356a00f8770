// RUN: tirx-opt --tirx-specialize-warps
!s = !tirx.tile<128x64xf16, shared>
!t = !tirx.tile<128x1xf32, tensor, #tirx.tile_layout<S[128 : 1@TLane]>>
tirx.kernel @k(%a: memref<128x4096xf16>, %tm: index) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %sa = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %acc = tirx.ring slots(1) stations(sum) : !tirx.ring<!t>
  tirx.tiles @tile %i, %j = order(group 8) of(%tm, %tm) {
    %acc_1 = tirx.acquire %acc at(sum)
    tirx.for @k %k = 0 to 8 skew(2) {
      tirx.at(0) {
        %ga = tirx.view %a[%i, %k] : memref<128x4096xf16> -> !tirx.tile<128x64xf16, global>
        %sa_1 = tirx.acquire %sa at(fill)
        tirx.async_copy %ga, %sa_1 engine(tma) : !tirx.tile<128x64xf16, global>, !s
        tirx.release %sa at(fill) after(tma)
      }
      tirx.at(2) {
        %more = arith.cmpi ne, %k, %c0 : index
        %sa_1 = tirx.acquire %sa at(use)
        %b = tirx.subview %sa_1[0, 0] : !s -> !tirx.tile<1x64xf16, shared>
        tirx.async_mma %sa_1, %b, %acc_1 accumulate(%more) : !s, !tirx.tile<1x64xf16, shared>, !t
        tirx.release %sa at(use) after(tcgen05)
      }
    }
    tirx.release %acc at(sum)
  }
  tirx.return
}
