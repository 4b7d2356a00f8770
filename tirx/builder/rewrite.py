"""The control flow of a Python function, as calls: bodies become functions of the names that they store.

Only `for`, `while`, `if`, conditional expressions, `and`, `or`, `not`, chained comparisons, `assert`, `min` and `max`
are rewritten; all else is Python's. The rewritten nodes call `tirx.builder.control`, and keep their line and columns.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable
from itertools import count
from types import CellType, CodeType, FunctionType
from typing import Any, NoReturn, cast

from tirx.builder.trace import BuildError

HELPER = "__tirx"
"""The name under which rewritten functions know `control`."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)


def _own(nodes: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """The nodes of statements, without those of functions and comprehensions inside of them."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own(ast.iter_child_nodes(node))


def _stored(body: list[ast.stmt]) -> list[str]:
    found: list[str] = []
    for node in _own(body):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name):
                found.append(name)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                found.append(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                found.append(name)
            case ast.alias(name=name, asname=other):
                found.append(other or name.partition(".")[0])
            case _ if isinstance(node, _COMPREHENSIONS):
                found += _walrus(node)
            case _:
                pass
    return list(dict.fromkeys(name for name in found if not name.startswith(HELPER)))


def _walrus(node: ast.AST) -> list[str]:
    return [each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)]


def _free(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names that a function reads and does not bind."""
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    bound = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - bound


def _leaves(body: list[ast.stmt], in_loop: bool) -> str | None:
    """The statement of a body that leaves it, or makes it no function."""
    for node in body:
        if isinstance(node, ast.Return):
            return "return"
        if in_loop and isinstance(node, ast.Break | ast.Continue):
            return "break" if isinstance(node, ast.Break) else "continue"
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Delete):
            return "global, nonlocal or del"
        if any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Await) for n in _own([node])):
            return "yield"
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        loops = isinstance(node, ast.For | ast.While)
        for part in ("body", "orelse", "finalbody"):
            if found := _leaves(getattr(node, part, []), in_loop and not (loops and part == "body")):
                return found
        for handler in getattr(node, "handlers", []):
            if found := _leaves(handler.body, in_loop):
                return found
    return None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, file: str, first: int) -> None:
        self._file, self._first = file, first
        self._numbers = count()

    def _name(self, what: str) -> str:
        return f"{HELPER}_{what}{next(self._numbers)}"

    def _refuse(self, message: str, node: ast.expr | ast.stmt) -> NoReturn:
        place = self._file, node.lineno + self._first - 1, node.col_offset, node.end_col_offset or 0
        raise BuildError(message, place)

    def _lambda(self, body: ast.expr) -> ast.Lambda:
        if _walrus(body):
            self._refuse("expected an assignment in front, found := in what is evaluated only where Python would", body)
        return ast.copy_location(ast.Lambda(_parameters([]), body), body)

    def _check_helpers(self, function: ast.FunctionDef) -> None:
        """Raises BuildError for helpers that read a name of the function inside of a loop or branch that binds it."""
        helpers: dict[str, tuple[ast.AST, set[str]]] = {}
        for node in _own(function.body):
            match node:
                case ast.FunctionDef(name=name):
                    helpers[name] = node, _free(node)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as value):
                    helpers[name] = value, _free(value)
                case _:
                    pass
        if not helpers:
            return
        for node in _own(function.body):
            if not isinstance(node, ast.For | ast.While | ast.If):
                continue
            inside, stored = list(ast.walk(node)), set(_stored([node]))
            for used in (each for each in inside if isinstance(each, ast.Name) and each.id in helpers):
                reads, names = set[str](), {used.id}
                while names:
                    helper, free = helpers[names.pop()]
                    if not any(helper is each for each in inside):
                        names |= (free & helpers.keys()) - reads
                        reads |= free
                if both := sorted(reads & stored):
                    self._refuse(
                        f"expected `{both[0]}` as an argument of `{used.id}`, which has the one from before the loop "
                        "or branch, found it bound inside",
                        used,
                    )

    def _check_kept(self, loop: ast.For, stored: set[str]) -> None:
        """Raises BuildError for functions in lists and the like that Python would call with names of a later round."""
        kept: list[ast.expr | None] = []
        for node in _own(loop.body):
            match node:
                case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
                    kept += items
                case ast.Call(func=ast.Attribute(attr="append" | "add" | "insert" | "setdefault"), args=items):
                    kept += items
                case ast.Assign(targets=[ast.Subscript() | ast.Attribute()], value=item):
                    kept.append(item)
                case _:
                    pass
        for each in kept:
            if isinstance(each, ast.Lambda) and (both := sorted(_free(each) & stored)):
                self._refuse(
                    f"expected `lambda {both[0]}={both[0]}: ...`, found a function that Python calls with a later "
                    f"`{both[0]}`",
                    each,
                )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._check_helpers(node)
        self.generic_visit(node)
        return node

    def _call(self, function: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Attribute(ast.Name(HELPER, ast.Load()), function, ast.Load()), [*arguments], [])

    def _function(self, name: str, arguments: list[str], body: list[ast.stmt], results: list[str]) -> ast.FunctionDef:
        # A name that only some way through the body binds is unbound where it is read: the locals say which are there.
        packed = self._call("pack", _names(results), _locals())
        return _def(name, _parameters(arguments), [*body, ast.Return(packed)])

    def _assign(self, names: list[str], call: ast.expr) -> list[ast.stmt]:
        if not names:
            return [ast.Expr(call)]
        targets: list[ast.expr] = [ast.Name(each, ast.Store()) for each in names]
        return [ast.Assign([ast.Tuple(targets, ast.Store())], call)]

    def _done(self, node: ast.AST, made: list[Any]) -> list[Any]:
        return [ast.copy_location(each, node) for each in made]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        several = isinstance(node.value, ast.Tuple)
        values = cast(ast.Tuple, node.value).elts if several else [node.value]
        values = [
            ast.copy_location(self._call("kept", each), each) if isinstance(each, ast.Name) else each for each in values
        ]
        node.value = ast.copy_location(ast.Tuple(values, ast.Load()), node.value) if several else values[0]
        names = [_named(target) for target in node.targets]
        if len(names) == 1 and names[0] is not None:
            node.value = ast.copy_location(self._call("named", node.value, names[0]), node.value)
        return node

    def visit_For(self, node: ast.For) -> Any:
        leaves = "else" if node.orelse else _leaves(node.body, True)
        targets = [n.id for n in _own([node.target]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        names = list(dict.fromkeys([*_stored(node.body), *targets]))
        self._check_kept(node, set(names))
        self.generic_visit(node)
        if leaves is not None:
            node.iter = ast.copy_location(self._call("plain", node.iter, ast.Constant(leaves)), node.iter)
            return node
        item, body = self._name("item"), self._name("for")
        target = ast.copy_location(ast.Assign([node.target], ast.Name(item, ast.Load())), node.target)
        function = self._function(body, [item, *names], [target, *node.body], names)
        call = self._call("for_", node.iter, ast.Name(body, ast.Load()), _names(names), _locals(), _names(targets))
        return self._done(node, [function, *self._assign(names, ast.copy_location(call, node.iter))])

    def visit_While(self, node: ast.While) -> Any:
        leaves = "else" if node.orelse else _leaves(node.body, True)
        self._lambda(node.test)
        names = _stored(node.body)
        self.generic_visit(node)
        if leaves is not None:
            node.test = ast.copy_location(self._call("plain_test", node.test, ast.Constant(leaves)), node.test)
            return node
        test, body = self._name("test"), self._name("while")
        condition = _def(test, _parameters(names), [ast.copy_location(ast.Return(node.test), node.test)])
        function = self._function(body, names, node.body, names)
        call = self._call("while_", ast.Name(test, ast.Load()), ast.Name(body, ast.Load()), _names(names), _locals())
        return self._done(node, [condition, function, *self._assign(names, ast.copy_location(call, node.test))])

    def visit_If(self, node: ast.If) -> Any:
        leaves = _leaves([*node.body, *node.orelse], True)
        names = _stored([*node.body, *node.orelse])
        self.generic_visit(node)
        if leaves is not None:
            node.test = ast.copy_location(self._call("plain_test", node.test, ast.Constant(leaves)), node.test)
            return node
        yes, no = self._name("then"), self._name("else")
        functions = [
            self._function(name, names, body or [ast.Pass()], names)
            for name, body in ((yes, node.body), (no, node.orelse))
        ]
        call = self._call(
            "if_", node.test, ast.Name(yes, ast.Load()), ast.Name(no, ast.Load()), _names(names), _locals()
        )
        return self._done(node, [*functions, *self._assign(names, ast.copy_location(call, node.test))])

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        self._refuse("expected functions of a kernel that return what they compute, found nonlocal", node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        call = self._call("if_expression", node.test, self._lambda(node.body), self._lambda(node.orelse))
        return self._done(node, [call])[0]

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._done(node, [self._call(name, *(self._lambda(each) for each in node.values))])[0]

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return self._done(node, [self._call("not_", node.operand)])[0] if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1 and not isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
            return node
        terms = zip(node.ops, node.comparators, strict=True)
        pairs = [ast.Tuple([ast.Constant(type(op).__name__), self._lambda(each)], ast.Load()) for op, each in terms]
        return self._done(node, [self._call("compared", node.left, *pairs)])[0]

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
            made = ast.Call(
                ast.Attribute(ast.Name(HELPER, ast.Load()), "call", ast.Load()), [node.func, *node.args], node.keywords
            )
            return self._done(node, [made])[0]
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        message = node.msg or ast.Constant("assertion failed")
        return self._done(node, [ast.Expr(self._call("assert_", node.test, self._lambda(message)))])


def _named(target: ast.expr) -> ast.expr | None:
    """The names of a target, as constants; None where it has others than names."""
    if isinstance(target, ast.Name):
        return ast.Constant(target.id)
    if isinstance(target, ast.Tuple):
        parts = [_named(each) for each in target.elts]
        return None if None in parts else ast.Tuple([each for each in parts if each is not None], ast.Load())
    return None


def _parameters(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])


def _def(name: str, parameters: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.FunctionDef(name, parameters, body, [], None)
    made.type_params = []  # pyright: ignore[reportAttributeAccessIssue]  # of Python 3.12
    return made


def _names(names: list[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(each) for each in names], ast.Load())


def _locals() -> ast.expr:
    return ast.Call(ast.Name("locals", ast.Load()), [], [])


def _source(function: FunctionType) -> tuple[str, int]:
    try:
        lines, first = inspect.getsourcelines(function.__code__)  # of the function itself, not of one that it wraps
    except OSError:
        raise BuildError(
            f"expected the source of {function.__name__} in a file, found none: its control flow is rewritten"
        ) from None
    text = "".join(lines)
    if text[:1].isspace():
        return "if 1:\n" + text, first - 1
    return text, first


def rewritten(function: FunctionType, control: Any) -> FunctionType:
    """The function with its control flow as calls of `control`, at the same lines and with the same closure."""
    text, first = _source(function)
    tree = ast.parse(text)
    # `__name__` may have been changed since.
    name = function.__code__.co_name
    found = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name), None)
    if found is None:
        raise BuildError(f"expected a function that `def` defines, found {function.__name__}")
    found.decorator_list = []
    found.args.defaults, found.args.kw_defaults = [], [None for _ in found.args.kwonlyargs]
    for argument in (*found.args.posonlyargs, *found.args.args, *found.args.kwonlyargs):
        argument.annotation = None
    found.returns = None
    made = _Rewriter(function.__code__.co_filename, first).visit(found)
    free = list(dict.fromkeys([*function.__code__.co_freevars, HELPER]))
    factory = _def(f"{HELPER}_factory", _parameters(free), [made, ast.Return(ast.Name(made.name, ast.Load()))])
    module = ast.Module([ast.fix_missing_locations(ast.copy_location(factory, found))], [])
    ast.increment_lineno(module, first - 1)
    code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    inner = _named_as(_code(_code(code, factory.name), made.name), made.name)
    cells = {
        **dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)),
        HELPER: CellType(control),
    }
    closure = tuple(cells[name] for name in inner.co_freevars)
    result = FunctionType(inner, function.__globals__, function.__name__, function.__defaults__, closure)
    result.__kwdefaults__ = function.__kwdefaults__
    return result


def _code(code: CodeType, name: str) -> CodeType:
    return next(each for each in code.co_consts if isinstance(each, CodeType) and each.co_name == name)


def _named_as(code: CodeType, name: str) -> CodeType:
    """The code, with its bodies of loops and branches named as the function around them in tracebacks."""
    constants = [
        _named_as(each, name if each.co_name.startswith(HELPER) else each.co_name)
        if isinstance(each, CodeType)
        else each
        for each in code.co_consts
    ]
    return code.replace(co_name=name, co_consts=tuple(constants))
