"""Both sides of the limits of tensor memory, its shapes and what is stored there: whole results, and whole messages."""

from pathlib import Path

from unit.cases import results
from unit.tcgen05 import mma_instructions

from tirx import tcgen05
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.tcgen05 import (
    check,
    check_memory,
    convolution,
    instruction_descriptor,
    mma_info,
    scale_copy,
    scale_factors,
    shapes,
    sparse_metadata,
    stored_operand,
    tmem,
    tmem_access,
    zero_column_mask,
)


def _read(*arguments: object, **named: object) -> mma_info.SmemOperand:
    descriptor = tcgen05.SmemDescriptor(*arguments, **named)  # pyright: ignore[reportArgumentType]
    return mma_info.SmemOperand(descriptor, rows=128)


def _violations(instruction: check_memory.Alloc | check_memory.LdSt | check_memory.Cp | check_memory.Shift) -> str:
    return "; ".join(f"{found.rule}: {found.message}" for found in check_memory.find_memory_violations(instruction))


def _accesses(*arguments: object, **named: object) -> str:
    plan = tmem_access.plan_tmem_access(*arguments, **named)  # pyright: ignore[reportArgumentType]
    parts = ", ".join(
        f"{each.num} at {each.lane}, {each.column} to {each.first_register}+{each.registers} {each.split} {each.pack}"
        for each in plan.accesses
    )
    return f"{plan.shape} {plan.registers} {plan.fragment} {parts}"


MODULES = (
    tcgen05,
    check,
    check_memory,
    convolution,
    instruction_descriptor,
    mma_info,
    mma_instructions,
    scale_copy,
    scale_factors,
    sparse_metadata,
    stored_operand,
    tmem,
    tmem_access,
    zero_column_mask,
)
NAMES = {name: value for module in MODULES for name, value in vars(module).items()} | {
    "A": _accesses,
    "D": _read,
    "P": TileLayout.parse,
    "V": _violations,
    "ComposeLayout": ComposeLayout,
    "SwizzleLayout": SwizzleLayout,
    "shapes": shapes,
}


def test_results():
    found, expected = results(Path(__file__).parent / "data" / "limits.txt", NAMES)
    assert found == expected
