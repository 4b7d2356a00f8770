"""Rules of rings of answers of cluster launch control that no count of acquires and releases shows."""

from __future__ import annotations

from collections.abc import Iterable

from tirx.dialects.nesting import walk
from tirx.dialects.tirx import AcquireOp, Across, AsyncNextOp, KernelOp, ReleaseOp, RingOp, TilesOp
from tirx.passes.rings.proof.errors import LaunchControlError
from tirx.passes.rings.proof.parties import Owner, blocks_led, response_place
from tirx.passes.rings.proof.slots import place_of


def check_launch_control(kernel: KernelOp, rings: Iterable[RingOp], owners: Iterable[Owner]) -> None:
    """Raises LaunchControlError unless each tile asks for one more, all blocks hear the answer, and nobody asks behind
    the last.

    A request behind an answer that there is no tile left is undefined (PTX ISA, "clusterlaunchcontrol.try_cancel"), and
    a tile whose answer nobody reads is never computed.
    """
    answers = [ring for ring in rings if ring.result.type.is_tile_id]
    for ring in answers[1:]:
        raise LaunchControlError("expected one ring of answers in a kernel, found a second one", ring)
    for ring in answers:
        _check_ring(kernel, ring)
        for owner in owners:
            _check_loops(
                owner, [op for op in walk(owner) if isinstance(op, TilesOp) and response_place(op) is not None]
            )
        _check_requests(kernel, ring)


def _check_ring(kernel: KernelOp, ring: RingOp) -> None:
    if len(ring.station_names) != 2:
        raise LaunchControlError(
            f"expected two stations of a ring of answers, one that asks and one that reads, found "
            f"{', '.join(ring.station_names)}",
            ring,
        )
    if kernel.cluster is not None and (ring.across is None or ring.across.data is not Across.CLUSTER):
        found = "none" if ring.across is None else f"across({ring.across.data})"
        raise LaunchControlError(
            f"expected across(cluster) of a ring of answers, since a cluster asks once for all of its blocks, found "
            f"{found}",
            ring,
        )
    if blocks_led(kernel) < kernel.cluster_size:
        raise LaunchControlError(
            f"expected a cluster of one pair, to which hardware gives tiles, found cluster({kernel.cluster_size})",
            ring,
        )
    for op in walk(kernel):
        if isinstance(op, AcquireOp | ReleaseOp) and place_of(op) == (ring, ring.station_names[1]):
            raise LaunchControlError(
                f"expected 'tirx.tiles' with hardware(...) to read the answers of a ring, found '{op.name}'", op
            )


def _check_loops(owner: Owner, loops: list[TilesOp]) -> None:
    for loop in loops:
        around = loop.parent_op()
        if around is not owner:
            inside = "nothing" if around is None else f"'{around.name}'"
            raise LaunchControlError(
                f"expected the loop over tiles that hardware gives in no other loop, found {inside}", loop
            )
    for loop in loops[1:]:
        raise LaunchControlError(
            "expected one loop over tiles that hardware gives: behind it there are none left, found a second one", loop
        )


def _check_requests(kernel: KernelOp, ring: RingOp) -> None:
    requests = [op for op in walk(kernel) if isinstance(op, AsyncNextOp)]
    if not requests:
        raise LaunchControlError("expected 'tirx.async_next' in a loop over the tiles of this ring, found none", ring)
    for op in requests:
        loop = op.parent_op()
        if not isinstance(loop, TilesOp) or response_place(loop) is None:
            inside = "nothing" if loop is None else f"'{loop.name}'"
            raise LaunchControlError(
                "expected one request in every tile, at the top of 'tirx.tiles' with hardware(...): behind the last "
                f"answer it is undefined, found it in {inside}",
                op,
            )
    for op in requests[1:]:
        raise LaunchControlError(
            "expected one request in every tile, found a second one: its tile would be lost",
            op,
            [("the first of them", requests[0])],
        )
