"""What programs can read of a diagnostic: the facts of the check that failed, wherever it was caught on the way."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

import tirx
from tirx.diagnostics import Diagnostic, Facts, LocatedError
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context

WHERE = FileLineColLoc(StringAttr("f"), IntAttr(3), IntAttr(5))


def _error(text: str) -> Diagnostic:
    with pytest.raises(LocatedError) as caught:
        tirx.compile(text)
    return caught.value.diagnostic


def test_facts_pass_through_the_errors_between():
    with pytest.raises(LocatedError) as caught:
        try:
            try:
                raise LegalityError("odd", element=(1, 2), rule="inner", fix="do")
            except LegalityError as error:
                raise LegalityError(f"{error}: again", rule="outer") from error
        except LegalityError as error:
            raise LocatedError(WHERE, str(error)) from error
    assert caught.value.diagnostic == Diagnostic(
        "error", "odd: again", WHERE, Facts(rule="outer", fix="do", element=(1, 2))
    )
    assert str(caught.value) == "f:3:5: error: odd: again"


def test_errors_that_are_hidden_tell_nothing():
    with pytest.raises(LocatedError) as caught:
        try:
            raise LegalityError("odd", rule="inner")
        except LegalityError:
            raise LocatedError(WHERE, "even") from None
    assert caught.value.diagnostic.facts == Facts()


INSTRUCTION = """
ptx.entry @accumulator_type(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 136316032 : i32
  ptx.tcgen05.mma f16 %d, %a, %a, %i, %p cta_group 1 : i64
  ptx.ret
}
"""


def test_rule_of_an_instruction():
    # The check raises LegalityError, the verifier of the operation VerifyException, and that becomes a LocatedError.
    diagnostic = _error(INSTRUCTION)
    assert (diagnostic.facts.rule, diagnostic.facts.fix) == ("descriptor-fields", "use a legal value")
    assert diagnostic.message.endswith("; use a legal value [descriptor-fields]")


KERNEL = """
tirx.kernel @k() target("sm_100a") threads(128) {{
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared{layout}>
  %b = tirx.alloc : !tirx.tile<8x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x8xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x16xf16, shared{layout}>, !tirx.tile<8x16xf16, shared>,
    !tirx.tile<128x8xf32, tensor>
  tirx.return
}}
"""


def test_layout_that_no_descriptor_reads():
    diagnostic = _error(KERNEL.format(layout=", #tirx.tile_layout<S[(128, 16) : (24@m, 1@m)]>"))
    facts = diagnostic.facts
    assert facts.element == (1, 0)
    assert (facts.expected, facts.found) == (32, 48)
    assert isinstance(facts.suggestion, ComposeLayout)
    assert str(facts.nearest) in diagnostic.message and str(facts.suggestion.tile) in diagnostic.message


def test_definitions_are_notes():
    module = parse_located(new_context(), '"test.op"(%x) : (i32) -> ()\n%x = "test.op"() : () -> i32', "f")
    with pytest.raises(LocatedError) as caught:
        verify_located(module)
    (note,) = caught.value.diagnostic.notes
    assert (note.message, str(note.location)) == ("defined here", 'loc("f":2:6)')
