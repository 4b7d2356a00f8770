// RUN: tirx-opt --lower-to-ptx="pipeline=off"
tirx.kernel @no_roles(%n: index) target("sm_100a") cluster(2) per_cta grid(4) threads(64) {
  %clc = tirx.ring slots(65535) stations(ask, read) across(cluster) : !tirx.ring<tile_id>
  tirx.tiles @tile %i, %j = hardware(%clc, read) {
    tirx.acquire %clc at(ask)
    tirx.async_next %clc engine(clc)
    tirx.release %clc at(ask) after(tma)
    "test.op"(%i, %j) : (index, index) -> ()
  }
  tirx.return
}
