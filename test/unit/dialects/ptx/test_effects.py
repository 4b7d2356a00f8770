"""Every instruction of the ptx dialect states who executes it, the memory that it touches, and what it synchronises."""

import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from tirx.dialects.ptx import PTX, ConstantOp, LdOp, PTXInstruction, PTXTerminator, PureInstruction, StOp
from tirx.dialects.ptx.base import Names
from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.ptx.effects import NO_EFFECTS, AccessKind, Bytes, Effects, Issue, MemoryAccess

INSTRUCTIONS = [op for op in PTX.operations if not issubclass(op, EntryOp | PTXTerminator)]


@pytest.mark.parametrize("op", INSTRUCTIONS, ids=lambda op: op.name)
def test_every_instruction_states_its_effects(op: type[Operation]):
    assert issubclass(op, PTXInstruction)
    assert not getattr(op.effects, "__isabstractmethod__", False)
    assert isinstance(getattr(op, "ISSUE", None), Issue) or "issue" in {n for c in op.mro()[:3] for n in vars(c)}
    # Traits, which xDSL's passes look at, agree with it.
    assert op.has_trait(Pure) == issubclass(op, PureInstruction)
    if op.has_trait(Pure):
        assert op.effects is PureInstruction.effects


def test_an_instruction_that_states_nothing_cannot_be_made():
    @irdl_op_definition
    class SilentOp(PTXInstruction):  # pyright: ignore[reportImplicitAbstractClass]
        name = "ptx.silent"

        def emit(self, reg: Names) -> str:
            return "silent"

    with pytest.raises(TypeError, match="effects"):
        SilentOp()  # pyright: ignore[reportAbstractUsage]


def test_loads_and_stores_agree_with_their_traits():
    address = ConstantOp.integer(16, i32)
    load, store = LdOp("shared", address, [i32, i32], 4), StOp("shared", address, [address])
    assert load.has_trait(MemoryReadEffect) and store.has_trait(MemoryWriteEffect)
    assert load.effects() == Effects(MemoryAccess(AccessKind.GENERIC, reads=(Bytes(address.result, 8, 4),)))
    assert store.effects() == Effects(MemoryAccess(AccessKind.GENERIC, writes=(Bytes(address.result, 4),)))
    assert LdOp("shared_cluster", address, [i32]).effects() == NO_EFFECTS
