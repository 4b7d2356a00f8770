"""tcgen05.mma in all its forms (PTX ISA, section 9.7.16.10.9)."""

from __future__ import annotations

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B64, PRED, U32, Mask
from tirx.sim.isa.decoder import Decoder, single
from tirx.sim.isa.tcgen05_common import cta_group, value_of
from tirx.sim.program.code import Source, Step
from tirx.sim.reader.syntax import Address, Name, Operand, Vector
from tirx.sim.targets import TARGETS
from tirx.sim.tensor.collectors import OPERATIONS
from tirx.sim.tensor.instruction_descriptor import KINDS
from tirx.sim.tensor.mma import MmaForm, MmaOperands, tensor_mma
from tirx.sim.tensor.scale_factors import BLOCKS

_SCALED_KINDS = ("f16", "tf32")  # kinds with scale-input-d
_MAX_SCALE = 15
_FOUR_BIT_KINDS = ("mxf4", "mxf4nvf4")
_TABLE_KINDS = ("f8f6f4", "mxf8f6f4")
# Which buffers a collector may be of: without and with .ws. The first is discarded if there is no modifier.
_BUFFERS = {False: ("a",), True: ("b0", "b1", "b2", "b3")}
_NOT_WITH_SHIFT = ("use", "fill")


def decode_mma(decoder: Decoder, operation: str) -> Step:
    form = _form(decoder)
    what = form.name
    block_scaled = form.block > 0
    counts = (7,) if block_scaled else (5, 6, 7)
    decoder.finish(*(count + (form.sparse or form.table) for count in counts))
    operands = list(decoder.operands)
    behind_b = decoder.address(operands.pop(3), bits=32).values if form.sparse or form.table else None
    d = decoder.address(operands[0], bits=32).values
    in_tensor = isinstance(operands[1], Address)
    a = decoder.address(operands[1], bits=32).values if in_tensor else decoder.source(operands[1], B64)
    b, idesc = decoder.source(operands[2], B64), decoder.source(operands[3], U32)
    rest = operands[4:]
    factors = [decoder.address(operand, bits=32).values for operand in rest[:2]] if block_scaled else []
    if block_scaled:
        del rest[:2]
    if form.ashift and not in_tensor:
        raise decoder.error("expected A in tensor memory with .ashift")
    disabled = _disabled_lanes(decoder, form, rest)
    if not 1 <= len(rest) <= 2:
        raise decoder.error("expected enable-input-d as the last operand but one, or the last")
    enable = decoder.source(rest[0], PRED)
    mask_source = decoder.source(rest[1], B64) if len(rest) == 2 and form.weight_stationary else None
    scale = decoder.constant(rest[1]) if len(rest) == 2 and not form.weight_stationary else None
    if scale is not None:
        decoder.need_feature("tcgen05.scale_input_d")
    if scale is not None and (form.kind not in _SCALED_KINDS or not 0 <= scale <= _MAX_SCALE):
        raise decoder.error(f"expected scale-input-d from 0 to {_MAX_SCALE} with kind f16 or tf32, found {scale}")

    def step(group: ThreadGroup, mask: Mask) -> None:
        lane = single(mask, what)
        found = None if behind_b is None else value_of(behind_b, group, mask, lane)
        operands = MmaOperands(
            d=value_of(d, group, mask, lane),
            a=value_of(a, group, mask, lane),
            b=value_of(b, group, mask, lane),
            descriptor=value_of(idesc, group, mask, lane),
            accumulate=bool(enable(group, mask)[lane]),
            a_in_tensor_memory=in_tensor,
            zero_mask=None if mask_source is None else value_of(mask_source, group, mask, lane),
            disabled_lanes=tuple(value_of(source, group, mask, lane) for source in disabled) or None,
            scale=scale,
            scale_factors=(value_of(factors[0], group, mask, lane), value_of(factors[1], group, mask, lane))
            if factors
            else None,
            metadata=found if form.sparse else None,
            table=found if form.table else None,
        )
        tensor_mma(group.cta, group.thread(lane), form, operands)

    return step


def _form(decoder: Decoder) -> MmaForm:
    """Decodes the modifiers of tcgen05.mma."""
    weight_stationary = decoder.modifiers[:1] == ["ws"] and decoder.flag("ws")
    sparse = decoder.flag("sp")
    pair = cta_group(decoder) == 2
    kind = decoder.need(*(f"kind::{name}" for name in KINDS))[len("kind::") :]
    if weight_stationary and (kind in BLOCKS or pair):
        raise decoder.error(f"there is no tcgen05.mma.ws of {'cta_group::2' if pair else f'kind::{kind}'}")
    size, block = _block(decoder, kind) if kind in BLOCKS else (None, 0)
    table = not weight_stationary and not sparse and kind in _TABLE_KINDS and decoder.flag("decompress::lut::b")
    ashift = not table and not weight_stationary and not block and decoder.flag("ashift")
    buffers = _BUFFERS[weight_stationary]
    collector = decoder.take(*(f"collector::{buffer}::{name}" for buffer in buffers for name in OPERATIONS))
    _, buffer, usage = collector.split("::") if collector else ("", buffers[0], "discard")
    of_b = None if weight_stationary else decoder.take(*(f"collector::b::{name}" for name in OPERATIONS))
    if of_b is not None:
        decoder.need_feature("tcgen05.collector::b")
    if ashift and usage in _NOT_WITH_SHIFT:
        raise decoder.error(f".ashift cannot be combined with .collector::a::{usage}")
    counted = size is not None and size.startswith("scale_vec")
    for feature in _features(kind, sparse, size, table):
        decoder.need_feature(feature)
    usage_b = "discard" if of_b is None else of_b.rpartition("::")[2]
    return MmaForm(kind, weight_stationary, sparse, pair, block, counted, ashift, buffer, usage, usage_b, table)


def _disabled_lanes(decoder: Decoder, form: MmaForm, rest: list[Operand]) -> list[Source]:
    """Takes disable-output-lane, if it is there."""
    first = rest[0] if rest else None
    if not isinstance(first, Vector):
        return []
    count = 8 if form.pair else 4
    registers = all(isinstance(item, Name) for item in first.items)
    if form.weight_stationary or form.block or len(first.items) != count or not registers:
        raise decoder.error(
            "expected registers of lanes to disable, four for each CTA, and not with .ws or .block_scale"
        )
    del rest[0]
    return [decoder.source(item, U32) for item in first.items]


def _features(kind: str, sparse: bool, size: str | None, table: bool) -> list[str]:
    """Returns the names of the rows of `TARGETS` that a form needs."""
    asked = [f"tcgen05.kind::{kind}", f"tcgen05.kind::{kind}.{size}", f"tcgen05.{size}"]
    asked += ["tcgen05.decompress::lut::b", f"tcgen05.decompress::lut::b.{size}"] if table else []
    return [name for name in asked if name in TARGETS] + ["tcgen05.sparse_mxf4"] * (sparse and kind in _FOUR_BIT_KINDS)


def _block(decoder: Decoder, kind: str) -> tuple[str | None, int]:
    """Returns the vector size as it is written, and the number of elements that share a scale factor."""
    decoder.need("block_scale")
    blocks = BLOCKS[kind]
    size = decoder.take(*(name for name in blocks if name is not None))
    if size not in blocks:
        raise decoder.error(f"kind::{kind} must say how many elements share a scale factor: .block16 or .block32")
    return size, blocks[size]
