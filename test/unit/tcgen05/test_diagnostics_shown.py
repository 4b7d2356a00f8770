"""Every message of the tcgen05 checker is shown by an `expected-error` of a FileCheck test, which lit verifies.

A message is that of a rule, or an error that a rule passes on as its reason. What cannot be reached through the IR says
why; once it is shown, the reason has to go.
"""

import ast
import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tirx.diagnostics import LocatedError
from tirx.passes.checks import entry_checks
from tirx.smem import smem_descriptor
from tirx.tcgen05 import LegalityError, block_scale, instruction_descriptor, shapes, zero_column_mask
from tirx.tcgen05.check_memory import ALLOC_RULES, CP_RULES, LD_ST_RULES, SHIFT_RULES
from tirx.tcgen05.mma_rules import MMA_RULES
from tirx.tools import tirx_opt

ROOT = Path(__file__).parents[3]
TESTS = [
    *ROOT.glob("test/dialects/*/invalid*.mlir"),
    *ROOT.glob("test/target/ptx/errors*.mlir"),
    ROOT / "test/passes/tirx-check-layouts-invalid.mlir",
]
SHOWN = [
    text
    for file in TESTS
    for text in re.findall(r"expected-error(?:@\S+)? \{\{(.*)\}\}$", file.read_text(), re.MULTILINE)
]

SEPARATOR = "// -----"
"""The line between two inputs in one file."""

RULES = [rule.name for table in (MMA_RULES, ALLOC_RULES, LD_ST_RULES, CP_RULES, SHIFT_RULES) for rule in table]

_NO_SUCH_FORM = "no operation has this form: its operands and properties leave no way to write it"
UNREACHABLE_RULES = {
    "ws-cta-group": _NO_SUCH_FORM,
    "mask-needs-ws": _NO_SUCH_FORM,
    "ashift-form": _NO_SUCH_FORM,
    "disable-output-lane-form": _NO_SUCH_FORM,
    "ws-kind": "the operation names the kinds that it has",
    "collector-usage": "an enumeration, whose other values do not parse",
}
"""Rules for those who build `Mma` in Python."""

_FIELD = "bits have no such value; only a call from Python passes it"
_ARRAY = "masks from arrays of columns are made in Python; tiles name columns, and `tirx.mma` checks them"
_RULE = "a rule says it with the whole instruction in view: "
UNREACHABLE_REASONS = {
    "__post_init__: swizzle: expected one of": _FIELD,
    "__post_init__: matrix base offset": _FIELD,
    "__post_init__: {}: expected a multiple of 16 bytes": _FIELD,
    "__post_init__: {}: expected 0 to {} bytes": _FIELD,
    "__post_init__: absolute LBO: expected the byte address": _FIELD,
    "__post_init__: {}: expected 4 values, one per sub-mask": _FIELD,
    "decode: expected a 64-bit shared-memory descriptor": "the operand is i64",
    "decode: expected a 32-bit instruction descriptor": "the operand is i32",
    "smallest_max_shift": "masks have no other shift",
    "encode_unchecked": "compares with other encoders; the operation refuses such fields before",
    "sub_mask_width": _RULE + "the shape",
    "_columns": _ARRAY,
    "shape_row: kind::{}: expected one of {}, found cta_group": "operations have the variants that exist",
    "shape_row: kind::{}: expected K = {}": "other kinds have no bit for K = 96",
    "check_target": _RULE + "target, k96-target",
    "check_transposed_b: expected cta_group": _RULE + "cta-group",
    "find_scale_vector: kind::{}: expected no scale vector": "operations without scale factors have no scale vector",
}
"""Function, and start of the message with `{}` for values, where that tells more."""


class Message(NamedTuple):
    """The place where a message is put together: a file and lines of it; function and text with `{}` for values."""

    file: str
    lines: range
    name: str


def messages(module: ModuleType, error: type[Exception]) -> Iterator[Message]:
    """Where a module makes an error of a class below `error`, or of this class."""
    file = Path(str(module.__file__))
    errors = {name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, error)}
    functions = (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef))
    for function, call in ((outer, node) for outer in functions for node in ast.walk(outer)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in errors:
            for text in call.args:
                if isinstance(text, ast.JoinedStr | ast.Constant):
                    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                    template = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
                    lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
                    yield Message(str(file), lines, f"{function.name}: {template}")


MODULES = (smem_descriptor, instruction_descriptor, zero_column_mask, shapes, block_scale)
REASONS = [message for module in MODULES for message in messages(module, LegalityError)]
ABOUT_ENTRIES = list(messages(entry_checks, LocatedError))


def _pattern(message: Message) -> str:
    """A regular expression of the texts of a message, whose values may be anything."""
    return ".*".join(re.escape(part) for part in message.name.partition(": ")[2].split("{}"))


_MAY_SHOW = re.compile("expected-error.*(" + "|".join(map(_pattern, [*REASONS, *ABOUT_ENTRIES])) + ")").search


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, int]]:
    """Files and lines at which the tests make an error whose text one of them shows: the parts that may show one."""
    found: dict[str, set[tuple[str, int]]] = {}
    with pytest.MonkeyPatch.context() as patch:
        for error in (LegalityError, LocatedError):
            original = error.__init__

            def recorded(self: Exception, *args: Any, original: Any = original, **kwargs: Any) -> None:
                frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
                original(self, *args, **kwargs)
                text = next(str(x) for x in args if isinstance(x, str))
                found.setdefault(text, set()).add((frame.f_code.co_filename, frame.f_lineno))

            patch.setattr(error, "__init__", recorded)
        for file in TESTS:
            run, _, text = file.read_text().partition("\n")
            chunks = [chunk for chunk in text.split(f"\n{SEPARATOR}\n") if any(map(_MAY_SHOW, chunk.splitlines()))]
            if not chunks:
                continue
            part = tmp_path_factory.mktemp("shown") / file.name
            part.write_text(f"\n{SEPARATOR}\n".join(chunks))
            arguments = run.removeprefix("// RUN: tirx-opt ").replace("%s", str(part))
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                assert tirx_opt.main(arguments.split()) == 0, file
    everything = "\n".join(SHOWN)
    return {place for text, places in found.items() if text in everything for place in places}


def is_made(message: Message, made: set[tuple[str, int]]) -> bool:
    return any((message.file, line) in made for line in message.lines)


def test_the_tests_are_found():
    assert len(TESTS) > 15 and len(SHOWN) > 400 and len(REASONS) > 30 and len(ABOUT_ENTRIES) > 8


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_shown(name: str):
    shown = any(text.endswith(f"[{name}]") for text in SHOWN)
    assert shown != (name in UNREACHABLE_RULES)


@pytest.mark.parametrize("message", REASONS, ids=lambda message: message.name[:60])
def test_every_reason_is_shown(message: Message, made: set[tuple[str, int]]):
    excused = any(message.name.startswith(start) for start in UNREACHABLE_REASONS)
    assert is_made(message, made) != excused


@pytest.mark.parametrize("message", ABOUT_ENTRIES, ids=lambda message: message.name[:60])
def test_every_message_about_an_entry_is_shown(message: Message, made: set[tuple[str, int]]):
    assert is_made(message, made)


def test_no_excuse_is_left_over():
    assert set(UNREACHABLE_RULES) <= set(RULES)
    assert all(any(message.name.startswith(start) for message in REASONS) for start in UNREACHABLE_REASONS)
