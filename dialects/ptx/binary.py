"""Compiled kernels as attributes of the module that launches them."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, SymbolNameConstraint
from xdsl.irdl import prop_def, traits_def
from xdsl.traits import SymbolOpInterface

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.traits import InSymbolTable
from tirx.hw.targets import Target, TargetError
from tirx.rules import InvalidOperation


@irdl_op_definition
class BinaryOp(DirectOperation):
    """A kernel that has been compiled: its PTX and how to launch it, under the symbol that the kernel had.

    ```mlir
    ptx.binary @gemm target("sm_90a") launch {block = [128, 1, 1], ...} text ".version 8.6\\0A..."
    ```

    All of it is in attributes of `builtin`, so that passes of other compilers can read and lower it, as they do with
    MLIR's `gpu.binary`. `launch` is the launch descriptor, with the keys of its JSON form: numbers are `i64`, lists
    arrays, objects dictionaries, and `unit` stands for null.

    >>> from tirx import embed
    >>> module = embed.parse('ptx.entry @nothing() target("sm_80") reqntid(64) { ptx.ret }')
    >>> binary = embed.extract(module)["nothing"]
    >>> binary.target.data, binary.text.data.splitlines()[1]
    ('sm_80', '.target sm_80')
    """

    name = "ptx.binary"

    sym_name = prop_def(SymbolNameConstraint())
    target = prop_def(StringAttr)
    launch = prop_def(DictionaryAttr)
    text = prop_def(StringAttr)

    assembly_format = "$sym_name `target` `(` $target `)` `launch` $launch `text` $text attr-dict"

    traits = traits_def(InSymbolTable(), SymbolOpInterface())

    def verify_(self) -> None:
        try:
            Target.parse(self.target.data)
        except TargetError as error:
            raise InvalidOperation(str(error)) from error
