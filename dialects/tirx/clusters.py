"""Sums over the blocks of a cluster, each of which keeps its share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, result_def

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.nesting import enclosing
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.kernel import KernelOp
from tirx.dialects.tirx.parts import slots_of
from tirx.dialects.tirx.registers import require_register
from tirx.dialects.tirx.roles import RoleOp
from tirx.layout import LayoutError, TileLayout
from tirx.rules import ElementTypeError, KernelError, TileMemoryError, TileShapeError
from tirx.values import dataclass


@dataclass(frozen=True)
class _Share(Reduced):
    """`part` is one of equal shares of the columns of `whole`: of each thread the same registers, further on."""

    def layout(self, whole: TileLayout) -> TileLayout:
        dims, columns = TileType.of(self.whole).dims, TileType.of(self.part).dims[-1]
        registers, count = slots_of(whole), dims[-1] // columns
        boxes = [(*((0, n) for n in dims[:-1]), (q * columns, (q + 1) * columns)) for q in range(count)]
        first = whole.slice(dims, boxes[0])
        moved = [first.with_offset(m=q * registers // count) for q in range(count)]
        if slots_of(first) * count != registers or [whole.slice(dims, box) for box in boxes] != moved:
            raise LayoutError(
                f"expected {count} shares of the columns that are one after the other in the registers of each "
                f"thread, found {whole}"
            )
        return first


@irdl_op_definition
class ClusterSumOp(DirectOperation, TileOpInterface):
    """`%s = tirx.cluster_sum %x, %b : !tirx.tile<64x64xf32, register>, !tirx.tile<64x64xf32, shared>
        -> !tirx.tile<64x16xf32, register>`

    Adds up the tiles `%x` of all blocks of a cluster, here four, in the order of their ranks: every block gets the same
    bits. The block of rank r keeps the columns from 16 r on. Where the result has more columns, there are fewer shares
    than blocks, and the block of rank r keeps share r modulo their number. `%b` is memory that the others read `%x`
    from. All threads of the blocks that have not ended meet before and behind it, so that it stands in a kernel or in
    one role of it.
    """

    name = "tirx.cluster_sum"

    source = operand_def(TileType)
    buffer = operand_def(TileType)
    result = result_def(TileType)

    assembly_format = "$source `,` $buffer attr-dict `:` type($source) `,` type($buffer) `->` type($result)"

    @property
    def shares(self) -> int:
        """The shares of the columns, of which each block of the cluster gets one."""
        return TileType.of(self.source).dims[-1] // self.result.type.dims[-1]

    def tile_writes(self) -> Sequence[SSAValue]:
        return [self.buffer]

    def reductions(self) -> Sequence[Reduced]:
        return [_Share(self.source, self.result, ())]

    def verify_(self) -> None:
        source, buffer, result = TileType.of(self.source), TileType.of(self.buffer), self.result.type
        require_register(source)
        require_register(result)
        if source.element_type not in (f32, i32):
            raise ElementTypeError(f"expected sums of f32 or i32, found {source.element_type}")
        if buffer.memory is not MemorySpace.SHARED:
            raise TileMemoryError(f"expected a shared tile to read sums from, found {buffer}")
        if (buffer.dims, buffer.element_type) != (source.dims, source.element_type):
            raise TileShapeError(f"expected a shared tile like {source}, found {buffer}")
        if not isinstance(self.parent_op(), KernelOp | RoleOp):
            raise KernelError("expected all threads of a kernel, or of one role, to add sums once, found a region")
        kernel = enclosing(self, KernelOp)
        blocks = 1 if kernel is None or kernel.per_cta is None else kernel.cluster_size
        shares = source.dims[-1] // result.dims[-1]
        is_share = (*source.dims[:-1], source.dims[-1]) == (*result.dims[:-1], result.dims[-1] * shares)
        if blocks == 1 or not is_share or blocks % shares or result.element_type != source.element_type:
            raise TileShapeError(
                f"expected a share of {source} for each block of a cluster, cluster({blocks}) per_cta, found {result}"
            )
