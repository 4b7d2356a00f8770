"""The pipeline from tiles to PTX: the one definition behind `tirx-opt --lower-to-ptx` and `tirx.compile`."""

from __future__ import annotations

from functools import lru_cache

from xdsl.passes import PassPipeline
from xdsl.transforms import get_all_passes as get_xdsl_passes

from tirx.hw.targets import Target
from tirx.passes.registry import get_all_passes

_LOWER_TO_PTX = (
    "tirx-mem2reg",
    "tirx-split-pairs",
    "tirx-pick-layouts",
    "tirx-check-layouts",
    "tirx-fold-zero-fill",
    "tirx-select-instructions",
    "tirx-select-copies",
    "tirx-check-rings",
    "tirx-lower-rings",
    "tirx-allocate-memory",
    # Behind the places: threads may race on bytes that two tiles share.
    "tirx-insert-barriers",
    "tirx-expand-copies",
    "convert-tirx-to-tcgen05",
    # The parity of the mbarrier that products arrive at.
    "tirx-mem2reg",
    "convert-tirx-to-wgmma",
    "convert-tirx-to-mma",
    "tirx-materialize-descriptors",
    "convert-tcgen05-to-ptx",
    "convert-wgmma-to-ptx",
    "convert-tirx-to-ptx",
    "convert-arith-to-ptx",
    "cse",
    "dce",
    "convert-scf-to-ptx",
    "tirx-copy-accumulators",
    "tirx-check-synchronization",
)


def lower_to_ptx_pipeline(target: str | None = None) -> tuple[str, ...]:
    """
    The passes that lower a module of kernels to the ptx dialect, as xDSL pass specifications, in order.

    `target` (for example `"sm_90a"`) overrides the target that the kernels name. Raises TargetError for an unknown one.
    """
    override = () if target is None else (f"tirx-set-target{{target={Target.parse(target)}}}",)
    return override + _LOWER_TO_PTX


@lru_cache
def lower_to_ptx_passes(target: str | None = None) -> PassPipeline:
    """The same pipeline, ready to `apply(ctx, module)` inside another compiler."""
    return PassPipeline.parse_spec(get_xdsl_passes() | get_all_passes(), ",".join(lower_to_ptx_pipeline(target)))
