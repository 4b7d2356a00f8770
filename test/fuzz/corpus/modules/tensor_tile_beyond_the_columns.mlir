// RUN: tirx-opt--lower-to-ptx
tirx.kernel@shared()target("sm_100a")threads(128){tirx.alloc:!tirx.tile<256x1024xf16,tensor>tirx.return}