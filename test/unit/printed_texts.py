"""Texts that only users read: fixes and sources of the rules of the hardware, and the help of the commands."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from unit.examples import EXAMPLES

from tirx import embed
from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import kernels
from tirx.passes import lower_to_ptx_passes
from tirx.text.rules import explain, hardware_rules
from tirx.tools import flags, tirx_check, tirx_explain, tirx_sim, tirx_viz
from tirx.tools.predictions import SCHEDULED, Predictor
from tirx.viz import presets

_PREDICTED = (
    ("gemm_any_target", "auto", ""),
    ("wgmma_any_size_gemm", "h100", "order=group"),
    ("wgmma_batched_gemm", "auto", "cluster=rows"),
    ("wgmma_gemm", "auto", "pipeline=off"),
    ("wgmma_split_k_gemm", "auto", ""),
    ("split_k_gemm", "auto", "cluster=columns"),
    ("tcgen05_gemm", "auto", ""),
    ("tcgen05_nvfp4_block_scaled_gemm", "auto", ""),
    ("mma_m8n8k4_f64_gemm", "a100", ""),
    ("grouped_gemm", "auto", ""),
)
"""Example, GPU and options of the pipeline."""

_PARSERS = (
    lambda: flags._argument_parser(""),
    tirx_check._parser,
    tirx_explain._parser,
    tirx_sim._parser,
    tirx_viz._parser,
)
"""They are made while the test runs: who tests them is noted."""


def rules_of_the_hardware() -> str:
    """Explanations by `--explain` of each row of the tables."""
    return "\n\n".join(filter(None, map(explain, hardware_rules())))


def flags_of_commands() -> str:
    """Help of each flag; its form depends on the version of Python."""
    lines: list[str] = []
    for parser in (make() for make in _PARSERS):
        lines += [parser.prog, str(parser.description), str(parser.epilog)]
        for each in parser._actions[1:]:  # but --help itself
            names, choices = ", ".join(each.option_strings) or each.dest, list(each.choices or ())
            lines.append(f"{names} {each.metavar} {each.nargs} {each.default!r} {each.const!r} {choices}: {each.help}")
    return "\n".join(lines)


def presets_of_the_visualizer() -> str:
    """Each tile that the page offers."""
    shown = (
        f"{each.group}: {each.name}: {each.layout} of {each.shape} {each.dtype}: {each.note}" for each in presets()
    )
    return "\n".join(shown)


def predictions() -> str:
    """Output of `--predict` for the products of examples, on the GPU of each and on others."""
    lines: list[str] = []
    for name, gpu, options in _PREDICTED:
        module = embed.parse((EXAMPLES / f"{name}.mlir").read_text(), f"{name}.mlir")
        target = next((str(each.target_info) for each in kernels(module) if each.target is not None), "sm_90a")
        predictor, heard = Predictor(gpu, (2000, 1500, 768)), list[object]()
        passes = lower_to_ptx_passes(target, options=options).passes
        front = passes[: [each.name for each in passes].index(SCHEDULED) + 1]
        with diagnostic_handler(heard.append):
            embed.run(module, front, after_each=predictor.after)
        if report := predictor.report():
            lines.append(f"{name}, {gpu} {options}\n{report}")
    return "\n".join(lines)
