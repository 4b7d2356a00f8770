// RUN: tirx-opt --tirx-extract-kernels --verify-diagnostics %s

// expected-error@+1 {{expected kernels that are lowered to PTX, found @early; run the pipeline first}}
tirx.kernel @early() target("sm_80") threads(32) {
  tirx.return
}
