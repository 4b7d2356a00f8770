"""From a module of tile programs to PTX text, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tirx.dialects.xdsl_private import discard
from tirx.passes import lower_to_ptx_passes
from tirx.ptx.printer import print_ptx
from tirx.text.collector import paused_collector
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context


def compile(module_or_text: ModuleOp | str, target: str | None = None, options: str = "") -> str:
    """PTX for the kernels of a module, given as IR or as MLIR text.

    `target` (for example `"sm_100a"`) overrides the target that the kernels name. `options` are those of the pipeline,
    such as `"pipeline=off"` or `"stages=4"` (see `tirx.passes.lower_to_ptx_pipeline`). A module that is given as IR
    stays as it is. Raises LocatedError, with the line of the text where there is one, for input that is not legal,
    TargetError for an unknown `target` and OptionError for unknown options; warnings go to the handler of
    `tirx.diagnostics`.
    """
    with paused_collector():
        module = lower(module_or_text, target, options)
        ptx = print_ptx(module)
        discard(module.body)
        return ptx


def lower(
    module_or_text: ModuleOp | str,
    target: str | None = None,
    options: str = "",
    after_each: Callable[[ModulePass, ModuleOp], None] | None = None,
    passes: Sequence[ModulePass] | None = None,
) -> ModuleOp:
    """The module of the ptx dialect whose text `compile` returns; `after_each` is called behind each pass.

    `passes` are in the place of those of the target and the options.
    """
    with paused_collector():
        context = new_context()
        match module_or_text:
            case str() if module_or_text.endswith(".mlir") and "\n" not in module_or_text:
                raise TypeError(
                    f"expected MLIR text, found the name of a file, '{module_or_text}'; pass what it contains"
                )
            case str():
                module = parse_located(context, module_or_text, "<string>")
            case ModuleOp():
                module = module_or_text.clone()
            case _:
                raise TypeError(f"expected a module or its text, found {type(module_or_text).__name__}")
        run_passes(context, module, passes or lower_to_ptx_passes(target, options).passes, after_each)
        return module
