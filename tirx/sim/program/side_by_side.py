"""Instructions that CTAs may execute side by side (`tirx.sim.core.wave`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tirx.sim.core.types import PtxType
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.ordering import STRONG
from tirx.sim.isa.special import SPECIAL_REGISTERS
from tirx.sim.program.code import Call, IndirectCall, Op
from tirx.sim.reader.syntax import Address, Instruction, Name, Negated, Operand, Pair, Vector

# Instructions whose steps read and write registers only, each lane its own; `mma` those of its warp.
_LANEWISE = frozenset(
    """
    abs add and bfe bfi bfind brev clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fma lg2 lop3 mad mad24 max min mma
    mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr sin slct sqrt sub tanh testp xor
    """.split()
)
_CARRY = "cc"  # the flag is one of the CTA's
# Memory that all CTAs share, and that of each (`tirx.sim.core.cta.Sides`).
_SPACES = frozenset(("global", "param", "const", "shared", "shared::cta"))
_ACCESSES = ("ld", "st", "ldmatrix", "stmatrix")
# Others that are executed for several CTAs at once.
_OTHERS = (
    *("cp.async.ca", "cp.async.cg", "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"),
    *("wgmma.mma_async", "wgmma.fence"),
)
# Instructions by which a CTA sees how far others have come. Updates are not among them: their sum or turns are those of
# the CTAs one after another.
_ORDERED = frozenset(("clusterlaunchcontrol", "griddepcontrol", "tensormap"))
_ATOMIC = ("atom", "red")
_FENCES = ("fence", "membar")
_CLOCKS = ("%clock", "%globaltimer")


def is_wide(decoder: Decoder, instruction: Instruction) -> bool:
    """Returns True if the step of an instruction does not ask for the CTA of a lane."""
    modifiers = instruction.opcode.split(".")[1:]
    names = list(_names(instruction.operands))
    if any(name in SPECIAL_REGISTERS for name in names):
        return False
    if instruction.opcode.startswith(_OTHERS):
        return True
    if instruction.root in _ATOMIC:
        return "async" not in modifiers and not _SPACES.isdisjoint(modifiers)
    if instruction.root in _ACCESSES:
        return {"async", "bulk"}.isdisjoint(modifiers) and not _SPACES.isdisjoint(modifiers)
    if instruction.root in _FENCES:
        return {"proxy", "mbarrier_init"}.isdisjoint(modifiers)
    registers_only = all(name == "_" or isinstance(_type(decoder, name), PtxType) for name in names)
    return instruction.root in _LANEWISE and _CARRY not in modifiers and registers_only


def may_run_side_by_side(code: Iterable[Op]) -> bool:
    """Returns True if no instruction needs CTAs that run one after another."""
    return not any(_is_ordered(op) for op in code)


def are_independent(code: Iterable[Op]) -> bool:
    """Returns True if no instruction depends on the order in which CTAs run."""
    return not any(_is_ordered(op) or _sees_others(op) for op in code)


def _is_ordered(op: Op) -> bool:
    if isinstance(op.control, Call | IndirectCall) or op.opcode.startswith("cp.reduce"):
        return True
    return op.opcode.split(".")[0] in _ORDERED or any(clock in op.text for clock in _CLOCKS)


def _sees_others(op: Op) -> bool:
    root, *modifiers = op.opcode.split(".")
    strong = root in _ATOMIC or (root in ("ld", "st") and not STRONG.isdisjoint(modifiers))
    # Parameters of functions are those of printf and malloc.
    return strong and {"shared", "shared::cta", "local", "param"}.isdisjoint(modifiers)


def _type(decoder: Decoder, name: str) -> PtxType | None:
    register = decoder.register(name)
    return None if register is None else register.type


def _names(operands: Iterable[Operand]) -> Iterator[str]:
    """The names in operands."""
    for operand in operands:
        if isinstance(operand, Name):
            yield operand.name
        elif isinstance(operand, Vector):
            yield from _names(operand.items)
        elif isinstance(operand, Negated):
            yield from _names([operand.predicate])
        elif isinstance(operand, Pair):
            yield from _names([operand.first, operand.second])
        elif isinstance(operand, Address):
            yield from _names([operand.base, *operand.rest])
