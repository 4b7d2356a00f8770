"""
Limits of tensor cores when nothing else matters: kernels that only multiply, from registers (mma.sync) or from
shared memory that is filled once (wgmma). `benchmarks/gpu.py` measures them next to real kernels.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tirx.dialects.formula import Call
from tirx.runtime import Kernel, Program
from tirx.runtime.launch import Launch, PointerArgument, ScalarArgument

LOOPS = 4096
"""Turns of the loop of a probe."""

UNROLL = 4
"""Times that the products of a probe stand in its loop."""

OUT_BYTES = 2048
"""Bytes of the array that a probe writes its sums to, so that they are not optimised away."""

_PROLOGUE = """.version 8.0
.target {target}
.address_size 64
{memory}
.visible .entry probe(.param .u64 .ptr .global .align 16 out, .param .u32 turns)
.reqntid {threads}, 1, 1
{{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .reg .{a_type} %a<{a}>;
  .reg .{b_type} %b<{b}>;
  .reg .{c_type} %c<{c}>;
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [turns];
  mov.u32 %r1, %tid.x;
  mul.lo.u32 %r3, %r1, 747796405;
{start}
$loop:
{body}
  sub.u32 %r0, %r0, 1;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra $loop;
{end}
  ret;
}}
"""


@dataclass(frozen=True)
class Probe:
    """
    A kernel that multiplies `threads / 32` times `products` matrices of `shape` (m, n, k) in each block and turn.

    wgmma counts once for four warps, which `warps` says.
    """

    name: str
    kernel: Kernel
    threads: int
    products: int
    shape: tuple[int, int, int]
    warps: int = 1

    def flops(self, blocks: int) -> int:
        """Floating-point operations of a launch of so many blocks (a product and a sum are two)."""
        m, n, k = self.shape
        return 2 * m * n * k * self.products * (self.threads // (32 * self.warps)) * blocks * LOOPS


def _kernel(ptx: str, target: str, threads: int, shared: int = 0) -> Kernel:
    arguments = (PointerArgument("out", None, None, None), ScalarArgument("turns", "u32"))
    launch = Launch("probe", target, (Call("sm_count"), 1, 1), (threads, 1, 1), (1, 1, 1), shared, arguments)
    return Program(ptx, [launch]).kernels["probe"]


def mma_probe(
    name: str,
    instruction: str,
    shape: tuple[int, int, int],
    registers: tuple[int, int, int],
    types: tuple[str, str, str],
    target: str = "sm_80",
    chains: int = 8,
    threads: int = 512,
) -> Probe:
    """A probe of `instruction`, whose operands take `registers` of `types`, in `chains` that do not wait for others."""
    a, b, c = registers
    a_type, b_type, c_type = types
    start = [_random(a_type, f"%a{i}") for i in range(a)] + [_random(b_type, f"%b{i}") for i in range(b)]
    # All sums differ: equal ones would be computed once.
    start += [f"  mov.{c_type} %c{i}, {_number(c_type, i)};" for i in range(c * chains)]

    def group(letter: str, first: int, count: int) -> str:
        names = [f"%{letter}{first + i}" for i in range(count)]
        return f"{{{', '.join(names)}}}"

    body = [
        f"  {instruction} {group('c', c * i, c)}, {group('a', 0, a)}, {group('b', 0, b)}, {group('c', c * i, c)};"
        for _ in range(UNROLL)
        for i in range(chains)
    ]
    end = [f"  st.global.{c_type} [%rd0+{8 * i}], %c{i};" for i in range(c * chains)]
    ptx = _PROLOGUE.format(
        target=target, memory="", threads=threads, a_type=a_type, b_type=b_type, c_type=c_type, a=a, b=b,
        c=c * chains, start="\n".join(start), body="\n".join(body), end="\n".join(end),
    )  # fmt: skip
    return Probe(name, _kernel(ptx, target, threads), threads, chains * UNROLL, shape)


_STEP = "  mad.lo.u32 %r3, %r3, 1664525, 1013904223;\n"
"""A step of the generator of random numbers, whose state is %r3."""


def _random(type_: str, register: str) -> str:
    """
    Sets a register to a number of random sign from 1 to 2, or two of them in f16.

    Equal numbers would draw less power than those of a real product.
    """
    if type_ == "b32":
        return f"{_STEP}  and.b32 {register}, %r3, 0x83ff83ff;\n  or.b32 {register}, {register}, 0x3c003c00;"
    return f"{_STEP}  cvt.rn.f64.s32 {register}, %r3;\n  mul.f64 {register}, {register}, 0d3e00000000000000;"


def _number(type_: str, value: int) -> str:
    """A literal of a floating-point type (PTX ISA, "Floating-Point Constants")."""
    return f"0d{struct.pack('>d', value).hex()}" if type_ == "f64" else f"0f{struct.pack('>f', value).hex()}"


_WGMMA = {
    "f16": (16, "f32.f16.f16", ", 1, 1, 0, 0", 0x83FF83FF, 0x3C003C00),
    "bf16": (16, "f32.bf16.bf16", ", 1, 1, 0, 0", 0x83FF83FF, 0x3C003C00),
    "tf32": (8, "f32.tf32.tf32", ", 1, 1", 0x83FFFFFF, 0x3C000000),
    "e4m3": (32, "f32.e4m3.e4m3", ", 1, 1", 0xBFBFBFBF, 0),
    "s8": (32, "s32.s8.s8", "", 0xFFFFFFFF, 0),
}
"""Kind of wgmma -> K of an instruction, types, the immediates behind scale-d, masks (and, or) of random words."""


def wgmma_probe(kind: str, n: int = 256, threads: int = 256) -> Probe:
    """wgmma.m64nN of a kind: each warpgroup has 64 rows of A, and all of them one B, of 128 bytes along K."""
    k, types, immediates, keep, put = _WGMMA[kind]
    sums = types.split(".")[0]
    registers = n // 2
    groups = threads // 128
    bytes_of_a, bytes_of_b = 64 * 128, n * 128
    shared = 1024 + groups * bytes_of_a + bytes_of_b
    # K-major, 128-byte swizzle, 1024 bytes from 8 rows to the next (PTX ISA, "Matrix Descriptor Format").
    high = (1 << 62) | (64 << 32) | (1 << 16)
    start = f"""
  mov.u32 %r2, dynamic;
  add.u32 %r2, %r2, 1023;
  and.b32 %r2, %r2, -1024;
  shl.b32 %r4, %r1, 2;
  add.u32 %r4, %r2, %r4;
  mov.u32 %r5, {(groups * bytes_of_a + bytes_of_b) // (4 * threads)};
$fill:
{_STEP}  and.b32 %a0, %r3, {keep:#x};
  or.b32 %a0, %a0, {put:#x};
  st.shared.b32 [%r4], %a0;
  add.u32 %r4, %r4, {4 * threads};
  sub.u32 %r5, %r5, 1;
  setp.ne.u32 %p1, %r5, 0;
  @%p1 bra $fill;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r6, %r1, 7;
  mul.lo.u32 %r6, %r6, {bytes_of_a};
  add.u32 %r6, %r2, %r6;
  shr.u32 %r6, %r6, 4;
  cvt.u64.u32 %rd1, %r6;
  or.b64 %rd1, %rd1, {high:#x};
  add.u32 %r7, %r2, {groups * bytes_of_a};
  shr.u32 %r7, %r7, 4;
  cvt.u64.u32 %rd2, %r7;
  or.b64 %rd2, %rd2, {high:#x};
  setp.eq.u32 %p2, %r1, %r1;
""" + "\n".join(f"  mov.b32 %c{i}, {i};" for i in range(registers))
    d = f"{{{', '.join(f'%c{i}' for i in range(registers))}}}"
    body = ["  wgmma.fence.sync.aligned;"]
    for step in range(4):
        body.append(f"  add.u64 %rd3, %rd1, {2 * step};\n  add.u64 %rd4, %rd2, {2 * step};")
        body.append(f"  wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types} {d}, %rd3, %rd4, %p2{immediates};")
    body += ["  wgmma.commit_group.sync.aligned;", "  wgmma.wait_group.sync.aligned 0;"]
    end = [f"  st.global.b32 [%rd0+{8 * i}], %c{i};" for i in range(registers)]
    ptx = _PROLOGUE.format(
        target="sm_90a", memory=".extern .shared .align 1024 .b8 dynamic[];", threads=threads, a_type="b32",
        b_type="b32", c_type=sums, a=1, b=1, c=registers, start=start, body="\n".join(body), end="\n".join(end),
    )  # fmt: skip
    name = f"wgmma m64n{n}k{k}.{kind}"
    return Probe(name, _kernel(ptx, "sm_90a", threads, shared), threads, 4, (64, n, k), warps=4)


def all_probes() -> dict[str, Probe]:
    """Every probe by its name."""
    f64 = ("f64", "f64", "f64")
    probes = [
        mma_probe("m8n8k4.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", (8, 8, 4), (1, 1, 2), f64),
        *(
            mma_probe(
                f"m16n8k{k}.f64",
                f"mma.sync.aligned.m16n8k{k}.row.col.f64.f64.f64.f64",
                (16, 8, k),
                (k // 2, k // 4, 4),
                f64,
                "sm_90",
            )
            for k in (4, 8, 16)
        ),
        mma_probe(
            "m16n8k16.f16",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            (16, 8, 16),
            (4, 2, 4),
            ("b32", "b32", "f32"),
        ),
        *map(wgmma_probe, _WGMMA),
    ]
    return {probe.name: probe for probe in probes}
