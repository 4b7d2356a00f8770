"""Mutations of texts: tokens, numbers, types, attributes, clauses, lines."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

TOKEN = re.compile(r"\"[^\"\n]*\"|[%@^#!]?[A-Za-z_][\w.$]*|%\w+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|->|::|[^\s\w]")
_NUMBER = re.compile(r"(?<![\w.%])-?\d+(?![\w.])|(?<=[x<])\d+(?=x)")
_TYPES = (
    "f16", "bf16", "tf32", "f32", "f64", "f80", "f128", "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN",
    "f8E8M0FNU", "i1", "i2", "i4", "i8", "si8", "ui8", "i16", "si16", "ui16", "i32", "si32", "ui32", "i64", "si64",
    "ui64", "i128", "index", "none",
)  # fmt: skip
_TYPE = re.compile(rf"(?<![\w.])(?:{'|'.join(_TYPES)})\b|(?<=x)(?:{'|'.join(_TYPES)})\b")
_MEMORY = re.compile(r"(?<=, )(?:global|shared|tensor|register|accumulator)\b")
_TARGET = re.compile(r"\bsm_\d+[af]?\b")
_MEMORIES = ("global", "shared", "tensor", "register", "accumulator")
_TARGETS = (
    "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103a",
    "sm_110a", "sm_120", "sm_120a", "sm_121a", "sm_61",
)  # fmt: skip
_EDGES = (0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 48, 64, 96, 100, 128, 256, 512, 1000, 1024, 65535, 65536)
_HUGE = (2**31 - 1, 2**31, 2**32, 2**63, 2**64, 10**12, 10**30)

Mutation = Callable[[str, random.Random], str]


def number(rng: random.Random, old: int) -> int:
    """Another number: near, a multiple, an edge of what hardware has, or huge."""
    near = (old + 1, old - 1, old * 2, old // 2, -old, old * 3, old + 8)
    kind = rng.random()
    return rng.choice(near) if kind < 0.45 else rng.choice(_EDGES) if kind < 0.92 else rng.choice(_HUGE)


def _one(pattern: re.Pattern[str], new: Callable[[str, random.Random], str]) -> Mutation:
    """Replaces one match, or all that are equal to it."""

    def mutation(text: str, rng: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        chosen = rng.choice(found)
        value = new(chosen[0], rng)
        if rng.random() < 0.4:
            return pattern.sub(lambda match: value if match[0] == chosen[0] else match[0], text)
        return text[: chosen.start()] + value + text[chosen.end() :]

    return mutation


def _of(names: Sequence[str]) -> Callable[[str, random.Random], str]:
    return lambda _, rng: rng.choice(names)


def _swap_token(text: str, rng: random.Random) -> str:
    """A token becomes another one of the text that starts like it."""
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    chosen = rng.choice(tokens)
    first = chosen[0][0]
    alike = [each[0] for each in tokens if each[0][0] == first or (each[0][0].isalpha() and first.isalpha())]
    return text[: chosen.start()] + rng.choice(alike) + text[chosen.end() :]


def _delete_token(text: str, rng: random.Random) -> str:
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    start = rng.randrange(len(tokens))
    end = min(len(tokens), start + rng.choice((1, 1, 1, 2, 3, 5))) - 1
    return text[: tokens[start].start()] + text[tokens[end].end() :]


def _copy_token(text: str, rng: random.Random) -> str:
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        return text
    source, at = rng.choice(tokens), rng.choice(tokens)
    return f"{text[: at.end()]} {source[0]} {text[at.end() :]}"


def _lines(change: Callable[[list[str], random.Random], None]) -> Mutation:
    def mutation(text: str, rng: random.Random) -> str:
        lines = text.splitlines(keepends=True)
        if lines:
            change(lines, rng)
        return "".join(lines)

    return mutation


def _delete_line(lines: list[str], rng: random.Random) -> None:
    start = rng.randrange(len(lines))
    del lines[start : start + rng.choice((1, 1, 1, 2, 4))]


def _repeat_line(lines: list[str], rng: random.Random) -> None:
    start = rng.randrange(len(lines))
    part = lines[start : start + rng.choice((1, 1, 2, 4))]
    lines[start:start] = part * rng.choice((1, 1, 1, 2, 10))


def _move_line(lines: list[str], rng: random.Random) -> None:
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randint(0, len(lines)), line)


def _characters(text: str, rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    if rng.random() < 0.5:
        return text[:at] + text[at + rng.choice((1, 1, 2, 8)) :]
    return text[:at] + rng.choice(list("(){}[]<>,:;@%#!?*+-\"'\\\0\t\r\n0x\u00e9\u2028\U0001f600\x7f")) + text[at:]


_MUTATIONS: tuple[tuple[Mutation, float], ...] = (
    (_one(_NUMBER, lambda old, rng: str(number(rng, int(old)))), 5),
    (_one(_TYPE, _of(_TYPES)), 3),
    (_one(_MEMORY, _of(_MEMORIES)), 2),
    (_one(_TARGET, _of(_TARGETS)), 2),
    (_swap_token, 5),
    (_delete_token, 3),
    (_copy_token, 2),
    (_lines(_delete_line), 2),
    (_lines(_repeat_line), 1.5),
    (_lines(_move_line), 1.5),
    (_characters, 0.7),
)


def mutated(text: str, rng: random.Random, others: Sequence[str] = ()) -> str:
    """The text after one to four mutations; now and then with lines of one of `others`."""
    changes, weights = zip(*_MUTATIONS, strict=True)
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3))):
        if others and rng.random() < 0.08:
            text = _spliced(text, rng.choice(others), rng)
        else:
            text = rng.choices(changes, weights)[0](text, rng)
    return text


def _spliced(text: str, other: str, rng: random.Random) -> str:
    lines, source = text.splitlines(keepends=True), other.splitlines(keepends=True)
    if not source:
        return text
    start, at = rng.randrange(len(source)), rng.randint(0, len(lines))
    lines[at:at] = source[start : start + rng.choice((1, 1, 2, 3))]
    return "".join(lines)
