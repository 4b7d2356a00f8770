"""
The passes of tirx, by name. A pass's module is imported when the pass is first used.

The command-line name decides where a pass lives: `tirx-check-layouts` is the class `TirxCheckLayoutsPass` in
`tirx/passes/tirx_check_layouts.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from xdsl.passes import ModulePass

from tirx.passes.pipeline import lower_to_ptx_passes, lower_to_ptx_pipeline

if TYPE_CHECKING:
    from tirx.passes.convert_arith_to_ptx import ConvertArithToPtxPass
    from tirx.passes.convert_scf_to_ptx import ConvertScfToPtxPass
    from tirx.passes.convert_tcgen05_to_ptx import ConvertTcgen05ToPtxPass
    from tirx.passes.convert_tirx_to_mma import ConvertTirxToMmaPass
    from tirx.passes.convert_tirx_to_ptx import ConvertTirxToPtxPass
    from tirx.passes.convert_tirx_to_tcgen05 import ConvertTirxToTcgen05Pass
    from tirx.passes.convert_wgmma_to_ptx import ConvertWgmmaToPtxPass
    from tirx.passes.tirx_allocate_memory import TirxAllocateMemoryPass
    from tirx.passes.tirx_check_layouts import TirxCheckLayoutsPass
    from tirx.passes.tirx_check_rings import TirxCheckRingsPass
    from tirx.passes.tirx_check_synchronization import TirxCheckSynchronizationPass
    from tirx.passes.tirx_expand_copies import TirxExpandCopiesPass
    from tirx.passes.tirx_fold_zero_fill import TirxFoldZeroFillPass
    from tirx.passes.tirx_insert_barriers import TirxInsertBarriersPass
    from tirx.passes.tirx_materialize_descriptors import TirxMaterializeDescriptorsPass
    from tirx.passes.tirx_mem2reg import TirxMem2regPass
    from tirx.passes.tirx_pick_layouts import TirxPickLayoutsPass
    from tirx.passes.tirx_select_copies import TirxSelectCopiesPass
    from tirx.passes.tirx_select_instructions import TirxSelectInstructionsPass
    from tirx.passes.tirx_set_target import TirxSetTargetPass
    from tirx.passes.tirx_split_pairs import TirxSplitPairsPass

__all__ = [
    "PASS_SUMMARIES",
    "ConvertArithToPtxPass",
    "ConvertScfToPtxPass",
    "ConvertTcgen05ToPtxPass",
    "ConvertTirxToMmaPass",
    "ConvertTirxToPtxPass",
    "ConvertTirxToTcgen05Pass",
    "ConvertWgmmaToPtxPass",
    "TirxAllocateMemoryPass",
    "TirxCheckLayoutsPass",
    "TirxCheckRingsPass",
    "TirxCheckSynchronizationPass",
    "TirxExpandCopiesPass",
    "TirxFoldZeroFillPass",
    "TirxInsertBarriersPass",
    "TirxMaterializeDescriptorsPass",
    "TirxPickLayoutsPass",
    "TirxMem2regPass",
    "TirxSelectCopiesPass",
    "TirxSelectInstructionsPass",
    "TirxSetTargetPass",
    "TirxSplitPairsPass",
    "get_all_passes",
    "lower_to_ptx_passes",
    "lower_to_ptx_pipeline",
]

PASS_SUMMARIES = {
    "tirx-set-target": "set the GPU that every kernel is compiled for",
    "tirx-mem2reg": "turn register tiles and scalar variables into SSA values",
    "tirx-split-pairs": "turn what a pair of blocks does into what each of them does",
    "tirx-pick-layouts": "choose a layout for every tile that has none",
    "tirx-check-layouts": "check that every layout is legal for the hardware that reads or writes it",
    "tirx-fold-zero-fill": "let the first product overwrite an accumulator instead of filling it with zeros",
    "tirx-select-instructions": "choose the instructions of every product and store the plan on it",
    "tirx-select-copies": "choose the engine of every copy and store it",
    "tirx-check-rings": "check that rings neither deadlock nor overwrite a slot, for every number of iterations",
    "tirx-allocate-memory": "choose a place in shared and tensor memory for every tile, by lifetime",
    "tirx-insert-barriers": "insert barriers where threads would race on shared or global memory",
    "tirx-expand-copies": "take copies between two memories through register tiles, piece by piece",
    "convert-tirx-to-tcgen05": "lower tensor memory and products on it to tcgen05, with all synchronisation",
    "convert-tirx-to-mma": "lower products of register tiles to warp-level mma.sync",
    "tirx-materialize-descriptors": "replace symbolic descriptors by the constants the hardware reads",
    "convert-tcgen05-to-ptx": "lower tcgen05 operations to PTX instructions",
    "convert-wgmma-to-ptx": "lower warpgroup products to PTX instructions",
    "convert-tirx-to-ptx": "lower kernels, tiles and register tiles to PTX instructions",
    "convert-arith-to-ptx": "lower arith operations to PTX instructions",
    "convert-scf-to-ptx": "lower structured control flow to PTX branches",
    "tirx-check-synchronization": "check that no fence, wait, commit or barrier is missing",
}
"""What every pass does, in one line each and in pipeline order."""


def _path(name: str) -> str:
    words = name.split("-")
    return f"tirx.passes.{'_'.join(words)}:{''.join(word.capitalize() for word in words)}Pass"


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """A factory for every pass class, as xDSL's pipelines and universes want them."""
    return {name: partial(resolve_name, _path(name)) for name in PASS_SUMMARIES}


def __getattr__(name: str) -> type[ModulePass]:
    """The pass class of that name, imported on first use: `from tirx.passes import TirxPickLayoutsPass`."""
    for path in map(_path, PASS_SUMMARIES):
        if path.endswith(f":{name}"):
            return resolve_name(path)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
