"""Tiles from texts: the layout notation, CuTe, Triton, TVM, and the tiles of a program in MLIR."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass, PassPipeline
from xdsl.transforms import get_all_passes as get_xdsl_passes

from tirx.diagnostics import position
from tirx.dialects.tirx.attributes import ComposeLayoutAttr, TileLayoutAttr, TileType
from tirx.layout import (
    ComposeLayout,
    LayoutError,
    LinearLayout,
    TileLayout,
    cute_shape,
    element_type,
    from_linear,
    parse_layout,
    resolve,
)
from tirx.layout.swizzle import SwizzleLayout
from tirx.passes import lower_to_ptx_pipeline
from tirx.passes.registry import get_all_passes
from tirx.text.collector import paused_collector
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context
from tirx.viz.tile import Tile

_CUTE = re.compile(r"\s*(?:\(|_?[0-9]|(?:Swizzle|Sw|S)\s*<)")
_TRITON = re.compile(r"\s*(?:#\w+\s*=\s*)?#(?:ttg|triton_gpu)\.|\s*-\s*(?:register|offset|lane|warp|block)\b")
_BASIS = re.compile(r"_?(\d+)@(\d+)")
"""A stride of CuTe that counts in a dimension: 2@1 is two elements of the second."""

_OFFSET = re.compile(r"\s*ArithTuple\([^)]*\)\s*o\s*")
_LAST_PASS = "tirx-pick-layouts"


def read_tiles(text: str, shape: Sequence[int] | None = None, dtype: str = "f16") -> list[Tile]:
    """The tile that one layout text describes, in any notation: of `tirx.layout`, CuTe, Triton or TVM.

    shape: logical dimensions; by default those that the text names, or the extents of the shard. dtype: element type.
    Raises LayoutError, with the character offset of the mistake.
    """
    bits = element_type(dtype).storage_bits
    found: TileLayout | ComposeLayout
    if _TRITON.match(text):
        linear = LinearLayout.parse(text)
        found, own = from_linear(linear), linear.shape
    elif _CUTE.match(text):
        composed = ComposeLayout.from_cute(text, bits)
        found, own = (composed.tile if composed.swizzle.is_identity else composed), cute_shape(text)
    else:
        layout = parse_layout(text)
        if isinstance(layout, SwizzleLayout) and shape is None:
            raise LayoutError("a swizzle alone has no size: expected --shape", 0)
        found = resolve(layout, () if shape is None else shape)
        own = found.extents or (1,)
    return [Tile(str(found), found, tuple(own if shape is None else shape), dtype, group="Given")]


def read_thread_value(text: str, shape: Sequence[int], dtype: str = "f16") -> Tile:
    """The tile that a thread-value layout of CuTe spreads over lanes and registers.

    Its indices count the elements of `shape` with the first dimension fastest, or name dimensions as in `2@1`, which
    is how CUTLASS prints atoms. Raises LayoutError.
    """

    def index(stride: re.Match[str]) -> str:
        if int(stride[2]) >= len(shape):
            raise LayoutError(f"expected a dimension below {len(shape)}, found '{stride[0]}'")
        return str(int(stride[1]) * prod(shape[: int(stride[2])]))

    plain = _BASIS.sub(index, _OFFSET.sub("", text, count=1))
    layout = TileLayout.from_thread_value(plain, tuple(shape))
    return Tile(str(layout), layout, tuple(shape), dtype, group="Given")


class TileCollector:
    """The tiles of a program with a layout, each with its place, as `tirx-pick-layouts` leaves them."""

    def __init__(self) -> None:
        self.tiles: list[Tile] | None = None
        """None before that pass has run."""

    def after(self, module_pass: ModulePass, module: ModuleOp) -> None:
        """Reads the tiles behind the pass; for `compile_program`."""
        if module_pass.name == _LAST_PASS:
            self.tiles = list(_tiles_of(module))


def program_tiles(text: str, name: str, target: str | None = None) -> list[Tile]:
    """Every tile of a program with a layout, as `TileCollector`.

    target: overrides the target that the kernels name. Raises LocatedError for a program that is not legal.
    """
    collector = TileCollector()
    before = takewhile(lambda spec: spec != _LAST_PASS, lower_to_ptx_pipeline(target))
    compile_program(text, name, [*before, _LAST_PASS], collector.after)
    return collector.tiles or []


def compile_program(
    text: str, name: str, specs: Sequence[str], watch: Callable[[ModulePass, ModuleOp], None]
) -> ModuleOp:
    """The module of a program behind these passes; `watch` sees it behind each.

    Raises LocatedError for a program that is not legal.
    """
    with paused_collector():
        context = new_context()
        module = parse_located(context, text, name)
        pipeline = PassPipeline.parse_spec(get_xdsl_passes() | get_all_passes(), ",".join(specs))
        run_passes(context, module, pipeline.passes, watch)
        return module


def _tiles_of(module: ModuleOp) -> Iterator[Tile]:
    seen: set[tuple[str | None, str]] = set()
    for op in module.walk():
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for tile in (*_values(op, (*op.results, *arguments)), *_attributes(op)):
            if (tile.place, tile.name) not in seen:
                seen.add((tile.place, tile.name))
                yield tile


def _values(op: Operation, values: Sequence[SSAValue]) -> Iterator[Tile]:
    for value in values:
        if isinstance(value.type, TileType) and value.type.layout is not None:
            kind = value.type
            who = op.name if value.name_hint is None else f"%{value.name_hint}"
            name = f"{who}: {'x'.join(map(str, kind.dims))}x{kind.dtype.name}, {kind.memory}"
            layout = value.type.layout
            yield Tile(
                name, layout, kind.dims, kind.dtype.name, _place(op), "This program", f"{op.name}; {kind.memory}"
            )


def _attributes(op: Operation) -> Iterator[Tile]:
    """Layouts that a kernel carries as attributes."""
    attributes: dict[str, Attribute] = {**op.attributes, **op.properties}
    for name, attribute in attributes.items():
        if isinstance(attribute, TileLayoutAttr | ComposeLayoutAttr):
            layout = attribute.data
            yield Tile(f"{name} of {op.name}", layout, layout.extents, place=_place(op), group="This program")


def _place(op: Operation) -> str | None:
    where = position(op.location)
    return None if where is None else f"{where[0]}:{where[1]}:{where[2]}"
