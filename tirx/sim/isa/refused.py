"""Known instructions that are not simulated, and why."""

from __future__ import annotations

from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.program.code import Step

_TEXTURES = "textures and surfaces are not simulated: expected loads and stores of global memory"
_REASONS = {
    "fabric": "fabric is not simulated: its endpoints are memory of other GPUs, and there is one here",
    "multimem": "multimem is not simulated: its addresses mean memory of several GPUs, and there is one here",
    **dict.fromkeys(("tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"), _TEXTURES),
}


@instruction(*_REASONS)
def _refused(decoder: Decoder) -> Step:
    raise decoder.error(_REASONS[decoder.root])
