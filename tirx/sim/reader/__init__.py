"""Reads PTX text: `parse(text)` gives a `Module` of functions, variables and instructions, without any meaning."""

from __future__ import annotations

from tirx.sim.reader.parser import parse
from tirx.sim.reader.syntax import Function, Instruction, Module, Variable

__all__ = ["Function", "Instruction", "Module", "Variable", "parse"]
