"""Operands that a descriptor reads otherwise than they were written: warnings that name both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.assembled import assembled

from tirx.sim import SimError, SimWarning, TensorMap, run
from tirx.sim.tensor.patterns import ALIAS, PATTERN, _meant  # pyright: ignore[reportPrivateUsage]
from tirx.sim.tensor.shared_descriptor import SharedDescriptor
from tirx.sim.tensor_map import Swizzle

_FOLDER = Path(__file__).parent / "triton"
_RULES = (ALIAS, PATTERN)
# Upper words of Triton's descriptors: swizzle 128B, SBO 1024; and the instruction descriptor, on sm_100a.
_UPPER, _IDESC = 1073758272, 135331856


def _warnings(text: str, *, failing: bool = False) -> dict[str, str]:
    """Warnings about a product of 128 x 64 that threads load."""
    rng = np.random.default_rng(3)
    m, n, k = 128, 64, 64
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    found: list[SimWarning] = []
    arguments = [a, b, np.zeros((m, n), np.float32), m, n, k, 0, 0]
    try:
        run(text, "matmul", 1, 128, arguments, dynamic_shared=73744, report=found.append)
        assert not failing
    except SimError:
        assert failing
    return {each.rule: each.message for each in found if each.rule in _RULES}


def _matmul(target: str) -> str:
    return (_FOLDER / f"matmul_{target}.ptx").read_text()


@pytest.mark.parametrize("target", ["sm90", "sm100"])
def test_clean_kernels_are_quiet(target: str) -> None:
    assert _warnings(_matmul(target)) == {}


def _changed(old: int, new: int) -> str:
    text = _matmul("sm100")
    assert str(old) in text
    return text.replace(str(old), str(new))


def test_stride_too_small() -> None:
    found = _warnings(_changed(_UPPER, _UPPER - 0x20))
    assert "tcgen05.mma A: elements (4, 0) and (8, 0) (row, k) are both read" in found[ALIAS]


def test_transpose_bit() -> None:
    """A is K-major; read as MN-major its first and its 65th row would be one."""
    found = _warnings(_changed(_IDESC, _IDESC | 1 << 15), failing=True)
    assert "the instruction says MN-major, as a K-major operand no bytes would be shared" in found[ALIAS]


def test_swizzle_of_stores() -> None:
    """cp.async wrote A with the 128B swizzle; the descriptor says 64B."""
    found = _warnings(_changed(_UPPER, 0x80004040))
    assert (
        "tcgen05.mma A is read with swizzle 64B, but threads wrote it in the pattern of swizzle 128B" in found[PATTERN]
    )


_NARROW = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k() {
  .reg .b32 %r<9>; .reg .b64 %d; .reg .pred %p; .reg .f32 %f<4>;
  .shared .align 1024 .b8 tile[1024];
  mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.b32 %r5, 0;
  shl.b32 %r3, %r1, 4;
  add.u32 %r6, %r2, %r3;
  setp.lt.u32 %p, %r1, 32;
  @%p st.shared.v4.b32 [%r6+512], {%r5, %r5, %r5, %r5};
  shr.u32 %r4, %r3, SHIFT; and.b32 %r4, %r4, 16; xor.b32 %r3, %r3, %r4; add.u32 %r6, %r2, %r3;
  setp.lt.u32 %p, %r1, LANES;
  @%p st.shared.v4.b32 [%r6], {%r5, %r5, %r5, %r5};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
  shr.u32 %r6, %r2, 4; cvt.u64.u32 %d, %r6; or.b64 %d, %d, 0xc000001000010000;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r5, %r5, %r5, %r5}, %d, 0, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  ret;
}
"""


def test_stores_beside_an_operand() -> None:
    """Half a warp writes 8 rows of 32 bytes, with the 32B swizzle; a warp writes bytes behind them, with none."""
    for lanes, shift, warned in ((16, 3, False), (32, 3, False), (32, 8, True)):
        found: list[SimWarning] = []
        text = _NARROW.replace("LANES", str(lanes)).replace("SHIFT", str(shift))
        run(assembled(text), "k", 1, 128, [], report=found.append)
        assert [each.rule for each in found] == [PATTERN] * warned, shift


_COPY = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {
  .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;
  .shared .align 1024 .b8 tile[16384];
  .shared .align 8 .b8 bars[16];
  .shared .align 4 .b8 slot[4];
  mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, bars; mov.u32 %r4, slot;
  setp.eq.u32 %p1, %r1, 0;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 64;
  @%p1 mbarrier.init.shared.b64 [%r3], 1;
  @%p1 mbarrier.init.shared.b64 [%r3+8], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  ld.shared.b32 %r5, [slot];
  mov.u64 %d1, map; cvta.param.u64 %d1, %d1;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 16384;
  @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2], [%d1, {0, 0}], [%r3];
w: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
  @!%p2 bra w;
  shr.u32 %r6, %r2, 4; cvt.u64.u32 %d2, %r6; or.b64 %d2, %d2, DESC;
  @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r5], %d2, %d2, 0x08100010, 0;
  @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3+8];
v: mbarrier.try_wait.parity.shared.b64 %p2, [%r3+8], 0;
  @!%p2 bra v;
  bar.sync 0;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 64;
  ret;
}
"""


def _copied(swizzle: Swizzle, descriptor: int) -> list[SimWarning]:
    """Warnings about an operand of 128 rows of 64 elements that a bulk tensor copy wrote."""
    array: npt.NDArray[Any] = np.ones((128, 64), np.float16)
    found: list[SimWarning] = []
    text = _COPY.replace("DESC", hex(descriptor))
    box = TensorMap(array, (64, 128), swizzle)
    run(text, "k", 1, 32, [box, np.zeros(4, np.float32)], report=found.append)
    return [each for each in found if each.rule in _RULES]


def test_swizzle_of_bulk_copies() -> None:
    assert _copied("128B", 0x4000404000010000) == []
    [found] = _copied("none", 0x4000404000010000)
    assert found.rule == PATTERN
    assert "tcgen05.mma A is read with swizzle 128B, but a bulk tensor copy wrote" in found.message
    assert "with swizzle none" in found.message and found.line is not None


def test_checks_can_be_switched_off() -> None:
    run(
        _COPY.replace("DESC", "0x4000404000010000"), "k", 1, 32,
        [TensorMap(np.ones((128, 64), np.float16), (64, 128), "none"), np.zeros(4, np.float32)],
        check=False, report=lambda warning: pytest.fail(str(warning)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("leading", "stride", "said"),
    [(256, 128, ": they look swapped"), (1024, 512, ": they look swapped"), (128, 128, "")],
)
def test_swapped_offsets_of_k_major_operands(leading: int, stride: int, said: str) -> None:
    """64 rows of 32 bytes without a swizzle: two chunks of 16 bytes, which lie between groups of 8 rows."""
    descriptor = SharedDescriptor(1 << 46 | stride >> 4 << 32 | leading >> 4 << 16, "A", "sm_100a")
    addresses = descriptor.k_major(np.arange(64), 32)
    assert _meant(descriptor, addresses, 2) == said
