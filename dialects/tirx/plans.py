"""The plan of a product: the instructions that multiply, decided once and stored."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import ClassVar

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tirx.dialects.fields import fields_text, parse_fields
from tirx.mma import VARIANTS
from tirx.smem.swizzle_modes import Major
from tirx.tcgen05.kinds import KINDS


@dataclass(frozen=True)
class Tcgen05Plan:
    """
    A product by tcgen05.mma, one instruction for every `k` elements along K.

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
        for name, major in (("a_major", self.a_major), ("b_major", self.b_major)):
            if major not in ("K", "MN"):
                raise ValueError(f"expected {name} to be K or MN, found {major}")


@dataclass(frozen=True)
class MmaSyncPlan:
    """
    A product by mma.sync, with these variants of it: one, or several where the registers hold different fragments.

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


ProductPlan = Tcgen05Plan | MmaSyncPlan

PLANS: dict[str, type[Tcgen05Plan] | type[MmaSyncPlan]] = {plan.family: plan for plan in (Tcgen05Plan, MmaSyncPlan)}
"""The families of tensor-core instructions, by the name that a plan starts with."""


@irdl_attr_definition
class PlanAttr(Data[ProductPlan]):
    """
    `#tirx.plan<tcgen05, kind = "f16", m = 128, n = 256, k = 16, a_major = "K", b_major = "K">`, or
    `#tirx.plan<mma_sync, variants = ["m16n8k16.row.col.f32.f16"]>`: how a product is multiplied.

    On `tirx.mma` it is written as the clause `plan(...)`.
    """

    name = "tirx.plan"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> ProductPlan:
        """Parses the text between the brackets."""
        start = parser.pos
        family = parser.parse_identifier()
        if family not in PLANS:
            parser.raise_error(f"expected a family of products, {', '.join(PLANS)}, found {family}", start, parser.pos)
        parser.parse_punctuation(",")
        start = parser.pos
        values = parse_fields(parser, PLANS[family])
        try:
            return PLANS[family](**values)
        except ValueError as e:
            parser.raise_error(str(e), start, parser.pos)

    def body(self) -> str:
        """The counterpart of `parse_body`."""
        return f"{self.data.family}, {fields_text(self.data)}"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ProductPlan:
        with parser.in_angle_brackets():
            return cls.parse_body(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.body())
