// RUN: tirx-opt %s -t ptx | filecheck %s
// RUN: tirx-opt %s | tirx-opt | filecheck %s --check-prefix=IR

// Shared memory that the launch sets aside has one name in a module, aligned for the entry that asks for most. How much
// a launch sets aside stands before the entry.

// CHECK:      .target sm_80
// CHECK-NEXT: .address_size 64
// CHECK-NEXT: .extern .shared .align 1024 .b8 dynamic_shared[];

// CHECK:      // Launch with 65536 bytes of dynamic shared memory.
// CHECK-NEXT: .visible .entry first()
// CHECK-NOT:  .shared .align {{.*}} dynamic_shared
// CHECK:      .shared .align 8 .b8 bar[8];
// CHECK:      mov.b32 %r0, dynamic_shared;

// CHECK:      // Launch with 1024 bytes of dynamic shared memory.
// CHECK-NEXT: .visible .entry second()
// CHECK-NEXT: .reqntid 32
// CHECK-NEXT: .maxnreg 40

// CHECK-NOT:  // Launch
// CHECK:      .visible .entry third()

// IR: ptx.entry @first() target("sm_80") dynamic_shared(65536) {
// IR: %{{.*}} = ptx.shared_alloc @dynamic_shared bytes 65536 align 128 dynamic
// IR: ptx.entry @second() target("sm_80") reqntid(32) dynamic_shared(1024) maxnreg(40) attributes {note} {

ptx.entry @first() target("sm_80") dynamic_shared(65536) {
  %s = ptx.shared_alloc @dynamic_shared bytes 65536 align 128 dynamic
  %b = ptx.shared_alloc @bar bytes 8 align 8
  %c = ptx.constant 1 : i32
  ptx.st shared %s, %c : i32, i32
  ptx.mbarrier.init %b, 1
  ptx.ret
}

ptx.entry @second() target("sm_80") reqntid(32) dynamic_shared(1024) maxnreg(40) attributes {note} {
  %s = ptx.shared_alloc @dynamic_shared bytes 1024 align 1024 dynamic
  %c = ptx.constant 1 : i32
  ptx.st shared %s, %c : i32, i32
  ptx.ret
}

ptx.entry @third() target("sm_80") {
  ptx.ret
}
