// RUN: tirx-opt %s --split-input-file --verify-diagnostics

// Rings, acquire and release.

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected tiles in shared or tensor memory, integers or tile_id in a slot, found !tirx.tile<8x64xf16, register>}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<!tirx.tile<8x64xf16, register>>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected tiles in shared or tensor memory, integers or tile_id in a slot, found f32}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<f32>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected only tiles, only integers or one tile_id in a slot, found a: !tirx.tile<8x64xf16, shared>, n: index}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<a: !tirx.tile<8x64xf16, shared>, n: index>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected only tiles, only integers or one tile_id in a slot, found}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<tile_id, tile_id>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected different names for what a slot holds, found 'a' twice}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<a: !tirx.tile<8x64xf16, shared>, a: !tirx.tile<8x64xf16, shared>>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected views of the same bytes of one memory, found s: }}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<s: !tirx.tile<8x64xf16, shared> | p: !tirx.tile<128x64xf32, tensor>>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected views of the same bytes of one memory, found n: index | m: index}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<n: index | m: index>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected slots of less than 1048576 bytes, found 1048576}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<!tirx.tile<1024x512xf16, shared>>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{Expected ':'}}
  %r = tirx.ring slots(1) stations(a) : !tirx.ring<a>
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected a ring, such as !tirx.ring<>, found i32}}
  %r = tirx.ring slots(1) stations(a) : i32
}

// -----

// expected-error@+1 {{expected a register tile that is pending, found !tirx.tile<8x64xf16, shared>}}
"test.op"() : () -> !tirx.pending<!tirx.tile<8x64xf16, shared>>

// -----

tirx.kernel @k(%x: i32, %i: index) threads(32) {
  // expected-error@+1 {{expected at least 1 slot, found 0}}
  %r = tirx.ring slots(0) stations(a) : !tirx.ring<>
  // expected-error@+1 {{expected at least 1 station, found none}}
  %r2 = tirx.ring slots(1) stations() : !tirx.ring<>
  // expected-error@+1 {{expected stations of different names, found 'a' twice}}
  %r3 = tirx.ring slots(1) stations(a, b, a) : !tirx.ring<>
  // expected-error@+1 {{expected a station named otherwise, found 'self', which stands for the station of a party}}
  %r4 = tirx.ring slots(1) stations(a, self) : !tirx.ring<>
  // expected-error@+1 {{expected 1 slot with carries, whose uses read what the use before left, found 2}}
  %r5 = tirx.ring slots(2) stations(a) carries : !tirx.ring<>
  // expected-error@+1 {{expected a kernel with a cluster for across(cluster), found one without}}
  %r6 = tirx.ring slots(2) stations(a) across(cluster) : !tirx.ring<>
  %r7 = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  // expected-error@+1 {{expected a station of the ring (fill, use), found 'load'}}
  tirx.acquire %r7 at(load)
  // expected-error@+1 {{expected a station of the ring (fill, use), found 'load'}}
  tirx.release %r7 at(load)
  %r8 = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  // expected-error@+1 {{expected at(self) only for a ring without tiles, found !tirx.ring<!tirx.tile<8x64xf16, shared>>}}
  %t = tirx.acquire %r8 at(self)
  // expected-error@+1 {{expected at(self) only for a ring without tiles, found !tirx.ring<!tirx.tile<8x64xf16, shared>>}}
  tirx.release %r8 at(self)
  %early = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  %t1 = tirx.acquire %early at(use)
  // expected-error@+1 {{expected 'early' with after(tcgen05) only, found it without}}
  tirx.release %early at(use) after(wgmma) early
  %r9 = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  // expected-error@+1 {{expected a 'tirx.release' at(fill) of the same ring in the kernel, found none}}
  %t2 = tirx.acquire %r9 at(fill)
  // expected-error@+1 {{expected a 'tirx.acquire' at(use) of the same ring in the kernel, found none}}
  tirx.release %r9 at(use)
  %r10 = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  // expected-error@+1 {{expected a 'tirx.acquire' at(use) of the same ring in the kernel, found none}}
  tirx.release %r10 at(use)
  %r11 = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  // expected-error@+1 {{expected results of types (!tirx.tile<8x64xf16, shared>), found (i32)}}
  %t3 = "tirx.acquire"(%r11) <{station = "fill"}> : (!tirx.ring<!tirx.tile<8x64xf16, shared>>) -> i32
  tirx.release %r11 at(fill)
  %r12 = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  tirx.acquire %r12 at(write)
  // expected-error@+1 {{expected with(...) values of types (index), found ()}}
  tirx.release %r12 at(write)
  %r13 = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  tirx.acquire %r13 at(write)
  // expected-error@+1 {{expected with(...) values of types (index), found (i32)}}
  tirx.release %r13 at(write) with(%x)
  %r14 = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  %n = tirx.acquire %r14 at(read)
  // expected-error@+1 {{expected with(...) values of types (), found (index)}}
  tirx.release %r14 at(read) with(%n)
  %r15 = tirx.ring slots(2) stations(write, read) : !tirx.ring<n: index>
  tirx.acquire %r15 at(write)
  // expected-error@+1 {{expected no after(tma) for a ring without tiles, found one}}
  tirx.release %r15 at(write) after(tma) with(%i)
  tirx.return
}

// The ring stands outside of a kernel.
// expected-error@+1 {{'tirx.ring' expects parent op 'tirx.kernel'}}
%r = tirx.ring slots(1) stations(a) : !tirx.ring<>

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{Expected `cluster`, `pair`, or `pairs`}}
  %r = tirx.ring slots(2) stations(a) across(grid) : !tirx.ring<>
}

// -----

tirx.kernel @k(%n: index) threads(32) {
  // expected-error@+1 {{expected a ring, found a value of type index}}
  tirx.acquire %n at(use)
}

// -----

tirx.kernel @k() threads(32) {
  // expected-error@+1 {{expected a value that is defined above, found %missing}}
  tirx.acquire %missing at(use)
}

// -----

tirx.kernel @k() threads(32) {
  %r = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!tirx.tile<8x64xf16, shared>>
  // expected-error@+1 {{Expected `tma`, `store`, `cp_async`, `tcgen05`, or `wgmma`}}
  tirx.release %r at(fill) after(mma)
}

// -----

tirx.kernel @slots_again() target("sm_90a") threads(32) {
  // expected-error@+1 {{expected the clause 'slots' once, found it again}}
  %r = tirx.ring slots(2) slots(3) stations(a, b) : !tirx.ring<>
}

// -----

tirx.kernel @across_again() target("sm_90a") cluster(2) per_cta threads(32) {
  // expected-error@+1 {{expected the clause 'across' once, found it again}}
  %r = tirx.ring slots(2) stations(a, b) across(pair) across(cluster) : !tirx.ring<>
}

// -----

tirx.kernel @skew_again(%n: index) target("sm_90a") threads(32) {
  // expected-error@+1 {{expected the clause 'skew' once, found it again}}
  tirx.for @k %k = 0 to %n skew(1) skew(2) {
  }
}

// -----

// expected-error@+1 {{expected the clause 'threads' once, found it again}}
tirx.kernel @threads_again() target("sm_90a") threads(32) threads(64) {
}

// -----

tirx.kernel @again() threads(128) {
  // expected-error@+1 {{expected the clause 'slots' once, found it again}}
  %r = tirx.ring slots(1) slots(2) stations(a) : !tirx.ring<a: !tirx.tile<8x64xf16, shared>>
  tirx.return
}

// -----

tirx.kernel @again() threads(128) {
  // expected-error@+1 {{expected the clause 'stations' once, found it again}}
  %r = tirx.ring slots(1) stations(a) stations(b) : !tirx.ring<a: !tirx.tile<8x64xf16, shared>>
  tirx.return
}

// -----

tirx.kernel @again() threads(128) {
  // expected-error@+1 {{expected the clause 'across' once, found it again}}
  %r = tirx.ring slots(1) stations(a) across(cluster) across(pair) : !tirx.ring<a: !tirx.tile<8x64xf16, shared>>
  tirx.return
}

// -----

tirx.kernel @again() threads(128) {
  // expected-error@+1 {{expected the clause 'carries' once, found it again}}
  %r = tirx.ring slots(1) stations(a) carries carries : !tirx.ring<a: !tirx.tile<8x64xf16, shared>>
  tirx.return
}

// -----

tirx.kernel @one_pair() target("sm_100a") cluster(2) per_cta threads(128) {
  // expected-error@+1 {{expected a kernel with a cluster of several pairs for across(pairs), found cluster(2)}}
  %r = tirx.ring slots(2) stations(a) across(pairs) : !tirx.ring<>
  tirx.return
}

// -----

tirx.kernel @no_pairs() target("sm_100a") cluster(5) per_cta threads(128) {
  // expected-error@+1 {{expected a kernel with a cluster of several pairs for across(pairs), found cluster(5)}}
  %r = tirx.ring slots(2) stations(a) across(pairs) : !tirx.ring<>
  tirx.return
}
