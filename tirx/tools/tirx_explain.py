"""`tirx-explain`: says what the descriptors of tensor-core instructions mean, and what is wrong with them.

Exit code 0 is success, 1 an error on the command line, and 2 that something explained is not legal.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from inspect import signature
from typing import Any, cast

from tirx.copy.tensor_map_bits import SIZE, TensorMapBits
from tirx.explain import (
    Explanation,
    explain_instruction_descriptor,
    explain_matrix_descriptor,
    explain_ptx,
    explain_tensor_map,
    explain_zero_column_mask,
)
from tirx.hw.dtypes import DTYPES
from tirx.hw.errors import LegalityError
from tirx.hw.features import UnsupportedFeature, required_version
from tirx.hw.targets import TARGETS, Target
from tirx.sim import SimError
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import MAJORS, TCGEN05_OPERANDS, WGMMA_OPERANDS
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.zero_column_mask import ZeroColumnMask
from tirx.tools import commands
from tirx.tools.files import FileError, read_input, write_output
from tirx.tools.process import ArgumentParser, UsageError

_ILLEGAL = 2
_LAST_COLUMN = 255
_MOST_ELEMENTS = 1024  # along a side of an operand: none reads more
_FEATURES = {"smem": "tcgen05", "wgmma": "wgmma", "idesc": "tcgen05", "mask": "tcgen05"}
_CLASSES: dict[str, type] = {
    "smem": SmemDescriptor,
    "wgmma": WgmmaDescriptor,
    "idesc": InstructionDescriptor,
    "mask": ZeroColumnMask,
    "tensormap": TensorMapBits,
}
"""What a word is -> the class that encodes it, whose parameters are the fields."""
_WORDS = tuple(_CLASSES)

_EPILOG = """\
What to explain is one of

  kernel.ptx                       every tcgen05 and wgmma instruction of a module, from any compiler (- reads stdin)
  smem 0x4000404000010000          a shared-memory matrix descriptor of tcgen05; wgmma: one of wgmma
  idesc 0x08400010 --kind f16      an instruction descriptor of tcgen05.mma
  mask 0x010c00820000000b          a zero-column mask descriptor
  tensormap map.bin                the 128 bytes of a tensor map, from a file or as 256 hexadecimal digits

Fields instead of a word are encoded, with the names of the Python classes:

  smem start=0 lbo=16 sbo=1024 swizzle=128B       wgmma sbo=1024 swizzle=128B
  idesc m=128 n=256 a=bf16 b=bf16 --kind f16      mask columns=0-3,12-15 --m 64 --n 256
  tensormap address=0x7f0000000000 element=f16 dims=4096,4096 strides=8192 box=64,128 swizzle=128B
"""


def _parser() -> ArgumentParser:
    what = "Explain the descriptors of tensor-core instructions: their fields, and what is wrong with them."
    parser = ArgumentParser("tirx-explain", what, _EPILOG)
    parser.add_argument("what", help=f"a PTX file, or {', '.join(_WORDS)}")
    parser.add_argument("words", nargs="*", metavar="WORD|FIELD=VALUE", help="words to explain, or fields to encode")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--fields", action="store_true", help="of PTX: a line for each field of each descriptor")
    parser.add_argument("--target", choices=TARGETS, metavar="TARGET", help="check for this target, as sm_100a")
    parser.add_argument("--major", choices=MAJORS, help="major-ness of the operand (default: both)")
    parser.add_argument("--dtype", choices=DTYPES, metavar="TYPE", help="element type of the operand (default: f16)")
    parser.add_argument("--shape", metavar="MNxK", help="elements that one instruction reads (default: 64 x 32 bytes)")
    parser.add_argument("--kind", choices=KINDS, default="f16", help="kind of tcgen05.mma (default: f16)")
    parser.add_argument("--cta-group", type=int, choices=(1, 2), help="of the instruction")
    parser.add_argument("--ws", action=argparse.BooleanOptionalAction, help="of the instruction")
    parser.add_argument("--m", type=int, help="M of the instruction")
    parser.add_argument("--n", type=int, help="N of the instruction")
    return parser


def _word(text: str, bits: int = 64) -> int:
    try:
        word = int(text, 0)
    except ValueError as error:
        raise UsageError(f"expected a word as 0x4000404000010000, or field=value, found '{text}'") from error
    if not 0 <= word < 1 << bits:
        raise UsageError(f"expected a word of {bits} bits, found '{text}'")
    if text.isdecimal() and len(text) == bits // 4:
        print(f"note: '{text}' is read as a decimal number; write 0x{text} for a hexadecimal one", file=sys.stderr)
    return word


def _value(text: str) -> Any:
    """A field on the command line: numbers, yes and no, tuples with commas, names."""
    if "," in text:
        return tuple(_value(part) for part in text.split(",") if part)
    if text.lower() in ("true", "false", "yes", "no"):
        return text.lower() in ("true", "yes")
    if text.lower() == "none":
        return None
    try:
        return int(text, 0)
    except ValueError:
        return text


def _columns(text: str) -> set[int]:
    """`0-3,12` as the columns 0 to 3 and 12."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        columns = [_small(each, _LAST_COLUMN) for each in (first, last if dash else first)]
        if None in columns or columns != sorted(cast("list[int]", columns)):
            raise UsageError(f"columns: expected as 0-3,12-15, up to {_LAST_COLUMN}, found '{text[:80]}'")
        low, high = cast("list[int]", columns)
        found |= set(range(low, high + 1))
    return found


def _small(text: str, most: int) -> int | None:
    """A number from 0 to `most`, or None."""
    return int(text) if text.isdecimal() and len(text) <= len(str(most)) and int(text) <= most else None


def _encoded(what: str, texts: Sequence[str], flags: argparse.Namespace) -> int:
    """The word of fields. Raises LegalityError, or UsageError for a field that does not exist."""
    fields = _fields(what, texts)
    try:
        return _word_of(what, fields, flags)
    except TypeError as error:  # of the constructor: a field that is missing, or of another type
        problem = str(error).partition("() ")[2]
        problem = problem or f"expected values as --help shows them, found '{' '.join(texts)[:80]}'"
        raise UsageError(f"{what}: {problem}") from error


def _fields(what: str, texts: Sequence[str]) -> dict[str, Any]:
    """Returns the values of `field=value` texts by field. Raises UsageError for a field that does not exist."""
    pairs = [text.partition("=") for text in texts]
    if bad := [text for text, (_, equals, _) in zip(texts, pairs, strict=True) if not equals]:
        raise UsageError(f"expected field=value, found '{bad[0]}'")
    known = signature(_CLASSES[what]).parameters
    fields: dict[str, Any] = {}
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise UsageError(f"{what}: expected every field once, found '{' '.join(texts)[:80]}'")
    for name, _, text in pairs:
        if what == "mask" and name == "columns":
            fields[name] = text
        elif name not in known:
            raise UsageError(f"{what}: expected fields of {', '.join(known)}, found '{name}'")
        else:
            value = _value(text)
            # `none` is the name of a swizzle, but of an offset it is no offset.
            fields[name] = text.lower() if value is None and "None" not in str(known[name].annotation) else value
    return fields


def _word_of(what: str, fields: dict[str, Any], flags: argparse.Namespace) -> int:
    """Returns the word of fields. Raises LegalityError, or TypeError for fields that the word does not have."""
    offsets: dict[str, Any] = {"start": 0, "lbo": None, "sbo": None, "swizzle": "none"}
    kind: dict[str, Any] = {"kind": flags.kind}
    match what:
        case "smem":
            return SmemDescriptor(**(offsets | fields)).encode()
        case "wgmma":
            return WgmmaDescriptor(**(offsets | fields)).encode()
        case "idesc":
            return InstructionDescriptor(**(kind | fields)).encode()
        case "mask" if "columns" in fields:
            if flags.m is None or flags.n is None:
                raise UsageError("columns: expected --m and --n of the instruction")
            columns, shift = _columns(fields.pop("columns")), fields.pop("shift", 0)
            if fields:
                raise UsageError(f"columns: expected no field but shift beside it, found '{next(iter(fields))}'")
            return ZeroColumnMask.from_columns(columns, flags.m, flags.n, shift).encode()
        case "mask":
            return ZeroColumnMask(**fields).encode()
        case _:
            for name in ("dims", "strides", "box", "element_strides"):
                if isinstance(fields.get(name), int):
                    fields[name] = (fields[name],)
            address: dict[str, Any] = {"address": 0, "strides": ()}
            return int.from_bytes(TensorMapBits(**(address | fields)).encode(), "little")


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = [_small(part, _MOST_ELEMENTS) for part in text.split("x")]
    match parts:
        case [int(rows), int(k)] if rows and k:
            return rows, k
        case _:
            raise UsageError(
                f"--shape: expected rows and elements of K as 128x16, up to {_MOST_ELEMENTS}, found '{text[:80]}'"
            )


def _map_bytes(text: str) -> bytes:
    digits = text.removeprefix("0x").replace("_", "")
    if len(digits) == 2 * SIZE and all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return bytes.fromhex(digits)
    return read_input(text)


def _check_target(what: str, target: str | None) -> None:
    """Raises UsageError for a target without the instructions whose descriptor this is."""
    if target is not None and what in _FEATURES:
        try:
            required_version(_FEATURES[what], Target.parse(target))
        except UnsupportedFeature as error:
            raise UsageError(f"{what}: {error}") from error


def _explain(what: str, text: str, flags: argparse.Namespace) -> Explanation:
    match what:
        case "smem" | "wgmma":
            family = WGMMA_OPERANDS if what == "wgmma" else TCGEN05_OPERANDS
            return explain_matrix_descriptor(
                _word(text),
                family,
                major=flags.major,
                dtype=flags.dtype,
                shape=_shape(flags.shape),
                target=flags.target,
            )
        case "idesc":
            return explain_instruction_descriptor(
                _word(text, bits=32), flags.kind, cta_group=flags.cta_group, ws=flags.ws, target=flags.target
            )
        case "mask":
            return explain_zero_column_mask(_word(text), m=flags.m, n=flags.n)
        case _:
            return explain_tensor_map(_map_bytes(text))


def _texts(flags: argparse.Namespace) -> list[str]:
    """The words to explain; fields are encoded to one."""
    words = cast("list[str]", flags.words)
    if not words:
        raise UsageError(f"{flags.what}: expected a word or fields")
    if "=" not in words[0]:
        return words
    word = _encoded(flags.what, words, flags)
    return [word.to_bytes(SIZE, "little").hex() if flags.what == "tensormap" else hex(word)]


def _run(flags: argparse.Namespace) -> bool:
    """Prints the explanations. Returns True if all of it is legal."""
    if flags.what not in _WORDS:
        if flags.words:
            raise UsageError(f"expected one PTX file, or one of {', '.join(_WORDS)}, found '{flags.what}'")
        if flags.what.endswith(".mlir"):
            raise UsageError(f"expected PTX, found '{flags.what}'; tirx-opt --lower-to-ptx makes PTX of it")
        try:
            report = explain_ptx(read_input(flags.what).decode())
        except UnicodeDecodeError as error:
            raise FileError(f"cannot read '{flags.what}': it is not text in UTF-8") from error
        path = "<stdin>" if flags.what == "-" else flags.what
        text = json.dumps(report.json(), indent=2) if flags.json else report.text(path, fields=flags.fields)
        none = "no tcgen05 and no wgmma instruction, so no descriptor; tirx-sim runs any PTX and checks it"
        write_output("-", f"{text or none}\n")
        wrong = [str(each.line) for each in report.instructions if not each.legal]
        if wrong:
            more = f" and {len(wrong) - 8} more" if len(wrong) > 8 else ""
            print(f"{path}: wrong: lines {', '.join(wrong[:8])}{more}", file=sys.stderr)
        return report.legal
    _check_target(flags.what, flags.target)
    found = [_explain(flags.what, text, flags) for text in _texts(flags)]
    if flags.json:
        data = [each.json() for each in found]
        write_output("-", json.dumps(data[0] if len(data) == 1 else data, indent=2) + "\n")
    else:
        write_output("-", "\n\n".join(each.text() for each in found) + "\n")
    return all(each.legal for each in found)


def main(argv: Sequence[str]) -> int:
    """Runs `tirx-explain` with the arguments `argv`, without its name, and returns its exit code."""
    try:
        flags = _parser().parse_args(argv)
        return 0 if _run(flags) else _ILLEGAL
    except (UsageError, FileError, LegalityError, SimError) as error:
        print(f"error: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(commands.tirx_explain())
