"""`dataclass`, as in the standard library, of which only `__init__` is compiled.

That of the standard library compiles six methods for a frozen class, in half a millisecond. A compilation imports 360
of these classes, whose methods take a tenth of the time here. The other names are those of `dataclasses`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import MISSING, FrozenInstanceError, field, fields, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dataclasses import dataclass
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once for an object, without the lock that Python 3.11 takes for it."""

        def __get__(self, instance, owner):
            if instance is None:
                return self
            found = instance.__dict__[self.attrname] = self.func(instance)
            return found

    def dataclass(cls=None, /, *, frozen=False, eq=True, slots=False):
        """Makes a class a dataclass; see `dataclasses.dataclass`. Fields of type InitVar are not supported.

        A class that extends a frozen one of the standard library is made by that. Objects of a frozen class that has
        `HASHED_ONCE` keep their hash, as what they consist of is hashed in Python.
        """

        def made(cls):
            bases = [vars(base).get("__dataclass_params__") for base in cls.__mro__[1:]]
            if any(params is not None and params.frozen for params in bases):
                return dataclasses.dataclass(cls, frozen=frozen, eq=eq, slots=slots)
            return _made(cls, frozen, eq, slots)

        return made if cls is None else made(cls)


__all__ = ["cached_property", "dataclass", "field", "fields", "replace"]


class _Factory:
    """The default of parameters whose value a factory makes, as `inspect` shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _made(cls: Any, frozen: bool, eq: bool, slots: bool) -> Any:
    own: Mapping[str, Any] = cls.__dict__
    is_hashed = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    cls.__doc__ = cls.__doc__ or cls.__name__  # or else the standard library writes a signature
    cls = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)
    all_fields = fields(cls)
    if "__init__" not in own:
        cls.__init__ = _initializer(cls, all_fields, frozen, slots)
    if "__repr__" not in own:
        cls.__repr__ = _repr
    if eq:
        if "__eq__" not in own:
            cls.__eq__ = _equality([each.name for each in all_fields if each.compare])
        if not is_hashed:
            names = [each.name for each in all_fields if (each.compare if each.hash is None else each.hash)]
            cls.__hash__ = _hash(names) if frozen else None
            if frozen and getattr(cls, "HASHED_ONCE", False):
                cls.__hash__, cls.__getstate__, cls._hash = _hashed_once(cls.__hash__), _without_hash, None
    if frozen:
        _freeze(cls, {each.name for each in all_fields})
    if frozen and slots:
        cls.__getstate__, cls.__setstate__ = _state, _set_state
    return cls


def _initializer(cls: Any, all_fields: tuple[dataclasses.Field[Any], ...], frozen: bool, slots: bool) -> Any:
    names: dict[str, Any] = {"set_": object.__setattr__, "FACTORY_": _FACTORY}
    positional, named = list[str](), list[str]()
    body: list[str] = []
    for each in all_fields:
        name, value = each.name, each.name
        default = each.default
        if each.default_factory is not MISSING:
            default = _FACTORY
            names[f"make_{name}_"] = each.default_factory
            value = f"make_{name}_() if {name} is FACTORY_ else {name}" if each.init else f"make_{name}_()"
        names[f"{name}_"] = default
        if each.init:
            parameters = named if each.kw_only is True else positional
            parameters.append(name if default is MISSING else f"{name}={name}_")
        elif default is not _FACTORY:
            if default is MISSING or not slots:
                continue
            value = f"{name}_"
        body.append(f"set_(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    every = ["self", *positional, *(["*", *named] if named else [])]
    source = f"def __init__({', '.join(every)}):\n " + "\n ".join(body or ["pass"])
    exec(source, names)
    init = names["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {each.name: each.type for each in all_fields if each.init} | {"return": None}
    return init


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _getter(names: list[str]) -> Any:
    """Returns a function from an object to its value, of one name, or to the tuple of its values."""

    def nothing(self: Any) -> tuple[()]:
        return ()

    return attrgetter(*names) if names else nothing


def _equality(names: list[str]) -> Any:
    get = _getter(names)

    def of_one(self: Any, other: Any) -> bool:
        return (get(self),) == (get(other),) if other.__class__ is self.__class__ else NotImplemented

    def of_all(self: Any, other: Any) -> bool:
        return get(self) == get(other) if other.__class__ is self.__class__ else NotImplemented

    return of_one if len(names) == 1 else of_all


def _hash(names: list[str]) -> Any:
    get = _getter(names)

    def of_one(self: Any) -> int:
        return hash((get(self),))

    def of_all(self: Any) -> int:
        return hash(get(self))

    return of_one if len(names) == 1 else of_all


def _hashed_once(hash_: Any) -> Any:
    """Returns a method that keeps the hash with the object."""

    def __hash__(self: Any) -> int:
        if (found := self._hash) is None:
            object.__setattr__(self, "_hash", found := hash_(self))
        return found

    return __hash__


def _without_hash(self: Any) -> dict[str, Any]:
    """Returns the state of an object without the hash, which is another one in another process."""
    state: dict[str, Any] = self.__dict__.copy()
    state.pop("_hash", None)
    return state


def _freeze(cls: Any, names: set[str]) -> None:
    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        cast(Any, super(cls, self)).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        cast(Any, super(cls, self)).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
