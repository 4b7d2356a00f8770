"""The forms of wgmma.mma_async: element types, shapes, and which modifiers each has, as a table.

Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": "Matrix Shape", "Matrix Data-types", and the syntax
and the notes of wgmma.mma_async and wgmma.mma_async.sp. Checked with `ptxas` 13.
"""

from __future__ import annotations

from math import ceil

from tirx.hw.errors import WarpgroupProductError, expect_steps
from tirx.hw.rules import Finding, Rule, all_findings, raise_first, reason
from tirx.values import dataclass

ROWS = 64
"""M of every instruction."""

WARPGROUP_WARPS = 4
"""Warps of a warpgroup. Its first warp has a number that is a multiple of this."""

WARPGROUP_THREADS = 128

MAX_N = 256
MAX_PENDING = 7
"""Largest operand of wgmma.wait_group."""

_FLOAT_N = tuple(range(8, MAX_N + 1, 8))
_INTEGER_N = (8, 16, 24, *range(32, MAX_N + 1, 16))


@dataclass(frozen=True)
class Kind:
    """One pair of element types of A and B.

    - `a`, `b`: PTX names; `bits`: of one element; `results`: types of D;
    - `k`: elements of K of a dense instruction (32 bytes), a sparse one has twice as many; `n`: legal values of N;
    - `negates`: whether imm-scale-a and imm-scale-b exist; `saturates`: whether .satfinite does;
    - `transposes`: whether imm-trans exists, for B and for an A in shared memory: only these may be MN-major;
    - `sparse`: whether wgmma.mma_async.sp exists; `suffix`: what follows the types.
    """

    a: str
    b: str
    bits: int
    results: tuple[str, ...]
    k: int
    n: tuple[int, ...] = _FLOAT_N
    negates: bool = True
    transposes: bool = False
    saturates: bool = False
    sparse: bool = True
    suffix: str = ""

    @property
    def elements_per_register(self) -> int:
        """Elements of A in one 32-bit register."""
        return 32 // self.bits

    def instruction_k(self, sparse: bool = False) -> int:
        """Elements of K that one instruction multiplies, those of A that are not stored included."""
        return self.k * 2 if sparse else self.k

    def features(self, sparse: bool = False) -> tuple[str, ...]:
        """Rows of `tirx.hw.features` that an instruction with these types needs."""
        mixed = self.saturates and self.a != self.b
        return (
            "wgmma",
            *(("wgmma.sparse",) if sparse else ()),
            *(("wgmma.mixed_integers",) if mixed else ()),
        )


_FP8 = ("e4m3", "e5m2")
_I8 = ("s8", "u8")

_KINDS = (
    Kind("f16", "f16", 16, ("f16", "f32"), 16, transposes=True),
    Kind("bf16", "bf16", 16, ("f32",), 16, transposes=True),
    Kind("tf32", "tf32", 32, ("f32",), 8),
    *(Kind(a, b, 8, ("f16", "f32"), 32) for a in _FP8 for b in _FP8),
    *(Kind(a, b, 8, ("s32",), 32, _INTEGER_N, negates=False, saturates=True) for a in _I8 for b in _I8),
    Kind("b1", "b1", 1, ("s32",), 256, _INTEGER_N, negates=False, sparse=False, suffix=".and.popc"),
)

KINDS: dict[tuple[str, str], Kind] = {(kind.a, kind.b): kind for kind in _KINDS}
"""Every kind by the PTX names of the element types of A and B."""


def find_kind(a: str, b: str) -> Kind:
    """Returns the kind that multiplies these element types (PTX names). Raises LegalityError if there is none."""
    if (kind := KINDS.get((a, b))) is None:
        known = ", ".join(f"{kind.a} x {kind.b}" for kind in _KINDS)
        raise WarpgroupProductError(f"expected element types {known}, found {a} x {b}")
    return kind


@dataclass(frozen=True)
class Form:
    """One wgmma.mma_async m64nNk*: element types, D type, N and modifiers, legal or not; `check_form` decides.

    Operands are not part of it. Everything but the fields needs element types of a kind.
    """

    a: str
    b: str
    d: str
    n: int
    sparse: bool = False
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False

    @property
    def kind(self) -> Kind:
        """Raises LegalityError for element types that no kind has."""
        return find_kind(self.a, self.b)

    @property
    def types(self) -> str:
        return f"{self.a} x {self.b}"

    @property
    def d_choices(self) -> str:
        return " or ".join(self.kind.results)

    @property
    def n_steps(self) -> str:
        return "8" if self.kind.n is _FLOAT_N else "8 up to 32 and of 16 beyond"

    @property
    def nearest_n(self) -> int:
        return min(self.kind.n, key=lambda n: (abs(n - self.n), n))

    @property
    def k(self) -> int:
        """Elements of K."""
        return self.kind.instruction_k(self.sparse)

    @property
    def shape(self) -> str:
        """As PTX spells it: m64n256k16."""
        return f"m{ROWS}n{self.n}k{self.k}"

    @property
    def mnemonic(self) -> str:
        sparse, saturate = ".sp" if self.sparse else "", ".satfinite" if self.saturate else ""
        types = f"{self.d}.{self.a}.{self.b}"
        return f"wgmma.mma_async{sparse}.sync.aligned.{self.shape}{saturate}.{types}{self.kind.suffix}"

    @property
    def features(self) -> tuple[str, ...]:
        """Rows of `tirx.hw.features` that the form needs."""
        return self.kind.features(self.sparse)

    @property
    def d_registers(self) -> int:
        """32-bit registers of D in each thread; f16 packs two elements in one."""
        return self.d_elements // (2 if self.d == "f16" else 1)

    @property
    def d_elements(self) -> int:
        """Elements of D in each thread."""
        return ROWS * self.n // WARPGROUP_THREADS

    @property
    def a_registers(self) -> int:
        """32-bit registers of A in each thread, where A is in registers: the stored elements of 64 rows."""
        return ROWS * self.kind.k * self.kind.bits // 32 // WARPGROUP_THREADS

    @property
    def k_bytes(self) -> tuple[int, int]:
        """Bytes of K that the instruction reads of a row of A and of a row of B. Half of a sparse A is stored."""
        bits = self.kind.bits
        return self.kind.k * bits // 8, self.k * bits // 8

    def immediates(self, a_in_smem: bool, transpose_a: bool = False, transpose_b: bool = False) -> tuple[int, ...]:
        """The operands behind scale-d: imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b, those that the form has."""
        kind = self.kind
        signs = (-1 if self.negate_a else 1, -1 if self.negate_b else 1) if kind.negates else ()
        transposes = ((int(transpose_a),) if a_in_smem else ()) + (int(transpose_b),) if kind.transposes else ()
        return (*signs, *transposes)


_SHAPE = "Matrix Shape"
_TYPES = "Matrix Data-types"
_MMA = "wgmma.mma_async"

FORM_RULES: tuple[Rule[Form], ...] = (
    Rule("types", _TYPES, lambda f: reason(lambda: f.kind), "{reason}", "use types that wgmma multiplies"),
    Rule(
        "d-type",
        _TYPES,
        lambda f: f.d not in f.kind.results,
        "{i.types}: expected D of {i.d_choices}, found {i.d}",
        "give D a type that the product has",
    ),
    Rule(
        "shape",
        _SHAPE,
        lambda f: f.n not in f.kind.n,
        "{i.types}: expected N from 8 to 256 in steps of {i.n_steps}, found {i.n}",
        "nearest is {i.nearest_n}",
    ),
    Rule(
        "sparse",
        "wgmma.mma_async.sp",
        lambda f: f.sparse and not f.kind.sparse,
        "{i.types}: expected a dense A, found a sparse one",
        "store all of A",
    ),
    Rule(
        "saturate",
        _MMA,
        lambda f: f.saturate and not f.kind.saturates,
        "{i.types}: expected no .satfinite, found it",
        "leave it out: only products of s8 and u8 saturate",
    ),
    Rule(
        "negate",
        _MMA,
        lambda f: (f.negate_a or f.negate_b) and not f.kind.negates,
        "{i.types}: expected no negated operand, found one",
        "negate D: only floating-point operands are negated",
    ),
)
"""The rules about the form of an instruction, those that `ptxas` knows as well. The first comes before all others."""


def form_findings(form: Form) -> tuple[Finding, ...]:
    """The rules that a form breaks, in the order of the table; empty when it exists."""
    first = FORM_RULES[0].finding(form)
    return (first,) if first is not None else tuple(all_findings(FORM_RULES[1:], form))


def check_form(form: Form) -> Form:
    """Returns the form. Raises LegalityError, with the nearest legal choice, when it does not exist."""
    raise_first(form_findings(form))
    return form


def split_n(n: int, a: str, b: str, step: int = 8) -> list[tuple[int, ...]]:
    """Ways to cover `n` columns of D with instructions, fewest instructions first, equal ones before unequal ones.

    `step`: multiple that every N but the last must have, because B can be read from there only. Raises LegalityError
    when `n` is no multiple of 8.
    """
    expect_steps(WarpgroupProductError, "expected N", n, 8)
    legal = find_kind(a, b).n
    found: list[tuple[int, ...]] = []
    for count in range(ceil(n / MAX_N), n // 8 + 1):
        if n % count == 0 and n // count in legal and n // count % step == 0:
            found.append((n // count,) * count)
    greedy: list[int] = []
    while left := n - sum(greedy):
        sizes = [size for size in legal if size <= left and (size == left or size % step == 0)]
        if not sizes:
            break
        greedy.append(sizes[-1])
    if sum(greedy) == n and tuple(greedy) not in found:
        found.append(tuple(greedy))
    return sorted(found, key=len)
