"""
wgmma: products of the matrices of four warps, asynchronous (PTX ISA, section 9.7.15).

A warp needs nothing of the others: it computes its 16 rows of D when it executes the instruction, from its rows of A
and all of B. What the others of the warpgroup must not do meanwhile is the business of the monitor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.types import B32, B64, PRED, WARP, Array, Mask, RegisterState
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder, uniform
from tirx.sim.isa.deferred import WarpgroupProducts
from tirx.sim.isa.fragments import Packing, matrix_fragment, wide_accumulator
from tirx.sim.isa.mma_sync import numbers, raw_results
from tirx.sim.isa.registry import instruction
from tirx.sim.isa.sparse import read_selector
from tirx.sim.isa.words import accumulator_words, fragment_words
from tirx.sim.memory.gather import Gather
from tirx.sim.memory.region import Region
from tirx.sim.numerics.chains import Chain
from tirx.sim.numerics.formats import decode_elements
from tirx.sim.numerics.tensor_cores import Rule, ideal, multiply_values, rule_of
from tirx.sim.program.code import Register, Step
from tirx.sim.reader.syntax import Vector
from tirx.sim.tensor.patterns import check_operand
from tirx.sim.tensor.shared_descriptor import SharedDescriptor

_WARPGROUP = 4
_ROWS = 16  # of D, for each warp
_MAX_PENDING = 7
# N, and in words.
_WIDTHS = (range(8, 257, 8), "from 8 to 256 in steps of 8")
_INTEGER_WIDTHS = ((8, 16, 24, *range(32, 257, 16)), "of 8, 16, 24 or from 32 to 256 in steps of 16")


@dataclass(frozen=True, slots=True)
class _Kind:
    """K of a dense instruction and bits of an element; types of D; whether A and B may be negated, and transposed."""

    depth: int
    bits: int
    results: tuple[str, ...]
    negates: bool
    transposes: bool


# Types of A and B.
_KINDS: dict[tuple[str, str], _Kind] = {
    ("f16", "f16"): _Kind(16, 16, ("f16", "f32"), True, True),
    ("bf16", "bf16"): _Kind(16, 16, ("f32",), True, True),
    ("tf32", "tf32"): _Kind(8, 32, ("f32",), True, False),
    **{(a, b): _Kind(32, 8, ("f16", "f32"), True, False) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")},
    **{(a, b): _Kind(32, 8, ("s32",), False, False) for a in ("s8", "u8") for b in ("s8", "u8")},
    ("b1", "b1"): _Kind(256, 1, ("s32",), False, False),
}


@instruction("wgmma")
def _wgmma(decoder: Decoder) -> Step:
    operation = decoder.need(*_DECODERS)
    decoder.need("sync")
    decoder.need("aligned")
    return _DECODERS[operation](decoder)


def _fence(decoder: Decoder) -> Step:
    """Decodes wgmma.fence: orders earlier accesses to fragment registers before later products."""
    decoder.finish(0)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "wgmma.fence")
        group.fenced[:] = True

    return step


def _commit(decoder: Decoder) -> Step:
    decoder.finish(0)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "wgmma.commit_group")
        for warp in range(group.warp, group.warp + group.warps):
            group.cta.warpgroup_products[warp].commit()

    return step


def _wait(decoder: Decoder) -> Step:
    pending = decoder.constant(decoder.only())
    if not 0 <= pending <= _MAX_PENDING:
        raise decoder.error(f"expected a number of groups from 0 to {_MAX_PENDING}, found {pending}")

    def step(group: ThreadGroup, mask: Mask) -> None:
        cta = group.cta
        cta.require_converged(group, mask, "wgmma.wait_group")
        reads: list[tuple[int, int, int]] = []
        for index in range(group.warps):
            warp = group.warp + index
            done = cta.warpgroup_products[warp].wait(pending)
            if done.registers:
                own = group.states[:, index * WARP : (index + 1) * WARP]
                own[sorted(done.registers)] = RegisterState.DEFINED
            own = cta.first_thread + warp * WARP
            reads.append((own, done.instant, own))
            if cta.launch.checks and not cta.launch.strict:
                reads += _of_others(cta, warp)
        cta.monitor.warpgroup_reads_done(tuple(reads))

    return step


def _of_others(cta: Cta, warp: int) -> Iterator[tuple[int, int, int]]:
    """
    Yields the products of the other warps of the warpgroup that are complete for a warp that waited for its own.

    By the letter of the ISA a wait speaks for its own warp only.
    """
    count = cta.warpgroup_products[warp].completed
    first = warp // _WARPGROUP * _WARPGROUP
    for other in range(first, min(first + _WARPGROUP, len(cta.warpgroup_products))):
        instant = cta.warpgroup_products[other].instant_of(count)
        if other != warp and instant:
            yield cta.first_thread + other * WARP, instant, cta.first_thread + warp * WARP


@dataclass(frozen=True, slots=True)
class _Form:
    n: int
    kind: _Kind
    result: str
    types: tuple[str, str]
    saturate: bool
    sparse: bool

    @property
    def depth(self) -> int:
        """K of B, and of A with its zeros."""
        return self.kind.depth * (2 if self.sparse else 1)


def _form(decoder: Decoder) -> _Form:
    sparse = decoder.flag("sp")
    shape = next((each for each in decoder.modifiers if re.fullmatch(r"m64n\d+k\d+", each)), None)
    if shape is None:
        raise decoder.error("expected a shape .m64nNkK")
    decoder.modifiers.remove(shape)
    saturate = decoder.flag("satfinite")
    binary = decoder.modifiers[-2:] == ["and", "popc"]
    if binary:
        del decoder.modifiers[-2:]
    if len(decoder.modifiers) != 3:
        raise decoder.error("expected the types of D, A and B")
    result, a, b = decoder.modifiers
    decoder.modifiers.clear()
    n, depth = (int(number) for number in re.findall(r"\d+", shape)[1:])
    kind = _KINDS.get((a, b))
    if binary != (a == "b1"):
        raise decoder.error("expected .and.popc with .b1, and only with it")
    if kind is None or result not in kind.results or depth != kind.depth * (2 if sparse else 1) or (binary and sparse):
        raise decoder.error(f"wgmma .{shape}.{result}.{a}.{b} does not exist or is not simulated")
    widths, described = _INTEGER_WIDTHS if result == "s32" else _WIDTHS
    if n not in widths:
        raise decoder.error(f"expected N {described}, found {n}")
    if saturate and result != "s32":
        raise decoder.error("expected .satfinite with integers only")
    return _Form(n, kind, result, (a, b), saturate, sparse)


def _negated(decoder: Decoder, index: int) -> bool:
    value = decoder.constant(index, "1 or -1")
    if value not in (1, -1):
        raise decoder.error(f"expected 1 or -1 to multiply an operand with, found {value}")
    return value == -1


def _transposed(decoder: Decoder, index: int) -> bool:
    value = decoder.constant(index, "0 or 1")
    if value not in (0, 1):
        raise decoder.error(f"expected 0 (K-major) or 1 (MN-major), found {value}")
    return value == 1


def _mma(decoder: Decoder) -> Step:
    """
    d, a descriptor or registers, b descriptor [, metadata, selector], scale-d [, scale-a, scale-b
    [, transpose-a, transpose-b]]
    """
    form = _form(decoder)
    kind = form.kind
    of_a, of_d = _packings(form.n, kind.depth, kind.bits, 16 if form.result == "f16" else 32)
    in_registers = any(isinstance(operand, Vector) for operand in decoder.operands[1:2])
    transposes = kind.transposes * (1 if in_registers else 2)
    after = 3 + 2 * form.sparse
    decoder.finish(after + 1 + 2 * kind.negates + transposes)
    accumulators = [decoder.accumulator(item) for item in decoder.vector(0, of_d.registers)]
    scale = decoder.source(after, PRED)
    negates = kind.negates and _negated(decoder, after + 1) != _negated(decoder, after + 2)
    transpose_a = kind.transposes and not in_registers and _transposed(decoder, after + 3)
    transpose_b = kind.transposes and _transposed(decoder, after + (3 if in_registers else 4))
    supplied = [decoder.fragment(item) for item in decoder.vector(1, of_a.registers)] if in_registers else []
    read_a, mark_a = fragment_words(supplied)
    check_d, mark_d, read_words, write_words = accumulator_words(accumulators)
    metadata = read_selector(decoder, 4, form.types[0], form.depth, True) if form.sparse else None
    words_of = decoder.source(3, B32) if form.sparse else None
    rule = rule_of(decoder.symbols.arithmetic, "wgmma", decoder.symbols.target, form.types[0])
    watched = [register for register in (*accumulators, *supplied) if register.is_watched]
    states = frozenset(register.state for register in watched)
    a_source = None if in_registers else decoder.source(1, B64)
    b_source = decoder.source(2, B64)
    chains = rule is not None and metadata is None and form.result in ("f16", "f32")
    result = _Result(form, of_d, rule, tuple(each.row for each in accumulators), read_words, write_words)
    if chains:
        decoder.needed = frozenset(each.row for each in supplied)

    def left_of(group: ThreadGroup, mask: Mask) -> Array:
        if a_source is None:
            raw = of_a.unpack(read_a(group, mask))
            return _matrices(group, _bits(raw) if kind.bits == 1 else numbers(raw, form.types[0]), kind.depth)
        rows = np.arange((group.warps if group.sides is None else _WARPGROUP) * _ROWS)
        bits = uniform(a_source(group, mask), mask, "the descriptor of A")
        group.cta.launch.observed.moved("shared", "read", len(rows) * kind.depth * kind.bits // 8)
        rows += group.warp % _WARPGROUP * _ROWS
        return _operand(group, bits, rows, kind.depth, kind.bits, form.types[0], transpose_a, "wgmma A")

    def step(group: ThreadGroup, mask: Mask) -> Outcome | None:
        observed = group.cta.launch.observed
        if (split := _split(group, mask, form)) is not None:
            return split
        if watched:
            _check_fenced(group, mask, watched)
        kept: Mask | None = None
        left = left_of(group, mask)
        if metadata is not None and words_of is not None:
            codes = words_of(group, mask).reshape(-1, WARP)
            stored = left.reshape(group.warps, _ROWS, -1)
            left = metadata.expand(stored, codes).reshape(-1, form.depth)
            kept = metadata.expand(np.ones_like(stored), codes).reshape(-1, form.depth) != 0
        b_bits = uniform(b_source(group, mask), mask, "the descriptor of B")
        # B is read once for all four warps.
        observed.moved("shared", "read", form.n * form.depth * kind.bits // 8 * group.warps // _WARPGROUP)
        right = _operand(group, b_bits, np.arange(form.n), form.depth, kind.bits, form.types[1], transpose_b, "wgmma B")
        observed.multiplied(left, right)
        accumulates = bool(uniform(scale(group, mask), mask, "scale-d"))
        if accumulates:
            check_d(group, mask)
        left = -left if negates else left
        if chains and group.defers:
            result.defer(group, left, right, accumulates)
        else:
            result.add(group, left, right, accumulates, kept)
        mark_a(group, mask)
        mark_d(group, mask)
        _issued(group, states)
        return _together(group) if group.warps == 1 else None

    return step


def _split(group: ThreadGroup, mask: Mask, form: _Form) -> Outcome | None:
    """Returns how a group parts that is not one warpgroup, or warpgroups of CTAs side by side; None for one that is."""
    cta = group.cta
    cta.require_converged(group, mask, "wgmma.mma_async")
    if group.sides is not None:
        if cta.thread_count != _WARPGROUP * WARP or form.sparse:
            return Outcome.SPLIT
    elif group.warps > 1 and (group.warp % _WARPGROUP or group.warps != _WARPGROUP):
        return Outcome.SPLIT_WARPGROUPS
    whole, rest = divmod(cta.thread_count, _WARPGROUP * WARP)
    if rest and group.warp // _WARPGROUP == whole:
        raise SimError("wgmma needs warpgroups of 128 threads; the last of the block is smaller")
    return None


@dataclass(frozen=True, slots=True)
class _Result:
    """D of an instruction: the registers that hold it, and how products are added to it (None: exactly)."""

    form: _Form
    packing: Packing
    rule: Rule | None
    rows: tuple[int, ...]
    read_words: Callable[[ThreadGroup], Array]
    write_words: Callable[[ThreadGroup, Array], None]

    def add(self, group: ThreadGroup, left: Array, right: Array, accumulates: bool, kept: Mask | None) -> None:
        """Adds a product to D or, without `accumulates`, to zeros."""
        group.finish_deferred()
        form, total = self.form, (self._old if accumulates else self._zeros)(group)
        if self.rule is None:
            total = ideal(left, right, total)
        else:
            total = multiply_values(self.rule, left, right, total, form.types, form.result, kept)
        self._write(group, total)

    def defer(self, group: ThreadGroup, left: Array, right: Array, accumulates: bool) -> None:
        """Lets a product wait until somebody needs D."""
        assert self.rule is not None, "the type has a rule"
        form, waiting = self.form, group.deferred
        key = self.rule, form.types, form.result, form.n, self.rows
        if not (accumulates and isinstance(waiting, WarpgroupProducts) and waiting.key == key and not waiting.is_full):
            group.finish_deferred()
            chain = Chain(self.rule, form.types, form.result)
            read = self._old if accumulates else self._zeros
            group.deferred = waiting = WarpgroupProducts(key, frozenset(self.rows), chain, read, self._write)
        waiting.chain.add(left, right)

    def _old(self, group: ThreadGroup) -> Array:
        return _matrices(group, numbers(self.packing.unpack(self.read_words(group)), self.form.result), self.form.n)

    def _zeros(self, group: ThreadGroup) -> Array:
        return _matrices(group, np.zeros((group.warps * _ROWS, self.form.n), np.float32), self.form.n)

    def _write(self, group: ThreadGroup, total: Array) -> None:
        results = raw_results(total.reshape(group.warps, 1, _ROWS, self.form.n), self.form.result, self.form.saturate)
        self.write_words(group, self.packing.pack(results))


@lru_cache(maxsize=64)
def _packings(n: int, depth: int, bits: int, result_bits: int) -> tuple[Packing, Packing]:
    """Returns the packings of A (single bits: bytes of them) and D in the registers of a warp."""
    own, width = (bits, depth) if bits > 1 else (8, depth // 8)
    of_a = matrix_fragment("a", _ROWS, width, own).packing(own, _ROWS, width)
    return of_a, wide_accumulator(n).packing(result_bits, _ROWS, n)


def _matrices(group: ThreadGroup, values: Array, columns: int) -> Array:
    """The rows of a warpgroup: (rows, columns), or (CTAs, rows, columns) of several CTAs side by side."""
    return values.reshape(-1, columns) if group.sides is None else values.reshape(len(group.sides.parts), -1, columns)


def _operand(
    group: ThreadGroup, bits: int, rows: Array, depth: int, width: int, element: str, transposed: bool, what: str
) -> Array:
    """Rows of an operand in shared memory of `depth` elements of `width` bits, as float32 (see `_matrices`)."""
    cta, sides = group.cta, group.sides
    size, element_bytes = (depth, width // 8) if transposed else (depth * width // 8, 0)
    places = _places(bits, int(rows[0]), len(rows), size, element_bytes, what)
    cta.check_region(places.region, what)
    if cta.launch.checks or cta.monitor.records:
        for part in [group] if sides is None else sides.parts:
            threads = part.cta.first_thread + np.arange(part.first, part.last, WARP)
            part.cta.monitor.warpgroup_read(part.cta.rank, places.region, threads, what)
    if cta.launch.checks:
        check_operand(cta, places.descriptor, places.addresses, places.region.places, None, max(width // 8, 1))
    if sides is None:
        raw = places.gather.read(cta.shared).reshape(len(rows), -1)
    else:
        count = len(group.mask) // len(sides.parts)
        raw = places.gather.read_each(sides.shared, sides.bases[::count]).reshape(len(sides.parts), len(rows), -1)
    if element == "b1":
        return _bits(raw)
    return decode_elements(raw, element)


def _bits(raw: Array) -> Array:
    """The bits of bytes, the lowest first."""
    return np.unpackbits(raw, axis=-1, bitorder="little").astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Addresses of the bytes of an operand, the region that they make, and what reads the bytes."""

    descriptor: SharedDescriptor
    addresses: Array
    region: Region
    gather: Gather


@lru_cache(maxsize=1024)
def _places(bits: int, first: int, rows: int, size: int, element: int, what: str) -> _Places:
    """
    Returns the addresses of `rows` rows of an operand, starting at row `first`.

    `element` is the bytes of an element of an MN-major operand of `size` elements along K, 0 for a K-major one of
    `size` bytes.
    """
    descriptor, index = SharedDescriptor.of_wgmma(bits, what), first + np.arange(rows)
    addresses = descriptor.mn_major(index, size, element) if element else descriptor.k_major(index, size)
    return _Places(descriptor, addresses, Region.of(np.unique(addresses)), Gather(addresses))


def _check_fenced(group: ThreadGroup, mask: Mask, fragments: list[Register]) -> None:
    """Raises SimError if the thread has accessed one of the registers since the last wgmma.fence."""
    rows = [register.state for register in fragments]
    fenced = group.fenced[rows][:, mask].all(axis=1)
    if not fenced.all():
        name = fragments[int(np.argmin(fenced))].name
        raise SimError(
            f"register {name} is accessed by wgmma.mma_async, but no wgmma.fence follows what the thread did with it "
            "before (or there was none)"
        )


def _together(group: ThreadGroup) -> Outcome:
    """Holds a warp of a warpgroup that runs for itself until the others have issued the product, too."""
    cta = group.cta
    first = group.warp // _WARPGROUP * _WARPGROUP
    others = [cta.warpgroup_products[warp] for warp in range(first, first + _WARPGROUP)]
    count = cta.warpgroup_products[group.warp].issues
    group.wait = Wait(
        lambda: all(each.issues >= count for each in others),
        lambda: "at wgmma.mma_async, for the other warps of the warpgroup",
    )
    cta.launch.made_progress()
    return Outcome.WAIT


def _issued(group: ThreadGroup, registers: frozenset[int]) -> None:
    for part in [group] if group.sides is None else group.sides.parts:
        instant = part.cta.monitor.mark()
        for warp in range(part.warp, part.warp + part.warps):
            part.cta.warpgroup_products[warp].issued(registers, instant)


_DECODERS: dict[str, Callable[[Decoder], Step]] = {
    "fence": _fence,
    "commit_group": _commit,
    "wait_group": _wait,
    "mma_async": _mma,
}
