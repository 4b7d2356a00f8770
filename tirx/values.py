"""
`dataclass` of the standard library, whose work is done when the first object is made.

To make a dataclass takes a millisecond, since its methods are compiled. Of the two hundred that a run of the compiler
imports it uses less than a third.
"""

from __future__ import annotations

import _thread
import dataclasses
from threading import RLock
from types import new_class
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """
        As `dataclasses.dataclass`, but the methods of the class are made together with its first object, or when
        somebody asks for its fields or its signature.

        Objects have to be made by calling the class, or by copying or unpickling one: not by `object.__new__`. Classes
        with slots or with an `__init__` of their own are made at once.
        """

        def decorate(cls):
            at_once = options.get("slots") or not options.get("init", True) or "__init__" in vars(cls)
            return dataclasses.dataclass(cls, **options) if at_once else _Pending(cls, options).cls

        return decorate if cls is None else decorate(cls)


__all__ = ["dataclass"]

_lock = RLock()

_REPLACED = {"__init__", "__setstate__", "__dataclass_fields__", "__signature__"}
"""The attributes of a class that is pending."""


class _Signature:
    """The signature that `inspect.signature` asks a class for: that of the methods that will be made."""

    def __get__(self, instance: object, owner: type[Any]) -> object:
        from inspect import signature

        dataclasses.fields(owner)
        return signature(owner)


class _Pending:
    """A class that is no dataclass yet, with methods in place of those that make or read its objects."""

    def __init__(self, cls: type[Any], options: dict[str, Any]):
        self.cls = cls
        self._options = options

        def init(this: Any, *args: Any, **named: Any) -> None:
            self._make()
            vars(cls)["__init__"](this, *args, **named)  # not that of a class that extends this one, which calls it

        def set_state(this: Any, state: dict[str, Any]) -> None:
            self._make()
            this.__dict__.update(state)

        self._init = init
        cls.__init__ = init
        cls.__setstate__ = set_state
        cls.__dataclass_fields__ = self
        cls.__signature__ = _Signature()

    def __get__(self, instance: object, owner: type[Any]) -> object:
        """The fields."""
        self._make()
        return owner.__dataclass_fields__

    def _make(self) -> None:
        cls = self.cls
        with _lock:
            if vars(cls)["__init__"] is not self._init:
                return  # somebody else was faster
            del cls.__setstate__, cls.__signature__
            if _thread._count():  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
                # Other threads may be about to call it: it is never without `__init__`.
                dataclasses.dataclass(cls, **self._options | {"init": False})
                shadow = new_class(cls.__name__, (cls,))
                for name in _REPLACED & vars(shadow).keys():  # where `__init_subclass__` makes dataclasses
                    delattr(shadow, name)
                dataclasses.dataclass(shadow, **self._options)
                cls.__init__ = vars(shadow)["__init__"]
            else:
                del cls.__init__
                dataclasses.dataclass(cls, **self._options)
