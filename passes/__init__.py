"""The passes of tirx, by name. A pass's module is imported when the pass is first used.

The command-line name decides where a pass lives: `tirx-check-layouts` is the class `TirxCheckLayoutsPass` in
`tirx/passes/tirx_check_layouts.py`.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass

from tirx.passes.pipeline import OptionError, lower_to_ptx_passes, lower_to_ptx_pipeline
from tirx.passes.registry import PASS_SUMMARIES, get_all_passes, pass_path

if TYPE_CHECKING:
    from tirx.passes.checks.tirx_check_layouts import TirxCheckLayoutsPass
    from tirx.passes.checks.tirx_check_rings import TirxCheckRingsPass
    from tirx.passes.checks.tirx_check_synchronization import TirxCheckSynchronizationPass
    from tirx.passes.copies.tirx_expand_copies import TirxExpandCopiesPass
    from tirx.passes.copies.tirx_insert_barriers import TirxInsertBarriersPass
    from tirx.passes.copies.tirx_select_copies import TirxSelectCopiesPass
    from tirx.passes.kernels.convert_tirx_to_ptx import ConvertTirxToPtxPass
    from tirx.passes.kernels.tirx_set_target import TirxSetTargetPass
    from tirx.passes.layouts.tirx_allocate_memory import TirxAllocateMemoryPass
    from tirx.passes.layouts.tirx_materialize_descriptors import TirxMaterializeDescriptorsPass
    from tirx.passes.layouts.tirx_mem2reg import TirxMem2regPass
    from tirx.passes.layouts.tirx_pick_layouts import TirxPickLayoutsPass
    from tirx.passes.products.convert_tcgen05_to_ptx import ConvertTcgen05ToPtxPass
    from tirx.passes.products.convert_tirx_to_mma import ConvertTirxToMmaPass
    from tirx.passes.products.convert_tirx_to_tcgen05 import ConvertTirxToTcgen05Pass
    from tirx.passes.products.convert_wgmma_to_ptx import ConvertWgmmaToPtxPass
    from tirx.passes.products.tirx_fold_zero_fill import TirxFoldZeroFillPass
    from tirx.passes.products.tirx_load_operands import TirxLoadOperandsPass
    from tirx.passes.products.tirx_select_instructions import TirxSelectInstructionsPass
    from tirx.passes.rings.tirx_fuse_epilogue import TirxFuseEpiloguePass
    from tirx.passes.rings.tirx_pipeline_loops import TirxPipelineLoopsPass
    from tirx.passes.rings.tirx_prefetch_fragments import TirxPrefetchFragmentsPass
    from tirx.passes.rings.tirx_specialize_warps import TirxSpecializeWarpsPass
    from tirx.passes.rings.tirx_split_pairs import TirxSplitPairsPass
    from tirx.passes.rings.tirx_tile_loop import TirxTileLoopPass
    from tirx.passes.scalars.convert_arith_to_ptx import ConvertArithToPtxPass
    from tirx.passes.scalars.convert_scf_to_ptx import ConvertScfToPtxPass

__all__ = [
    "PASS_SUMMARIES",
    "ConvertArithToPtxPass",
    "ConvertScfToPtxPass",
    "ConvertTcgen05ToPtxPass",
    "ConvertTirxToMmaPass",
    "ConvertTirxToPtxPass",
    "ConvertTirxToTcgen05Pass",
    "ConvertWgmmaToPtxPass",
    "OptionError",
    "TirxAllocateMemoryPass",
    "TirxCheckLayoutsPass",
    "TirxCheckRingsPass",
    "TirxCheckSynchronizationPass",
    "TirxExpandCopiesPass",
    "TirxFoldZeroFillPass",
    "TirxFuseEpiloguePass",
    "TirxInsertBarriersPass",
    "TirxLoadOperandsPass",
    "TirxMaterializeDescriptorsPass",
    "TirxPickLayoutsPass",
    "TirxMem2regPass",
    "TirxPipelineLoopsPass",
    "TirxPrefetchFragmentsPass",
    "TirxSelectCopiesPass",
    "TirxSelectInstructionsPass",
    "TirxSetTargetPass",
    "TirxSpecializeWarpsPass",
    "TirxSplitPairsPass",
    "TirxTileLoopPass",
    "get_all_passes",
    "lower_to_ptx_passes",
    "lower_to_ptx_pipeline",
]


def __getattr__(name: str) -> type[ModulePass]:
    """The pass class of that name, imported on first use: `from tirx.passes import TirxPickLayoutsPass`."""
    found = next((path for path in map(pass_path, PASS_SUMMARIES) if path.endswith(f":{name}")), None)
    if found is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return resolve_name(found)
