"""Many cases as one test, and samples of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Sampled(Protocol):
    """The fixture `sampled`: `count` of the cases, in their order, and all with `--all-cases`."""

    def __call__(self, cases: Iterable[T], count: int) -> list[T]: ...


def together(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """
    As `pytest.mark.parametrize`, but all cases are one test, and the first that fails is named.

    For hundreds of cases that take less time than pytest needs for a test.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows: list[Sequence[Any]] = [case if len(keys) > 1 else (case,) for case in cases]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function)

        @wraps(function)
        def run(**fixtures: Any) -> None:
            for row in rows:
                try:
                    function(**fixtures, **dict(zip(keys, row, strict=True)))
                except BaseException as error:  # an assertion, or what pytest raises where nothing is raised
                    error.add_note(f"{keys} = {row}")
                    raise

        others = [value for name, value in signature.parameters.items() if name not in keys]
        run.__dict__["__signature__"] = signature.replace(parameters=others)  # pytest passes fixtures by it
        return run

    return decorate


def results(path: Path, names: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """
    Results of the expressions of a file, and those that the file gives: each is a line, with the result behind it.

    The result is the text of the value, or `! ` and the message where it is refused.
    """
    lines = path.read_text().splitlines()
    expected = {program: line.strip() for program, line in zip(lines[::2], lines[1::2], strict=True)}
    return {program: _result(program, names) for program in expected}, expected


def _result(program: str, names: Mapping[str, Any]) -> str:
    try:
        text = str(eval(program, dict(names)))
    except ValueError as error:
        text = f"! {error}"
    return text.strip().replace("\n", "\\n")


def with_less_known(case: Any, facts: Collection[str], operands: tuple[type, ...] = ()) -> Iterator[Any]:
    """Yields copies of a data class in which a fact, or a field of an operand among them, is None: unknown."""
    for name in facts:
        value = getattr(case, name)
        yield replace(case, **{name: None})
        for part in fields(value) if isinstance(value, operands) else ():
            if part.default is None:
                yield replace(case, **{name: replace(value, **{part.name: None})})
