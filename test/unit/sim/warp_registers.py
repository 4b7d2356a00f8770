"""One instruction of a warp between registers that tests choose; matrices in the registers of mma.sync."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from unit.sim.assembled import assembled
from unit.sim.strict import run

Array = npt.NDArray[Any]


def run_registers(instruction: str, operands: dict[str, Array], results: int, target: str = "sm_120a") -> Array:
    """
    Runs `instruction` in a warp, with 32-bit registers for every operand: rows of an array (32, n) are those of a lane.

    `{a}` in the text stands for the vector of all registers of operand `a`, `%a0` for one of them, `{d}` for the
    `results` registers of the result, which are returned: (32, results).
    """
    words = {name: np.ascontiguousarray(values).view(np.uint32).reshape(32, -1) for name, values in operands.items()}
    counts = {name: values.shape[1] for name, values in words.items()} | {"d": results}
    for name, count in counts.items():
        vector = "{" + ", ".join(f"%{name}{index}" for index in range(count)) + "}"
        instruction = instruction.replace("{" + name + "}", vector)
    declared = ", ".join(f"%{name}<{count}>" for name, count in counts.items())
    loads = "".join(
        f"  ld.param.u64 %q, [p_{name}]; mad.wide.u32 %q, %t, {4 * count}, %q;\n"
        + "".join(f"  ld.global.b32 %{name}{index}, [%q+{4 * index}];\n" for index in range(count))
        for name, count in counts.items()
        if name != "d"
    )
    stores = "".join(f"  st.global.b32 [%q+{4 * index}], %d{index};\n" for index in range(results))
    parameters = ", ".join(f".param .u64 p_{name}" for name in counts)
    text = f""".version 8.7
.target {target}
.address_size 64
.visible .entry k({parameters}) {{
  .reg .b32 {declared}, %t; .reg .b64 %q;
  mov.u32 %t, %laneid;
{loads}  {instruction}
  ld.param.u64 %q, [p_d]; mad.wide.u32 %q, %t, {4 * results}, %q;
{stores}  ret; }}
"""
    found = np.zeros((32, results), np.uint32)
    run(assembled(text), "k", 1, 32, [*words.values(), found])
    return found


def packed(codes: Array, bits: int) -> Array:
    """Elements (32, n) as codes of `bits` bits to registers (32, m), the first in the lowest bits."""
    per_register = 32 // bits
    grouped = codes.reshape(32, -1, per_register).astype(np.uint64)
    shifts = (bits * np.arange(per_register)).astype(np.uint64)
    return (grouped << shifts).sum(axis=2).astype(np.uint32)


def operand_places(operand: str, k: int, bits: int) -> tuple[Array, Array]:
    """
    Row (M or N) and column (K) of the elements of each lane of A (16 x k) or B (8 x k): the figures of 9.7.14.5.

    A register of lane 4 g + t has consecutive elements of row g; the next one of A those of row g + 8.
    """
    per_register = 32 // bits
    rows: list[list[int]] = []
    columns: list[list[int]] = []
    for lane in range(32):
        group, thread = divmod(lane, 4)
        steps = range(0, k, 4 * per_register)
        halves = (0, 8) if operand == "a" else (0,)
        places = [
            (group + half, step + per_register * thread + one)
            for step in steps
            for half in halves
            for one in range(per_register)
        ]
        rows.append([row for row, _ in places])
        columns.append([column for _, column in places])
    return np.array(rows), np.array(columns)


def result_places() -> tuple[Array, Array]:
    """Row and column of the four elements of C and D (16 x 8) of each lane."""
    lane, element = np.arange(32)[:, None], np.arange(4)[None, :]
    return lane // 4 + 8 * (element // 2), 2 * (lane % 4) + element % 2
