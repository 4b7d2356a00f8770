"""Classes whose methods are made with their first object behave as dataclasses of the standard library."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from threading import Barrier, Event, Thread

import pytest

from tirx.remarks import Remark
from tirx.values import dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 2


@dataclass(frozen=True)
class Named(Point):
    name: str = "p"
    tags: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("expected a name")


@dataclass
class Bag:
    things: list[int] = field(default_factory=list[int])


def _made() -> type[Point]:
    """A new class."""

    @dataclass(frozen=True)
    class Made(Point):
        z: int = 3

    return Made


def test_fields_are_known_before_there_is_an_object() -> None:
    made = _made()
    assert is_dataclass(made)
    assert [each.name for each in fields(made)] == ["x", "y", "z"]


def test_objects_are_values() -> None:
    made = _made()
    one = made(1)
    assert one == made(1, 2) != made(2)
    assert hash(one) == hash(made(1)) and {one: 5}[made(1)] == 5
    assert repr(one).endswith("Made(x=1, y=2, z=3)")
    assert replace(one, y=7) == made(1, 7) and asdict(one) == {"x": 1, "y": 2, "z": 3}
    with pytest.raises(FrozenInstanceError, match="x"):
        one.x = 3  # pyright: ignore[reportAttributeAccessIssue]
    match one:
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_a_class_inherits_fields_of_one_without_objects() -> None:
    assert Named(1, name="n") == Named(1, 2, "n", ("other",)) != Point(1)
    with pytest.raises(ValueError, match="expected a name"):
        Named(1, name="")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Named()  # pyright: ignore[reportCallIssue]


def test_defaults_are_made_for_each_object() -> None:
    Bag().things.append(1)
    assert Bag() == Bag([])


def test_objects_are_copied_and_restored() -> None:
    assert copy.copy(Named(4)) == Named(4)
    assert pickle.loads(pickle.dumps(Named(5))) == Named(5)


def test_the_first_object_may_come_out_of_a_pickle() -> None:
    made = _made()
    empty, other = object.__new__(made), object.__new__(made)
    for each, z in ((empty, 3), (other, 4)):
        restore: Callable[[dict[str, int]], None] = getattr(each, "__setstate__", each.__dict__.update)
        restore({"x": 1, "y": 2, "z": z})
    assert empty != other  # z is compared before there is a call of the class
    assert empty == made(1) and not hasattr(empty, "__setstate__")


def test_threads_may_make_the_first_object_at_once() -> None:
    for _ in range(20):
        made, start, found = _made(), Barrier(4), list[Point]()

        def make(made: type[Point] = made, start: Barrier = start, found: list[Point] = found) -> None:
            start.wait()
            found.append(made(1))

        threads = [Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [made(1)] * 4
        assert repr(found[0]).endswith("Made(x=1, y=2, z=3)")


def test_remarks_are_made_beside_other_threads() -> None:
    class Kind(Remark):
        TEXT = "{count} of them"
        count: int

    end = Event()
    other = Thread(target=end.wait)
    other.start()
    try:
        assert str(Kind(3)) == "3 of them" and Kind(3) == Kind(3)
    finally:
        end.set()
        other.join()


def test_signature_of_a_class_without_objects():
    assert str(inspect.signature(_made())) == "(x: 'int', y: 'int' = 2, z: 'int' = 3) -> None"


def test_the_first_object_may_be_that_of_a_class_with_an_init_of_its_own():
    class Origin(_made()):
        def __init__(self) -> None:
            super().__init__(0, 0)

    assert (Origin().x, Origin().y) == (0, 0)
