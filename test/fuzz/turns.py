"""
Random kernels whose loops go on as often as a launch or memory says, in each block as often as its own number, from
tiles whose places are loaded in the loop.

Of some loops several iterations become one (`tirx.unroll`), with what is left behind them. Iterations sum tiles, which
they stage in memory or read, or multiply them; asserts hold.
"""

from __future__ import annotations

import random

_TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_90a", "sm_100a", "sm_120a")
_ELEMENTS = ("f16", "f32", "i32")
_MOST = 9
"""The most iterations."""


class _Turns:
    """The lines of a kernel with one loop, and its arguments."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.multiplies = rng.random() < 0.4
        self.element = "f16" if self.multiplies else rng.choice(_ELEMENTS)
        self.rows, self.columns = 64 if self.multiplies else rng.choice((16, 32)), 64
        self.arguments: list[str] = []
        self.lines: list[str] = []

    def _tile(self, memory: str, element: str | None = None) -> str:
        return f"!tirx.tile<{self.rows}x{self.columns}x{element or self.element}, {memory}>"

    def _number(self, name: str, most: int, where: str = "") -> None:
        """A number from 0 to `most`, of an argument, of memory or a constant; of memory at `where` in a loop."""
        rng, element = self.rng, self.rng.choice(("i32", "index"))
        kind = "memory" if where else rng.choice(("memory", "memory", "argument", "constant"))
        bound = [f"%{name}_low = arith.constant 0 : index", f"%{name}_high = arith.constant {most} : index"]
        at_least = f"%{name}_least = arith.maxsi %{name}_read, %{name}_low : index"
        clamped = [*bound, at_least, f"%{name} = arith.minsi %{name}_least, %{name}_high : index"]
        if kind == "constant":
            self.lines.append(f"%{name} = arith.constant {rng.randint(0, most)} : index")
        elif kind == "argument":
            self.arguments.append(f"%{name}_read: index")
            self.lines += clamped
        else:
            memref = f"memref<{_MOST + 1}x{element}>"
            self.arguments.append(f"%{name}_at: {memref}")
            where = where or rng.choice(("%c1", "%block"))
            read = f"%{name}_{'read' if element == 'index' else 'number'} = memref.load %{name}_at[{where}]"
            self.lines.append(f"{read} : {memref}")
            if element == "i32":
                self.lines.append(f"%{name}_read = arith.index_cast %{name}_number : i32 to index")
            self.lines += clamped

    def _place(self, name: str) -> str:
        """The place of a tile in `%x`, with its row from the loop, from memory, or of each of its rows."""
        rng = self.rng
        match rng.choice(("turn", "page", "page", "rows", "rows")):
            case "turn":
                return f"%k * {rng.choice((1, 8, self.rows))}, 0"
            case "page":
                self._number(f"page{name}", 4, "%k")
                return f"%page{name} * {rng.choice((1, 8, self.rows))}, 0"
            case _:
                element = rng.choice(("i32", "i64", "index"))
                ids = f"!tirx.tile<1x{self.rows}x{element}, register>"
                memref, row = f"memref<{_MOST}x{self.rows}x{element}>", ids.replace("1x", "")
                self.arguments.append(f"%ids{name}: {memref}")
                self.lines += [
                    f"%line{name} = tirx.load %ids{name}[%k, 0] clipped : {memref} -> {ids}",
                    f"%rows{name} = tirx.reshape %line{name} : {ids} -> {row}",
                ]
                return f"[%rows{name}], 0"

    def _fetched(self, name: str) -> str:
        """Reads or stages a tile of `%x` and returns its name: a register tile, or a shared one of a product."""
        type_ = f"memref<?x{self.columns}x{self.element}>"
        self.arguments.append(f"%x{name}: {type_}")
        place = self._place(name)
        if not self.multiplies and self.rng.random() < 0.3:
            self.lines.append(f"%v{name} = tirx.load %x{name}[{place}] clipped : {type_} -> {self._tile('register')}")
            return f"%v{name}"
        self.lines.append(f"%s{name} = tirx.alloc copy(%x{name}[{place}] clipped) : {type_}, {self._tile('shared')}")
        if self.multiplies:
            return f"%s{name}"
        self.lines.append(f"%v{name} = tirx.load %s{name} : {self._tile('shared')} -> {self._tile('register')}")
        return f"%v{name}"

    def _sum(self) -> str:
        """Adds tiles to twice, or to less, of the sum so far."""
        own, names = self._tile("register"), [self._fetched(name) for name in "ab"[: self.rng.choice((1, 1, 2))]]
        is_float = self.element[0] == "f"
        add, half = ("arith.addf", "0.5") if is_float else ("arith.addi", "3")
        self.lines += [
            f"%u = tirx.map ins(%t, {', '.join(names)} : {', '.join([own] * (1 + len(names)))}) {{",
            f"^bb0({', '.join(f'%e{n}: {self.element}' for n in range(1 + len(names)))}):",
            f"%half = arith.constant {half} : {self.element}",
            f"%y0 = arith.{'mulf' if is_float else 'muli'} %e0, %half : {self.element}",
            *(f"%y{n + 1} = {add} %y{n}, %e{n + 1} : {self.element}" for n in range(len(names))),
            f"tirx.yield %y{len(names)} : {self.element}",
            f"}} -> {own}",
        ]
        return own

    def _product(self) -> str:
        shared, sums = self._tile("shared"), self._tile("register", "f32")
        a, b = self._fetched("a"), self._fetched("b")
        self.lines.append(f"%u = tirx.mma {a}, {b}, %t : {shared}, {shared}, {sums} -> {sums}")
        return sums

    def text(self) -> str:
        rng = self.rng
        self.lines += [
            "%c1 = arith.constant 1 : index",
            "%block = tirx.block_id x",
            f"%step = arith.constant {rng.choice((1, 1, 1, 2, 3))} : index",
        ]
        if rng.random() < 0.4:
            self._number("from", 3)
        else:
            self.lines.append("%from = arith.constant 0 : index")
        self._number("to", _MOST)
        before, self.lines = self.lines, list[str]()
        own = self._product() if self.multiplies else self._sum()
        inside = self.lines
        if rng.random() < 0.2:
            inside += [
                f"%most = arith.constant {_MOST} : index",
                "%few = arith.cmpi slt, %k, %most : index",
                'tirx.assert %few, "few" : i1',
            ]
        unroll = f" {{tirx.unroll = {rng.randint(2, 4)}}}" if rng.random() < 0.5 else ""
        blocks = rng.choice((1, 1, 2, 5))
        result = f"memref<{blocks * self.rows}x{self.columns}x{'f32' if self.multiplies else self.element}>"
        body = [
            *before,
            f"%z = tirx.zero : {own}",
            f"%r = scf.for %k = %from to %to step %step iter_args(%t = %z) -> ({own}) {{",
            *(f"  {line}" for line in inside),
            f"  scf.yield %u : {own}",
            f"}}{unroll}",
            f"tirx.store %r, %d[%block * {self.rows}, 0] : {own}, {result}",
            "tirx.return",
        ]
        threads = 128 if self.multiplies else rng.choice((64, 128))
        roles = ' attributes {tirx.roles = "load"}' if rng.random() < 0.3 else ""
        head = f'tirx.kernel @turns({", ".join([*self.arguments, f"%d: {result}"])}) target("{rng.choice(_TARGETS)}")'
        lines = "\n  ".join(body)
        return f"{head} grid({blocks}) threads({threads}){roles} {{\n  {lines}\n}}\n"


def random_turns(rng: random.Random) -> str:
    """Returns the text of a kernel of one loop."""
    return _Turns(rng).text()
