"""Prints a module of `ptx.entry` ops as PTX text (PTX ISA, "PTX Module Directives" and "Kernel Directives")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import inf
from typing import IO, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.target import Target as XdslTarget

from tirx.diagnostics import LocatedError, Note, for_each, nearest_location, operation_name, position
from tirx.dialects.nesting import Listed, operations, walk
from tirx.dialects.ptx.base import (
    REGISTER_CLASSES,
    SCRATCH_CLASSES,
    PTXInstruction,
    literal,
    memory_type,
    register_class,
    source,
)
from tirx.dialects.ptx.core import (
    LINES,
    BraOp,
    CondBraOp,
    ConstantOp,
    EntryOp,
    PerCtaMemoryOp,
    RetOp,
    SharedAllocOp,
    entries,
)
from tirx.dialects.ptx.debugging import RuntimeCallOp, module_declarations
from tirx.dialects.ptx.parameters import LARGE_PARAM_VERSION, SMALL_PARAM_LIMIT, parameter_bytes
from tirx.dialects.ptx.sync import RegisterChange, SetMaxNRegOp
from tirx.dialects.tirx import kernels
from tirx.hw.targets import PtxVersion, Target, format_version
from tirx.passes.checks.entry_checks import check_entry
from tirx.passes.checks.feature_checks import feature_version, needed_features
from tirx.passes.ir.in_place import registers_in_place
from tirx.rules import NoFormError, PtxModuleError, StageError
from tirx.values import dataclass, field

_CONVERTED_BY: dict[str, str] = {
    "arith": "convert-arith-to-ptx",
    "math": "convert-math-to-ptx",
    "scf": "convert-scf-to-ptx",
    "tcgen05": "convert-tcgen05-to-ptx",
    "tirx": "convert-tirx-to-ptx",
    "wgmma": "convert-wgmma-to-ptx",
}
"""Dialect -> the pass that turns it into `ptx`."""

_INDENT = "  "

_NOT_IN_STRINGS = re.compile(r"[^ !#-~]")
"""Characters that no string of PTX holds, as ptxas 13.5 reads it: all but ASCII; quotes, as there are no escapes."""

_LOCATION = re.compile(r"  \.loc (\d+) (\d+) \d+")

_LABEL_STEM = re.compile(r"[A-Za-z_]+")
"""Names of blocks that stay unique when a number is put behind them."""


def print_ptx(module: ModuleOp) -> str:
    """The PTX text of all entries of `module`, with the smallest `.version` that covers them.

    Host code beside them, and symbol tables around them, have no part in it.

    Raises LocatedError for an op without PTX form, an instruction that the target lacks, entries of different targets,
    and shared memory beyond the target's limits.
    """
    return _print_module(_entries(module), next(iter(module.ops), module))


def print_entry(entry: EntryOp) -> str:
    """The PTX text of a module of one entry. Raises LocatedError as `print_ptx` does."""
    return _print_module([entry], entry)


@cache
def _calls_runtime(kind: type[Operation]) -> bool:
    return issubclass(kind, RuntimeCallOp)


def _print_module(found: Sequence[EntryOp], where: Operation) -> str:
    target = _common_target(where, found)
    inside = {entry: Listed(walk(entry)) for entry in found}
    version = max(_required_version(entry, inside[entry], target) for entry in found)
    header = f".version {format_version(version)}\n.target {target}\n.address_size 64\n"
    bodies: list[str] = []
    files: dict[str, int] = {}
    for_each(found, lambda entry: bodies.append(f"\n{_print_entry(entry, inside[entry], target, files)}"))
    calls = [cast(RuntimeCallOp, op) for entry in found for op in inside[entry].where(_calls_runtime)]
    header += "".join(f'.file {number} "{_NOT_IN_STRINGS.sub("_", name)}"\n' for name, number in files.items())
    return header + module_declarations(calls) + _dynamic_declarations(inside) + "".join(bodies)


def split_lines(ptx: str, name: str) -> tuple[str, list[int]]:
    """PTX of `lines=on` without `.file` and `.loc`, and for each of its lines that of the file `name` which it is from.

    Lines count from 1; 0 is for lines that come from no line of the file.
    """
    file = f'"{_NOT_IN_STRINGS.sub("_", name)}"'
    number, current = "", 0
    kept: list[str] = []
    lines: list[int] = []
    for text in ptx.split("\n"):
        if text.startswith(".file ") and text.endswith(file):
            number = text.split()[1]
        elif (found := _LOCATION.fullmatch(text)) is not None:
            current = int(found[2]) if found[1] == number else 0
        elif not text.startswith(".file "):
            current = current if text.startswith(_INDENT) else 0
            kept.append(text)
            lines.append(current)
    return "\n".join(kept), lines


@dataclass(frozen=True)
class PtxTarget(XdslTarget):
    """The target `ptx` of the command line."""

    name = "ptx"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_ptx(module))


def _entries(module: ModuleOp) -> list[EntryOp]:
    """The entries of the module in order. Raises LocatedError for two of one name, in whichever symbol tables."""
    for kernel in kernels(module):
        raise _no_ptx_form(kernel)
    found: dict[str, EntryOp] = {}
    for entry in entries(module):
        if (other := found.setdefault(entry.sym_name.data, entry)) is not entry:
            raise PtxModuleError(
                entry,
                f"expected names of entries to differ in all of the module, found @{entry.sym_name.data} again",
                [Note("the other one", nearest_location(other))],
            )
    for entry in found.values():
        for parameter in entry.params:
            other = found.get(parameter.data.name, entry)
            if other is not entry:  # ptxas 13 ends without a message where the parameter is read
                raise PtxModuleError(
                    entry,
                    f"expected parameters of other names than the entries of the module, found '{parameter.data.name}'",
                    [Note("the entry", nearest_location(other))],
                )
    return list(found.values())


def _no_ptx_form(op: Operation) -> LocatedError:
    name = operation_name(op)
    converter = _CONVERTED_BY.get(name.split(".")[0])
    hint = "" if converter is None else f"; run {converter} first"
    return NoFormError(op, f"no PTX form for '{name}'{hint}")


def _common_target(module: Operation, entries: Sequence[EntryOp]) -> Target:
    if not entries:
        raise PtxModuleError(module, "expected at least one kernel in the module, found none")
    first = entries[0]
    for entry in entries:
        if entry.target != first.target:
            raise PtxModuleError(
                entry,
                f"expected target {first.target.data} as of @{first.sym_name.data}, found {entry.target.data} "
                f"for @{entry.sym_name.data}: entries of one module share their target",
            )
    return first.target_info


def _required_version(entry: EntryOp, inside: Listed, target: Target) -> PtxVersion:
    version = target.min_ptx
    if entry.cluster is not None:
        version = max(version, feature_version(entry, "cluster", target))
    if entry.per_cta_memory is not None:
        version = max(version, feature_version(entry, "per_cta_memory", target))
    if parameter_bytes([parameter.data for parameter in entry.params]) > SMALL_PARAM_LIMIT:
        version = max(version, LARGE_PARAM_VERSION)
    for op, features in needed_features(inside):
        if isinstance(op, PerCtaMemoryOp) and entry.per_cta_memory is None:
            raise PtxModuleError(op, "expected per_cta_memory on the entry of ptx.per_cta_memory, found none")
        version = max(version, *(feature_version(op, feature, target) for feature in features))
    return version


def _print_entry(entry: EntryOp, inside: Listed, target: Target, files: dict[str, int]) -> str:
    if not entry.body.blocks:
        raise PtxModuleError(entry, f"expected a body for @{entry.sym_name.data}, found none")
    check_entry(entry, target, inside)
    _check_register_changes(entry, inside)
    shared = _shared_declarations(entry, inside, target)
    names = _Names(_shared_registers(entry, inside))
    body = names.numbered("\n".join(_print_blocks(entry, names, files)))

    params = ",\n".join(f"{_INDENT}{p.data.declaration()}" for p in entry.params)
    launch = entry.dynamic_shared
    comment = "" if launch is None else f"// Launch with {launch.data} bytes of dynamic shared memory.\n"
    signature = f"{comment}.visible .entry {entry.sym_name.data}(" + (f"\n{params}\n)" if params else ")")
    directives: list[str] = []
    if entry.reqntid is not None:
        directives.append(f".reqntid {', '.join(str(n.data) for n in entry.reqntid)}")
    if entry.maxnreg is not None:
        directives.append(f".maxnreg {entry.maxnreg.data}")
    if entry.per_cta_memory is not None:
        directives.append(f".minperctamemory {entry.per_cta_memory.data}")
    if entry.cluster is not None:
        directives.append(".explicitcluster")
        directives.append(f".reqnctapercluster {', '.join(str(n.data) for n in entry.cluster)}")
    declarations = [f"{_INDENT}{line};" for line in (*names.declarations(), *shared)]
    gap = [""] if declarations else []
    return "\n".join([signature, *directives, "{", *declarations, *gap, body, "}", ""])


def _check_register_changes(entry: EntryOp, inside: Listed) -> None:
    """Raises PtxModuleError for a `setmaxnreg.dec` to more registers than a thread of the entry ever has, which `ptxas`
    rejects: the most that any `setmaxnreg.inc` asks for; without one, those of the entry, where it states them.
    """
    counts: dict[RegisterChange, dict[int, Operation]] = {change: {} for change in RegisterChange}
    for op in inside.of(SetMaxNRegOp):
        counts[op.change.data].setdefault(op.count.value.data, op)
    given = inf if entry.maxnreg is None else entry.maxnreg.data
    most = max(counts[RegisterChange.INC], default=given)
    least = max(counts[RegisterChange.DEC], default=0)
    if least > most:
        name = "setmaxnreg inc" if counts[RegisterChange.INC] else "maxnreg"
        raise PtxModuleError(
            counts[RegisterChange.DEC][least],
            f"expected at most {most} registers, the most of any thread by {name}, found {least}",
        )


def _shared_registers(entry: EntryOp, inside: Listed) -> dict[SSAValue, SSAValue]:
    """Values that have the register of another one, with that one.

    Raises LocatedError where something else could read the operand after it is overwritten.
    """
    problem, shared = registers_in_place(entry, inside)
    if problem is not None:
        raise StageError(
            problem.op,
            f"expected accumulators that '{problem.op.name}' can overwrite, found {problem.problem}; "
            "tirx-copy-accumulators copies it",
        )
    return shared


def _shared_declarations(entry: EntryOp, inside: Listed, target: Target) -> list[str]:
    taken = {p.data.name: "a parameter" for p in entry.params}
    static = dynamic = 0
    gap = 1
    declarations: list[str] = []
    for op in inside.of(SharedAllocOp):
        symbol = op.symbol.data
        if symbol in taken:
            raise PtxModuleError(
                op, f"expected a new name for shared memory, found '{symbol}', which is {taken[symbol]}"
            )
        taken[symbol] = "shared memory already"
        if op.dynamic is not None:
            if dynamic:
                raise PtxModuleError(
                    op, "expected one dynamic allocation in an entry: all of them start at one address"
                )
            dynamic, gap = op.bytes.data, op.align.data
            continue
        align = op.align.data
        static = (static + align - 1) // align * align + op.bytes.data
        declarations.append(op.declaration())
    # Dynamic shared memory begins behind the static one: ptxas counts the gap that its alignment leaves.
    if (declared := -(-static // gap) * gap) > target.static_shared_limit:
        raise PtxModuleError(
            entry,
            f"@{entry.sym_name.data} declares {declared} bytes of shared memory, {target} allows "
            f"{target.static_shared_limit} bytes of static shared memory",
        )
    if dynamic != (0 if entry.dynamic_shared is None else entry.dynamic_shared.data):
        raise PtxModuleError(entry, f"expected dynamic_shared({dynamic}), the bytes of the dynamic allocation")
    if static + dynamic > target.shared_limit:
        raise PtxModuleError(
            entry,
            f"@{entry.sym_name.data} takes {static + dynamic} bytes of shared memory, {target} allows "
            f"{target.shared_limit}",
        )
    return declarations


def _dynamic_declarations(entries: Mapping[EntryOp, Listed]) -> str:
    """The shared memory that launches set aside. Its name is one of the module, and entries may have it in common."""
    alignments: dict[str, int] = {}
    names = {entry.sym_name.data for entry in entries}
    for entry, inside in entries.items():
        if entry.dynamic_shared is None:
            continue
        for op in inside.of(SharedAllocOp):
            if op.dynamic is not None:
                if (symbol := op.symbol.data) in names:
                    raise PtxModuleError(
                        op, f"expected a new name for shared memory, found that of the entry '{symbol}'"
                    )
                alignments[symbol] = max(alignments.get(symbol, 1), op.align.data)
    return "".join(f".extern .shared .align {align} .b8 {name}[];\n" for name, align in alignments.items())


@dataclass
class _Names:
    """Gives registers and labels on demand. Registers get their numbers at last, in the order of the text."""

    in_place: dict[SSAValue, SSAValue]
    """Values that have the register of another one."""
    registers: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    _sources: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """A value -> its text as an operand of arithmetic."""
    _prefixes: dict[int, str] = field(default_factory=dict[int, str])
    """The identity of a type -> the prefix of its registers."""
    _placeholders: list[str] = field(default_factory=list[str])
    """The prefix of each register, whose name is its place here, between null characters, until it has its number."""

    def __call__(self, value: SSAValue) -> str:
        name = self.registers.get(value)
        if name is None:
            if (shared := self.in_place.get(value)) is not None:
                name = self(shared)
            else:
                places = self._placeholders
                name = f"\x00{len(places)}\x00"
                places.append(self._prefixes.get(id(value.type)) or self._prefix(value.type, value))
            self.registers[value] = name
        return name

    def sources(self, values: Sequence[SSAValue]) -> list[str]:
        texts: list[str] = []
        for value in values:
            if (text := self._sources.get(value)) is None:
                text = self._sources[value] = source(self, value)
            texts.append(text)
        return texts

    def imm(self, value: SSAValue) -> str:
        return literal(op.value) if type(op := value.owner) is ConstantOp else self(value)

    def label(self, stem: str) -> str:
        number = self.counts.get(stem, 0)
        self.counts[stem] = number + 1
        return f"${stem}{number}"

    def scratch(self, type_: Attribute) -> str:
        return self._placeholder(self._prefix(type_, None))

    def _placeholder(self, prefix: str) -> str:
        self._placeholders.append(prefix)
        return f"\x00{len(self._placeholders) - 1}\x00"

    def _prefix(self, type_: Attribute, value: SSAValue | None) -> str:
        registers = register_class(type_) or (SCRATCH_CLASSES.get(type_) if value is None else None)
        if registers is None:
            raise _no_register(type_, value)
        if value is not None:
            self._prefixes[id(type_)] = registers.prefix
        return registers.prefix

    def numbered(self, text: str) -> str:
        """`text` with numbers in all registers."""
        parts = text.split("\x00")
        final: dict[str, str] = {}
        for placeholder in dict.fromkeys(parts[1::2]):
            prefix = self._placeholders[int(placeholder)]
            number = self.counts.get(prefix, 0)
            self.counts[prefix] = number + 1
            final[placeholder] = f"{prefix}{number}"
        parts[1::2] = map(final.__getitem__, parts[1::2])
        return "".join(parts)

    def declarations(self) -> Iterator[str]:
        """`.reg .b32 %r<4>` for every register class in use, after `numbered`."""
        classes = (REGISTER_CLASSES | SCRATCH_CLASSES).values()
        for ptx_type, prefix in dict.fromkeys((c.ptx_type, c.prefix) for c in classes):
            if count := self.counts.get(prefix):
                yield f".reg .{ptx_type} {prefix}<{count}>"


def _no_register(type_: Attribute, value: SSAValue | None) -> LocatedError | ValueError:
    message = f"no PTX register for type '{type_}'"
    owner = None if value is None else value.owner
    where = owner.parent_op() if isinstance(owner, Block) else owner
    if where is None:
        return ValueError(message)
    what = "block argument" if isinstance(owner, Block) else f"result of '{where.name}'"
    return NoFormError(where, f"{message} ({what})")


def _print_blocks(entry: EntryOp, names: _Names, files: dict[str, int]) -> list[str]:
    """The lines of the body; labels stand only before blocks that some branch names."""
    blocks = list(entry.body.blocks)
    printer = _BlockPrinter(names, files if LINES in entry.attributes else None)
    bodies = [printer.block(block, following) for block, following in zip(blocks, (*blocks[1:], None), strict=True)]
    lines: list[str] = []
    for block, body in zip(blocks, bodies, strict=True):
        if block in printer.labels:
            lines.append(f"{printer.labels[block]}:")
        for line in body:
            if isinstance(line, str):
                lines.append(line)
            elif line.result in names.registers:
                lines.append(_statement(line.emit(names)))
    return lines


@dataclass
class _BlockPrinter:
    names: _Names
    files: dict[str, int] | None
    """The number of each file of the source; None for PTX that does not say the lines."""
    labels: dict[Block, str] = field(default_factory=dict[Block, str])
    """Labels of the blocks that some branch names."""

    def block(self, block: Block, following: Block | None) -> list[str | ConstantOp]:
        """The lines of `block`, after which the text of `following` comes.

        A constant stands for itself: it is a line only if some instruction turns out to need it in a register.
        """
        lines: list[str | ConstantOp] = []
        said, names = "", self.names
        for op in operations(block):
            if type(op) is ConstantOp:
                lines.append(op)
                continue
            if self.files is not None and (where := self._where(op, self.files)) not in ("", said):
                said = where
                lines.append(where)
            if isinstance(op, PTXInstruction):
                text = op.emit(names)
                if text and "\n" not in text and text[0] not in "{}" and text[-1] != ":":
                    lines.append(f"{_INDENT}{text};")
                else:
                    lines += _lines(text)
            else:
                lines += self._end(op, following)
        if not isinstance(block.last_op, BraOp | CondBraOp | RetOp):
            where = block.last_op or block.parent_op()
            if where is not None:
                raise PtxModuleError(where, "expected a block to end in ptx.bra, ptx.cond_bra or ptx.ret")
        return lines

    def _where(self, op: Operation, files: dict[str, int]) -> str:
        """`.loc` for the line of an operation, nothing for an unknown one (PTX ISA, "Debugging Directives: .loc")."""
        if (place := position(op.location)) is None:
            return ""
        file, line, column = place
        return f"{_INDENT}.loc {files.setdefault(file, len(files) + 1)} {line} {column}"

    def _end(self, op: Operation, following: Block | None) -> Iterator[str]:
        match op:
            case BraOp():
                yield from self._jump(op.dest, op.arguments, following)
            case CondBraOp():
                yield from self._branch(op, following)
            case RetOp():
                yield _statement("ret")
            case _:
                raise _no_ptx_form(op)

    def _branch(self, op: CondBraOp, following: Block | None) -> Iterator[str]:
        condition = self.names(op.condition)
        then_copies = list(self._copies(op.then_dest, op.then_arguments))
        else_copies = list(self._copies(op.else_dest, op.else_arguments))
        # The edge that needs no copies is the one to jump on; with two of them, the one that does not fall through.
        if not then_copies and (else_copies or op.then_dest is not following):
            yield _statement(f"@{condition} bra {self._label(op.then_dest)}")
            yield from else_copies
            yield from self._goto(op.else_dest, following)
        elif not else_copies:
            yield _statement(f"@!{condition} bra {self._label(op.else_dest)}")
            yield from then_copies
            yield from self._goto(op.then_dest, following)
        else:
            other = self.names.label("else")
            yield _statement(f"@!{condition} bra {other}")
            yield from then_copies
            yield from self._goto(op.then_dest, None)
            yield f"{other}:"
            yield from else_copies
            yield from self._goto(op.else_dest, following)

    def _jump(self, dest: Block, arguments: Sequence[SSAValue], following: Block | None) -> Iterator[str]:
        yield from self._copies(dest, arguments)
        yield from self._goto(dest, following)

    def _goto(self, dest: Block, following: Block | None) -> Iterator[str]:
        if dest is not following:
            yield _statement(f"bra {self._label(dest)}")

    def _label(self, block: Block) -> str:
        if block not in self.labels:
            hint = block.name_hint or ""
            self.labels[block] = self.names.label(hint if _LABEL_STEM.fullmatch(hint) else "bb")
        return self.labels[block]

    def _copies(self, dest: Block, arguments: Sequence[SSAValue]) -> Iterator[str]:
        """The moves that give the arguments of `dest` their values all at once."""
        types: dict[str, Attribute] = {}
        pending: dict[str, str] = {}
        names, shared = self.names, self.names.in_place
        for parameter, argument in zip(dest.args, arguments, strict=True):
            if shared.get(parameter) is shared.get(argument, argument):
                continue
            if (name := names(parameter)) != (value := names.imm(argument)):
                types[name], pending[name] = parameter.type, value
        while pending:
            target = next((t for t in pending if t not in pending.values()), None)
            if target is None:
                # Only cycles are left: save one register and let its readers read the copy.
                target = next(iter(pending))
                saved = self.names.scratch(types[target])
                yield _statement(f"mov.{memory_type(types[target])} {saved}, {target}")
                pending = {t: saved if s == target else s for t, s in pending.items()}
            yield _statement(f"mov.{memory_type(types[target])} {target}, {pending.pop(target)}")


def _lines(text: str) -> list[str]:
    """The lines of an instruction: labels, starts and ends of blocks, and statements."""
    return [
        line if line.endswith(":") else f"{_INDENT}{line}" if line.startswith(("{", "}")) else f"{_INDENT}{line};"
        for line in text.split("\n")
        if line
    ]


def _statement(text: str) -> str:
    return f"{_INDENT}{text};"
