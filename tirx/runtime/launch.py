"""Launch descriptors: what whoever launches a kernel has to know, as values and as JSON beside the PTX."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

from tirx.dialects.formula import TESTS, Call, Formula, LaunchSizes, Requirement, counts_clusters
from tirx.dialects.formula_code import LeastCost
from tirx.dialects.schedule_names import RingPlace, RoleWarps, Schedule, SlotTile
from tirx.runtime.shared_costs import read_cost, write_costs
from tirx.values import dataclass, fields

FORMAT = 1
"""The number of the JSON format; it grows when a reader of the old one would misread the new one."""

Extents: TypeAlias = tuple[int, int, int]
Access = Literal["none", "read", "write", "read_write"]
Swizzle = Literal["none", "32B", "64B", "128B", "128B_atom_32B"]
Fill = Literal["zero", "nan"]
L2Promotion = Literal["none", "64B", "128B", "256B"]


@dataclass(frozen=True)
class PointerArgument:
    """An array in global memory, passed as its address.

    `element` is the PTX name of the element type (`b8` to `b64` for integers without a sign; 4- and 6-bit elements are
    packed), `shape` and `strides` (elements)
    are those of the memref, None where they are not fixed and both None for a pointer of which nothing is known.
    `alignment` of the address is in bytes. `access` is what the kernel does with the array.
    """

    kind: ClassVar = "pointer"

    name: str
    element: str | None
    shape: tuple[int | None, ...] | None
    strides: tuple[int | None, ...] | None
    alignment: int = 16
    access: Access = "read_write"

    @property
    def is_written(self) -> bool:
        """True if the kernel may change the array."""
        return self.access in ("write", "read_write")


@dataclass(frozen=True)
class ScalarArgument:
    """A number that the caller passes; `type` is the PTX type of the parameter (`u32`, `s32`, `u64`, `f32`, ...)."""

    kind: ClassVar = "scalar"

    name: str
    type: str


@dataclass(frozen=True)
class ComputedArgument:
    """A number that the launch computes from the other arguments."""

    kind: ClassVar = "computed"

    name: str
    type: str
    value: Formula


@dataclass(frozen=True)
class TensorMapArgument:
    """A tensor map that the launch encodes (CUDA driver API, `cuTensorMapEncodeTiled`).

    The tensor starts at the pointer of argument number `argument`. `shape` (elements), `strides` (bytes, all but that
    of the innermost dimension), `box` (elements) and `steps` (CUDA's `elementStrides`, 1 where there are none) have the
    innermost dimension first, as in CUDA.
    """

    kind: ClassVar = "tensor_map"

    name: str
    argument: int
    element: str
    shape: tuple[Formula, ...]
    strides: tuple[Formula, ...]
    box: tuple[int, ...]
    swizzle: Swizzle = "none"
    fill: Fill = "zero"
    l2_promotion: L2Promotion = "128B"
    steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class WorkspaceArgument:
    """The address of `bytes` bytes, which no other launch uses meanwhile. The first 4096 of them are zeros, and the
    kernel leaves zeros behind; the others may be anything. All such arguments of a launch may be the same address."""

    kind: ClassVar = "workspace"

    name: str
    bytes: int


Argument: TypeAlias = PointerArgument | ScalarArgument | ComputedArgument | TensorMapArgument | WorkspaceArgument

_KINDS: dict[str, type[Argument]] = {kind.kind: kind for kind in get_args(Argument)}


@dataclass(frozen=True)
class Precondition(Requirement):
    """A check of a launch: `value` and `bound` pass `test` (a key of `TESTS`), or `message` is an error."""

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise ValueError(f"expected a test of {', '.join(TESTS)}, found {self.test}")


@dataclass(frozen=True)
class Variant:
    """Another entry of the PTX that does the same, for launches that pass all of `conditions`, least `cost` first."""

    entry: str
    conditions: tuple[Precondition, ...] = ()
    cost: Formula = 0


@dataclass(frozen=True)
class Launch:
    """The launch of one entry of a PTX module.

    `grid` counts blocks along x, y and z as formulas of the arguments (numbers count from 0 among all `arguments`),
    None if the program does not say; `block` counts threads and `cluster` blocks; `dynamic_shared` is in bytes.
    `arguments` are the parameters of the entry in order: callers pass the pointers and scalars among them. `schedule`
    names roles and rings, for people and `tirx-sim --timeline`; a launch does not need it. Of `variants` whose
    conditions hold the first one with the least cost is launched in its place.

    >>> import tirx
    >>> head = 'tirx.kernel @k(%a: memref<?xf32>) target("sm_80") grid(ceildiv(size(0, 0), 64)) threads(32)'
    >>> launch = tirx.build(head + " { tirx.return }").kernels["k"].launch
    >>> print(launch.grid[0], launch.block)
    ceildiv(size(0, 0), 64) (32, 1, 1)
    """

    entry: str
    target: str
    grid: tuple[Formula, Formula, Formula] | None
    block: Extents | None
    cluster: Extents
    dynamic_shared: int
    arguments: tuple[Argument, ...]
    preconditions: tuple[Precondition, ...] = ()
    schedule: Schedule = Schedule()
    variants: tuple[Variant, ...] = ()

    @property
    def counts_clusters(self) -> bool:
        """Returns True if the grid depends on how many clusters run at once."""
        return self.grid is not None and any(map(counts_clusters, self.grid))

    def variant(self, sizes: LaunchSizes) -> str | None:
        """The entry of the variant for these sizes, None where it is this one."""
        place = self.place(sizes)
        entry = self.entry if place is None else self.variants[place].entry
        return None if entry == self.entry else entry

    def place(self, sizes: LaunchSizes) -> int | None:
        """The place among `variants` of the one for these sizes, None where the conditions of none hold."""
        return self._least_cost.place(sizes)

    @cached_property
    def _least_cost(self) -> LeastCost:
        return LeastCost([each.cost for each in self.variants], [each.conditions for each in self.variants])

    @property
    def passed(self) -> tuple[PointerArgument | ScalarArgument, ...]:
        """The arguments that a caller passes, in order."""
        return tuple(a for a in self.arguments if isinstance(a, PointerArgument | ScalarArgument))

    def to_json(self) -> dict[str, Any]:
        """The descriptor as `json.dumps` takes it. Formulas are numbers or lists: `["ceildiv", ["size", 0, 1], 8]`."""
        found = cast("dict[str, Any]", _to_json(self))
        if not self.variants:
            return {name: value for name, value in found.items() if name != "variants"}
        shared, costs = write_costs([each.cost for each in self.variants])
        found["variants"] = [each | {"cost": cost} for each, cost in zip(found["variants"], costs, strict=True)]
        return found | {"costs": shared}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Launch:
        """The counterpart of `to_json`. Raises ValueError for what is no descriptor."""
        try:
            return _Reader([_rank(each) for each in data["arguments"]]).launch(data)
        except (LookupError, TypeError) as error:
            raise ValueError(f"expected a launch descriptor, found one with a fault: {error!r}") from error


def write_launches(launches: Iterable[Launch]) -> str:
    """The JSON text of the descriptors of a module."""
    return _pretty({"format": FORMAT, "kernels": [launch.to_json() for launch in launches]}) + "\n"


def _pretty(value: Any, indent: str = "") -> str:
    """JSON text with a line for each number, string, list of numbers and argument."""
    inner = indent + "  "
    match value:
        case {"kind": _}:
            return json.dumps(value)
        case dict() if all(isinstance(each, str | int) for each in cast("dict[str, Any]", value).values()):
            return json.dumps(value)
        case dict():
            items = [
                f"{json.dumps(key)}: {_pretty(each, inner)}" for key, each in cast("dict[str, Any]", value).items()
            ]
            return "{\n" + ",\n".join(inner + item for item in items) + f"\n{indent}" + "}"
        case [dict(), *_]:
            items = [_pretty(each, inner) for each in cast("list[Any]", value)]
            return "[\n" + ",\n".join(inner + item for item in items) + f"\n{indent}]"
        case _:
            return json.dumps(value)


def read_launches(text: str) -> tuple[Launch, ...]:
    """The counterpart of `write_launches`. Raises ValueError for other texts."""
    data = json.loads(text)
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("format") != FORMAT:
        raise ValueError(f"expected launch descriptors of format {FORMAT}")
    kernels = cast("dict[str, Any]", data).get("kernels")
    if not isinstance(kernels, list):
        raise ValueError(f"expected a list of kernels, found {kernels}")
    return tuple(map(Launch.from_json, cast("list[Any]", kernels)))


def _to_json(value: object) -> object:
    match value:
        case Call():
            return [value.function, *(_to_json(x) for x in value.operands)]
        case tuple():
            return [_to_json(x) for x in cast("tuple[object, ...]", value)]
        case Variant():
            return {"entry": value.entry, "conditions": _to_json(value.conditions)}
        case Launch() | Precondition() | Schedule() | RoleWarps() | RingPlace() | SlotTile():
            return {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
        case PointerArgument() | ScalarArgument() | ComputedArgument() | TensorMapArgument() | WorkspaceArgument():
            found = {"kind": value.kind} | {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
            return {name: each for name, each in found.items() if name != "steps" or each}
        case _:
            return value


def _three(values: list[Any]) -> tuple[Any, Any, Any]:
    if len(values) != 3:
        raise ValueError(f"expected three extents, found {values}")
    return values[0], values[1], values[2]


def _extents(values: list[Any]) -> Extents:
    """The threads of a block or the blocks of a cluster along x, y and z."""
    if any(type(n) is not int or n < 1 for n in values):
        raise ValueError(f"expected extents of 1 or more, found {values}")
    return _three(values)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 1


def _are_sizes(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_size, cast("tuple[Any, ...]", value)))


def _are_extents(value: Any) -> bool:
    known = [each for each in cast("tuple[Any, ...]", value) if each is not None] if isinstance(value, tuple) else [""]
    return value is None or all(map(_is_count, known))


_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "type", "element", "message"), _is_text),
    **dict.fromkeys(("argument", "bytes"), _is_count),
    **dict.fromkeys(("box", "steps"), _are_sizes),
    "alignment": _is_size,
    "access": get_args(Access).__contains__,
    "swizzle": get_args(Swizzle).__contains__,
    "fill": get_args(Fill).__contains__,
    "l2_promotion": get_args(L2Promotion).__contains__,
}
"""The values that fields of arguments and preconditions may have. Formulas have been read, and lists are tuples."""


def _check_forms(what: Argument | Precondition) -> None:
    """Raises ValueError for a value that a field cannot have."""
    forms = _FORMS
    if isinstance(what, PointerArgument):
        forms = _FORMS | {"shape": _are_extents, "strides": _are_extents, "element": _is_text_or_none}
    for field in fields(type(what)):
        value, form = getattr(what, field.name), forms.get(field.name)
        if form is not None and not form(value):
            raise ValueError(f"expected another value of '{field.name}', found {value!r}")


def _operation(data: Any, inner: Callable[[Any], Formula]) -> Formula:
    """A number or an operation of what `inner` reads."""
    match data:
        case bool():
            raise ValueError(f"expected a formula, found {data}")
        case int():
            return data
        case [str(function), *operands]:
            return Call(function, tuple(map(inner, operands)))
        case _:
            raise ValueError(f"expected a formula, found {data}")


def _rank(data: Any) -> int | None:
    """The dimensions of an argument, None for a pointer of which nothing is known, and 0 for what is no pointer."""
    match data:
        case {"kind": "pointer", "shape": [*extents]}:
            return len(extents)
        case {"kind": "pointer"}:
            return None
        case _:
            return 0


@dataclass(frozen=True)
class _Reader:
    """Reads a descriptor whose arguments have `ranks` dimensions. Its methods raise ValueError, LookupError and
    TypeError for what is none."""

    ranks: Sequence[int | None]

    def launch(self, data: Mapping[str, Any]) -> Launch:
        arguments, grid = tuple(map(self.argument, data["arguments"])), data["grid"]
        if not (_is_text(data["entry"]) and _is_text(data["target"]) and _is_count(data["dynamic_shared"])):
            raise ValueError(
                f"expected names and bytes, found {[data[n] for n in ('entry', 'target', 'dynamic_shared')]}"
            )
        return Launch(
            entry=data["entry"],
            target=data["target"],
            grid=None if grid is None else _three([self.formula(n) for n in grid]),
            block=None if data["block"] is None else _extents(data["block"]),
            cluster=_extents(data["cluster"]),
            dynamic_shared=data["dynamic_shared"],
            arguments=arguments,
            preconditions=tuple(map(self.precondition, data["preconditions"])),
            schedule=Schedule.from_json(data.get("schedule", {})),
            variants=tuple(self.variant(each, data.get("costs", [])) for each in data.get("variants", [])),
        )

    def formula(self, data: Any) -> Formula:
        match data:
            case ["size" | "stride" as what, int(i), int(d)] if i >= len(self.ranks) or self.ranks[i] in range(d + 1):
                raise ValueError(f"expected an argument that has {what}({i}, {d}), found none")
            case _:
                return _operation(data, self.formula)

    def argument(self, data: Mapping[str, Any]) -> Argument:
        values = dict(data)
        kind = _KINDS.get(values.pop("kind"))
        if kind is None:
            raise ValueError(f"expected an argument of {', '.join(_KINDS)}, found {data['kind']}")
        for name, value in values.items():
            if kind is ComputedArgument and name == "value":
                values[name] = self.formula(value)
            elif kind is TensorMapArgument and name in ("shape", "strides"):
                values[name] = tuple(map(self.formula, value))
            elif isinstance(value, list):
                values[name] = tuple(cast("list[Any]", value))
        argument = kind(**values)
        _check_forms(argument)
        match argument:
            case PointerArgument(shape=tuple(shape), strides=tuple(strides)) if len(shape) != len(strides):
                raise ValueError(f"expected as many strides as extents, found {len(strides)} of {argument.name}")
            case TensorMapArgument(shape=shape, strides=strides, box=box) if not (
                len(shape) == len(strides) + 1 == len(box) == len(argument.steps or box)
            ):
                raise ValueError(f"expected sizes, strides, a box and steps of one tensor, found {argument}")
            case TensorMapArgument(argument=of) if of >= len(self.ranks) or self.ranks[of] == 0:
                raise ValueError(f"expected the number of a pointer of one dimension or more, found {argument}")
            case _:
                return argument

    def precondition(self, data: Mapping[str, Any]) -> Precondition:
        values = dict(data)
        found = Precondition(self.formula(values.pop("value")), bound=self.formula(values.pop("bound")), **values)
        _check_forms(found)
        return found

    def variant(self, data: Mapping[str, Any], costs: Sequence[Any]) -> Variant:
        if not _is_text(data["entry"]):
            raise ValueError(f"expected the name of an entry, found {data['entry']!r}")
        cost = read_cost(data.get("cost", 0), costs, _operation)
        return Variant(data["entry"], tuple(map(self.precondition, data["conditions"])), cost)
