"""
Mutated modules in an editor: what `tirx-lsp` answers at a place of a text that is being written.

An input is a module whose first line says at which line and column (from 0) an editor asks: `// at: 3 17`. Every
question must have an answer, or none.
"""

from __future__ import annotations

import random

from fuzz.engine import ACCEPTED, REFUSED, InputClass, Problem, words_of
from fuzz.modules import seeds
from fuzz.mutate import mutated

from tirx.tools.language import Analysis

FIRST = "// at:"


class Documents(InputClass):
    """Mutated modules with a place."""

    name = "documents"
    suffix = ".mlir"

    def generate(self, rng: random.Random) -> str:
        text = mutated(rng.choice(seeds())[1], rng)
        if rng.random() < 0.3:
            text = text[: rng.randint(0, len(text))]
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        return f"{FIRST} {line} {rng.randint(0, len(lines[line]))}\n{text}"

    def check(self, text: str) -> str:
        first, _, rest = text.partition("\n")
        try:
            line, column = map(int, first.removeprefix(FIRST).split())
        except ValueError:  # what minimisation has cut
            return REFUSED
        analysis = Analysis.of(rest, "input.mlir")
        last = rest.count("\n")
        for diagnostic in analysis.diagnostics:
            if diagnostic.stage == "internal":
                raise Problem("invalid output", str(diagnostic), words_of(str(diagnostic)))
            if diagnostic.position is None:
                raise Problem("no place", str(diagnostic), words_of(str(diagnostic)))
        found = analysis.definition(line, column)
        if found is not None and not 0 <= found[0] <= last:
            raise Problem("a definition outside of the text", f"{found}")
        analysis.word(line, column)
        analysis.hover(line, column)
        analysis.completions(line, column)
        return REFUSED if any(each.severity == "error" for each in analysis.diagnostics) else ACCEPTED
