"""Attributes that have a value of Python, written between angle brackets."""

from __future__ import annotations

import abc
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer

DataT = TypeVar("DataT")


class TextData(Data[DataT], abc.ABC):
    """An attribute whose text is that of its value."""

    @classmethod
    @abc.abstractmethod
    def parse_body(cls, parser: AttrParser) -> DataT:
        """Parses the text between the brackets."""
        raise NotImplementedError

    def body(self) -> str:
        """The counterpart of `parse_body`."""
        return str(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DataT:
        with parser.in_angle_brackets():
            return cls.parse_body(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.body())


@contextmanager
def errors_from(parser: AttrParser, start: int) -> Generator[None]:
    """Makes a ValueError an error of the text from `start` on."""
    try:
        yield
    except ValueError as error:
        parser.raise_error(str(error), start, parser.pos)
