"""The search for options: what it tries, keeps and leaves out, and the attributes that it writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from unit.runtime.fake_cuda import FakeCuda
from unit.runtime.test_launcher import Tensor, aligned, fake, torch
from unit.runtime.test_program import KERNEL
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

import tirx
from tirx.diagnostics import LocatedError
from tirx.runtime import GpuError, Kernel, Program, tune
from tirx.runtime import driver as drivers
from tirx.runtime.tune import _body, annotated  # pyright: ignore[reportPrivateUsage]
from tirx.text.parsing import parse_located
from tirx.universe import new_context

EXAMPLES = Path(__file__).parents[3] / "examples"
__all__ = ["fake", "torch"]


def test_attributes_say_what_options_say() -> None:
    text = (EXAMPLES / "wgmma_gemm.mlir").read_text()
    text = text.replace("128x256xf32", "128x16xf32").replace("256x64xf16", "16x64xf16")  # less to compile
    words = {"tirx.roles": "none", "tirx.order": "row", "tirx.epilogue": "direct"}
    written = annotated(text, words, 2)
    on_kernel = ' attributes {tirx.roles = "none", tirx.order = "row", tirx.epilogue = "direct"}'
    assert written.replace(on_kernel, "").replace(" {tirx.stages = 2 : i64}", "") == text
    options = "pipeline=on stages=2 roles=none order=row epilogue=direct"
    assert tirx.compile(written, options="pipeline=on") == tirx.compile(text, options=options)
    with pytest.raises(ValueError, match=r"expected a kernel without attributes, found tirx\.roles"):
        annotated(written, words, None)
    with pytest.raises(ValueError, match=r"expected a loop without attributes, found tirx\.stages"):
        annotated(written, {}, 3)


def test_loops_without_copies_have_no_stages() -> None:
    loop = "  %c1 = arith.constant 1 : index\n  scf.for %j = %c0 to %c8 step %c1 {\n  }\n  tirx.return"
    text = KERNEL.replace("  tirx.return", loop)
    assert annotated(text, {}, 2) == text
    copying = (EXAMPLES / "wgmma_gemm.mlir").read_text()
    assert annotated(copying, {}, None) == copying != annotated(copying, {}, 2)


def test_braces_in_comments_are_none() -> None:
    text = KERNEL.replace("  tirx.return", "  tirx.return // }").replace("grid(ceil", "// {\n    grid(ceil")
    assert 'threads(32) attributes {tirx.order = "row"} {' in annotated(text, {"tirx.order": "row"}, None)


@pytest.mark.parametrize(("column", "braces"), [(1, "{b {c} d}"), (4, "{c}"), (8, "{x {y} }")])
def test_regions_behind_a_place(column: int, braces: str) -> None:
    text = "// {\na {b {c} d} {x {y} }"
    op: Any = Mock(location=FileLineColLoc(StringAttr("k"), IntAttr(2), IntAttr(column)))
    start, end = _body(text, op)
    assert text[start:end] == braces


class Compiler:
    """Stands in for the compiler: kernels whose entries are named after the program and the options."""

    def __init__(self) -> None:
        self.launch = tirx.build(KERNEL).kernels["rows"].launch
        self.refused = ""

    def __call__(self, text: str, target: str | None, options: str) -> Kernel:
        name = "__".join([text, *options.replace("=", "_").split()])
        if self.refused and self.refused in options:
            raise LocatedError(parse_located(new_context(), ""), f"no {self.refused}\nand more")
        return Program(f".visible .entry {name}(", [replace(self.launch, entry=name)]).kernels[name]


class Search:
    """A search over kernels that take `seconds`, by the words of their names; `wrong` ones write other numbers."""

    def __init__(self, fake: FakeCuda, monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float], wrong: str):
        x, self.y = aligned((24, 8)), Tensor(aligned((24, 16)).data[:, :8])
        self.arguments = [x, self.y, 1]
        self.fake, self.seconds, self.wrong = fake, seconds, wrong
        fake.sizes, fake.execute = (8, 8, 4), self.execute
        self.compiler = Compiler()
        monkeypatch.setattr(tune, "_kernel", self.compiler)
        monkeypatch.setattr(tune, "device", drivers.device)
        self.annotated = Mock(return_value="text")
        monkeypatch.setattr(tune, "annotated", self.annotated)

    def execute(self, parameters: list[bytes]) -> None:
        """Adds a number: a launch that finds the results of another one writes something else."""
        self.y.data[...] += 2 if self.wrong and self.wrong in self.fake.launches[-1].function else 1

    def measure(self, launches: Sequence[Callable[[], object]], rounds: int) -> list[float]:
        found: list[float] = []
        for launch in launches:
            launch()
            name = self.fake.launches[-1].function
            found.append(1.0 - sum(gain for word, gain in self.seconds.items() if word in name))
        return found

    def run(self, programs: str | dict[str, str], **options: Any) -> tune.Tuned:
        knobs = {"order": ("auto", "row", "group"), "stages": ("auto", "2", "3")}
        return tune.tune(programs, self.arguments, knobs=knobs, measure=self.measure, **options)


def test_the_fastest_wins(fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gains = {"order_row": 0.25, "stages_2": 0.125, "stages_3": 0.5, "wide": 0.0625}
    search = Search(fake, monkeypatch, gains, "stages_3")
    search.compiler.refused = "order=group"
    reported: list[tune.Trial] = []
    tuned = search.run({"narrow": "narrow", "wide": "wide"}, report=reported.append)
    assert tuned.best == tune.Trial("wide", {"order": "row", "stages": "2"}, 0.5625)
    assert tuple(reported) == tuned.trials
    assert [str(trial) for trial in reported] == [
        "narrow, auto: 1000000.0 us",
        "wide, auto: 937500.0 us",
        "wide, order=group: <unknown>:1:1: error: no order=group",
        "wide, auto: 937500.0 us",
        "wide, order=row: 687500.0 us",
        "wide, order=row stages=3: it writes other numbers",
        "wide, order=row: 687500.0 us",
        "wide, order=row stages=2: 562500.0 us",
    ]
    search.annotated.assert_called_once_with("wide", {"tirx.order": "row"}, 2)


def test_nothing_that_runs(fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(fake, monkeypatch, {}, "pipeline")
    with pytest.raises(GpuError, match="found none:\nnarrow, auto: it writes other numbers"):
        search.run({"narrow": "narrow"})


def test_measurements(fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "device", drivers.device)
    monkeypatch.setattr(tune, "PAUSE", (0.0, 0.0))
    arrays = tune._Arrays([aligned((24, 8))])  # pyright: ignore[reportPrivateUsage]
    calls: list[int] = []
    assert arrays.measure([lambda: calls.append(0), lambda: calls.append(1)], 3) == [2e-3, 2e-3]
    # Once to see how long a launch takes, and then once in each round, in turn.
    assert calls == [0, 1, 0, 1, 0, 1, 0, 1]
    events = {name.removeprefix("cuEvent"): count for name, count in fake.calls.items() if name.startswith("cuEvent")}
    assert events == {"Create": 2, "Record": 16, "Synchronize": 8, "ElapsedTime": 8, "Destroy": 2}


_PARAMETRIC = """
tirx.kernel @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %d: memref<?x?xf32>) target("sm_90a")
    params(BM in [128, 64, 100], BN in [256, 128, 64])
    grid(ceildiv(size(2, 1), BN), ceildiv(size(2, 0), BM)) threads(BM * 2) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %end = tirx.launch_value size(0, 1)
  %zero = arith.constant 0.0 : f32
  %bm = tirx.param BM : index
  %bn = tirx.param BN : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %m = arith.muli %i, %bm : index
  %n = arith.muli %j, %bn : index
  %sa = tirx.alloc : !tirx.tile<[BM]x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<[BN]x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<[BM]x[BN]xf32, register>
  tirx.fill %acc, %zero : f32, !tirx.tile<[BM]x[BN]xf32, register>
  scf.for %k = %c0 to %end step %c64 {
    %ga = tirx.view %a[%m, %k] clipped : memref<?x?xf16> -> !tirx.tile<[BM]x64xf16, global>
    %gb = tirx.view %b[%n, %k] clipped : memref<?x?xf16> -> !tirx.tile<[BN]x64xf16, global>
    tirx.copy %ga, %sa : !tirx.tile<[BM]x64xf16, global>, !tirx.tile<[BM]x64xf16, shared>
    tirx.copy %gb, %sb : !tirx.tile<[BN]x64xf16, global>, !tirx.tile<[BN]x64xf16, shared>
    tirx.mma %sa, %sb, %acc : !tirx.tile<[BM]x64xf16, shared>, !tirx.tile<[BN]x64xf16, shared>,
      !tirx.tile<[BM]x[BN]xf32, register>
  }
  %gd = tirx.view %d[%m, %n] clipped : memref<?x?xf32> -> !tirx.tile<[BM]x[BN]xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<[BM]x[BN]xf32, register>, !tirx.tile<[BM]x[BN]xf32, global>
  tirx.return
}"""


def test_the_model_ranks_parameters_for_the_sizes_of_the_arrays() -> None:
    for (m, n, k), best in (((64, 2112, 7168), ("64", "64")), ((4096, 4096, 4096), ("128", "128"))):
        shapes = {0: (m, k), 1: (n, k), 2: (m, n)}
        found = tune.best_by_model({"gemm": _PARAMETRIC}, None, shapes)
        assert [name for name, _ in found] == ["gemm"] * 3
        assert found[0][1] == dict(zip(("BM", "BN"), best, strict=True))
        assert all(words["BM"] != "100" for _, words in found), "no instructions multiply 100 rows"
    with pytest.raises(
        GpuError, match="expected programs that multiply tiles, which the timing model ranks, found none"
    ):
        tune.best_by_model({"rows": KERNEL}, None, {})


def test_only_what_the_model_ranks_first_is_measured(
    fake: FakeCuda, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(fake, monkeypatch, {"BM_64": 0.5}, "")
    ranked = [("program", {"BM": "128"}), ("program", {"BM": "64"}), ("program", {"BM": "32"})]
    monkeypatch.setattr(tune, "best_by_model", Mock(return_value=ranked))
    bound = Mock(return_value="bound")
    monkeypatch.setattr(tune, "_bound", bound)
    tuned = search.run("k", model=True)
    assert (tuned.text, tuned.best.options, len(tuned.trials)) == ("bound", {"BM": "64"}, 3)
    bound.assert_called_once_with("k", {"BM": "64"})


def test_values_stand_in_the_place_of_parameters() -> None:
    bound = tune._bound(_PARAMETRIC, {"BM": "64", "BN": "128"})  # pyright: ignore[reportPrivateUsage]
    assert "!tirx.tile<64x128xf32, register>" in bound and "params(" not in bound
    assert tirx.compile(bound) == tirx.compile(_PARAMETRIC, options="BM=64 BN=128")
