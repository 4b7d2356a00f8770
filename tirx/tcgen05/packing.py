"""The packing that each kind of tcgen05.mma reads: 4-bit and 6-bit elements are padded to bytes, or 4-bit ones dense.

Source: PTX ISA, tcgen05.mma "Packing formats".
"""

from __future__ import annotations

from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import TensorProductError
from tirx.smem.packing import SmemPacking
from tirx.tcgen05.kinds import find_kind

# Operand width in bits -> slot, by whether the kind packs densely.
_PADDED = {4: SmemPacking(4, 8), 6: SmemPacking(6, 8)}
_DENSE_KINDS = ("mxf4", "mxf4nvf4")


def smem_packing(kind: str, dtype: str | DType) -> SmemPacking:
    """The packing of operands of this type in shared memory for this kind; layouts are checked with `container_bits`.

    Raises LegalityError for a type that the kind does not multiply.
    """
    element = find_dtype(dtype)
    row = find_kind(kind)
    operands = [name for name, _ in row.operands]
    if element.name not in operands:
        raise TensorProductError(
            f"kind {row.name}: expected an operand type {', '.join(operands)}, found {element.name}"
        )
    if row.name in _DENSE_KINDS:
        return SmemPacking(element.bits, element.bits)
    return _PADDED.get(element.bits, SmemPacking(element.bits, element.bits))
