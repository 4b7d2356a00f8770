"""Diagnostics that point at the user's line: errors, warnings and remarks with a location."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Literal, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    LocationAttr,
    NameLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from tirx.remarks import Remark
from tirx.values import dataclass, fields, replace

Severity = Literal["error", "warning", "remark"]

_T = TypeVar("_T")

_WORDS = re.compile(r"expected (.+?), found (.+?)(?:; (.+?))?(?: \[[\w-]+\])?$", re.DOTALL)
"""The form of messages: what was expected and found, and what to do or the nearest legal choice."""

_NEAREST = re.compile(r"; nearest(?: is|:) (.+?)(?= \[[\w-]+\]$|;|$)|; did you mean '(.+?)'", re.DOTALL)

_FIX = re.compile(r"^## (\S+)\n(?:(?!^## ).)*?^Fix: (.*?)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Note:
    """A second place that a diagnostic is about, and why."""

    message: str
    location: LocationAttr


@dataclass(frozen=True)
class Facts:
    """Facts of a diagnostic for programs; None where one does not apply. The message says the same in words.

    The names are those of `tirx.hw.errors.LegalityError`, which says what each of them means.
    """

    rule: str | None = None
    section: str | None = None
    fix: str | None = None
    element: tuple[int, ...] | None = None
    expected: float | None = None
    found: float | None = None
    nearest: object = None
    suggestion: object = None
    column: int | None = None

    @staticmethod
    def of(error: BaseException | None) -> Facts:
        """The facts that `error` and its causes carry as attributes; the outermost error wins."""
        known: dict[str, Any] = {}
        while error is not None:
            for fact in fields(Facts):
                value = getattr(error, fact.name, None)
                if value is not None:
                    known.setdefault(fact.name, value)
            cause = error.__cause__ or getattr(error, "hidden_cause", None)
            error = cause or (None if error.__suppress_context__ else error.__context__)
        return Facts(**known)


def places(location: Attribute, why: str = "here") -> Iterator[Note]:
    """Yields the places in files that `location` leads to, the innermost first, with what they have to do with it:
    for a `CallSiteLoc` the callee and then its caller, for a `FusedLoc` its parts in order.
    """
    match location:
        case FileLineColLoc():
            yield Note(why, location)
        case NameLoc(location=child):
            yield from places(child, why)
        case CallSiteLoc(callee=callee, caller=caller):
            yield from places(callee, why)
            yield from places(caller, "called from here")
        case FusedLoc(locations=ArrayAttr(data=parts)):
            for part in parts:
                yield from places(part, why)
                why = "fused with what stands here"
        case _:
            pass


def written_at(location: Attribute) -> FileLineColLoc | None:
    """The innermost place in a file that `location` leads to; None where it leads to none."""
    if isinstance(location, FileLineColLoc):
        return location
    found = next(places(location), None)
    return None if found is None else cast(FileLineColLoc, found.location)


def position(location: Attribute) -> tuple[str, int, int] | None:
    """`(file, line, column)` of the innermost place that `location` leads to, counted from 1; None for no place."""
    place = written_at(location)
    return None if place is None else (place.filename.data, place.line.data, place.column.data)


def _place(location: LocationAttr) -> dict[str, object]:
    file, line, column = position(location) or (None, None, None)
    return {"file": file, "line": line, "column": column}


@cache
def _fixes() -> dict[str, str]:
    """The fix of what breaks each rule, as `tirx/text/rules.md` says."""
    return dict(_FIX.findall(files("tirx.text").joinpath("rules.md").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place of the input. `location` is `UNKNOWN_LOC` for IR that was built, not parsed.

    >>> from tirx import embed
    >>> found = []
    >>> module = embed.parse("tirx.kernel @k() threads(32) { tirx.return }", "k.mlir")
    >>> embed.run(module, embed.pipeline(), on_diagnostic=found.append)
    False
    >>> found[0].severity, found[0].position
    ('error', ('k.mlir', 1, 1))
    """

    severity: Severity
    message: str
    location: LocationAttr
    facts: Facts = Facts()
    notes: tuple[Note, ...] = ()
    stage: str | None = None
    """The step that found it: `syntax`, `verify` or a pass."""
    decision: Remark | None = None
    """What a remark says, as data."""

    @property
    def rule(self) -> str:
        """The stable name of what is broken; the step that found it for an error of another compiler that has none."""
        return self.facts.rule or self.stage or "tirx"

    @property
    def _words(self) -> tuple[str | None, ...]:
        """Words of the message: expected, found, the nearest choice, and the advice; None where it has none."""
        near, found = _NEAREST.search(self.message), _WORDS.search(self.message)
        expected, got, hint = (None, None, None) if found is None else found.groups()
        return expected, got, near and (near[1] or near[2]), None if near else hint

    @property
    def fix(self) -> str | None:
        """The way to mend it: what the check or the message says, or else the rule."""
        _, _, nearest, hint = self._words
        return self.facts.fix or hint or (f"Take {nearest}." if nearest else _fixes().get(self.rule))

    @property
    def position(self) -> tuple[str, int, int] | None:
        """`(file, line, column)`, both counted from 1; None when the location is unknown."""
        return position(self.location)

    def with_chain(self) -> Diagnostic:
        """The same with a note for every place around the innermost one that the location leads to."""
        chain = tuple(places(self.location))[1:]
        return replace(self, notes=(*chain, *self.notes)) if chain else self

    def to_json(self) -> dict[str, object]:
        """The diagnostic as values of JSON: `severity`, `rule`, `message`, `file`, `line`, `column`, `fix`, `stage` and
        `notes`, each with a message and a place; None where nothing is known.

        Errors and warnings have `element`, `expected`, `found`, `nearest` and `suggestion`, too: the facts of the
        check (`tirx.hw.errors.LegalityError`), or the words of the message.
        """
        expected, got, nearest, _ = self._words
        facts = self.facts
        data: dict[str, object] = {
            "element": facts.element and list(facts.element),
            "expected": expected if facts.expected is None else facts.expected,
            "found": got if facts.found is None else facts.found,
            "nearest": nearest if facts.nearest is None else str(facts.nearest),
            "suggestion": None if facts.suggestion is None else str(facts.suggestion),
        }
        return {
            "severity": self.severity,
            "rule": None if self.severity == "remark" else self.rule,
            "message": self.message,
            **_place(self.location),
            "fix": None if self.severity == "remark" else self.fix,
            "stage": self.stage,
            "notes": [{"message": note.message, **_place(note.location)} for note in self.notes],
            **({} if self.severity == "remark" else data),
        }

    def __str__(self) -> str:
        where = self.position
        prefix = "" if where is None else f"{where[0]}:{where[1]}:{where[2]}: "
        return f"{prefix}{self.severity}: {self.message}{self._flag}"

    @property
    def _flag(self) -> str:
        """The rule as it stands behind the message, unless the message ends in it, as those of hardware's rules do."""
        match self.severity:
            case "warning":
                return f" [-W{self.rule}]"
            case "error" if (rule := self.facts.rule) is not None and not self.message.endswith(f"[{rule}]"):
                return f" [{rule}]"
            case _:
                return ""


def operation_name(op: Operation) -> str:
    """The name of an operation as it is written: also of one of a dialect that is not registered."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def nearest_location(op: Operation) -> LocationAttr:
    """The location of `op`, or of the innermost operation around it that has one which leads to a file."""
    around: Operation | None = op
    while around is not None:
        if written_at(around.location) is not None:
            return around.location
        around = around.parent_op()
    return op.location


def in_line(op: Operation) -> str:
    """Returns the line of `op` in a message: ` in line 5`, or nothing where it is not known."""
    where = position(nearest_location(op))
    return "" if where is None else f" in line {where[1]}"


_stage: ContextVar[str | None] = ContextVar("tirx_stage", default=None)
_following: ContextVar[str | None] = ContextVar("tirx_following", default=None)


class _Stage:
    """The context of a step: a generator would take three times as long."""

    def __init__(self, name: str, following: str | None):
        self._names = name, following

    def __enter__(self) -> None:
        name, following = self._names
        self._tokens = _stage.set(name), _following.set(following)

    def __exit__(self, *_: object) -> None:
        token, next_token = self._tokens
        _stage.reset(token)
        _following.reset(next_token)


def in_stage(name: str, following: str | None = None) -> contextlib.AbstractContextManager[None]:
    """Says in diagnostics made inside the `with` block which step found them; `following` is the next step."""
    return _Stage(name, following)


def following_stage() -> str | None:
    """Returns the step that comes next in the same pipeline, if any is known and nobody looks at the IR before it."""
    return _following.get()


class HasRule:
    """A kind of error that breaks one rule: `class QueueError(InvalidOperation, rule="queue"): ...`."""

    rule: ClassVar[str | None] = None
    """The name of the rule that is broken. None: that of the error which this one is raised from."""

    def __init_subclass__(cls, rule: str | None = None) -> None:
        super().__init_subclass__()
        cls.rule = rule or cls.rule


class LocatedError(HasRule, DiagnosticException):
    """A user error found by a pass: carries the location of the offending operation.

    Raised `from` the error of a check, its diagnostic keeps the facts of that error: the rule, the element, the
    nearest legal choice. `others` are further errors that the same step found.

    >>> import tirx
    >>> from tirx.embed import LocatedError
    >>> try:
    ...     tirx.compile("tirx.kernel @k(")
    ... except LocatedError as error:
    ...     print(error.diagnostic.rule)
    syntax
    """

    others: tuple[LocatedError, ...] = ()

    def __init__(self, where: Operation | LocationAttr, message: str, notes: Iterable[Note] = ()):
        super().__init__(message)
        self.message: str = message
        self.location: LocationAttr = nearest_location(where) if isinstance(where, Operation) else where
        self.notes: tuple[Note, ...] = tuple(notes)
        self.stage: str | None = _stage.get()

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as a value, with the facts that it and its causes carry."""
        return Diagnostic("error", self.message, self.location, Facts.of(self), self.notes, self.stage).with_chain()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """This error and the others that the same step found, in the order in which it found them."""
        return (self.diagnostic, *(other.diagnostic for other in self.others))

    def __str__(self) -> str:
        return str(self.diagnostic)


class Errors:
    """Errors of a step that goes on behind one: `attempt` around each part, `raise_all` at the end.

    ```python
    errors = Errors()
    for op in module.walk():
        with errors.attempt():
            check(op)
    errors.raise_all()
    ```
    """

    LIMIT = 20
    """The last error that is looked for: what comes behind is mostly its consequence."""

    def __init__(self) -> None:
        self._found: list[LocatedError] = []

    def attempt(self) -> Errors:
        """Keeps a LocatedError that is raised inside; raises them all once there are `LIMIT`."""
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool | None:
        if not isinstance(error, LocatedError):
            return False
        self._found += (error, *error.others)
        if len(self._found) >= self.LIMIT:
            self.raise_all()
        return True

    def raise_all(self) -> None:
        """Raises the first error, with the others as its `others`; returns if there is none."""
        if self._found:
            first, *others = self._found
            first.others = tuple(others)
            raise first


def for_each(parts: Iterable[_T], do: Callable[[_T], object]) -> None:
    """Calls `do` for each part, also behind a LocatedError. Raises the first one at the end, with its `others`."""
    errors = Errors()
    for part in parts:
        with errors.attempt():
            do(part)
    errors.raise_all()


def _print_warnings(diagnostic: Diagnostic) -> None:
    if diagnostic.severity != "remark":
        print(diagnostic, file=sys.stderr)


_handler: ContextVar[Callable[[Diagnostic], None]] = ContextVar("tirx_diagnostic_handler", default=_print_warnings)
_wants_remarks: ContextVar[bool] = ContextVar("tirx_wants_remarks", default=False)


@contextlib.contextmanager
def diagnostic_handler(handler: Callable[[Diagnostic], None], *, remarks: bool = True) -> Generator[None]:
    """Sends the warnings and remarks raised inside the `with` block to `handler`.

    Without one, warnings go to standard error and remarks nowhere. Without `remarks`, those that take time to find may
    be left out.
    """
    token, wanted = _handler.set(handler), _wants_remarks.set(remarks)
    try:
        yield
    finally:
        _handler.reset(token)
        _wants_remarks.reset(wanted)


@contextlib.contextmanager
def each_warning_once() -> Generator[None]:
    """Hands each warning on once, whose operation passes may copy: a message at a place."""
    outer, said = _handler.get(), set[tuple[str, LocationAttr]]()

    def hear(diagnostic: Diagnostic) -> None:
        key = diagnostic.message, diagnostic.location
        if diagnostic.severity != "warning" or key not in said:
            outer(diagnostic)
        said.add(key)

    with diagnostic_handler(hear, remarks=_wants_remarks.get()):
        yield


def wants_remarks() -> bool:
    """Returns True if somebody reads remarks, for those that take time to find."""
    return _wants_remarks.get()


WARNINGS = (
    "aliased-elements",
    "different-sizes",
    "emulated-instruction",
    "mask-start-count",
    "never-runs",
    "not-compared",
    "operand-pattern",
    "overlapping-views",
    "register-spills",
    "slower-product",
)
"""The names of warnings, as `-Wno-NAME` takes them; `tirx/text/rules.md` says what each is about."""


def warn(where: Operation, message: str, rule: str) -> None:
    """Reports something that is legal but probably not what the user wants. `rule` is a name of `WARNINGS`."""
    if rule not in WARNINGS:
        raise ValueError(f"expected a rule of {', '.join(WARNINGS)}, found {rule}")
    found = Diagnostic("warning", message, nearest_location(where), Facts(rule=rule), stage=_stage.get())
    _handler.get()(found.with_chain())


def report(diagnostic: Diagnostic) -> None:
    """Hands a diagnostic, of whichever severity, to the handler: the way in which passes of others warn.

    Its stage is the pass that runs, unless it has one.

    >>> from tirx import embed
    >>> from xdsl.passes import ModulePass
    >>> class SlowPass(ModulePass):
    ...     name = "toy-slow"
    ...     def apply(self, ctx, op):
    ...         embed.report(embed.Diagnostic("warning", "this will be slow", op.ops.first.location))
    >>> module = embed.parse("func.func @f() { func.return }", "f.toy")
    >>> embed.run(module, [SlowPass()], on_diagnostic=print)
    f.toy:1:1: warning: this will be slow [-Wtoy-slow]
    True
    """
    if diagnostic.stage is None:
        diagnostic = replace(diagnostic, stage=_stage.get())
    _handler.get()(diagnostic)


def remark(where: Operation, decision: Remark) -> None:
    """Reports a decision that the compiler took for the user."""
    place = nearest_location(where)
    _handler.get()(Diagnostic("remark", str(decision), place, stage=_stage.get(), decision=decision))
