"""A module: directives, variables, functions (PTX ISA, sections 4, 5 and 11)."""

from __future__ import annotations

from tirx.sim.errors import SimError
from tirx.sim.reader.body import parse_body
from tirx.sim.reader.cursor import Cursor
from tirx.sim.reader.syntax import Function, Module, Scope, Variable

_LINKING = (".visible", ".extern", ".weak", ".common")
_SPACES = (".global", ".const", ".shared", ".local", ".param")
# Performance and debugging directives of a function, and how many integers follow them (None: one to three).
_FUNCTION_DIRECTIVES: dict[str, int | None] = {
    ".maxntid": None,
    ".reqntid": None,
    ".reqnctapercluster": None,
    ".minnctapersm": 1,
    ".maxnctapersm": 1,
    ".maxnreg": 1,
    ".minperctamemory": 1,
    ".maxclusterrank": 1,
    ".explicitcluster": 0,
    ".blocksareclusters": 0,
    ".noreturn": 0,
    ".abi_preserve": 1,
    ".abi_preserve_control": 1,
}


def parse(text: str) -> Module:
    """Parses PTX text. Raises SimError with the line of text that cannot be read."""
    return _Parser(text).module


class _Parser:
    def __init__(self, text: str):
        self.cursor = Cursor(text)
        self.module = Module(Scope())
        self._aliases: dict[str, tuple[str, int]] = {}
        external = False
        while not self.cursor.at_end:
            word = self.cursor.text
            if word in _LINKING:
                external |= word == ".extern"
                self.cursor.next()
                continue
            self._statement(word, external)
            external = False
        for name, (meant, line) in self._aliases.items():
            function = self.module.functions.get(meant)
            if function is None or not function.defined or function.is_entry:
                raise SimError(f"expected a function that is defined as what {name} stands for, found {meant}", line)
            self.module.functions[name] = function

    def _statement(self, word: str, external: bool) -> None:
        cursor = self.cursor
        if word in (".entry", ".func"):
            self._function()
        elif word in _SPACES:
            cursor.next()
            for variable in cursor.variables(word[1:], external=external):
                self._declare(variable)
        elif word == ".version":
            cursor.next()
            self.module.version = cursor.next().text
        elif word == ".target":
            cursor.next()
            self.module.target = cursor.text
            cursor.skip_line()
        elif word == ".address_size":
            cursor.next()
            if cursor.integer() != 64:
                raise SimError("expected .address_size 64", cursor.line)
        elif word in (".file", ".loc"):
            cursor.skip_line()
        elif word == ".section":
            cursor.next()
            cursor.word("a section name")
            cursor.skip_braces()
        elif word == ".pragma":
            cursor.skip_past(";")
        elif word == ".alias":
            self._alias()
        elif word == ";":
            cursor.next()
        else:
            raise cursor.error("a function, a variable or a directive")

    def _alias(self) -> None:
        """.alias f, g; f is another name of g."""
        cursor = self.cursor
        cursor.next()
        line = cursor.line
        name = cursor.word("a function name")
        cursor.expect(",")
        self._aliases[name] = cursor.word("a function name"), line
        cursor.expect(";")

    def _declare(self, variable: Variable) -> None:
        known = self.module.scope.variables.get(variable.name)
        if known is not None and not (known.external or variable.external):
            raise SimError(f"{variable.name} is declared twice, first on line {known.line}", variable.line)
        if known is not None:
            self.module.variables.remove(known)
            variable = known if variable.external else variable
        self.module.scope.variables[variable.name] = variable
        self.module.variables.append(variable)

    def _function(self) -> None:
        cursor = self.cursor
        line = cursor.line
        is_entry = cursor.next().text == ".entry"
        while cursor.text == ".attribute":
            cursor.skip_past(")")
        scope = Scope(self.module.scope)
        returns: list[Variable] = []
        if not is_entry and cursor.text == "(":
            returns = self._parameters(scope)
        name = cursor.word("a function name")
        parameters = self._parameters(scope) if cursor.text == "(" else []
        function = Function(name, is_entry, line, parameters, returns, scope)
        while cursor.text in _FUNCTION_DIRECTIVES:
            directive = cursor.next().text
            count = _FUNCTION_DIRECTIVES[directive]
            function.directives[directive[1:]] = () if count == 0 else cursor.integers()
        known = self.module.functions.get(name)
        if cursor.accept(";"):
            self.module.functions.setdefault(name, function)
            return
        if cursor.text != "{":
            raise cursor.error("'{' or a directive of a function")
        if known is not None and known.defined:
            raise SimError(f"function {name} is defined twice, first on line {known.line}", line)
        cursor.next()
        parse_body(cursor, function)
        function.defined = True
        self.module.functions[name] = function

    def _parameters(self, scope: Scope) -> list[Variable]:
        cursor = self.cursor
        cursor.expect("(")
        found: list[Variable] = []
        while not cursor.accept(")"):
            word = cursor.word("'.param'")
            if word == ".reg":
                raise SimError("expected .param, found .reg: register parameters of functions", cursor.line)
            if word != ".param":
                raise SimError(f"expected '.param', found {word!r}", cursor.line)
            variable = cursor.variable("param")
            if scope.declares(variable.name) and variable.name != "_":
                raise SimError(f"{variable.name} is declared twice", variable.line)
            scope.variables[variable.name] = variable
            found.append(variable)
            if not cursor.accept(","):
                cursor.expect(")")
                break
        return found
