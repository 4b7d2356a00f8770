// RUN: tirx-opt %s --split-input-file --verify-diagnostics

ptx.entry @k(t : u32, f : f32) target("sm_80") {
  %t = ptx.ld.param @t : i32
  %f = ptx.ld.param @f : f32
  // variant: expected-error@+1 {{expected variant to be one of m16n8k16.row.col.f16, m16n8k16.row.col.f32.f16}}
  %0, %1, %2, %3 = ptx.mma.m16n8 "m8n8k4.row.col.f64" a(%t, %t : i32, i32) b(%t : i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  // registers of a: expected-error@+1 {{expected a to be 4 registers i32, found (i32, i32)}}
  %100, %101, %102, %103 = ptx.mma.m16n8 "m16n8k16.row.col.f32.bf16" a(%t, %t : i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  // type of b: expected-error@+1 {{expected b to be 2 registers i32, found (i32, f32)}}
  %200, %201, %202, %203 = ptx.mma.m16n8 "m16n8k8.row.col.f32.tf32" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %f : i32, f32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  // accumulator: expected-error@+1 {{expected c to be 4 registers f32, found (i32, i32)}}
  %300, %301 = ptx.mma.m16n8 "m16n8k8.row.col.f32.f16" a(%t, %t : i32, i32) b(%t : i32) c(%t, %t : i32, i32) -> i32, i32
  // result: expected-error@+1 {{expected d to be 2 registers i32, found (i32, i32, i32)}}
  %400, %401, %302 = ptx.mma.m16n8 "m16n8k8.row.col.f16" a(%t, %t : i32, i32) b(%t : i32) c(%t, %t : i32, i32) -> i32, i32, i32
  // scale factors: expected-error@+1 {{expected 2 registers of scale factors, and a byte of each, for 'm16n8k64.mxf4.e2m1.ue8m0.2X', found 0 and 0}}
  %500, %501, %502, %503 = ptx.mma.m16n8 "m16n8k64.mxf4.e2m1.ue8m0.2X" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  // byte of scale factors: expected-error@+1 {{expected 2 scale factors from a multiple of so many bytes of a register on, found bytes 0 and 1}}
  %600, %601, %602, %603 = ptx.mma.m16n8 "m16n8k64.mxf4.e2m1.ue8m0.2X" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) scales(%t, %t) bytes(0, 1) -> f32, f32, f32, f32
  // no scale factors: expected-error@+1 {{expected 0 registers of scale factors, and a byte of each, for 'm16n8k8.row.col.f16', found 2 and 2}}
  %700, %701 = ptx.mma.m16n8 "m16n8k8.row.col.f16" a(%t, %t : i32, i32) b(%t : i32) c(%t, %t : i32, i32) scales(%t, %t) bytes(0, 0) -> i32, i32
  // no metadata: expected-error@+1 {{expected metadata, and a selector below 2, for 'm16n8k32.sp.row.col.f32.f16', found none and None}}
  %800, %801, %802, %803 = ptx.mma.m16n8 "m16n8k32.sp.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t, %t, %t : i32, i32, i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) -> f32, f32, f32, f32
  // selector: expected-error@+1 {{expected metadata, and a selector below 1, for 'm16n8k64.sp.row.col.f32.e4m3', found some and 1}}
  %810, %811, %812, %813 = ptx.mma.m16n8 "m16n8k64.sp.row.col.f32.e4m3" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t, %t, %t : i32, i32, i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) metadata(%t) selector 1 -> f32, f32, f32, f32
  // metadata of a dense product: expected-error@+1 {{expected no metadata and no selector for 'm16n8k16.row.col.f32.f16', found some and 0}}
  %820, %821, %822, %823 = ptx.mma.m16n8 "m16n8k16.row.col.f32.f16" a(%t, %t, %t, %t : i32, i32, i32, i32) b(%t, %t : i32, i32) c(%f, %f, %f, %f : f32, f32, f32, f32) metadata(%t) selector 0 -> f32, f32, f32, f32
  ptx.ret
}
