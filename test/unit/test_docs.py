"""
Every code block of the guides is run: Python sessions as doctests, programs through the pipeline. IR and PTX are
compared with what the passes make of the program before them, up to the numbers of values and registers.

    PYTHONPATH=test python test/unit/test_docs.py

writes the blocks of IR and PTX anew, to be looked at before they are committed.
"""

from __future__ import annotations

import doctest
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from unit.cases import together
from unit.kernels import ring_cases
from unit.passes.rings.proof.cases import CASES as PROOF_CASES
from unit.sim.mutants import MUTANTS
from unit.sim.test_tcgen05_mutants import _MUTANTS as _TCGEN05_MUTANTS  # pyright: ignore[reportPrivateUsage]
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

import tirx
from tirx.dialects import get_all_dialects
from tirx.dialects.ptx.base import PTXInstruction
from tirx.hw.features import since
from tirx.passes import PASS_SUMMARIES, lower_to_ptx_passes, lower_to_ptx_pipeline
from tirx.ptx.printer import print_ptx
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

_DIRECTORY = Path(__file__).parents[2] / "docs"
_BUILD: dict[str, Any] = run_path(str(_DIRECTORY / "build.py"))
DOCS = sorted(_DIRECTORY.rglob("*.md"))
WRITTEN = [path for path in DOCS if path.name not in _BUILD["GENERATED"]]
"""Pages that people write, not `docs/build.py`."""

_EXCERPT = re.compile(
    r"^<!-- (?:ir (?P<step>\S+)|(?P<ptx>ptx)) /(?P<lines>[^\n]*?)/(?P<untyped> without types)? -->\n"
    r"```\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
"""A block of the lines that match a pattern: of the IR after a pass (the last one of that name) or of the PTX."""


def blocks(path: Path) -> list[tuple[str, str]]:
    """(language, code) of every fenced block."""
    return re.findall(r"^```(.*?)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def without_numbers(text: str) -> str:
    """`text` with nameless values and registers that look all the same."""
    return re.sub(r"%([a-z]*)\d+", r"%\1", text)


@cache
def stages(program: str) -> dict[str, str]:
    """Pass -> the IR after it; `ptx` -> the PTX."""
    found: dict[str, str] = {}

    def record(after: ModulePass, module: ModuleOp) -> None:
        text = StringIO()
        Printer(stream=text).print_op(module)
        found[after.name] = text.getvalue()

    context = new_context()
    module = parse_located(context, program)
    run_passes(context, module, lower_to_ptx_passes().passes, record)
    return found | {"ptx": print_ptx(module)}


def excerpts(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """The excerpts of a page, each of the last program before it, with what they should be."""
    programs = list(re.finditer(r"^<!-- program -->\n```mlir\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    for excerpt in _EXCERPT.finditer(text):
        program = next(program for program in reversed(programs) if program.end() < excerpt.start())
        lines = stages(program[1])[excerpt["step"] or "ptx"].splitlines()
        chosen = [line.strip() for line in lines if re.search(excerpt["lines"], line)]
        if excerpt["untyped"]:
            chosen = [line.partition(" : ")[0] if " : !" in line or " : i" in line else line for line in chosen]
        yield excerpt, "".join(f"{line}\n" for line in chosen)


@pytest.mark.parametrize("path", DOCS, ids=[path.name for path in DOCS])
def test_sessions(path: Path) -> None:
    session = doctest.DocTestParser().get_doctest(path.read_text(), {}, path.name, str(path), 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0


@pytest.mark.parametrize("path", WRITTEN, ids=[path.name for path in WRITTEN])
def test_every_block_is_run(path: Path) -> None:
    shown = [excerpt["text"] for excerpt, _ in excerpts(path.read_text())]
    for language, code in blocks(path):
        match language:
            case "python":
                # The whole file is one session; a block without a prompt would not be run.
                assert code.startswith((">>> ", "# toy_tirx.py\n"))
            case "toml":  # both are installed by test_embedding.py
                pass
            case "mlir" if path.name == "language.md" and f"-->\n```mlir\n{code}```" in path.read_text():
                pass  # test_language.py runs them
            case "mlir":
                tirx.compile(code)
            case "" if code in shown or path.parent.name == "tutorial":  # there, drawings
                pass
            case other:
                pytest.fail(f"{path.name} has a block of {other or 'no language'}, which no test runs:\n{code}")


@together("path", DOCS)
def test_excerpts(path: Path) -> None:
    for excerpt, expected in excerpts(path.read_text()):
        assert expected, f"no line matches {excerpt['lines']}"
        assert without_numbers(excerpt["text"]) == without_numbers(expected), (
            "PYTHONPATH=test python test/unit/test_docs.py writes it anew"
        )


@together("name", _BUILD["CHAPTERS"]["Tutorial"])
def test_programs_of_the_tutorial_are_text_and_python_by_a_switch(name: str) -> None:
    page, staged = (_DIRECTORY / name).read_text(), _BUILD["_staged_text"](name)
    for side in ("Text", "Python"):
        assert page.count(f"<!-- tab {side} -->") == staged.count(f'=== "{side}"\n\n    ```python\n    >>> ') > 0


def test_reference_pages_have_everything() -> None:
    programs = [f"examples/{name}_gemm.mlir" for name in ("tcgen05", "mma_m8n8k4_f16")]
    made = {"passes.md": _BUILD["passes_page"](), "operations.md": _BUILD["operations_page"](programs)}
    assert all(f"## `{name}`" in made["passes.md"] for name in PASS_SUMMARIES)
    for dialect in get_all_dialects().values():
        assert all(f"`{op.name}`" in made["operations.md"] for op in dialect().operations)
    rows = {row.partition("]")[0][4:-1]: row for row in made["operations.md"].splitlines() if row.startswith("| [`")}
    assert rows["tirx.mma"].count("|") == 5
    _, _, before, hopper, blackwell, _ = rows["tirx.mma"].split("|")
    assert "`mma.m8n8k4.f16`" in before and hopper.strip() == "" and "`tcgen05.mma`" in blackwell
    assert "`cp.async.bulk.tensor.load`" in rows["tirx.copy"].split("|")[4]
    assert "`tcgen05.commit`" in rows["tirx.release"].split("|")[4]


def test_every_instruction_says_since_when() -> None:
    """Version and targets, from the rows that its forms need (`families.forms_of` holds forms to these rows)."""
    page = (_DIRECTORY / "operations.md").read_text()
    rows = dict(re.findall(r"^\| `(ptx\.[\w.]+)` \|.*\| ([^|]+) \|$", page, re.MULTILINE))
    for name, make in get_all_dialects().items():
        for op in make().operations:
            if not issubclass(op, PTXInstruction):
                continue
            said = (
                rows.get(op.name, "") if name == "ptx" else page.partition(f"### `{op.name}`\n")[2].partition("\n##")[0]
            )
            needs = [*op.NEEDS, *op.forms_need()]
            assert said, f"{op.name} is not on the page, which `python docs/build.py --reference` writes"
            assert [each for each in needs if since(*([each] if each not in op.NEEDS else op.NEEDS)) not in said] == []
            assert needs or "all targets" in said, op.name


def test_passes_are_in_the_order_of_the_pipeline() -> None:
    order = list(dict.fromkeys(spec.partition("{")[0] for spec in lower_to_ptx_pipeline()))
    page = (_DIRECTORY / "passes.md").read_text()
    assert [name for name in re.findall(r"^## `([\w-]+)`$", page, re.MULTILINE) if name in order] == order
    assert [name for name in PASS_SUMMARIES if name in order] == order
    again = re.findall(r"^## `([\w-]+)`(?:(?!^## ).)*?once more behind", page, re.MULTILINE | re.DOTALL)
    assert again == ["tirx-mem2reg", "tirx-check-rings"]


def test_numbers_of_things_that_can_be_counted() -> None:
    kernels = list(ring_cases.cases())
    products = sum(1 for _ in run_path(str(_DIRECTORY.parent / "test" / "gpu" / "wgmma_layouts.py"))["cases"](1))
    table = re.findall(r"^\| (.*?) \| .*? \| .*? \| (sm_.*?) \|", (_DIRECTORY / "corpus.md").read_text(), re.MULTILINE)
    made = Counter([name for name, targets in table for _ in targets.split(", ")])
    said = {
        "rings.md": [
            f"The sweep knows {len(kernels):,} kernels, of which {len(ring_cases.pairwise(kernels))} have every pair",
            f"{len(PROOF_CASES)} kernels and bugs of the field",
        ],
        "status.md": [f"`python test/gpu/wgmma_layouts.py`, {products} products today"],
        "corpus.md": [f"{made.total()} kernels", *(f"{number} of {name}" for name, number in made.items())],
    }
    for page, sentences in said.items():
        text = " ".join((_DIRECTORY / page).read_text().split())
        assert [sentence for sentence in sentences if sentence not in text] == []
    sweeps = _DIRECTORY.parent / "test" / "sweeps"
    cases = len(run_path(str(sweeps / "example_sizes.py"))["all_cases"]())
    contributing = (_DIRECTORY.parent / "CONTRIBUTING.md").read_text()
    assert f"the examples in {cases} cases of sizes, types and targets" in contributing
    programs = len(run_path(str(sweeps / "check_mutants.py"))["programs"]())
    assert f"notices on {programs} programs" in contributing
    assert f"notices on {programs} programs" in (_DIRECTORY / "proofs.md").read_text()
    toy = (_DIRECTORY.parent / "examples" / "embed_dsl" / "toy.py").read_text().count("\n")
    assert toy < 150 and "(under 150 lines)" in (_DIRECTORY / "embedding.md").read_text()
    assert (
        len(MUTANTS) + len(_TCGEN05_MUTANTS) > 200
        and "more than 200 deliberately broken" in (_DIRECTORY / "status.md").read_text()
    )


_MEASURED = re.compile(
    r"\b\d[\d.,]* ?(?:us|ms|s|seconds|minutes|[TG]B/s|TFLOP/s)(?![\w/])|\b\d[\d.]* times (?:as|faster)"
)
_DATED = re.compile(r"20\d\d-\d\d-\d\d|python benchmarks/checking.py|<!-- check:")


@together("path", [*WRITTEN, _DIRECTORY.parent / "README.md", _DIRECTORY.parent / "CONTRIBUTING.md"])
def test_measured_numbers_have_a_date(path: Path) -> None:
    """A section with times or rates says when they were measured, or which command checks them."""
    text = path.read_text()
    if "where no other day is named" not in text:
        text = re.sub(r"```.*?```|`[^`\n]*\d[^`\n]* s`", "", text, flags=re.DOTALL)
        sections = [each for each in re.split(r"^(?=#+ )", text, flags=re.MULTILINE) if not _DATED.search(each)]
        assert [match[0] for each in sections for match in _MEASURED.finditer(each)] == []


def test_every_public_name_is_on_a_page() -> None:
    """Names of `__all__`, and what classes define, on the page of their module or by a link to where they are."""
    api = _BUILD["API"]
    made = {module: api["page"](module) for module in api["MODULES"]}
    anchors = {
        f"{module}.md#{place}" for module, text in made.items() for place in re.findall(r"[#\"]([\w.]+)[ \"]", text)
    }
    for module, text in made.items():
        for name in import_module(module).__all__:
            assert f"{module}.md#{module}.{name}" in anchors or f"[`{name}`](" in text, (module, name)
        assert set(re.findall(r"\]\((tirx[\w.]*\.md#[\w.]+)\)", text)) <= anchors
    for method in ("apply", "owners", "from_cute", "to_cute", "group_many", "canonicalize"):
        assert f"`TileLayout.{method}` {{ #tirx.layout.TileLayout.{method} }}" in made["tirx.layout"]
    # Sessions are blocks, parameters a list, and nothing outside of code is HTML or a heading.
    assert "```pycon\n>>> " in made["tirx.layout"] and "- `bound`: exclusive upper bound" in made["tirx.layout"]
    assert "\n\\#ttg.linear&lt;..>" in made["tirx.layout"]


def test_no_link_is_dead() -> None:
    assert not _BUILD["dead_links"]()


def test_every_page_is_in_a_chapter() -> None:
    listed = {(_DIRECTORY / name).resolve() for names in _BUILD["CHAPTERS"].values() for name in names}
    assert set(DOCS) <= listed


def test_every_pass_is_explained() -> None:
    page = next(path for path in DOCS if path.name == "architecture.md").read_text()
    named = set(re.findall(r"`((?:tirx|convert|tcgen05)-[a-z0-9-]+)`", page)) - {"tirx-opt"}
    pipeline = {p.name for p in lower_to_ptx_passes().passes} & PASS_SUMMARIES.keys()
    assert pipeline <= named <= PASS_SUMMARIES.keys()


if __name__ == "__main__":
    for path in DOCS:
        text = path.read_text()
        for excerpt, expected in excerpts(text):
            text = text.replace(excerpt[0], excerpt[0].replace(f"-->\n```\n{excerpt['text']}", f"-->\n```\n{expected}"))
        path.write_text(text)
