"""Random kernels whose views drop, swap or step along dimensions, end at run time, or go by tiles of indices."""

from __future__ import annotations

import random
from math import prod

from fuzz.targets import TARGETS

_TYPES = ("f16", "f32", "f64", "si8", "i32", "bf16")


class _View:
    """A view of an argument: its text, its type, and the lines in front of it."""

    def __init__(
        self,
        rng: random.Random,
        name: str,
        tile: tuple[int, ...],
        element: str,
        source: tuple[int, ...],
        indexed: float,
    ):
        rank, order = len(source), sorted(rng.sample(range(len(source)), len(tile)))
        if rng.random() < 0.3:
            rng.shuffle(order)
        of = {d: t for t, d in enumerate(order)}
        steps = [rng.choice((1, 1, 1, 2, 3)) if d in of else 1 for d in range(rank)]
        self.lines: list[str] = []
        """Lines in front of the view, and it."""
        spans = [(tile[of[d]] - 1) * steps[d] + 1 if d in of else 1 for d in range(rank)]
        clipped = rng.random() < 0.7 or any(n < span for n, span in zip(source, spans, strict=True))
        places, sizes = list[str](), list[str]()
        starts = dict[int, int]()
        self.arguments: list[str] = []
        types = list[str]()
        for d, (n, span) in enumerate(zip(source, spans, strict=True)):
            if rng.random() < indexed:
                places.append(f"[%x{name}{d}]")
                sizes.append(
                    "*" if d not in of or not clipped or rng.random() < 0.8 else self._constant(f"{name}n{d}", 3)
                )
                shape = tuple(rng.choice((n, n, 1)) for n in tile)
                if d in of and rng.random() < 0.6:
                    shape = (tile[of[d]],)
                elif d not in of or any(tile[t] > 1 and n == 1 for t, n in enumerate(shape) if t == of[d]):
                    shape = tile
                steps[d] = 1
                types.append(self._indices(rng, f"{name}{d}", shape, n, clipped))
                continue
            start, end = _positions(rng, n, span, steps[d], clipped, is_empty=name == "a" and rng.random() < 0.04)
            places.append(self._constant(f"{name}{d}", start))
            starts[d] = start
            sizes.append("*")
            if d in of and clipped and rng.random() < 0.3:
                sizes[-1] = self._constant(f"{name}n{d}", rng.randint(min(end, tile[of[d]]), tile[of[d]] + 2))
        clauses: list[str] = []
        if order != list(range(rank - len(tile), rank)) or rng.random() < 0.2:
            clauses.append(f"dims({', '.join(map(str, order))})")
        if set(steps) != {1}:
            clauses.append(f"steps [{', '.join(map(str, steps))}]")
        if clipped:
            clauses.append("clipped")
        if set(sizes) != {"*"}:
            clauses.append(f"to [{', '.join(sizes)}]")
        shape = [str(n) for n in source]
        bytes_ = {"f64": 8, "f32": 4, "i32": 4, "si8": 1}.get(element, 2)
        near = [d for d, start in starts.items() if start <= 0]
        if clipped and rank < 4 and near and rng.random() < 0.3:  # some elements are inside at any size
            shape[rng.choice(near)] = "?"
        strides = rng.choice((["?"] * rank, ["?"] * (rank - 1) + ["1"])) if rng.random() < 0.2 else []
        if source[-1] * bytes_ % 16 and rng.random() < 0.9:  # what `cp.async` refuses at the launch
            strides = []
        self.has_words = order[-1] == rank - 1 and not (strides or types or set(steps) != {1} or "?" in shape[1:])
        self.has_words &= all(n * bytes_ % 4 == 0 for n in (source[-1], tile[-1], starts.get(rank - 1, 0)))
        """Neighbours in memory are neighbours in the tile, by whole words, as `cp.async` needs them."""
        layout = f", strided<[{', '.join(strides)}]>" if strides else ""
        self.memref = f"memref<{'x'.join(shape)}x{element}{layout}>"
        self.type = f"!tirx.tile<{'x'.join(map(str, tile))}x{element}, global>"
        where = f"%{name}[{', '.join(places)}] {' '.join(clauses)}"
        head = ", ".join([self.memref, *types])
        self.lines.append(f"%g{name} = tirx.view {where} : {head} -> {self.type}")

    def _indices(self, rng: random.Random, name: str, shape: tuple[int, ...], size: int, clipped: bool) -> str:
        """Adds an index tile: from an argument, or computed from positions, inside of `size` elements."""
        width = rng.choice(("i32", "i32", "i64", "index"))
        own = f"!tirx.tile<{'x'.join(map(str, shape))}x{width}, register>"
        if clipped and rng.random() < 0.5:
            memref = f"memref<{'x'.join(map(str, shape))}x{width}>"
            self.arguments.append(f"%i{name}: {memref}")
            zeros = ", ".join(self._constant(f"z{name}_{d}", 0) for d in range(len(shape)))
            memory = own.replace("register", "global")
            self.lines.append(f"%gi{name} = tirx.view %i{name}[{zeros}] : {memref} -> {memory}")
            self.lines.append(f"%x{name} = tirx.load %gi{name} : {memory} -> {own}")
            return own
        terms = [f"%t{d} = tirx.index {d}" for d in range(len(shape))]
        sums = [f"%u{d} = arith.addi %{'u' if d > 1 else 't'}{d - 1}, %t{d} : index" for d in range(1, len(shape))]
        last = f"%u{len(shape) - 1}" if sums else "%t0"
        least = 0 if name[0] == "d" else -1  # the first element is inside of what is written
        low = rng.randint(least, min(1, size - 1)) if clipped else 0
        self.lines += [
            f"%zero{name} = tirx.zero : {own}",
            f"%x{name} = tirx.map ins(%zero{name} : {own}) {{",
            f"^bb0(%e: {width}):",
            *terms,
            *sums,
            f"%size = arith.constant {size} : index",
            f"%low = arith.constant {low} : index",
            f"%factor = arith.constant {rng.choice((1, 1, 3))} : index",
            f"%p = arith.muli {last}, %factor : index",
            "%r = arith.remui %p, %size : index",
            "%o = arith.addi %r, %low : index",
            *([] if width == "index" else [f"%w = arith.index_cast %o : index to {width}"]),
            f"tirx.yield {'%o' if width == 'index' else '%w'} : {width}",
            f"}} -> {own}",
        ]
        return own

    def _constant(self, name: str, value: int) -> str:
        self.lines.append(f"%c{name} = arith.constant {value} : index")
        return f"%c{name}"


def _positions(rng: random.Random, n: int, span: int, step: int, clipped: bool, is_empty: bool) -> tuple[int, int]:
    """Returns where `span` elements begin in a dimension of `n`, and how many positions reach one inside.

    Without `clipped` all are inside, with `is_empty` perhaps none, else some.
    """
    unit = 8 if rng.random() < 0.5 else 1
    if not clipped or rng.random() < 0.4:
        return rng.randint(0, max(0, n - span)) // unit * unit, 1
    if is_empty:
        return rng.choice((-span - 8, n, n + 8)), 1
    position, place = rng.randint(0, (span - 1) // step), rng.randrange(n)
    start = place - position * step
    positions = [p for p in range((span - 1) // step + 1) if 0 <= start // unit * unit + p * step < n]
    return (start // unit * unit, positions[0] + 1) if positions else (start, position + 1)


def random_places(rng: random.Random) -> str:
    """Returns the text of a kernel of one block, which copies a view of one argument to a view of another one."""
    element, threads = rng.choice(_TYPES), rng.choice((32, 64, 128))
    tile = tuple(rng.choice((1, 2, 4, 8, 8, 16, 32)) for _ in range(rng.choice((1, 2, 2, 3))))
    while prod(tile) > 2048:
        tile = tuple(max(1, n // 2) for n in tile)

    def source() -> tuple[int, ...]:
        rank = rng.randint(len(tile), 4)
        sizes = (1, 3, 8, 16, 24, 37) if rank < 4 else (1, 3, 8, 16)
        return tuple(rng.choice(sizes) for _ in range(rank))

    shapes = source(), source()
    indexed = rng.choice(((0, 0), (0, 0), (0.5, 0), (0.3, 0.3), (0, 0.5)))
    if element == "si8":  # which nothing combines
        indexed = (indexed[0], 0)
    target = rng.choice(TARGETS)
    a, d = (
        _View(rng, name, tile, element, shape, each) for name, shape, each in zip("ad", shapes, indexed, strict=True)
    )
    reduce = " reduce(add)" if indexed[1] else ""
    own = f"!tirx.tile<{'x'.join(map(str, tile))}x{element}, "
    through = rng.choice(("register", "shared", "both"))
    if through == "register" and element != "si8" and rng.random() < 0.4:
        return _table(rng, a, d, own, element, tile, threads, target)
    if through == "register":
        pad = rng.choice(("", f"%pad = arith.constant {5 if element[0] == 'i' else '5.0'} : {element}"))
        clause = " pad(%pad)" if pad and element != "si8" else ""
        moves = [
            pad if clause else "",
            f"%v = tirx.load %ga{clause} : {a.type} -> {own}register>",
            f"tirx.store %v, %gd{reduce} : {own}register>, {d.type}",
        ]
    elif rng.random() < 0.4 and element != "si8" and not indexed[1] and "%ca0 =" in "".join(a.lines):
        return _loop(rng, a, d, own, element, threads, target)
    else:
        can = a.has_words and target != "sm_75"
        engine = rng.choice(("", " engine ld_st", " engine cp_async" if can else ""))
        moves = [f"%s = tirx.alloc : {own}shared>", f"tirx.copy %ga, %s{engine} : {a.type}, {own}shared>"]
        if through == "shared":
            moves.append(f"tirx.copy %s, %gd{reduce} : {own}shared>, {d.type}")
        else:
            moves.append(f"%v = tirx.load %s : {own}shared> -> {own}register>")
            moves.append(f"tirx.store %v, %gd{reduce} : {own}register>, {d.type}")
    return _kernel(target, a, d, threads, [*a.lines, *d.lines, *moves])


def _table(
    rng: random.Random, a: _View, d: _View, own: str, element: str, tile: tuple[int, ...], threads: int, target: str
) -> str:
    """Elements go to places of a shared tile, which are counted, and elements of it come from there."""
    size, zero = rng.choice((8, 20, 64)), "0" if element[0] == "i" else "0.0"
    ids, shared = own.replace(element, "i32"), f"!tirx.tile<{size}x{element}, shared>"
    view = f"%counts[[%at]] clipped : {shared}, {ids}register> -> {own}shared>"
    moves = [
        *a.lines,
        *d.lines,
        f"%v = tirx.load %ga : {a.type} -> {own}register>",
        f"%none = tirx.zero : {ids}register>",
        f"%at = tirx.map ins(%none : {ids}register>) {{",
        "^bb0(%e: i32):",
        *(f"%t{n} = tirx.index {n}" for n in range(len(tile))),
        *(f"%u{n} = arith.addi %{'u' if n > 1 else 't'}{n - 1}, %t{n} : index" for n in range(1, len(tile))),
        f"%o = arith.index_cast %{'u' if len(tile) > 1 else 't'}{len(tile) - 1} : index to i32",
        "tirx.yield %o : i32",
        f"}} -> {ids}register>",
        f"%nothing = arith.constant {zero} : {element}",
        f"%counts = tirx.alloc : {shared}",
        f"tirx.fill %counts, %nothing : {element}, {shared}",
        f"%places = tirx.view {view}",
        f"tirx.store %v, %places reduce(add) : {own}register>, {own}shared>",
        f"%w = tirx.load %places{rng.choice(('', ' pad(%nothing)'))} : {own}shared> -> {own}register>",
        f"tirx.store %w, %gd : {own}register>, {d.type}",
    ]
    return _kernel(target, a, d, threads, moves)


def _loop(rng: random.Random, a: _View, d: _View, own: str, element: str, threads: int, target: str) -> str:
    """Sums what views along a loop, which stages them in shared memory, read."""
    inside = [line for line in a.lines if "%ca0 =" not in line]
    moves = [
        "%c0 = arith.constant 0 : index",
        "%c1 = arith.constant 1 : index",
        f"%c3 = arith.constant {rng.randint(1, 5)} : index",
        *d.lines,
        next(line for line in a.lines if "%ca0 =" in line).replace("%ca0", "%first"),
        f"%s = tirx.alloc : {own}shared>",
        f"%z = tirx.zero : {own}register>",
        f"%r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %z) -> ({own}register>) {{",
        *(f"  {line}" for line in inside[:-1]),
        "  %ca0 = arith.addi %first, %i : index",
        f"  {inside[-1]}",
        f"  tirx.copy %ga, %s : {a.type}, {own}shared>",
        f"  %v = tirx.load %s : {own}shared> -> {own}register>",
        f"  %y = tirx.map ins(%x, %v : {own}register>, {own}register>) {{",
        f"  ^bb0(%p: {element}, %q: {element}):",
        f"    %t = arith.{'addi' if element[0] == 'i' else 'addf'} %p, %q : {element}",
        f"    tirx.yield %t : {element}",
        f"  }} -> {own}register>",
        f"  scf.yield %y : {own}register>",
        "}",
        f"tirx.store %r, %gd : {own}register>, {d.type}",
    ]
    return _kernel(target, a, d, threads, moves)


def _kernel(target: str, a: _View, d: _View, threads: int, lines: list[str]) -> str:
    body = "\n  ".join([*lines, "tirx.return"])
    arguments = ", ".join([f"%a: {a.memref}", *a.arguments, *d.arguments, f"%d: {d.memref}"])
    head = f'tirx.kernel @k({arguments}) target("{target}")'
    return f"{head} grid(1) threads({threads}) {{\n  {body}\n}}\n"
