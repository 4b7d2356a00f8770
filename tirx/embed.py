"""
tirx inside another compiler: contexts, pipelines with passes of your own, diagnostics as values, kernels as attributes.

>>> from tirx import embed
>>> text = '''
... func.func @host() { func.return }
... tirx.kernel @nothing() target("sm_80") grid(1) threads(32) { tirx.return }
... '''
>>> module = embed.parse(text, "toy.mlir")
>>> embed.run(module, embed.pipeline())
True
>>> ".entry nothing" in embed.ptx(module)
True
>>> embed.launches(module)["nothing"].block
(32, 1, 1)

Operations of another dialect inside kernels implement `TileOpInterface` or `ScalarOpInterface`; others are lowered by
passes of their own, put behind any pass of tirx. `docs/embedding.md` is the guide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Dialect, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tirx.diagnostics import Diagnostic, LocatedError, Note, diagnostic_handler, report, written_at
from tirx.dialects.nesting import ancestors
from tirx.dialects.ptx.binary import BinaryOp
from tirx.dialects.ptx.core import EntryOp, entries
from tirx.dialects.tirx.interface import ScalarOpInterface, ThreadLowering, TileOpInterface
from tirx.passes import lower_to_ptx_passes
from tirx.passes.pipeline import place
from tirx.ptx.printer import print_ptx
from tirx.runtime.describe import describe
from tirx.runtime.extract import TirxExtractKernelsPass, program_of
from tirx.runtime.launch import Launch
from tirx.runtime.program import Program
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

__all__ = [
    "BinaryOp", "Diagnostic", "Launch", "LocatedError", "Pipeline", "Program", "ScalarOpInterface", "ThreadLowering",
    "TileOpInterface", "context", "extract", "launches", "parse", "pipeline", "program", "ptx", "report", "run",
]  # fmt: skip


def context(*dialects: Dialect, allow_unregistered: bool = False) -> Context:
    """A context that knows the dialects of tirx, of xDSL and of installed plugins, and `dialects`.

    >>> from tirx import embed
    >>> embed.context().get_optional_op("tirx.kernel").name
    'tirx.kernel'
    """
    made = new_context(allow_unregistered=allow_unregistered)
    for dialect in dialects:
        made.load_dialect(dialect)
    return made


def parse(
    text: str, name: str = "<string>", context: Context | None = None, *, location: LocationAttr | None = None
) -> ModuleOp:
    """The module that MLIR text spells, whose operations know their line in the file `name`.

    `context` defaults to one that knows all dialects. `location` is for text that a compiler makes of one place of its
    source: it is that of all operations for which the text has no `loc(...)`, and of errors of the text, which have a
    note with the line of the text. Raises LocatedError for text that is not MLIR.

    >>> from tirx import embed
    >>> embed.parse("func.func @f() { func.return }", "f.mlir").ops.first.location.line.data
    1
    """
    try:
        module = parse_located(new_context() if context is None else context, text, name)
    except LocatedError as error:
        if location is not None:
            error.notes = (Note("in this text", error.location), *error.notes)
            error.location = location
        raise
    if location is not None:
        for each in _located_in(module):
            if (place := written_at(each.location)) is None or place.filename.data == name:
                each.location = location
    return module


def _located_in(module: ModuleOp) -> Iterator[Operation | BlockArgument]:
    for op in module.walk():
        yield op
        yield from (argument for region in op.regions for block in region.blocks for argument in block.args)


class Pipeline(tuple[ModulePass, ...]):
    """Passes in their order, a value: each method returns another pipeline.

    A pass is meant by its name; `occurrence`, from 1, says which one where several have it. Raises KeyError for a pass
    that the pipeline does not have.

    >>> from tirx import embed
    >>> from tirx.passes.scalars.tirx_cse import TirxCsePass
    >>> passes = embed.pipeline().insert_before("tirx-check-rings", TirxCsePass(), occurrence=2)
    >>> names = [each.name for each in passes.remove("tirx-expand-exchanges")]
    >>> names[names.index("tirx-lower-rings") :][:4]
    ['tirx-lower-rings', 'tirx-cse', 'tirx-check-rings', 'tirx-allocate-memory']
    """

    def insert_before(self, name: str, *own: ModulePass, occurrence: int = 1) -> Pipeline:
        """Returns the pipeline with passes in front of one."""
        at = self._place(name, occurrence)
        return Pipeline((*self[:at], *own, *self[at:]))

    def insert_after(self, name: str, *own: ModulePass, occurrence: int = 1) -> Pipeline:
        """Returns the pipeline with passes behind one."""
        at = self._place(name, occurrence) + 1
        return Pipeline((*self[:at], *own, *self[at:]))

    def replace(self, name: str, *own: ModulePass, occurrence: int = 1) -> Pipeline:
        """Returns the pipeline with passes in the place of one."""
        at = self._place(name, occurrence)
        return Pipeline((*self[:at], *own, *self[at + 1 :]))

    def remove(self, name: str, *, occurrence: int = 1) -> Pipeline:
        """Returns the pipeline without one."""
        return self.replace(name, occurrence=occurrence)

    def _place(self, name: str, occurrence: int) -> int:
        return place([each.name for each in self], name, occurrence)


def pipeline(
    target: str | None = None, options: str = "", *, after: Mapping[str, Sequence[ModulePass]] | None = None
) -> Pipeline:
    """The passes from tiles to PTX, with passes of your own behind those that `after` names.

    `target` overrides that of the kernels, `options` are those of `tirx.compile`. A name that comes twice in the
    pipeline counts the first time. Raises KeyError for a name that is not in the pipeline.

    >>> from tirx import embed
    >>> [p.name for p in embed.pipeline("sm_90a")][:2]
    ['tirx-tile-linalg', 'tirx-set-target']
    """
    passes = Pipeline(lower_to_ptx_passes(target, options).passes)
    for name, own in (after or {}).items():
        passes = passes.insert_after(name, *own)
    return passes


def run(
    module: ModuleOp,
    passes: Sequence[ModulePass],
    *,
    context: Context | None = None,
    on_diagnostic: Callable[[Diagnostic], None] | None = None,
    verify_each: bool | None = None,
    before_each: Callable[[ModulePass, ModuleOp], None] | None = None,
    after_each: Callable[[ModulePass, ModuleOp], None] | None = None,
) -> bool:
    """Runs passes over a module, in place. Returns True if there was no error.

    `before_each` and `after_each` are called with each pass and the module: to print, to take times, to verify.

    Errors, warnings and remarks go to `on_diagnostic` as values, several errors of one pass and xDSL's
    PassFailedException included. Without it, warnings are printed and the first error is raised, as LocatedError or
    PassFailedException. With `verify_each`, the module is verified behind every pass, not only behind the last; by
    default as the environment variable TIRX_VERIFY_EACH says.

    Raises InvalidPassOutputError, which names the pass, for a module that does not verify behind a pass: a bug of the
    pass, not of the program.

    >>> from tirx import embed
    >>> module = embed.parse("tirx.kernel @k() threads(32) { tirx.return }", "k.mlir")
    >>> embed.run(module, embed.pipeline(), on_diagnostic=lambda d: print(d.position, d.severity, d.rule))
    ('k.mlir', 1, 1) error target-missing
    False
    """
    wrong: list[object] = [each for each in passes if not isinstance(each, ModulePass)]  # pyright: ignore[reportUnnecessaryIsInstance]
    for each in wrong:
        what = f"the name '{each}'" if isinstance(each, str) else each
        raise TypeError(f"expected passes, found {what}; `tirx.embed.pipeline()` gives passes")
    known = new_context() if context is None else context
    if on_diagnostic is None:
        run_passes(known, module, passes, after_each, verify_each=verify_each, before_each=before_each)
        return True
    begun: list[str] = []

    def begin(each: ModulePass, module: ModuleOp) -> None:
        begun.append(each.name)
        if before_each is not None:
            before_each(each, module)

    with diagnostic_handler(on_diagnostic):
        try:
            run_passes(known, module, passes, after_each, verify_each=verify_each, before_each=begin)
        except LocatedError as error:
            for each in error.diagnostics:
                report(each)
            return False
        except PassFailedException as error:
            report(Diagnostic("error", str(error), UNKNOWN_LOC, stage=begun[-1]))
            return False
    return True


def ptx(module: ModuleOp) -> str:
    """The PTX of all kernels of a module that is lowered; host code beside them has no part in it.

    >>> from tirx import embed
    >>> module = embed.parse('ptx.entry @nothing() target("sm_80") { ptx.ret }')
    >>> embed.ptx(module).splitlines()[1]
    '.target sm_80'
    """
    return print_ptx(module)


def launches(module: ModuleOp) -> dict[str, Launch]:
    """Returns how to launch the kernels of a module that is lowered, by name, as `extract` gives it.

    >>> from tirx import embed
    >>> module = embed.parse('ptx.entry @nothing() target("sm_80") reqntid(64) { ptx.ret }')
    >>> embed.launches(module)["nothing"].block
    (64, 1, 1)
    """
    return dict(zip(_names(entries(module)), describe(module), strict=True))


def _names(kernels: Iterable[BinaryOp | EntryOp]) -> list[str]:
    """The names of kernels, behind those of their modules where several have one name."""
    paths = [
        [*(name for each in reversed([*ancestors(kernel)][:-1]) if (name := _symbol(each))), kernel.sym_name.data]
        for kernel in kernels
    ]
    plain = Counter(path[-1] for path in paths)
    return [path[-1] if plain[path[-1]] == 1 else "::".join(path) for path in paths]


def _symbol(op: Operation) -> str | None:
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def extract(module: ModuleOp, context: Context | None = None) -> dict[str, BinaryOp]:
    """Replaces the kernels of a module that is lowered by `ptx.binary` operations of the same names, and returns them.

    A name that kernels of several modules have stands behind that of its module, as in `first::gemm`.

    >>> from tirx import embed
    >>> module = embed.parse('ptx.entry @nothing() target("sm_80") reqntid(64) { ptx.ret }')
    >>> embed.extract(module)["nothing"].launch.data["entry"].data
    'nothing'
    """
    TirxExtractKernelsPass().apply(new_context() if context is None else context, module)
    binaries = [op for op in module.walk() if isinstance(op, BinaryOp)]
    return dict(zip(_names(binaries), binaries, strict=True))


def program(binary: BinaryOp) -> Program:
    """A kernel that has been extracted, as a program that can be simulated and launched.

    >>> from tirx import embed
    >>> module = embed.parse('ptx.entry @nothing() target("sm_80") grid(1) reqntid(64) { ptx.ret }')
    >>> embed.program(embed.extract(module)["nothing"]).kernels["nothing"].simulate()
    """
    return program_of(binary)
