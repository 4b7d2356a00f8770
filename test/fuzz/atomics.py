"""
Random kernels whose blocks combine elements in one step by all kinds, orders and scopes, and wait for each other.

Results of steps are stored where only one block, or a stated order of blocks, decides them: tiles of a block's own, in
shared or global memory, numbers that blocks exchange one after the other, and locks. What all blocks combine with one
tile does not depend on the order. Blocks wait for those before them (`in_order`) or for all of them (`cooperative`).
"""

from __future__ import annotations

import random

from fuzz.targets import TARGETS

_INTEGERS = ("i32", "i64", "si32", "ui32", "ui64")
_KINDS = {
    **dict.fromkeys(_INTEGERS, ("add", "min", "max", "and", "or", "xor", "exch", "cas")),
    "f16": ("add",),
    "bf16": ("add",),
    "f32": ("add", "min", "max", "exch", "cas"),
    "f64": ("add", "exch", "cas"),
}
_ORDERS = ("", "", " acquire", " release", " acq_rel")


class _Kernel:
    """The lines of a kernel and its arguments."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.target = rng.choice(TARGETS)
        self.progress = rng.choice(("", " in_order", " in_order", " cooperative"))
        # Checks run no more than two at once.
        self.blocks = 2 if self.progress == " cooperative" else rng.choice((1, 2, 3, 4))
        self.rows, self.columns = rng.choice((1, 2, 4)), rng.choice((4, 8, 16, 40))
        self.lines: list[str] = []
        self.arguments: list[str] = []
        self.count = 0

    def _op(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def _argument(self, type_: str) -> str:
        self.arguments.append(f"%m{len(self.arguments)}: {type_}")
        return f"%m{len(self.arguments) - 1}"

    def _tile(self, dtype: str, memory: str = "register", one: bool = False) -> str:
        shape = "1x1" if one else f"{self.rows}x{self.columns}"
        return f"!tirx.tile<{shape}x{dtype}, {memory}>"

    def _own(self, dtype: str, clipped: str = "") -> tuple[str, str]:
        """A place of the block alone in a new argument, and the type of that; an edge cuts it off if it is clipped."""
        columns = self.columns - self.rng.choice((0, 1, 3)) if clipped else self.columns
        type_ = f"memref<{self.blocks * self.rows}x{columns}x{dtype}>"
        return f"{self._argument(type_)}[%row, 0]{clipped}", type_

    def _loaded(self, dtype: str) -> str:
        place, type_ = self._own(dtype)
        return self._op(f"tirx.load {place} : {type_} -> {self._tile(dtype)}")

    def _stored(self, value: str, dtype: str) -> None:
        place, type_ = self._own(dtype)
        self.lines.append(f"tirx.store {value}, {place} : {self._tile(dtype)}, {type_}")

    def _clauses(self, widest: bool) -> str:
        """An order, and a scope that has all blocks in it where it must."""
        scopes = ["", "", " gpu", " sys"]
        if not widest:
            scopes += [" cta"] + [" cluster"] * (int("".join(filter(str.isdigit, self.target))) >= 90)
        return self.rng.choice(_ORDERS) + self.rng.choice(scopes)

    # What blocks do.

    def alone(self) -> None:
        """Steps on a tile of the block, in any memory, whose results are stored."""
        rng = self.rng
        dtype = rng.choice(list(_KINDS))
        kinds, own, way = _KINDS[dtype], self._tile(dtype), rng.choice(("shared", "global", "clipped", "places"))
        if way == "shared":
            type_ = self._tile(dtype, "shared")
            place = self._op(f"tirx.alloc : {type_}")
            self.lines.append(f"tirx.store {self._loaded(dtype)}, {place} : {own}, {type_}")
        elif way == "places":  # each element once, backwards, but those that there are not
            type_, source, ids = self._tile(dtype, "global"), f"memref<{self.columns}x{dtype}>", self._tile("i32")
            start = self._op(f"arith.constant {rng.choice((1, self.columns - 1, self.columns))} : i32")
            zeros = self._op(f"tirx.zero : {ids}")
            at = self._op(f"tirx.map ins({zeros} : {ids}) (%e) {{ {start} - i32(index(1)) }} -> {ids}")
            source = f"memref<{self.blocks * self.rows}x{self.columns}x{dtype}>"
            rows = self._op(f"tirx.map ins({zeros} : {ids}) (%e) {{ i32(index(0)) + i32(%row) }} -> {ids}")
            where = f"{self._argument(source)}[[{rows}], [{at}]] clipped"
            place = self._op(f"tirx.view {where} : {source}, {ids}, {ids} -> {type_}")
        else:
            type_ = self._tile(dtype, "global")
            where, source = self._own(dtype, " clipped" if way == "clipped" else "")
            place = self._op(f"tirx.view {where} : {source} -> {type_}")
        for _ in range(rng.randint(1, 3)):
            kind, value = rng.choice(kinds), self._loaded(dtype)
            with_ = f"{kind}({self._loaded(dtype)})" if kind == "cas" else kind
            step = f"tirx.atomic {with_} {value}, {place}{self._clauses(widest=False)}"
            self._stored(self._op(f"{step} : {own}, {type_} -> {own}"), dtype)
        if way == "shared":
            self._stored(self._op(f"tirx.load {place} : {type_} -> {own}"), dtype)

    def numbers(self) -> None:
        """Steps of a number on an element of the block."""
        dtype = self.rng.choice(("i32", "i64", "f32", "f64"))
        memref, one = f"memref<{self.blocks}x1x{dtype}>", self._tile(dtype, "global", one=True)
        place = self._op(f"tirx.view {self._argument(memref)}[%i, 0] : {memref} -> {one}")
        for _ in range(self.rng.randint(1, 3)):
            kind, value = self.rng.choice(_KINDS[dtype]), self._number(dtype)
            with_ = f"{kind}({self._number(dtype)})" if kind == "cas" else kind
            step = f"tirx.atomic {with_} {value}, {place}{self._clauses(widest=False)}"
            self._number_stored(self._op(f"{step} : {dtype}, {one} -> {dtype}"), dtype)

    def _number(self, dtype: str) -> str:
        """A number of an argument, or the block's own."""
        if self.rng.random() < 0.4:
            integer = self._op(f"arith.index_cast %i : index to {dtype if dtype[0] == 'i' else 'i32'}")
            return integer if dtype[0] == "i" else self._op(f"arith.sitofp {integer} : i32 to {dtype}")
        memref = f"memref<{self.blocks}x{dtype}>"
        return self._op(f"memref.load {self._argument(memref)}[%i] : {memref}")

    def _number_stored(self, value: str, dtype: str) -> None:
        memref = f"memref<{self.blocks}x{dtype}>"
        self.lines.append(f"memref.store {value}, {self._argument(memref)}[%i] : {memref}")

    def together(self) -> None:
        """All blocks combine tiles with one, at places that may be equal; nobody sees in which order."""
        rng = self.rng
        dtype = rng.choice(list(_KINDS))
        kind = rng.choice([each for each in _KINDS[dtype] if each not in ("exch", "cas")])
        own, type_ = self._tile(dtype), self._tile(dtype, "global")
        source = f"memref<{self.rows}x{self.columns}x{dtype}>"
        place, types = "[0, 0]", source
        if rng.random() < 0.4:
            ids = f"!tirx.tile<{self.columns}xi32, register>"
            memref = f"memref<{self.columns}xi32>"
            at = self._op(f"tirx.load {self._argument(memref)}[0] : {memref} -> {ids}")
            place, types = f"[0, [{at}]] clipped", f"{source}, {ids}"
        view = self._op(f"tirx.view {self._argument(source)}{place} : {types} -> {type_}")
        value = self._loaded(dtype)
        self._op(f"tirx.atomic {kind} {value}, {view}{self._clauses(widest=True)} : {own}, {type_} -> {own}")

    def one_by_one(self) -> None:
        """Blocks exchange a number and a tile in their order, each behind the flag of the one before."""
        rng = self.rng
        dtype, flag, scope = (
            rng.choice(("i32", "i64", "f32", "f64")),
            rng.choice(("i32", "i64")),
            rng.choice(("", " sys")),
        )
        flags, source = f"memref<{self.blocks}x{flag}>", f"memref<{self.rows}x{self.columns}x{dtype}>"
        of, place = self._argument(flags), self._argument(source)
        own, type_ = self._tile(dtype), self._tile(dtype, "global")
        big = self._op(f"arith.constant {rng.choice((50, 90))} : {flag}")
        set_ = self._op(f"arith.constant 100 : {flag}")
        value, expected = self._loaded(dtype), self._loaded(dtype)
        view = self._op(f"tirx.view {place}[0, 0] : {source} -> {type_}")
        self.lines += [
            f"%later{self.count} = arith.cmpi ne, %i, %c0 : index",
            f"scf.if %later{self.count} {{",
            "%before = arith.subi %i, %c1 : index",
            f"%seen = tirx.wait_until {of}[%before] {rng.choice(('sge', 'ugt', 'uge', 'sgt'))}, {big}{scope} : {flags}",
            "}",
        ]
        kind = rng.choice(_KINDS[dtype])
        with_ = f"cas({expected})" if kind == "cas" else kind
        old = self._op(f"tirx.atomic {with_} {value}, {view}{self._clauses(widest=True)} : {own}, {type_} -> {own}")
        self._stored(old, dtype)
        add = rng.choice((" add", ""))
        self.lines.append(f"tirx.signal{add} {of}[%i], {set_}{scope} : {flags}")

    def all_together(self) -> None:
        """All blocks arrive at a counter and wait for the others, then read a tile of another block."""
        rng = self.rng
        dtype, flag = rng.choice(("i32", "f32", "f16")), rng.choice(("i32", "i64"))
        flags, source = f"memref<1x1x{flag}>", f"memref<{self.blocks * self.rows}x{self.columns}x{dtype}>"
        of, own, one = self._argument(flags), self._tile(dtype), self._tile(flag, "global", one=True)
        shared = self._argument(source)
        value = self._loaded(dtype)
        self.lines.append(f"tirx.store {value}, {shared}[%row, 0] : {own}, {source}")
        many = self._op(f"arith.constant 100 : {flag}")
        all_ = self._op(f"arith.constant {100 * self.blocks} : {flag}")
        if rng.random() < 0.5:
            counter = self._op(f"tirx.view {of}[0, 0] : {flags} -> {one}")
            order = rng.choice((" release", " acq_rel"))
            self._op(f"tirx.atomic add {many}, {counter}{order} : {flag}, {one} -> {flag}")
        else:
            self.lines.append(f"tirx.signal add {of}[%c0, %c0], {many} : {flags}")
        self._op(f"tirx.wait_until {of}[%c0, %c0] sge, {all_} : {flags}")
        other = self._op(f"arith.constant {(self.blocks - 1) * self.rows} : index")
        theirs = self._op(f"arith.subi {other}, %row : index")
        self._stored(self._op(f"tirx.load {shared}[{theirs}, 0] : {source} -> {own}"), dtype)

    def text(self) -> str:
        rng = self.rng
        progress = self.progress
        ways = [self.alone, self.alone, self.numbers, self.together]
        for _ in range(rng.randint(1, 2)):
            rng.choice(ways)()
        if progress:
            rng.choice((self.one_by_one, self.all_together) if progress == " cooperative" else (self.one_by_one,))()
        start = [
            "%c0 = arith.constant 0 : index",
            "%c1 = arith.constant 1 : index",
            "%i = tirx.block_id x",
            f"%rows = arith.constant {self.rows} : index",
            "%row = arith.muli %i, %rows : index",
        ]
        head = f'tirx.kernel @k({", ".join(self.arguments)}) target("{self.target}") grid({self.blocks})'
        lines = "\n  ".join([*start, *self.lines, "tirx.return"])
        return f"{head} threads({rng.choice((32, 64, 128))}){progress} {{\n  {lines}\n}}\n"


def random_atomics(rng: random.Random) -> str:
    """Returns the text of a kernel of one to four blocks."""
    return _Kernel(rng).text()
