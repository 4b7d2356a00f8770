"""Instruction shapes of tcgen05.mma: which M, N and K exist, and on which targets.

Source: PTX ISA "Matrix Shape", table "Various combinations of .kind and shapes" (the same in versions 9.1 to 9.3), and
for the targets the "Target ISA Notes" of tcgen05.mma. `check_shape` accepts what that table lists. Other sources are
stricter about N for kinds f16, tf32 and f8f6f4: TVM asks for N % 16 when M = 128 (the table: steps of 8) and for N % 32
with cta_group::2 (the table: steps of 16), and CUTLASS asks the same when A is in tensor memory. No public measurement
settles it. `portable` says whether every source agrees.
"""

from __future__ import annotations

from itertools import pairwise

from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import TensorProductError
from tirx.hw.features import supporting_targets, supports
from tirx.hw.targets import Target
from tirx.tcgen05.kinds import KINDS, Kind, find_kind
from tirx.values import dataclass

MAX_N = 256
"""The largest N."""


@dataclass(frozen=True)
class ShapeRow:
    """Legal shapes for one (kinds, cta_group, .ws, sparsity, K). `m` and `n` are all values; `portable_n`: for each
    value of `m`, the N on which every source agrees. M and N are those of the whole instruction, both CTAs of a pair
    together. `feature`: what targets that have these instructions have; `k_code`: that of K, 0 for the smallest."""

    kinds: tuple[str, ...]
    cta_group: int
    ws: bool
    sparse: bool
    m: tuple[int, ...]
    n: tuple[int, ...]
    portable_n: tuple[tuple[int, ...], ...]
    feature: str = "tcgen05"
    k_code: int = 0

    def portable(self, m: int) -> tuple[int, ...]:
        """Values of N on which every source agrees for this M."""
        return dict(zip(self.m, self.portable_n, strict=True)).get(m, ())


def _steps(step: int) -> tuple[int, ...]:
    return tuple(range(step, MAX_N + step, step))


_FLOAT = ("f16", "tf32", "f8f6f4")
_E2M1 = ("mxf4", "mxf4nvf4")
_I8 = "tcgen05.kind::i8"
_I8_N = (8, 16, 24, *range(32, 257, 16))  # steps of 8 up to 32, then of 16
_WS_N = {False: (64, 128, 256), True: (64, 128)}  # by sparsity
# CUTLASS rejects M = 128 for a pair of CTAs and kind::mxf8f6f4, which the table has.
_MXF8F6F4_PAIR_N = {False: ((), _steps(16)), True: (_steps(16),)}
_MXF4_PAIR_N = {False: (_steps(16),) * 2, True: (_steps(16),)}
_SCALED_PAIR_M = {False: (128, 256), True: (256,)}  # by sparsity
_TI16 = "tcgen05.kind::ti16"
_E2M1_FEATURE = {False: "tcgen05", True: "tcgen05.sparse_mxf4"}  # by sparsity

SHAPES: tuple[ShapeRow, ...] = (
    *(
        row
        for sparse in (False, True)
        for row in (
            ShapeRow(_FLOAT, 1, False, sparse, (64, 128), _steps(8), (_steps(8), _steps(16))),
            ShapeRow(_FLOAT, 2, False, sparse, (128, 256), _steps(16), (_steps(32),) * 2),
            ShapeRow(_FLOAT, 1, True, sparse, (32, 64, 128), _WS_N[sparse], (_WS_N[sparse],) * 3),
            ShapeRow(("ti16",), 1, False, sparse, (64, 128), _steps(8), (_steps(8), _steps(16)), _TI16),
            ShapeRow(("ti16",), 2, False, sparse, (128, 256), _steps(16), (_steps(32),) * 2, _TI16),
            ShapeRow(("ti16",), 1, True, sparse, (32, 64, 128), _WS_N[sparse], (_WS_N[sparse],) * 3, _TI16),
            ShapeRow(("i8",), 1, False, sparse, (64, 128), _I8_N, ((8, *_steps(16)), _steps(16)), _I8),
            ShapeRow(("i8",), 2, False, sparse, (128, 256), _steps(32), (_steps(32),) * 2, _I8),
            ShapeRow(("i8",), 1, True, sparse, (32, 64, 128), _WS_N[sparse], (_WS_N[sparse],) * 3, _I8),
            ShapeRow(("mxf8f6f4",), 1, False, sparse, (128,), _steps(8), (_steps(8),)),
            ShapeRow(("mxf8f6f4",), 2, False, sparse, _SCALED_PAIR_M[sparse], _steps(16), _MXF8F6F4_PAIR_N[sparse]),
            ShapeRow(_E2M1, 1, False, sparse, (128,), _steps(8), (_steps(8),), _E2M1_FEATURE[sparse]),
            ShapeRow(
                *(_E2M1, 2, False, sparse, _SCALED_PAIR_M[sparse], _steps(16), _MXF4_PAIR_N[sparse]),
                feature=_E2M1_FEATURE[sparse],
            ),
        )
    ),
    # PTX ISA 9.3 has K = 96 for a pair of CTAs and M = 256 only; CUTLASS builds it for one CTA as well. Larger K have
    # 128 rows in a CTA (PTX ISA 9.4; Triton and CuTe say so of kind::f8f6f4).
    *(
        ShapeRow(
            *((kind.name,), group, False, sparse, (128 * group,), _steps(8 * group)),
            (() if (group, wide.feature) == (1, "tcgen05.K96") else _steps(8 * group),),
            *(wide.feature, code),
        )
        for kind in KINDS.values()
        for code, wide in enumerate(kind.wide, 1)
        for sparse in (False, True)
        if code in kind.k_codes(sparse)
        for group in (1, 2)
    ),
)
"""The ISA's table, row by row."""

TRANSPOSED_8BIT_N_STEP: dict[int, int] = {1: 16, 2: 32}
"""Step of N by cta_group when B has 8-bit elements and is MN-major (ISA note on transposed B)."""


def shape_row(
    name: str | Kind, cta_group: int = 1, ws: bool = False, sparse: bool = False, k_code: int = 0
) -> ShapeRow:
    """The row of the table for a variant of tcgen05.mma; raises LegalityError when the variant does not exist."""
    kind = find_kind(name)
    own = [row for row in SHAPES if kind.name in row.kinds and (row.sparse, row.k_code) == (sparse, k_code)]
    for row in own:
        if (row.cta_group, row.ws) == (cta_group, ws):
            return row
    if not own:
        kind.instruction_k(sparse, k_code)  # explains which there are
    variants = [f"cta_group {row.cta_group}{' .ws' if row.ws else ''}" for row in own]
    raise TensorProductError(
        f"kind::{kind.name}: expected one of {', '.join(variants)}, found cta_group {cta_group}{' .ws' if ws else ''}"
    )


def check_shape(
    name: str | Kind,
    m: int,
    n: int,
    cta_group: int = 1,
    ws: bool = False,
    sparse: bool = False,
    *,
    k_code: int = 0,
    target: str | Target | None = None,
) -> tuple[int, int, int]:
    """The instruction shape (M, N, K) in elements, when the ISA's table has it and `target`, if given, runs it.

    `m` and `n` are those of the instruction (of both CTAs for cta_group 2). Raises LegalityError saying which values
    are legal and which is nearest; TargetError for an unknown target name.
    """
    row = shape_row(name, cta_group, ws, sparse, k_code)
    k = find_kind(name).instruction_k(sparse, k_code)
    variant = (
        f"kind::{find_kind(name).name}, cta_group {cta_group}{', .ws' if ws else ''}{', sparse' if sparse else ''}"
        f"{f', K = {k}' if k_code else ''}"
    )
    for letter, value, legal in (("M", m, row.m), ("N", n, row.n)):
        if value not in legal:
            nearest = min(legal, key=lambda x: (abs(x - value), x))
            raise TensorProductError(
                f"{variant}: expected {letter} in {_compact(legal)}, found {value}; nearest is {nearest}"
            )
    if target is not None:
        check_target(variant, row.feature, target)
    return m, n, k


def check_target(what: str, feature: str, target: str | Target) -> None:
    """Raises LegalityError, naming those that do, when `target` is not one of the targets that have `feature`, and
    TargetError for an unknown target name."""
    found = Target.parse(target) if isinstance(target, str) else target
    if not supports(found, feature):
        raise TensorProductError(f"{what}: expected target {', '.join(supporting_targets(feature))}, found {found}")


def check_transposed_b(b: str | DType, n: int, cta_group: int = 1) -> None:
    """Raises LegalityError when N is no legal size of an MN-major B of this element type."""
    if cta_group not in TRANSPOSED_8BIT_N_STEP:
        raise TensorProductError(
            f"expected cta_group {' or '.join(map(str, TRANSPOSED_8BIT_N_STEP))}, found {cta_group}"
        )
    step = TRANSPOSED_8BIT_N_STEP[cta_group]
    if find_dtype(b).bits == 8 and n % step:
        nearest = max(step, round(n / step) * step)
        raise TensorProductError(
            f"MN-major B of {find_dtype(b).name}, cta_group {cta_group}: expected N in steps of {step}, found {n}; "
            f"nearest is {nearest}"
        )


def portable(
    name: str | Kind, m: int, n: int, cta_group: int = 1, ws: bool = False, sparse: bool = False, *, k_code: int = 0
) -> bool:
    """Returns True if every source, and not only the ISA's table, allows this shape."""
    return n in shape_row(name, cta_group, ws, sparse, k_code).portable(m)


def _compact(values: tuple[int, ...]) -> str:
    """`{8, 16, ..., 256}` for values that end with a long arithmetic progression, all values otherwise."""
    first = next(i for i in range(len(values)) if len({b - a for a, b in pairwise(values[i:])}) <= 1)
    shown = values if len(values) - first <= 6 else (*values[: first + 2], "...", values[-1])
    return f"{{{', '.join(map(str, shown))}}}"
