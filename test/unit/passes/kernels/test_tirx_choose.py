"""Combinations of candidates that are no programs are passed over."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from unit.passes.parsed import parsed
from unit.passes.rings.test_tirx_split_k import _product  # pyright: ignore[reportPrivateUsage]

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import KernelOp, kernels
from tirx.passes.kernels import tirx_choose

_FIRST, _SECOND, _THIRD = (SimpleNamespace(score=score) for score in (1, 2, 3))


def test_the_first_that_is_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel,) = kernels(parsed("tirx.kernel @k() threads(32) { tirx.return }"))
    ranked = [(_FIRST, {"N": 1}), (_SECOND, {"N": 2}), (_THIRD, {"N": 3})]
    explained: list[object] = []

    def rank(*_: object) -> object:
        return ranked

    def explain(_kernel: KernelOp, _choice: object, _values: object, following: object) -> None:
        explained.append(following)

    def verify(kernel: KernelOp, values: dict[str, int]) -> None:
        if values["N"] not in programs:
            raise LocatedError(kernel, "no program")

    monkeypatch.setattr(tirx_choose, "ranked_values", rank)
    monkeypatch.setattr(tirx_choose, "verify_bound", verify)
    monkeypatch.setattr(tirx_choose, "_explain", explain)
    chosen = tirx_choose.TirxChoosePass({"N": 7})
    for programs, expected, following in (
        ({1, 2, 3}, {"N": 1}, _SECOND),
        ({2, 3}, {"N": 2}, _THIRD),
        ({3}, {"N": 3}, None),
        (set[int](), {"N": 7}, None),
    ):
        assert chosen.values_for(kernel) == expected
        assert not programs or explained[-1] is following
    assert len(explained) == 3


def test_kernels_that_are_not_rated() -> None:
    """Kernels of pairs, kernels without a target, and kernels that multiply nothing."""
    text = _product((128, 128, 512), 64, 64)
    for changed, to, count in (
        ("", "", 1),
        ("threads(128)", "cluster(2) threads(128)", 0),
        ('target("sm_90a") ', "", 0),
        ("tirx.mma %sa, %sb, %acc", 'tirx.copy %sa, %sb : !a, !b "test.op"(%sa, %sb, %acc)', 0),
    ):
        given = text.replace(changed, to) if changed else text
        (kernel,) = kernels(
            parsed(given.replace(": !a, !b, !acc", ": (!a, !b, !acc) -> ()") if "test.op" in to else given)
        )
        assert len(tirx_choose.ranked_values(kernel, {})) == count
