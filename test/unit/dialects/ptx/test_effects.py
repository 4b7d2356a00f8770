"""Every instruction of the ptx dialect states who executes it, the memory that it touches, and what it synchronises."""

import pytest
from unit.cases import together
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from tirx.dialects.ptx import PTX, ConstantOp, LdOp, PTXInstruction, PTXTerminator, PureInstruction, StOp
from tirx.dialects.ptx.base import Names
from tirx.dialects.ptx.binary import BinaryOp
from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, Bytes, Effects, Issue, MemoryAccess

INSTRUCTIONS = [op for op in PTX.operations if not issubclass(op, EntryOp | BinaryOp | PTXTerminator)]


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
