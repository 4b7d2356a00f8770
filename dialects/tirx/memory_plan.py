"""The memory of an SM that a kernel takes, decided once and stored on it."""

from __future__ import annotations

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from tirx.dialects.fields import fields_text, parse_value
from tirx.dialects.ptx.parameters import ALIGNMENT_LIMIT
from tirx.dialects.text_data import TextData
from tirx.values import dataclass


@dataclass(frozen=True)
class MemoryPlan:
    """The memory that one block takes: `shared` bytes, aligned to `alignment`, and `columns` of tensor memory.

    `dynamic`: the launch sets aside the shared memory, because it is more than an entry can declare. `mbarrier` and
    `slot` are the byte offsets, in shared memory, of the barrier that products complete and of the word that the
    address of tensor memory comes in; they have a meaning only with columns. `copies` is that of the barrier that bulk
    tensor loads complete, in kernels with `tirx.copy ... engine tma`. Raises ValueError for negative sizes.
    """

    shared: int = 0
    alignment: int = 16
    dynamic: bool = False
    columns: int = 0
    mbarrier: int = 0
    slot: int = 0
    copies: int = 0

    def __post_init__(self) -> None:
        for name in ("shared", "columns", "mbarrier", "slot", "copies"):
            if (found := getattr(self, name)) < 0:
                raise ValueError(f"expected {name} of 0 or more, found {found}")
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise ValueError(f"expected an alignment that is a power of two, found {self.alignment}")
        if self.alignment > ALIGNMENT_LIMIT:
            raise ValueError(f"expected an alignment of at most {ALIGNMENT_LIMIT} bytes, found {self.alignment}")


_REQUIRED = frozenset({"shared"})


@irdl_attr_definition
class MemoryPlanAttr(TextData[MemoryPlan]):
    """`#tirx.memory_plan<shared = 49168, alignment = 1024, columns = 256, mbarrier = 49152, slot = 49160>`

    On `tirx.kernel` it is written as the clause `memory(...)`; `tirx-allocate-memory` chooses it.
    """

    name = "tirx.memory_plan"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> MemoryPlan:
        return parse_value(parser, MemoryPlan, _REQUIRED)

    def body(self) -> str:
        return fields_text(self.data, _REQUIRED)
