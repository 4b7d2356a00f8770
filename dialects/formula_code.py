"""Formulas of a launch as Python code, which evaluates a part that several have in common once.

Formulas come from launch descriptors: code has their numbers, and operators and lookups of `Parts`, no text of theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from math import inf
from typing import Any, cast

from tirx.dialects.formula import OPERATORS, Call, Formula, FormulaError, LaunchSizes, Requirement

_DEEPEST = 30
"""Operations of one expression."""

_MOST_BITS = 4096
"""Bits that products may have: descriptors may square numbers again and again."""

_NESTED = 600
"""Operations within each other."""

_TESTS = {"multiple_of": "{} % ({}) == 0", "at_most": "{} <= {}", "at_least": "{} >= {}", "equal": "{} == {}"}

_Key = tuple[str, int, int] | Formula

_Bounds = tuple[list[int], tuple[int, ...]]
"""Values that costs have at least, and the parts that other values need."""

_Tests = Sequence[tuple[str, int, int]]
"""Tests of two parts."""


def compiled(formulas: Iterable[Formula]) -> Callable[[LaunchSizes], Sequence[int]]:
    """A function that evaluates formulas. Raises ValueError for those with parameters."""
    parts = Parts()
    evaluate = parts.function([(parts.place(each), ()) for each in formulas])
    return lambda launch: evaluate(launch)[0]


class LeastCost:
    """Finds the first of some formulas that has the least value, among those whose requirements a launch passes.

    Of `max(a, max(b, c))` `b` and `c` are evaluated only where `a` is less than the values of all others. Raises
    ValueError for formulas with parameters.
    """

    def __init__(self, costs: Sequence[Formula], conditions: Sequence[Sequence[Requirement]]):
        self._parts = parts = Parts()
        first: list[tuple[int, _Tests]] = []
        self._later: list[list[int]] = []
        for cost, asked in zip(costs, conditions, strict=True):
            bound, *later = map(parts.place, _operands_of_max(cost))
            first.append((bound, [(each.test, parts.place(each.value), parts.place(each.bound)) for each in asked]))
            self._later.append(later)
        self._given = parts.common([each for each in self._later if each])
        self._first = parts.function(first, self._given)
        self._functions: dict[int, Callable[..., Any]] = {}

    def place(self, launch: LaunchSizes) -> int | None:
        """The number of the formula, None where a launch passes the requirements of none.

        Raises FormulaError for a division by zero or an argument that is not there.
        """
        try:
            return self._place(launch)
        except (ArithmeticError, LookupError) as error:
            raise FormulaError(f"expected costs that are defined for the sizes of a launch, found {error}") from error

    def _place(self, launch: LaunchSizes) -> int | None:
        bounds, given = cast("_Bounds", self._first(launch))
        least = min(bounds, default=None)
        if least is None or least == inf:
            return None
        place = bounds.index(least)
        for part in self._later[place]:
            least = max(least, self._function(part)(*given))
        left = [(bound, i) for i, bound in enumerate(bounds) if bound <= least and i != place]
        for known in count():
            following: list[tuple[int, int]] = []
            for bound, i in left:
                if (bound, i) > (least, place):
                    continue
                if known == len(self._later[i]):
                    least, place = bound, i
                else:
                    following.append((max(bound, self._function(self._later[i][known])(*given)), i))
            if not following:
                return place
            left = sorted(following)
        return None

    def _function(self, part: int) -> Callable[..., int]:
        """The function of the given parts that evaluates a part, which is made when first asked for."""
        found = self._functions.get(part)
        if found is None:
            found = self._functions[part] = self._parts.function([(part, ())], self._given, is_inner=True)
        return found


def _operands_of_max(formula: Formula) -> Iterator[Formula]:
    """The operands of a maximum of several, which is written as `max(a, max(b, c))`."""
    while isinstance(formula, Call) and formula.function == "max":
        first, formula = formula.operands
        yield first
    yield formula


class Parts:
    """The parts of formulas by number, each of them once, behind its own parts."""

    def __init__(self) -> None:
        self.keys: list[_Key] = []
        """A number, what is looked up at a launch, or a function of two parts."""
        self._places: dict[_Key, int] = {}
        self._bits: list[int] = []
        """The bits that the value of each part may have; sizes have 63."""
        self._known: dict[int, tuple[int, Formula]] = {}
        """Formulas by their identity, which are kept, and their numbers."""

    def place(self, formula: Formula, depth: int = 0) -> int:
        """The number of a formula, which `depth` others are around, and all parts of which are added.

        Raises ValueError for parameters, and for too large products and too many operations within each other.
        """
        if (known := self._known.get(id(formula))) is not None:
            return known[0]
        key, bits = cast("_Key", formula), 63
        if isinstance(formula, int):
            bits = formula.bit_length()
        elif formula.function in OPERATORS:
            if depth == _NESTED:
                raise ValueError(f"expected at most {_NESTED} operations within each other in a formula, found more")
            first, second = formula.operands
            a, b = self.place(first, depth + 1), self.place(second, depth + 1)
            key, left, right = (formula.function, a, b), self._bits[a], self._bits[b]
            bits = left + right if formula.function == "mul" else max(left, right) + (formula.function == "add")
            if bits > _MOST_BITS:
                raise ValueError(f"expected formulas of at most {_MOST_BITS} bits, found one of {bits}")
        elif formula.is_parameter:
            raise ValueError(f"expected a number for the parameter {formula}")
        found = self._places.setdefault(key, len(self.keys))
        if found == len(self.keys):
            self.keys.append(key)
            self._bits.append(bits)
        self._known[id(formula)] = found, formula
        return found

    def common(self, groups: Sequence[Sequence[int]]) -> Sequence[int]:
        """Lookups of a launch for some groups of parts, and parts that most of the groups have, but parts of these."""
        counts = Counter(part for group in groups for part in self._below(group))
        shared = {part for part, number in counts.items() if self.operands(part) and 2 * number > len(groups)}
        inner = {part for each in counts.keys() - shared for part in self.operands(each)}
        return sorted(part for part in counts if self._is_lookup(part) or part in shared & inner)

    def function(
        self, results: Sequence[tuple[int, _Tests]], given: Sequence[int] = (), is_inner: bool = False
    ) -> Callable[..., Any]:
        """A function of a launch that returns the list of results, infinite where tests fail, and the given parts.

        `is_inner`: it is a function of the given parts, and returns the single result.
        """
        wanted = [place for place, tests in results for place in (place, *(p for each in tests for p in each[1:]))]
        outer = set(given) if is_inner else set[int]()
        needed = self._below([*wanted, *(() if is_inner else given)], outer)
        uses = Counter(part for place in needed - outer for part in self.operands(place))
        uses.update([*wanted, *given])
        code: dict[int, str] = {}
        depth, lines = Counter[int](), list[str]()
        for place in sorted(needed):
            operands = self.operands(place)
            code[place] = f"v{place}" if place in outer else self._code(place, [code[each] for each in operands])
            depth[place] = 1 + max((depth[each] for each in operands), default=0)
            is_long = not code[place].isalnum() and not isinstance(self.keys[place], int)
            if is_long and (uses[place] > 1 or depth[place] > _DEEPEST):
                lines.append(f" v{place} = {code[place]}")
                code[place], depth[place] = f"v{place}", 0
        found: list[str] = []
        for place, tests in results:
            passed = " and ".join(_TESTS[test].format(code[a], code[b]) for test, a, b in tests)
            found.append(f"{code[place]} if {passed} else inf" if passed else code[place])
        names = ", ".join(f"v{place}" for place in given)
        result = found[0] if is_inner else f"[{', '.join(found)}], ({''.join(f'{code[each]}, ' for each in given)})"
        text = "\n".join((f"def evaluate({names if is_inner else 'launch'}):", *lines, f" return {result}"))
        scope: dict[str, Any] = {"inf": inf, "__builtins__": {}}
        exec(text, scope)
        return scope["evaluate"]

    def _below(self, places: Iterable[int], given: Iterable[int] = ()) -> set[int]:
        """These parts, and theirs, but not those of given ones."""
        known, found, left = {*given}, set[int](), list(places)
        while left:
            if (place := left.pop()) not in found:
                found.add(place)
                left.extend(() if place in known else self.operands(place))
        return found

    def operands(self, place: int) -> tuple[int, ...]:
        """The parts of a part."""
        key = self.keys[place]
        return key[1:] if isinstance(key, tuple) else ()

    def _is_lookup(self, place: int) -> bool:
        return isinstance(self.keys[place], Call)

    def _code(self, place: int, operands: Sequence[str]) -> str:
        """The code of a part, whose operands have that code: a name, a number, or in parentheses unless a product."""
        match self.keys[place]:
            case ("add", _, _):
                return "({} + {})".format(*operands)
            case ("mul", _, _):
                return "{} * {}".format(*operands)
            case ("ceildiv", _, int(divisor)) if isinstance(number := self.keys[divisor], int):
                return f"-({operands[0]} // {-number})"
            case ("ceildiv", _, _):
                return "-(-{} // ({}))".format(*operands)
            case ("min" | "max" as function, _, _):
                names = [
                    each if each.isalnum() else f"{where}{place}" for where, each in zip("ab", operands, strict=True)
                ]
                first, second = (a if a == b else f"({b} := {a})" for a, b in zip(operands, names, strict=True))
                return f"({names[0]} if {first} {'<' if function == 'min' else '>'} {second} else {names[1]})"
            case Call("size", (int(argument), int(dimension))):
                return f"launch.shapes[{argument}][{dimension}]"
            case Call("stride", (int(argument), int(dimension))):
                return f"launch.strides[{argument}][{dimension}]"
            case Call("sm_count"):
                return "launch.sm_count"
            case Call(_, (int(blocks),)):
                return f"launch.clusters({blocks})"
            case int(number):
                return int.__repr__(number)
            case key:
                raise ValueError(f"expected a formula, found {key}")
