// RUN: tirx-opt %s --tirx-set-target="target=sm_90b" --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown target 'sm_90b'; did you mean 'sm_90'? Supported targets: sm_70, }}
tirx.kernel @k() target("sm_90") threads(32) {
  tirx.return
}

// -----

// No kernel, nothing to say.
func.func @host() {
  func.return
}
