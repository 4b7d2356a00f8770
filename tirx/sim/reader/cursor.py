"""Parsers of constants and variables, shared by those of modules and of bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from tirx.sim.errors import SimError
from tirx.sim.reader.expressions import PRODUCTS, binary, continues, expression
from tirx.sim.reader.stream import TokenStream
from tirx.sim.reader.syntax import TYPE_SIZES, Immediate, Initializer, Variable

_MAX_NESTING = 64
# What a constant expression may begin with, besides a number.
_STARTS = ("-", "+", "~", "!", "(")
# Variables of these types are addresses of what only the driver knows.
_OPAQUE = ("texref", "surfref", "samplerref")
_SAMPLER_FIELDS = (
    "addr_mode_0", "addr_mode_1", "addr_mode_2", "filter_mode", "force_unnormalized_coords", "width", "height", "depth",
    "channel_data_type", "channel_order", "normalized_coords", "array_size", "num_mipmap_levels", "num_samples",
)  # fmt: skip
_BYTE_MASKS = {0xFF << shift: shift for shift in range(0, 64, 8)}


class _Attributes(NamedTuple):
    """The type of variables: `lanes` elements (more than one of a vector), and their alignment in bytes."""

    element: str
    lanes: int
    alignment: int
    is_pointer: bool


class Cursor(TokenStream):
    """Reads what function bodies and declarations of variables share."""

    def integer(self, what: str = "an integer") -> int:
        """A constant expression."""
        if self.token.kind != "number" and self.text not in _STARTS:
            raise self.error(what)
        return expression(self)

    def count(self) -> int:
        """A number, without operators."""
        value = self.literal("a number").value
        if not isinstance(value, int):
            raise self.error("an integer")
        return value

    def integers(self) -> tuple[int, ...]:
        """Integers between commas."""
        values = [self.integer()]
        while self.accept(","):
            values.append(self.integer())
        return tuple(values)

    def skip_line(self) -> None:
        line = self.line
        while not self.at_end and self.line == line:
            self.advance()

    def skip_past(self, text: str) -> None:
        while not self.accept(text):
            if self.at_end:
                raise self.error(repr(text))
            self.advance()

    def skip_braces(self) -> None:
        """`{ ... }`, whatever is in it."""
        self._skip("{", "}")

    def skip_parentheses(self) -> None:
        """`( ... )`, whatever is in it."""
        self._skip("(", ")")

    def _skip(self, opening: str, closing: str) -> None:
        self.expect(opening)
        depth = 1
        while depth:
            if self.at_end:
                raise self.error(repr(closing))
            depth += (self.text == opening) - (self.text == closing)
            self.advance()

    # Variables

    def variables(self, space: str, *, external: bool = False) -> list[Variable]:
        """Reads the rest of a declaration after its state space, up to `;`: attributes, names, bounds, initialisers."""
        attributes = self._attributes()
        found = [self._declarator(space, attributes, external)]
        while self.accept(","):
            found.append(self._declarator(space, attributes, external))
        self.expect(";")
        return found

    def variable(self, space: str) -> Variable:
        """One variable: `.align 16 .b8 name[32]`."""
        return self._declarator(space, self._attributes(), external=False)

    def _attributes(self) -> _Attributes:
        """Reads the attributes before the names of variables: `.align 16 .v2 .f32`."""
        alignment: int | None = None
        element: str | None = None
        lanes = 1
        is_pointer = False
        while self.token.kind == "word" and self.text.startswith("."):
            directive = self.word("a type")[1:]
            if directive == "align":
                bytes_of_alignment = self.integer()
                # Behind .ptr it is that of what the pointer points to.
                alignment = alignment if is_pointer else bytes_of_alignment
            elif directive == "ptr":
                is_pointer = True
            elif directive in ("v2", "v4", "v8"):
                lanes = int(directive[1:])
            elif directive == "attribute":
                self.skip_parentheses()
            elif directive in TYPE_SIZES:
                element = directive
            elif directive in _OPAQUE:
                element = "b64"
            elif not is_pointer or directive not in ("global", "shared", "const", "local"):
                raise SimError(f"expected a type or .align, found '.{directive}'", self.line)
        if element is None:
            raise self.error("a type")
        size = TYPE_SIZES[element] * lanes
        if alignment is None:
            alignment = size
        if alignment < 1 or alignment & (alignment - 1):
            raise SimError(f"expected an alignment that is a power of two, found {alignment}", self.line)
        return _Attributes(element, lanes, alignment, is_pointer)

    def _declarator(self, space: str, attributes: _Attributes, external: bool) -> Variable:
        line, element = self.line, attributes.element
        name = self.word("a variable name")
        count, is_array, unbounded = attributes.lanes, attributes.lanes > 1, False
        while self.accept("["):
            is_array = True
            if self.text == "]":
                unbounded = True
            else:
                bound = self.integer("an array bound")
                if bound < 0:
                    raise SimError(f"expected an array bound of 0 or more, found {bound}", self.line)
                count *= bound
            self.expect("]")
        initializer: tuple[Initializer, ...] = ()
        if self.accept("="):
            if self.peek().text in _SAMPLER_FIELDS and self.peek(2).text == "=":  # not a variable of such a name
                self.skip_braces()
            else:
                initializer = tuple(self._initializer(0))
                if unbounded:
                    count, unbounded = len(initializer), False
        size = 0 if unbounded else count * TYPE_SIZES[element]
        return Variable(
            *(space, name, element, size, attributes.alignment, line, is_array, attributes.is_pointer, external),
            initializer,
        )

    def _initializer(self, depth: int) -> list[Initializer]:
        if depth > _MAX_NESTING:
            raise SimError(f"braces nested more than {_MAX_NESTING} deep", self.line)
        if self.accept("{"):
            found: list[Initializer] = []
            while not self.accept("}"):
                found += self._initializer(depth + 1)
                if not self.accept(","):
                    self.expect("}")
                    break
            return found
        if self.token.kind == "word":
            name, generic = self.word("a symbol"), False
            if name == "generic":
                generic = True
                self.expect("(")
                name = self.word("a symbol")
                self.expect(")")
            return [Initializer(self.offset(), "symbol", name, generic)]
        if self.peek().text == "(" and self.token.kind == "number":  # mask(symbol): a byte of an address
            mask = self.literal("a mask").value
            self.expect("(")
            address = self._initializer(depth + 1)[0]
            self.expect(")")
            if address.kind != "symbol" or not isinstance(mask, int) or mask not in _BYTE_MASKS:
                raise SimError("expected a symbol behind a mask of one byte, such as 0xFF00(symbol)", self.line)
            return [replace(address, shift=_BYTE_MASKS[mask])]
        if self.token.kind == "number" and not continues(self, 1):
            literal = self.literal()
            return [Initializer(literal.value, literal.kind)]
        if self.text == "-" and self.peek().kind == "number" and not continues(self, 2):
            self.next()
            literal = negated(self.literal())
            return [Initializer(literal.value, literal.kind)]
        return [Initializer(self.integer("an initialiser"))]

    def offset(self) -> int:
        """Reads a sum of signed integers, possibly empty."""
        total = 0
        while self.text in ("+", "-"):
            sign = -1 if self.next().text == "-" else 1
            total += sign * binary(self, PRODUCTS)
        return total


def negated(literal: Immediate) -> Immediate:
    """`-literal`"""
    value = literal.value
    if isinstance(value, float):
        return Immediate("decimal", -value)
    if literal.kind in ("f32", "f64"):
        return Immediate(literal.kind, value ^ (1 << (31 if literal.kind == "f32" else 63)))
    return Immediate("integer", -value)
