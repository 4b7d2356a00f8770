"""Calls of the device runtime: text that a kernel writes, and assertions (CUDA C++ Programming Guide)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar
from zlib import crc32

from xdsl.dialects.builtin import I32, IntegerAttr, StringAttr, f64, i32, i64
from xdsl.irdl import prop_def, var_operand_def

from tirx.dialects.definition import irdl_op_definition
from tirx.dialects.ptx.base import Names, ThreadOp, source, typed, width
from tirx.dialects.ptx.effects import NO_EFFECTS
from tirx.rules import InstructionFormError


def text_name(text: str) -> str:
    """Returns the name of the global variable that has a text."""
    return f"text_{crc32(text.encode()):08x}"


class RuntimeCallOp(ThreadOp):
    """A call of a function of the device runtime: `DECLARATION` and `texts` are those of the module."""

    EFFECTS: ClassVar = NO_EFFECTS
    DECLARATION: ClassVar[str]

    @property
    def texts(self) -> Sequence[str]:
        """The texts whose addresses the call has."""
        raise NotImplementedError


def _given(reg: Names, text: str, parameter: str) -> list[str]:
    """Lines that make a parameter of the generic address of a text."""
    address = reg.scratch(i64)
    return [
        f".param .b64 {parameter}",
        f"mov.b64 {address}, {text_name(text)}",
        f"cvta.global.u64 {address}, {address}",
        f"st.param.b64 [{parameter}], {address}",
    ]


@irdl_op_definition
class PrintfOp(RuntimeCallOp):
    """`ptx.printf "x = %d\\0A" %x : i32`: text with the values in place of its conversions, as `printf` of C has them.

    Values are i32, i64 and f64, which `vprintf` finds behind each other in local memory, each aligned to its size.
    """

    name = "ptx.printf"
    DECLARATION: ClassVar = ".extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 values);"

    text = prop_def(StringAttr)
    values = var_operand_def()

    assembly_format = "$text ($values^ `:` type($values))? attr-dict"

    @property
    def texts(self) -> Sequence[str]:
        return (self.text.data,)

    def verify_(self) -> None:
        for value in self.values:
            if value.type not in (i32, i64, f64):
                raise InstructionFormError(f"expected i32, i64 or f64, found {value.type}")

    def emit(self, reg: Names) -> str:
        stem = reg.label("print")
        values, format_, status = f"{stem}v", f"{stem}f", f"{stem}s"
        lines, at = list[str](), 0
        buffer = reg.scratch(i64)
        for value in self.values:
            size = width(value.type) // 8
            at = -(-at // size) * size
            lines.append(f"st.local.{typed(value.type)} [{stem}+{at}], {source(reg, value)}")
            at += size
        return "\n".join(
            [
                f".local .align 8 .b8 {stem}[{max(8, at)}]",
                *lines,
                *_given(reg, self.text.data, format_),
                f"mov.b64 {buffer}, {stem}",
                f"cvta.local.u64 {buffer}, {buffer}",
                f".param .b64 {values}",
                f"st.param.b64 [{values}], {buffer}",
                f".param .b32 {status}",
                f"call ({status}), vprintf, ({format_}, {values})",
            ]
        )


@irdl_op_definition
class AssertFailOp(RuntimeCallOp):
    """`ptx.assert_fail "message" in "kernel" at "file" line 7`: ends the launch with an error, after the message."""

    name = "ptx.assert_fail"
    DECLARATION: ClassVar = (
        ".extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, "
        ".param .b64 size);"
    )

    message = prop_def(StringAttr)
    function = prop_def(StringAttr)
    file = prop_def(StringAttr)
    line = prop_def(IntegerAttr[I32])

    assembly_format = "$message `in` $function `at` $file `line` $line attr-dict"

    @property
    def texts(self) -> Sequence[str]:
        return self.message.data, self.file.data, self.function.data

    def emit(self, reg: Names) -> str:
        stem = reg.label("fail")
        lines: list[str] = []
        for text, name in zip(self.texts, "mfn", strict=True):
            lines += _given(reg, text, stem + name)
        line, size = f"{stem}l", f"{stem}s"
        lines += [f".param .b32 {line}", f"st.param.b32 [{line}], {self.line.value.data}"]
        lines += [f".param .b64 {size}", f"st.param.b64 [{size}], 1"]
        return "\n".join([*lines, f"call __assertfail, ({stem}m, {stem}f, {line}, {stem}n, {size})"])


def module_declarations(calls: Sequence[RuntimeCallOp]) -> str:
    """Returns the functions and texts of a module with these calls."""
    lines = dict.fromkeys(call.DECLARATION for call in calls)
    for text in dict.fromkeys(text for call in calls for text in call.texts):
        data = [*text.encode(), 0]
        lines[f".global .align 1 .b8 {text_name(text)}[{len(data)}] = {{{', '.join(map(str, data))}}};"] = None
    return "".join(f"{line}\n" for line in lines)


__all__ = ["AssertFailOp", "PrintfOp", "RuntimeCallOp", "module_declarations"]
