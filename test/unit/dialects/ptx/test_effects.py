"""Every instruction of the ptx dialect states who executes it, the memory that it touches, and what it synchronises."""

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.ptx import (
    PTX,
    ConstantOp,
    LdOp,
    LdU8Op,
    PTXInstruction,
    PTXTerminator,
    PureInstruction,
    StOp,
    StU8Op,
)
from tirx.dialects.ptx.atomics import AtomOp, StStrongOp
from tirx.dialects.ptx.base import Names
from tirx.dialects.ptx.binary import BinaryOp
from tirx.dialects.ptx.core import EntryOp, entries
from tirx.dialects.ptx.effects import (
    NO_EFFECTS,
    AccessKind,
    Bytes,
    Effects,
    Issue,
    MemoryAccess,
    SharedMatrix,
    TensorCells,
)
from tirx.dialects.ptx.known_bits import IMMEDIATE
from tirx.dialects.ptx.multimem import MultimemBulkOp
from tirx.dialects.tcgen05 import TCGEN05, MmaOp
from tirx.dialects.wgmma import WGMMA
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

INSTRUCTIONS = [
    *(op for op in PTX.operations if not issubclass(op, EntryOp | BinaryOp | PTXTerminator)),
    *(op for op in (*TCGEN05.operations, *WGMMA.operations) if issubclass(op, PTXInstruction)),
]


@together("op", INSTRUCTIONS)
def test_every_instruction_states_its_effects(op: type[Operation]):
    assert issubclass(op, PTXInstruction)
    assert isinstance(getattr(op, "EFFECTS", None), Effects) or op.effects is not PTXInstruction.effects
    assert isinstance(getattr(op, "ISSUE", None), Issue) or op.issue is not PTXInstruction.issue
    # Traits, which xDSL's passes look at, agree with it.
    assert op.has_trait(Pure) == issubclass(op, PureInstruction)
    if op.has_trait(Pure):
        assert op.EFFECTS is NO_EFFECTS and op.effects is PTXInstruction.effects


def test_an_instruction_that_states_nothing_cannot_be_defined():
    with pytest.raises(TypeError, match="SilentOp: expected EFFECTS or 'effects', found neither"):

        class SilentOp(PTXInstruction):  # pyright: ignore[reportUnusedClass]
            name = "ptx.silent"
            ISSUE = Issue.THREAD

            def emit(self, reg: Names) -> str:
                return "silent"


def test_loads_and_stores_agree_with_their_traits():
    address = ConstantOp.integer(16, i32)
    load, store = LdOp("shared", address, [i32, i32], 4), StOp("shared", address, [address])
    assert load.has_trait(MemoryReadEffect) and store.has_trait(MemoryWriteEffect)
    assert load.effects() == Effects(MemoryAccess(AccessKind.GENERIC, reads=(Bytes(address.result, 8, 4),)))
    assert store.effects() == Effects(MemoryAccess(AccessKind.GENERIC, writes=(Bytes(address.result, 4),)))
    assert LdOp("shared_cluster", address, [i32]).effects() == NO_EFFECTS
    byte = (Bytes(address.result, 1, 3),)
    assert LdU8Op("shared", address, 3).effects() == Effects(MemoryAccess(AccessKind.GENERIC, reads=byte))
    assert StU8Op("shared", address, address, 3).effects() == Effects(MemoryAccess(AccessKind.GENERIC, writes=byte))


def _value(name: str) -> SSAValue:
    value = AnyOp(result_types=[{"x": i64, "b": i64, "p": i1}.get(name, i32)]).results[0]
    value.name_hint = name
    return value


A, D, M, SA, SB, X, B, P = map(_value, ("a", "d", "m", "sa", "sb", "x", "b", "p"))
"""A, D, metadata and scale factors in tensor memory, A and B in shared memory, and whether D counts."""


def _idesc(descriptor: InstructionDescriptor) -> ConstantOp:
    return ConstantOp.integer(descriptor.encode())


PRODUCTS = [
    (
        MmaOp(
            "f16",
            D,
            X,
            B,
            _idesc(InstructionDescriptor("f16", "f16", "f16", "f32", 256, 64, a_major="MN")),
            P,
            cta_group=2,
        ),
        (256, 64),
        {"b": ("K", (32, 16), 16), "x": ("MN", (128, 16), 16), "d": (16, 64)},
    ),
    (
        MmaOp(
            "i8",
            D,
            A,
            B,
            _idesc(InstructionDescriptor("i8", "u8", "s8", "s32", 128, 96, sparse=True)),
            P,
            sparse_metadata=M,
        ),
        (128, 96),
        {"b": ("K", (96, 64), 8), "a": (16, 8), "m": (8, 1), "d": (16, 96)},
    ),
    (
        MmaOp(
            "tf32",
            D,
            X,
            B,
            _idesc(InstructionDescriptor("tf32", "tf32", "tf32", "f32", 64, 48, b_major="MN", sparse=True)),
            P,
            sparse_metadata=M,
        ),
        (64, 48),
        {"b": ("MN", (48, 16), 32), "x": ("K", (64, 8), 32), "m": (8, 1), "d": (16, 48)},
    ),
    (
        MmaOp("f16", D, X, B, _idesc(InstructionDescriptor("f16", "f16", "f16", "f16", 32, 128)), P, ws=True),
        (32, 128),
        {"b": ("K", (128, 16), 16), "x": ("K", (32, 16), 16), "d": (16, 32)},
    ),
    (
        MmaOp(
            "mxf8f6f4",
            D,
            X,
            B,
            _idesc(InstructionDescriptor("mxf8f6f4", "e4m3", "e5m2", "f32", 256, 64, scale="ue8m0")),
            P,
            scales=[SA, SB],
            cta_group=2,
        ),
        (256, 64),
        {"b": ("K", (32, 32), 8), "x": ("K", (128, 32), 8), "sa": (16, 4), "sb": (8, 1), "d": (16, 64)},
    ),
    (
        MmaOp("mxf4", D, X, B, A, P, scales=[SA, SB]),
        (None, None),
        {"b": (None, None, 0), "x": (None, None, 0), "sa": (16, 1), "sb": (8, 1), "d": (16, 1)},
    ),
]
"""Products, M x N, and of each operand the matrix in shared memory or lanes (of 32) and columns, D last."""


@together(("op", "shape", "regions"), PRODUCTS)
def test_operands_of_products(op: PTXInstruction, shape: tuple[int, int], regions: dict[str, tuple[int, ...]]):
    access = op.effects().access
    assert access is not None and access.kind is AccessKind.TENSOR_CORE and access.shape == shape
    found: dict[str | None, tuple[object, ...]] = {}
    for each in (*access.reads, *access.writes):
        match each:
            case SharedMatrix(descriptor, major, extents, bits):
                found[descriptor.name_hint] = major, extents, bits
            case TensorCells(address, lanes, columns, offset=0, all_warps=True):
                found[address.name_hint] = lanes, columns
            case _:
                raise AssertionError(each)
    assert list(found.items()) == list(regions.items())
    assert len(access.writes) == 1


def test_modifiers_of_products():
    idesc = _idesc(InstructionDescriptor("f16", "f16", "f16", "f16", 32, 128))
    mask = ConstantOp.integer(0x0003028301020100, i64)
    weights = MmaOp("f16", D, X, B, idesc, P, ws=True, buffer="b1", collector="lastuse", zero_column_mask=mask)
    found = weights.describe(IMMEDIATE)
    assert (found.ws, found.masked, found.mask) == (True, True, 0x0003028301020100)
    assert (found.collector_buffer, found.collector_usage) == ("b1", "lastuse")
    masked = MmaOp("f16", D, X, B, idesc, P, ws=True, zero_column_mask=B).describe(IMMEDIATE)
    assert (masked.masked, masked.mask, masked.collector_buffer, masked.collector_usage) == (True, None, None, None)
    plain = MmaOp("f16", D, X, B, idesc, P, ws=True).describe(IMMEDIATE)
    assert (plain.masked, plain.mask) == (False, None)
    with pytest.raises(VerifyException, match="expected both or neither of buffer and collector, found one"):
        MmaOp("f16", D, X, B, idesc, P, ws=True, buffer="b1").verify()
    kept = MmaOp("f16", D, X, B, idesc, P, collector="fill", disable_lanes=[A] * 4, scale_d=3)
    found = kept.describe(IMMEDIATE)
    assert (found.collector_buffer, found.collector_usage) == ("a", "fill")
    assert (found.disable_output_lane, found.scale_input_d, found.ashift, found.ws) == (4, 3, False, False)
    found = MmaOp("f16", D, X, B, idesc, P, ashift=True).describe(IMMEDIATE)
    assert (found.collector_buffer, found.collector_usage, found.ashift) == (None, None, True)
    assert (found.disable_output_lane, found.scale_input_d) == (None, None)


def test_copies_to_all_gpus():
    """Bytes of shared memory are read; what they are combined with is read as well."""
    address, source, size = (AnyOp(result_types=[type_]).results[0] for type_ in (i64, i32, i32))
    for clauses, reads in (({}, ()), ({"operation": "add", "type": "f16"}, (Bytes(address, 16),))):
        found = MultimemBulkOp(address, source, size, **clauses).effects()
        assert found.access == MemoryAccess(AccessKind.BULK_STORE, reads=(Bytes(source, 16),))
        assert found.outside == MemoryAccess(AccessKind.BULK_WRITE, reads=reads, writes=(Bytes(address, 16),))


def test_bytes_of_strong_accesses():
    """As many as the register has, from the offset on."""
    (entry,) = entries(
        parsed("""ptx.entry @k(a : u64 ptr, x : f64) target("sm_90") {
          %a = ptx.ld.param @a : i64
          %x = ptx.ld.param @x : f64
          %i = ptx.constant 1 : i32
          ptx.st.strong relaxed gpu %a offset 8, %x : i64, f64
          %r = ptx.atom add relaxed gpu %a, %i : i64, i32 -> i32
          ptx.ret
        }""")
    )
    ops = [op for op in entry.walk() if isinstance(op, StStrongOp | AtomOp)]
    found = [access.writes for op in ops if (access := op.effects().access) is not None]
    assert found == [(Bytes(op.address, size, offset),) for op, size, offset in zip(ops, (8, 4), (8, 0), strict=True)]
