"""Rings: slots of tiles that pass from station to station, and the two operations that move them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I32, ArrayAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.traits import HasParent, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import enum_attribute, irdl_op_definition
from tirx.dialects.syntax import STATION, VALUE, Clause, Form, WrittenOp, parse_defined, types_text
from tirx.dialects.tirx.engines import Queue, QueueAttr
from tirx.dialects.tirx.kernel import PAIR, KernelOp
from tirx.dialects.tirx.ring_types import RingType
from tirx.dialects.tirx.thread_sets import thread_owner
from tirx.rules import RingOpError, SlotTypeError, StationError

SELF = "self"
"""The station that is named after the party that acquires or releases at it."""


class Across(StrEnum):
    """The blocks whose parties share a ring: those of a cluster or of a pair, or the pairs of a cluster.

    Each block, or pair, of a cluster has slots of its own.
    """

    CLUSTER = "cluster"
    PAIR = "pair"
    PAIRS = "pairs"


AcrossAttr = enum_attribute("tirx.across", Across)


def _parse_type(parser: Parser) -> RingType:
    parser.parse_punctuation(":")
    start = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, RingType):
        parser.raise_error(f"expected a ring, such as !tirx.ring<>, found {type_}", start, parser.pos)
    return type_


def _parse_ring(parser: Parser) -> SSAValue:
    start = parser.pos
    ring = parse_defined(parser)
    if not isinstance(ring.type, RingType):
        parser.raise_error(f"expected a ring, found a value of type {ring.type}", start, parser.pos)
    return ring


_STATION = Clause("", Form(_parse_ring), "ring"), Clause("at()", STATION, "station", needed=True)
"""`%r at(use)`"""


@irdl_op_definition
class RingOp(WrittenOp):
    """`%r = tirx.ring slots(4) stations(fill, use) across(cluster) carries : !tirx.ring<a: T0, b: T1>`

    A ring of `slots` slots. Every slot travels through the stations in their order and from the last to the first. Use
    number u of a ring is slot u modulo `slots`, and numbers never restart, not even in the next tile of a persistent
    loop. Slot indices, phases, barriers and their counts follow from the users of a ring and are not written.

    With `across`, parties of all blocks of the cluster or pair take part; with `across(pairs)` copies of a block may
    come to other pairs of the cluster, too. With `carries`, the first station finds in the slot what the use before
    left, for which there can be only one slot.
    """

    name = "tirx.ring"

    slots = prop_def(IntegerAttr[I32])
    stations = prop_def(ArrayAttr[StringAttr])
    across = opt_prop_def(AcrossAttr)
    carries = opt_prop_def(UnitAttr)
    result = result_def(RingType)

    SYNTAX: ClassVar = (
        Clause("slots()", int, needed=True),
        Clause("stations(*)", STATION, needed=True),
        Clause("across()", Across),
        Clause("carries"),
    )
    BEHIND: ClassVar = (Clause("", Form(_parse_type, lambda result: [": ", result.type]), "result"),)

    traits = lazy_traits_def(lambda: (HasParent(KernelOp), MemoryWriteEffect()))

    @staticmethod
    def of(value: SSAValue) -> RingOp:
        """The operation that defines a ring. Raises VerifyException for another value."""
        owner = value.owner
        if not isinstance(owner, RingOp):
            raise RingOpError(f"expected a ring that 'tirx.ring' defines, found a value of type {value.type}")
        return owner

    @property
    def num_slots(self) -> int:
        return self.slots.value.data

    @property
    def station_names(self) -> tuple[str, ...]:
        return tuple([name.data for name in self.stations.data])

    def verify_(self) -> None:
        names = self.station_names
        if self.num_slots < 1:
            raise RingOpError(f"expected at least 1 slot, found {self.num_slots}")
        if not names:
            raise RingOpError("expected at least 1 station, found none")
        for name in names:
            if names.count(name) > 1:
                raise RingOpError(f"expected stations of different names, found '{name}' twice")
            if name == SELF:
                raise RingOpError(
                    f"expected a station named otherwise, found '{SELF}', which stands for the station of a party"
                )
        if self.carries is not None and self.num_slots != 1:
            raise RingOpError(
                f"expected 1 slot with carries, whose uses read what the use before left, found {self.num_slots}"
            )
        kernel = self.parent_op()
        if self.across is not None and isinstance(kernel, KernelOp) and not kernel.in_clusters:
            raise RingOpError(f"expected a kernel with a cluster for across({self.across.data}), found one without")
        several = self.across is not None and self.across.data is Across.PAIRS
        if several and isinstance(kernel, KernelOp) and (kernel.cluster_size <= PAIR or kernel.cluster_size % PAIR):
            raise RingOpError(
                f"expected a kernel with a cluster of several pairs for across({Across.PAIRS}), found "
                f"cluster({kernel.cluster_size})"
            )


def _verify_station(op: AcquireOp | ReleaseOp, partner: type[AcquireOp] | type[ReleaseOp]) -> None:
    """The station exists, and the role moves slots through it in both directions."""
    ring, station = RingOp.of(op.ring), op.station.data
    names = ring.station_names
    if station == SELF and not ring.result.type.is_baton:
        raise StationError(f"expected at({SELF}) only for a ring without tiles, found {ring.result.type}")
    if station not in (*names, SELF):
        raise StationError(f"expected a station of the ring ({', '.join(names)}), found '{station}'")
    owner = thread_owner(op)
    if owner is None:
        return

    def is_partner(other: Operation) -> bool:
        return isinstance(other, partner) and other.ring is op.ring and other.station == op.station

    # Most stand in the block of the operation: there are as many uses of a ring as there are loops.
    assert op.parent is not None
    if not any(map(is_partner, op.parent.ops)) and not any(
        is_partner(use.operation) and thread_owner(use.operation) is owner for use in op.ring.uses
    ):
        where = "in the kernel" if isinstance(owner, KernelOp) else "in the same role"
        raise StationError(f"expected a '{partner.name}' at({station}) of the same ring {where}, found none")


@irdl_op_definition
class AcquireOp(WrittenOp):
    """`%a, %b = tirx.acquire %r at(use)`: the next use of the ring, as soon as it has come to the station.

    Waits until every party of the station before has passed the use on; at the first station, until the last one has
    passed on the use that had the slot before. Gives the slot's tiles, one value per view. A ring of integers or of
    answers of cluster launch control gives nothing at its first station; an answer is read as `%more, %i, %j`: whether
    there is one more tile, and which.
    """

    name = "tirx.acquire"

    ring = operand_def(RingType)
    station = prop_def(StringAttr)
    tiles = var_result_def(AnyAttr())

    SYNTAX: ClassVar = _STATION

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(self, ring: SSAValue, station: str):
        super().__init__(ring, station, _acquired_types(ring, station))

    def verify_(self) -> None:
        _verify_station(self, ReleaseOp)
        expected = _acquired_types(self.ring, self.station.data)
        if tuple(self.tiles.types) != expected:
            raise SlotTypeError(
                f"expected results of types {types_text(expected)}, found {types_text(self.tiles.types)}"
            )


def _acquired_types(ring: SSAValue, station: str) -> tuple[Attribute, ...]:
    """Returns the types that an acquire of `ring` gives at `station`. Raises VerifyException for another value."""
    op = RingOp.of(ring)
    return op.result.type.acquired_types(at_first=op.station_names[:1] == (station,))


@irdl_op_definition
class ReleaseOp(WrittenOp):
    """
    `tirx.release %r at(use) after(wgmma)`: passes the oldest slot that this party holds at the station on to the next.

    With `after`, once the work of this party in that queue on the slot is complete: at once if a thread completes it
    (`tirx.await`), by hardware otherwise. It does not wait for threads that access the slot beside work of other
    queues than `cp_async`: these need a release without `after`, behind `tirx.await`, or a station in front of it.
    `after(tcgen05) early`: as soon as the products have read the slot, all of which read it as A; they may still read B
    and write D. At the first station of a ring of integers, `with(%n, %last)` gives their values.
    """

    name = "tirx.release"

    ring = operand_def(RingType)
    station = prop_def(StringAttr)
    after = opt_prop_def(QueueAttr)
    early = opt_prop_def(UnitAttr)
    values = var_operand_def(AnyAttr())

    SYNTAX: ClassVar = (
        *_STATION,
        Clause("after()", Queue),
        Clause("early"),
        Clause("with(*)", VALUE, "values"),
    )

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        ring: SSAValue,
        station: str,
        after: Queue | None = None,
        values: Sequence[SSAValue] = (),
        early: bool = False,
    ):
        super().__init__(ring, station, values, after, early=early)

    def verify_(self) -> None:
        _verify_station(self, AcquireOp)
        ring = RingOp.of(self.ring)
        type_, writes = ring.result.type, ring.station_names[0] == self.station.data
        expected = tuple(view.type for view in type_.views) if type_.holds_scalars and writes else ()
        if tuple(value.type for value in self.values) != expected:
            raise SlotTypeError(
                f"expected with(...) values of types {types_text(expected)}, "
                f"found {types_text(value.type for value in self.values)}"
            )
        if self.after is not None and (type_.is_baton or type_.holds_scalars):
            raise StationError(f"expected no after({self.after.data}) for a ring without tiles, found one")
        if self.early is not None and (self.after is None or self.after.data is not Queue.TCGEN05):
            raise StationError(f"expected 'early' with after({Queue.TCGEN05}) only, found it without")
