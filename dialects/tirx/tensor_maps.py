"""Tensor maps: what a launch has to encode and pass so that bulk tensor copies find a tensor in global memory."""

from __future__ import annotations

from math import prod
from typing import Literal, get_args

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from tirx.copy.tma import MAX_BOX, MAX_RANK, MAX_STEP, TENSOR_MAP_TYPES, TensorMapSwizzle, box_problem
from tirx.dialects.fields import fields_text, parse_value
from tirx.dialects.formula import Formula
from tirx.dialects.text_data import TextData
from tirx.values import dataclass

TensorMapFill = Literal["zero", "nan"]
"""What a load finds outside of the tensor (CUtensorMapFloatOOBfill)."""


@dataclass(frozen=True)
class TensorMap:
    """A tensor in global memory that is copied in boxes.

    `argument` is the position of a memref among the kernel's arguments: the tensor starts at its pointer. `dims`
    (elements), `strides` (bytes, of all dimensions but the innermost, which is contiguous) and `box` (elements) have
    the innermost dimension first, as in CUDA; `dims` and `strides` may be formulas of the launch. `type` names a
    CUtensorMapDataType. Of what a box spans along a dimension, a copy has every `steps`-th element, all where there are
    no steps. Raises ValueError for what `cuTensorMapEncodeTiled` would refuse, and for steps along the innermost
    dimension, which it ignores.
    """

    argument: int
    type: str
    dims: tuple[Formula, ...]
    strides: tuple[Formula, ...]
    box: tuple[int, ...]
    swizzle: TensorMapSwizzle = "none"
    fill: TensorMapFill = "zero"
    steps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.argument < 0:
            raise ValueError(f"expected the position of an argument, 0 or more, found {self.argument}")
        if self.type not in TENSOR_MAP_TYPES:
            raise ValueError(f"expected an element type of {', '.join(TENSOR_MAP_TYPES)}, found {self.type}")
        if self.swizzle not in get_args(TensorMapSwizzle):
            raise ValueError(f"expected a swizzle of {', '.join(get_args(TensorMapSwizzle))}, found {self.swizzle}")
        if self.fill not in get_args(TensorMapFill):
            raise ValueError(f"expected fill to be zero or nan, found {self.fill}")
        if self.fill == "nan" and not self.type.startswith(("f", "bf")):
            raise ValueError(f"expected fill zero for {self.type}, found nan")
        if not 1 <= self.rank <= MAX_RANK or len(self.box) != self.rank or len(self.strides) != self.rank - 1:
            raise ValueError(
                f"expected 1 to {MAX_RANK} dims, a box of as many and one stride less, found {self.rank} dims, "
                f"{len(self.box)} sizes of a box and {len(self.strides)} strides"
            )
        if any(not 1 <= size <= MAX_BOX for size in self.box):
            raise ValueError(f"expected sizes of a box from 1 to {MAX_BOX}, found {list(self.box)}")
        if self.steps and (len(self.steps) != self.rank or self.steps[0] != 1):
            raise ValueError(f"expected {self.rank} steps, 1 along the innermost dimension, found {list(self.steps)}")
        if any(not 1 <= step <= MAX_STEP for step in self.steps):
            raise ValueError(f"expected steps from 1 to {MAX_STEP}, found {list(self.steps)}")
        if (problem := box_problem(self.box[0] * self.element_bytes, self.swizzle)) is not None:
            raise ValueError(problem)

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def element_bytes(self) -> int:
        return TENSOR_MAP_TYPES[self.type]

    @property
    def box_bytes(self) -> int:
        """Bytes that the copy of a box counts on its mbarrier, elements outside of the tensor included."""
        steps = self.steps or (1,) * self.rank
        return prod(-(-size // step) for size, step in zip(self.box, steps, strict=True)) * self.element_bytes


@irdl_attr_definition
class TensorMapAttr(TextData[TensorMap]):
    """`#tirx.tensor_map<argument = 0, type = "f16", dims = [64, size(0, 0)], strides = [128], box = [64, 128], swizzle
    = "128B">`: what a launch passes in a parameter `b8[128] align 64` of a `ptx.entry`.
    """

    name = "tirx.tensor_map"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> TensorMap:
        return parse_value(parser, TensorMap)

    def body(self) -> str:
        return fields_text(self.data)
