"""A cursor over a layout text. Every error carries the character offset of the mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypeVar

from tirx.layout.errors import LayoutError

T = TypeVar("T")

_SPACE = re.compile(r"\s*")
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER_LIKE = re.compile(r"-?[0-9][A-Za-z0-9_.]*")
_WORD = re.compile(r"#?[^\W\d][\w.]*")
_KEYWORD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*=(?!=)", re.ASCII)
_STRING = re.compile(r"""(["'])([^"'\n]*)\1""")
_OTHER_BASE = re.compile(r"-?0(x[0-9a-f]+|o[0-7]+|b[01]+)", re.IGNORECASE)
_TYPED_INTEGER = re.compile(r"u?int(8|16|32|64)")

INTEGER_DIGITS = 1000
"""Layouts hold exact integers of any size; Python turns no more than some thousand digits into one."""


def check_integer(value: int, position: int) -> int:
    """The value, or LayoutError when it has more digits than can be read back."""
    if abs(value) >= 10**INTEGER_DIGITS:
        raise LayoutError(f"expected an integer of at most {INTEGER_DIGITS} digits", position)
    return value


def to_integer(digits: str, position: int) -> int:
    """Decimal digits with an optional sign as an int; LayoutError for too many of them."""
    significant = digits.lstrip("-").lstrip("0") or "0"
    if len(significant) > INTEGER_DIGITS:
        raise LayoutError(
            f"expected an integer of at most {INTEGER_DIGITS} digits, found {len(significant)} digits", position
        )
    return -int(significant) if digits.startswith("-") else int(significant)


Readers: TypeAlias = "Mapping[str, Callable[[Scanner], Any]]"


class Scanner:
    """A cursor over the text."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def skip(self) -> int:
        """Moves to the next character that is no white space and returns its offset."""
        found = _SPACE.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return self.position

    def peek(self, token: str) -> bool:
        """Returns True if the token is next."""
        self.skip()
        return self.text.startswith(token, self.position)

    def take(self, token: str) -> bool:
        """Steps over the token if it is next."""
        if not self.peek(token):
            return False
        self.position += len(token)
        return True

    def found(self) -> str:
        """The token at the cursor, for messages: a whole number or word, or a single character."""
        self.skip()
        if self.position >= len(self.text):
            return "the end of the text"
        match = _NUMBER_LIKE.match(self.text, self.position) or _WORD.match(self.text, self.position)
        token = match.group() if match is not None else self.text[self.position]
        return repr(token if len(token) <= 40 else f"{token[:40]}...")

    def fail(self, expected: str) -> LayoutError:
        """The error that something else was expected here."""
        found = self.found()
        return LayoutError(f"expected {expected}, found {found}", self.position)

    def expect(self, token: str) -> None:
        """Steps over the token, which must be next."""
        if not self.take(token):
            raise self.fail(f"'{token}'")

    def at_number(self) -> bool:
        """Returns True if a plain integer is next."""
        return _INTEGER.match(self.text, self.skip()) is not None

    def integer(self, what: str) -> int:
        """A decimal integer, plain or with the type that TVM prints: `T.int64(8)`."""
        at = self.skip()
        word = self.word()
        if word is not None and _TYPED_INTEGER.fullmatch(word):
            self.take_word(word)
            self.expect("(")
            value = self._digits("an integer")
            self.expect(")")
            return value
        self.position = at
        return self._digits(what)

    def _digits(self, what: str) -> int:
        at = self.skip()
        match = _INTEGER.match(self.text, at)
        whole = _NUMBER_LIKE.match(self.text, at)
        if match is None or whole is None:
            raise self.fail(what)
        if whole.end() > match.end():
            other = _OTHER_BASE.fullmatch(whole.group())
            hint = f"; write it in decimal: {int(whole.group(), 0)}" if other and len(whole.group()) <= 18 else ""
            raise LayoutError(f"expected {what}, found {self.found()}{hint}", at)
        self.position = match.end()
        return to_integer(match.group(), at)

    def boolean(self, what: str) -> bool:
        """`True` or `False`, in either case of the first letter."""
        taken = self.take_word("True", "False", "true", "false")
        if taken is None:
            raise self.fail(f"{what} (True or False)")
        return taken in ("True", "true")

    def word(self) -> str | None:
        """The word at the cursor without the module prefix `T.`; not consumed."""
        match = _WORD.match(self.text, self.skip())
        return match.group().removeprefix("T.") if match is not None else None

    def take_word(self, *words: str) -> str | None:
        """Steps over the word at the cursor if it is one of these, with or without the prefix `T.`, and returns it."""
        word = self.word()
        if word is None or word not in words:
            return None
        if self.text.startswith("T.", self.position):
            self.position += len("T.")
        self.position += len(word)
        return word

    def string(self) -> tuple[str, int] | None:
        """The contents of a string in quotes and their offset; None when no string is next."""
        at = self.skip()
        match = _STRING.match(self.text, at)
        if match is None:
            return None
        self.position = match.end()
        return match.group(2), at + 1

    def end(self) -> None:
        """Nothing but white space may follow."""
        if self.skip() < len(self.text):
            raise self.fail("the end of the layout")

    def items(self, item: Callable[[], T], closing: str | None) -> list[T]:
        """Values with commas between them, up to and with the closing bracket if there is one."""
        found: list[T] = []
        while closing is None or not self.peek(closing):
            found.append(item())
            if not self.take(","):
                break
        if closing is not None:
            self.expect(closing)
        return found

    def arguments(
        self,
        closing: str | None,
        readers: Readers,
        required: Collection[str],
        aliases: Mapping[str, str] = {},
    ) -> dict[str, Any]:
        """Values by position or by keyword, up to and with the closing bracket, or to the end of the text for None.

        `readers` has one entry for each parameter, in the order of the positions, which reads the value at the cursor.
        """
        names = {**{name: name for name in readers}, **aliases}
        given: dict[str, Any] = {}
        by_keyword = False

        def at_end() -> bool:
            return self.peek(closing) if closing is not None else self.skip() == len(self.text)

        while not at_end():
            left = [name for name in readers if name not in given]
            if not left:
                break
            at = self.skip()
            keyword = _KEYWORD.match(self.text, at)
            if keyword is not None:
                if keyword.group(1) not in names:
                    raise self.fail(f"one of the keywords {', '.join(names)}")
                name = names[keyword.group(1)]
                self.position = keyword.end()
                by_keyword = True
            elif by_keyword:
                raise self.fail("a keyword, as before")
            else:
                name = left[0]
            if name in given:
                raise LayoutError(f"{name} is given twice", at)
            given[name] = readers[name](self)
            if not self.take(","):
                break
        missing = [name for name in readers if name in required and name not in given]
        if missing:
            raise self.fail(f"',' and {missing[0]}" if given else missing[0])
        if closing is None:
            self.end()
        else:
            self.expect(closing)
        return given
