"""Explains the words that tensor-core instructions read: fields, meaning, legality, the nearest legal word.

    from tirx.explain import explain_matrix_descriptor
    print(explain_matrix_descriptor(0x4000404000010000, major="K", dtype="f16"))

`explain_ptx` reads a PTX module from any compiler and explains every tcgen05 and wgmma instruction in it, as far as its
operands are constants. The command `tirx-explain` does all of this and encodes fields as well.
"""

from __future__ import annotations

from tirx.explain.instruction_descriptor import explain_instruction_descriptor
from tirx.explain.matrix_descriptor import explain_matrix_descriptor
from tirx.explain.ptx import PtxInstruction, PtxReport, explain_ptx
from tirx.explain.report import Explanation, FieldValue
from tirx.explain.tensor_map import explain_tensor_map
from tirx.explain.zero_column_mask import explain_zero_column_mask

__all__ = [
    "Explanation", "FieldValue", "PtxInstruction", "PtxReport", "explain_instruction_descriptor",
    "explain_matrix_descriptor", "explain_ptx", "explain_tensor_map", "explain_zero_column_mask",
]  # fmt: skip
