"""tcgen05 with cta_group::2: two CTAs share a product, each with half of the rows of A, of B and of D."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.kernels import entry
from unit.sim.products import product, random
from unit.sim.strict import run

from tirx.sim import SimError

_N, _K = 32, 16
_MULTICAST = "multicast::cluster.b64 [%r9], %h0"
_SYNC = """tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; tcgen05.fence::after_thread_sync;"""


def _load(parameter: str, array: str, rows: int) -> str:
    """Thread t < rows copies row t of its CTA's half, 32 bytes, to core matrices of 8 rows x 16 bytes."""
    return f"""
  setp.lt.u32 %p3, %r0, {rows}; @!%p3 bra {array}_END;
  ld.param.u64 %d0, [{parameter}]; mad.lo.u32 %r4, %r2, {rows}, %r0; mul.wide.u32 %d1, %r4, 32; add.u64 %d0, %d0, %d1;
  ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%d0]; ld.global.v4.b32 {{%r24, %r25, %r26, %r27}}, [%d0+16];
  and.b32 %r5, %r0, 7; shl.b32 %r5, %r5, 4; shr.u32 %r6, %r0, 3; shl.b32 %r6, %r6, 8; add.u32 %r5, %r5, %r6;
  mov.b32 %r6, {array}; add.u32 %r5, %r5, %r6;
  st.shared.v4.b32 [%r5], {{%r20, %r21, %r22, %r23}}; st.shared.v4.b32 [%r5+128], {{%r24, %r25, %r26, %r27}};
{array}_END:"""


def _kernel(m: int) -> str:
    columns = _N if m == 256 else _N // 2
    registers = ", ".join(f"%r{20 + column}" for column in range(columns))
    stores = "".join(f"st.global.b32 [%d0+{4 * column}], %r{20 + column}; " for column in range(columns))
    body = f"""
  mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0;
  mov.u32 %r2, %cluster_ctarank; mov.b32 %r9, bar; mov.b32 %r8, slot;
  @!%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r8], 32;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
ALLOCATED:
  @%p0 mbarrier.init.shared::cta.b64 [%r9], 1; @%p0 fence.mbarrier_init.release.cluster;
{_load("a", "sa", m // 2)}
{_load("b", "sb", _N // 2)}
  fence.proxy.async.shared::cta; bar.warp.sync 0xffffffff;
  {_SYNC}
  ld.shared.b32 %r10, [%r8];
  mov.b32 %r3, sa; shr.u32 %r3, %r3, 4; cvt.u64.u32 %d4, %r3; or.b64 %d4, %d4, 0x0000401000080000;
  mov.b32 %r3, sb; shr.u32 %r3, %r3, 4; cvt.u64.u32 %d5, %r3; or.b64 %d5, %d5, 0x0000401000080000;
  mov.b16 %h0, 3; setp.eq.and.u32 %p4, %r2, 0, %p0;
  @!%p4 bra WAIT;
  tcgen05.mma.cta_group::2.kind::f16 [%r10], %d4, %d5, {m >> 4 << 24 | _N >> 3 << 17 | 0x10:#010x}, 0;
  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.{_MULTICAST};
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;
  bar.warp.sync 0xffffffff; tcgen05.fence::after_thread_sync;
  and.b32 %r11, %r0, 96; shl.b32 %r11, %r11, 16; add.u32 %r11, %r10, %r11;
  tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {{{registers}}}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %d0, [out]; mad.lo.u32 %r4, %r2, 128, %r0; mul.wide.u32 %d1, %r4, {4 * columns}; add.u64 %d0, %d0, %d1;
  {stores}
  {_SYNC}
  @!%p1 bra FREED;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r10, 32;
FREED:"""
    declarations = f"""
  .shared .align 1024 .b8 sa[{16 * m}]; .shared .align 1024 .b8 sb[{16 * _N}];
  .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;"""
    return entry(body, ("a", "b", "out"), declarations)


def _run(m: int, text: str, seed: int | None) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """D (m, N) and what it should be."""
    rng = np.random.default_rng(m)
    a, b = (random(rng, "integers", (rows, _K), np.float16) for rows in (m, _N))
    out = np.zeros((2, 128, _N if m == 256 else _N // 2), np.float32)
    run(text, "k", 2, 128, [a, b, out], cluster=2, seed=seed, max_instructions=100_000)
    if m == 128:  # each CTA has 64 rows, and lanes 64-127 the right half of their columns
        out = out.reshape(2, 2, 64, _N // 2).transpose(0, 2, 1, 3)
    return out.reshape(m, _N), product(a, b)[0]


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("m", [128, 256])
def test_products(m: int, seed: int | None):
    result, expected = _run(m, _kernel(m), seed)
    assert np.array_equal(result, expected)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (_MULTICAST, "b64 [%r9]", "deadlock"),
        ("mov.b16 %h0, 3", "mov.b16 %h0, 2", "deadlock"),
        ("setp.eq.and.u32 %p4, %r2, 0", "setp.eq.and.u32 %p4, %r2, 1", "expected the CTA of even rank"),
        ("0x10080010", "0x04080010", "no shape M=64, N=32 of cta_group::2"),
        ("0x10080010", "0x10040010", "never written"),
        ("0x10080010", "0x10060010", "no shape M=256, N=24"),
        ("0x10080010", "0x100C0010", "out-of-bounds"),
        ("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", "bar.sync 0;", "data race|"
         "generic proxy|never written|but the allocated columns are none|may still use|may not have started"),
        ("tcgen05.dealloc.cta_group::2", "tcgen05.dealloc.cta_group::1", "expected .cta_group::2 like"),
        ("fence.proxy.async.shared::cta;", "", "generic proxy"),
        ("tcgen05.mma.cta_group::2", "tcgen05.mma.cta_group::1", "expected .cta_group::2 like"),
    ],
)  # fmt: skip
def test_faults(old: str, new: str, message: str):
    text = _kernel(256)
    assert old in text
    for seed in (None, 1):
        with pytest.raises(SimError, match=f"(?s){message}"):
            _run(256, text.replace(old, new), seed)


def test_no_peer():
    with pytest.raises(SimError, match="has no peer"):
        run(_kernel(256), "k", 1, 128, [np.zeros((256, _K), np.float16)] * 3)
