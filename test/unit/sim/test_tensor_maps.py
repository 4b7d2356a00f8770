"""Tensor maps that kernels change, in global memory and in pairs of CTAs; bulk reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.assembled import assembled
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap

Array = npt.NDArray[Any]

_DECLARATIONS = ".shared .align 1024 .b8 s[4096]; .shared .align 128 .b8 m[128]; .shared .align 8 .b64 bar;"
_SETUP = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, s; mov.b32 %r2, bar; mov.b32 %r3, m;
  mov.u32 %r6, %cluster_ctarank;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 fence.mbarrier_init.release.cluster;
"""
# Box 0 of the map at %d5, 16 x 4 elements of 4 bytes, into `s` and to [out].
_LOAD = """
  @!%p0 bra LOADED;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;
  cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d5, {0, 1}], [%r2];
LOADED:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra LOADED;
  ld.param.u64 %d6, [out]; shl.b32 %r4, %r0, 3; add.u32 %r5, %r1, %r4; cvt.u64.u32 %d7, %r4; add.u64 %d6, %d6, %d7;
  ld.shared.v2.b32 {%r10, %r11}, [%r5]; st.global.v2.b32 [%d6], {%r10, %r11};
"""
# The usual way: copy the map to shared memory, change it there, and copy it to global memory.
_REPLACE = """
  ld.param.u64 %d0, [map]; ld.param.u64 %d5, [work]; ld.param.u64 %d2, [other];
  shl.b32 %r4, %r0, 2; cvt.u64.u32 %d1, %r4; add.u64 %d1, %d0, %d1; add.u32 %r5, %r3, %r4;
  ld.global.b32 %r7, [%d1]; st.shared.b32 [%r5], %r7; bar.warp.sync 0xffffffff;
  @!%p0 bra REPLACED;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r3], %d2;
  tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r3], 1;
  mov.u32 %r8, 24; tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 0, %r8;
  mov.u32 %r8, 3; tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 1, %r8;
  mov.u64 %d3, 96; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r3], 0, %d3;
  mov.u32 %r8, 16; tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 0, %r8;
  mov.u32 %r8, 4; tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 1, %r8;
  mov.u32 %r8, 1; tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r3], 1, %r8;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r3], 0, %r8;
  tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r3], 3;
  tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r3], 0;
  tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r3], 2;
  tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [%r3], 0;
  tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r3], 0;
REPLACED:
  bar.warp.sync 0xffffffff;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d5], [%r3], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%d5], 128;
"""
_IN_PLACE = """
  ld.param.u64 %d5, [map]; ld.param.u64 %d2, [other];
  @!%p0 bra REPLACED;
  tensormap.replace.tile.global_address.global.b1024.b64 [%d5], %d2;
  fence.proxy.tensormap::generic.release.gpu;
  fence.proxy.tensormap::generic.acquire.gpu [%d5], 128;
REPLACED:
  bar.warp.sync 0xffffffff;
"""


def _kernel(body: str, parameters: tuple[str, ...]) -> str:
    return entry(_SETUP + body, parameters, _DECLARATIONS).replace("8.6", "9.0")


def _run_replaced(text: str, seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    first, other = rng.integers(0, 99, (16, 32)).astype(np.int32), rng.integers(0, 99, (3, 24)).astype(np.int32)
    work, out = np.zeros(128, np.uint8), np.zeros((4, 16), np.int32)
    tensor_map = TensorMap(first.astype(np.float32).view(np.float32), (8, 8))
    run(text, "k", 1, 32, [tensor_map, work, other, out], seed=seed)
    return other, out


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", [None, 1])
def test_every_field_is_replaced(seed: int | None, zeros: bool):
    """Of another map, or of zeros."""
    body = _REPLACE.replace("ld.global.b32 %r7, [%d1];", "mov.u32 %r7, 0;") if zeros else _REPLACE
    other, out = _run_replaced(assembled(_kernel(body + _LOAD, ("map", "work", "other", "out"))), seed)
    expected = np.zeros((4, 4, 4), np.int32)
    expected[:2] = other[1:, :16].reshape(2, 4, 4)
    lines = np.arange(4) // 2
    chunk = np.arange(4)[None, :] ^ lines[:, None]
    assert np.array_equal(out.reshape(4, 4, 4), np.take_along_axis(expected, chunk[:, :, None], axis=1))


_HAZARDS = [
    (_REPLACE, "fence.proxy.tensormap::generic.acquire.gpu [%d5], 128;", "is not one of the launch, or has changed"),
    (_REPLACE, "REPLACED:\n  bar.warp.sync 0xffffffff;", "data race"),
    (
        _IN_PLACE,
        "fence.proxy.tensormap::generic.release.gpu;",
        "the tensor map at 0x[0-9a-f]+ was replaced, but not released to the tensormap proxy: expected "
        r"fence\.proxy\.tensormap::generic\.release before it is acquired",
    ),
    (_IN_PLACE, "fence.proxy.tensormap::generic.acquire.gpu [%d5], 128;", "is not one of the launch, or has changed"),
]


@pytest.mark.parametrize(("body", "old", "message"), _HAZARDS)
def test_fences_of_the_tensormap_proxy(body: str, old: str, message: str):
    assert old in body
    parameters = ("map", "work", "other", "out")
    new = "REPLACED:" if old.startswith("REPLACED") else ""
    with pytest.raises(SimError, match=message):
        _run_replaced(assembled(_kernel(body.replace(old, new) + _LOAD, parameters)))


def test_bytes_that_are_no_map():
    body = "ld.param.u64 %d5, [work];" + _LOAD
    text = assembled(_kernel(body, ("map", "work", "other", "out")))
    words = [np.zeros(128, np.uint8), np.zeros(4, np.int32), np.zeros((4, 16), np.int32)]
    tensor_map = TensorMap(np.zeros((16, 32), np.int32), (16, 4))
    with pytest.raises(SimError, match="128 bytes that are none"):
        run(text, "k", 1, 32, [tensor_map, *words], check=False)
    with pytest.raises(SimError, match="is not one of the launch, or has changed"):
        run(text, "k", 1, 32, [tensor_map, *words])


def test_replaced_in_global_memory():
    first, other = np.arange(64 * 8, dtype=np.int32).reshape(16, 32), np.zeros((16, 32), np.int32)
    other[1:5, :16] = np.arange(64).reshape(4, 16)
    out = np.zeros((4, 16), np.int32)
    text = assembled(_kernel(_IN_PLACE + _LOAD, ("map", "work", "other", "out")))
    run(text, "k", 1, 32, [TensorMap(first, (16, 4)), np.zeros(4, np.uint8), other, out])
    assert np.array_equal(out, other[1:5, :16])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("elemtype", 11, "element type .tf32 is not simulated"),
        ("interleave_layout", 1, "an interleave layout is not simulated"),
        ("fill_mode", 1, "expected oob_fill zero for .s32"),
        ("elemtype", 99, "tensor map: expected element type from 0 to "),
        ("swizzle_mode", 7, "tensor map: swizzle mode 7 with atomicity 0, rank 2"),
        ("global_dim", 0, r"tensor map: expected positive sizes, found \[0, "),
        ("global_address", 8, "tensor map: expected a global address that is a multiple of 16, found 0x8"),
        ("rank", 0, "expected a tensor map of 2 dimensions, found one of 1"),
    ],
)
def test_maps_that_are_refused(field: str, value: int, message: str):
    text = _kernel(_REPLACE + _LOAD, ("map", "work", "other", "out"))
    line = next(each for each in text.splitlines() if f".{field}." in each)
    new = line[: line.rindex(",")] + f", {value};"
    with pytest.raises(SimError, match=message) as caught:
        _run_replaced(text.replace(line, new))
    assert caught.value.text.startswith("cp.async.bulk.tensor")


# Two CTAs: rank 0 loads for both; each waits for its own mbarrier, or (cta_group::2) for that of the even CTA.
_CLUSTER = """
  ld.param.u64 %d5, [map]; ld.param.u64 %d6, [out]; mov.b16 %h0, {mask};
  {expect}
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  setp.eq.and.u32 %p1, %r6, 0, %p0;
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{group}
      [%r1], [%d5, {{0, 1}}], [%r2], %h0;
  mapa.shared::cluster.u32 %r7, %r2, {waits};
WAIT:
  {wait}
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  shl.b32 %r4, %r0, 3; add.u32 %r5, %r1, %r4; shl.b32 %r8, %r6, 8; add.u32 %r8, %r8, %r4; cvt.u64.u32 %d7, %r8;
  add.u64 %d6, %d6, %d7; ld.shared.v2.b32 {{%r10, %r11}}, [%r5]; st.global.v2.b32 [%d6], {{%r10, %r11}};
"""
_OWN_WAIT = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;"


def _cluster_kernel(group: str, *, pair: bool, mask: int = 3) -> str:
    size = 512 if pair else 256
    guard = "setp.eq.and.u32 %p3, %r6, 0, %p0;" if pair else "mov.pred %p3, %p0;"
    wait = "setp.ne.u32 %p4, %r6, 0; @%p4 bra DONE; " + _OWN_WAIT + "\nDONE:" if pair else _OWN_WAIT
    expect = f"{guard} @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {size};"
    body = _CLUSTER.format(group=group, expect=expect, waits="%r6", wait=wait, mask=mask)
    return _kernel(body, ("map", "out"))


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(("group", "pair"), [("", False), (".cta_group::1", False), (".cta_group::2", True)])
def test_multicast(group: str, pair: bool, seed: int | None):
    tensor = np.arange(16 * 32, dtype=np.int32).reshape(16, 32)
    out = np.zeros((2, 4, 16), np.int32)
    text = assembled(_cluster_kernel(group, pair=pair))
    run(text, "k", 2, 32, [TensorMap(tensor, (16, 4)), out], cluster=2, seed=seed)
    assert np.array_equal(out, np.stack([tensor[1:5, :16]] * 2))


def _rubin(text: str) -> str:
    return text.replace(".version 9.0", ".version 9.4").replace("sm_100a", "sm_107a")


@pytest.mark.parametrize("seed", [None, 1])
def test_masks_of_32_ctas(seed: int | None):
    """A copy for both CTAs, whose mbarriers rank 0 tells of the bytes, with an arrival each."""
    expect = "mbarrier.expect_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [%r2], 256, %r9;"
    arrive = "mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [%r2], 1, %r9;"
    text = _cluster_kernel("", pair=False).replace("multicast::cluster\n", "multicast::cluster::32b\n")
    text = text.replace("[%r2], %h0;", f"[%r2], %r9;\n  @%p1 {arrive}").replace("@%p1 cp", f"@%p1 {expect}\n  @%p1 cp")
    told = "mov.pred %p3, %p0; @%p3 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;"
    text = _rubin(text.replace(told, "mov.b32 %r9, 3;"))
    tensor = np.arange(16 * 32, dtype=np.int32).reshape(16, 32)
    out = np.zeros((2, 4, 16), np.int32)
    run(assembled(text), "k", 2, 32, [TensorMap(tensor, (16, 4)), out], cluster=2, seed=seed)
    assert np.array_equal(out, np.stack([tensor[1:5, :16]] * 2))
    with pytest.raises(SimError, match="expected .multicast::cluster::32b of mbarriers"):
        run(text.replace("::32b.b64 _", "::16b.b64 _"), "k", 2, 32, [TensorMap(tensor, (16, 4)), out], cluster=2)
    with pytest.raises(SimError, match="multicast::cluster::32b does not exist on sm_103a"):
        run(text.replace("sm_107a", "sm_103a"), "k", 2, 32, [TensorMap(tensor, (16, 4)), out], cluster=2)


_MOVED = (
    """
  ld.param.u64 %d5, [map]; ld.param.u64 %d8, [other];
  fence.proxy.async.shared::cta; bar.sync 0;"""
    + _LOAD.replace("bytes [", "bytes.override::global_address [").replace("[%d5, {", "[%d5, %d8, {")
    + """
  bar.sync 0; ld.param.u64 %d9, [moved];
  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.override::global_address [%d5, %d9, {0, 1}], [%r1];
  @%p0 cp.async.bulk.prefetch.tensor.2d.L2.global.override::global_address [%d5, %d9, {0, 1}];
  @%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;
"""
)


def test_address_in_place_of_that_of_the_map():
    """One map for tensors of one shape: a box comes from one of them, and goes to another."""
    tensors = np.arange(3 * 8 * 32, dtype=np.int32).reshape(3, 8, 32)
    out, other, moved = np.zeros((4, 16), np.int32), tensors[1].copy(), np.zeros((8, 32), np.int32)
    text = assembled(_rubin(_kernel(_MOVED, ("map", "other", "moved", "out"))))
    arguments = [TensorMap(tensors[0], (16, 4)), other, moved, out]
    run(text, "k", 1, 32, arguments)
    assert np.array_equal(out, tensors[1, 1:5, :16])
    assert np.array_equal(moved[1:5, :16], tensors[1, 1:5, :16]) and moved.sum() == out.sum()
    for old, new, message in (
        ("global.mbarrier", "global.tile::gather4.mbarrier", "expected .tile with .override::global_address, found"),
        ("sm_107a", "sm_103a", "override::global_address does not exist on sm_103a"),
        ("[%d5, %d8, {", "[%d5, {", r"expected \[tensor map, address, {coordinates}\]"),
        (".override::global_address [%r1]", " [%r1]", r"expected \[tensor map, {coordinates}\]"),
    ):
        with pytest.raises(SimError, match=message):
            run(text.replace(old, new), "k", 1, 32, arguments)


@pytest.mark.parametrize("seed", [None, 1])
def test_mbarrier_of_the_peer(seed: int | None):
    """Each CTA loads for itself; the mbarrier of the even one hears of both."""
    text = _cluster_kernel(".cta_group::2", pair=True).replace(".multicast::cluster.cta", ".cta")
    text = text.replace("@%p1 cp", "mapa.shared::cluster.u32 %r9, %r2, 0; @%p0 cp").replace("[%r2], %h0;", "[%r9];")
    tensor = np.arange(16 * 32, dtype=np.int32).reshape(16, 32)
    out = np.zeros((2, 4, 16), np.int32)
    run(assembled(text), "k", 2, 32, [TensorMap(tensor, (16, 4)), out], cluster=2, seed=seed)
    assert np.array_equal(out, np.stack([tensor[1:5, :16]] * 2))


def test_wrong_multicasts():
    tensor_map = TensorMap(np.zeros((16, 32), np.int32), (16, 4))
    out = np.zeros((2, 4, 16), np.int32)
    with pytest.raises(SimError, match="expected a mask of the 2 CTAs of the cluster, found 0x5"):
        run(assembled(_cluster_kernel("", pair=False, mask=5)), "k", 2, 32, [tensor_map, out], cluster=2)
    text = _cluster_kernel("", pair=False).replace(".multicast::cluster\n", "\n").replace("[%r2], %h0;", "[%r7];")
    text = text.replace("mapa.shared::cluster.u32 %r7, %r2, %r6;", "").replace(
        "setp.eq.and.u32 %p1,", "mapa.shared::cluster.u32 %r7, %r2, 1; setp.eq.and.u32 %p1,"
    )
    with pytest.raises(SimError, match="expected the mbarrier in the CTA of the target without .cta_group::2"):
        run(assembled(text), "k", 2, 32, [tensor_map, out], cluster=2)


_REDUCE = """
  ld.param.u64 %d0, [x]; ld.param.u64 %d1, [out]; shl.b32 %r4, %r0, 4; cvt.u64.u32 %d2, %r4; add.u64 %d2, %d0, %d2;
  ld.global.v4.b32 {{%r10, %r11, %r12, %r13}}, [%d2]; add.u32 %r5, %r1, %r4;
  st.shared.v4.b32 [%r5], {{%r10, %r11, %r12, %r13}};
  fence.proxy.async.shared::cta; bar.sync 0;
  @!%p0 bra END;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%d1], [%r1], 512;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
END:
"""


_BULK_REDUCTIONS: list[tuple[str, Any, Callable[[Array, Array], Array]]] = [
    ("add.u32", np.uint32, np.add), ("add.s32", np.int32, np.add), ("add.u64", np.uint64, np.add),
    ("add.f32", np.float32, np.add), ("add.f64", np.float64, np.add), ("add.noftz.f16", np.float16, np.add),
    ("add.noftz.bf16", ml_dtypes.bfloat16, np.add), ("min.s64", np.int64, np.minimum),
    ("max.f16", np.float16, np.maximum), ("and.b32", np.uint32, np.bitwise_and),
    ("or.b64", np.uint64, np.bitwise_or), ("xor.b32", np.uint32, np.bitwise_xor),
    ("inc.u32", np.uint32, lambda old, new: np.where(old >= new, 0, old + 1)),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "dtype", "reference"), _BULK_REDUCTIONS)
def test_bulk_reductions(operation: str, dtype: Any, reference: Callable[[Array, Array], Array]):
    rng = np.random.default_rng(5)
    count = 512 // np.dtype(dtype).itemsize
    x, out = (rng.integers(0, 60, count).astype(dtype) for _ in range(2))
    expected = reference(out, x).astype(dtype)
    run(assembled(_kernel(_REDUCE.format(operation=operation), ("x", "out"))), "k", 1, 32, [x, out])
    assert np.array_equal(out, expected)


# Both CTAs add their 16 words to those of CTA 0.
_REDUCE_SHARED = """
  ld.param.u64 %d0, [out]; shl.b32 %r4, %r0, 2; add.u32 %r5, %r1, %r4; add.u32 %r7, %r0, %r6;
  st.shared.b32 [%r5], %r7; mov.u32 %r8, 100; st.shared.b32 [%r5+1024], %r8;
  @%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r2], 256;
  @%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r9, %r1, 0; add.u32 %r9, %r9, 1024; mapa.shared::cluster.u32 %r10, %r2, 0;
  @%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r9], [%r1], 128, [%r10];
  setp.ne.u32 %p3, %r6, 0; @%p3 bra END;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
  ld.shared.b32 %r11, [%r5+1024]; cvt.u64.u32 %d1, %r4; add.u64 %d0, %d0, %d1; st.global.b32 [%d0], %r11;
END:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_bulk_reductions_in_a_cluster(seed: int | None):
    out = np.zeros(32, np.uint32)
    run(assembled(_kernel(_REDUCE_SHARED, ("out",))), "k", 2, 32, [out], cluster=2, seed=seed)
    assert np.array_equal(out, 101 + 2 * np.arange(32))


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;", "waited for"),
        ("fence.proxy.async.shared::cta;", "through the generic proxy"),
        ("mov.u32 %r8, 100; st.shared.b32 [%r5+1024], %r8;", "never written"),
    ],
)
def test_hazards_of_bulk_reductions(old: str, message: str):
    text = _kernel(_REDUCE_SHARED, ("out",))
    assert old in text
    with pytest.raises(SimError, match=message):
        run(text.replace(old, ""), "k", 2, 32, [np.zeros(32, np.uint32)], cluster=2)
