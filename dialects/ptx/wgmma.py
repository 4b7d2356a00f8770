"""`wgmma`: asynchronous products of a warpgroup. See PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

Matrix descriptors are i64. The results of a product are its accumulators in the registers of the operands `c`: they are
not ready before a `wait_group`, which is why no pass may move, merge or remove these ops. `ptxas` does not look at the
values of descriptors; the verifiers do where they are constants, and the printer as far as their bits are known.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, UnitAttr, f32, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)

from tirx.dialects.definition import Value, int32, unit
from tirx.dialects.ptx.base import Names, PTXInstruction, Register, vector
from tirx.dialects.ptx.effects import (
    NO_EFFECTS,
    AccessKind,
    CommitGroup,
    Effects,
    Issue,
    MemoryAccess,
    SharedMatrix,
    WaitGroup,
)
from tirx.dialects.ptx.known_bits import EVERYTHING, IMMEDIATE, known_bits
from tirx.hw.errors import LegalityError
from tirx.rules import InstructionFormError, InvalidOperation
from tirx.smem.swizzle_modes import Major
from tirx.wgmma import (
    MAX_PENDING,
    ROWS,
    WGMMA_OPERANDS,
    Form,
    RegisterOperand,
    SmemOperand,
    Wgmma,
    check_wgmma,
    find_kind,
)


class WgmmaOp(PTXInstruction, abc.ABC):
    """All threads of a warpgroup execute it together."""

    ISSUE: ClassVar = Issue.WARPGROUP
    NEEDS: ClassVar = ("wgmma",)


@irdl_op_definition
class WgmmaFenceOp(WgmmaOp):
    """`wgmma.fence`: orders accesses to registers and shared memory before the products that follow.

    Needed before the first product, and whenever registers of A or D were touched by anything but products of the same
    shape. See PTX ISA, "wgmma.fence".
    """

    name = "ptx.wgmma.fence"
    EFFECTS: ClassVar = NO_EFFECTS

    assembly_format = "attr-dict"

    def emit(self, reg: Names) -> str:
        return "wgmma.fence.sync.aligned"


@irdl_op_definition
class WgmmaCommitGroupOp(WgmmaOp):
    """`wgmma.commit_group`: the products since the last one form a group. See PTX ISA, "wgmma.commit_group"."""

    name = "ptx.wgmma.commit_group"
    EFFECTS: ClassVar = Effects(synchronization=CommitGroup(AccessKind.WARPGROUP))

    assembly_format = "attr-dict"

    def emit(self, reg: Names) -> str:
        return "wgmma.commit_group.sync.aligned"


@irdl_op_definition
class WgmmaWaitGroupOp(WgmmaOp):
    """`wgmma.wait_group n`: waits until at most `n` groups of the executing threads are pending.

    See PTX ISA, "wgmma.wait_group".
    """

    name = "ptx.wgmma.wait_group"

    pending = prop_def(IntegerAttr[I32])

    assembly_format = "$pending attr-dict"

    def __init__(self, pending: int):
        super().__init__(properties={"pending": int32(pending)})

    def verify_(self) -> None:
        if not 0 <= (pending := self.pending.value.data) <= MAX_PENDING:
            raise InstructionFormError(f"expected 0 to {MAX_PENDING} pending groups, found {pending}")

    def effects(self) -> Effects:
        return Effects(synchronization=WaitGroup(AccessKind.WARPGROUP, self.pending.value.data))

    def emit(self, reg: Names) -> str:
        return f"wgmma.wait_group.sync.aligned {self.pending.value.data}"


@irdl_op_definition
class WgmmaMmaAsyncOp(WgmmaOp):
    """D = A * B + C, asynchronously, of 64xN accumulators over a warpgroup.

    `a` is a matrix descriptor (one i64) or four i32 registers of every thread; `b` is a matrix descriptor. `c` and the
    results are f32 registers, or i32 (s32, or f16 in pairs): their number gives N. Results take the registers of `c`,
    which nothing else may read; without `c` they are D = A * B. Where the predicate `scale_d` is false, `c` does not
    count. `metadata` (i32) and `selector` make A sparse.

    ```mlir
    %d0, %d1 = ptx.wgmma.mma_async "f16" "f16" a(%a : i64) b(%b) c(%c0, %c1 : i32, i32) -> i32, i32
    ```
    """

    name = "ptx.wgmma.mma_async"

    a_type = prop_def(StringAttr)
    b_type = prop_def(StringAttr)
    a = var_operand_def(Register)
    b = operand_def(i64)
    c = var_operand_def(Register)
    scale_d = opt_operand_def(i1)
    metadata = opt_operand_def(i32)
    selector = opt_prop_def(IntegerAttr[I32])
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    negate_a = opt_prop_def(UnitAttr)
    negate_b = opt_prop_def(UnitAttr)
    saturate = opt_prop_def(UnitAttr)
    d = var_result_def(Register)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = """
    $a_type $b_type `a` `(` $a `:` type($a) `)` `b` `(` $b `)` (`c` `(` $c^ `:` type($c) `)`)?
    (`scale_d` $scale_d^)? (`metadata` $metadata^)? (`selector` $selector^)? (`transpose_a` $transpose_a^)?
    (`transpose_b` $transpose_b^)? (`negate_a` $negate_a^)? (`negate_b` $negate_b^)? (`saturate` $saturate^)?
    attr-dict `->` type($d)
    """

    def __init__(
        self,
        form: Form,
        a: Sequence[Value],
        b: Value,
        c: Sequence[Value],
        result_type: Attribute,
        *,
        scale_d: Value | None = None,
        metadata: Value | None = None,
        selector: int | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
    ):
        """`a`: a descriptor, or the registers. `result_type`: f32 or i32."""
        super().__init__(
            operands=[a, b, c, scale_d, metadata],
            properties={
                "a_type": StringAttr(form.a),
                "b_type": StringAttr(form.b),
                "selector": int32(selector),
                "transpose_a": unit(transpose_a),
                "transpose_b": unit(transpose_b),
                "negate_a": unit(form.negate_a),
                "negate_b": unit(form.negate_b),
                "saturate": unit(form.saturate),
            },
            result_types=[[result_type] * form.d_registers],
        )

    @property
    def form(self) -> Form:
        """The form that the types and the number of registers mean. Raises LegalityError for unknown element types."""
        kind = find_kind(self.a_type.data, self.b_type.data)
        if self.d.types and self.d.types[0] == i32:
            d = "s32" if "s32" in kind.results else "f16"
        else:
            d = "f32"
        return Form(
            kind.a,
            kind.b,
            d,
            len(self.d) * (4 if d == "f16" else 2),
            sparse=self.metadata is not None,
            saturate=self.saturate is not None,
            negate_a=self.negate_a is not None,
            negate_b=self.negate_b is not None,
        )

    @property
    def a_is_descriptor(self) -> bool:
        return len(self.a) == 1 and self.a[0].type == i64

    def verify_(self) -> None:
        try:
            form = self.form
            types = set(self.d.types)
            if len(types) != 1:
                raise InstructionFormError(f"expected results of one type, found ({', '.join(map(str, self.d.types))})")
            if types - {f32, i32}:
                raise InstructionFormError(f"expected results of f32 or i32, found {self.d.types[0]}")
            if self.c and self.c.types != self.d.types:
                raise InstructionFormError(
                    f"expected c to be {len(self.d)} registers {self.d.types[0]} as the results, found "
                    f"({', '.join(map(str, self.c.types))})"
                )
            if not self.a_is_descriptor and list(self.a.types) != [i32] * form.a_registers:
                raise InstructionFormError(
                    f"expected a to be a descriptor (i64) or {form.a_registers} registers i32, found "
                    f"({', '.join(map(str, self.a.types))})"
                )
            if self.scale_d is not None and not self.c:
                raise InstructionFormError("expected c where scale_d says whether it counts, found none")
            if (self.metadata is None) != (self.selector is None):
                raise InstructionFormError("expected both or neither of metadata and selector, found one")
            check_wgmma(self.describe(IMMEDIATE))
        except LegalityError as error:
            raise InvalidOperation(str(error)) from error

    def describe(self, depth: int) -> Wgmma:
        """The instruction as plain data, with what is known of its operands (`known_bits`)."""
        return Wgmma(
            self.form,
            SmemOperand(known_bits(self.a[0], depth)) if self.a_is_descriptor else RegisterOperand(),
            SmemOperand(known_bits(self.b, depth)),
            selector=None if self.selector is None else self.selector.value.data,
            transpose_a=self.transpose_a is not None,
            transpose_b=self.transpose_b is not None,
        )

    @property
    def description(self) -> Wgmma:
        """The instruction with all that is known of its operands."""
        return self.describe(EVERYTHING)

    def effects(self) -> Effects:
        kind = self.form.kind
        operands: list[tuple[SSAValue, Major, tuple[int, int]]] = []
        if self.a_is_descriptor:
            operands.append((self.a[0], "K" if self.transpose_a is None else "MN", (ROWS, kind.k)))
        operands.append((self.b, "K" if self.transpose_b is None else "MN", (self.form.n, self.form.k)))
        read = (SharedMatrix(each, major, shape, kind.bits, WGMMA_OPERANDS) for each, major, shape in operands)
        return Effects(MemoryAccess(AccessKind.WARPGROUP, reads=tuple(read)))

    def in_place(self) -> Iterable[tuple[SSAValue, int]]:
        first = len(self.a) + 1
        return zip(self.d, range(first, first + len(self.c)), strict=bool(self.c))

    def features(self) -> tuple[str, ...]:
        return self.form.features

    def emit(self, reg: Names) -> str:
        form = self.form
        operands = [vector(reg, self.d)]
        operands.append(reg.imm(self.a[0]) if self.a_is_descriptor else vector(reg, self.a))
        operands.append(reg.imm(self.b))
        if self.metadata is not None:
            assert self.selector is not None
            operands += [reg(self.metadata), str(self.selector.value.data)]
        operands.append(str(int(bool(self.c))) if self.scale_d is None else reg.imm(self.scale_d))
        transposes = self.transpose_a is not None, self.transpose_b is not None
        operands += map(str, form.immediates(self.a_is_descriptor, *transposes))
        return f"{form.mnemonic} {', '.join(operands)}"


__all__ = ["WgmmaCommitGroupOp", "WgmmaFenceOp", "WgmmaMmaAsyncOp", "WgmmaWaitGroupOp"]
