"""The scale vectors of block-scaled tcgen05.mma: how many factors a row has, and of which types.

Source: PTX ISA "tcgen05.mma block scaling", tables of `.scale_vectorsize` and of scale matrix types.
"""

from __future__ import annotations

from tirx.hw.errors import ScaleFactorError
from tirx.hw.features import FEATURES
from tirx.tcgen05.kinds import find_kind
from tirx.values import dataclass


@dataclass(frozen=True)
class ScaleVector:
    """One legal (kind, `.scale_vectorsize`). `factors`: scale factors of each row that an instruction reads, dense or
    sparse, with the smallest K; `types`: their element types; `default`: meant when the modifier is left out."""

    kind: str
    name: str
    factors: int
    types: tuple[str, ...]
    default: bool = False

    @property
    def by_factors(self) -> bool:
        """Returns True if the name counts factors of a row and not the elements of a block."""
        return self.name.startswith("scale_vec")

    @property
    def feature(self) -> str:
        """Its row of `tirx.hw.features`; some kinds have one of their own."""
        own = f"tcgen05.kind::{self.kind}.{self.name}"
        return own if own in FEATURES else f"tcgen05.{self.name}"

    def block(self, sparse: bool = False) -> int:
        """Elements along K, stored or not, that share a scale factor: twice as many where A is sparse, because the
        instruction then has twice the K and as many factors as before."""
        return find_kind(self.kind).instruction_k(sparse) // self.factors

    def factors_of(self, k_code: int) -> int:
        """Scale factors of each row that an instruction with this K reads, in blocks as long as for the smallest K."""
        return find_kind(self.kind).instruction_k(k_code=k_code) // self.block() if k_code else self.factors


_UE8M0 = ("ue8m0",)
_ALL = ("ue8m0", "ue4m3", "ue5m3")

SCALE_VECTORS: tuple[ScaleVector, ...] = (
    ScaleVector("mxf8f6f4", "scale_vec::1X", 1, _UE8M0),
    ScaleVector("mxf8f6f4", "block32", 1, _UE8M0, default=True),
    ScaleVector("mxf4", "scale_vec::2X", 2, _UE8M0),
    ScaleVector("mxf4", "block32", 2, _UE8M0, default=True),
    ScaleVector("mxf4nvf4", "scale_vec::2X", 2, _UE8M0),
    ScaleVector("mxf4nvf4", "block32", 2, _UE8M0),
    ScaleVector("mxf4nvf4", "scale_vec::4X", 4, _ALL),
    ScaleVector("mxf4nvf4", "block16", 4, _ALL),
)
"""Every legal pair; kind::mxf4nvf4 has no default."""


def find_scale_vector(kind: str, name: str | None) -> ScaleVector | None:
    """The scale vector of an instruction; None for a kind that has none.

    Raises LegalityError for a name that the kind does not have, and for None where the kind has no default.
    """
    if not find_kind(kind).block_scaled:
        if name is not None:
            raise ScaleFactorError(f"kind::{kind}: expected no scale vector, found {name}")
        return None
    own = [row for row in SCALE_VECTORS if row.kind == kind]
    for row in own:
        if row.name == name or (name is None and row.default):
            return row
    raise ScaleFactorError(
        f"kind::{kind}: expected one of {', '.join(row.name for row in own)}, found {name or 'none'}"
    )
