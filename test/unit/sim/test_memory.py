"""Loads, stores, atomics and asynchronous copies."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER, entry, run_threads
from unit.sim.strict import run

from tirx.sim import SimError


def test_widths_and_extension():
    """Every width and sign, through registers that are as wide or wider."""
    x = np.random.default_rng(0).integers(0, 2**32, (32, 4), dtype=np.uint32)
    result = run_threads(
        """
  ld.global.s8 %o0, [%in]; ld.global.u8 %o1, [%in+1]; ld.global.s16 %o2, [%in+2]; ld.global.u16 %o3, [%in+2];
  ld.global.b64 %d0, [%in+8]; mov.b64 {%o4, %o5}, %d0; ld.global.v2.u16 {%h0, %h1}, [%in+4]; mov.b32 %o6, {%h1, %h0};
  ld.global.s32 %d1, [%in+4]; mov.b64 {%o7, %o8}, %d1; ld.global.v4.b8 {%h2, %h3, %h4, %h5}, [%in];
  cvt.u32.u16 %o9, %h5;""",
        x,
        10,
    )
    raw = x.view(np.uint8).reshape(32, 16)
    expected = [
        raw[:, 0].view(np.int8).astype(np.int32).view(np.uint32),
        raw[:, 1],
        (x[:, 0] >> 16).astype(np.uint16).view(np.int16).astype(np.int32).view(np.uint32),
        x[:, 0] >> 16,
        x[:, 2],
        x[:, 3],
        x[:, 1] << 16 | x[:, 1] >> 16,
        x[:, 1],
        np.where(x[:, 1] >> 31, np.uint32(0xFFFFFFFF), np.uint32(0)),
        raw[:, 3],
    ]
    assert np.array_equal(result, np.stack(expected, axis=1))


def test_generic_addresses():
    """One instruction reaches global, shared, local and constant memory."""
    text = (
        HEADER
        + """
.const .b32 c[2] = {70, 71};
.global .b32 g[2] = {50, 51};
.visible .entry k(.param .u64 out) {
  .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .shared .b32 s[2]; .local .b32 l[2];
  mov.u32 %r0, %tid.x; mov.u32 %r1, 60; st.shared.u32 [s+4], %r1; mov.u32 %r1, 80; st.local.u32 [l+4], %r1; bar.sync 0;
  and.b32 %r2, %r0, 3; setp.eq.u32 %p0, %r2, 0; setp.eq.u32 %p1, %r2, 1; setp.eq.u32 %p2, %r2, 2;
  mov.b64 %d1, s; cvta.shared.u64 %d1, %d1; cvta.local.u64 %d2, l; mov.b64 %d3, g; cvta.const.u64 %d4, c;
  mov.u64 %d5, %d4; @%p0 mov.u64 %d5, %d1; @%p1 mov.u64 %d5, %d2; @%p2 mov.u64 %d5, %d3;
  ld.u32 %r3, [%d5+4]; isspacep.shared %p3, %d5; selp.b32 %r4, 1000, 0, %p3; add.u32 %r3, %r3, %r4;
  ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0; st.u32 [%d0], %r3;
}"""
    )
    out = np.zeros(8, np.uint32)
    run(text, "k", 1, 8, [out], check=False)
    assert out.tolist() == [1060, 80, 51, 71] * 2


@pytest.mark.parametrize("space", ["shared", "shared::cta", "shared::cluster"])
def test_shared_memory_of_another_block(space: str):
    """Only `.shared::cluster` has the addresses of other blocks."""
    text = (
        HEADER
        + f"""
.visible .entry k(.param .u64 out) .reqnctapercluster 2 {{
  .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<8>; .shared .b32 s[2];
  mov.u32 %r0, %cluster_ctarank; mov.b64 %d1, s; cvta.shared.u64 %d1, %d1;
  mapa.u64 %d2, %d1, 0; mapa.u64 %d3, %d1, 1; isspacep.{space} %p0, %d2; isspacep.{space} %p1, %d3;
  selp.b32 %r1, 1, 0, %p0; selp.b32 %r2, 2, 0, %p1; add.u32 %r1, %r1, %r2;
  ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0; st.u32 [%d0], %r1;
}}"""
    )
    out = np.zeros(2, np.uint32)
    run(text, "k", 2, 1, [out], check=False)
    assert out.tolist() == ([3, 3] if space == "shared::cluster" else [1, 2])


@together(
    "access",
    [
        "ld.shared{}.u32 %r2, [%r1];",
        "st.shared{}.u32 [%r1], %r0;",
        "red.shared{}.add.u32 [%r1], 1;",
        "mbarrier.arrive.shared{}.b64 _, [%r1];",
    ],
)
def test_accesses_of_another_block(access: str):
    """Instructions with `.shared`, which is `.shared::cta`, reach the memory of their own block only."""

    def launch(space: str) -> None:
        text = f"""
.visible .entry k() .reqnctapercluster 2 {{
  .reg .b32 %r<8>; .reg .pred %p<2>; .shared .align 8 .b64 s;
  mov.u32 %r0, %cluster_ctarank; mov.b32 %r1, s; mbarrier.init.shared::cta.b64 [%r1], 2;
  fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;
  mapa.shared::cluster.u32 %r1, %r1, 0; setp.eq.u32 %p0, %r0, 1; @%p0 {access.format(space)}
  barrier.cluster.arrive; barrier.cluster.wait;
}}"""
        run(HEADER + text, "k", 2, 1, [], check=False)

    launch("::cluster")
    for space in ("", "::cta"):
        with pytest.raises(SimError, match=r"expected an address in the .* CTA itself .* found 0x\w+ of CTA 0"):
            launch(space)


@together(
    ("access", "message"),
    [
        (
            "ld.global.u32 %o0, [%in+16];",
            r"out-of-bounds global load of 4 bytes at offset 512 of argument p, which has 512",
        ),
        ("ld.global.u32 %o0, [%in+2];", "misaligned global load"),
        ("ld.global.v4.u32 {%o0,%o1,%o2,%o3}, [%in+8];", "is not a multiple of 16 bytes"),
        ("ld.u32 %o0, [0x123456];", "in no state space"),
        ("ld.local.u32 %o0, [400];", "out-of-bounds local load"),
    ],
)
def test_bad_addresses(access: str, message: str):
    with pytest.raises(SimError, match=message):
        run_threads(f"mov.u32 %o0, 0; {access}", np.zeros((32, 4), np.uint32))


# Each row: operation, element type, its numpy type, and what the sequence of updates gives.
_ATOMICS: list[tuple[str, str, type[np.generic], Callable[[np.ndarray], float]]] = [
    ("add", "u32", np.uint32, lambda x: int(x.sum())),
    ("add", "s32", np.int32, lambda x: int(x.sum())),
    ("min", "s32", np.int32, lambda x: min(0, int(x.min()))),
    ("max", "u32", np.uint32, lambda x: int(x.max())),
    ("and", "b32", np.uint32, lambda x: 0),
    ("or", "b32", np.uint32, lambda x: int(np.bitwise_or.reduce(x))),
    ("xor", "b32", np.uint32, lambda x: int(np.bitwise_xor.reduce(x))),
    ("add", "f32", np.float32, lambda x: float(x.sum())),
    ("exch", "b32", np.uint32, lambda x: int(x[-1])),
]


@together("space", ["global", "shared", ""])
@together(("operation", "type_name", "dtype", "reference"), _ATOMICS)
def test_atomics(
    space: str, operation: str, type_name: str, dtype: type[np.generic], reference: Callable[[np.ndarray], float]
):
    """All threads update one word; what they get back is the word before their turn."""
    values = np.random.default_rng(0).integers(0, 100, 64).astype(dtype)
    target, address = ("[%d1]", "ld.param.u64 %d1, [out];") if space != "shared" else ("[s]", "")
    dot = f".{space}" if space else ""
    report = "@%p0 st.global.b32 [%d1], %r4;" if space == "shared" else ""
    text = entry(
        f"""
  mov.u32 %r0, %tid.x; {address} setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, 0; @%p0 st.shared.u32 [s], %r1; bar.sync 0;
  ld.param.u64 %d0, [x]; mad.wide.u32 %d0, %r0, 4, %d0; ld.global.b32 %r2, [%d0];
  atom{dot}.{operation}.{type_name} %r3, {target}, %r2; st.global.b32 [%d0], %r3; bar.sync 0;
  ld.shared.u32 %r4, [s]; ld.param.u64 %d1, [out]; {report}""",
        ("x", "out"),
        ".shared .align 4 .b32 s;",
    )
    x, out = values.copy(), np.zeros(1, dtype)
    run(text, "k", 1, 64, [x, out])
    assert out[0] == reference(values)
    assert x[0] == 0
    if operation == "add":
        assert np.array_equal(x, np.concatenate([[0], np.cumsum(values)[:-1]]).astype(dtype))


def test_compare_and_swap_builds_other_atomics():
    """The usual loop of cas makes a product that depends on no order."""
    text = entry(
        """
  mov.u32 %r0, %tid.x; ld.param.u64 %d0, [out]; add.u32 %r1, %r0, 1; ld.relaxed.gpu.global.u32 %r2, [%d0];
L: mul.lo.u32 %r3, %r2, %r1; mov.u32 %r4, %r2; atom.global.cas.b32 %r2, [%d0], %r4, %r3;
  setp.ne.u32 %p0, %r2, %r4; @%p0 bra L;"""
    )
    for seed in (None, 1):
        out = np.ones(1, np.uint32)
        run(text, "k", 1, 12, [out], seed=seed)
        assert out[0] == 479001600


def test_packed_and_vector_atomics():
    text = entry(
        """
  ld.param.u64 %d0, [out]; mov.b32 %r0, 0x3C004000; mov.b32 %r1, 0x3F804000;
  red.global.add.noftz.f16x2 [%d0], %r0; red.global.add.noftz.bf16x2 [%d0+4], %r1;
  mov.f32 %f0, 0f3F800000; atom.global.v2.f32.add {%f1, %f2}, [%d0+8], {%f0, %f0};
  atom.global.inc.u32 %r2, [%d0+16], 9; atom.global.dec.u32 %r3, [%d0+20], 9;"""
    )
    out = np.zeros(6, np.uint32)
    run(text, "k", 1, 32, [out])
    assert out[:1].view(np.float16).tolist() == [64, 32]
    assert out[1:2].view(ml_dtypes.bfloat16).tolist() == [64, 32]
    assert out[2:4].view(np.float32).tolist() == [32, 32]
    assert out[4:].tolist() == [32 % 10, (0 - 32) % 10]


_COPY = entry(
    """
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; mov.b32 %r2, s; add.u32 %r2, %r2, %r1;
  ld.param.u64 %d0, [x]; cvt.u64.u32 %d1, %r1; add.u64 %d0, %d0, %d1;
  cp.async.cg.shared.global [%r2], [%d0], 16; cp.async.commit_group;
  cp.async.ca.shared.global [%r2+1024], [%d0], 8, 4; cp.async.commit_group;
  cp.async.wait_group 1;
  bar.sync 0;
  xor.b32 %r3, %r2, 16; ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];
  cp.async.wait_all;
  ld.shared.v2.b32 {%r8, %r9}, [%r2+1024]; add.u32 %r7, %r8, %r9;
  ld.param.u64 %d2, [out]; add.u64 %d2, %d2, %d1; st.global.v4.b32 [%d2], {%r4, %r5, %r6, %r7};""",
    ("x", "out"),
    ".shared .align 1024 .b8 s[2048];",
)


@pytest.mark.parametrize("seed", [None, 1])
def test_sources_that_are_ignored_are_zeros(seed: int | None):
    text = _COPY.replace("[%r2], [%d0], 16;", "[%r2], [%d0], 16, %p0;").replace(
        "mov.u32 %r0, %tid.x;", "mov.u32 %r0, %tid.x; setp.gt.u32 %p0, %r0, 40;"
    )
    x = np.random.default_rng(1).integers(1, 2**32, (64, 4), dtype=np.uint32)
    out = np.zeros_like(x)
    run(text, "k", 1, 64, [x, out], seed=seed)
    from_ = np.arange(64) ^ 1
    assert np.array_equal(out[:, :3], np.where(from_[:, None] > 40, 0, x[from_, :3]))


@pytest.mark.parametrize("seed", [None, 1])
def test_asynchronous_copies(seed: int | None):
    x = np.random.default_rng(0).integers(0, 2**32, (64, 4), dtype=np.uint32)
    out = np.zeros_like(x)
    run(_COPY, "k", 1, 64, [x, out], seed=seed)
    assert np.array_equal(out[:, :3], x[np.arange(64) ^ 1, :3]) and np.array_equal(out[:, 3], x[:, 0])


@together(
    ("old", "new", "message"),
    [
        ("cp.async.wait_group 1;", "", "before the cp.async of thread"),
        ("cp.async.wait_group 1;", "cp.async.wait_group 2;", "before the cp.async of thread"),
        ("bar.sync 0;", "", "before the cp.async of thread"),
        ("cp.async.wait_all;", "", "before the cp.async of thread"),
        ("16; cp", "12; cp", "expected a size of 16"),
    ],
)
def test_copies_that_are_not_waited_for(old: str, new: str, message: str):
    assert old in _COPY
    x = np.zeros((64, 4), np.uint32)
    with pytest.raises(SimError, match=message):
        run(_COPY.replace(old, new), "k", 1, 64, [x, x.copy()])
