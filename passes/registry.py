"""The table of passes: what each does, and where its class is.

The room and the command-line name decide where a pass lives: `tirx-check-layouts`, of the room `checks`, is the class
`TirxCheckLayoutsPass` in `tirx/passes/checks/tirx_check_layouts.py`. A pass's module is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name

from xdsl.passes import ModulePass

_PASSES = {
    "tirx-tile-linalg": ("products", "turn functions of linalg operations and copies of memrefs into kernels on tiles"),
    "tirx-set-target": ("kernels", "set the GPU that every kernel is compiled for"),
    "tirx-keep-lines": ("kernels", "let PTX say the lines of the source, on request"),
    "tirx-any-strides": ("kernels", "let kernels take arrays of any strides, on request"),
    "tirx-drop-assertions": ("kernels", "leave assertions out, on request"),
    "tirx-choose": ("kernels", "bind the parameters of kernels to the values that the timing model ranks first"),
    "tirx-specialize": ("kernels", "bind the compile-time parameters of kernels to numbers"),
    "tirx-inline": ("ir", "put functions in the place of their calls, and iterations in that of marked loops"),
    "tirx-fold-subviews": ("copies", "turn parts of views at computed coordinates into views"),
    "tirx-check-sizes": ("checks", "check that sizes which products need to agree do, or let the launch check them"),
    "tirx-split-last-round": ("rings", "share out the tiles of the last round of a grid by parts of K, on request"),
    "tirx-stream-k": ("rings", "share out the iterations of all tiles among the blocks of a grid, on request"),
    "tirx-split-k": ("rings", "let the blocks of a cluster multiply parts of K of one tile, on request"),
    "tirx-resolve-accumulators": (
        "layouts",
        "put accumulators into tensor memory or registers, as the target multiplies",
    ),
    "tirx-mem2reg": ("layouts", "turn register tiles and scalar variables into SSA values"),
    "tirx-split-sums": ("rings", "compute sums in parts of rows where registers have no room for all of them"),
    "tirx-split-pairs": ("rings", "turn what a pair of blocks does into what each of them does"),
    "tirx-load-operands": (
        "products",
        "load operands of mma.sync from shared memory, stage scale factors from global memory",
    ),
    "tirx-pick-layouts": ("layouts", "choose a layout for every tile that has none"),
    "tirx-check-layouts": ("checks", "check that every layout is legal for the hardware that reads or writes it"),
    "tirx-fold-zero-fill": (
        "products",
        "let the first product overwrite an accumulator instead of filling it with zeros",
    ),
    "tirx-fuse-epilogue": ("rings", "store register tiles through shared memory, by bulk tensor stores"),
    "tirx-select-instructions": ("products", "choose the instructions of every product and store the plan on it"),
    "tirx-select-copies": ("copies", "choose the engine of every copy and store it"),
    "tirx-fit-index-tiles": ("layouts", "give copies by index tiles the indices where their threads need them"),
    "tirx-tile-loop": ("rings", "let each block loop over several tiles"),
    "tirx-pipeline-loops": ("rings", "let loops fill rings of shared tiles ahead of what reads them"),
    "tirx-specialize-warps": ("rings", "give copies, products and the rest of a kernel warps of their own"),
    "tirx-multicast-copies": ("rings", "let pairs of blocks load half of the operand that they share each, for both"),
    "tirx-release-early": ("rings", "give slots back as soon as products have read A from them, where the target can"),
    "tirx-prefetch-fragments": (
        "rings",
        "load the fragments of a step of a product before those of the last step are multiplied",
    ),
    "tirx-check-rings": (
        "checks",
        "check that rings neither deadlock nor overwrite a slot, for every number of iterations",
    ),
    "tirx-lower-rings": (
        "rings",
        "lower rings, skewed loops and tile loops to barriers, plain loops and tiles of slots",
    ),
    "tirx-expand-exchanges": ("copies", "take reductions and changes of layout across warps through shared memory"),
    "tirx-allocate-memory": ("layouts", "choose a place in shared and tensor memory for every tile, by lifetime"),
    # Behind the places: threads may race on bytes that two tiles share.
    "tirx-insert-barriers": ("copies", "insert barriers where threads would race on shared or global memory"),
    "tirx-expand-async-copies": ("copies", "start copies by asynchronous engines and wait for them at once"),
    "tirx-expand-copies": ("copies", "take copies between two memories through register tiles, piece by piece"),
    "convert-tirx-to-tcgen05": (
        "products",
        "lower tensor memory and products on it to tcgen05, with all synchronisation",
    ),
    "tcgen05-fuse-reductions": (
        "products",
        "find the largest element of each row as it is loaded, where the target can",
    ),
    "convert-tirx-to-wgmma": ("products", "lower products of shared operands into registers to warpgroup products"),
    "convert-tirx-to-mma": ("products", "lower products of register tiles to warp-level mma.sync"),
    "tirx-materialize-descriptors": ("layouts", "replace symbolic descriptors by the constants the hardware reads"),
    "convert-tcgen05-to-ptx": ("products", "lower tcgen05 operations to PTX instructions"),
    "convert-wgmma-to-ptx": ("products", "lower warpgroup products to PTX instructions"),
    "convert-tirx-to-ptx": ("kernels", "lower kernels, tiles and register tiles to PTX instructions"),
    "convert-math-to-ptx": ("scalars", "lower functions of numbers to PTX instructions and approximations"),
    "convert-arith-to-ptx": ("scalars", "lower arith operations to PTX instructions"),
    "tirx-cse": ("scalars", "compute once what is computed twice, and nothing that is not used"),
    "tirx-hoist-addresses": ("kernels", "compute in front of loops what addresses have in common in all iterations"),
    "tirx-interleave-products": ("products", "start products while threads still make the A of later ones"),
    "convert-scf-to-ptx": ("scalars", "lower structured control flow to PTX branches"),
    "tirx-copy-accumulators": ("layouts", "copy accumulators that are read again, so that products can overwrite them"),
    "tirx-check-synchronization": ("checks", "check that no fence, wait, commit or barrier is missing"),
}
"""Names of passes, in pipeline order -> the room (folder) of the pass, and what it does."""

ACTS_ON: dict[str, tuple[str, ...]] = {
    "tirx-tile-linalg{marked=true}": ("func.func",),
    "tirx-fold-subviews": ("tirx.view", "tirx.subview", "memref.subview"),
    "tirx-check-sizes": ("tirx.view", "tirx.mma"),
    "tirx-resolve-accumulators": ("tirx.alloc", "tirx.mma"),
    "tirx-load-operands": ("tirx.copy", "tirx.mma"),
    "tirx-fold-zero-fill": ("tirx.fill", "tirx.mma", "tirx.async_mma"),
    "tirx-select-instructions": ("tirx.mma", "tirx.async_mma"),
    "tirx-fit-index-tiles": ("tirx.copy",),
    "tirx-release-early": ("tirx.release",),
    "tirx-prefetch-fragments": ("tirx.mma",),
    "tcgen05-fuse-reductions": ("tirx.reduce",),
    "tirx-expand-async-copies": ("tirx.copy",),
    "convert-tirx-to-wgmma": ("tirx.await", "tirx.mma", "tirx.async_mma"),
    "convert-tirx-to-mma": ("tirx.mma",),
    "tirx-materialize-descriptors": ("tcgen05.", "wgmma."),
    "convert-tcgen05-to-ptx": ("tcgen05.", "tirx.subview", "tirx.reshape"),
    "convert-wgmma-to-ptx": ("wgmma.",),
    "convert-math-to-ptx": ("math.",),
    "tirx-hoist-addresses": ("scf.for",),
    "tirx-interleave-products": ("wgmma.",),
    "convert-scf-to-ptx": ("scf.",),
}
"""Steps of the pipeline -> operations, or dialects with a point, without which the pass does nothing."""

PASS_SUMMARIES = {name: summary for name, (_, summary) in _PASSES.items()}
"""What every pass does, in one line each and in pipeline order."""


def pass_path(name: str) -> str:
    """The place of the class of a pass, as `module:Class`."""
    room, _ = _PASSES[name]
    words = name.split("-")
    return f"tirx.passes.{room}.{'_'.join(words)}:{''.join(word.capitalize() for word in words)}Pass"


def get_all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """A factory for every pass class, as xDSL's pipelines and universes want them."""
    return {name: partial(resolve_name, pass_path(name)) for name in PASS_SUMMARIES}
