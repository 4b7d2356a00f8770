"""Forms of mma.sync.m8n8k4."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from unit.cases import together
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute

from tirx.dialects.ptx.mma import _accumulator  # pyright: ignore[reportPrivateUsage]
from tirx.rules import InstructionFormError


def test_accumulators():
    assert _accumulator("C", [i32] * 4) == "f16"
    assert _accumulator("C", [f32] * 8) == "f32"


@together("types", [[], [f32], [i32] * 8, [f32] * 4, [f32] * 7 + [i32], [i32] + [f32] * 7])
def test_no_accumulators(types: Sequence[Attribute]):
    with pytest.raises(InstructionFormError, match="expected C to be 4 registers i32"):
        _accumulator("C", types)
