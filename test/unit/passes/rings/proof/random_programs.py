"""Random programs of parties: what one random sequential program gives when it is split, then broken at random."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from unit.passes.rings.proof.programs import FENCE, HARDWARE, READ, TMA, WRITE, acquire, release, use, wait, work

from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    Await,
    BeforeLast,
    Body,
    Completion,
    Condition,
    Fence,
    FromRound,
    Guard,
    If,
    Issue,
    Kernel,
    Loop,
    Mode,
    Release,
    Ring,
    Statement,
    Use,
    WorkQueue,
)

Statements = list[Statement]


@dataclass(frozen=True)
class _Plan:
    """A ring, and who works at each station: "tma", "hardware", "groups" or "threads"."""

    ring: Ring
    kinds: tuple[str, ...]


def _groups(ring: Ring, station: int) -> WorkQueue:
    return WorkQueue(f"groups of {ring.name} at {station}", Completion.THREAD)


def _visit(rng: random.Random, plan: _Plan, station: int) -> tuple[Statements, Statements]:
    """Statements of one party for one use at one station, and those that it needs at the end."""
    ring, kind = plan.ring, plan.kinds[station]
    name, last = ring.name, len(ring.stations) - 1
    writes = station == 0 or (station < last and rng.random() < 0.5)
    mode = WRITE if writes else READ
    first = acquire(name, station)
    if kind == "tma":
        return [first, work(TMA, (name, station, WRITE, ring.share(ring.stations[0][0]))), release(name, 0, TMA)], []
    if kind == "hardware":
        issues = [work(HARDWARE, (name, station, mode)) for _ in range(rng.choice((1, 1, 2)))]
        return [first, *issues, release(name, station, HARDWARE)], []
    if kind == "groups":
        queue, pending = _groups(ring, station), rng.choice((0, 0, 1, 2))
        step = work(queue, (name, station, mode))
        return [first, step, release(name, station, queue), wait(queue, pending)], [wait(queue)]
    reads: Statements = [use(name, station)] * (station > 0)
    return [first, *reads, *[use(name, station, WRITE)] * writes, FENCE, release(name, station)], []


def generate(rng: random.Random) -> Kernel:
    """A random sequential program over some rings, split into the programs of its parties."""
    parties = [f"p{i}" for i in range(rng.randint(2, 4))]
    plans: list[_Plan] = []
    for i in range(rng.randint(1, 3)):
        count = rng.choice((2, 2, 2, 3))
        sizes = [rng.choice((1, 1, 2)) if len(parties) > 2 else 1 for _ in range(count)]
        stations = tuple(tuple(sorted(rng.sample(parties, size))) for size in sizes)
        kinds = (
            rng.choice(("tma", "tma", "hardware", "threads")),
            *(rng.choice(("groups", "hardware", "threads")) for _ in range(count - 1)),
        )
        size = 8 * len(stations[0]) if kinds[0] == "tma" else 0
        plans.append(_Plan(Ring(f"r{i}", rng.randint(1, 4), stations, bytes=size), kinds))
    kernel = _split(rng, parties, plans)
    return _across(rng, kernel, plans) if rng.random() < 0.3 else kernel


def _split(rng: random.Random, parties: list[str], plans: list[_Plan]) -> Kernel:
    shape = rng.choice(("flat", "nested", "nested", "two loops"))
    is_inner = {plan.ring.name: shape != "nested" or rng.random() < 0.67 for plan in plans}
    skew = rng.choice((0, 0, 1, 2)) if shape != "two loops" else 0
    skewed = rng.choice(parties) if skew else None
    is_early = {(p.ring.name, s): rng.random() < 0.5 for p in plans for s in range(len(p.ring.stations))}
    tails: dict[str, Statements] = {party: [] for party in parties}

    def body(inner: bool) -> dict[str, Statements]:
        queues = [[(plan, s) for s in range(len(plan.ring.stations))] for plan in plans]
        queues = [queue for queue in queues if is_inner[queue[0][0].ring.name] is inner]
        out: dict[str, Statements] = {party: [] for party in parties}
        while any(queues):
            plan, station = rng.choice([queue for queue in queues if queue]).pop(0)
            for party in plan.ring.stations[station]:
                steps, tail = _visit(rng, plan, station)
                if party == skewed and inner:
                    early = is_early[(plan.ring.name, station)]
                    steps = [If(BeforeLast(skew) if early else FromRound(skew), tuple(steps))]
                out[party] += steps
                tails[party] += [step for step in tail if step not in tails[party]]
        return out

    def loop(name: str, trips: str, party: str, steps: Statements) -> Loop:
        return Loop(name, trips, skew if party == skewed and name == "k" else 0, tuple(steps))

    inner = body(True)
    if shape == "flat":
        roles = {p: [loop("k", "K", p, inner[p]), *tails[p]] for p in parties}
    elif shape == "two loops":
        second = body(True)
        roles = {p: [loop("k", "K", p, inner[p]), loop("l", "L", p, second[p]), *tails[p]] for p in parties}
    else:
        outer, drains = body(False), rng.random() < 0.5
        roles: dict[str, Statements] = {}
        for p in parties:
            ends = (0, len(outer[p]))
            cut = rng.randint(*ends) if rng.random() < 0.3 else rng.choice(ends)
            around = [*outer[p][:cut], loop("k", "K", p, inner[p]), *(tails[p] if drains else []), *outer[p][cut:]]
            roles[p] = [loop("t", "T", p, around), *tails[p]]
    return Kernel({plan.ring.name: plan.ring for plan in plans}, {p: tuple(steps) for p, steps in roles.items()})


def _across(rng: random.Random, kernel: Kernel, plans: Sequence[_Plan]) -> Kernel:
    """The same program in two blocks, which share some rings, by multicast where TMA fills them."""
    shared = {plan.ring.name for plan in plans if rng.random() < 0.7}
    multicast = {plan.ring.name for plan in plans if plan.kinds[0] == "tma" and rng.random() < 0.7} & shared

    def name(ring: str, block: int) -> str:
        return ring if ring in shared else f"{ring}@{block}"

    rings: dict[str, Ring] = {}
    for ring in kernel.rings.values():
        for block in range(1) if ring.name in shared else range(2):
            blocks = range(2) if ring.name in shared else (block,)
            stations = tuple(tuple(f"{p}@{b}" for b in blocks for p in parties) for parties in ring.stations)
            new = replace(ring, name=name(ring.name, block), stations=stations, multicast=ring.name in multicast)
            rings[new.name] = replace(new, bytes=ring.bytes * len(blocks))

    def moved(body: Body, block: int) -> Body:
        return tuple(_renamed(statement, lambda ring: name(ring, block)) for statement in body)

    return Kernel(rings, {f"{p}@{block}": moved(body, block) for block in range(2) for p, body in kernel.roles.items()})


def _renamed(statement: Statement, name: Callable[[str], str]) -> Statement:
    def renamed(access: Access) -> Access:
        return replace(access, ring=name(access.ring))

    match statement:
        case Acquire() | Release():
            return replace(statement, ring=name(statement.ring))
        case Use():
            return replace(statement, access=renamed(statement.access))
        case Issue():
            return replace(statement, accesses=tuple(map(renamed, statement.accesses)))
        case If() | Loop():
            return replace(statement, body=tuple(_renamed(inner, name) for inner in statement.body))
        case _:
            return statement


# Breaking programs


def _paths(body: Body, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """Where the bodies of a program are: its own, those of its loops and conditions."""
    found = [path]
    for i, statement in enumerate(body):
        if isinstance(statement, If | Loop):
            found += _paths(statement.body, (*path, i))
    return found


def _edited(body: Body, path: tuple[int, ...], edit: Callable[[Statements], None]) -> Body:
    statements = list(body)
    if not path:
        edit(statements)
    else:
        inner = statements[path[0]]
        assert isinstance(inner, If | Loop)
        statements[path[0]] = replace(inner, body=_edited(inner.body, path[1:], edit))
    return tuple(statements)


def mutate(rng: random.Random, kernel: Kernel) -> Kernel:
    """A kernel with one or two random changes; it may still be right."""
    rings, roles = dict(kernel.rings), dict(kernel.roles)
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(list(rings))
        kind = rng.choice(("ring", "order", "order", "statement", "statement"))
        if kind == "ring":
            rings[name] = _broken_ring(rng, rings[name])
            continue
        role = rng.choice(list(roles))
        edit = _edit_order if kind == "order" else _edit_statement
        path = rng.choice(_paths(roles[role]))
        roles[role] = _edited(roles[role], path, lambda statements, edit=edit: edit(rng, statements))
    if rng.random() < 0.15:
        roles = {role: _under_condition(body) for role, body in roles.items()}
    if rng.random() < 0.3:
        names = rng.choice((("k",), ("t",), ("k", "l")))
        roles = {role: _loops_under_condition(body, names) for role, body in roles.items()}
    return Kernel(rings, roles)


def _broken_ring(rng: random.Random, ring: Ring) -> Ring:
    match rng.choice(("slots", "counts", "bytes", "signal")):
        case "slots":
            return replace(ring, slots=rng.randint(1, 4))
        case "counts":
            counts = [ring.arrivals(station) for station in range(len(ring.stations))]
            station = rng.randrange(len(counts))
            counts[station] = max(1, counts[station] + rng.choice((-1, 1)))
            return replace(ring, counts=tuple(counts))
        case "bytes" if ring.bytes:
            return replace(ring, bytes=ring.bytes + rng.choice((-4, 8)))
        case "signal" if ring.multicast:
            return replace(ring, signal_all=False)
        case _:
            return ring


def _edit_order(rng: random.Random, body: Statements) -> None:
    """Swaps, drops, repeats or moves a statement, or puts some under a guard."""
    if not body:
        return
    i = rng.randrange(len(body))
    match rng.choice(("swap", "drop", "repeat", "move", "guard", "fence")):
        case "swap" if i + 1 < len(body):
            body[i], body[i + 1] = body[i + 1], body[i]
        case "drop":
            body.pop(i)
        case "repeat" if not isinstance(body[i], Loop):
            body.insert(i, body[i])
        case "move":
            body.insert(rng.randint(0, len(body) - 1), body.pop(i))
        case "guard":
            j = rng.randint(i, len(body))
            if body[i:j]:
                guards: tuple[Guard, ...] = (Condition("c"), FromRound(1), BeforeLast(1))
                body[i:j] = [If(rng.choice(guards), tuple(body[i:j]))]
        case "fence":
            fences = [i for i, statement in enumerate(body) if isinstance(statement, Fence)]
            if fences:
                body.pop(fences[0])
        case _:
            pass


def _edit_statement(rng: random.Random, body: Statements) -> None:
    """Changes the first statement of a random class."""
    kind = rng.choice((Await, Release, Use, Loop, If))
    for i, statement in enumerate(body):
        if not isinstance(statement, kind):
            continue
        match statement:
            case Await():
                body[i] = replace(statement, pending=rng.choice((0, 1, 2)))
            case Release():
                groups = WorkQueue(f"groups of {statement.ring} at {statement.station}", Completion.THREAD)
                body[i] = replace(statement, after=rng.choice((None, HARDWARE, groups)))
            case Use():
                lag, mode = rng.choice(((1, statement.access.mode), *((0, mode) for mode in Mode)))
                body[i] = Use(replace(statement.access, lag=lag, mode=mode))
            case Loop():
                changed = replace(statement, extra=statement.extra + rng.choice((-1, 1)))
                body[i] = rng.choice((changed, replace(statement, trips=rng.choice("KTL"))))
            case If(guard=FromRound(round=n)):
                body[i] = replace(statement, guard=FromRound(max(0, n + rng.choice((-1, 1)))))
            case If(guard=BeforeLast(rounds=n)):
                body[i] = replace(statement, guard=BeforeLast(max(0, n + rng.choice((-1, 1)))))
            case _:
                pass
        return


def _under_condition(body: Body) -> Body:
    """The same condition around everything that stands in one body without loops and conditions."""
    if body and not any(isinstance(statement, Loop | If) for statement in body):
        return (If(Condition("all"), body),)
    return tuple(
        replace(statement, body=_under_condition(statement.body)) if isinstance(statement, If | Loop) else statement
        for statement in body
    )


def _loops_under_condition(body: Body, names: Sequence[str]) -> Body:
    """The same condition around every loop of one of these names."""
    found: Statements = []
    for statement in body:
        if isinstance(statement, If | Loop):
            statement = replace(statement, body=_loops_under_condition(statement.body, names))
        is_guarded = isinstance(statement, Loop) and statement.name in names
        found.append(If(Condition("some"), (statement,)) if is_guarded else statement)
    return tuple(found)
