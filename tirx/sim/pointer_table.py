"""Tables of pointers in global memory: arguments such as the `float **` of a batched product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

# None is a null pointer.
Pointee: TypeAlias = "npt.NDArray[Any] | PointerTable | None"


@dataclass(frozen=True, slots=True, eq=False)
class PointerTable:
    """
    A pointer to a table in global memory, which has the addresses of arrays (8 bytes each).

    `pointers` are C-contiguous arrays, which the kernel reads and writes in place; a view as `a[3:]` points into the
    array that it is part of. None is a null pointer, and another `PointerTable` one to that table. What the kernel
    writes into the table itself is lost.

    >>> import numpy as np
    >>> from tirx.sim import PointerTable
    >>> a, b = np.zeros(8, np.float32), np.ones(4, np.float32)
    >>> len(PointerTable([a, a[4:], b, None]).pointers)
    4
    """

    pointers: Sequence[Pointee]
