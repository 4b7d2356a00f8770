"""The fuzzer: its corpus, a few inputs of every class, limits, and that failures are found and made small."""

from __future__ import annotations

import os
import random
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from fuzz.atomics import random_atomics
from fuzz.bodies import random_bodies
from fuzz.classes import CLASSES, SHARES
from fuzz.engine import CORPUS, REFUSED, ROOT, Finding, InputClass, Problem, examine
from fuzz.flags import random_flags
from fuzz.folds import random_fold
from fuzz.minimise import minimised
from fuzz.parts import random_parts
from fuzz.places import random_places
from fuzz.programs import EQUAL, FIRST, Programs
from fuzz.scalars import bound, random_scalars
from fuzz.targets import TARGETS
from fuzz.turns import random_turns
from sweeps.own_meaning import ARITHMETIC, GENERATORS, program_of

from tirx.dialects.ptx.atomics import Atomic

_INPUTS = {"programs": 5, "modules": 5, "documents": 2, "layouts": 40, "kernels": 6, "commands": 10}
"""Of each class, in every run of the tests."""


@pytest.fixture(autouse=True)
def _strict_warnings() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.sample(15)
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_corpus(path: Path) -> None:
    found = examine(CLASSES[path.parent.name](), path.read_text(encoding="utf-8", errors="surrogateescape"))
    assert not isinstance(found, Finding), found


@pytest.mark.parametrize("name", CLASSES)
def test_some_inputs(name: str) -> None:
    inputs = CLASSES[name]()
    for number in range(_INPUTS[name]):
        text = inputs.generate(random.Random(f"{name} 0 {number}"))
        assert text == inputs.generate(random.Random(f"{name} 0 {number}"))
        found = examine(inputs, text)
        assert not isinstance(found, Finding), f"{found}\n{text}"


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_tiles_are_combined_as_they_say(number: int) -> None:
    text = random_fold(random.Random(f"folds {number}"))
    assert examine(Programs(), f"{FIRST} \n{text}") == EQUAL, text


@pytest.mark.sample(4)
@pytest.mark.parametrize("number", range(300))
def test_places_say_what_is_moved(number: int) -> None:
    text = random_places(random.Random(f"places {number}"))
    found = examine(Programs(), f"{FIRST} \n{text}")
    assert not isinstance(found, Finding), f"{found}\n{text}"


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_tiles_are_put_together_as_they_say(number: int) -> None:
    text = random_parts(random.Random(f"parts {number}"))
    assert examine(Programs(), f"{FIRST} \n{text}") in (EQUAL, REFUSED), text


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_blocks_wait_for_those_before_them(number: int) -> None:
    text = random_flags(random.Random(f"flags {number}"))
    assert examine(Programs(), f"{FIRST} \n{text}") == EQUAL, text


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_numbers_go_between_memory_tiles_and_functions(number: int) -> None:
    rng = random.Random(f"scalars {number}")
    text = random_scalars(rng)
    assert examine(Programs(), f"{FIRST} {bound(text, rng)}\n{text}") == EQUAL, text


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_blocks_combine_elements_in_one_step(number: int) -> None:
    text = random_atomics(random.Random(f"atomics {number}"))
    assert examine(Programs(), f"{FIRST} \n{text}") == EQUAL, text


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_bodies_have_branches(number: int) -> None:
    text = random_bodies(random.Random(f"bodies {number}"))
    assert examine(Programs(), f"{FIRST} \n{text}") == EQUAL, text


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", range(300))
def test_loops_go_on_as_often_as_memory_says(number: int) -> None:
    text = random_turns(random.Random(f"turns {number}"))
    assert examine(Programs(), f"{FIRST} assertions={'off' if number % 2 else 'on'}\n{text}") == EQUAL, text


@pytest.mark.parametrize(
    ("test", "number"),
    [
        *((test_tiles_are_combined_as_they_say, number) for number in (6, 28, 103)),  # by a region, across warps
        (test_places_say_what_is_moved, 16),  # a computed number of indices of an index tile
        *((test_tiles_are_put_together_as_they_say, number) for number in (1, 26)),  # parts with steps
    ],
)
def test_programs_that_every_run_has(test: Callable[[int], None], number: int) -> None:
    test(number)


_BY_PASSES = {
    f"tirx.{name}" for name in (
        "acquire", "address", "async_copy", "async_mma", "async_next", "at", "await", "barrier", "cluster_sum",
        "cp_async", "cta_rank", "for", "leader", "mma_sync", "pack", "release", "ring", "role", "roles", "slot",
        "ticket", "tiles", "tma_load", "tma_store", "unpack", "warpgroup", "words",
    )
}  # fmt: skip
"""Operations that passes make, or that are for kernels whose schedule is written."""

_BESIDES = {
    "func.call", "memref.alloca", "memref.dim", "memref.load", "memref.store", "memref.subview", "scf.for", "scf.if",
    "scf.while",
}  # fmt: skip


def test_every_operation_is_drawn() -> None:
    """The generators of random programs draw each operation of tile programs, for every target, by every engine."""
    texts = [program_of(f"{family}: 0 {n}")[0] for family in (*GENERATORS, ARITHMETIC) for n in range(60)]

    def drawn(pattern: str) -> set[str]:
        return {found for text in texts for found in re.findall(pattern, text)}

    operations = drawn(r"(?<![!#\w.@])((?:tirx|memref|scf|func)\.\w+)(?! =)\b")
    page = (ROOT / "docs" / "operations.md").read_text()
    assert (set(re.findall(r"^### `(tirx\.\w+)`", page, re.MULTILINE)) | _BESIDES) - operations == _BY_PASSES
    assert drawn(r'target\("(\w+)"\)') == set(TARGETS)
    assert drawn(r" engine (\w+)") == {"ld_st", "cp_async", "tma", "tma_store"}
    assert drawn(r"tirx\.atomic (\w+)") == {str(kind) for kind in Atomic} - {"inc"}
    assert drawn(r"tirx\.atomic .* (acquire|release|acq_rel)\b") == {"acquire", "release", "acq_rel"}
    assert drawn(r"(?:atomic|signal|wait_until) .* (cta|cluster|gpu|sys) :") == {"cta", "cluster", "gpu", "sys"}
    assert drawn(r" (in_order|cooperative) ") == {"in_order", "cooperative"}


def test_every_class_has_a_share() -> None:
    assert set(SHARES) == set(CLASSES)
    assert sum(SHARES.values()) == 100


class _Broken(InputClass):
    name = "broken"
    environment: ClassVar = {"TIRX_VERIFY_EACH": "of an input"}

    def generate(self, rng: random.Random) -> str:
        return "".join(rng.choice(("one\n", "two\n", "three four\n")) for _ in range(30))

    def check(self, text: str) -> str:
        if "four" in text and "two" in text:
            raise Problem("wrong answer", "as planted", "here")
        if text == "wait":
            while True:
                pass
        return {"index": "accepted", "environment": os.environ["TIRX_VERIFY_EACH"]}[text]


def test_failures_are_named_and_minimised() -> None:
    inputs = _Broken()
    text = inputs.generate(random.Random(3))
    found = examine(inputs, text)
    assert found == Finding("wrong answer", "here", "as planted")
    assert minimised(text, lambda small: examine(inputs, small) == found) in ("twofour", "fourtwo")
    assert examine(inputs, "index") == "accepted"


def test_the_environment_of_an_input_stays_there() -> None:
    before = dict(os.environ)
    assert examine(_Broken(), "environment") == "of an input"
    assert dict(os.environ) == before


def test_exceptions_and_time() -> None:
    unknown = examine(_Broken(), "else")
    assert isinstance(unknown, Finding) and unknown.cause == ("KeyError", "test_fuzz.py:check")
    late = examine(_Broken(), "wait", seconds=0.05)
    assert isinstance(late, Finding) and late.kind == "out of time"
