"""Asynchronous work: copies and products that join a queue, and waiting for them."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_operand_def, opt_prop_def, opt_result_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.nesting import enclosing
from tirx.dialects.syntax import VALUE, Clause, WrittenOp, parse_attributes, parse_in_parens, parse_integer, write
from tirx.dialects.tirx.attributes import MemorySpace, TileType, require_alike
from tirx.dialects.tirx.block_groups import BlockGroup
from tirx.dialects.tirx.engines import ASYNC_ENGINES, AsyncEngine, Engine, EngineAttr, Queue, QueueAttr
from tirx.dialects.tirx.kernel import MOST_BLOCKS, KernelOp
from tirx.dialects.tirx.product import ProductOp
from tirx.dialects.tirx.ring_types import PendingType
from tirx.dialects.tirx.rings import RingOp
from tirx.rules import EngineError, ProductClauseError, QueueError, TileMemoryError

_EFFECTS = (MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class AsyncCopyOp(DirectOperation):
    """`tirx.async_copy %x, %y engine(tma) : !tirx.tile<..., global>, !tirx.tile<..., shared>`

    Starts to copy a tile; the copy joins the queue of its engine (`ASYNC_ENGINES`). By `engine(tma_multicast)` it comes
    to the same place in all blocks of the cluster, with `among(2 : 2)` in the two of them whose ranks are 2 apart: of
    ranks 0 to 3, these are 0 and 2, or 1 and 3.
    """

    name = "tirx.async_copy"

    source = operand_def(TileType)
    destination = operand_def(TileType)
    engine = prop_def(EngineAttr)
    blocks = opt_prop_def(IntegerAttr[I32])
    apart = opt_prop_def(IntegerAttr[I32])

    assembly_format = (
        "$source `,` $destination `engine` `(` $engine `)` (`among` `(` $blocks^ `:` $apart `)`)? attr-dict "
        "`:` type($source) `,` type($destination)"
    )

    traits = traits_def(*_EFFECTS)

    @property
    def moves(self) -> AsyncEngine:
        """The memories between which the engine copies, and its queue. Raises VerifyException for a synchronous one."""
        if (found := ASYNC_ENGINES.get(self.engine.data)) is None:
            raise EngineError(
                f"expected an engine that copies tiles asynchronously ({', '.join(ASYNC_ENGINES)}), "
                f"found {self.engine.data}"
            )
        return found

    @property
    def queue(self) -> Queue:
        return self.moves.queue

    @property
    def group(self) -> BlockGroup | None:
        """The blocks that `among` names; None where the copy comes to its own block, or to all of them."""
        return (
            None
            if self.blocks is None or self.apart is None
            else BlockGroup(self.blocks.value.data, self.apart.value.data)
        )

    def verify_(self) -> None:
        moves = self.moves
        source, destination = TileType.of(self.source), TileType.of(self.destination)
        if (source.memory, destination.memory) != (moves.source, moves.destination):
            raise EngineError(
                f"expected a copy from {moves.source.place} to {moves.destination.place} for {self.engine.data}, "
                f"found one from {source.memory.place} to {destination.memory.place}"
            )
        require_alike(source, destination)
        self._verify_group()

    def _verify_group(self) -> None:
        if (self.blocks is None) != (self.apart is None):
            raise EngineError("expected both numbers of among, found one")
        if (group := self.group) is None:
            return
        if self.engine.data is not Engine.TMA_MULTICAST:
            raise EngineError(f"expected among only for {Engine.TMA_MULTICAST}, found it for {self.engine.data}")
        kernel = enclosing(self, KernelOp)
        most = MOST_BLOCKS if kernel is None else kernel.cluster_size
        if not group.fits(most):
            raise EngineError(
                f"expected among(N : S) with powers of two, N of 2 or more and N x S at most {most}, the blocks of a "
                f"cluster, found among({group.count} : {group.stride})"
            )


@irdl_op_definition
class AsyncMmaOp(ProductOp):
    """`%p = tirx.async_mma %a, %b, %acc : !tirx.tile<...>, ... -> !tirx.pending<!tirx.tile<MxN..., register>>`

    Starts a product. With the accumulator in registers it is wgmma: the accumulator is a tile or a pending tile, and
    the result is pending. With the accumulator in a held slot of tensor memory it is tcgen05, without a result. Shapes
    and clauses are those of `tirx.mma`.
    """

    name = "tirx.async_mma"

    traits = traits_def(*_EFFECTS)

    @property
    def queue(self) -> Queue:
        return Queue.TCGEN05 if self.on_tensor_memory else Queue.WGMMA

    def verify_(self) -> None:
        acc = self.accumulator_type
        if acc.memory not in (MemorySpace.TENSOR, MemorySpace.REGISTER):
            raise TileMemoryError(
                f"expected the accumulator in tensor memory or registers, found it in {acc.memory.place}"
            )
        other = MemorySpace.TENSOR if self.on_tensor_memory else MemorySpace.REGISTER
        for name, type_, wanted in (
            ("A", self.a_type, (MemorySpace.SHARED, other)),
            ("B", self.b_type, (MemorySpace.SHARED,)),
            *((name, TileType.of(tile), (MemorySpace.TENSOR,)) for name, tile in self._tensor_operands()),
        ):
            if type_.memory not in wanted:
                raise TileMemoryError(
                    f"expected {name} in {' or '.join(memory.place for memory in wanted)} for an accumulator in "
                    f"{acc.memory.place}, found it in {type_.memory.place}"
                )
        self.verify_shapes()
        expected = None if self.on_tensor_memory else PendingType(acc)
        found = None if self.result is None else self.result.type
        if found != expected:
            raise ProductClauseError(
                f"expected {'no result' if expected is None else f'a result of type {expected}'} for an accumulator in "
                f"{acc.memory.place}, found {'none' if found is None else f'one of type {found}'}"
            )
        self.verify_clauses()
        self.verify_family()
        if not self.on_tensor_memory and self.instruction is not None:
            raise ProductClauseError("expected an accumulator in tensor memory for instruction, found one in registers")

    def _tensor_operands(self) -> list[tuple[str, SSAValue]]:
        named = (("SFA", self.scale_a), ("SFB", self.scale_b))
        return [(name, tile) for name, tile in named if tile is not None]


@irdl_op_definition
class AsyncNextOp(WrittenOp):
    """`tirx.async_next %clc engine(clc)`: asks for the next tile, into the slot of a ring of answers that is held."""

    name = "tirx.async_next"

    ring = operand_def()
    engine = prop_def(EngineAttr)

    SYNTAX: ClassVar = (Clause("", VALUE, "ring"), Clause("engine()", Engine, needed=True))

    traits = traits_def(*_EFFECTS)

    def __init__(self, ring: SSAValue, engine: Engine = Engine.CLC):
        super().__init__(ring, engine)

    @property
    def queue(self) -> Queue:
        return Queue.TMA

    def verify_(self) -> None:
        ring = RingOp.of(self.ring).result.type
        if not ring.is_tile_id:
            raise QueueError(f"expected a ring of answers, !tirx.ring<tile_id>, found {ring}")
        if self.engine.data is not Engine.CLC:
            raise EngineError(f"expected engine({Engine.CLC}), found engine({self.engine.data})")


@irdl_op_definition
class AwaitOp(DirectOperation):
    """`tirx.await wgmma pending(1)`: goes on when at most one group of this queue of the role is unfinished.

    `%c = tirx.await %p : !tirx.pending<T>`: the tile, when the product that writes it is complete, whatever was started
    since.
    """

    name = "tirx.await"

    value = opt_operand_def(PendingType)
    queue = opt_prop_def(QueueAttr)
    pending = opt_prop_def(IntegerAttr[I32])
    result = opt_result_def(TileType)

    traits = traits_def(*_EFFECTS)

    def __init__(self, value: SSAValue | None = None, queue: Queue | None = None, pending: int = 0):
        tile = None if value is None else PendingType.tile_of(value)
        super().__init__(value, queue, None if queue is None else pending, tile)

    @property
    def awaited_queue(self) -> Queue:
        """The queue whose groups are waited for."""
        return Queue.WGMMA if self.queue is None else self.queue.data

    def verify_(self) -> None:
        if (self.value is None) == (self.queue is None) or (self.queue is None) != (self.pending is None):
            raise QueueError("expected a pending tile, or a queue and how many groups may be pending")
        expected = None if self.value is None else PendingType.tile_of(self.value)
        if expected != (found := None if self.result is None else self.result.type):
            of_type = "no result" if expected is None else f"a result of type {expected}"
            raise QueueError(f"expected {of_type}, found {'none' if found is None else found}")
        if self.queue is not None and not self.queue.data.has_groups:
            names = ", ".join(queue for queue in Queue if queue.has_groups)
            raise QueueError(
                f"expected a queue whose groups threads can wait for ({names}), found {self.queue.data}, whose work "
                f"completes on the barriers of a ring"
            )
        if self.pending is not None and self.pending.value.data < 0:
            raise QueueError(f"expected 0 or more pending groups, found {self.pending.value.data}")

    @classmethod
    def parse(cls, parser: Parser) -> AwaitOp:
        start = parser.pos
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            queue = parser.parse_str_enum(Queue)
            if (pending := parse_in_parens(parser, "pending", lambda: parse_integer(parser))) is None:
                parser.raise_error("expected pending(k), how many groups may be unfinished", start)
            return cls(queue=queue, pending=pending).with_attributes(parse_attributes(parser, cls))
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        start = parser.pos
        type_ = parser.parse_type()
        if not isinstance(type_, PendingType):
            parser.raise_error(f"expected a pending tile, found {type_}", start, parser.pos)
        return cls(parser.resolve_operand(operand, type_)).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        if self.value is not None:
            write(printer, " ", self.value)
        elif self.queue is not None and self.pending is not None:
            write(printer, f" {self.queue.data} pending({self.pending.value.data})")
        printer.print_op_attributes(self.attributes)
        if self.value is not None:
            write(printer, " : ", self.value.type)
