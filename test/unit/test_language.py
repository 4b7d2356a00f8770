"""
The programs of `docs/language.md` compile, assemble, and compute what the page says that numpy computes.

The page has every operation of the tile level, every clause of it, type and attribute.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together
from unit.sim.assembled import assembled
from xdsl.irdl import IRDLOperation

import tirx
from tirx import embed
from tirx.dialects.tirx import TIRX, MemorySpace, kernels
from tirx.interp import run_kernel
from tirx.layout import element_type
from tirx.passes.kernels.tirx_specialize import TirxSpecializePass

_PAGE = Path(__file__).parents[2] / "docs" / "language.md"
_TEXT = _PAGE.read_text()
_PROGRAM = re.compile(r"^<!-- numpy: d = (?P<d>.*?) -->\n```mlir\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAMS = {found["text"].split("tirx.kernel @")[1].split("(")[0]: found for found in _PROGRAM.finditer(_TEXT)}

_TYPES: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "tf32": np.float32,
    "si8": np.int8,
    "i32": np.int32,
    "i1": np.bool_,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
_SCALAR = 2.0
_DYNAMIC = 40
"""Extent that `?` stands for."""

_SCHEDULED = {"bulk", "clusters", "loops", "queues", "rings", "roles", "slots", "threads", "tile_loop"}
"""Modules of `tirx.dialects.tirx` without operations of the tile level: passes make those."""

_OTHERS = {"tirx.mma_sync", "tirx.address", "tirx.words", "tirx.pack", "tirx.unpack", "tirx.ticket"}
"""Operations of other modules that only passes make."""

_CLAUSES = {
    "scale_a": "scales",
    "scale_b": "scales",
    "place": "at",
    "dims": "dims?",
    "sized": "to",
    "combination": "add",
    "adds": "add",
    "kind": "add",
    "order": "acquire",
    "expected": "cas",
    "scope": "gpu",
    "predicate": "sge",
    "progress": "in_order",
}
"""Property or optional operand -> the clause that it is, where that has another name."""

_NO_CLAUSES = {"operandSegmentSizes", "sym_name", "function_type", "axis", "formula", "offsets", "parameter"}


def _arguments(text: str) -> dict[str, NDArray[Any] | float]:
    """Small integers for every memref of the kernel, in the order of its arguments; strides of [1, n] are columns."""
    rng = np.random.default_rng(0)
    found: dict[str, NDArray[Any] | float] = {}
    head = text[: text.index("target(")]
    for name, rows, columns, dtype, strided, scalar in re.findall(
        r"%(\w+): (?:memref<(\d+|\?)x(\d+)x(\w+)(, strided<\[1, \d+\]>)?>|(f32))", head
    ):
        if scalar:
            found[name] = _SCALAR
            continue
        shape = (_DYNAMIC if rows == "?" else int(rows), int(columns))
        values = 2.0 ** rng.integers(-1, 2, shape) if dtype == "f8E8M0FNU" else rng.integers(-4, 5, shape)
        values = values.astype(_TYPES[dtype])
        found[name] = np.asfortranarray(values) if strided else values
    return found


def test_every_program_has_its_numbers_and_a_name_of_its_own() -> None:
    assert _TEXT.count("```mlir") == len(_PROGRAMS)


def _operations() -> list[type[IRDLOperation]]:
    """The operations of the tile level: all of the dialect but those that passes make."""
    modules = {op: op.__module__.split(".")[-1] for op in TIRX.operations if issubclass(op, IRDLOperation)}
    assert _SCHEDULED <= set(modules.values()) and {op.name for op in modules} >= _OTHERS
    return [op for op, module in modules.items() if module not in _SCHEDULED and op.name not in _OTHERS]


@together("op", _operations())
def test_every_operation_is_on_the_page(op: type[IRDLOperation]) -> None:
    """Each stands in a program, but for the one of a form that only passes make, and its clauses in the text."""
    assert f"`{op.name}" in _TEXT, f"{op.name} is not on the page"
    if op.name != "tirx.cta_rank":
        found = any(f"{op.name} " in each["text"] or f"{op.name}\n" in each["text"] for each in _PROGRAMS.values())
        assert found, f"{op.name} is in no program of the page"
    definition = op.get_irdl_definition()
    optional = [name for name, operand in definition.operands if type(operand).__name__ == "OptOperandDef"]
    for name in {*definition.properties, *optional} - _NO_CLAUSES:
        clause = _CLAUSES.get(name, name)
        assert re.search(rf"`[^`\n]*\b{clause}\b[^`\n]*`", _TEXT), f"{op.name} {clause}"


def test_every_element_type_is_in_a_program() -> None:
    """Each floating-point type that the page names, and the integers that maps compute with."""
    sentence = re.search(r"^Element types are (.*?), and integers", _TEXT, re.MULTILINE | re.DOTALL)
    assert sentence is not None
    named = sentence[1].replace("`", " ").replace(",", " ").split()
    assert all(element_type(name).bits for name in named)
    assert len(named) == 11
    programs = "\n".join(found["text"] for found in _PROGRAMS.values())
    for name in (*named, "i8", "i16", "i32", "i64"):
        assert re.search(rf"(x|: |to ){name}\b", programs), name


def test_every_memory_and_attribute_of_layouts_is_on_the_page() -> None:
    for memory in MemorySpace:
        assert f"| `{memory}` |" in _TEXT
    for attribute in ("tile_layout", "swizzle_layout", "compose_layout", "zero_columns"):
        assert f"`#tirx.{attribute}`" in _TEXT


@pytest.mark.parametrize("name", _PROGRAMS)
def test_program(name: str) -> None:
    text = _PROGRAMS[name]["text"]
    arguments = _arguments(text)
    expected = eval(_PROGRAMS[name]["d"], {"np": np, **arguments})
    interpreted = _arguments(text)
    module = embed.parse(text, name)
    embed.run(module, [TirxSpecializePass()])
    (kernel,) = kernels(module)
    assert run_kernel(kernel, list(interpreted.values()), grid=(1, 1, 1)).exact
    np.testing.assert_array_equal(np.asarray(interpreted["d"]), expected)
    program = tirx.build(text)
    assembled(program.ptx)
    kernel = program.kernels[name]
    kernel.simulate(*arguments.values(), check="strict", **({} if kernel.launch.grid else {"grid": (1, 1, 1)}))
    np.testing.assert_array_equal(np.asarray(arguments["d"]), expected)
