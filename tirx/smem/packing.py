"""The packing of elements narrower than a byte in shared memory.

Source: PTX ISA, tcgen05.mma "Packing formats": kind::f8f6f4 and kind::mxf8f6f4 put 16 elements of 4 or 6 bits into 16
bytes, data first and padding behind them; kind::mxf4 and kind::mxf4nvf4 pack 4-bit elements two to a byte. A layout
counts slots of `container_bits`, of which a padded type uses the first `bits * elements` bits of each 16 bytes.
"""

from __future__ import annotations

from tirx.values import dataclass

UNIT_BYTES = 16
"""What all packings fill with whole elements."""


@dataclass(frozen=True)
class SmemPacking:
    """Elements of `bits` bits in slots of `container_bits` bits, as layouts count them."""

    bits: int
    container_bits: int

    @property
    def elements(self) -> int:
        """Elements in 16 bytes."""
        return UNIT_BYTES * 8 // self.container_bits

    def bit_of_slot(self, address: int) -> int:
        """The bit where the element lies whose slot starts at bit `address`."""
        unit, inside = divmod(address, UNIT_BYTES * 8)
        return unit * UNIT_BYTES * 8 + inside // self.container_bits * self.bits
