"""Places of tiles: blocks that are in use at the same time do not overlap, and those that are not share memory."""

from __future__ import annotations

import random
import re

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import Float64Type, IntegerType, f16

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import KernelOp, MemoryPlan, MemorySpace, TileType
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.match.memory_by_lifetime import (
    Block,
    Lifetime,
    _in_order_of_use,  # pyright: ignore[reportPrivateUsage]
    _place,  # pyright: ignore[reportPrivateUsage]
    aligned_bytes,
    allocate,
    shared_alignment,
)


def _blocks(*sizes: tuple[int, int, int, int]) -> list[Block]:
    return [Block(None, size, alignment, Lifetime(first, last)) for size, alignment, first, last in sizes]


def _starts(blocks: list[Block]) -> list[int]:
    return [block.start for block in blocks]


@together(
    ("sizes", "starts"),
    [
        ([], []),
        ([(7, 1, 0, 0)], [0]),
        # In use until 3 and from 3 on; until 2 and from 3 on.
        ([(7, 1, 0, 3), (5, 1, 3, 4)], [0, 7]),
        ([(7, 1, 0, 2), (5, 1, 3, 4)], [0, 0]),
        # The first place that is large enough and aligned.
        ([(9, 1, 0, 9), (5, 4, 0, 9), (3, 1, 0, 9)], [0, 12, 9]),
        ([(9, 1, 0, 9), (5, 4, 0, 9), (4, 1, 0, 9)], [0, 12, 17]),
        # The largest first takes 12 instead of 14.
        ([(2, 1, 0, 1), (4, 1, 1, 3), (8, 1, 2, 4)], [0, 8, 0]),
    ],
)
def test_places(sizes: list[tuple[int, int, int, int]], starts: list[int]) -> None:
    assert _starts(_place(_blocks(*sizes))) == starts


def test_many_tiles_are_placed_in_the_order_of_their_uses() -> None:
    """Of more than 64 tiles, none is placed before one that is used earlier."""
    sizes = [(2, 1, 0, 1), (4, 1, 1, 3), (8, 1, 2, 4)]
    late = [(1, 1, 10 + i, 10 + i) for i in range(62)]
    assert _starts(_place(_blocks(*sizes, *late[:61])))[:3] == [0, 8, 0]
    assert _starts(_place(_blocks(*sizes, *late)))[:3] == [0, 2, 6]
    assert _starts(_in_order_of_use(_blocks((3, 1, 5, 6), (4, 1, 0, 2), (5, 1, 2, 5), (6, 1, 3, 3)))) == [0, 0, 4, 9]


def test_no_two_blocks_share_memory_while_both_are_used() -> None:
    rng = random.Random(3)
    for count in (12, 80):
        blocks = _blocks(
            *(
                (rng.randint(1, 50), rng.choice((1, 4, 16)), at := rng.randint(0, 30), at + rng.randint(0, 6))
                for _ in range(count)
            )
        )
        placed = _place(blocks)
        assert [(b.size, b.alignment, b.lifetime) for b in placed] == [
            (b.size, b.alignment, b.lifetime) for b in blocks
        ]
        assert all(block.start % block.alignment == 0 for block in placed)
        for i, a in enumerate(placed):
            for b in placed[:i]:
                used = max(a.lifetime.first, b.lifetime.first) <= min(a.lifetime.last, b.lifetime.last)
                assert not used or a.end <= b.start or b.end <= a.start


def test_alignments() -> None:
    """Swizzles are aligned to their period: 2^(per_element + atom_len + swizzle_len) elements, at least 1024 bytes."""
    rows = TileLayout.row_major((64, 64))

    def shared(element: IntegerType | Float64Type, swizzle: tuple[int, int, int] | None = None) -> TileType:
        layout = ComposeLayout(SwizzleLayout(*swizzle), rows) if swizzle else rows
        return TileType.get((64, 64), element, MemorySpace.SHARED, layout)

    assert shared_alignment(TileType.get((64, 64), f16, MemorySpace.SHARED)) == 1024
    assert shared_alignment(shared(Float64Type(), (3, 3, 3))) == 2 ** (3 + 3 + 3) * 8
    assert shared_alignment(shared(IntegerType(16), (3, 3, 3))) == 1024
    assert shared_alignment(shared(IntegerType(16), (1, 1, 2))) == 1024
    plain = shared_alignment(shared(IntegerType(16)))
    tile = TileType.get((3, 5), IntegerType(16), MemorySpace.SHARED, TileLayout.row_major((3, 5)))
    assert aligned_bytes(tile) == -(-30 // plain) * plain


def _allocated(body: str, target: str) -> tuple[MemoryPlan, list[int]]:
    """The plan of a kernel, and where its tiles start."""
    text = f"""tirx.kernel @k(%a: memref<64x64xf16>) target("{target}") threads(384) {{\n{body}\ntirx.return\n}}"""
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    found = allocate(kernel, Target.parse(target))
    return found.plan, list(found.starts.values())


def test_more_than_an_entry_declares_is_dynamic() -> None:
    limit = Target.parse("sm_80").static_shared_limit
    for size, is_dynamic in ((limit, False), (limit + 16, True)):
        tile = f"%s = tirx.alloc : !tirx.tile<{size}xi8, shared, #tirx.tile_layout<S[{size}]>>"
        assert _allocated(tile, "sm_80")[0] == MemoryPlan(size, 128, is_dynamic)


def test_every_role_has_a_barrier_for_its_copies() -> None:
    tile = "!tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>"
    view = "!tirx.tile<64x64xf16, global>"
    roles = [
        f"""tirx.role @r{i} warps(4) {{
          %c = arith.constant 0 : index
          %s = tirx.alloc : {tile}
          %g = tirx.view %a[%c, %c] : memref<64x64xf16> -> {view}
          tirx.copy %g, %s engine tma : {view}, {tile}
        }}"""
        for i in range(3)
    ]
    plan, starts = _allocated("tirx.roles {" + "\n".join(roles) + "}", "sm_90a")
    assert plan == MemoryPlan(3 * 8192 + 3 * 8, 128, copies=3 * 8192) and starts == [0, 8192, 16384]


def test_columns_are_not_rounded() -> None:
    """Two tiles of three columns each, which are in use at the same time; a barrier and the word with the address."""
    tile, zero = (f"!tirx.tile<128x3xf32, {memory}>" for memory in (
        "tensor, #tirx.tile_layout<S[(128, 3) : (1@TLane, 1@TCol)]>", "register"))  # fmt: skip
    stores = "\n".join(f"tirx.store %x, {to} : {zero}, {tile}" for to in ("%s", "%t", "%s"))
    tiles = f"%s = tirx.alloc : {tile}\n%t = tirx.alloc : {tile}\n%x = tirx.zero : {zero}\n{stores}"
    assert _allocated(tiles, "sm_100a") == (MemoryPlan(12, 8, columns=32, slot=8), [0, 3])


def test_tiles_that_descriptors_do_not_reach() -> None:
    """Descriptors of sm_107f have 18 bits for an address. Kernels without them use all that is there."""
    tile = "%s = tirx.alloc : !tirx.tile<255x1024xi8, shared, #tirx.tile_layout<S[(255, 1024) : (1024, 1)]>>"
    tensor = "%t = tirx.alloc : !tirx.tile<128x64xf32, tensor, #tirx.tile_layout<S[(128, 64) : (1@TLane, 1@TCol)]>>"
    assert _allocated(tile, "sm_107f")[0].shared == 255 * 1024
    assert _allocated(f"{tile}\n{tensor}", "sm_107a")[0].shared > 255 * 1024
    with pytest.raises(LocatedError, match="expected at most 261120 bytes of shared memory on sm_107f, which its desc"):
        _allocated(f"{tile}\n{tensor}", "sm_107f")


@pytest.mark.parametrize("shift", [23, 24])
def test_the_widest_alignment(shift: int) -> None:
    shared = f"!tirx.tile<64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, {shift}>, #l>>"
    (kernel,) = parsed(
        "#l = #tirx.tile_layout<S[64 : 1]>\n"
        f'tirx.kernel @k() target("sm_90a") threads(32) {{\n  %s = tirx.alloc : {shared}\n  tirx.return\n}}'
    ).body.block.ops
    assert isinstance(kernel, KernelOp)
    if shift == 23:
        allocate(kernel, Target.parse("sm_90a"))
        return
    with pytest.raises(
        LocatedError, match="expected a layout that needs a base aligned to at most 1073741824 bytes, found 2"
    ):
        allocate(kernel, Target.parse("sm_90a"))


_FILLS = "tirx.fill %s, %zero : f16, !s\n%x = tirx.load %s : !s -> !r"


@together(
    ("body", "behind"),
    [
        (f"%p = tirx.transpose %s [1, 0] : !s -> !p\ntirx.fill %p, %zero : f16, !p\n{_FILLS}", None),
        ("tirx.store %r, %s : !r, !s\n%x = tirx.load %s : !s -> !r", None),
        ("tirx.copy %t, %s : !s, !s\n%x = tirx.load %s : !s -> !r", ""),  # both are in use
        ("tirx.copy %s, %s : !s, !s\n%x = tirx.load %s : !s -> !r", ""),
        ("%x = tirx.load %s : !s -> !r\ntirx.fill %s, %zero : f16, !s", ""),  # of the iteration before
        ("%p = tirx.subview %s[0, 0] : !s -> !q\ntirx.fill %p, %zero : f16, !q\n%x = tirx.load %s : !s -> !r", ""),
        ("tirx.store %r, %s reduce(add) : !r, !s\n%x = tirx.load %s : !s -> !r", ""),
        (f"scf.if %true {{\n{_FILLS}\n}}", ""),
        (_FILLS, "%y = tirx.load %s : !s -> !r"),
        (_FILLS, "in a role"),  # beside others
        (f"{_FILLS}\n%y = tirx.address %s : !s -> i32", ""),
    ],
)
def test_tiles_of_one_iteration_share_bytes_where_there_is_no_other_room(body: str, behind: str | None) -> None:
    """`behind` is what follows the loop, None where the tiles share bytes."""
    text = f"""%c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      %true = arith.constant true
      %zero = arith.constant 0.0 : f16
      %r = tirx.zero : !r
      %s = tirx.alloc : !s
      %t = tirx.alloc : !s
      scf.for %i = %c0 to %c9 step %c1 {{
        tirx.fill %t, %zero : f16, !s
        scf.for %j = %c0 to %i step %c1 {{
          %u = tirx.load %t : !s -> !r
        }}
        {body}
      }}
      {behind or ""}"""
    if behind == "in a role":
        text = f"tirx.roles {{ tirx.role @r warps(4) {{\n{text.removesuffix(behind)}\n}} }}"
    for name, tile in (
        ("!s", "128x144xf16, shared, #tirx.tile_layout<S[(128, 144) : (144, 1)]>"),
        ("!p", "144x128xf16, shared, #tirx.tile_layout<S[(144, 128) : (1, 144)]>"),
        ("!q", "64x144xf16, shared, #tirx.tile_layout<S[(64, 144) : (144, 1)]>"),
        ("!r", "128x144xf16, register"),
    ):
        text = re.sub(rf"{name}\b", f"!tirx.tile<{tile}>", text)
    assert _allocated(text, "sm_80")[1] == [0, 36864]  # a barrier less in each iteration
    if behind is None:
        assert _allocated(text, "sm_75") == (MemoryPlan(36864, 128), [0, 0])
    else:
        with pytest.raises(LocatedError, match="expected at most 65536 bytes .* no room for %t .* next to %s of"):
            _allocated(text, "sm_75")


def test_columns_of_tiles_that_a_loop_allocates() -> None:
    tile, value = "!tirx.tile<128x512xf32, tensor, #l>", "!tirx.tile<128x512xf32, register>"
    text = f"""%c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c1 step %c1 {{
        %s = tirx.alloc : {tile}
        %t = tirx.alloc : {tile}
        %x = tirx.load %s : {tile} -> {value}
        %y = tirx.load %t : {tile} -> {value}
      }}""".replace("#l", "#tirx.tile_layout<S[(128, 512) : (1@TLane, 1@TCol)]>")
    assert _allocated(text, "sm_100a")[1] == [0, 0]
