"""Forms of instructions: the text of each, and what tirx says of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from unit.dialects.ptx.families import OTHER
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import ptx, tcgen05
from tirx.dialects.ptx.base import REGISTER_CLASSES, SCRATCH_CLASSES, PTXInstruction, literal, source
from tirx.hw.features import FEATURES, UnsupportedFeature, smallest_version
from tirx.hw.targets import PtxVersion, Target


@dataclass
class Registers:
    """Names for the printing of one instruction at a time; results are numbered."""

    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def __call__(self, value: SSAValue) -> str:
        prefix = REGISTER_CLASSES[value.type].prefix
        number = {OTHER: 139}.get(value, getattr(value, "index", 0))
        return self.names.setdefault(value, f"{prefix}{number}")

    def sources(self, values: Sequence[SSAValue]) -> list[str]:
        return [source(self, value) for value in values]

    def imm(self, value: SSAValue) -> str:
        return literal(value.owner.value) if isinstance(value.owner, ptx.ConstantOp) else self(value)

    def label(self, stem: str) -> str:
        return f"${stem}{next(_LABELS)}"

    def scratch(self, type_: Attribute) -> str:
        return f"{(REGISTER_CLASSES | SCRATCH_CLASSES)[type_].prefix}0"


_LABELS = count()


@dataclass(frozen=True)
class Form:
    """One instruction: its text, the verifier's message if it is illegal, else what it needs."""

    text: str
    message: str | None
    features: frozenset[str]
    group: int

    def needs(self, target: Target) -> PtxVersion | None:
        """The first version in which the target has it; None if it never has."""
        try:
            return smallest_version(self.features, target)
        except UnsupportedFeature:
            return None


def forms_of(operations: Iterable[PTXInstruction]) -> tuple[Form, ...]:
    """The forms with what tirx says of each."""
    forms: list[Form] = []
    for op in operations:
        try:
            op.verify()
            message, features = None, frozenset(op.features())
            # The reference says since when there are forms by these.
            assert features <= {*op.NEEDS, *op.forms_need()} <= FEATURES.keys(), op
        except VerifyException as error:
            message, features = str(error), frozenset[str]()
        group = getattr(op, "cta_group", None) if isinstance(op, tcgen05.CtaGroupOp) else None
        forms.append(Form(op.emit(Registers()), message, features, 1 if group is None else group.value.data))
    return tuple(forms)


def entries_of(forms: Sequence[Form]) -> list[list[str]]:
    """A kernel uses one `.cta_group`."""
    return [[form.text for form in forms if form.group == group] for group in (1, 2)]
