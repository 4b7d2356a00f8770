"""Completion and ordering of the asynchronous tcgen05 operations."""

from __future__ import annotations

from xdsl.dialects.builtin import I16, I32, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    operand_def,
    opt_operand_def,
    prop_def,
    traits_def,
)

from tirx.dialects.definition import DirectOperation, i32_attr, irdl_op_definition
from tirx.dialects.tcgen05.attributes import FencePosition, FencePositionAttr, WaitFor, WaitForAttr
from tirx.dialects.tcgen05.common import EFFECTS, ONE_CTA, check_cta_group


@irdl_op_definition
class CommitOp(DirectOperation):
    """
    `tcgen05.commit %mbar : i32`: the mbarrier gets one arrival when this thread's products are complete.

    `tcgen05.commit %mbar multicast %ctas cta_group 2 : i32`: so do the mbarriers at the same place of those CTAs of the
    cluster whose bits of the mask (i16) are set. PTX ISA, "tcgen05.commit".
    """

    name = "tcgen05.commit"

    mbarrier = operand_def(I32)
    multicast = opt_operand_def(I16)
    cta_group = prop_def(IntegerAttr[I32], default_value=ONE_CTA)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$mbarrier (`multicast` $multicast^)? (`cta_group` $cta_group^)? attr-dict `:` type($mbarrier)"
    traits = traits_def(*EFFECTS)

    def __init__(self, mbarrier: SSAValue, *, multicast: SSAValue | None = None, cta_group: int = 1):
        super().__init__(operands=[mbarrier, multicast], properties={"cta_group": i32_attr(cta_group)})

    def verify_(self) -> None:
        check_cta_group(self.cta_group)


@irdl_op_definition
class WaitOp(DirectOperation):
    """`tcgen05.wait ld`: this thread's `tcgen05.ld` (or `st`) are complete."""

    name = "tcgen05.wait"

    kind = prop_def(WaitForAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kind attr-dict"
    traits = traits_def(*EFFECTS)

    def __init__(self, kind: WaitFor):
        super().__init__(properties={"kind": WaitForAttr(kind)})


@irdl_op_definition
class FenceOp(DirectOperation):
    """`tcgen05.fence before_thread_sync`: orders asynchronous tcgen05 work with a synchronisation of threads."""

    name = "tcgen05.fence"

    position = prop_def(FencePositionAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$position attr-dict"
    traits = traits_def(*EFFECTS)

    def __init__(self, position: FencePosition):
        super().__init__(properties={"position": FencePositionAttr(position)})
