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
    "s": (r"\d|1[0-5]", "5"),
    "n": (r"24|[3-9][26048]|1\d[26048]|2[0-5][26048]", "96"),
    "m": (r"[0-4]", "4"),
    "phase": (r"[01]", "1"),
    "z": (r"[0-3]", "0"),
    "_": ("_", "_"),
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
_MOVED = "[rd+rd+{r*d}]"
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
_WIDER = "f32x2 f16x2|bf16x2 f32x2"
_NARROWER = ("rz ftz f16x2 f32x2 f32x2 -> r rd rd", "rz bf16x2 f32x2 f32x2 -> r rd rd")
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
    *_forms("tcgen05.alloc", f"exclusive? {_SINGLE} {_LD} shared::cta? b32 -> [r] r/i;[rd] r/i"),
    *_forms("tcgen05.dealloc", f"exclusive? {_SINGLE} {_LD} b32 -> r r/i"),
    *_forms("tcgen05.relinquish_alloc_permit", f"{_SINGLE} {_LD}"),
    *_forms(
        "tcgen05.commit",
        f"{_COMMIT} b64 -> [r];[rd]",
        *_of_masks(f"{_COMMIT} {{names}} b64 -> [r] {{mask}};[rd] {{mask}}"),
    ),
    *_forms(
        "tcgen05.cp",
        f"{_SINGLE} 128x256b|4x256b|128x128b -> [r] rd",
        f"{_SINGLE} 64x128b warpx2::02_13|warpx2::01_23 -> [r] rd",
        f"{_SINGLE} 32x128b warpx4 -> [r] rd",
    ),
    *_forms("tcgen05.fence::before_thread_sync", ""),
    *_forms("tcgen05.fence::after_thread_sync", ""),
    *_forms("tcgen05.shift", f"{_SINGLE} down -> [r]"),
    *_forms(
        "tcgen05.ld",
        f"{_LD} 32x32b x1|x2|x4|x8|x16|x32|x64|x128 pack::16b? b32 -> {{r*x}} [r]",
        f"{_LD} 16x32bx2 x1|x2|x4|x8|x16|x32|x64|x128 pack::16b? b32 -> {{r*x}} [r] i",
        f"red {_LD} 32x32b {_RED} abs? NaN? f32 -> {{r*x}} r [r]",
        f"red {_LD} 32x32b {_RED} u32|s32 -> {{r*x}} r [r]",
        f"spcompress {_LD} {_SP} -> {{r*x/32}} {{r*x/2}} [r]",
        f"red spcompress {_LD} {_SP} NaN? -> {{r*x/32}} {{r*x/2}} r [r]",
    ),
    *_forms(
        "cvt",
        f"rn|rz satfinite relu? pzo? {_F8} f32 -> h f f",
        "rn|rz satfinite relu? pzo? e2m1x2 f32 -> b f f",
        f"rn satfinite relu? scaled::n1::ue8m0 {_F8} f32 -> h f f b",
        "rn satfinite relu? scaled::n1::ue8m0 e2m1x2 f32 -> b f f b",
        f"rn|rz satfinite relu? pzo? {_F8} f16x2|bf16x2 -> h r",
        "rn|rz satfinite relu? pzo? e2m1x2 f16x2|bf16x2 -> b r",
        "rn|rz|rp satfinite? ue5m3x2 f32 -> h f f",
        "rn satfinite? ue5m3x2 f16x2|bf16x2 -> h r",
        f"rn relu? f16x2|bf16x2 {_F8}|ue5m3x2 -> r h",
        "rn relu? f16x2|bf16x2 e2m1x2 -> r b",
        f"rn satfinite? relu? scaled::n2::ue8m0 bf16x2 {_F8}|ue5m3x2|s2f6x2 -> r h h",
        "rn satfinite? relu? scaled::n2::ue8m0 bf16x2 e2m1x2 -> r b h",
        "rz|rp satfinite? ue8m0x2 f32 -> h f f",
        "rz|rp satfinite? ue8m0x2 bf16x2 -> h r",
        "rn bf16x2 ue8m0x2 -> r h",
        "rn satfinite relu? s2f6x2 f32 -> h f f",
        "rn satfinite relu? scaled::n2::ue8m0 s2f6x2 f32 -> h f f h",
        "rn satfinite relu? s2f6x2 bf16x2 -> h r",
        "rn|rz satfinite? relu? pzo? tf32 f32 -> r f",
        "rna satfinite? tf32 f32 -> r f",
        f"rs satfinite relu? {_F8_4} f32 -> r {{f*4}} r",
        "rs satfinite relu? e2m1x4 f32 -> h {f*4} r",
        "rs satfinite? relu? f16x2|bf16x2 f32 -> r f f r",
    ),
    *_forms(
        "cp.async.bulk",
        f"shared::cluster|shared::cta global {_ARRIVE} -> [r] [rd] r/i [r]",
        *(
            row
            for rows in zip(
                _of_masks(f"shared::cluster global {_ARRIVE} {{names}} -> [r] [rd] r/i [r] {{mask}}"),
                _of_masks(
                    f"tensor {_DIMS} shared::cluster global tile? {_ARRIVE} {{names}} -> [r] {_TILE} [r] {{mask}}"
                ),
                _of_masks(
                    f"tensor {_DIMS} shared::cluster global tile? {_ARRIVE} {{names}} override::global_address "
                    f"-> [r] {_MOVED} [r] {{mask}}"
                ),
                strict=True,
            )
            for row in rows
        ),
        f"relaxed cta|cluster|gpu|sys shared::cluster|shared::cta global {_ARRIVE} b128 -> [r] [rd] r/i [r]",
        f"tensor {_DIMS} shared::cluster|shared::cta global tile? {_ARRIVE} {_REPORT}? -> [r] {_TILE} [r]",
        f"tensor 2d shared::cluster|shared::cta global tile::gather4 {_ARRIVE} {_REPORT}? -> [r] [rd+{{r*5}}] [r]",
        f"tensor {_DIMS} shared::cluster|shared::cta global tile? {_ARRIVE} override::global_address "
        f"-> [r] {_MOVED} [r]",
        f"tensor 2d shared::cluster|shared::cta global tile? {_ARRIVE} override::global_address "
        "override::global_dim_stride -> [r] [rd+rd+{b*2}+{r*1}+h+{r*2}] [r]",
        f"tensor {_DIMS} global shared::cta tile? bulk_group {_REPORT}? -> {_TILE} [r]",
        f"tensor {_DIMS} global shared::cta tile? bulk_group override::global_address -> {_MOVED} [r]",
    ),
    *_forms(
        "cp.reduce.async.bulk",
        f"tensor {_DIMS} global shared::cta {_REDUCTIONS} tile? bulk_group -> {_TILE} [r]",
        f"tensor {_DIMS} global shared::cta {_REDUCTIONS} tile? bulk_group override::global_address -> {_MOVED} [r]",
    ),
    *_forms(
        "cp.async.bulk.prefetch",
        f"tensor {_DIMS} L2 global tile? L2::evict_last? -> {_TILE}",
        f"tensor {_DIMS} L2 global tile? override::global_address -> {_MOVED}",
    ),
    *_forms(
        "applypriority.async.bulk",
        "global bulk_group L2::evict_normal -> [rd] r/i",
        f"tensor {_DIMS} global bulk_group tile? L2::evict_normal -> {_TILE}",
    ),
    *_forms("mbarrier.init", "layout::v0|layout::v1? shared::cta|shared? b64 -> [r] r/i;[rd] r/i"),
    *_forms("mbarrier.check_layout", "layout::v0|layout::v1 shared::cta|shared? b64 -> p [r];p [rd]"),
    *_forms("mbarrier.pending_count", "layout::v0|layout::v1? b64 -> r rd"),
    *(
        form
        for rows in (
            ("arrive arrive_drop", f"release|relaxed {_MULTICAST} -> _ [r] r;_ [r] r r"),
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
        *(
            f"parity phase_type::{phase} acquire|relaxed? {_SCOPE} shared::cta|shared? b64 "
            f"-> {result} [r] r/phase;{result} [rd] r/phase"
            for phase, result in (("primary", "p/pp"), ("conditional", "p"))
        ),
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
    Form("set", "eq|ne|lt|le|gt|ge u8x4|s8x4|u16x2|s16x2", "r r r"),
    *(form for name in ("add", "sub") for form in _forms(name, f"rn|rz|rm|rp? {_WIDER} -> rd r rd", *_NARROWER)),
    *_forms("mul", *_NARROWER, "bf16x2 bf16x2 f16x2 -> r r r", "f16x2 f16x2 bf16x2 -> r r r"),
    Form("fma", f"rn|rz|rm|rp {_WIDER} f32x2", "rd r rd rd"),
    Form("clmad", "lo|hi u64", "rd rd rd rd"),
    Form("redux", "sync min|max abs? NaN? f32", "f f r/i"),
    Form("fence", "proxy alias", ""),
    Form("fence", "proxy alias acquire|release sys", ""),
    Form("griddepcontrol", "wait|launch_dependents", ""),
    Form("setmaxnreg", "inc|dec sync aligned u32", "n"),
    Form("mov", "u32|b32|s32", "r domain/r/i"),
    *_forms("st", "mmio release sys global? u32|s32 -> [rd] r", "mmio release sys global? b32|f32 -> [rd] f"),
    *_forms("ld", "mmio acquire sys global? u32|s32 -> r [rd]", "mmio acquire sys global? b32|f32 -> f [rd]"),
    Form("tensormap.replace", "tile swizzle_mode global|shared::cta b1024 b32", "[rd] m"),
    Form("trace.mark", "", "i"),
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
