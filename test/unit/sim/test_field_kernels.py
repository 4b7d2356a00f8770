"""Forms that kernels of other producers have, each as small as it can be: all of them run."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError

_DECLARATIONS = ".shared .align 16 .b8 s[16]; .shared .align 8 .b64 bar; .reg .b128 %q;"


def _cluster(body: str) -> str:
    prefix = (
        "mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p0, %r0, 0; mov.b32 %r2, bar; mov.b32 %r3, s;"
    )
    return entry(prefix + body, (), _DECLARATIONS)


def test_white_space_before_modifiers():
    """TileLang prints `....bulk_group .L2::cache_hint`; ptxas reads that."""
    out = np.zeros(2, np.uint32)
    body = "ld.param.u64 %d0, [out]; mov.u32 %r0, 7; st.global .u32 [%d0], %r0; add .u32 %r1, %r0, %r0;"
    run(entry(body + " st .global.u32 [%d0+4], %r1;"), "k", 1, 1, [out])
    assert out.tolist() == [7, 14]


def test_ranks_beyond_the_cluster():
    """Lanes that do not use the address may ask for that of a CTA that does not exist (CuTe DSL, CLC kernels)."""
    body = """
      barrier.cluster.arrive; barrier.cluster.wait;
      mapa.shared::cluster.u32 %r4, %r3, %r0; setp.lt.u32 %p1, %r0, LIMIT; @%p1 st.shared::cluster.b32 [%r4], %r0;
      barrier.cluster.arrive; barrier.cluster.wait;
    """
    run(_cluster(body.replace("LIMIT", "1")), "k", 2, 32, [], cluster=2)
    with pytest.raises(SimError, match="the cluster has 2 CTAs, no CTA 2"):
        run(_cluster(body.replace("LIMIT", "3")), "k", 2, 32, [], cluster=2)


def test_indices_of_failed_requests():
    """clusterlaunchcontrol.query_cancel.get_first_ctaid without is_canceled is an undefined value."""
    body = """
      mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
      clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r3], [%r2];
    W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra W;
      ld.shared.v2.b64 {%d0, %d1}, [%r3]; mov.b128 %q, {%d0, %d1};
      clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r5, %q;
      clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q; @%p2 trap;
    """
    run(_cluster(body), "k", 1, 1, [])


@pytest.mark.parametrize("space", ["", ".shared::cta"])
def test_allocation_with_an_address_of_shared_memory(space: str):
    """tcgen05.alloc without .shared::cta takes an address of the shared window, too."""
    body = f"""
      tcgen05.alloc.cta_group::1.sync.aligned{space}.b32 [%r3], 32; bar.warp.sync -1;
      ld.shared.b32 %r4, [%r3]; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 32;
    """
    run(_cluster(body), "k", 1, 32, [])


_EXCLUSIVE = """
  tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 576; bar.warp.sync -1;
  ld.shared.b32 %r4, [%r3]; mov.u32 %r5, %laneid; add.u32 %r6, %r4, 575;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r5}; tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r7}, [%r6]; tcgen05.wait::ld.sync.aligned;
  setp.ne.u32 %p1, %r5, %r7; @%p1 trap;
  tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32 %r4, 576;
"""


def test_exclusive_allocations():
    """All 576 columns of sm_107a in one allocation; elsewhere 512, a multiple of 32, and nothing beside it."""
    text = _cluster(_EXCLUSIVE).replace("sm_100a", "sm_107a").replace(".version 8.6", ".version 9.4")
    run(text, "k", 1, 32, [])
    second = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 32; mov.u32 %r5, %laneid;"
    for new, message in (
        (text.replace("sm_107a", "sm_103a"), "expected a multiple of 32 columns up to 512, found 576"),
        (text.replace("576", "560"), "expected a multiple of 32 columns up to 576, found 560"),
        (text.replace("576", "544"), "columns 575-575, but the allocated columns are 544 at 0x0"),
        (text.replace("dealloc.exclusive", "dealloc").replace("%r4, 576", "%r4, 512"), "expected .exclusive on both"),
        (
            text.replace("mov.u32 %r5, %laneid;", second),
            "tcgen05.alloc of 32 columns, but the allocated columns are 576",
        ),
    ):
        with pytest.raises(SimError, match=message):
            run(new, "k", 1, 32, [])


_INIT = "@%p0 mbarrier.init.shared::cta.b64 [%r2], 1;"
_STORE = "@%p0 st.shared.b32 [%r3], 7;"
_TEST = "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r2], 1;"
_LOAD = "ld.shared.b32 %r4, [%r3];"
_ARRIVE = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;"


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(
    ("before", "fence", "after"),
    [
        (_INIT, "fence.mbarrier_init.release.cluster;", _TEST),
        (_INIT, "fence.acq_rel.cluster;", _TEST),
        (_STORE, "fence.acq_rel.cluster;", _LOAD),
        (_STORE, "fence.release.sync_restrict::shared::cta.cluster;", _LOAD),
    ],
)
def test_fences_before_relaxed_arrivals(before: str, fence: str, after: str, seed: int | None):
    """A fence makes a relaxed arrival behind it a release (the ISA's example of barrier.cluster; CUTLASS)."""
    run(_cluster(before + fence + _ARRIVE + after), "k", 2, 64, [], cluster=2, seed=seed)
    for text in (before + _ARRIVE + after, fence + before + _ARRIVE + after):
        with pytest.raises(SimError, match="data race|never written|not ordered behind its initialisation"):
            run(_cluster(text), "k", 2, 64, [], cluster=2, seed=seed)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_fences_behind_relaxed_waits(seed: int | None):
    """A fence behind a relaxed wait acquires what the arrivals have released."""
    body = """
      @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; bar.sync 0;
      @!%p0 bra W;
      st.shared.b32 [%r3], 5; fence.release.sync_restrict::shared::cta.cluster;
      mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [%r2];
    W: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra W;
      FENCE
      ld.shared.b32 %r4, [%r3];
    """
    for fence in ("fence.acquire.sync_restrict::shared::cluster.cluster;", "fence.acq_rel.cluster;"):
        run(_cluster(body.replace("FENCE", fence)), "k", 1, 64, [], seed=seed)
    with pytest.raises(SimError, match="data race"):
        run(_cluster(body.replace("FENCE", "")), "k", 1, 64, [], seed=seed)
