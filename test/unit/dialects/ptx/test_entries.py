"""The limits of entries and their parameters, on both sides."""

from __future__ import annotations

import pytest
from unit.cases import together
from xdsl.dialects.builtin import IntAttr, i64
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import ptx
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import EntryOp, SharedAllocOp
from tirx.dialects.ptx.parameters import ALIGNMENT_LIMIT, EntryParam, parameter_bytes
from tirx.dialects.tirx import MemoryPlan

REQNTID = "expected reqntid to be one to three positive extents, found "
CLUSTER = "expected cluster to be one to three positive extents, found "
BYTES = "expected at most 32764 bytes of parameters, found "

ENTRIES = [
    (EntryOp("k", [], "sm_90a"), None),
    (EntryOp("k", [], "sm_90a", reqntid=(1024,)), None),
    (EntryOp("k", [], "sm_90a", reqntid=(1, 1, 1)), None),
    (EntryOp("k", [], "sm_90a", reqntid=(25, 41)), "expected at most 1024 threads in a block, found 1025"),
    (EntryOp("k", [], "sm_90a", reqntid=()), REQNTID + "()"),
    (EntryOp("k", [], "sm_90a", reqntid=(2, 0)), REQNTID + "(2, 0)"),
    (EntryOp("k", [], "sm_90a", reqntid=(1, 1, 1, 1)), REQNTID + "(1, 1, 1, 1)"),
    (EntryOp("k", [], "sm_90a", cluster=(4, 2, 2)), None),
    (EntryOp("k", [], "sm_90a", cluster=(17,)), "expected at most 16 CTAs in a cluster, found 17"),
    (EntryOp("k", [], "sm_90a", cluster=()), CLUSTER + "()"),
    (EntryOp("k", [], "sm_90a", cluster=(2, 1, 1, 1)), CLUSTER + "(2, 1, 1, 1)"),
    (EntryOp("k", [], "sm_90a", grid=(5,)), None),
    (EntryOp("k", [], "sm_90a", grid=(5, 6, 7)), None),
    (EntryOp("k", [], "sm_90a", grid=()), "expected a grid of one to three extents, found 0"),
    (EntryOp("k", [], "sm_90a", grid=(1, 1, 1, 1)), "expected a grid of one to three extents, found 4"),
    (EntryOp("k", [EntryParam("a", "b8", count=32764)], "sm_90a"), None),
    (EntryOp("k", [EntryParam("a", "b8", count=32765)], "sm_90a"), BYTES + "32765"),
    (EntryOp("k", [EntryParam("a", "u32"), EntryParam("a", "u64")], "sm_90a"),
     "expected parameter names to differ, found 'a' twice"),
]  # fmt: skip


def _said(op: EntryOp | PTXInstruction) -> str | None:
    try:
        op.verify_()
    except VerifyException as error:
        return str(error)
    return None


@together(("entry", "message"), ENTRIES)
def test_limits(entry: EntryOp, message: str | None):
    assert _said(entry) == message


def test_registers_and_clusters():
    entry = EntryOp("k", [], "sm_90a", cluster=(4, 2, 2))
    assert (entry.cluster_size, EntryOp("k", [], "sm_90a").cluster_size) == (16, 1)
    for count, message in ((0, "found 0"), (1, None), (255, None), (256, "found 256")):
        entry.maxnreg = IntAttr(count)
        assert _said(entry) == (None if message is None else f"expected maxnreg from 1 to 255, {message}")


@together("align", [-4, 0, 1, 2, 3, 12, 1024])
def test_alignments_are_powers_of_two(align: int):
    expected = None if align in (1, 2, 1024) else f"a power of two, found {align}"
    assert _power(_said(SharedAllocOp("s", 16, align))) == expected
    for param in (EntryParam("a", "u64", pointer=True, align=align), EntryParam("a", "b8", align=align, count=3)):
        try:
            param.check()
        except VerifyException as error:
            assert _power(str(error)) == expected
        else:
            assert expected is None
    try:
        plan = MemoryPlan(alignment=align)
    except ValueError as error:
        assert str(error) == f"expected an alignment that is {expected}"
    else:
        assert expected is None and plan.alignment == align


def _power(message: str | None) -> str | None:
    return None if message is None else message.partition(" to be ")[2]


def test_the_largest_alignment():
    most = EntryParam("a", "u64", pointer=True, align=ALIGNMENT_LIMIT)
    most.check()
    with pytest.raises(VerifyException, match=f"of parameter 'a' to at most {2**30} bytes, found {2**31}"):
        EntryParam("a", "u64", pointer=True, align=2**31).check()
    assert _said(SharedAllocOp("s", 1, ALIGNMENT_LIMIT)) is None
    assert _said(SharedAllocOp("s", 1, 2**31)) == f"expected alignment to at most {2**30} bytes, found {2**31}"
    assert _said(SharedAllocOp("s", 0, 1)) == "expected a positive number of bytes, found 0"
    with pytest.raises(VerifyException, match="expected an alignment only on pointers and arrays, parameter 'a'"):
        EntryParam("a", "u64", align=8).check()


def test_bytes_of_parameters():
    scalars = [EntryParam("n", "u32"), EntryParam("x", "f64"), EntryParam("s", "s32")]
    assert [parameter_bytes(scalars[:count]) for count in range(4)] == [0, 4, 16, 20]
    pointer, map_ = EntryParam("p", "u64", pointer=True, align=256), EntryParam("m", "b8", align=64, count=128)
    assert parameter_bytes([scalars[0], map_, pointer]) == 64 + 128 + 8
    assert parameter_bytes([EntryParam("b", "b8", count=3), pointer]) == 16
    EntryParam("b", "b8", count=1).check()
    assert [param.size for param in (*scalars, pointer, map_)] == [4, 8, 4, 8, 128]


def test_vectors_of_registers_in_memory():
    word, wide = ptx.ConstantOp.integer(7), ptx.ConstantOp.integer(8, i64)
    assert [_said(ptx.StOp("shared", word, [word] * n)) for n in (1, 2, 4)] == [None] * 3
    assert [_said(ptx.StOp("shared", word, [wide] * n)) for n in (1, 2)] == [None] * 2
    assert _said(ptx.StOp("shared", word, [wide] * 4)) == "expected at most 128 bits in one access, found 256"
    assert _said(ptx.StOp("shared", word, [])) == "expected number of registers to be one of 1, 2, 4, found 0"
    assert _said(ptx.StOp("global", word, [word])) == "expected global address of type i64, found i32"


@pytest.mark.parametrize("name", ["1a", "WARP_SZ"])
def test_names_of_parameters(name: str):
    with pytest.raises(VerifyException, match=f"^expected parameter name to be a .*, found '{name}'$"):
        EntryParam(name, "u32").check()
