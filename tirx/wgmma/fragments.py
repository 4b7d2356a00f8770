"""The threads that hold the elements of operands of wgmma.mma_async, as layouts over `warpid`, `laneid` and `m`.

Axis m counts elements in the registers of a thread: 32-bit registers hold one f32 or s32, or two f16, of D, as many
elements of A as fit, and eight codes of sparsity metadata; the first is in the low bits. Source: PTX ISA,
wgmma.mma_async, "Matrix fragments" ("Register Fragments and Shared Memory Matrix Layouts"), and wgmma.mma_async.sp,
"Sparse matrix storage".
"""

from __future__ import annotations

from tirx.hw.errors import SparseMetadataError, WarpgroupProductError, expect_steps
from tirx.layout import Iter, TileLayout
from tirx.values import dataclass
from tirx.wgmma.kinds import ROWS, WARPGROUP_WARPS, find_kind

CODES_PER_REGISTER = 8
"""Codes of sparsity metadata, of 4 bits, in a 32-bit register."""


@dataclass(frozen=True)
class Warpgroups:
    """A grid of warpgroups over the rows and columns of D.

    `m`, `n`: how many along each; neighbours along N have consecutive numbers. `first_warp`: the first warp of the
    grid, a multiple of 4 (warpgroups that only load come before it).
    """

    m: int = 1
    n: int = 1
    first_warp: int = 0

    def __post_init__(self) -> None:
        if self.m < 1 or self.n < 1:
            raise WarpgroupProductError(f"expected 1 or more warpgroups along M and N, found {self.m} and {self.n}")
        if self.first_warp < 0 or self.first_warp % WARPGROUP_WARPS:
            raise WarpgroupProductError(
                f"expected a first warp that is a multiple of {WARPGROUP_WARPS}, found {self.first_warp}; wgmma needs "
                "aligned warpgroups"
            )

    @property
    def count(self) -> int:
        return self.m * self.n

    @property
    def along_m(self) -> Iter:
        return Iter(self.m, WARPGROUP_WARPS * self.n, "warpid")

    @property
    def along_n(self) -> Iter:
        return Iter(self.n, WARPGROUP_WARPS, "warpid")

    @property
    def offsets(self) -> dict[str, int]:
        return {"warpid": self.first_warp} if self.first_warp else {}


ONE_WARPGROUP = Warpgroups()


def _layout(shard: tuple[Iter, ...], replica: tuple[Iter, ...], grid: Warpgroups) -> TileLayout:
    kept = tuple(it for it in shard if it.extent > 1)
    return TileLayout(kept, tuple(it for it in replica if it.extent > 1), grid.offsets)


def _blocks(m: int, grid: Warpgroups) -> int:
    """Blocks of 64 rows that each warpgroup has. Raises LegalityError when the rows do not divide so."""
    return expect_steps(WarpgroupProductError, "expected M", m, ROWS * grid.m, f" for {grid.m} warpgroup(s) along M")


def accumulator_layout(m: int, n: int, grid: Warpgroups = ONE_WARPGROUP) -> TileLayout:
    """D of `m` x `n` elements over a grid of warpgroups; each warpgroup has neighbouring rows and columns.

    Element 4 j + 2 i + e of a thread of warp w and lane 4 g + t, of one m64nN, is D[16 w + 8 i + g, 8 j + 2 t + e].
    Larger tiles have blocks of 64 rows one behind the other. Raises LegalityError when M or N does not divide.
    """
    blocks = _blocks(m, grid)
    blocks_n = expect_steps(WarpgroupProductError, "expected N", n, 8 * grid.n, f" for {grid.n} warpgroup(s) along N")
    rows = (grid.along_m, Iter(blocks, 4 * blocks_n), Iter(4, 1, "warpid"), Iter(2, 2), Iter(8, 4, "laneid"))
    return _layout((*rows, grid.along_n, Iter(blocks_n, 4), Iter(4, 1, "laneid"), Iter(2, 1)), (), grid)


def operand_a_layout(
    m: int, k: int, dtype: str, grid: Warpgroups = ONE_WARPGROUP, *, b: str | None = None
) -> TileLayout:
    """A of `m` x `k` stored elements in registers; warpgroups along N hold copies.

    With E elements in a 32-bit register, element E r + x of a thread of warp w and lane 4 g + t, of one instruction, is
    A[16 w + 8 (r % 2) + g, 4 E (r / 2) + E t + x]. The elements of one instruction along K follow those of the one
    before. D of 16-bit elements is such an A. Raises LegalityError for a type or size that does not exist.

    `b`: element type of B, by default that of A.
    """
    kind = find_kind(dtype, dtype if b is None else b)
    blocks = _blocks(m, grid)
    steps = expect_steps(WarpgroupProductError, "expected K", k, kind.k, f" stored elements of {dtype}")
    each = kind.elements_per_register
    rows = (grid.along_m, Iter(blocks, steps * 4 * each), Iter(4, 1, "warpid"), Iter(2, each), Iter(8, 4, "laneid"))
    columns = (Iter(steps, 4 * each), Iter(2, 2 * each), Iter(4, 1, "laneid"), Iter(each, 1))
    return _layout((*rows, *columns), (grid.along_n,), grid)


CODE_BITS = 4
"""A code says which elements of a chunk are stored (PTX ISA, "Sparse wgmma.mma_async")."""


@dataclass(frozen=True)
class SparseMetadata:
    """The metadata of a sparse A of some element width.

    `chunk`: elements of K that one code of 4 bits stands for, of which half are stored. `codes`: codes of a row in one
    instruction. `selectors`: values of the sparsity selector, each naming other threads of every four. `shared`:
    whether rows r and r + 8 of 16 share a register, four codes each; otherwise each has its own thread.
    """

    chunk: int
    codes: int
    selectors: int
    shared: bool


_WIDE = SparseMetadata(4, 8, 2, shared=True)

SPARSE_METADATA: dict[int, SparseMetadata] = {
    8: SparseMetadata(4, 16, 1, shared=False),
    16: _WIDE,
    32: SparseMetadata(2, 8, 2, shared=True),
}
"""Bits of an element of A -> its metadata."""


def metadata_layout(m: int, k: int, dtype: str, grid: Warpgroups = ONE_WARPGROUP) -> TileLayout:
    """The codes of A of `m` rows and `k` elements along K (stored or not), as a layout of shape (m, codes of a row).

    One instruction takes one register. Where it reads two threads of every four, as the selector says, the next step
    along K has the other two of the same register. Warpgroups along N hold copies.
    Raises LegalityError for a type that is never sparse, or K that is no whole instructions.
    """
    kind = find_kind(dtype, dtype)
    step = kind.instruction_k(sparse=True)
    if not kind.sparse:
        raise SparseMetadataError(f"expected a type that can be sparse, found {dtype}")
    blocks = _blocks(m, grid)
    steps = expect_steps(SparseMetadataError, f"sparse {dtype}: expected K", k, step, " elements")
    metadata = SPARSE_METADATA[kind.bits]
    pairs = 2 if metadata.selectors == 2 and steps % 2 == 0 else 1
    registers = steps // pairs
    rows = (grid.along_m, Iter(blocks, registers * CODES_PER_REGISTER), Iter(4, 1, "warpid"))
    high = Iter(registers, CODES_PER_REGISTER)
    if metadata.shared:
        rows = (*rows, Iter(2, 4), Iter(8, 4, "laneid"))
        codes = (high, Iter(pairs, 2, "laneid"), Iter(2, 1, "laneid"), Iter(4, 1))
    else:
        rows = (*rows, Iter(2, 1, "laneid"), Iter(8, 4, "laneid"))
        codes = (high, Iter(2, 2, "laneid"), Iter(8, 1))
    return _layout((*rows, *codes), (grid.along_n,), grid)
