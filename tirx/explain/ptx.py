"""Explains the tcgen05 and wgmma instructions of PTX from any compiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from tirx.explain.instruction_descriptor import explain_instruction_descriptor, shaping_bits
from tirx.explain.matrix_descriptor import explain_matrix_descriptor
from tirx.explain.report import Explanation, known_value
from tirx.explain.values import Values
from tirx.explain.zero_column_mask import explain_zero_column_mask
from tirx.hw.errors import LegalityError, TensorProductError, WarpgroupProductError
from tirx.hw.rules import Finding
from tirx.hw.targets import TARGETS, PtxVersion
from tirx.sim.reader import Instruction, Module, parse
from tirx.sim.reader.syntax import Address, Immediate, Operand, Vector
from tirx.smem.smem_descriptor import SEGMENTED_BYTES
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.symbolic.integers import Integers
from tirx.tcgen05.check import find_violations as find_mma_violations
from tirx.tcgen05.check_memory import CP_SHAPES, CP_SOURCES, Alloc, Cp, LdSt, find_memory_violations
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.mma_info import Mma, MmaInfo, SmemOperand, TmemOperand
from tirx.tcgen05.tmem_access import LD_SHAPES
from tirx.values import dataclass
from tirx.wgmma import check as wgmma_check
from tirx.wgmma.kinds import KINDS as WGMMA_KINDS
from tirx.wgmma.kinds import Form

_OF_WORDS = ("descriptor-bits", "descriptor-fields", "shape", "mask-bits", "a-descriptor", "b-descriptor")
"""Rules whose violations the explanation of a word tells."""

_REGISTERS = re.compile(r"\{[^{}]{40,}\}")


def _shortened(registers: re.Match[str]) -> str:
    """A long list of registers without its middle."""
    names = registers[0][1:-1].split(", ")
    return f"{{{names[0]}, ..., {names[-1]}}}"


@dataclass(frozen=True)
class PtxInstruction:
    """One instruction. `words`: (operand, explanation) of its descriptors; `problems`: of all of it together."""

    entry: str
    line: int
    text: str
    words: tuple[tuple[str, Explanation], ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def legal(self) -> bool:
        """Returns True if nothing is wrong with what is known of the instruction and its descriptors."""
        return not self.problems and all(word.legal for _, word in self.words)

    def json(self) -> dict[str, Any]:
        return {
            "entry": self.entry,
            "line": self.line,
            "text": self.text,
            "legal": self.legal,
            "problems": list(self.problems),
            "words": {name: word.json() for name, word in self.words},
        }


@dataclass(frozen=True)
class PtxReport:
    """The tensor-core instructions of a module. `target`: as its `.target` says."""

    target: str
    instructions: tuple[PtxInstruction, ...]

    @property
    def legal(self) -> bool:
        """Returns True if nothing is wrong with any instruction."""
        return all(instruction.legal for instruction in self.instructions)

    def text(self, path: str = "", *, fields: bool = False) -> str:
        """Lines for people; `path` stands in front of line numbers; `fields`: a line for each field of a descriptor."""
        lines: list[str] = []
        seen: dict[tuple[object, ...], int] = {}
        for each in self.instructions:
            lines.append(f"{path}:{each.line}: {_REGISTERS.sub(_shortened, each.text)}")
            first = seen.setdefault((each.words, each.problems), each.line)
            if (each.words or each.problems) and first != each.line and not fields:
                lines.append(f"  as line {first}")
                continue
            for name, word in each.words:
                lines.append(f"  {name}: {word.text('  ').strip() if fields else word.brief('  ')}")
            lines += [f"  wrong: {problem}" for problem in each.problems]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Returns the lines of `text`, which notebooks show."""
        return f"<pre>{escape(self.text())}</pre>"

    def json(self) -> dict[str, Any]:
        return {"target": self.target, "instructions": [each.json() for each in self.instructions]}


def explain_ptx(text: str) -> PtxReport:
    """Explains every tcgen05 and wgmma instruction of a module.

    Operands are known as far as constants, shifts and masks of the module tell. Raises SimError, with the line, for
    text that cannot be read.
    """
    module = parse(text)
    target = module.target.split(",")[0].strip()
    found: list[PtxInstruction] = []
    for function in module.functions.values():
        instructions = [each for each in function.code if each.root in ("tcgen05", "wgmma")]
        if not instructions:
            continue
        reader = _Reader(module, target, Values(function))
        for instruction in instructions:
            words, problems = reader.explain(instruction)
            found.append(
                PtxInstruction(function.name, instruction.line, instruction.text, tuple(words), tuple(problems))
            )
    return PtxReport(target, tuple(dict.fromkeys(found)))


_Told = tuple[list[tuple[str, Explanation]], list[str]]


def _collectors(modifiers: Sequence[str]) -> dict[str, str]:
    """Returns buffers and usages of collectors. Raises TensorProductError for other words."""
    found: dict[str, str] = {}
    for part in modifiers:
        match part.split("::"):
            case ["collector", buffer, usage]:
                found[buffer] = usage
            case ["collector", *_]:
                raise TensorProductError(f"expected .collector::BUFFER::USAGE, found '.{part}'")
            case _:
                pass
    return found


class _Reader:
    """Explains the instructions of one function."""

    def __init__(self, module: Module, target: str, values: Values):
        self._target = target if target in TARGETS else None
        major, _, minor = module.version.partition(".")
        self._ptx: PtxVersion | None = (int(major), int(minor)) if minor.isdecimal() else None
        self._values = values

    def explain(self, instruction: Instruction) -> _Told:
        match instruction.opcode.split("."):
            case [family, operation, *modifiers] if (rule := _RULES.get((family, operation))) is not None:
                try:
                    return rule(self, instruction, modifiers)
                except LegalityError as error:  # of a form that does not exist
                    return [], [str(error)]
            case _:
                return [], []

    def word(self, instruction: Instruction, index: int, width: int) -> Integers:
        """Returns the known bits of an operand; none where it is missing."""
        operand = _operand(instruction, index)
        return Integers(width) if operand is None else self._values.of(instruction, operand, width)

    def tcgen05_mma(self, instruction: Instruction, modifiers: list[str]) -> _Told:
        kind = next((part.removeprefix("kind::") for part in modifiers if part.startswith("kind::")), "")
        ws, sparse = "ws" in modifiers, "sp" in modifiers
        cta_group = 2 if "cta_group::2" in modifiers else 1
        if kind not in KINDS:
            raise TensorProductError(f"expected a kind of {', '.join(KINDS)}, found '{kind}'")
        operands = instruction.operands
        table = "decompress::lut::b" in modifiers
        place = 4 if sparse or table else 3
        idesc = self.word(instruction, place, 32)
        scaled = "block_scale" in modifiers
        last = len(operands) > place + 2 and not isinstance(operands[-2], (Address, Vector))
        mask = self.word(instruction, len(operands) - 1, 64) if ws and last else None
        disabled = next((len(operand.items) for operand in operands if isinstance(operand, Vector)), None)
        scale = operands[-1] if last and not ws and not scaled else None
        collectors = _collectors(modifiers)
        of_b = collectors.pop("b", None)
        buffer, usage = next(iter(collectors.items()), (None, None))
        vector = next((part for part in modifiers if part.startswith(("scale_vec::", "block16", "block32"))), None)
        a_word, b_word = self.word(instruction, 1, 64), self.word(instruction, 2, 64)
        in_tmem = isinstance(_operand(instruction, 1), Address)
        mma = Mma(
            kind,
            cta_group,
            ws,
            sparse,
            vector,
            a=TmemOperand() if in_tmem else SmemOperand(a_word),
            b=SmemOperand(b_word),
            descriptor=shaping_bits(idesc, kind),
            masked=mask is not None,
            mask=None if mask is None else mask.value,
            lut_b=TmemOperand() if table else None,
            collector_buffer=buffer,
            collector_usage=usage,
            collector_b=of_b,
            ashift="ashift" in modifiers,
            disable_output_lane=disabled,
            scale_input_d=_constant(scale),
            target=self._target,
            ptx=self._ptx,
        )
        info = MmaInfo(mma)
        words = [("instruction", explain_instruction_descriptor(
            idesc, kind, cta_group=cta_group, ws=ws, target=self._target))]  # fmt: skip
        fields = info.idesc
        types: tuple[tuple[str | None, Major | None], ...] = ((None, None), (None, None))
        if fields is not None:
            types = (fields.a, fields.a_major), (fields.b, fields.b_major)
        for name, word, there, rows, (dtype, major) in (
            ("A", a_word, not in_tmem, info.a_rows, types[0]),
            ("B", b_word, True, info.b_rows, types[1]),
        ):
            if there:
                k = info.stored_k(name) if name == "A" or not table else SEGMENTED_BYTES
                shape = None if rows is None or k is None else (rows, k)
                words.append((name, explain_matrix_descriptor(
                    word, major=major, dtype=dtype or KINDS[kind].operands[0][0], shape=shape,
                    container_bits=info.container_bits, target=self._target)))  # fmt: skip
        if mask is not None:
            words.append(("mask", explain_zero_column_mask(mask, m=info.m, n=info.n)))
        return words, _problems(find_mma_violations(mma))

    def tcgen05_copy(self, instruction: Instruction, modifiers: list[str]) -> _Told:
        shape = next((part for part in modifiers if part in CP_SHAPES), "")
        word = self.word(instruction, 1, 64)
        copy = Cp(
            shape,
            next((part for part in modifiers if part.startswith("warpx")), None),
            next((part for part in modifiers if part in CP_SOURCES), None),
            cta_group=2 if "cta_group::2" in modifiers else 1,
            target=self._target,
            ptx=self._ptx,
            descriptor=word,
        )
        words: list[tuple[str, Explanation]] = []
        if (row := copy.row) is not None:
            words.append(("source", explain_matrix_descriptor(
                word, major="K", dtype="u8", shape=(row.rows, row.row_bytes), target=self._target)))  # fmt: skip
        return words, _problems(find_memory_violations(copy))

    def tcgen05_allocate(self, instruction: Instruction, modifiers: list[str]) -> _Told:
        columns = known_value(self.word(instruction, 1, 32))
        group = 2 if "cta_group::2" in modifiers else 1
        allocation = Alloc(columns, group, self._target, self._ptx, "exclusive" in modifiers)
        return [], _problems(find_memory_violations(allocation))

    def tcgen05_access(self, instruction: Instruction, modifiers: list[str]) -> _Told:
        shape = next((part for part in modifiers if part in map(str, LD_SHAPES)), "")
        num = next((int(part[1:]) for part in modifiers if re.fullmatch(r"x\d+", part)), 1)
        vector = next((each for each in instruction.operands if isinstance(each, Vector)), None)
        if len(instruction.operands) < 2:
            return [], [f"expected registers and an address, found {len(instruction.operands)} operands"]
        access = LdSt(
            shape,
            num,
            registers=1 if vector is None else len(vector.items),
            packed=any(part.endswith("pack::16b") for part in modifiers),
            split=_constant(instruction.operands[-1]) if instruction.opcode.startswith("tcgen05.ld") else None,
            reduce=next((part for part in modifiers if part in ("min", "max")), None) if "red" in modifiers else None,
            type=modifiers[-1] if "red" in modifiers else None,
            modified="abs" in modifiers or "NaN" in modifiers,
            target=self._target,
            ptx=self._ptx,
        )
        return [], [] if shape == "16x32bx2" else _problems(find_memory_violations(access))

    def wgmma(self, instruction: Instruction, modifiers: list[str]) -> _Told:
        shape = next((re.fullmatch(r"m64n(\d+)k\d+", part) for part in modifiers if part.startswith("m64")), None)
        types = [part for part in modifiers if part in _WGMMA_TYPES]
        match types:
            case [d, a, b] if shape is not None and (a, b) in WGMMA_KINDS:
                kind = WGMMA_KINDS[a, b]
            case _:
                raise WarpgroupProductError("expected a shape m64nNkK and the types of D, A and B, found another form")
        sparse = "sp" in modifiers
        in_registers = isinstance(_operand(instruction, 1), Vector)
        # imm-trans-a and -b stand behind D, A, B, metadata and selector of a sparse A, scale-d and both signs.
        flips = [_constant(each) for each in instruction.operands[8 if sparse else 6 :]] if kind.transposes else []
        transpose_b = bool(flips and flips[-1])
        transpose_a = bool(flips[:-1] and flips[0])
        form = Form(a, b, d, int(shape[1]), sparse, "satfinite" in modifiers)
        a_word, b_word = self.word(instruction, 1, 64), self.word(instruction, 2, 64)
        product = wgmma_check.Wgmma(
            form,
            wgmma_check.RegisterOperand() if in_registers else wgmma_check.SmemOperand(a_word),
            wgmma_check.SmemOperand(b_word),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            selector=_constant(_operand(instruction, 4)) if sparse else None,
            target=self._target,
            ptx=self._ptx,
        )
        words: list[tuple[str, Explanation]] = []
        a_bytes, b_bytes = form.k_bytes
        for name, word, there, rows, dtype, transposed, size in (
            ("A", a_word, not in_registers, 64, form.a, transpose_a, a_bytes),
            ("B", b_word, True, form.n, form.b, transpose_b, b_bytes),
        ):
            if there:
                major: Major = "MN" if transposed else "K"
                stored = wgmma_check.STORED_AS.get(dtype, dtype)
                bits = 8 if stored != dtype else kind.bits
                words.append((name, explain_matrix_descriptor(
                    word, WGMMA_OPERANDS, major=major, dtype=stored, shape=(rows, size * 8 // bits))))  # fmt: skip
        return words, _problems(wgmma_check.find_violations(product))


_WGMMA_TYPES = {name for kind in WGMMA_KINDS.values() for name in (kind.a, *kind.results)}

_RULES: dict[tuple[str, str], Callable[[_Reader, Instruction, list[str]], _Told]] = {
    ("tcgen05", "mma"): _Reader.tcgen05_mma,
    ("tcgen05", "cp"): _Reader.tcgen05_copy,
    ("tcgen05", "alloc"): _Reader.tcgen05_allocate,
    ("tcgen05", "ld"): _Reader.tcgen05_access,
    ("tcgen05", "st"): _Reader.tcgen05_access,
    ("wgmma", "mma_async"): _Reader.wgmma,
}
"""Instructions with constants to explain; the others are listed as they are."""


def _operand(instruction: Instruction, index: int) -> Operand | None:
    return instruction.operands[index] if index < len(instruction.operands) else None


def _constant(operand: Operand | None) -> int | None:
    return int(operand.value) if isinstance(operand, Immediate) and operand.kind == "integer" else None


def _problems(findings: tuple[Finding, ...] | list[Finding]) -> list[str]:
    return [
        str(finding) for finding in findings if not finding.rule.endswith("-bits") and finding.rule not in _OF_WORDS
    ]
