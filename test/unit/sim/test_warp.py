"""Communication in a warp against numpy, for one warp and for several that run as one thread group."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.kernels import run_threads

from tirx.sim import SimError
from tirx.sim.core.barrier import WarpBarriers
from tirx.sim.hazards.monitor import Monitor

_LANES = 96
_Words = npt.NDArray[np.uint32]


def _inputs(seed: int = 0) -> _Words:
    return np.random.default_rng(seed).integers(0, 2**32, (_LANES, 4), dtype=np.uint32)


@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 8])
def test_shfl(mode: str, width: int, seed: int | None):
    x = _inputs()
    x[:, 1] %= 40
    clamp = (32 - width) << 8 | (0 if mode == "up" else width - 1)
    result = run_threads(
        f"shfl.sync.{mode}.b32 %o0|%p0, %a0, %a1, {clamp:#x}, 0xffffffff; selp.b32 %o1, 1, 0, %p0;",
        x,
        2,
        declarations=".reg .pred %q;",
        seed=seed,
    )
    for lane in range(_LANES):
        own, by = lane % 32, int(x[lane, 1]) & 31
        first = own // width * width
        source = {"up": own - by, "down": own + by, "bfly": own ^ by, "idx": first + by % width}[mode]
        valid = source >= first if mode == "up" else source < first + width
        # bfly may leave the segment downwards: only the upper bound is checked.
        expected = x[lane - own + (source if valid else own), 0]
        assert result[lane].tolist() == [expected, int(valid)], (lane, mode)


@pytest.mark.parametrize("seed", [None, 1])
def test_vote_match_and_redux(seed: int | None):
    x = _inputs()
    x[:, 1] %= 5
    x[64:, 1] = 3
    result = run_threads(
        """
  and.b32 %r0, %a0, 1; setp.eq.u32 %p0, %r0, 1;
  vote.sync.ballot.b32 %o0, %p0, 0xffffffff;
  vote.sync.all.pred %p1, %p0, 0xffffffff; selp.b32 %o1, 1, 0, %p1;
  vote.sync.any.pred %p1, %p0, 0xffffffff; selp.b32 %o2, 1, 0, %p1;
  match.any.sync.b32 %o3, %a1, 0xffffffff;
  match.all.sync.b32 %o4|%p1, %a1, 0xffffffff; selp.b32 %o5, 1, 0, %p1;
  redux.sync.add.s32 %o6, %a0, 0xffffffff;
  redux.sync.max.u32 %o7, %a0, 0xffffffff;
  redux.sync.xor.b32 %o8, %a0, 0xffffffff;""",
        x,
        9,
        seed=seed,
    )
    weights = 1 << np.arange(32, dtype=np.uint64)
    for warp in range(3):
        a, b = x[32 * warp : 32 * warp + 32, 0], x[32 * warp : 32 * warp + 32, 1]
        odd = (a & 1).astype(np.uint64)
        for lane in range(32):
            same = (b == b[lane]).astype(np.uint64)
            all_same = bool(same.all())
            expected = [odd @ weights, odd.all(), odd.any(), same @ weights, 0xFFFFFFFF if all_same else 0, all_same]
            expected += [int(a.sum(dtype=np.uint32)), a.max(), np.bitwise_xor.reduce(a)]
            assert result[32 * warp + lane].tolist() == [int(each) for each in expected]


def test_groups_of_lanes_with_their_own_masks():
    """Diverged halves of a warp vote and elect each for themselves."""
    result = run_threads(
        """
  and.b32 %r0, %thread, 1; setp.eq.u32 %p0, %r0, 0; @%p0 bra EVEN;
  setp.gt.u32 %p1, %thread, 7;
  vote.sync.ballot.b32 %o0, %p1, 0xAAAAAAAA; elect.sync %o1|%p2, 0xAAAAAAAA; bra END;
EVEN:
  setp.lt.u32 %p1, %thread, 7;
  vote.sync.ballot.b32 %o0, %p1, 0x55555555; elect.sync %o1|%p2, 0x55555555;
END: selp.b32 %o2, 1, 0, %p2;""",
        np.zeros((32, 4), np.uint32),
        3,
    )
    odd, even = sum(1 << lane for lane in range(9, 32, 2)), sum(1 << lane for lane in range(0, 7, 2))
    assert result[0::2].tolist() == [[even, 0, int(lane == 0)] for lane in range(0, 32, 2)]
    assert result[1::2].tolist() == [[odd, 1, int(lane == 1)] for lane in range(1, 32, 2)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "setp.eq.u32 %p0, %thread, 3; @%p0 bra L; shfl.sync.idx.b32 %o0, %a0, 0, 31, -1; L:",
            "waits for lanes [3] of its member mask, which have diverged",
        ),
        ("shfl.sync.idx.b32 %o0, %a0, 8, 31, 0xff;", "a member mask that has the executing lane in it"),
        ("setp.lt.u32 %p0, %thread, 8; @%p0 shfl.sync.idx.b32 %o0, %a0, 8, 31, 0xff;", "reads lane 8"),
        ("vote.ballot.b32 %o0, %p0;", "expected one of .sync"),
    ],
)
def test_wrong_members(body: str, message: str):
    with pytest.raises(SimError) as caught:
        run_threads(f"mov.u32 %o0, 0; {body}", np.zeros((32, 4), np.uint32))
    assert message in str(caught.value)


@together("seed", [None, 1])
@together("barrier", ["bar.warp.sync -1;", "barrier.sync 1, 64;"])
def test_barriers_at_several_places(barrier: str, seed: int | None):
    """Lanes below 16 meet the others, which are still in their branch, at the barrier behind it."""
    body = f"""and.b32 %r0, %thread, 31; setp.lt.u32 %p0, %r0, 16; mov.u32 %o0, 1; @%p0 bra BEHIND;
  mov.u32 %o0, 2; {barrier} bra END;
BEHIND: {barrier}
END:"""
    words = np.zeros((64, 4), np.uint32)
    assert run_threads(body, words, seed=seed)[:, 0].tolist() == [1] * 16 + [2] * 16 + [1] * 16 + [2] * 16
    twice = body.replace("bra END;", "").replace("END:", "mov.u32 %o0, 3;")
    if barrier.startswith("bar.warp"):  # those that have exited are not waited for
        assert (run_threads(twice, words, seed=seed)[:, 0] == 3).all()
    else:
        with pytest.raises(SimError, match="at barrier 1, where 32 of 64 threads are"):
            run_threads(twice, words, seed=seed)


@pytest.mark.parametrize("seed", [None, 1])
def test_matrices(seed: int | None):
    """stmatrix, ldmatrix (also transposed) and movmatrix of the same 8x8 matrices."""
    x = _inputs()[:64]
    result = run_threads(
        """
  shr.u32 %r0, %thread, 5; mul.lo.u32 %r0, %r0, 512; mov.b32 %r1, tile; add.u32 %r1, %r1, %r0;
  and.b32 %r2, %thread, 31; shl.b32 %r2, %r2, 4; add.u32 %r2, %r1, %r2;
  stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%a0, %a1, %a2, %a3};
  bar.warp.sync -1;
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%o0, %o1, %o2, %o3}, [%r2];
  ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%o4, %o5}, [%r2];
  movmatrix.sync.aligned.m8n8.trans.b16 %o6, %a1;""",
        x,
        7,
        declarations=".shared .align 16 .b8 tile[1024];",
        seed=seed,
    )
    assert np.array_equal(result[:, :4], x)
    halves = x.view(np.uint16).reshape(2, 32, 4, 2)
    for warp in range(2):
        matrices = halves[warp].transpose(1, 0, 2).reshape(4, 8, 8)  # register i of lane l: row l/4, columns 2*(l%4)...
        for index, column in ((0, 4), (1, 5)):
            transposed = matrices[index].T.reshape(32, 2).copy().view(np.uint32)[:, 0]
            assert np.array_equal(result[32 * warp : 32 * warp + 32, column], transposed)
        assert np.array_equal(result[32 * warp : 32 * warp + 32, 6], result[32 * warp : 32 * warp + 32, 5])


@together(
    ("members", "alive", "arrivals", "complete"),
    [
        (0x0F, 0xFF, [0x0F], True),  # lanes that are no members are not waited for
        (0x0F, 0xFF, [0x07], False),
        (0x0F, 0xFF, [0x07, 0x08], True),
        (0x0F, 0x07, [0x03, 0x04], True),  # and none that has exited
        (0x0F, 0x07, [0x03], False),
    ],
)
def test_barriers_of_a_warp(members: int, alive: int, arrivals: list[int], complete: bool):
    completed: list[bool] = []
    barriers = WarpBarriers(Monitor(), lambda: completed.append(True))
    group = Mock()
    for arrived in arrivals:
        assert not completed
        barriers.arrive(group, np.arange(32), _lanes(arrived), members, _lanes(alive))
    assert completed == [True] * complete
    assert group.wait.ready() is complete
    with pytest.raises(SimError, match="a lane that is not in its member mask"):
        barriers.arrive(group, np.arange(32), _lanes(0x10), members, _lanes(alive))


def _lanes(mask: int) -> npt.NDArray[np.bool_]:
    return (mask >> np.arange(32) & 1).astype(np.bool_)
