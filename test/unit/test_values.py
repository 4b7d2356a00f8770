"""Dataclasses of `tirx.values` behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from unit.cases import together
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx import values

_OPTIONS: tuple[dict[str, bool], ...] = (
    {},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"slots": True},
    {"eq": False},
    {"frozen": True, "eq": False},
)


def _classes(dataclass: Callable[..., Any], options: dict[str, bool]) -> list[Any]:
    """Returns classes of one origin, those behind the first made by `dataclass` from those before them."""

    class Point:
        x: int
        y: int = 2

    point = dataclass(**options)(Point)

    class Named(point):
        things: list[int] = dataclasses.field(default_factory=list[int])
        name: str = dataclasses.field(default="p", kw_only=True)
        tags: tuple[str, ...] = dataclasses.field(default=(), compare=False, repr=False)
        made: int = dataclasses.field(default=7, init=False)
        others: list[int] = dataclasses.field(default_factory=list[int], init=False)

        def __post_init__(self) -> None:
            if not self.name:
                raise ValueError("expected a name")

    class Own(point):
        """Methods of its own."""

        def __init__(self, x: int):
            object.__setattr__(self, "x", x)
            object.__setattr__(self, "y", 0)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 3

    class One:
        x: Any = None

    class Nothing:
        pass

    return [point, *(dataclass(**options)(each) for each in (Named, Own, One, Nothing))]


def _tried(act: Callable[[], object]) -> object:
    """Returns the result of a call, or the exception that it raises, as text without addresses and line numbers."""
    try:
        return str(act()).split(" at 0x")[0]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _is_value(one: Any) -> bool:
    """Returns True if the hash is one of contents, which the next run has, too."""
    return type(one).__hash__ is not object.__hash__


def _answers(cls: Any) -> list[object]:
    """Returns all that can be seen of a class and its objects."""
    found: list[object] = [_tried(lambda: inspect.signature(cls)), cls.__match_args__, dataclasses.is_dataclass(cls)]
    found += [(each.name, each.type) for each in dataclasses.fields(cls)]
    for arguments, named in (((), {}), ((1,), {}), ((1, 3), {}), ((1, 3, [4]), {"name": "n"}), ((1,), {"name": ""})):
        found.append(_tried(lambda given=arguments, named=named: cls(*given, **named)))
    for given in ((1,), (1, 2), (), (math.nan,)):
        try:
            one, other = cls(*given), cls(*given)
        except TypeError:
            continue
        found += [
            one == other,
            one != other,
            one == 3,
            _tried(lambda a=one, b=other: hash(a) == hash(b)),
            _tried(lambda a=one: hash(a) if _is_value(a) else 0),
        ]
        found += [_tried(lambda a=one: copy.copy(a)), _tried(lambda a=one: copy.deepcopy(a) == a)]
        found += [_tried(lambda a=one: dataclasses.asdict(a)), _tried(lambda a=one: dataclasses.replace(a, x=9))]
        found += [_tried(lambda a=one: setattr(a, "x", 5))] if dataclasses.fields(cls) else []
        if hasattr(one, "__dict__"):  # with slots, that of the standard library raises a TypeError by mistake
            found += [_tried(lambda a=one: setattr(a, "unknown", 5))]
            found += [_tried(lambda a=one: delattr(a, "x")), _tried(lambda a=one: a.x), vars(one)]
        if given:
            looped = cls([])
            looped.x.append(looped)
            found += [_tried(lambda a=looped: a)]
    return found


@together("options", _OPTIONS)
def test_classes_behave_as_those_of_the_standard_library(options: dict[str, bool]) -> None:
    pairs = zip(_classes(values.dataclass, options), _classes(dataclasses.dataclass, options), strict=True)
    for own, other in pairs:
        assert _answers(own) == _answers(other)


@values.dataclass(frozen=True, slots=True)
class _Kept:
    x: int
    y: tuple[int, ...] = ()


@values.dataclass(frozen=True)
class _Pass(ModulePass):
    x: int = 1
    name = "pass"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def test_objects_are_restored_from_pickles() -> None:
    assert pickle.loads(pickle.dumps(_Kept(5))) == _Kept(5)


class _Word:
    hashed = 0

    def __hash__(self) -> int:
        _Word.hashed += 1
        return 5


@values.dataclass(frozen=True)
class _Hashed:
    HASHED_ONCE = True

    word: _Word | int


def test_hashes_are_kept_with_an_object_but_not_in_pickles() -> None:
    one = _Hashed(_Word())
    assert hash(one) == hash(one) and _Word.hashed == 1 and one != _Hashed(_Word())
    hash(number := _Hashed(7))
    copied = pickle.loads(pickle.dumps(number))
    assert copied == number and vars(copied) == {"word": 7} and hash(copied) == hash(number)


def test_a_class_may_extend_one_of_the_standard_library() -> None:
    assert _Pass(2) == _Pass(2) != _Pass()
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        _Pass().x = 2  # pyright: ignore[reportAttributeAccessIssue]


def test_objects_of_subclasses_that_are_no_dataclasses_have_other_attributes() -> None:
    class Plain(_Pass):
        other: int

    plain = Plain()
    plain.other = 4
    assert plain.other == 4
