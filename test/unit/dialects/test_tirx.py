"""Building `tirx` operations, types and attributes from Python: constructors, derived types, printing, verification."""

from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E3M2FNType,
    Float8E8M0FNUType,
    IntegerType,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.dialects.test import TestTermOp as AnyEnd
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from tirx.dialects.tirx import (
    AddressOp,
    AllocOp,
    BarrierOp,
    BlockIdOp,
    ColumnList,
    ColumnRuns,
    ComposeLayoutAttr,
    CopyOp,
    FillOp,
    GridAxis,
    KernelOp,
    LeaderOp,
    LoadOp,
    MemorySpace,
    MmaOp,
    MmaSyncOp,
    RawColumns,
    ReshapeOp,
    ReturnOp,
    SplatOp,
    StoreOp,
    SubviewOp,
    SwizzleLayoutAttr,
    TileLayoutAttr,
    TileType,
    ViewOp,
    ZeroColumns,
    ZeroColumnsAttr,
    base_allocation,
    layout_attr,
    strided_layout,
)
from tirx.dialects.tirx.block_groups import BlockGroup
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.mma.fragments import VARIANTS, Fragment, MmaVariant
from tirx.universe import new_context

ROWS = TileLayout.row_major((8, 64))
SWIZZLED = ComposeLayout(SwizzleLayout(3, 3, 3), ROWS)
F64_OPERAND = TileType.get((8, 4), f64, MemorySpace.REGISTER, TileLayout.parse("S[(8, 4) : (4@laneid, 1@laneid)]"))
F64_ACCUMULATOR = TileType.get(
    (8, 16), f64, MemorySpace.REGISTER, TileLayout.parse("S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]")
)


def value(type_: Attribute) -> SSAValue:
    """Some value of that type."""
    return AnyOp(result_types=[type_]).results[0]


def text(op: Operation) -> str:
    return str(op)


def reparsed(module: ModuleOp, *, generic: bool) -> ModuleOp:
    out = StringIO()
    Printer(stream=out, print_generic_format=generic).print_op(module)
    return Parser(new_context(), out.getvalue()).parse_module()


# Kernels.


def test_kernel_with_everything() -> None:
    memref = MemRefType(f32, (8, 64))
    kernel = KernelOp("copy", (memref, memref), 128, target="sm_100a", grid=(4, 2))
    source, destination = kernel.body.block.args
    x, y = BlockIdOp(GridAxis.X), BlockIdOp(GridAxis.Y)
    tile = TileType.get((8, 64), f32, MemorySpace.GLOBAL)
    views = [ViewOp(argument, (y.result, x.result), tile) for argument in (source, destination)]
    shared = AllocOp(TileType.get((8, 64), f32, MemorySpace.SHARED, ROWS))
    copies = [CopyOp(views[0].result, shared.result), CopyOp(shared.result, views[1].result)]
    kernel.body.block.add_ops([x, y, *views, shared, *copies, ReturnOp()])
    module = ModuleOp([kernel])
    module.verify()

    assert kernel.grid_dims == (4, 2, 1)
    assert kernel.num_threads == 128
    assert text(kernel).splitlines()[0] == (
        'tirx.kernel @copy(%0: memref<8x64xf32>, %1: memref<8x64xf32>) target("sm_100a") grid(4, 2) threads(128) {'
    )
    for generic in (False, True):
        assert reparsed(module, generic=generic).is_structurally_equivalent(module)


def test_kernel_with_nothing() -> None:
    kernel = KernelOp("least", (), 32)
    kernel.body.block.add_op(ReturnOp())
    kernel.verify()
    assert kernel.grid_dims is None
    assert kernel.target is None
    assert text(kernel) == "tirx.kernel @least() threads(32) {\n  tirx.return\n}"


@together(
    ("kernel", "message"),
    [
        (lambda: KernelOp("k", (), 0), "expected 1 to 1024 threads, found 0"),
        (lambda: KernelOp("k", (), 1025), "expected 1 to 1024 threads, found 1025"),
        (lambda: KernelOp("k", (), 32, grid=()), r"expected a grid of 1 to 3 positive extents .*, found \(\)"),
        (lambda: KernelOp("k", (), 32, grid=(1, 65536)), r"at most 2147483647, 65535, 65535, found \(1, 65536\)"),
        (lambda: KernelOp("k", (), 32, target="sm_1"), "unknown target 'sm_1'"),
    ],
)
def test_kernel_that_does_not_verify(kernel: Callable[[], KernelOp], message: str) -> None:
    op = kernel()
    op.body.block.add_op(ReturnOp())
    with pytest.raises(VerifyException, match=message):
        op.verify()


# Types and attributes.


def test_tile_type() -> None:
    type_ = TileType.get((8, 64), f16, MemorySpace.SHARED, SWIZZLED)
    assert type_.dims == (8, 64)
    assert type_.memory is MemorySpace.SHARED
    assert type_.dtype.name == "f16"
    assert type_.layout == SWIZZLED
    assert (type_.num_elements, type_.num_bytes) == (512, 1024)
    assert TileType.get((8, 64), f16, MemorySpace.SHARED).layout is None
    assert TileType.get((8, 64), f16, MemorySpace.SHARED).with_layout(SWIZZLED) == type_
    assert str(type_) == (
        "!tirx.tile<8x64xf16, shared, #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, "
        "#tirx.tile_layout<S[(8, 64) : (64, 1)]>>>"
    )


@together(
    ("element", "count", "size"), [(Float4E2M1FNType(), 3, 2), (Float6E3M2FNType(), 3, 3), (f64, 3, 24), (i32, 1, 4)]
)
def test_bytes_of_a_tile(element: Attribute, count: int, size: int) -> None:
    assert TileType.get((count,), element, MemorySpace.SHARED).num_bytes == size


@together(
    ("shape", "element", "scope", "layout", "message"),
    [
        ((), f16, MemorySpace.SHARED, None, r"found shape \[\]"),
        ((4, -1), f16, MemorySpace.SHARED, None, r"found shape \[4, -1\]"),
        ((4,), IntegerType(3), MemorySpace.SHARED, None, "unknown element type 'i3'"),
        ((4, 64), f16, MemorySpace.SHARED, ROWS, "expected a layout of 256 elements for a 4x64 tile, found one of 512"),
        ((8, 64), f16, MemorySpace.GLOBAL, SWIZZLED, "found a swizzle, which only shared memory has"),
        ((8, 64), f16, MemorySpace.TENSOR, ROWS, r"expected axes of tensor memory \(TCol, TLane, cbx\), found axis m"),
        ((64,), f16, MemorySpace.REGISTER, TileLayout((Iter(64, 1, "laneid"),)), "axis 'laneid' must stay in 0..31"),
    ],
)
def test_tile_types_that_do_not_exist(
    shape: Sequence[int],
    element: Attribute,
    scope: MemorySpace,
    layout: TileLayout | ComposeLayout | None,
    message: str,
) -> None:
    with pytest.raises(VerifyException, match=message):
        TileType.get(shape, element, scope, layout)


@together(
    ("shape", "memory", "most", "message"),
    [
        ((2**20,), MemorySpace.GLOBAL, None, None),
        ((2**20 + 1,), MemorySpace.GLOBAL, None, "expected at most 1048576 elements, found 1048577"),
        (
            (2, 0),
            MemorySpace.GLOBAL,
            None,
            "expected a tile of rank 1 or more with positive, static extents, found shape [2, 0]",
        ),
        ((1,), MemorySpace.GLOBAL, f"S[1 : 1] + {2**48 - 1}", None),
        ((1,), MemorySpace.GLOBAL, f"S[1 : 1] + {2**48}", f"expected coordinates below 2^48, found {2**48} in "),
        ((1,), MemorySpace.SHARED, "S[1 : 1] + R[1024 : 1]", None),
        (
            (1,),
            MemorySpace.SHARED,
            "S[1 : 1] + R[1025 : 1]",
            "expected at most 1024 copies of every element, found 1025 in ",
        ),
        ((2,), MemorySpace.REGISTER, "S[2 : 65535]", None),
        ((2,), MemorySpace.REGISTER, "S[2 : 65536]", "expected at most 65536 elements in a thread, found 65537 in "),
        ((2,), MemorySpace.SHARED, "S[2 : 65536]", None),
    ],
)
def test_limits_of_tiles(shape: Sequence[int], memory: MemorySpace, most: str | None, message: str | None) -> None:
    layout = None if most is None else TileLayout.parse(most)
    try:
        found = TileType.get(shape, f16, memory, layout).dims
    except VerifyException as error:
        found = str(error)
    assert found == (tuple(shape) if message is None else message + (most or ""))


def test_type_of_a_value_that_is_no_tile() -> None:
    with pytest.raises(VerifyException, match="expected a tile, found a value of type f32"):
        TileType.of(value(f32))


def test_layout_attributes() -> None:
    assert layout_attr(ROWS) == TileLayoutAttr(ROWS)
    assert layout_attr(SWIZZLED) == ComposeLayoutAttr(SWIZZLED)
    assert str(SwizzleLayoutAttr(SwizzleLayout(3, 2, 4))) == "#tirx.swizzle_layout<3, 2, 4>"
    outer = SwizzleLayoutAttr(SwizzleLayout(3, 2, 4, swizzle_inner=False))
    assert str(outer) == "#tirx.swizzle_layout<3, 2, 4, swizzle_inner=False>"
    with pytest.raises(LayoutError, match="of at most 62, the bits of an address"):
        SwizzleLayout(3, 3, 10**15)


iters = st.builds(Iter, st.integers(1, 64), st.integers(-64, 64), st.sampled_from(["m", "laneid", "TCol", "pid"]))
layouts = st.builds(
    TileLayout,
    st.lists(iters, max_size=4),
    st.lists(iters, max_size=3),
    st.dictionaries(st.sampled_from(["m", "warpid"]), st.integers(-9, 9)),
)


@given(layouts)
def test_every_layout_survives_printing(layout: TileLayout) -> None:
    attribute = TileLayoutAttr(layout)
    assert Parser(new_context(), str(attribute)).parse_attribute() == attribute


# Zero columns.


def test_masks_of_zero_columns() -> None:
    m, n = 32, 64
    columns = tuple(j for j in range(n) if j % 7 < 3)
    mask = ZeroColumns(ColumnList(columns), shift=2).mask(m, n)
    assert mask.shift == 2
    assert tuple(np.flatnonzero(mask.expand(m, n))) == columns
    assert ZeroColumns(ColumnRuns(start=0, zero=3, use=4), shift=2).mask(m, n) == mask

    late = ZeroColumns(ColumnRuns(start=5, zero=3, use=60)).mask(128, n)
    assert np.flatnonzero(late.expand(128, n)).tolist() == [5, 6, 7]

    raw = ZeroColumns(RawColumns((0, 1, 2, 1), (1, 1, 0, 0), skip_span=2, use_span=3)).mask(m, n)
    assert raw.encode() == 0x0003028301020100


@together(
    ("columns", "message"),
    [
        (lambda: ColumnList((3, -1)), "found column -1"),
        (lambda: ColumnList((64,)).mask(32, 64, 0), r"within \[0, 64\), found column 64"),
        (lambda: ColumnRuns(-1, 1, 1), "found start = -1, zero = 1, use = 1"),
        (lambda: ColumnRuns(0, 0, 1), "expected start >= 0, zero >= 1 and use >= 1"),
        (lambda: ColumnRuns(64, 1, 1).mask(32, 64, 0), r"expected start within \[0, 64\)"),
        (lambda: RawColumns((0, 0, 0, 256), (0, 0, 0, 0), 0, 0), r"start_count\[3\]: expected 0 to 255, found 256"),
        (lambda: ZeroColumns(ColumnList(()), shift=33), "shift: expected 0 to 32, found 33"),
        (lambda: ColumnList((1, 2, 4)).mask(128, 64, 0), "no zero-column mask descriptor has these columns"),
    ],
)
def test_zero_columns_that_do_not_exist(columns: Callable[[], object], message: str) -> None:
    with pytest.raises(LegalityError, match=message):
        columns()


# Views and parts.


def test_strided_layout() -> None:
    assert strided_layout(MemRefType(f16, (512, 256)), (128, 64)) == TileLayout.parse("S[(128, 64) : (256, 1)]")
    assert strided_layout(MemRefType(f16, (-1, 256)), (64,)) == TileLayout.parse("S[64 : 1]")
    transposed = MemRefType(f16, (8, 8), StridedLayoutAttr((1, 16)))
    assert strided_layout(transposed, (8, 4)) == TileLayout.parse("S[(8, 4) : (1, 16)]")
    repeated = MemRefType(f16, (8, 4), StridedLayoutAttr((0, 1)))
    assert strided_layout(repeated, (8, 4)) == TileLayout.parse("S[(8, 4) : (0, 1)]")
    for layout, message in (
        (StridedLayoutAttr((None, 1)), "expected static strides"),
        (StridedLayoutAttr((-8, 1)), "expected strides of 0 or more"),
        (StridedLayoutAttr((8, 1), offset=4), "without an offset"),
        (StridedLayoutAttr((1,)), "expected a memref with a strided layout of its rank"),
    ):
        problem = strided_layout(MemRefType(f16, (8, 8), layout), (8, 4))
        assert isinstance(problem, str)
        assert message in problem


def test_a_subview_derives_its_layout() -> None:
    part = SubviewOp.of(value(TileType.get((8, 64), f16, MemorySpace.SHARED, ROWS)), (4, 32), (4, 16))
    part.verify()
    assert part.start == (4, 32)
    assert part.result.type.layout == TileLayout.parse("S[(4, 16) : (64, 1)] + 288")

    swizzled = SubviewOp.of(value(TileType.get((8, 64), f16, MemorySpace.SHARED, SWIZZLED)), (4, 0), (4, 64))
    swizzled.verify()
    assert isinstance(swizzled.result.type.layout, ComposeLayout)

    plain = SubviewOp.of(value(TileType.get((8, 64), f16, MemorySpace.SHARED)), (4, 0), (4, 64))
    plain.verify()
    assert plain.result.type.layout is None


def test_a_subview_without_a_layout() -> None:
    holes = TileType.get((12,), f16, MemorySpace.SHARED, TileLayout.parse("S[(3, 4) : (100, 1)]"))
    with pytest.raises(LayoutError, match="no tile layout describes"):
        SubviewOp.of(value(holes), (3,), (4,))
    with pytest.raises(VerifyException, match="no tile layout describes"):
        SubviewOp(value(holes), (3,), TileType.get((4,), f16, MemorySpace.SHARED)).verify()


def test_a_reshape_keeps_the_layout() -> None:
    reshaped = ReshapeOp(value(TileType.get((8, 64), f16, MemorySpace.SHARED, SWIZZLED)), (2, 4, 64))
    reshaped.verify()
    assert reshaped.result.type == TileType.get((2, 4, 64), f16, MemorySpace.SHARED, SWIZZLED)


def test_owner_root() -> None:
    alloc = AllocOp(TileType.get((8, 64), f16, MemorySpace.SHARED, ROWS))
    part = SubviewOp.of(ReshapeOp(alloc.result, (16, 32)).result, (0, 0), (4, 32))
    assert base_allocation(part.result) is alloc.result
    kernel = KernelOp("k", (MemRefType(f16, (8, 64)),), 32)
    (argument,) = kernel.body.block.args
    at = BlockIdOp(GridAxis.X).result
    assert base_allocation(ViewOp(argument, (at, at), TileType.get((4, 4), f16, MemorySpace.GLOBAL)).result) is argument


# Products.


def test_a_product_in_tensor_memory() -> None:
    a, b, p = (
        value(TileType.get((32, 64), f16, MemorySpace.SHARED)),
        TileType.get((66, 64), f16, MemorySpace.SHARED),
        value(i1),
    )
    acc = value(TileType.get((32, 64), f32, MemorySpace.TENSOR))
    clause = ZeroColumnsAttr(ZeroColumns(ColumnRuns(0, 3, 4), shift=2))
    mma = MmaOp(a, value(b), acc, p, zero_columns=clause, negate_a=True, negate_b=True)
    mma.verify()
    assert mma.on_tensor_memory
    assert mma.result is None
    assert mma.accumulate is p
    assert " zero_columns(start = 0, zero = 3, use = 4, shift = 2) negate_a negate_b accumulate(" in text(mma)


def test_a_product_in_registers() -> None:
    operand, acc = (
        TileType.get((4, 8, 4), f16, MemorySpace.REGISTER),
        TileType.get((4, 8, 8), f32, MemorySpace.REGISTER),
    )
    effect = MmaOp(value(operand), value(operand), value(acc))
    result = MmaOp(value(operand), value(operand), value(acc), result_type=acc)
    for mma in (effect, result):
        mma.verify()
        assert not mma.on_tensor_memory
    assert effect.result is None
    assert result.result is not None
    assert text(result).endswith("-> !tirx.tile<4x8x8xf32, register>")
    with pytest.raises(VerifyException, match="B in shared memory, for negate_a, found both"):
        MmaOp(value(operand), value(operand), value(acc), negate_a=True).verify()


# Hardware level.


def test_register_operations() -> None:
    shared = value(TileType.get((8, 4), f64, MemorySpace.SHARED))
    load = LoadOp(shared, F64_OPERAND)
    splat = SplatOp(value(f64), F64_ACCUMULATOR)
    product = MmaSyncOp("m8n8k4.row.col.f64", (load.result, 0), (load.result, 0), (splat.result, 2))
    ops: list[Operation] = [
        load,
        splat,
        product,
        StoreOp(load.result, shared),
        AddressOp(shared),
        BarrierOp(),
        LeaderOp(),
    ]
    for op in ops:
        op.verify()
    assert product.result.type == F64_ACCUMULATOR
    assert LeaderOp().result.type == i1
    assert AddressOp(shared).result.type == i32


def test_register_operations_that_do_not_verify() -> None:
    shared = value(TileType.get((8, 4), f64, MemorySpace.SHARED))
    loaded, acc = LoadOp(shared, F64_OPERAND).result, value(F64_ACCUMULATOR)
    half = MmaSyncOp("m8n8k4.row.col.f64", (loaded, 0), (loaded, 0), (acc, 0))
    half.verify()
    half.start_slot = half.a_slot
    for op, message in (
        (half, "expected a start with its slot, or neither, found one of them"),
        (MmaSyncOp("m8n8k4.f64", (loaded, 0), (loaded, 0), (acc, 0)), "found 'm8n8k4.f64'"),
        (MmaSyncOp("m8n8k4.row.col.f64", (loaded, 0), (loaded, 0), (acc, 3)), "from slot 3 on"),
        (SplatOp(value(f32), F64_ACCUMULATOR), "expected a f64 value, found f32"),
        (AddressOp(loaded), "expected a shared tile, found a register one"),
        (FillOp(shared, value(i64)), "expected a value of type f64, found i64"),
    ):
        with pytest.raises(VerifyException, match=message):
            op.verify()


def test_scale_factors_and_metadata_of_a_fragment():
    types = {
        "e2m1": Float4E2M1FNType(),
        "ue8m0": Float8E8M0FNUType(),
        "b4": IntegerType(4),
        "f16": f16,
        "f32": f32,
        "f64": f64,
    }

    def tile(fragment: Fragment) -> SSAValue:
        dims = fragment.shape[1:]
        return create_ssa_value(TileType.get(dims, types[fragment.dtype], MemorySpace.REGISTER, fragment.layout))

    def said(variant: MmaVariant, *scales: tuple[SSAValue, int], **metadata: Any) -> str | None:
        a, b, c = ((tile(each), 0) for each in (variant.a, variant.b, variant.c))
        try:
            MmaSyncOp(variant.name, a, b, c, scales=cast(Any, scales or None), **metadata).verify()
        except VerifyException as error:
            return str(error).splitlines()[0]
        return None

    scaled, plain = VARIANTS["m16n8k64.mxf4.e2m1.ue8m0.2X"], VARIANTS["m8n8k4.row.col.f64"]
    assert scaled.scales is not None
    sfa, sfb, c = tile(scaled.scales.a), tile(scaled.scales.b), tile(scaled.c)
    assert said(scaled, (sfa, 0), (sfb, 0)) is None and said(plain) is None
    assert said(scaled) == f"expected scale factors of A and B, with their slots, for '{scaled.name}', found none"
    assert said(plain, (sfa, 0), (sfb, 0)) == f"expected no scale factors for '{plain.name}', found some"
    assert said(scaled, (sfa, 1), (sfb, 0)) == "expected 2 slots of SFA within [0, 2), found them from slot 1 on"
    assert said(scaled, (sfa, 0), (c, 0)) == "expected SFB of ue8m0, found f32"
    two = create_ssa_value(
        TileType.get((16, 4), types["ue8m0"], MemorySpace.REGISTER, TileLayout("S[(16, 4) : (1@laneid, 1)]"))
    )
    assert (
        said(scaled, (two, 1), (sfb, 0)) == "expected SFA from a multiple of 2 slots on, within one register, found 1"
    )
    sparse = VARIANTS["m16n8k32.sp.row.col.f32.f16"]
    assert sparse.codes is not None and sparse.codes.pair is not None
    codes = tile(sparse.codes.pair)
    assert said(sparse, metadata=(codes, 0, 1)) is None
    assert said(sparse) == f"expected metadata with its slot and selector for '{sparse.name}', found none"
    assert said(plain, metadata=(codes, 0, 0)) == f"expected no metadata for '{plain.name}', found some"
    wanted = "expected metadata from a multiple of 8 slots on, and a selector below 2, found 0 and 2"
    assert said(sparse, metadata=(codes, 0, 2)) == wanted


def test_groups_of_blocks() -> None:
    """Numbers and strides are powers of two, and groups are within the cluster."""
    cases = (
        (2, 1, 2),
        (2, 2, 4),
        (4, 2, 8),
        (2, 1, 1),
        (1, 1, 2),
        (2, 2, 2),
        (3, 1, 4),
        (2, 3, 8),
        (2, 1, 6),
        (2, 0, 4),
    )
    fitting = [(count, stride, n) for count, stride, n in (*cases, (0, 1, 4)) if BlockGroup(count, stride).fits(n)]
    assert fitting == [(2, 1, 2), (2, 2, 4), (4, 2, 8)]


def test_columns_of_tiles_without_a_layout() -> None:
    assert TileType.get((128, 64), f32, MemorySpace.TENSOR).span_columns == 0


def test_operations_that_use_what_is_outside() -> None:
    """Of all operations inside of a kernel, in nested blocks too."""
    outside = AnyOp(result_types=[i32]).results[0]
    for nested in (False, True):
        inner: Operation = AnyOp(operands=[outside])
        if nested:
            inner = AnyOp(regions=[Region(Block([inner, AnyEnd()]))])
        body = Region(Block([inner, ReturnOp()]))
        with pytest.raises(VerifyException, match="Operation using value defined out of its IsolatedFromAbove parent"):
            KernelOp("k", (), 32, body).verify()


def test_least_divisors_and_groups() -> None:
    """Numbers divided by 1 are the same, and a group may be one row."""
    module = parsed("""tirx.kernel @k(%n: index) params(A in [4]) threads(32) {
      %t = tirx.alloc : !tirx.tile<[A floordiv 1]x[A floordiv 2]xf16, shared>
      tirx.tiles @t %i, %j = order(group 1) of (%n, %n) { }
      tirx.return
    }""")
    assert "!tirx.tile<[A]x[A floordiv 2]xf16, shared>" in str(module) and "order(group 1)" in str(module)
