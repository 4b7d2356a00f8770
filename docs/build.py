"""
The documentation: reference pages made from the code, and a site of static files.

    python docs/build.py              writes the reference pages and the site (build/site, which needs no network)
    python docs/build.py --reference  writes the reference pages only
    python docs/build.py --check      writes nothing; exit code 1 for a stale reference page or a dead link

The site needs mkdocs-material (`pip install 'tirx-compiler[docs]'`), the rest nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib.util import find_spec
from inspect import cleandoc
from pathlib import Path
from runpy import run_path
from textwrap import indent
from typing import Any

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
SITE = ROOT / "build" / "site"
STAGED = ROOT / "build" / "docs"
API: dict[str, Any] = run_path(str(DOCS / "api.py"))

CHAPTERS: dict[str, tuple[str, ...]] = {
    "Start": ("index.md", "../README.md", "../examples/README.md", "status.md", "coming-from.md", "three-kernels.md"),
    "Tutorial": tuple(f"tutorial/{name}.md" for name in (
        "1-layouts-on-paper", "2-a-first-kernel", "3-products", "4-descriptors", "5-pipelines"
    )),
    "Reference": ("language.md", "operations.md", "passes.md", "layouts.md", "descriptors.md", "launching.md"),
    "Guides": ("rings.md", "checking.md", "simulator.md", "visualizer.md", "editors.md", "embedding.md",
               "performance.md", "choosing.md", "corpus.md"),
    "Inside": ("architecture.md", "proofs.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md"),
}  # fmt: skip
"""Chapter -> its pages, relative to docs/; the order of the site."""

_MADE = "<!-- Made by `python docs/build.py` from the code: change the code. -->"
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_TAB = re.compile(r"^<!-- tab (\w+) -->\n(^```.*?^```\n)", re.MULTILINE | re.DOTALL)
"""A block that is one side of a switch, with those that stand beside it."""
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)

_PROGRAM = """\
tirx.kernel @looped(%a: memref<128x256xf16>, %b: memref<32x256xf16>, %d: memref<128x32xf32>)
    target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<128x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x32xf32, accumulator>
  %gd = tirx.view %d[%c0, %c0] : memref<128x32xf32> -> !tirx.tile<128x32xf32, global>
  tirx.fill %acc, %zero : f32, !tirx.tile<128x32xf32, accumulator>
  scf.for %k = %c0 to %c256 step %c64 {
    %ga = tirx.view %a[%c0, %k] : memref<128x256xf16> -> !tirx.tile<128x64xf16, global>
    %gb = tirx.view %b[%c0, %k] : memref<32x256xf16> -> !tirx.tile<32x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !tirx.tile<128x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<128x64xf16, shared>, !tirx.tile<32x64xf16, shared>,
      !tirx.tile<128x32xf32, accumulator>
  }
  tirx.copy %acc, %gd : !tirx.tile<128x32xf32, accumulator>, !tirx.tile<128x32xf32, global>
  tirx.return
}
"""
_SHOWN = 14
"""Lines of a change that the reference shows."""


# Reference pages


def passes_page() -> str:
    """The reference of passes: what each does, needs and leaves, its options, and what it changes in one program."""
    from tirx.passes import lower_to_ptx_pipeline
    from tirx.passes.kernels.stages import FACTS, LEAVES, NEEDS
    from tirx.passes.registry import PASS_SUMMARIES, get_all_passes

    classes = get_all_passes()
    order = [spec.partition("{")[0] for spec in lower_to_ptx_pipeline()]
    changes = _changes()
    lines = [
        "# Passes", "", _MADE, "",
        "`tirx-opt --lower-to-ptx` runs the passes of this page in their order, without those that are marked.",
        "Each runs alone as `tirx-opt --NAME FILE` or `--NAME=\"option=value\"`, on what the ones before it leave;",
        "`tirx-opt --print-after NAME` shows what it changes. [Architecture](architecture.md) follows a program.", "",
        "| pass | what it does |", "|---|---|",
        *(f"| [`{name}`](#{name}) | {summary} |" for name, summary in PASS_SUMMARIES.items()), "",
        "The changes below are those of this program, by `tirx-opt --lower-to-ptx --print-between-passes`, the first "
        "lines of each:", "", "```mlir", _PROGRAM.rstrip(), "```", "",
    ]  # fmt: skip
    for name, summary in PASS_SUMMARIES.items():
        kind = classes[name]()
        text = cleandoc(kind.__doc__ or summary)
        lines += [f"## `{name}`", "", text, ""]
        rows = [("needs", "; ".join(FACTS[fact].says for fact in NEEDS.get(name, ()))),
                ("leaves", "; ".join(FACTS[fact].says for fact in LEAVES.get(name, ()))),
                ("options", "; ".join(_options(kind))),
                ("tests", ", ".join(_tests(name))),
                ("in `--lower-to-ptx`", _again(name, order))]  # fmt: skip
        if any(value for _, value in rows):
            lines += ["| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in rows if value), ""]
        if name in order:
            lines += [*_shown(changes.get(name, [])), ""]
    return "\n".join(lines).rstrip() + "\n"


def _again(name: str, order: list[str]) -> str:
    """Says so of a pass that the pipeline `order` does not run, or runs more than once."""
    if name not in order:
        return "no"
    behind = [f"`{order[i - 1]}`" for i, each in enumerate(order) if each == name][1:]
    return f"once more behind {', '.join(behind)}" if behind else ""


def _options(kind: type[Any]) -> Iterator[str]:
    for each in fields(kind):
        default = "" if each.default in (MISSING, None) else f" (default {each.default})"
        yield f"`{each.name.replace('_', '-')}`: {str(each.type).replace(' | None', '').replace('|', 'or')}{default}"


def _tests(name: str) -> Iterator[str]:
    for path in sorted((ROOT / "test" / "passes").glob(f"{name}*.mlir")):
        yield f"[{path.name}](../{path.relative_to(ROOT)})"


def _changes() -> dict[str, list[str]]:
    """What each pass changes in the program, by its name; of a pass that runs twice, the first change."""
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from tirx.passes import lower_to_ptx_passes
    from tirx.text.parsing import parse_located
    from tirx.text.verification import run_passes
    from tirx.tools.changes import ChangePrinter
    from tirx.universe import new_context

    found: dict[str, list[str]] = {}
    written: list[str] = []
    printer = ChangePrinter(written.append)

    def after(done: ModulePass, module: ModuleOp) -> None:
        written.clear()
        printer.after(done, module)
        changed = "".join(written).splitlines()[1:]
        if changed and not found.get(done.name):
            found[done.name] = changed

    context = new_context()
    module = parse_located(context, _PROGRAM)
    printer.start(module)
    run_passes(context, module, lower_to_ptx_passes().passes, after, verify_each=False)
    return found


def _shown(changed: list[str]) -> list[str]:
    """The first added and removed lines of a change."""
    lines = [line for line in changed if line.startswith(("+ ", "- "))]
    if not lines:
        return ["This program has nothing for it."]
    shown = [_short(line) for line in lines[:_SHOWN]]
    more = [f"... and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
    return ["```diff", *shown, *more, "```"]


def _short(line: str) -> str:
    line = re.sub(r"^([+-]) +", r"\1 ", line)
    return line if len(line) <= 150 else line[:147] + "..."


INSTRUCTIONS_OF = tuple(f"examples/{name}.mlir" for name in (
    "mma_m8n8k4_f16_gemm", "mma_m8n8k4_f64_gemm", "mma_gemm_fp8_output", "mma_m16n8k16_f16_gemm", "norms", "softmax",
    "quantize_mxfp8", "transpose", "split_k_gemm", "wgmma_any_size_gemm", "wgmma_ring_gemm", "wgmma_roles_gemm",
    "tcgen05_gemm", "tcgen05_gemm_explicit", "tcgen05_a_in_tensor_memory", "tcgen05_sparse_gemm",
    "tcgen05_ws_zero_columns", "tcgen05_2cta_ring_gemm", "tcgen05_2cta_nvfp4_block_scaled_gemm",
))  # fmt: skip
"""The programs that the table of instructions is made from."""

_GENERATIONS = ("before sm_90", "sm_90a", "sm_100 and later")
_PLAIN = frozenset(
    f"ptx.{name}"
    for name in "add and bra cond_bra constant cvt div entry ld.param mov mul mul.lo mul.wide mad.lo or param_address "
    "read_special rem selp setp shl shr sub xor not neg pack unpack shared_alloc cvta.to.global min max".split()
)
"""Instructions that compute numbers, addresses and where to go on, which nearly every operation needs."""


def instructions_of(program: Path) -> Iterator[tuple[str, str, str]]:
    """
    (operation, generation, instruction as an operation) for all that the operations of a program become.

    Every pass gives what it makes the location of what it makes it from: the locations carry the names along.
    """
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
    from xdsl.ir import Operation
    from xdsl.passes import ModulePass

    from tirx.dialects.tirx import kernels
    from tirx.hw.targets import Target
    from tirx.passes import lower_to_ptx_passes
    from tirx.text.parsing import parse_located
    from tirx.text.verification import run_passes
    from tirx.universe import new_context

    def names(op: Operation) -> list[str]:
        match op.location:
            case FileLineColLoc(filename=chain) if chain.data.startswith("|"):
                return chain.data[1:].split("|")
            case _:
                return []

    def stamp(_: ModulePass | None, module: ModuleOp) -> None:
        for op in module.walk():
            chain = names(op)
            if not chain or chain[-1] != op.name:
                op.location = FileLineColLoc(StringAttr("|" + "|".join([*chain, op.name])), IntAttr(1), IntAttr(1))

    module = parse_located(new_context(), program.read_text())
    target = Target.parse(next(kernel.target.data for kernel in kernels(module) if kernel.target is not None))
    generation = _GENERATIONS[(target.cc >= 90) + (target.cc >= 100)]
    stamp(None, module)
    run_passes(new_context(), module, lower_to_ptx_passes().passes, stamp, verify_each=False)
    for op in module.walk():
        for name in set(names(op)[:-1]):
            yield name, generation, op.name


def _instructions(programs: Sequence[str]) -> list[str]:
    """The table of what the operations become."""
    from tirx.dialects import get_all_dialects

    found: dict[str, dict[str, set[str]]] = {}
    for program in programs:
        for name, generation, instruction in instructions_of(ROOT / program):
            found.setdefault(name, {}).setdefault(generation, set()).add(instruction)

    def cell(own: set[str] | None) -> str:
        if own is None:
            return ""
        special = sorted(each.removeprefix("ptx.") for each in own - _PLAIN)
        return ", ".join(f"`{each}`" for each in special) or "arithmetic"

    tiles = [make() for key, make in get_all_dialects().items() if key not in ("ptx", "tcgen05")]
    names = [op.name for dialect in tiles for op in dialect.operations]
    return [
        "## PTX", "",
        "What the operations become in the examples of the repository, as operations of the dialects",
        "[`tcgen05`](#the-dialect-tcgen05) and [`ptx`](#the-dialect-ptx), one for each instruction. Arithmetic,",
        "conversions and jumps are left out; a wait or a fence counts for the operation that needs it.",
        "", f"| operation | {' | '.join(_GENERATIONS)} |", "|---|---|---|---|",
        *(f"| [`{name}`](#{slug(f'`{name}`')}) | {' | '.join(cell(found[name].get(key)) for key in _GENERATIONS)} |"
          for name in sorted(names) if name in found), "",
    ]  # fmt: skip


def operations_page(programs: Sequence[str] = INSTRUCTIONS_OF) -> str:
    """The reference of operations: documentation, clauses, and the instructions that they become in `programs`."""
    from xdsl.irdl import IRDLOperation

    from tirx.dialects import get_all_dialects
    from tirx.tools.language import clauses

    lines = [
        "# Operations", "", _MADE, "",
        "Every operation of the dialects of tirx, from its documentation in the code. [The tile level](language.md)",
        "shows those that programs are written with, each in a program that runs. Instructions say since which version",
        "of PTX and on which targets they exist, by the rows of `tirx.hw.features`, operations on tiles by the",
        "instructions that they become; forms of which nothing is said exist on all targets.", "",
        *_instructions(programs),
    ]  # fmt: skip
    for name, make in get_all_dialects().items():
        dialect = make()
        operations = sorted(dialect.operations, key=lambda op: op.name)
        lines += [f"## The dialect `{name}`", ""]
        if name == "ptx":
            lines += ["One operation is one PTX instruction, over virtual registers.", ""]
            lines += ["| operation | what it does | since |", "|---|---|---|"]
            lines += [*(f"| `{op.name}` | {_first(op)} | {'; '.join(_since(op))} |" for op in operations), ""]
            continue
        for op in operations:
            lines += [f"### `{op.name}`", "", cleandoc(op.__doc__ or ""), ""]
            if issubclass(op, IRDLOperation) and (found := clauses(op)):
                lines += [f"Clauses: {', '.join(f'`{clause}`' for clause in found)}.", ""]
            if len(found := list(_since(op))) == 1:
                lines += [f"Since: {found[0]}.", ""]
            elif found:
                lines += ["Since:", "", *(f"- {each}" for each in found), ""]
    return "\n".join(lines).rstrip() + "\n"


_PRODUCTS = ("mma.m8n8k4.f16", "mma.m16n8k16.f16", "wgmma", "tcgen05")
_TILES: Mapping[str, tuple[tuple[str, ...] | None, tuple[str, ...]]] = {
    "tirx.async_copy": (None, ("cp.async", "cp.async.bulk.tensor", "tcgen05")),
    "tirx.async_mma": (None, ("wgmma", "tcgen05")),
    "tirx.async_next": (("clusterlaunchcontrol",), ()),
    "tirx.atomic": ((), ("atom.b16", "red.bf16")),
    "tirx.await": (None, ("cp.async", "cp.async.bulk.tensor", "wgmma", "tcgen05")),
    "tirx.cluster_sum": (("cluster",), ()),
    "tirx.convert": ((), ("bf16.cvt", "f8x2.cvt", "narrow.cvt", "cvt.ue5m3x2")),
    "tirx.copy": ((), ("cp.async", "ldmatrix", "stmatrix", "cp.async.bulk.tensor", "tcgen05")),
    "tirx.cp_async": (("cp.async",), ()),
    "tirx.cta_rank": (("cluster",), ()),
    "tirx.kernel": ((), ("cluster", "griddepcontrol")),
    "tirx.mma": (None, (*_PRODUCTS, "mma.block_scale")),
    "tirx.mma_sync": (None, (*_PRODUCTS[:2], "mma.block_scale")),
    "tirx.release": ((), ("mbarrier", "tcgen05.commit.sync_restrict")),
    "tirx.ring": ((), ("mbarrier", "cluster")),
    "tirx.role": ((), ("setmaxnreg",)),
    "tirx.tiles": ((), ("clusterlaunchcontrol",)),
    "tirx.tma_load": (("cp.async.bulk.tensor",), ("cp.async.bulk.tensor.cta_group",)),
    "tirx.tma_store": (("cp.async.bulk.tensor",), ()),
}
"""Operations on tiles that are not for all targets -> rows that all forms need (None: no form is for all targets), and
rows that some need: those of the instructions that they become.
"""


def _since(op: type[Any]) -> Iterator[str]:
    """The PTX versions and targets that have an operation; of forms that need more, by the rows that they need."""
    from tirx.dialects.ptx.base import PTXInstruction
    from tirx.hw.features import since

    if not issubclass(op, PTXInstruction) and not op.name.startswith("tirx."):
        return
    needs, forms = _TILES.get(op.name, ((), ()))
    if issubclass(op, PTXInstruction):
        needs, forms = op.NEEDS or (None if op.forms_need() else ()), op.forms_need()
    if needs is not None:
        yield since(*needs) if needs else "all targets"
    yield from (f"forms of `{name}`: {since(name)}" for name in forms if name not in (needs or ()))


def _first(op: type[Any]) -> str:
    return cleandoc(op.__doc__ or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def rooms_picture() -> str:
    """The picture of rooms and their imports."""
    return str(run_path(str(DOCS / "rooms.py"))["picture"]())


GENERATED = {"passes.md": passes_page, "operations.md": operations_page, "images/rooms.svg": rooms_picture}
"""Pages and pictures made from the code."""


def stale() -> list[str]:
    """The generated pages that are not what the code makes of them."""
    return [
        name for name, make in GENERATED.items() if not (DOCS / name).exists() or (DOCS / name).read_text() != make()
    ]


# Links


def pages() -> list[Path]:
    """Every page of the documentation."""
    return sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def dead_links() -> list[str]:
    """Links to files or headings that do not exist, as `page: link`; links to other sites are not followed."""
    found: list[str] = []
    for page in pages():
        for match in _LINK.finditer(_CODE.sub("", page.read_text())):
            link = match[1] or match[2]
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = page if not name else (page.parent / name).resolve()
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                found.append(f"{page.relative_to(ROOT)}: {link}")
    return found


# The site


def build_site() -> None:
    """Writes the site (mkdocs-material): every page, the reference of the Python interface, what they link to."""
    listed = [name for names in CHAPTERS.values() for name in names]
    missing = {path.relative_to(DOCS) for path in DOCS.rglob("*.md")} - {Path(name) for name in listed}
    if missing:
        raise SystemExit(
            f"expected every page in a chapter of docs/build.py, found {sorted(map(str, missing))} in none"
        )
    shutil.rmtree(STAGED, ignore_errors=True)
    shutil.copytree(DOCS / "images", STAGED / "images")
    for name in ("iframe-worker.js", "site.css"):
        shutil.copy(DOCS / name, STAGED)
    for name in listed:
        _write(STAGED / _staged(name), _staged_text(name))
    for module in API["MODULES"]:
        _write(STAGED / API["page_name"](module), API["page"](module))
    order = {chapter: [{_title(name): _staged(name)} for name in names] for chapter, names in CHAPTERS.items()}
    order["Python"] = [{module: API["page_name"](module)} for module in API["MODULES"]]
    settings = (DOCS / "mkdocs.yml").read_text() + f"nav: {json.dumps([{key: each} for key, each in order.items()])}\n"
    _write(SITE.parent / "mkdocs.yml", settings)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(SITE.parent / "mkdocs.yml")]
    if find_spec("material") is None:
        raise SystemExit(
            "error: the site needs mkdocs-material: pip install 'tirx-compiler[docs]'; --reference does not"
        )
    done = subprocess.run(command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    print(f"{len(listed) + len(API['MODULES'])} pages in {SITE}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _staged(name: str) -> str:
    """Where a page stands on the site: those from outside docs/ beside the others, under names that are no index."""
    return name if not name.startswith("../") else name.removeprefix("../").lower().replace("readme.md", "about.md")


def _title(name: str) -> str:
    heading = re.search(r"^# (.*)$", (DOCS / name).read_text(), re.MULTILINE)
    title = name if heading is None else heading[1].replace("`", "")
    return "README" if name == "../README.md" else title


def _staged_text(name: str) -> str:
    """A page as it is on the site: other links, tabs, and no empty line that ends sessions for doctest."""
    either = re.compile(f"(?P<code>{_CODE.pattern})|{_LINK.pattern}", _CODE.flags)
    text = either.sub(
        lambda match: match[0] if match["code"] else _staged_link(name, match[0], match[2] or match[3]),
        (DOCS / name).read_text(),
    )
    text = re.sub(r"\n\n```$", "\n```", text, flags=re.MULTILINE)
    return _TAB.sub(lambda match: f'=== "{match[1]}"\n\n{indent(match[2], "    ")}\n', text)


def _staged_link(name: str, link: str, target: str) -> str:
    """A link of a page as it is on the site. Files that are no pages are copied."""
    if re.match(r"[a-z]+:|#", target):
        return link
    path, _, place = target.partition("#")
    resolved = ((DOCS / name).parent / path).resolve()
    page = next(
        (_staged(other) for names in CHAPTERS.values() for other in names if (DOCS / other).resolve() == resolved), None
    )
    if page is None and resolved.is_relative_to(DOCS):
        page = str(resolved.relative_to(DOCS))
    if page is None:
        page = f"files/{resolved.relative_to(ROOT)}"
        if resolved.is_file():
            (STAGED / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(resolved, STAGED / page)
    found = os.path.relpath(page, Path(_staged(name)).parent) + (f"#{place}" if place else "")
    return link.replace(f"]({target})", f"]({found})")


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description="Makes the reference pages and the documentation site.")
    parser.add_argument("--check", action="store_true", help="only look for stale reference pages and dead links")
    parser.add_argument("--reference", action="store_true", help="only write the reference pages")
    flags = parser.parse_args()
    problems: list[str] = []
    if flags.check:
        problems = [f"docs/{name} is stale: run python docs/build.py --reference" for name in stale()]
    else:
        for name, make in GENERATED.items():
            (DOCS / name).write_text(make())
    problems += [f"dead link: {link}" for link in dead_links()]
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    if problems:
        return 1
    if not flags.check and not flags.reference:
        build_site()
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    try:
        sys.exit(main())
    except OSError as problem:
        sys.exit(f"error: {problem}")
