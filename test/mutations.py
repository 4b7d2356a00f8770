"""
The single-fault changes that `mutants.py` makes to a file of the source.

Changed are

- comparisons, each of a chain: `<` to `<=` and `>=`, `==` to `!=`, `in` to `not in`, `is` to `is not`;
- arithmetic: `+` to `-`, `*` to `//` and `+`, `%` to `//`, `&` to `|`, shifts to the other side;
- conditions: `and` to `or`, one operand of them gone, `not` gone, and the negation of what `if`, `while`, a conditional
  expression, a comprehension or a guard of `case` asks;
- numbers: one more and one less; booleans: the other one;
- texts, those of f-strings too: another character in the middle. They are instructions, names and messages;
- statements that are not executed: calls, `+=`, `raise`, `continue`, alone in their block or not.

They are made in functions and in the values of modules and classes: tables of instructions, fields, names.

Not changed, since a program that is right cannot show a difference:

- conditions of `assert`, `raise AssertionError` and `strict=` of `zip`: they say what cannot happen;
- an index 0 to -1, which is the same element of a sequence of one (0 to 1 is made);
- `raise NotImplementedError`: the methods of an interface, which nobody reaches;
- `reshape(-1)`: any negative number is the same;
- `maxsize=` of caches, and what decorators of classes say: time, memory, and what nobody may do;
- annotations, type aliases, type arguments (in the brackets of `list` and the like), `cast`, `TypeVar` and
  `if TYPE_CHECKING`: nothing executes them;
- defaults of parameters that a method has for its interface only, and does not read;
- docstrings, and `__repr__`: text for developers. All other text is what users or `ptxas` read, and counts.

Shortcuts, and limits of what is remembered, are changed as any other code. Where nothing but time or memory shows the
difference, or where two conditions say the same, the mutant counts as one that survives: such code can be shorter.

Not made, though tests might notice them: changes of `return`, `break`, arguments of calls, the order of statements,
`try`, decorators, expressions in f-strings, and statements of modules that are no assignments (`if __name__ == ...`).
"""

# pyright: basic
# Nodes of syntax trees are told apart by the names of their fields.

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

MODULE = "<module>"
"""Stands for the function around the values of a module or class."""

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.In: ("not in",), ast.NotIn: ("in",), ast.Is: ("is not",), ast.IsNot: ("is",),
}  # fmt: skip
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-",), ast.Sub: ("+",), ast.Mult: ("//", "+"), ast.FloorDiv: ("*",), ast.Mod: ("//",),
    ast.BitAnd: ("|",), ast.BitOr: ("&",), ast.LShift: (">>",), ast.RShift: ("<<",), ast.Pow: ("*",),
}  # fmt: skip
_TYPES = ("TypeVar", "ParamSpec", "NewType", "Literal", "Callable")
"""Names whose arguments are types, or names of types."""

_GENERIC = ("list", "dict", "set", "tuple", "frozenset", "deque", "defaultdict", "WeakKeyDictionary")
"""Classes in whose brackets types stand."""


@dataclass(frozen=True)
class Change:
    """
    The text that replaces a node, and the qualified name of the function around it, `MODULE` outside of functions.

    `kind`: what sort of change it is; `default`: in the default of a parameter, or of a field.
    """

    node: ast.expr | ast.stmt
    text: str
    kind: str
    function: str
    default: bool

    def apply(self, source: str) -> str:
        """The source with this change."""
        lines = source.encode().splitlines(keepends=True)
        node = self.node
        assert node.end_lineno is not None and node.end_col_offset is not None
        before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
        return (before + self.text.encode() + after).decode()


def changes(source: str) -> list[Change]:
    """Everything that can be changed in functions and in the values of modules and classes."""
    found: dict[tuple[int, int, str], Change] = {}

    def note(node: ast.AST, function: str, default: bool) -> None:
        for target, text, kind in _replacements(node):
            found[target.lineno, target.col_offset, text] = Change(target, text, kind, function, default)

    def walk(node: ast.AST, function: str | None, default: bool = False, scope: str = "") -> None:
        if _is_left_out(node):
            return
        if isinstance(node, ast.FunctionDef):
            function = scope + node.name
            scope = f"{function}.<locals>."
        elif isinstance(node, ast.ClassDef):
            scope += f"{node.name}."
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            function = function or MODULE
        if function is not None:
            note(node, function, default)
        if isinstance(node, ast.JoinedStr):  # nodes inside have no positions of their own
            return
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            walk(node.value, function, default, scope)
            return
        if isinstance(node, ast.Call) and (kept := _changed_arguments(node)) is not None:
            for child in (node.func, *kept):
                walk(child, function, default, scope)
            return
        for name, value in ast.iter_fields(node):
            is_default = False
            if isinstance(node, ast.FunctionDef) and name == "args":
                is_default, value = True, _read_defaults(node)
            if name in ("annotation", "returns") or (isinstance(node, ast.ClassDef) and name == "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    is_field = isinstance(node, ast.ClassDef) and isinstance(child, ast.AnnAssign)
                    walk(child, function, default or is_default or is_field, scope)

    walk(ast.parse(source), None)
    return list(found.values())


def _changed_arguments(call: ast.Call) -> list[ast.expr] | None:
    """The arguments of a call in which changes can make a difference; None for all."""
    match call.func:
        case ast.Name(id="cast"):
            return call.args[1:]
        case ast.Attribute(attr="reshape"):
            return [each for each in call.args if ast.unparse(each) != "-1"]
        case _:
            return None


def _read_defaults(function: ast.FunctionDef) -> list[ast.expr]:
    """The default values of those parameters that a function reads: it may have others for its interface only."""
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    pairs = [
        *zip(positional[len(positional) - len(own.defaults) :], own.defaults, strict=True),
        *zip(own.kwonlyargs, own.kw_defaults, strict=True),
    ]
    return [default for argument, default in pairs if default is not None and argument.arg in read]


def _is_left_out(node: ast.AST) -> bool:
    """Returns True for code whose changes make no difference to a program that is right."""
    match node:
        case ast.Assert() | ast.keyword(arg="strict" | "maxsize") | ast.FunctionDef(name="__repr__"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Raise(exc=ast.Name(id="NotImplementedError" | "AssertionError")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError" | "AssertionError"))):
            return True
        case ast.Call(func=ast.Name(id=name)) | ast.Subscript(value=ast.Name(id=name)) if name in _TYPES:
            return True
        case ast.Subscript(value=ast.Name(id=name)) if name in _GENERIC:
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case _:
            return False


def _replacements(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Replacements of a node itself: another node at its place, the new text, and the kind of the change."""

    def text(part: ast.expr) -> str:
        return f"({ast.unparse(part)})"

    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for index, op in enumerate(ops):
                for new in _COMPARISONS[type(op)]:
                    signs = [_SIGNS[type(each)] for each in ops]
                    signs[index] = new
                    rest = (f" {sign} {text(right)}" for sign, right in zip(signs, comparators, strict=True))
                    yield node, f"({text(left)}{''.join(rest)})", "comparison"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            for new in _OPERATORS[type(op)]:
                yield node, f"({text(left)} {new} {text(right)})", "operator"
        case ast.BoolOp(op=op, values=values):
            word, other = (" and ", " or ") if isinstance(op, ast.And) else (" or ", " and ")
            yield node, f"({other.join(map(text, values))})", "condition"
            for gone in range(len(values)):
                kept = (text(value) for index, value in enumerate(values) if index != gone)
                yield node, f"({word.join(kept)})", "condition"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool{text(operand)}", "condition"
        case ast.Constant(value=bool() as value):
            yield node, str(not value), "number"
        case ast.Subscript(slice=ast.Constant(value=0) as index):
            yield index, "1", "number"
        case ast.Constant(value=int() as value):
            yield node, str(value + 1), "number"
            yield node, str(value - 1) if value else "(-1)", "number"
        case ast.Constant(value=str() as value):
            yield node, repr(_other_text(value)), "text"
        case ast.JoinedStr(values=parts):
            for index, part in enumerate(parts):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.strip():
                    other = ast.Constant(_other_text(part.value))
                    yield node, ast.unparse(ast.JoinedStr([*parts[:index], other, *parts[index + 1 :]])), "text"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, f"(not {text(test)})", "condition"
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield test, f"(not {text(test)})", "condition"
        case ast.match_case(guard=ast.expr() as test):
            yield test, f"(not {text(test)})", "condition"
        case _:
            pass
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue):
                if not _is_left_out(statement) and not isinstance(node, ast.Module | ast.ClassDef):
                    yield statement, "pass", "statement"


def _other_text(text: str) -> str:
    """A text with another character in its middle: what begins and ends as before may still be looked at whole."""
    middle = len(text) // 2
    return f"{text[:middle]}~{text[middle + 1 :]}"


def mutant(source: str, rng: random.Random) -> tuple[str, Change] | None:
    """
    A module with one change, and the change; None if there is nothing to change.

    The kind is drawn first: texts, of which there are most, leave room for the others.
    """
    kinds: dict[str, list[Change]] = defaultdict(list)
    for change in changes(source):
        kinds[change.kind].append(change)
    before = ast.dump(ast.parse(source))
    while kinds:
        kind = rng.choice(sorted(kinds))
        found = kinds[kind]
        change = found.pop(rng.randrange(len(found)))
        if not found:
            del kinds[kind]
        after = change.apply(source)
        try:
            differs = ast.dump(ast.parse(after)) != before
        except SyntaxError:  # a number in a pattern
            continue
        if differs:
            return after, change
    return None
