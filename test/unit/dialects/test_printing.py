"""Attributes of any name on any operation survive printing and parsing."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

from tirx.text.parsing import parse_located
from tirx.universe import new_context

OPERATIONS = Path(__file__).resolve().parents[2] / "dialects" / "tirx"
MARK = "test.mark"


@pytest.mark.parametrize("name", ["ops", "rings", "maps"])
def test_attributes_of_operations_with_a_syntax_of_their_own(name: str):
    module = parse_located(new_context(), (OPERATIONS / f"{name}.mlir").read_text())
    for op in module.walk():
        op.attributes[MARK] = UnitAttr()
    read = parse_located(new_context(), str(module))
    assert str(read) == str(module)
    assert [op.name for op in read.walk() if _is_own(op) and MARK not in op.attributes] == []


def _is_own(op: Operation) -> bool:
    return op.name.startswith("tirx.")
