"""Is this wgmma.mma_async legal? Its form, descriptors, register layouts and metadata checked together.

`ptxas` checks the form, but no descriptor and no layout: a wrong one gives wrong numbers without a word.
`check_wgmma` raises for the first violation, `find_violations` lists them all.
"""

from __future__ import annotations

from functools import lru_cache

from tirx.hw.rules import Finding, Rule, all_findings, raise_first, reason, unless_one_is_legal, unsupported
from tirx.hw.targets import PtxVersion
from tirx.layout import TileLayout
from tirx.smem.aliasing import aliased_operand
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.smem.wgmma_descriptor import WgmmaDescriptor, meaningless_wgmma, possible_wgmma_descriptors
from tirx.symbolic.integers import Integers
from tirx.values import dataclass
from tirx.wgmma.fragments import (
    CODES_PER_REGISTER,
    SPARSE_METADATA,
    accumulator_layout,
    metadata_layout,
    operand_a_layout,
)
from tirx.wgmma.kinds import ROWS, WARPGROUP_THREADS, WARPGROUP_WARPS, Form, form_findings

READ_AS: dict[str, tuple[str, ...]] = {"tf32": ("tf32", "f32")}
"""Element type of an instruction -> the types in memory that it reads as such: tf32 takes the upper bits of an f32."""

STORED_AS = {"b1": "u8"}
"""Element types that no tile has -> the type whose bytes they fill: eight bits to a byte, neighbours along K."""


@dataclass(frozen=True)
class SmemOperand:
    """An operand in shared memory. None where something is not known.

    `descriptor`: the matrix descriptor, or its 64 bits, as far as they are known. `rows`: rows of the tile (M of A, N
    of B) from the start address on. `dtype`, `major`: of the elements there. `k`: stored elements along K that the
    descriptor was made for.
    """

    descriptor: WgmmaDescriptor | Integers | int | None = None
    rows: int | None = None
    dtype: str | None = None
    major: Major | None = None
    k: int | None = None


@dataclass(frozen=True)
class RegisterOperand:
    """D, A or metadata in the registers of one warpgroup, for one instruction. None where something is not known.

    `dtype`: of its elements. `layout`: where they are, of (64, N), (64, stored K) or (64, codes), with any offsets.
    """

    dtype: str | None = None
    layout: TileLayout | None = None


@dataclass(frozen=True)
class Wgmma:
    """One wgmma.mma_async as plain data. None: not known, and then not checked.

    `a_operand`, `b_operand`, `d_operand`, `metadata`: the operands; `selector`: the sparsity selector, None in a dense
    product. `transpose_a`, `transpose_b`: imm-trans-a and imm-trans-b. `threads`: of the block; `first_warp`: of the
    warpgroup. `target` (`sm_90a`) and `ptx`, the version of the module.
    """

    form: Form
    a_operand: SmemOperand | RegisterOperand | None = None
    b_operand: SmemOperand | None = None
    d_operand: RegisterOperand | None = None
    metadata: RegisterOperand | None = None
    selector: int | None = None
    transpose_a: bool = False
    transpose_b: bool = False
    threads: int | None = None
    first_warp: int | None = None
    target: str | None = None
    ptx: PtxVersion | None = None


class WgmmaFacts:
    """Facts that follow from the description of an instruction whose form exists; None where one does not follow."""

    def __init__(self, wgmma: Wgmma):
        self.wgmma = wgmma
        self.form = wgmma.form
        self.kind = wgmma.form.kind
        self.a_smem = wgmma.a_operand if isinstance(wgmma.a_operand, SmemOperand) else None
        self.a_registers = wgmma.a_operand if isinstance(wgmma.a_operand, RegisterOperand) else None

    @property
    def selectors(self) -> int:
        """Values that the sparsity selector may have."""
        return SPARSE_METADATA[self.kind.bits].selectors

    def type_reason(self, operand: SmemOperand | RegisterOperand | None, name: str, expected: str) -> str | None:
        """Returns why the elements of an operand are not those that the instruction names."""
        if operand is None or operand.dtype is None or operand.dtype in READ_AS.get(expected, (expected,)):
            return None
        return f"expected {name} of {expected}, as the instruction says, found {operand.dtype}"

    def major_reason(self, operand: SmemOperand | None, name: str, transposed: bool) -> str | None:
        """Returns why an operand is not as major as the instruction says."""
        expected = "MN" if transposed else "K"
        if operand is None or operand.major in (None, expected):
            return None
        return f"expected {expected}-major {name} with imm-trans = {int(transposed)}, found {operand.major}-major"

    def k_reason(self, operand: SmemOperand | None, name: str, expected: int) -> str | None:
        """Returns why a descriptor was made for another K than the instruction reads."""
        if operand is None or operand.k in (None, expected):
            return None
        return f"expected slices of {name} of {expected} stored elements along K, found slices of {operand.k}"

    def descriptor_reason(self, operand: SmemOperand | None, dtype: str, transposed: bool, k_bytes: int) -> str | None:
        """Returns why a matrix descriptor does not serve the operand."""
        if operand is None or operand.descriptor is None:
            return None
        major: Major = "MN" if transposed else "K"
        stored = STORED_AS.get(dtype, dtype)

        def refused(possible: WgmmaDescriptor) -> str | None:
            return reason(lambda: possible.verify(stored, major, k_bytes=k_bytes))

        return unless_one_is_legal(refused(each) for each in possible_wgmma_descriptors(operand.descriptor))

    @property
    def aliases(self) -> tuple[str, ...]:
        """Names elements of A or B that share bytes of shared memory: legal, and nearly always a mistake."""
        found: list[str] = []
        for name, operand, transposed, rows, size in (
            ("A", self.a_smem, self.wgmma.transpose_a, ROWS, self.form.k_bytes[0]),
            ("B", self.wgmma.b_operand, self.wgmma.transpose_b, self.form.n, self.form.k_bytes[1]),
        ):
            if operand is None:
                continue
            bits = max(self.kind.bits, 8)
            major: Major = "MN" if transposed else "K"
            text = aliased_operand(operand.descriptor, major, (rows, size * 8 // bits), bits, WGMMA_OPERANDS)
            if text is not None:
                found.append(f"descriptor of {name}: {text}")
        return tuple(found)

    @staticmethod
    def layout_reason(operand: RegisterOperand | None, name: str, expected: TileLayout) -> str | None:
        """Returns why a fragment is elsewhere than in the instruction, up to other registers and whole warpgroups."""
        if operand is None or operand.layout is None:
            return None
        offsets = operand.layout.offsets
        moved = TileLayout(expected.shard, expected.replica, offsets)
        if set(offsets) <= {"m", "warpid"} and not offsets.get("warpid", 0) % WARPGROUP_WARPS:
            if operand.layout.size() == expected.size() and operand.layout.equivalent(moved):
                return None
        return f"expected {name} where wgmma has it, {expected} (plus any register), found {operand.layout}"

    @property
    def a_layout_reason(self) -> str | None:
        kind = self.kind
        expected = operand_a_layout(ROWS, kind.k, self.form.a, b=self.form.b)
        return self.layout_reason(self.a_registers, "A", expected)

    @property
    def d_layout_reason(self) -> str | None:
        return self.layout_reason(self.wgmma.d_operand, "D", accumulator_layout(ROWS, self.form.n))

    @property
    def metadata_layout_reason(self) -> str | None:
        """The selector moves the metadata by two lanes: both places are legal, with their selector."""
        given = self.wgmma.metadata
        if given is None or given.layout is None or not self.form.sparse:
            return None
        expected = metadata_layout(ROWS, self.form.k, self.form.a)
        lanes = 2 * (self.wgmma.selector or 0)
        offsets = given.layout.offsets
        if offsets.get("laneid", 0) != lanes or offsets.get("m", 0) % CODES_PER_REGISTER:
            return (
                f"expected metadata from lane {lanes} of four on, as selector {self.wgmma.selector} says, in a whole "
                f"register, found {given.layout}"
            )
        rest = {name: offset for name, offset in offsets.items() if name != "laneid"}
        moved = TileLayout(given.layout.shard, given.layout.replica, rest)
        return self.layout_reason(RegisterOperand(layout=moved), "metadata", expected)


_MMA = "wgmma.mma_async"
_SPARSE = "Sparse matrix storage"
_FRAGMENTS = "Register Fragments and Shared Memory Matrix Layouts"
_SMEM = "Shared Memory Matrix Layout"
_DESCRIPTOR = "Matrix Descriptor Format"

_Row = Rule[WgmmaFacts]

WGMMA_RULES: tuple[Rule[WgmmaFacts], ...] = (
    _Row(
        "target",
        "Target ISA Notes",
        lambda i: unsupported(i.form.features, i.wgmma.target, i.wgmma.ptx),
        "{reason}",
        "compile for sm_90a with a PTX version that has it",
    ),
    _Row(
        "warpgroup",
        "Warpgroup",
        lambda i: (i.wgmma.first_warp or 0) % WARPGROUP_WARPS != 0,
        "expected a warpgroup that starts at a multiple of 4 warps, found warp {i.wgmma.first_warp}",
        "start roles at multiples of 128 threads",
    ),
    _Row(
        "threads",
        "Warpgroup",
        lambda i: (
            i.wgmma.threads is not None
            and i.wgmma.threads < ((i.wgmma.first_warp or 0) // WARPGROUP_WARPS + 1) * WARPGROUP_THREADS
        ),
        "expected whole warpgroups of 128 threads, found {i.wgmma.threads} threads in the block",
        "use a multiple of 128 threads",
    ),
    _Row(
        "a-transpose",
        _MMA,
        lambda i: i.wgmma.transpose_a and (not i.kind.transposes or i.a_registers is not None),
        "expected a K-major A of {i.form.a}, found imm-trans-a = 1",
        "store A K-major: wgmma transposes f16 and bf16 in shared memory only",
    ),
    _Row(
        "b-transpose",
        _MMA,
        lambda i: i.wgmma.transpose_b and not i.kind.transposes,
        "expected a K-major B of {i.form.b}, found imm-trans-b = 1",
        "store B K-major: wgmma transposes f16 and bf16 only",
    ),
    # Operands in shared memory
    _Row(
        "a-descriptor-bits",
        _DESCRIPTOR,
        lambda i: None if i.a_smem is None else meaningless_wgmma(i.a_smem.descriptor),
        "descriptor of A: {reason}",
        "encode it with WgmmaDescriptor",
    ),
    _Row(
        "b-descriptor-bits",
        _DESCRIPTOR,
        lambda i: None if i.wgmma.b_operand is None else meaningless_wgmma(i.wgmma.b_operand.descriptor),
        "descriptor of B: {reason}",
        "encode it with WgmmaDescriptor",
    ),
    _Row(
        "a-type",
        _MMA,
        lambda i: i.type_reason(i.wgmma.a_operand, "A", i.form.a),
        "{reason}",
        "name the type of A in the instruction",
    ),
    _Row(
        "b-type",
        _MMA,
        lambda i: i.type_reason(i.wgmma.b_operand, "B", i.form.b),
        "{reason}",
        "name the type of B in the instruction",
    ),
    _Row(
        "d-operand-type",
        _MMA,
        lambda i: i.type_reason(i.wgmma.d_operand, "D", i.form.d),
        "{reason}",
        "name the type of D in the instruction",
    ),
    _Row(
        "a-major",
        _SMEM,
        lambda i: i.major_reason(i.a_smem, "A", i.wgmma.transpose_a),
        "{reason}",
        "set imm-trans-a to 1 for an MN-major A",
    ),
    _Row(
        "b-major",
        _SMEM,
        lambda i: i.major_reason(i.wgmma.b_operand, "B", i.wgmma.transpose_b),
        "{reason}",
        "set imm-trans-b to 1 for an MN-major B",
    ),
    _Row(
        "a-k",
        "Matrix Shape",
        lambda i: i.k_reason(i.a_smem, "A", i.kind.k),
        "{reason}",
        "make one descriptor for each K of the instruction",
    ),
    _Row(
        "b-k",
        "Matrix Shape",
        lambda i: i.k_reason(i.wgmma.b_operand, "B", i.form.k),
        "{reason}",
        "make one descriptor for each K of the instruction",
    ),
    _Row(
        "a-descriptor",
        _SMEM,
        lambda i: i.descriptor_reason(i.a_smem, i.form.a, i.wgmma.transpose_a, i.form.k_bytes[0]),
        "descriptor of A: {reason}",
        "give A a canonical layout of its type and major-ness",
    ),
    _Row(
        "b-descriptor",
        _SMEM,
        lambda i: i.descriptor_reason(i.wgmma.b_operand, i.form.b, i.wgmma.transpose_b, i.form.k_bytes[1]),
        "descriptor of B: {reason}",
        "give B a canonical layout of its type and major-ness",
    ),
    _Row(
        "a-rows",
        "Matrix Shape",
        lambda i: i.a_smem is not None and i.a_smem.rows is not None and i.a_smem.rows < ROWS,
        "expected 64 rows of A from its start address on, found {i.a_smem.rows}",
        "make the tile larger",
    ),
    _Row(
        "b-rows",
        "Matrix Shape",
        lambda i: (
            i.wgmma.b_operand is not None and i.wgmma.b_operand.rows is not None and i.wgmma.b_operand.rows < i.form.n
        ),
        "expected {i.form.n} rows of B from its start address on, found {i.wgmma.b_operand.rows}",
        "make the tile larger, or N smaller",
    ),
    # Operands in registers
    _Row("a-layout", _FRAGMENTS, lambda i: i.a_layout_reason, "{reason}", "use operand_a_layout"),
    _Row("d-layout", _FRAGMENTS, lambda i: i.d_layout_reason, "{reason}", "use accumulator_layout"),
    # Sparse A
    _Row(
        "metadata",
        _SPARSE,
        lambda i: not i.form.sparse and (i.wgmma.metadata is not None or i.wgmma.selector is not None),
        "expected no sparsity metadata and no selector in a dense product, found one",
        "use wgmma.mma_async.sp",
    ),
    _Row(
        "selector",
        _SPARSE,
        lambda i: i.form.sparse and i.wgmma.selector is not None and not 0 <= i.wgmma.selector < i.selectors,
        "expected a sparsity selector below {i.selectors}, found {i.wgmma.selector}",
        "name threads that hold metadata",
    ),
    _Row("metadata-layout", _SPARSE, lambda i: i.metadata_layout_reason, "{reason}", "use metadata_layout"),
)
"""The rules about the operands of an instruction, in the order in which they are reported."""


@lru_cache(maxsize=256)
def find_violations(wgmma: Wgmma) -> tuple[Finding, ...]:
    """The rules that the instruction breaks, those about its form first; empty when it is legal."""
    found = form_findings(wgmma.form)
    if found:  # the other rules need a form that exists
        return found
    return tuple(all_findings(WGMMA_RULES, WgmmaFacts(wgmma)))


def check_wgmma(wgmma: Wgmma) -> None:
    """Raises LegalityError, with the fix and the name of the rule, for the first rule that the instruction breaks."""
    raise_first(find_violations(wgmma))
