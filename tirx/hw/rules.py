"""Legality rules as rows of tables: a name, where the ISA says it, when it is violated, what to say, and the fix.

A rule looks at the facts of one instruction, some of which may be unknown (None): what is not known breaks no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from string import Formatter
from typing import Generic, TypeVar

from tirx.hw.errors import LegalityError
from tirx.hw.features import UnsupportedFeature, required_version
from tirx.hw.targets import PtxVersion, Target, TargetError, format_version
from tirx.values import dataclass

FactsT = TypeVar("FactsT")
ResultT = TypeVar("ResultT")


class _Text(Formatter):
    """Writes values as the IR does: `none`, `true`."""

    def format_field(self, value: object, format_spec: str) -> str:
        match value:
            case None | bool():
                return str(value).lower()
            case _:
                return format(value, format_spec)


_TEXT = _Text()


@dataclass(frozen=True)
class Finding:
    """One violation: the name of the rule, what was expected and found, what to do, and the section of the PTX ISA."""

    rule: str
    message: str
    fix: str
    section: str

    def __str__(self) -> str:
        return f"{self.message}; {self.fix} [{self.rule}]"


@dataclass(frozen=True)
class Rule(Generic[FactsT]):
    """One row of a table of rules.

    `violated` says whether the facts `i` break the rule; a string says so as well and is part of the message, as
    `{reason}`. `message` and `fix` are templates that may also name any attribute of the facts: `{i.m}`.
    """

    name: str
    section: str
    violated: Callable[[FactsT], bool | str | None]
    message: str
    fix: str

    def finding(self, facts: FactsT) -> Finding | None:
        """The violation of this rule, if there is one."""
        reason = self.violated(facts)
        if not reason:
            return None
        message, fix = (_TEXT.format(text, i=facts, reason=reason) for text in (self.message, self.fix))
        return Finding(self.name, message, fix, self.section)


def all_findings(rules: Iterable[Rule[FactsT]], facts: FactsT) -> Iterator[Finding]:
    """The violations, in the order of the table."""
    return (finding for rule in rules if (finding := rule.finding(facts)) is not None)


def raise_first(findings: Iterable[Finding]) -> None:
    """Raises LegalityError, with the fix and the name of the rule, for the first violation."""
    for finding in findings:
        raise LegalityError(str(finding), rule=finding.rule, section=finding.section, fix=finding.fix)


def reason(check: Callable[[], object]) -> str | None:
    """The text of the LegalityError that a check raises, None when it raises none."""
    try:
        check()
    except LegalityError as error:
        return str(error)
    return None


def unless_one_is_legal(reasons: Iterable[str | None]) -> str | None:
    """Of what may be: why all of it is wrong (one reason), None where something is legal or nothing is left."""
    found = list(reasons)
    return None if None in found or not found else found[-1]


def result(make: Callable[[], ResultT]) -> ResultT | None:
    """Returns the result of a function, None when it raises LegalityError: another rule reports that."""
    try:
        return make()
    except LegalityError:
        return None


def bad_bits(value: object, decode: Callable[[int], object]) -> str | None:
    """Why what may be the bits of a descriptor has no meaning; None when it has, or is no integer."""
    return reason(lambda: decode(value)) if isinstance(value, int) else None


def choices(values: Iterable[object]) -> str:
    """Legal values in a message."""
    return " or ".join("none" if value is None else str(value) for value in values)


def unsupported(features: Iterable[str], target: str | None, version: PtxVersion | None = None) -> str | None:
    """Why a target, with PTX of this version, lacks one of the features of `tirx.hw.features`; None if it does not."""
    if target is None:
        return None
    try:
        known = Target.parse(target)
        needed = {feature: required_version(feature, known) for feature in features}
    except (TargetError, UnsupportedFeature) as error:
        return str(error)
    if version is not None:
        for feature, first in needed.items():
            if version < first:
                return f"'{feature}' needs PTX {format_version(first)} on {known}, found {format_version(version)}"
    return None
