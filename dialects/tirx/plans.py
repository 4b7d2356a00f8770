"""The plan of a product: the instructions that multiply, decided once and stored."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import ClassVar

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from tirx.dialects.fields import fields_text, parse_value
from tirx.dialects.text_data import TextData
from tirx.mma.fragments import VARIANTS
from tirx.smem.swizzle_modes import MAJORS, Major
from tirx.tcgen05.kinds import KINDS
from tirx.values import dataclass
from tirx.wgmma.kinds import ROWS


def _check_majors(a: Major, b: Major) -> None:
    for name, major in (("a_major", a), ("b_major", b)):
        if major not in MAJORS:
            raise ValueError(f"expected {name} to be K or MN, found {major}")


@dataclass(frozen=True)
class Tcgen05Plan:
    """A product by tcgen05.mma, one instruction for every `k` elements along K.

    `m` and `n` are those of the instruction: of both blocks with `cta_group` 2. `scale_vector` is the name of the
    modifier that says how scale factors are shared out, None without them. Raises ValueError for an unknown kind or
    major-ness; whether the instruction exists is checked with the product.
    """

    family: ClassVar[str] = "tcgen05"

    kind: str
    m: int
    n: int
    k: int
    a_major: Major
    b_major: Major
    cta_group: int = 1
    scale_vector: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"expected a kind of tcgen05.mma, {', '.join(KINDS)}, found {self.kind}")
        _check_majors(self.a_major, self.b_major)


@dataclass(frozen=True)
class MmaSyncPlan:
    """A product by mma.sync, with these variants of it: one, or several where the registers hold different fragments.

    Raises ValueError for none and for an unknown one.
    """

    family: ClassVar[str] = "mma_sync"

    variants: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.variants:
            raise ValueError("expected a variant of mma.sync or more, found none")
        for name in self.variants:
            if name not in VARIANTS:
                close = get_close_matches(name, VARIANTS, n=1, cutoff=0.0)
                raise ValueError(f"expected a variant of mma.sync such as {close[0]}, found {name}")


@dataclass(frozen=True)
class WgmmaPlan:
    """A product by wgmma.mma_async, with B in shared memory.

    `shapes`: those of the instructions that one step along K takes, in the order of the columns of D that each
    warpgroup holds. `a_major` is K for an A in registers. Raises ValueError for no shape, one that is not written as
    wgmma's are, and an unknown major-ness; whether the instructions exist is checked with the product.
    """

    family: ClassVar[str] = "wgmma"

    shapes: tuple[str, ...]
    a_major: Major
    b_major: Major

    def __post_init__(self) -> None:
        if not self.shapes:
            raise ValueError("expected a shape of wgmma or more, found none")
        for shape in self.shapes:
            if re.fullmatch(rf"m{ROWS}n\d+k\d+", shape) is None:
                raise ValueError(f"expected a shape of wgmma such as m64n256k16, found {shape}")
        _check_majors(self.a_major, self.b_major)


ProductPlan = Tcgen05Plan | MmaSyncPlan | WgmmaPlan

PLANS: dict[str, type[ProductPlan]] = {plan.family: plan for plan in (Tcgen05Plan, MmaSyncPlan, WgmmaPlan)}
"""The families of tensor-core instructions, by the name that a plan starts with."""


@irdl_attr_definition
class PlanAttr(TextData[ProductPlan]):
    """`#tirx.plan<tcgen05, kind = "f16", m = 128, n = 256, k = 16, a_major = "K", b_major = "K">`,
    `#tirx.plan<mma_sync, variants = ["m16n8k16.row.col.f32.f16"]>` or
    `#tirx.plan<wgmma, shapes = ["m64n256k16"], a_major = "K", b_major = "K">`: how a product is multiplied.

    On `tirx.mma` it is written as the clause `plan(...)`.
    """

    name = "tirx.plan"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ProductPlan:
        start = parser.pos
        family = parser.parse_identifier()
        if family not in PLANS:
            parser.raise_error(f"expected a family of products, {', '.join(PLANS)}, found {family}", start, parser.pos)
        parser.parse_punctuation(",")
        return parse_value(parser, PLANS[family])

    def body(self) -> str:
        return f"{self.data.family}, {fields_text(self.data)}"
