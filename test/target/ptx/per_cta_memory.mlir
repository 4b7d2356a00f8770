// RUN: tirx-opt %s -t ptx | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s --check-prefix=IR

// CHECK:      .version 9.4
// CHECK:      .visible .entry part()
// CHECK-NEXT: .minperctamemory 4096
// CHECK:      mov.u64 %rd0, %perctamemoryoffset;
// CHECK-NEXT: mov.u32 %r0, %perctamemorysize;
// IR: ptx.entry @part() target("sm_90") per_cta_memory(4096) {
// IR: %{{.*}}, %{{.*}} = ptx.per_cta_memory
ptx.entry @part() target("sm_90") per_cta_memory(4096) {
  %offset, %size = ptx.per_cta_memory
  ptx.ret
}
