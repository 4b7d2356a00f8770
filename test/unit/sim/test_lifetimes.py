"""Memory of another CTA of the cluster is there between its start and its end: a barrier of one CTA says neither."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import entry
from unit.sim.strict import run
from unit.sim.tensor_products import Product, build

from tirx import sim
from tirx.sim import SimError, SimWarning

_SEEDS = (None, 1, 2)
_CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
_RELAXED = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"
_NOT_STARTED = "which may not have started: expected a cluster barrier before"
_EXITED = "exits while the access to its memory on PTX line .* may not be over: expected a |which has exited"
_PREFIX = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r1, 0; mov.b32 %r3, word; mov.b32 %r4, bar; mapa.shared::cluster.u32 %r5, %r3, %r2;
  mapa.shared::cluster.u32 %r6, %r4, %r2;
"""
_DECLARATIONS = ".shared .align 16 .b8 word[64]; .shared .align 16 .b8 data[64]; .shared .align 8 .b64 bar;"
_INIT = "@%p0 mbarrier.init.shared::cta.b64 [%r4], 1; @%p0 fence.mbarrier_init.release.cluster;"
_WAIT = "WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r4], 0; @!%p2 bra WAIT;"


@dataclass(frozen=True)
class _Case:
    """`access` with what is before and behind it; `finding` is a regular expression, empty if there is nothing."""

    name: str
    before: str
    access: str
    behind: str
    finding: str = ""


_STORE = "@%p0 st.shared::cluster.b32 [%r5], %r0;"
_LOAD = "@%p0 ld.shared::cluster.b32 %r7, [%r5];"
_ATOMIC = "@%p0 atom.shared::cluster.add.u32 %r7, [%r5], 1;"
_ARRIVE = "@%p0 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];"
_WRITE = "@%p0 st.shared.b32 [%r3], %r0;"
_BULK = """
  @!%p0 bra COPIED;
  mov.b32 %r8, data; st.shared.v4.b32 [%r8], {%r0, %r0, %r0, %r0}; fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;
  cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r8], 16, [%r6];
COPIED:
"""
_CASES = [
    _Case("store", _CLUSTER, _STORE, _CLUSTER),
    _Case("relaxed barriers", _RELAXED, _STORE, "fence.acq_rel.cluster;" + _RELAXED),
    _Case("relaxed arrival behind a store", _RELAXED, _STORE, _RELAXED, _EXITED + ".* a cluster barrier in between"),
    _Case("store before the start", "bar.sync 0;", _STORE, _CLUSTER, _NOT_STARTED),
    _Case("store at the end", _CLUSTER, _STORE, "bar.sync 0;", _EXITED),
    _Case("arrival only", _CLUSTER, _STORE, "barrier.cluster.arrive.aligned;", _EXITED),
    _Case("load", _WRITE + _CLUSTER, _LOAD, _CLUSTER),
    _Case("load at the end", _WRITE + _CLUSTER, _LOAD, "", _EXITED),
    _Case("atomic", _CLUSTER, _WRITE + _CLUSTER + _ATOMIC, _CLUSTER),
    _Case("atomic before the start", "", _ATOMIC, _CLUSTER, "may not have started|never written"),
    _Case("arrive and wait", _INIT + _CLUSTER, _ARRIVE, _WAIT),
    _Case("arrive before the start", _INIT + "bar.sync 0;", _ARRIVE, _WAIT, "may not have started|no mbarrier object"),
    _Case("arrive and no wait", _INIT + _CLUSTER, _ARRIVE, "bar.sync 0;", _EXITED),
    _Case("bulk copy", _INIT + _CLUSTER, _BULK, _WAIT + _CLUSTER),
    # That of the other block has arrived, but who says that the own one has?
    _Case(
        "bulk copy of which the other CTA knows", _INIT + _CLUSTER, _BULK, _WAIT, "may still access its shared memory"
    ),
    _Case("bulk copy and no wait", _INIT + _CLUSTER, _BULK, "bar.sync 0;", _EXITED),
    # A barrier says that the copy was issued, but not that it is complete.
    _Case("bulk copy and no wait but a barrier", _INIT + _CLUSTER, _BULK, _CLUSTER, _EXITED),
]


@pytest.mark.sample(17)
@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_shared_memory(case: _Case, seed: int | None):
    text = entry(_PREFIX + case.before + case.access + case.behind, (), _DECLARATIONS)
    if not case.finding:
        run(text, "k", 2, 32, [], cluster=2, seed=seed)
        return
    with pytest.raises(SimError, match=case.finding) as caught:
        run(text, "k", 2, 32, [], cluster=2, seed=seed)
    assert caught.value.line is not None


_TENSOR = Product("f16", "f16", "f16", 256, 16, ctas=2, steps=1)
_COMMIT = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"


def test_pairs_need_no_barrier_behind_a_commit_for_both():
    """Each CTA waits for the products that read and write its memory: nothing else is to come."""
    case = build(_TENSOR)
    end = case.text.rindex(_CLUSTER)
    text = case.text[:end] + case.text[end:].replace(_CLUSTER, "bar.sync 0;")
    for seed in _SEEDS:
        assert np.array_equal(case.run(text, seed), case.expected)


@pytest.mark.parametrize("seed", _SEEDS)
def test_pairs_start_together(seed: int | None):
    case = build(_TENSOR)
    text = case.text.replace(_CLUSTER, "bar.sync 0;")
    assert text != case.text
    with pytest.raises(SimError, match="may not have started|no mbarrier object|never written|columns are none"):
        case.run(text, seed)


@pytest.mark.parametrize("seed", _SEEDS)
def test_commits_that_nobody_waits_for(seed: int | None):
    """A commit arrives in both CTAs, but only the first one waits: the other may have exited by then."""
    case = build(_TENSOR)
    declared = case.text.replace(
        ".shared .align 8 .b64 bar;", ".shared .align 8 .b64 bar; .shared .align 8 .b64 extra;"
    )
    made = declared.replace(
        "@%p1 mbarrier.init",
        "mov.b32 %x15, extra; @%p1 mbarrier.init.shared::cta.b64 [%x15], 1; @%p1 mbarrier.init",
    )
    text = made.replace(f"{_COMMIT} [%r4], %h0;", f"{_COMMIT} [%r4], %h0; {_COMMIT} [%x15], %h0;")
    assert text != made != declared != case.text
    end = text.rindex("tcgen05.fence::before_thread_sync;")
    with pytest.raises(SimError, match=_EXITED):
        case.run(text[:end] + text[end:].replace(_CLUSTER, "bar.sync 0;"), seed)
    # With a wait in the other CTA it is clean, whatever the last barrier.
    waited = text[:end] + (
        "EXTRA: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%x15], 0; @!%p6 bra EXTRA;\n" + text[end:]
    ).replace(_CLUSTER, "bar.sync 0;")
    assert np.array_equal(case.run(waited, seed), case.expected)


_OUT = """
  ld.param.u64 %d0, [x]; mov.b32 %r3, data; mov.b32 %r4, bar; mov.u32 %r0, 7;
  st.shared.v4.b32 [%r3], {%r0, %r0, %r0, %r0}; fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r3], 16; cp.async.bulk.commit_group;
"""
_IN = """
  ld.param.u64 %d0, [x]; mov.b32 %r3, data; mov.b32 %r4, bar;
  mbarrier.init.shared::cta.b64 [%r4], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d0], 16, [%r4];
"""
_COPIES = {
    "out, waited": (_OUT + "cp.async.bulk.wait_group.read 0;", ""),
    "out": (_OUT, "line 10 may still read its shared memory: expected cp.async.bulk.wait_group.read"),
    "out, one of two": (
        _OUT + "cp.async.bulk.wait_group.read 0;" + _OUT + "cp.async.bulk.wait_group.read 1;",
        "may still read its shared memory",
    ),
    "in, waited": (_IN + _WAIT, ""),
    "in": (_IN, "may still access its shared memory: expected a wait on its mbarrier"),
}


@together("body, finding", _COPIES.values())
def test_bulk_copies_end_before_the_block(body: str, finding: str):
    text = entry(body, ("x",), _DECLARATIONS)
    memory, warnings = np.full(4, 3, np.uint32), list[SimWarning]()
    sim.run(text, "k", 1, 1, [memory], check="hardware", report=warnings.append)
    assert [each.rule for each in warnings] == (["bulk copy at the end"] if finding else [])
    if not finding:
        run(text, "k", 1, 1, [memory])
        return
    with pytest.raises(SimError, match=finding):
        run(text, "k", 1, 1, [memory])


@together(
    "body, finding",
    [
        ("barrier.cluster.wait.aligned;", "expected barrier.cluster.arrive of the thread before"),
        (f"{_CLUSTER} barrier.cluster.wait.aligned;", "expected barrier.cluster.arrive of the thread before"),
        ("barrier.cluster.arrive.aligned; " + _CLUSTER, "expected barrier.cluster.wait since the last arrival"),
        (_CLUSTER + _RELAXED + "barrier.cluster.arrive.aligned;", ""),
    ],
)
def test_arrivals_and_waits_of_clusters_take_turns(body: str, finding: str):
    if not finding:
        run(entry(body, ()), "k", 2, 32, [], cluster=2)
        return
    with pytest.raises(SimError, match=finding):
        sim.run(entry(body, ()), "k", 2, 32, [], cluster=2)
