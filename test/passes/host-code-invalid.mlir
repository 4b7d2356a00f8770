// RUN: tirx-opt --lower-to-ptx --split-input-file --verify-diagnostics %s

// Names of entries are one namespace in PTX, whichever symbol tables they are from.
tirx.kernel @twice() target("sm_80") threads(32) {
  tirx.return
}
builtin.module @inside {
  // expected-error@+1 {{expected names of entries to differ in all of the module, found @twice again}}
  tirx.kernel @twice() target("sm_80") threads(32) {
    tirx.return
  }
}

// -----

func.func @host() {
  // expected-error@+1 {{expected 'tirx.kernel' in a symbol table, such as builtin.module or gpu.module, found it in 'func.func'}}
  tirx.kernel @within() target("sm_80") threads(32) {
    tirx.return
  }
  func.return
}
