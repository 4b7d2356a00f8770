"""Closed forms of PTX instructions: the modifiers and operands that each may have, as rows.

`ptxas` takes most modifiers in any order, so a row says which there are, not where. Relations between them that are no
choice of one out of several are rows of `instruction_features.REFUSED`. Source: the syntax of each instruction
in the PTX ISA 9.4, and `ptxas` 13.5 where it takes more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product, takewhile

from tirx.values import dataclass

_OPERANDS = {
    "r": (r"%r\d+", "%r1"),
    "rd": (r"%rd\d+", "%rd1"),
    "h": (r"%rs\d+", "%rs1"),
    "b": (r"%b\d+", "%b1"),
    "f": (r"%f\d+", "%f1"),
    "p": (r"%p\d+", "%p1"),
    "pp": (r"%p\d+\|%p\d+", "%p1|%p2"),
    "i": (r"\d+", "64"),
    "columns": ("|".join(map(str, range(32, 4097, 32))), "96"),
    "s": (r"\d|1[0-5]", "5"),
    "n": (r"24|[3-9][26048]|1\d[26048]|2[0-5][26048]", "96"),
    "m": (r"[0-4]", "4"),
    "phase": (r"[01]", "1"),
    "z": (r"[0-3]", "0"),
    "_": ("_", "_"),
    "q": (r"%q\d+", "%q1"),
    "mark": (r"\d{1,4}", "64"),
    "w": (r"0[xX][fF]{8}|%r\d+", "0xffffffff"),
    "domain": (r"%locality_domain_(?:id|supplemental_sm)", "%locality_domain_id"),
}
"""Kinds of operands, registers by their width or type: the regular expression of each, and one of them."""

_COUNTS = re.compile(r"x(\d+)|(\d)d|cta_group::(\d)")
_ORDERED = re.compile(r"(?:ue|e|s)\d[mf]\d\w*|b?f\d+(?:x2)?|tf32|[bus]\d+\w*|row|col|global|shared::\w+")
"""Modifiers of which the order matters: types, state spaces and major-ness."""
_LEADING = re.compile(r"ws|sp|tensor|red|spcompress|parity|proxy|lo|hi|inc|dec|\dd")
"""Modifiers that precede all others, in this order."""


def _count(text: str, counts: dict[str, int]) -> int:
    """The registers of a vector: a number, or what a modifier says (`x`, `d`, `g`) times or through one, rounded up."""
    found = re.fullmatch(r"(\d*)([xdg]?)(?:/(\d+))?", text)
    assert found is not None, text
    return -(-int(found[1] or 1) * counts.get(found[2], 1) // int(found[3] or 1))


def _operand(token: str, counts: dict[str, int], sample: bool) -> str:
    """The regular expression of an operand, or one of them: `[a+b]` an address, `{a*4}` a vector."""
    if token.startswith("["):
        inside = (", " if sample else r",\s*").join(_operand(each, counts, sample) for each in token[1:-1].split("+"))
        return f"[{inside}]" if sample else rf"\[{inside}\]"
    if token.startswith("{"):
        name, _, count = token[1:-1].partition("*")
        each, number = _operand(name, counts, sample), _count(count, counts)
        if sample:
            return "{" + ", ".join(re.sub(r"(?<=[a-z])\d+$", str(index), each) for index in range(number)) + "}"
        return rf"\{{{each}(?:,\s*{each}){{{number - 1}}}\}}"
    return _OPERANDS[token][sample]


@dataclass(frozen=True)
class Form:
    """Forms of one instruction: a name, groups of modifiers and operands.

    `modifiers`: groups apart by spaces, in the order of the PTX ISA; of a group, alternatives by `|`, one is there, or
    none if it ends in `?`. `operands`: lists apart by `;`, each of kinds of operands, `a/b` for one of two. Vectors
    have as many registers as the modifiers `.xN`, `.Nd` and `.cta_group::N` say (`x`, `d`, `g`).
    """

    name: str
    modifiers: str
    operands: str

    @cached_property
    def groups(self) -> tuple[tuple[tuple[str, ...], bool], ...]:
        """Alternatives of each group, and whether one of them has to be there."""
        return tuple((tuple(group.rstrip("?").split("|")), not group.endswith("?")) for group in self.modifiers.split())

    def canonical(self, modifiers: Sequence[str], operands: str) -> str | None:
        """The instruction with its modifiers in order, None for one that has none of the forms."""
        left, chosen = list(modifiers), list[str]()
        for alternatives, is_required in self.groups:
            found = next((each for each in left if each in alternatives), None)
            if found is not None:
                left.remove(found)
                chosen.append(found)
            elif is_required:
                return None
        ordered = [[each for each in names if _ORDERED.fullmatch(each)] for names in (chosen, modifiers)]
        leading = list(takewhile(_LEADING.fullmatch, chosen))
        if (
            left
            or ordered[0] != ordered[1]
            or leading != list(modifiers[: len(leading)])
            or not any(re.fullmatch(each, operands) for each in self._lists(chosen, False))
        ):
            return None
        return ".".join((self.name, *chosen)) + f" {operands}".rstrip()

    def closed(self) -> Iterator[str]:
        """Yields every instruction of the row, with modifiers in the order of the groups and each kind of operand."""
        for each in product(*(names if required else ("", *names) for names, required in self.groups)):
            chosen = [name for name in each if name]
            for operands in self._lists(chosen, True):
                yield ".".join((self.name, *chosen)) + f" {operands}".rstrip()

    def _lists(self, chosen: Sequence[str], sample: bool) -> Iterator[str]:
        """The operands for these modifiers: regular expressions, or samples."""
        counts: dict[str, int] = {}
        for name in chosen:
            if (found := _COUNTS.fullmatch(name)) is not None:
                counts |= {key: int(value) for key, value in zip("xdg", found.groups(), strict=True) if value}
        for text in self.operands.split(";"):
            kinds = [[token] if token[0] in "[{" else token.split("/") for token in text.split()]
            if sample:
                for at in range(max(map(len, kinds), default=1)):
                    yield ", ".join(_operand(each[min(at, len(each) - 1)], counts, True) for each in kinds)
            else:
                each = (f"(?:{'|'.join(_operand(one, counts, False) for one in kind)})" for kind in kinds)
                yield r",\s*".join(each)


_F8 = "e4m3x2|e5m2x2|e2m3x2|e3m2x2"
_F8_4 = "e4m3x4|e5m2x4|e2m3x4|e3m2x4"
_SINGLE = "cta_group::1|cta_group::2"
_COLLECTORS = "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard?"
_COLLECTORS_B = "collector::b::fill|collector::b::use|collector::b::lastuse|collector::b::discard?"
_OF_WS = "|".join(f"collector::b{i}::{use}" for i in range(4) for use in ("fill", "use", "lastuse", "discard"))
_PLAIN_KINDS = "kind::f16|kind::tf32|kind::f8f6f4|kind::i8|kind::ti16"
_MX = "kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4"
_BLOCKS = "block16|block32|scale_vec::1X|scale_vec::2X|scale_vec::4X?"
_A = "rd/[r]"
_MASK = "{r*4g}"
_MASKS = (("multicast::cluster|multicast::cluster::16b", "h"), ("multicast::cluster::32b", "r"))
"""Modifiers of a multicast, and the operand of the mask that goes with them."""
_ARRIVE = "mbarrier::complete_tx::bytes"
_DIMS = "1d|2d|3d|4d|5d"
_TILE = "[rd+{r*d}]"
_FIVE = "[rd+{r*5}]"
_LOADED = (
    (_DIMS, "tile?", "{r*d}", ""),
    ("2d", "tile::gather4", "{r*5}", ""),
    *((f"{d}d", "im2col", "{r*d}", f"{{h*{d - 2}}}") for d in (3, 4, 5)),
    ("3d|4d|5d", "im2col::w|im2col::w::128", "{r*d}", "{h*2}"),
)
"""Dimensions, modes, coordinates and offsets of what bulk copies of tensors load and prefetch."""
_OVERRIDES = (("", ""), ("override::global_address", "rd+"))
"""A modifier, and what it puts behind the tensor map."""
_HINTS = (("", ""), ("L2::cache_hint", "rd"))
"""A modifier, and what it puts behind all other operands."""
_REPORT = (
    "mbarrier::report::disabled|mbarrier::report::validity::per_element::ff|mbarrier::report::validity::per_16bytes::8000|"
    "mbarrier::report::validity::per_16bytes::80000000"
)
_LD = "sync aligned"
_BOTH = f"ashift? {_COLLECTORS} {_COLLECTORS_B}"
_PLAIN, _PLAIN_MASKED = f"[r] {_A} rd r p", f"[r] {_A} rd r {_MASK} p"
_TABLED, _TABLED_MASKED = f"[r] {_A} rd [r] r p", f"[r] {_A} rd [r] r {_MASK} p"
_COMMIT = f"{_SINGLE} mbarrier::arrive::one sync_restrict::shared::read::mma::a? shared::cluster?"
_REDUCTIONS = "add|min|max|inc|dec|and|or|xor"
_SCOPE = "cta|cluster?"
_MULTICAST = "cluster shared::cluster multicast::cluster::32b b64"
_PRODUCT = "{f*4} {r*4} {r*2} {f*4}"
_SCALED = f"{_LD} m16n8k{{k}} row col kind::{{kind}} block_scale scale_vec::{{scale}}"
_SCALED_PRODUCT = f"{_PRODUCT} r {{h*2}} r {{h*2}};{_PRODUCT} r {{z*2}} r {{z*2}}"
_PARITY_WAIT = "p [r] r/phase;p [rd] r/phase"
_TIMED_WAIT = "p [r] r/phase r;p [rd] r/phase r"
_WIDER = "f32x2 f16x2|bf16x2 f32x2"
_NARROWER = ("rz ftz f16x2 f32x2 f32x2 -> r rd rd", "rz bf16x2 f32x2 f32x2 -> r rd rd")
_NUMBERS = "x1|x2|x4|x8|x16|x32|x64|x128"
_SHAPES = (
    *((shape, _NUMBERS, "", "") for shape in ("32x32b", "16x64b")),
    ("16x32bx2", _NUMBERS, "i", ""),
    ("16x128b", _NUMBERS.removesuffix("|x128"), "", "2"),
    ("16x256b", _NUMBERS.removesuffix("|x64|x128"), "", "4"),
)
"""Shapes of loads and stores of tensor memory: repetitions, the operand of the second half, registers of each."""
_RED = "x2|x4|x8|x16|x32|x64|x128 min|max"
_SP = "32x32b x4|x8|x16|x32|x64|x128 min|max sp::2:4 abs? f32 b2"


def _forms(name: str, *rows: str) -> Iterator[Form]:
    """Rows of one instruction, each `modifiers -> operands`."""
    for row in rows:
        modifiers, _, operands = row.partition("->")
        yield Form(name, modifiers.strip(), operands.strip())


def _of_masks(row: str) -> tuple[str, ...]:
    """A row for each kind of mask: `{names}` are the modifiers and `{mask}` is the operand."""
    return tuple(row.replace("{names}", names).replace("{mask}", mask) for names, mask in _MASKS)


def _copies() -> Iterator[Form]:
    """Rows of bulk copies and of what concerns their cache lines."""
    both, gpu = "shared::cluster|shared::cta", "cta|cluster|gpu|sys"
    for hint, policy in _HINTS:
        yield from _forms(
            "cp.async.bulk",
            f"{both} global {_ARRIVE} {hint} -> [r] [rd] r/i [r] {policy}",
            *_of_masks(f"shared::cluster global {_ARRIVE} {{names}} {hint} -> [r] [rd] r/i [r] {{mask}} {policy}"),
            f"shared::cta global {_ARRIVE} ignore_oob {hint} -> [r] [rd] r r r [r] {policy}",
            f"relaxed {gpu} {both} global {_ARRIVE} {hint} b128 -> [r] [rd] r/i [r] {policy}",
            f"global shared::cta bulk_group {hint} -> [rd] [r] r/i {policy}",
            f"global shared::cta bulk_group {hint} cp_mask -> [rd] [r] r/i {policy} h",
            f"relaxed {gpu} global shared::cta bulk_group {hint} b128 -> [rd] [r] r/i {policy}",
        )
        for (moved, by), (dims, mode, at, offsets) in product(_OVERRIDES, _LOADED):
            what, where = f"global {mode} {_ARRIVE}", f"[r] [rd+{by}{at}] [r] {offsets}"
            for group in (_REPORT, f"{_SINGLE}?"):
                yield from _forms(
                    "cp.async.bulk",
                    f"tensor {dims} {both} {what} {group} {hint} {moved} -> {where} {policy}",
                    *_of_masks(
                        f"tensor {dims} shared::cluster {what} {{names}} {group} {hint} {moved} "
                        f"-> {where} {{mask}} {policy}"
                    ),
                )
            yield from _forms(
                "cp.async.bulk.prefetch",
                f"tensor {dims} L2 global {mode} {hint} {moved} -> [rd+{by}{at}] {offsets} {policy}",
                *(
                    ()
                    if hint
                    else (f"tensor {dims} L2 global {mode} L2::evict_last {moved} -> [rd+{by}{at}] {offsets}",)
                ),
            )
        for (moved, by), (dims, mode, at) in product(
            _OVERRIDES,
            (
                (_DIMS, "tile?", "{r*d}"),
                ("2d", "tile::scatter4", "{r*5}"),
                ("3d|4d|5d", "im2col_no_offs|im2col_no_offs::w", "{r*d}"),
            ),
        ):
            where = f"[rd+{by}{at}] [r] {policy}"
            yield from _forms(
                "cp.async.bulk",
                f"tensor {dims} global shared::cta {mode} bulk_group {_REPORT}? {hint} {moved} -> {where}",
            )
            if mode != "tile::scatter4":
                yield from _forms(
                    "cp.reduce.async.bulk",
                    f"tensor {dims} global shared::cta {_REDUCTIONS} {mode} bulk_group {hint} {moved} -> {where}",
                )
        for lines in (() if hint else ("L2::evict_last",), (hint,)):
            for line in lines:
                yield from _forms("cp.async.bulk.prefetch", f"L2 global {line} -> [rd] r/i {policy}")
    strides = "override::global_address override::global_dim_stride"
    for d in (2, 3, 4, 5):
        where = f"[rd+rd+{{b*{d}}}+{{r*{d - 1}}}+h+{{r*{d}}}]"
        yield from _forms(
            "cp.async.bulk",
            f"tensor {d}d {both} global tile? {_ARRIVE} {strides} -> [r] {where} [r]",
            f"tensor {d}d global shared::cta tile? bulk_group {strides} -> {where} [r]",
        )
    yield from _forms("cp.async.bulk", f"shared::cluster shared::cta {_ARRIVE} -> [r] [r] r/i [r]", "commit_group ->")
    yield from _forms("cp.async.bulk.wait_group", "read? -> i", "sync_restrict::proxy::async -> i")
    for moved, by in _OVERRIDES:
        yield from _forms(
            "applypriority.async.bulk",
            f"tensor {_DIMS} global bulk_group tile? L2::evict_normal {moved} -> [rd+{by}{{r*d}}]",
        )
    yield from _forms("applypriority.async.bulk", "global bulk_group L2::evict_normal -> [rd] r/i")
    sums = "add|min|max u32|u64", "add|min|max s32", "inc|dec u32", "and|or|xor b32|b64", "add noftz f16|bf16|f32"
    for which in (*sums, "add f32|f64", "min|max f16|bf16"):
        yield from _forms(
            "cp.reduce.async.bulk",
            f"global shared::cta bulk_group {which} -> [rd] [r] r/i",
            f"relaxed {gpu} global shared::cta bulk_group {which} -> [rd] [r] r/i",
        )
        yield from _forms("multimem.cp.reduce.async.bulk", f"global shared::cta bulk_group {which} -> [rd] [r] r/i")
    yield from _forms(
        "multimem.cp.async.bulk",
        "global shared::cta bulk_group -> [rd] [r] r/i",
        "global shared::cta bulk_group cp_mask -> [rd] [r] r/i h",
    )


_NOFTZ = (("red", "[rd] f"), ("atom", "f [rd] f"))


_OF_SEVERAL = (
    *(
        ("add", "", types, each)
        for types, each in (("u32|s32", "r"), ("u64", "rd"), ("f32", "f"), ("f16x2|bf16x2", "r"))
    ),
    *(("add", f"v{n}", "f32", f"{{f*{n}}}") for n in (2, 4)),
    *(("add|min|max", f"v{n}", "f16x2|bf16x2", f"{{r*{n}}}") for n in (2, 4)),
    *(("add|min|max", f"v{n}", "f16|bf16", f"{{h*{n}}}") for n in (2, 4, 8)),
    *(("min|max", "", types, each) for types, each in (("u32|s32", "r"), ("u64|s64", "rd"))),
    *(("and|or|xor", "", types, each) for types, each in (("b32", "r"), ("b64", "rd"))),
)
"""Operations on what several GPUs have: widths, types and operands."""


def _multiple() -> Iterator[Form]:
    """Rows of instructions on multimem addresses, each of which stands for an address of several GPUs."""
    for order in ("", "weak", "{} cta|cluster|gpu|sys"):
        load, store = (order.format(f"relaxed|{each}") for each in ("acquire", "release"))
        for operation, width, types, value in (*_OF_SEVERAL, ("min|max", "", "f16x2|bf16x2", "r")):
            yield Form("multimem.ld_reduce", f"{load} global? {operation} {width} {types}", f"{value} [rd]")
            if operation == "add" and types[0] == "f" and types != "f32":
                form = f"{load} global? add acc::f32 {width} {types}"
                yield Form("multimem.ld_reduce", form, f"{value} [rd]")
        for operation, width, types, value in _OF_SEVERAL:
            if order != "weak":
                yield Form("multimem.red", f"{store} global? {operation} {width} {types}", f"[rd] {value}")
            yield Form("multimem.st", f"{store} global? {width} {types}", f"[rd] {value}")
    for which, each in (("add u32|s32", "r"), ("add u64", "rd")):
        yield Form("multimem.red.async", f"release gpu|sys global? {which}", f"[rd] {each}")


def _fabric() -> Iterator[Form]:
    """Rows of copies to and from logical endpoints of a fabric of GPUs."""
    reports, end = "mbarrier::report::fabric", "relaxed sys"
    put = f"async multimem? shared::cta mbarrier::complete_tx::16B {reports}"
    yield from _forms("fabric.submit", "op_restrict::fetching? ->", "commit_group ->")
    yield from _forms("fabric.wait", "sync_restrict::reads ->", "sync_restrict::read -> i")
    yield Form(
        "fabric.try_get", f"async shared::cta mbarrier::complete_tx::bytes {reports} {end} b128", "[r] [r+rd] r/i [r]"
    )
    yield Form("fabric.try_put", f"{put} cp_mask {end} b128", "[r+rd] [r] r/i [r] h")
    for counted, where in (("", "[r+rd]"), ("counted::bytes", "[r+rd+rd]")):
        yield Form("fabric.try_put", f"{put} {counted} {end} b128", f"{where} [r] r/i [r]")
        for which in ("add|min|max u32|u64", "min|max s32", "and|or|xor b32", "add f32"):
            yield Form("fabric.try_red", f"{put} {counted} {end} {which}", f"{where} [r] r/i [r]")


FORMS: tuple[Form, ...] = (
    *_forms(
        "tcgen05.mma",
        f"{_SINGLE} {_PLAIN_KINDS} {_BOTH} -> {_PLAIN};{_PLAIN_MASKED};{_PLAIN} s;{_PLAIN_MASKED} s",
        f"sp {_SINGLE} {_PLAIN_KINDS} {_BOTH} -> {_TABLED};{_TABLED_MASKED};{_TABLED} s;{_TABLED_MASKED} s",
        f"{_SINGLE} kind::f8f6f4 decompress::lut::b {_COLLECTORS} {_COLLECTORS_B} -> {_TABLED};{_TABLED_MASKED}",
        f"{_SINGLE} {_MX} block_scale {_BLOCKS} {_COLLECTORS} {_COLLECTORS_B} -> [r] {_A} rd r [r] [r] p",
        f"sp {_SINGLE} {_MX} block_scale {_BLOCKS} {_COLLECTORS} {_COLLECTORS_B} -> [r] {_A} rd [r] r [r] [r] p",
        f"{_SINGLE} kind::mxf8f6f4 block_scale decompress::lut::b {_BLOCKS} {_COLLECTORS} {_COLLECTORS_B} "
        f"-> [r] {_A} rd [r] r [r] [r] p",
        f"ws cta_group::1 {_PLAIN_KINDS} {_OF_WS}? -> {_PLAIN};{_PLAIN} rd",
        f"ws sp cta_group::1 {_PLAIN_KINDS} {_OF_WS}? -> {_TABLED};{_TABLED} rd",
    ),
    *_forms("tcgen05.alloc", f"exclusive? {_SINGLE} {_LD} shared::cta? b32 -> [r] r/columns;[rd] r/columns"),
    *_forms("tcgen05.dealloc", f"exclusive? {_SINGLE} {_LD} b32 -> r r/columns"),
    *_forms("tcgen05.relinquish_alloc_permit", f"{_SINGLE} {_LD}"),
    *_forms(
        "tcgen05.commit",
        f"{_COMMIT} b64 -> [r];[rd]",
        *_of_masks(f"{_COMMIT} {{names}} b64 -> [r] {{mask}};[rd] {{mask}}"),
    ),
    *(
        form
        for formats in ("", "b8x16 b4x16_p64|b6x16_p32")
        for form in _forms(
            "tcgen05.cp",
            f"{_SINGLE} 128x256b|4x256b|128x128b {formats} -> [r] rd",
            f"{_SINGLE} 64x128b warpx2::02_13|warpx2::01_23 {formats} -> [r] rd",
            f"{_SINGLE} 32x128b warpx4 {formats} -> [r] rd",
        )
    ),
    *(Form(f"tcgen05.wait::{what}", _LD, "") for what in ("ld", "st")),
    *(
        Form("tcgen05.st", f"{_LD} {shape} {numbers} unpack::16b? b32", f"[r] {split} {{r*{each}x}}")
        for shape, numbers, split, each in _SHAPES
    ),
    *_forms("tcgen05.fence::before_thread_sync", ""),
    *_forms("tcgen05.fence::after_thread_sync", ""),
    *_forms("tcgen05.shift", f"{_SINGLE} down -> [r]"),
    *_forms(
        "tcgen05.ld",
        *(
            f"{_LD} {shape} {numbers} pack::16b? b32 -> {{r*{each}x}} [r] {split}"
            for shape, numbers, split, each in _SHAPES
        ),
        *(
            f"red {_LD} {shape} {_RED} {types} -> {{r*x}} r [r] {split}"
            for shape, split in (("32x32b", ""), ("16x32bx2", "i"))
            for types in ("abs? NaN? f32", "u32|s32")
        ),
        f"spcompress {_LD} {_SP} -> {{r*x/32}} {{r*x/2}} [r]",
        f"red spcompress {_LD} {_SP} NaN? -> {{r*x/32}} {{r*x/2}} r [r]",
    ),
    *_forms(
        "cvt",
        f"rn|rz satfinite relu? pzo? {_F8} f32 -> h f f",
        "rn|rz satfinite relu? pzo? e2m1x2 f32 -> b f f",
        f"rn satfinite relu? pzo? scaled::n1::ue8m0 {_F8} f32 -> h f f b",
        "rn satfinite relu? pzo? scaled::n1::ue8m0 e2m1x2 f32 -> b f f b",
        f"rn satfinite relu? pzo? scaled::n1::ue8m0 {_F8} f16x2|bf16x2 -> h r b",
        "rn satfinite relu? pzo? scaled::n1::ue8m0 e2m1x2 f16x2|bf16x2 -> b r b",
        "rn satfinite? scaled::n1::ue8m0 ue5m3x2 f32 -> h f f b",
        "rn satfinite? scaled::n1::ue8m0 ue5m3x2 f16x2|bf16x2 -> h r b",
        "rn|rz satfinite? relu? pzo? f16x2|bf16x2 f32 -> r f f",
        "rn|rz satfinite? relu? pzo? f16|bf16 f32 -> h f",
        f"rn|rz satfinite relu? pzo? {_F8} f16x2|bf16x2 -> h r",
        "rn|rz satfinite relu? pzo? e2m1x2 f16x2|bf16x2 -> b r",
        "rn|rz|rp satfinite? ue5m3x2 f32 -> h f f",
        "rn|rz|rp satfinite? ue5m3x2 f16x2|bf16x2 -> h r",
        f"rn relu? f16x2|bf16x2 {_F8}|ue5m3x2 -> r h",
        "rn relu? f16x2|bf16x2 e2m1x2 -> r b",
        f"rn satfinite? relu? scaled::n2::ue8m0 bf16x2 {_F8}|ue5m3x2|s2f6x2 -> r h h",
        "rn satfinite? relu? scaled::n2::ue8m0 bf16x2 e2m1x2 -> r b h",
        "rz|rp satfinite? ue8m0x2 f32 -> h f f",
        "rz|rp satfinite? ue8m0x2 bf16x2 -> h r",
        "rn bf16x2 ue8m0x2 -> r h",
        "rn|rz satfinite relu? s2f6x2 f32 -> h f f",
        "rn satfinite relu? scaled::n2::ue8m0 s2f6x2 f32 -> h f f h",
        "rn satfinite relu? s2f6x2 bf16x2 -> h r",
        "rn satfinite relu? scaled::n2::ue8m0 s2f6x2 bf16x2 -> h r h",
        "rn satfinite? relu? bf16x2 s2f6x2 -> r h",
        "rn|rz satfinite? relu? pzo? tf32 f32 -> r f",
        "rna satfinite? tf32 f32 -> r f",
        f"rs satfinite relu? {_F8_4} f32 -> r {{f*4}} r",
        "rs satfinite relu? e2m1x4 f32 -> h {f*4} r",
        "rs satfinite? relu? f16x2|bf16x2 f32 -> r f f r",
    ),
    *_copies(),
    *_forms("mbarrier.init", "layout::v0|layout::v1? shared::cta|shared? b64 -> [r] r/i;[rd] r/i"),
    *_forms("mbarrier.check_layout", "layout::v0|layout::v1 shared::cta|shared? b64 -> p [r];p [rd]"),
    *_forms("mbarrier.pending_count", "layout::v0|layout::v1? b64 -> r rd"),
    *(
        form
        for rows in (
            ("arrive arrive_drop", f"release|relaxed {_MULTICAST} -> _ [r] r;_ [r] r r"),
            ("arrive arrive_drop", f"expect_tx release|relaxed {_MULTICAST} -> _ [r] r r"),
            (
                "arrive arrive_drop",
                f"release|relaxed? {_SCOPE} shared::cta|shared? b64 -> rd/_ [r];rd/_ [rd];rd [r] r/i",
            ),
            (
                "arrive arrive_drop",
                f"expect_tx release|relaxed? {_SCOPE} shared::cta|shared? b64 -> rd/_ [r] r/i;rd [rd] r",
            ),
            ("arrive arrive_drop", f"release|relaxed? {_SCOPE} shared::cluster b64 -> _ [r];_ [r] r/i"),
            ("arrive arrive_drop", f"expect_tx release|relaxed? {_SCOPE} shared::cluster b64 -> _ [r] r/i"),
            ("arrive arrive_drop", "noComplete release? cta? shared::cta|shared? b64 -> rd [r] r/i;rd [rd] r/i"),
            ("inval", "shared::cta|shared? b64 -> [r];[rd]"),
            ("expect_tx complete_tx", f"relaxed? {_SCOPE} shared::cta|shared::cluster|shared? b64 -> [r] r/i;[rd] r/i"),
            ("expect_tx complete_tx", f"relaxed {_MULTICAST} -> [r] r r"),
            ("test_wait try_wait", f"parity acquire|relaxed? {_SCOPE} shared::cta|shared? b64 -> {_PARITY_WAIT}"),
            ("test_wait try_wait", f"acquire|relaxed? {_SCOPE} shared::cta|shared? b64 -> p [r] rd;p [rd] rd"),
        )
        for name in rows[0].split()
        for form in _forms(f"mbarrier.{name}", rows[1])
    ),
    *_forms(
        "mbarrier.try_wait",
        f"parity acquire|relaxed? {_SCOPE} shared::cta|shared? b64 -> {_TIMED_WAIT}",
        f"acquire|relaxed? {_SCOPE} shared::cta|shared? b64 -> p [r] rd r;p [rd] rd r",
    ),
    *(
        form
        for name in ("test_wait", "try_wait")
        for form in _forms(
            f"mbarrier.{name}",
            *(
                f"parity phase_type::{phase} acquire|relaxed? {_SCOPE} shared::cta|shared? b64 "
                f"-> {result} [r] r/phase;{result} [rd] r/phase"
                for phase, result in (("primary", "p/pp"), ("conditional", "p"))
            ),
            f"phase_type::primary acquire|relaxed? {_SCOPE} shared::cta|shared? b64 -> p/pp [r] rd;p/pp [rd] rd",
        )
    ),
    *_forms(
        "mma",
        f"{_LD} m16n8k16 row col f32 bf16 bf16 f32 -> {_PRODUCT}",
        f"{_LD} m16n8k32 row col f32 e4m3|e5m2 e4m3|e5m2 f32 -> {_PRODUCT}",
        f"{_SCALED.format(k=32, kind='mxf8f6f4', scale='1X?')} f32 e4m3|e5m2 e4m3|e5m2 f32 ue8m0 -> {_SCALED_PRODUCT}",
        f"{_SCALED.format(k=64, kind='mxf4', scale='2X?')} f32 e2m1 e2m1 f32 ue8m0 -> {_SCALED_PRODUCT}",
        f"{_SCALED.format(k=64, kind='mxf4nvf4', scale='4X')} f32 e2m1 e2m1 f32 ue4m3|ue8m0 -> {_SCALED_PRODUCT}",
        f"{_SCALED.format(k=64, kind='mxf4nvf4', scale='2X')} f32 e2m1 e2m1 f32 ue8m0 -> {_SCALED_PRODUCT}",
    ),
    *_forms(
        "spcompress",
        *(
            f"b{bits} b{index} sp::2:4 x1|x2|x4|x8|x16|x32|x64 -> {{r*x/{bits // index}}} {{r*x}} {{r*2x}} r"
            for bits, index in product((8, 16), (2, 4))
        ),
    ),
    *_forms(
        "spdecompress",
        *(
            f"b{bits} b{index} sp::{kept}:{of} x1|x2|x4|x8|x16|x32|x64 "
            f"-> {{r*{of * bits}x/32}} {{r*{kept * index}x/32}} {{r*{kept * bits}x/32}}"
            for bits, index, (kept, of) in product((8, 16), (2, 4), ((1, 2), (1, 4), (2, 4), (2, 8), (4, 8)))
            if kept * bits <= 32 and (index == 4 or of <= 4)
        ),
    ),
    *(Form(name, "sat? u8x4|s8x4", "r r r") for name in ("add", "sub")),
    *(form for name in ("min", "max") for form in _forms(name, "u8x4|s8x4 -> r r r", "relu s8x4 -> r r r")),
    Form("neg", "s8x4", "r r"),
    *_forms("add", "sat u32 -> r r/i r/i", "sat u16x2|s16x2 -> r r r"),
    *_forms("set", "eq|ne|lt|le|gt|ge u8x4|s8x4|u16x2|s16x2 -> r r r", "lo|ls|hi|hs u8x4|u16x2 -> r r r"),
    *(form for name in ("add", "sub", "mul") for form in _forms(name, "rn|rz|rm|rp? ftz? f32x2 -> rd rd rd")),
    *(form for name in ("add", "sub") for form in _forms(name, "rn|rz|rm|rp? f32 f16|bf16 -> f h f")),
    Form("fma", "rn|rz|rm|rp ftz? f32x2", "rd rd rd rd"),
    Form("fma", "rn|rz|rm|rp f32 f16|bf16", "f h h f"),
    *(Form(name, "approx ftz 2pi f32", "f f") for name in ("sin", "cos")),
    *(form for name in ("add", "sub") for form in _forms(name, f"rn|rz|rm|rp? {_WIDER} -> rd r rd", *_NARROWER)),
    *_forms("mul", *_NARROWER, "bf16x2 bf16x2 f16x2 -> r r r", "f16x2 f16x2 bf16x2 -> r r r"),
    Form("fma", f"rn|rz|rm|rp {_WIDER} f32x2", "rd r rd rd"),
    Form("clmad", "lo|hi u64", "rd rd rd rd"),
    Form("redux", "sync min|max abs? NaN? f32", "f f r/i/w"),
    Form("fence", "proxy alias", ""),
    Form("fence", "proxy alias acquire|release sys", ""),
    Form("fence", "alias sync_restrict::read release sys", ""),
    Form("griddepcontrol", "wait|launch_dependents", ""),
    Form("setmaxnreg", "inc|dec sync aligned u32", "n"),
    Form("mov", "u32|b32|s32", "r domain/r/i"),
    *(
        form
        for types, each in (
            ("b8|u8|s8|b16|u16|s16", "h"),
            ("b32|u32|s32", "r"),
            ("b32|f32", "f"),
            ("b64|u64|s64", "rd"),
        )
        for form in (
            Form("st", f"mmio release|relaxed sys global? {types}", f"[rd] {each}"),
            Form("ld", f"mmio acquire|relaxed sys global? {types}", f"{each} [rd]"),
            Form("ld", f"proxy::readonly global? {types}", f"{each} [rd]"),
            *(
                Form("st.async", f"{order} global? {types.removeprefix('b8|u8|s8|')}", f"[rd] {each}")
                for order in ("release gpu|sys", "mmio release sys")
            ),
            Form("multimem.st.async", f"release gpu|sys global? {types}", f"[rd] {each}"),
        )
    ),
    *_multiple(),
    *_fabric(),
    *(Form(name, "relaxed gpu? global? add noftz f32", operands) for name, operands in _NOFTZ),
    *(Form(name, "global add noftz f32", operands) for name, operands in _NOFTZ),
    Form("prefetch", "global? L1::32B valid_addr", "[rd]"),
    *(Form("ldmatrix", f"{_LD} m8n16 x{count} shared::cta|shared? s8 s4", f"{{r*{count}}} [r]") for count in (1, 2, 4)),
    *_forms(
        "mul",
        f"rn? satfinite? e4m3x4|e5m2x4 {_F8_4} {_F8_4} -> r r r",
        f"rn? satfinite? e4m3x4|e5m2x4 {_F8_4} e2m1x4 -> r r h",
        f"rn? satfinite? e4m3x4|e5m2x4 e2m1x4 {_F8_4} -> r h r",
        "rn? satfinite? e4m3x4|e5m2x4 e2m1x4 e2m1x4 -> r h h",
    ),
    Form("tensormap.replace", "tile swizzle_mode global|shared::cta b1024 b32", "[rd] m"),
    Form("tensormap.query", "alloc_class_large global|shared::cta b1024", "p [rd]"),
    Form("trace.mark", "", "mark"),
)
"""Every instruction that `instruction_features.py` knows."""


def canonical(instruction: str) -> str | None:
    """An instruction with its modifiers in the order of the ISA; None for one that has none of `FORMS`."""
    name, _, operands = instruction.partition(" ")
    for form in FORMS:
        if name == form.name or name.startswith(f"{form.name}."):
            modifiers = re.split(r"\.(?=[a-zA-Z0-9])", name[len(form.name) + 1 :]) if name != form.name else ()
            if (found := form.canonical(modifiers, operands)) is not None:
                return found
    return None
