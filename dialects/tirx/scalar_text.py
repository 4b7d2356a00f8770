"""Bodies of maps and folds as expressions: `(%p, %q) { %d = %p - %q; exp(%d) * 0.5 }`, which become `arith` and `math`.

Parsed in two steps, as results say the types of numbers: first the text, then its operations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NoReturn, TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tirx.dialects.definition import i32_attr
from tirx.dialects.tirx.attributes import TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.dialects.tirx.index_text import made
from tirx.dialects.tirx.kernel import ParamOp
from tirx.dialects.tirx.sizes import NAME
from tirx.dialects.xdsl_parser import current_token, operation_named, resume_from
from tirx.dialects.xdsl_private import erase
from tirx.values import dataclass, field

_TOKEN = re.compile(
    r"\s+|//[^\n]*|(%[\w$.]+(?:#\d+)?|\d+\.\d*(?:[eE][+-]?\d+)?|\d+|[A-Za-z_]\w*|<<|>>|[<>=!]=|[-+*/<>&|^!(),;=}])"
)

_BINARY: Sequence[dict[str, tuple[str | None, str | None]]] = (
    {"|": (None, "ori")},
    {"^": (None, "xori")},
    {"&": (None, "andi")},
    {"==": ("oeq", "eq"), "!=": ("une", "ne")},
    {"<": ("olt", "slt"), "<=": ("ole", "sle"), ">": ("ogt", "sgt"), ">=": ("oge", "sge")},
    {"<<": (None, "shli"), ">>": (None, "shrsi")},
    {"+": ("addf", "addi"), "-": ("subf", "subi")},
    {"*": ("mulf", "muli"), "/": ("divf", "divsi")},
)
"""Operators by precedence, the weakest first -> what they are of floats and of integers, which have signs."""

_UNSIGNED = {"slt": "ult", "sle": "ule", "sgt": "ugt", "sge": "uge", "shrsi": "shrui", "divsi": "divui"}
"""Operations of integers with signs -> those of integers without."""

_DIGITS = 4000
"""Digits of the longest integers that are read."""

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_OF_TRUTHS = ("==", "!=", "&", "|", "^")
_SIGNS = (Signedness.SIGNLESS, Signedness.UNSIGNED)
_TYPES: Mapping[str, AnyFloat | IntegerType] = {
    str(each): each for each in (f16, bf16, f32, f64, *(IntegerType(n, s) for s in _SIGNS for n in (4, 8, 16, 32, 64)))
}
_Cast: TypeAlias = Callable[[SSAValue, Any], Operation]
_CASTS: Mapping[tuple[bool, bool], tuple[_Cast, _Cast]] = {
    (False, False): (arith.ExtFOp, arith.TruncFOp),
    (True, True): (arith.ExtSIOp, arith.TruncIOp),
    (True, False): (arith.SIToFPOp, arith.SIToFPOp),
    (False, True): (arith.FPToSIOp, arith.FPToSIOp),
}
"""Whether a type and the one that it becomes are integers -> the conversion to more bits, and to fewer."""
_UNSIGNED_CASTS: Mapping[_Cast, _Cast] = {
    arith.ExtSIOp: arith.ExtUIOp,
    arith.SIToFPOp: arith.UIToFPOp,
    arith.FPToSIOp: arith.FPToUIOp,
}


def _element(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, TileType) else type_


def _is_unsigned(type_: Attribute) -> bool:
    return type(type_) is IntegerType and type_.signedness.data is Signedness.UNSIGNED


@dataclass(frozen=True)
class _Node:
    """A name, a number, an operator or a function with its operands and its flag of `fastmath`, and where it stands."""

    word: str
    at: int
    operands: tuple[_Node, ...] = ()
    flag: FastMathFlag | None = None


@dataclass
class ScalarText:
    """A body as text: the names of its arguments, of intermediate values, and the expressions that it yields."""

    names: list[tuple[str, int]]
    values: list[tuple[str, int, _Node]]
    results: list[_Node]

    @staticmethod
    def parse_optional(parser: Parser) -> ScalarText | None:
        """Parses `(%p, %q) { ... }` if a parenthesis follows."""
        names = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        if names is None:
            return None
        token = current_token(parser)
        content, start = token.span.input.content, token.span.start
        if token.text != "{":
            parser.raise_error("expected the expressions of a body in braces", token.span)
        expressions = _Expressions(parser, content, start + 1)
        found = expressions.body()
        resume_from(parser, expressions.end + 1)
        return ScalarText([(each.operand_name, each.span.start) for each in names], *found)

    def region(self, parser: Parser, arguments: Sequence[Attribute], results: Sequence[Attribute], end: str) -> Region:
        """Returns the body for elements of tiles of these types; `end` is the name of its last operation."""
        at = self.names[0][1] if self.names else self.results[0].at
        if len(arguments) != len(self.names):
            parser.raise_error(f"expected names of {len(arguments)} arguments, found {len(self.names)}", at, at)
        if len(results) != len(self.results):
            at = self.results[0].at
            parser.raise_error(f"expected {len(results)} expressions, found {len(self.results)}", at, at)
        elements = [_element(type_) for type_ in arguments]
        block = Block(arg_types=[scalar_type(each) for each in elements])
        made = _Made(parser, block)
        made.unsigned.update(value for value, each in zip(block.args, elements, strict=True) if _is_unsigned(each))
        for (name, at), argument in zip(self.names, block.args, strict=True):
            made.define(name, at, argument)
        for name, at, node in self.values:
            made.define(name, at, made.value(node, None))
        wanted = [scalar_type(_element(type_)) for type_ in results]
        values = [made.value(node, type_) for node, type_ in zip(self.results, wanted, strict=True)]
        block.add_op(operation_named(parser, end).create(operands=values))
        return Region(block)

    def scalar(self, parser: Parser, types: Sequence[Attribute], end: str) -> Operation:
        """Returns the last operation of an expression of scalars; those before it go in front of it."""
        at = self.results[0].at
        if len(types) > 1:
            parser.raise_error(f"expected one scalar, found {len(types)}", at, at)
        block = self.region(parser, [], types, end).block
        *ops, last = block.ops
        (value,) = last.operands
        if ops and value.owner is ops[-1] and value.type == scalar_type(types[0]) != types[0]:
            cast_ = UnrealizedConversionCastOp.get([value], [types[0]])
            block.insert_op_before(cast_, last)
            ops, value = [*ops, cast_], cast_.results[0]
        if value.type != types[0]:
            parser.raise_error(f"expected an expression of type {types[0]}, found one of type {value.type}", at, at)
        if not ops or value.owner is not ops[-1] or any(op.name == "tirx.index" for op in ops):
            parser.raise_error("expected an operator or a function of scalars, found a name or index(...)", at, at)
        erase(last)
        for op in ops:
            op.detach()
        for op in ops[:-1]:
            made(parser, op)
        return ops[-1]


def _is_number(node: _Node) -> bool:
    return node.word[:1].isdigit() or node.word == "inf" or (node.word == "unary -" and _is_number(node.operands[0]))


def _has_any_type(node: _Node) -> bool:
    return _is_number(node) or NAME.fullmatch(node.word) is not None


class _Expressions:
    """A recursive descent over the tokens of a body."""

    def __init__(self, parser: Parser, content: str, start: int):
        self.parser = parser
        self.tokens = list(self._tokens(content, start))
        self.end = self.tokens[-1][1]
        self.index = 0

    def _tokens(self, content: str, at: int) -> Iterator[tuple[str, int]]:
        """The tokens up to the brace that ends the body, whose text is ''."""
        while (match := _TOKEN.match(content, at)) is not None and match[1] != "}":
            if match[1] is not None:
                yield match[1], at
            at = match.end()
        if match is None:
            expected = "an expression" if at < len(content) else "'}'"
            self.parser.raise_error(f"expected {expected}, found '{content[at : at + 1]}'", at, at + 1)
        yield "", at

    def _take(self, *words: str) -> bool:
        found = self.tokens[self.index][0] in words
        self.index += found
        return found

    def _expect(self, word: str) -> None:
        if not self._take(word):
            text, at = self.tokens[self.index]
            self.parser.raise_error(f"expected '{word}', found '{text or '}'}'", at, at + len(text))

    def body(self) -> tuple[list[tuple[str, int, _Node]], list[_Node]]:
        """`%a = e; %b = f; g, h`"""
        values: list[tuple[str, int, _Node]] = []
        while self.tokens[self.index][0].startswith("%") and self.tokens[self.index + 1][0] == "=":
            name, at = self.tokens[self.index]
            self.index += 2
            values.append((name[1:], at, self._expression()))
            self._expect(";")
        results = [self._expression()]
        while self._take(","):
            results.append(self._expression())
        if (left := self.tokens[self.index])[0]:
            self.parser.raise_error(f"expected an operator, ',' or '}}', found '{left[0]}'", left[1], left[1])
        return values, results

    def _expression(self, level: int = 0) -> _Node:
        if level == len(_BINARY):
            return self._unary()
        left = self._expression(level + 1)
        while (found := self.tokens[self.index])[0] in _BINARY[level]:
            self.index += 1
            left = _Node(found[0], found[1], (left, self._expression(level + 1)))
        return left

    def _unary(self) -> _Node:
        word, at = self.tokens[self.index]
        self.index += 1
        if word in ("-", "!"):
            inner = self._unary()
            if word == "-" and _is_number(inner):
                return inner.operands[0] if inner.operands else _Node("unary -", at, (inner,))
            return _Node(f"unary {word}", at, (inner,))
        if word == "(":
            inner = self._expression()
            self._expect(")")
            return inner
        if word[:1] == "%" or word[:1].isdigit() or word == "inf":
            return _Node(word, at)
        if not word.isidentifier():
            self.parser.raise_error(f"expected an expression, found '{word or '}'}'", at, at + len(word))
        if NAME.fullmatch(word) is not None and self.tokens[self.index][0] != "(":
            return _Node(word, at)
        flag = self._flag() if self._take("<") else None
        self._expect("(")
        operands = [self._expression()]
        while self._take(","):
            operands.append(self._expression())
        self._expect(")")
        return _Node(f"{word}(", at, tuple(operands), flag)

    def _flag(self) -> FastMathFlag:
        """The flag of `fastmath` between a `<`, which has been taken, and its `>`."""
        word, at = self.tokens[self.index]
        found = next((flag for flag in FastMathFlag if flag.value == word), None)
        if found is None:
            known = ", ".join(flag.value for flag in FastMathFlag)
            self.parser.raise_error(f"expected one of {known}, found '{word or '}'}'", at, at + len(word))
        self.index += 1
        self._expect(">")
        return found


@dataclass
class _Made:
    """The operations of a body. A number has the type of the other operand, or the one that is asked for."""

    parser: Parser
    block: Block
    known: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    unsigned: set[SSAValue] = field(default_factory=set[SSAValue])

    def define(self, name: str, at: int, value: SSAValue) -> None:
        """Gives a value a name that no other has."""
        if "#" in name:
            self._refuse(at, f"expected a name of one value, found %{name}")
        if name in self.known or name in self.parser.ssa_values:
            self._refuse(at, f"SSA value %{name} is already defined")
        self.known[name] = value
        if SSAValue.is_valid_name(name):
            value.name_hint = name

    def value(self, node: _Node, want: Attribute | None) -> SSAValue:
        """The value of an expression; `want` is its type where that is known."""
        word = node.word
        if word.startswith("%"):
            return self._named(word[1:], node.at)
        if NAME.fullmatch(word) is not None:
            return self._parameter(word, node.at, want)
        if _is_number(node):
            number = f"-{node.operands[0].word}" if word == "unary -" else word
            return self._number(number, node.at, want)
        if word.endswith("("):
            return self._call(node, word[:-1], want)
        if word == "unary !":
            value = self._truth(node.operands[0])
            return self._op(arith.XOrIOp(value, self._op(arith.ConstantOp(IntegerAttr(1, i1)))))
        if word == "unary -":
            value = self.value(node.operands[0], want)
            if isinstance(value.type, AnyFloat):
                return self._op(arith.NegfOp(value))
            self._require_number("-", node.at, value)
            return self._like([value], self._op(arith.SubiOp(self._number("0", node.at, value.type), value)))
        is_comparison = word in _COMPARISONS
        left, right = self._alike(node.operands, None if is_comparison else want)
        of_floats, of_integers = next(row[word] for row in _BINARY if word in row)
        name = of_floats if isinstance(left.type, AnyFloat) else of_integers
        if name is None:
            self._refuse(node.at, f"expected integers for '{word}', found {left.type}")
        if word not in _OF_TRUTHS:
            self._require_number(word, node.at, left)
        if left in self.unsigned or right in self.unsigned:
            name = _UNSIGNED.get(name, name)
        if name in _UNSIGNED or name in _UNSIGNED.values():
            self._require_same(node.operands, left.type, name not in _UNSIGNED)
        if is_comparison:
            compare = arith.CmpfOp if isinstance(left.type, AnyFloat) else arith.CmpiOp
            return self._op(compare(left, right, name))
        return self._elementwise(f"arith.{name}", node.at, [left, right])

    def _alike(self, nodes: Sequence[_Node], want: Attribute | None) -> list[SSAValue]:
        """The values of operands of one type, which those that are no numbers have; parameters are indices at least."""
        found = {i: self.value(node, want) for i, node in enumerate(nodes) if not _has_any_type(node)}
        default = IndexType() if any(NAME.fullmatch(node.word) for node in nodes) else None
        type_ = next((value.type for value in found.values()), want or default)
        values = [found[i] if i in found else self.value(node, type_) for i, node in enumerate(nodes)]
        for node, value in zip(nodes, values, strict=True):
            if value.type != type_:
                self._refuse(node.at, f"expected operands of one type, found {type_} and {value.type}")
        return values

    def _call(self, node: _Node, name: str, want: Attribute | None) -> SSAValue:
        if node.flag is not None and (name in ("index", "select") or name.startswith("as_") or name in _TYPES):
            self._refuse(node.at, f"expected an operation with fastmath for <{node.flag.value}>, found {name}(...)")
        if name == "index":
            if len(node.operands) != 1 or not node.operands[0].word.isdigit():
                self._refuse(node.at, "expected index(DIMENSION)")
            op = operation_named(self.parser, "tirx.index")
            dimension = {"dim": i32_attr(int(node.operands[0].word))}
            return self._op(op.create(properties=dimension, result_types=[IndexType()]))
        if name == "select":
            if len(node.operands) != 3:
                self._refuse(node.at, "expected select(CONDITION, VALUE, VALUE)")
            condition = self._truth(node.operands[0])
            values = self._alike(node.operands[1:], want)
            return self._like(values, self._op(arith.SelectOp(condition, *values)))
        if name.startswith("as_") and (to := _TYPES.get(name[3:])) is not None:
            if len(node.operands) != 1:
                self._refuse(node.at, f"expected one operand of {name}(...)")
            value = self.value(node.operands[0], None)
            of = value.type
            if not isinstance(of, AnyFloat | IntegerType) or of.bitwidth != to.bitwidth or of == scalar_type(to):
                self._refuse(node.at, f"expected a number of another type with {to.bitwidth} bits, found {of}")
            return self._to(to, arith.BitcastOp(value, scalar_type(to)))
        if (to := _TYPES.get(name)) is not None:
            if len(node.operands) != 1:
                self._refuse(node.at, f"expected one operand of {name}(...)")
            if _is_number(node.operands[0]):
                value = self.value(node.operands[0], scalar_type(to))
                if _is_unsigned(to):
                    self.unsigned.add(value)
                return value
            return self._cast(self.value(node.operands[0], None), to, node.at)
        for dialect in ("math", "arith"):
            if self.parser.ctx.get_optional_op(f"{dialect}.{name}") is not None:
                return self._elementwise(f"{dialect}.{name}", node.at, self._alike(node.operands, want), node.flag)
        self._refuse(
            node.at, f"expected a function of math or arith, index, select, a type or as_ and a type, found '{name}'"
        )

    def _cast(self, value: SSAValue, to: AnyFloat | IntegerType, at: int) -> SSAValue:
        of = value.type
        if isinstance(of, IndexType) and isinstance(to, IntegerType):
            return self._to(to, arith.IndexCastOp(value, IntegerType(to.width.data)))
        if not isinstance(of, AnyFloat | IntegerType) or (
            of.bitwidth == to.bitwidth and isinstance(of, AnyFloat) and isinstance(to, AnyFloat)
        ):
            self._refuse(at, f"expected a number that is converted to {to}, found {of}")
        if of.bitwidth == to.bitwidth and isinstance(of, IntegerType) and isinstance(to, IntegerType):
            if (value in self.unsigned) == _is_unsigned(to):
                self._refuse(at, f"expected a number that {to}(...) changes, found an integer of {to.width.data} bits")
            return self._to(to, arith.BitcastOp(value, scalar_type(to)))  # the same bits, with a sign or without one
        wider, narrower = _CASTS[isinstance(of, IntegerType), isinstance(to, IntegerType)]
        cast_ = wider if to.bitwidth > of.bitwidth else narrower
        if of == i1 or value in self.unsigned or (isinstance(of, AnyFloat) and _is_unsigned(to)):
            cast_ = _UNSIGNED_CASTS.get(cast_, cast_)
        return self._to(to, cast_(value, scalar_type(to)))

    def _to(self, to: Attribute, op: Operation) -> SSAValue:
        result = self._op(op)
        if _is_unsigned(to):
            self.unsigned.add(result)
        return result

    def _like(self, operands: Sequence[SSAValue], result: SSAValue) -> SSAValue:
        """The result, which has no sign where operands have none."""
        if not self.unsigned.isdisjoint(operands):
            self.unsigned.add(result)
        return result

    def _truth(self, node: _Node) -> SSAValue:
        value = self.value(node, i1)
        if value.type != i1:
            self._refuse(node.at, f"expected a comparison, found {value.type}")
        return value

    def _require_number(self, word: str, at: int, value: SSAValue) -> None:
        found: Attribute = value.type
        if not isinstance(found, AnyFloat | IntegerType | IndexType) or found == i1:
            self._refuse(at, f"expected numbers for '{word}', found {value.type}")

    def _require_same(self, nodes: Sequence[_Node], type_: Attribute, unsigned: bool) -> None:
        """Refuses a number that is another one where the sign matters: as a signed i8, 200 is -56."""
        bits = type_.bitwidth if isinstance(type_, IntegerType) else i64.bitwidth
        least, most = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for node in filter(_is_number, nodes):
            word = f"-{node.operands[0].word}" if node.word == "unary -" else node.word
            if not least <= int(word) <= most:
                sign = "no sign" if unsigned else "a sign"
                self._refuse(node.at, f"expected a number of {type_} with {sign}, from {least} to {most}, found {word}")

    def _named(self, name: str, at: int) -> SSAValue:
        if (known := self.known.get(name)) is not None:
            return known
        base, _, index = name.partition("#")
        values = self.parser.ssa_values.get(base, ())
        if int(index or 0) >= len(values):
            self._refuse(at, f"expected a value that is defined above, found %{name}")
        value = values[int(index or 0)]
        if (type_ := scalar_type(value.type)) != value.type:  # of memory, with a sign or without one
            unsigned = _is_unsigned(value.type)
            value = made(self.parser, UnrealizedConversionCastOp.get([value], [type_]))
            if unsigned:
                self.unsigned.add(value)
        return value

    def _number(self, word: str, at: int, want: Attribute | None) -> SSAValue:
        if isinstance(want, AnyFloat):
            try:
                number = FloatAttr(float(word), want)
                fits = isfinite(number.value.data) or number.value.data == float(word) and word.endswith("inf")
            except OverflowError:
                fits, number = False, FloatAttr(0.0, want)
            if not fits:
                self._refuse(at, f"expected a number that {want} has, found {word}")
            return self._op(arith.ConstantOp(number))
        if isinstance(want, IntegerType | IndexType) and word.removeprefix("-").isdigit():
            least, most = (want if isinstance(want, IntegerType) else i64).value_range()
            if len(word) > _DIGITS or not least <= int(word) < most:
                self._refuse(at, f"expected a number of type {want}, from {least} to {most - 1}, found {word}")
            return self._op(arith.ConstantOp.from_int_and_width(int(word), cast("IntegerType", want)))
        self._refuse(at, f"expected a number of type {want or 'that another operand has'}, found {word}")

    def _parameter(self, name: str, at: int, want: Attribute | None) -> SSAValue:
        """The value of a parameter of the kernel, as an index or an integer."""
        type_: Attribute = IndexType() if want is None else want
        if type(type_) not in (IntegerType, IndexType):
            self._refuse(at, f"expected a number of type {type_}, found the parameter {name}")
        return made(self.parser, ParamOp.create(properties={"parameter": StringAttr(name)}, result_types=[type_]))

    def _elementwise(
        self, name: str, at: int, operands: Sequence[SSAValue], flag: FastMathFlag | None = None
    ) -> SSAValue:
        """An operation whose operands and result have one type, with a flag of `fastmath`."""
        kind = cast("type[IRDLOperation]", operation_named(self.parser, name))
        definition = kind.get_irdl_definition()
        if len(definition.operands) != len(operands) or len(definition.results) != 1:
            expected = f"{len(definition.operands)} operands and {len(definition.results)} results"
            self._refuse(at, f"'{name}' has {expected}, found {len(operands)} operands and 1 result")
        if flag is not None and "fastmath" not in definition.properties:
            self._refuse(at, f"expected an operation with fastmath for <{flag.value}>, found '{name}'")
        try:
            op = kind(*operands)
            if flag is not None:
                op.properties["fastmath"] = arith.FastMathFlagsAttr((flag,))
            return self._like(operands, self._op(op))
        except (TypeError, VerifyException) as error:
            self._refuse(at, f"expected operands of '{name}', all of the type of its result, found others ({error})")

    def _op(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def _refuse(self, at: int, message: str) -> NoReturn:
        self.parser.raise_error(message, at, at + 1)
