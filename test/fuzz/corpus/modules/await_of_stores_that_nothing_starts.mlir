// RUN: tirx-opt--lower-to-ptx="target=sm_90a"
tirx.kernel@wait()threads(32){tirx.await store pending(0)tirx.return}