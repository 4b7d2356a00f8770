"""The decisions of the passes about a program: layouts, engines, plans, descriptors, memory, roles and rings, and why.

Everything is read off the operations, at the moment at which it stands on them, and the reasons are the remarks of the
passes (`tirx.remarks`). Nothing is decided here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.copy.cost import CopyEnd, copy_cost
from tirx.diagnostics import Diagnostic, LocatedError, position
from tirx.dialects import tcgen05, tirx, wgmma
from tirx.dialects.schedule_attr import stored_schedule
from tirx.dialects.schedule_names import RING, RingPlace
from tirx.dialects.tirx import (
    AllocOp,
    AsyncCopyOp,
    CopyOp,
    Engine,
    KernelOp,
    MemoryPlan,
    MemorySpace,
    RingOp,
    SlotViewAttr,
    TileType,
    kernels,
)
from tirx.explain import explain_instruction_descriptor, explain_matrix_descriptor, explain_zero_column_mask
from tirx.explain.report import Explanation
from tirx.hw.dtypes import DTYPES
from tirx.hw.errors import LegalityError
from tirx.layout import LayoutError
from tirx.passes import lower_to_ptx_pipeline
from tirx.passes.ir.scheduled import BARRIERS
from tirx.passes.layouts.operand_layouts import copies_cost, placed_copies
from tirx.passes.match.bulk_copies import async_engine, plan_tma
from tirx.passes.match.memory_by_lifetime import shared_bytes
from tirx.passes.match.product import target_of
from tirx.passes.match.run_time_strides import placed
from tirx.remarks import Picked, Reason, Remark, counted
from tirx.smem.atoms import smem_layout
from tirx.smem.canonical import canonical_layout
from tirx.smem.canonical_form import attribute_text
from tirx.smem.swizzle_modes import TCGEN05_OPERANDS, WGMMA_OPERANDS, legal_modes
from tirx.values import dataclass, field

_BULK = (Engine.TMA, Engine.TMA_MULTICAST, Engine.TMA_STORE, Engine.TMA_REDUCE)
_THREADS = 128
"""Threads of a copy that is priced but not made."""


def other_swizzles(alloc: AllocOp, threads: int) -> str | None:
    """The cost of all copies of an operand under the other swizzles that its product can read; None for others."""
    type_ = alloc.result.type
    copies = list(placed_copies(alloc))
    if type_.memory is not MemorySpace.SHARED or type_.layout is None or len(type_.dims) != 2 or not copies:
        return None
    rows, columns = type_.dims
    name = type_.dtype.name
    if name not in TCGEN05_OPERANDS.dtypes:
        return None
    try:
        chosen = canonical_layout(type_.layout, (rows, columns), name)
    except LegalityError:
        return None  # no operand
    found: list[str] = []
    for mode in legal_modes(DTYPES[name], chosen.major):
        if mode == chosen.swizzle:
            continue
        try:
            layout = smem_layout(name, mode, chosen.major, (rows, columns))
            cost, _ = copies_cost(alloc.result, layout, copies, threads)
        except (LegalityError, LayoutError, LocatedError):
            continue  # too few columns for it, or no copy of threads
        found.append(f"{mode} {cost.cycles:g} cycles")
    return f"other swizzles: {', '.join(found)}" if found else None


def copy_facts(copy: CopyOp | AsyncCopyOp) -> list[tuple[str, str]]:
    """The boxes of a bulk copy between global and shared memory, and what threads would take for it."""
    source, destination = TileType.of(copy.source), TileType.of(copy.destination)
    if {source.memory, destination.memory} != {MemorySpace.GLOBAL, MemorySpace.SHARED} or copy.engine is None:
        return []
    loads = source.memory is MemorySpace.GLOBAL
    outside, inside = (copy.source, destination) if loads else (copy.destination, source)
    if inside.layout is None:
        return []  # a written engine, before tirx-pick-layouts
    facts: list[tuple[str, str]] = []
    is_bulk = copy.engine.data in _BULK
    if is_bulk:
        try:
            boxes = plan_tma(outside, inside, target_of(copy)).boxes
        except LegalityError:
            return []  # a written engine that tirx-select-copies refuses
        size = "x".join(map(str, reversed(boxes.box)))
        each = f"{size} {boxes.unit.type}, {boxes.box_bytes} bytes, swizzle {boxes.swizzle}"
        facts.append(("boxes", f"{len(boxes.boxes)} of {each}"))
    elif copy.engine.data is Engine.LD_ST and (reason := async_engine(copy).reason):
        facts.append(("faster engines", reason))
    tile = placed(outside)
    if tile.layout is not None:
        outer, inner = CopyEnd(tile.layout, "global"), CopyEnd(inside.layout, "shared")
        ends = (outer, inner) if loads else (inner, outer)
        try:
            cost = copy_cost(inside.dims, ends, inside.dtype.storage_bits, _THREADS)
        except LayoutError:
            return facts  # threads cannot share it out
        facts.append(("instead, threads" if is_bulk else "cost", str(cost)))
    return facts


_DECIDED = "tirx-multicast-copies"
"""The last pass of the pipeline that chooses; the ones behind it split and lower what has been chosen."""

_LAID_OUT = "tirx-pick-layouts"
_PLACED = "tirx-allocate-memory"
_LOWERED = ("convert-tirx-to-tcgen05", "convert-tirx-to-wgmma")
_PRODUCTS = (tcgen05.MmaOp, wgmma.MmaAsyncOp)


_Place: TypeAlias = tuple[int, int]
"""The line and column of an operation."""

_Facts: TypeAlias = list[tuple[str, str]]


@dataclass(frozen=True)
class Decision:
    """A decision about one operation: `what` names it, `facts` are (name, text) in order, `why` are reasons."""

    line: int | None
    what: str
    facts: tuple[tuple[str, str], ...]
    why: tuple[str, ...] = ()

    def text(self) -> str:
        """Lines for people."""
        head = "  " + (f"line {self.line}: " if self.line is not None else "") + self.what
        lines = [head, *(f"      {name}: {text}" for name, text in self.facts)]
        return "\n".join([*lines, *(f"      why: {each}" for each in self.why)])


@dataclass(frozen=True)
class KernelDecisions:
    """All of a kernel, with the remarks that are about none of these operations as `notes` (line, text)."""

    name: str
    head: str
    tiles: tuple[Decision, ...]
    copies: tuple[Decision, ...]
    products: tuple[Decision, ...]
    memory: tuple[Decision, ...]
    schedule: tuple[Decision, ...]
    notes: tuple[tuple[int | None, str], ...]

    def text(self) -> str:
        """Lines for people."""
        lines = [self.head]
        for title in ("tiles", "copies", "products", "memory", "schedule"):
            found: tuple[Decision, ...] = getattr(self, title)
            if found:
                lines += [f"{title}", *(each.text() for each in found)]
        if self.notes:
            lines.append("notes")
        for line, text in self.notes:
            lines.append(f"  line {line}: {text}" if line is not None else f"  {text}")
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """Plain data for programs."""
        found = asdict(self)
        for title in ("tiles", "copies", "products", "memory", "schedule"):
            for each in found[title]:
                each["facts"] = dict(each["facts"])
        return found


@dataclass
class _Kernel:
    head: str = ""
    position: _Place | None = None
    tiles: dict[tuple[str, str], tuple[_Place | None, _Facts]] = field(
        default_factory=dict[tuple[str, str], tuple[_Place | None, _Facts]]
    )
    """By what they are and their layout."""
    copies: list[tuple[_Place | None, str, _Facts]] = field(default_factory=list[tuple[_Place | None, str, _Facts]])
    products: list[tuple[_Place | None, str, _Facts]] = field(default_factory=list[tuple[_Place | None, str, _Facts]])
    others: dict[tuple[_Place | None, str], str] = field(default_factory=dict[tuple[_Place | None, str], str])
    """The costs of other layouts of a tile, by its place and layout."""
    descriptors: dict[_Place | None, _Facts] = field(default_factory=dict[_Place | None, _Facts])
    """By the place of the product."""
    memory: list[Decision] = field(default_factory=list[Decision])
    schedule: list[Decision] = field(default_factory=list[Decision])


class DecisionRecorder:
    """Collects decisions while passes run: `after` is the `after_each` of `run_passes`, and `hear` a diagnostic handler
    that wants remarks.
    """

    def __init__(self) -> None:
        self._kernels: dict[str, _Kernel] = {}
        self._remarks: dict[_Place | None, list[Remark]] = {}
        names = [spec.partition("{")[0] for spec in lower_to_ptx_pipeline()]
        last = names.index(_DECIDED) + 1
        self._deciding, self._lowering = frozenset(names[:last]), frozenset(names[last:]) - frozenset(names[:last])
        self._is_decided = False

    def hear(self, diagnostic: Diagnostic) -> None:
        """Keeps a remark."""
        if diagnostic.severity == "remark":
            where = diagnostic.position
            remark = diagnostic.decision or Reason(diagnostic.message)
            known = self._remarks.setdefault(None if where is None else where[1:], [])
            if remark not in known:
                known.append(remark)

    def after(self, module_pass: ModulePass, module: ModuleOp) -> None:
        """Reads what stands on the operations behind a pass."""
        self._is_decided |= module_pass.name in self._lowering
        for kernel in kernels(module):
            if kernel.params is not None:
                continue  # nothing is decided before its parameters are bound
            found = self._kernels.setdefault(kernel.sym_name.data, _Kernel())
            if module_pass.name == _LAID_OUT:
                _read_other_layouts(kernel, found)
            if not self._is_decided:
                self._read_choices(kernel, found)
            elif module_pass.name == _PLACED:
                _read_places(kernel, found)
            elif module_pass.name in _LOWERED:
                _read_descriptors(kernel, found)

    def _read_choices(self, kernel: KernelOp, found: _Kernel) -> None:
        found.position = _where(kernel)
        grid = "" if kernel.launch_grid is None else f", grid ({', '.join(map(str, kernel.launch_grid))})"
        target = "no target" if kernel.target is None else kernel.target.data
        found.head = f"@{kernel.sym_name.data}: {target}{grid}, {kernel.num_threads} threads"
        found.copies, found.products = [], []
        for op in kernel.walk():
            match op:
                case tirx.CopyOp() | tirx.AsyncCopyOp():
                    engine = "not chosen" if op.engine is None else op.engine.data.value
                    when = "waits for it" if isinstance(op, tirx.CopyOp) else "asynchronous"
                    what = f"{_name(op.source)} -> {_name(op.destination)}"
                    kinds = f"{_memory(op.source)} to {_memory(op.destination)}"
                    facts = [("engine", f"{engine} ({when}), {kinds}"), *copy_facts(op)]
                    found.copies.append((_where(op), what, facts))
                case tirx.MmaOp() | tirx.AsyncMmaOp():
                    what = f"{_name(op.accumulator)} += {_name(op.a)} * {_name(op.b)}"
                    plan = "not chosen" if op.plan is None else op.plan.body()
                    found.products.append((_where(op), what, [("plan", plan)]))
                case RingOp():
                    for tile in op.result.type.contents:
                        for view in tile:
                            _read_view(op, view, found)
                case _:
                    pass
            for result in op.results:
                if isinstance(result.type, TileType) and not isinstance(op, tirx.ViewOp | tirx.AcquireOp):
                    self._read_tile(op, result, result.type, found)

    def _read_tile(self, op: Operation, value: SSAValue, type_: TileType, found: _Kernel) -> None:
        """Notes the layout of a tile that has memory of its own, or whose layout was picked."""
        where = _where(op)
        if type_.layout is None or where is None:
            return
        layout = attribute_text(type_.layout)
        if isinstance(op, tirx.AllocOp) or self._picked(where, layout):
            # A tile that moves into a ring keeps its line.
            what = f"{_name(value)}: {_type_text(type_)}"
            found.tiles.setdefault((what, layout), (where, [("layout", layout)]))

    def _picked(self, where: _Place | None, layout: str) -> list[Picked]:
        """The remarks at a place about the choice of a layout."""
        return [each for each in self._remarks.get(where, ()) if isinstance(each, Picked) and each.layout == layout]

    def _reasons(self, where: _Place | None, used: list[Remark]) -> list[str]:
        """The other remarks at a place, which are added to those that are `used`."""
        found = [each for each in self._remarks.get(where, ()) if not isinstance(each, Picked)]
        used += found
        return [str(each) for each in found]

    def report(self, form: Literal["text", "json"]) -> str:
        """All of it, for people or as JSON."""
        if form == "json":
            return json.dumps({"kernels": [kernel.json() for kernel in self.kernels()]}, indent=1) + "\n"
        return "\n\n".join(kernel.text() for kernel in self.kernels()) + "\n"

    def kernels(self) -> tuple[KernelDecisions, ...]:
        """Returns the decisions about each kernel, in their order."""
        return tuple(self._finished(name, found) for name, found in self._kernels.items())

    def _finished(self, name: str, found: _Kernel) -> KernelDecisions:
        tiles: list[Decision] = []
        used: list[Remark] = []
        for (what, layout), (where, facts) in found.tiles.items():
            picked = self._picked(where, layout)
            used += picked
            why = [each.why for each in picked]
            if (other := found.others.get((where, layout))) and any(each.is_operand for each in picked):
                why.append(other)
            tiles.append(_decision(where, what, facts, why))
        copies, products = (
            [_decision(where, what, facts, self._reasons(where, used)) for where, what, facts in rows]
            for rows in (found.copies, [(w, t, [*f, *found.descriptors.get(w, ())]) for w, t, f in found.products])
        )
        notes = [
            (where[0], str(remark))
            for where, remarks in self._remarks.items()
            for remark in remarks
            if where is not None and not any(remark is each for each in used)
        ]
        starts = [each.position for each in self._kernels.values() if each.position is not None]
        # A remark belongs to the last kernel that starts in front of it.
        own = [
            (line, text)
            for line, text in notes
            if found.position in (None, max((start for start in starts if start[0] <= line), default=None))
        ]
        return KernelDecisions(
            name,
            found.head,
            _by_line(tiles),
            _by_line(copies),
            tuple(products),
            tuple(found.memory),
            tuple(found.schedule),
            tuple(sorted(own, key=lambda each: each[0])),
        )


def _decision(where: _Place | None, what: str, facts: _Facts, why: Sequence[str]) -> Decision:
    return Decision(None if where is None else where[0], what, tuple(facts), tuple(why))


def _by_line(decisions: Sequence[Decision]) -> tuple[Decision, ...]:
    """Sorts by line, decisions without a line first."""
    placed = sorted((each for each in decisions if each.line is not None), key=attrgetter("line"))
    return (*(each for each in decisions if each.line is None), *placed)


# What stands on operations


def _where(op: Operation) -> _Place | None:
    where = position(op.location)
    return None if where is None else where[1:]


def _name(value: SSAValue) -> str:
    return "a tile" if value.name_hint is None else f"%{value.name_hint}"


def _type_text(type_: TileType) -> str:
    shape = "x".join(map(str, type_.dims))
    return f"{shape} {type_.element_type}, {type_.memory.value}"


def _memory(value: SSAValue) -> str:
    return TileType.of(value).memory.value


def _read_other_layouts(kernel: KernelOp, found: _Kernel) -> None:
    for op in kernel.walk():
        if isinstance(op, tirx.AllocOp) and op.result.type.layout is not None:
            if other := other_swizzles(op, kernel.num_threads):
                found.others[_where(op), attribute_text(op.result.type.layout)] = other


def _read_view(ring: RingOp, view: SlotViewAttr, found: _Kernel) -> None:
    if not isinstance(view.type, TileType) or view.type.layout is None:
        return
    layout, slots = attribute_text(view.type.layout), f"{ring.num_slots}, in the ring {_name(ring.result)}"
    label = view.label.data
    what = f"{f'%{label}' if label else 'a tile'}: {_type_text(view.type)}"
    where, _ = found.tiles.get((what, layout), (_where(ring), []))
    found.tiles[(what, layout)] = (where, [("layout", layout), ("slots", slots)])


def _read_places(kernel: KernelOp, found: _Kernel) -> None:
    schedule = stored_schedule(kernel)
    rows: list[tuple[str, int, int, str]] = []
    for op in kernel.walk():
        if not isinstance(op, tirx.AllocOp) or op.start is None:
            continue
        type_, ring = op.result.type, op.attributes.get(RING)
        has_no_columns = type_.memory is MemorySpace.TENSOR and type_.layout is None
        if isinstance(ring, StringAttr) or has_no_columns:  # placed with its ring, or nowhere
            continue
        name = (
            "mbarriers of rings" if BARRIERS in op.attributes else f"{_name(op.result)}, line {(_where(op) or '?')[0]}"
        )
        size = type_.span_columns if type_.memory is MemorySpace.TENSOR else shared_bytes(type_)
        rows.append((type_.memory.value, op.start, size, name))
    for ring in schedule.rings:
        for tile in ring.tiles:
            rows.append(
                (tile.memory, tile.start, tile.stride * ring.slots, f"{counted(ring.slots, 'slot')} of {tile.name}")
            )
    found.memory = []
    plan = None if kernel.memory is None else kernel.memory.data
    for memory, unit, total in _totals(plan):
        own = sorted(row[1:] for row in rows if row[0] == memory)
        facts = [(_span(start, size), what) for start, size, what in own]
        if own or total:
            found.memory.append(Decision(None, f"{memory} memory: {total} {unit}", tuple(facts)))
    found.schedule = [
        Decision(None, f"role {role.name}", (("warps", _span(role.first, role.warps)),)) for role in schedule.roles
    ]
    for ring in schedule.rings:
        facts = [("stations", " -> ".join(ring.stations)), ("mbarriers", _barriers(ring))]
        found.schedule.append(Decision(None, f"ring {ring.name}: {counted(ring.slots, 'slot')}", tuple(facts)))


def _barriers(ring: RingPlace) -> str:
    found = [f"behind '{name}' at byte {at}" for name, at in zip(ring.stations, ring.barriers, strict=True) if at >= 0]
    return "; ".join(found) or "none"


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _totals(plan: MemoryPlan | None) -> tuple[tuple[str, str, int], ...]:
    shared, columns = (0, 0) if plan is None else (plan.shared, plan.columns)
    kind = " bytes, dynamic" if plan is not None and plan.dynamic else " bytes"
    return ("shared", kind.strip(), shared), ("tensor", "columns", columns)


# Descriptors


def _read_descriptors(kernel: KernelOp, found: _Kernel) -> None:
    for op in kernel.walk():
        if not isinstance(op, _PRODUCTS):
            continue
        facts = found.descriptors.setdefault(_where(op), [])
        for fact in _descriptor_facts(op):
            if fact[0] not in (name for name, _ in facts):
                facts.append(fact)


def _descriptor_facts(op: tcgen05.MmaOp | wgmma.MmaAsyncOp) -> Iterable[tuple[str, str]]:
    """Explains the words that the first instruction of a product reads; the others differ in the start address."""
    a = op.a if isinstance(op, tcgen05.MmaOp) else op.a[0]
    for name, operand in (("A", a), ("B", op.b)):
        match operand.owner:
            case tcgen05.SmemDescriptorOp() | wgmma.SmemDescriptorOp() as made:
                yield f"{name}, descriptor", f"{_operand_text(made)}; the address of {_name(made.tile)} is added"
            case _:
                if isinstance(operand.type, TileType):
                    yield name, f"{_name(operand)} in {operand.type.memory.value} memory, no descriptor"
    for operand in op.operands:
        match operand.owner:
            case tcgen05.InstructionDescriptorOp(descriptor=attribute):
                descriptor = attribute.data
                yield "instruction descriptor", explain_instruction_descriptor(
                    descriptor.encode(), descriptor.kind
                ).brief()  # fmt: skip
            case tcgen05.ZeroColumnMaskOp(mask=attribute):
                yield "zero-column mask", explain_zero_column_mask(attribute.data.encode()).brief()
            case _:
                pass


def _operand_text(op: tcgen05.SmemDescriptorOp | wgmma.SmemDescriptorOp) -> str:
    type_ = TileType.of(op.tile)
    if isinstance(op, wgmma.SmemDescriptorOp):
        word, family, rows = op.descriptors()[0].encode(), WGMMA_OPERANDS, op.rows.value.data
        major = op.major
    else:
        part = op.slices()[op.step.value.data]
        word, family, rows = part.descriptor().encode(), TCGEN05_OPERANDS, type_.dims[-2]
        major = part.canonical.major
    return _explained(word, family.instruction, major, type_.dtype.name, rows, op.k.value.data).brief()


@lru_cache(maxsize=256)
def _explained(word: int, instruction: str, major: Any, dtype: str, rows: int, k: int) -> Explanation:
    family = WGMMA_OPERANDS if instruction == WGMMA_OPERANDS.instruction else TCGEN05_OPERANDS
    return explain_matrix_descriptor(word, family, major=major, dtype=dtype, shape=(rows, k))
