"""The body of a function: declarations by scope, labels, instructions and their operands."""

from __future__ import annotations

from tirx.sim.errors import SimError
from tirx.sim.reader.cursor import Cursor, negated
from tirx.sim.reader.expressions import continues
from tirx.sim.reader.syntax import (
    TYPE_SIZES,
    Address,
    BranchTargets,
    Function,
    Group,
    Immediate,
    Instruction,
    Minus,
    Name,
    Negated,
    Operand,
    Pair,
    Prototype,
    Scope,
    Variable,
    Vector,
)

_SPACES = (".shared", ".local", ".param", ".global", ".const")
_MAX_NESTING = 64
# The one named constant of PTX (section 4.5.6).
_CONSTANTS = {"WARP_SZ": 32}


def parse_body(cursor: Cursor, function: Function) -> None:
    """Reads up to the `}` that closes the body, whose `{` has been read."""
    scopes = [function.scope]
    external = False
    while scopes:
        if cursor.at_end:
            raise cursor.error("'}'")
        text = cursor.text
        if text == "}":
            cursor.next()
            scopes.pop()
        elif text == "{":
            if len(scopes) >= 4 * _MAX_NESTING:
                raise SimError(f"blocks nested more than {4 * _MAX_NESTING} deep", cursor.line)
            cursor.next()
            scopes.append(Scope(scopes[-1]))
        elif text == ".reg":
            _registers(cursor, scopes[-1])
        elif text == ".extern":
            cursor.next()
            external = True
            continue
        elif text in _SPACES:
            cursor.next()
            for variable in cursor.variables(text[1:], external=external):
                if scopes[-1].declares(variable.name):
                    raise SimError(f"{variable.name} is declared twice", variable.line)
                scopes[-1].variables[variable.name] = variable
                function.variables.append(variable)
        elif text == ".pragma":
            cursor.skip_past(";")
        elif text in (".loc", ".loc_intermediate", ".file"):
            cursor.skip_line()
        elif text == ".section":
            cursor.next()
            cursor.word("a section name")
            cursor.skip_braces()
        elif text == ";":
            cursor.next()
        elif cursor.token.kind == "word" and not text.startswith(".") and cursor.peek().text == ":":
            _label(cursor, scopes[-1], len(function.code))
        else:
            function.code.append(_instruction(cursor, scopes[-1]))
        external = False


def _registers(cursor: Cursor, scope: Scope) -> None:
    cursor.expect(".reg")
    line = cursor.line
    element = cursor.word("a register type")[1:]
    if element != "pred" and element not in TYPE_SIZES:
        raise SimError(f"expected a register type, found '.{element}'", line)
    while True:
        name = cursor.word("a register name")
        if cursor.accept("<"):
            if name in scope.ranges:
                raise SimError(f"registers {name}<...> are declared twice", line)
            scope.ranges[name] = (element, cursor.count())
            cursor.expect(">")
        else:
            if scope.declares(name):
                raise SimError(f"{name} is declared twice", line)
            scope.registers[name] = element
        if not cursor.accept(","):
            break
    cursor.expect(";")


def _label(cursor: Cursor, scope: Scope, index: int) -> None:
    line = cursor.line
    name = cursor.word("a label")
    cursor.expect(":")
    if name in scope.labels or name in scope.tables or name in scope.prototypes:
        raise SimError(f"label {name} is defined twice", line)
    if cursor.accept(".branchtargets") or cursor.accept(".calltargets"):
        names = [cursor.word("a label")]
        while cursor.accept(","):
            names.append(cursor.word("a label"))
        cursor.expect(";")
        scope.tables[name] = BranchTargets(tuple(names), scope)
    elif cursor.accept(".callprototype"):
        returns = _prototype_parameters(cursor) if cursor.text == "(" else ()
        cursor.expect("_")
        parameters = _prototype_parameters(cursor) if cursor.text == "(" else ()
        scope.prototypes[name] = Prototype(parameters, returns)
        cursor.skip_past(";")
    else:
        scope.labels[name] = index


def _prototype_parameters(cursor: Cursor) -> tuple[Variable, ...]:
    cursor.expect("(")
    found: list[Variable] = []
    while not cursor.accept(")"):
        cursor.expect(".param")
        found.append(cursor.variable("param"))
        if not cursor.accept(","):
            cursor.expect(")")
            break
    return tuple(found)


def _instruction(cursor: Cursor, scope: Scope) -> Instruction:
    guard: Name | None = None
    negative = False
    first = cursor.index
    if cursor.accept("@"):
        negative = cursor.accept("!")
        guard = Name(cursor.word("a predicate register"))
    line = cursor.line
    if cursor.token.kind != "word" or cursor.text[0] in ".%":
        raise cursor.error("an instruction")
    opcode = cursor.next().text
    while cursor.token.kind == "word" and cursor.text.startswith("."):  # white space may stand before a modifier
        opcode += cursor.next().text
    operands: list[Operand] = []
    read = _call_operand if opcode.split(".")[0] == "call" else _operand
    if cursor.text != ";":
        operands.append(read(cursor, 0))
        while cursor.accept(","):
            operands.append(read(cursor, 0))
    last = cursor.index
    cursor.expect(";")
    text = _joined([token.text for token in cursor.tokens[first : last + 1]])
    return Instruction(opcode, tuple(operands), guard, negative, scope, line, text)


def _joined(words: list[str]) -> str:
    """The tokens of an instruction, spaced as one writes them."""
    text = ""
    tight = True
    for word in words:
        if not tight and word not in (",", ";", "]", "}", ")", "|", "+"):
            text += " "
        text += word
        tight = word in ("[", "{", "(", "@", "!", "|", "-", "+")
    return text


def _operands_until(cursor: Cursor, close: str, depth: int) -> tuple[Operand, ...]:
    items: list[Operand] = []
    while not cursor.accept(close):
        items.append(_operand(cursor, depth + 1))
        if not cursor.accept(","):
            cursor.expect(close)
            break
    return tuple(items)


def _call_operand(cursor: Cursor, depth: int) -> Operand:
    return Group(_operands_until(cursor, ")", depth)) if cursor.accept("(") else _operand(cursor, depth)


def _operand(cursor: Cursor, depth: int) -> Operand:
    if depth > _MAX_NESTING:
        raise SimError(f"operands nested more than {_MAX_NESTING} deep", cursor.line)
    if cursor.accept("{"):
        return Vector(_operands_until(cursor, "}", depth))
    if cursor.accept("["):
        base = _operand(cursor, depth + 1)
        offset = cursor.offset()
        if isinstance(base, Name):
            base, offset = Name(base.name), base.offset + offset
        rest = _operands_until(cursor, "]", depth) if cursor.accept(",") else None
        if rest is None:
            cursor.expect("]")
        return Address(base, offset, rest or ())
    if cursor.text == "!" and cursor.peek().kind == "word":
        cursor.next()
        return Negated(Name(cursor.word("a predicate register")))
    if cursor.text == "-" and cursor.peek().kind == "word":
        cursor.next()
        return Minus(Name(cursor.word("a register")))
    if cursor.text == "-" and cursor.peek().kind == "number" and not continues(cursor, 2):
        cursor.next()
        return negated(cursor.literal())
    if cursor.token.kind == "number" and not continues(cursor, 1):
        return cursor.literal()
    if cursor.token.kind == "number" or cursor.text in ("-", "~", "!", "("):
        return Immediate("integer", cursor.integer())
    name = cursor.word("an operand")
    if name in _CONSTANTS:
        return Immediate("integer", _CONSTANTS[name])
    if cursor.accept("|"):
        return Pair(Name(name), Name(cursor.word("a register")))
    if cursor.accept("["):  # the older spelling of an offset: name[4]
        offset = cursor.integer()
        cursor.expect("]")
        return Name(name, offset)
    return Name(name, cursor.offset())
