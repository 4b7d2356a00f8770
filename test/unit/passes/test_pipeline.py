"""The options of the pipeline from tiles to PTX."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from unit.cases import together
from xdsl.utils.arg_spec import parse_spec

from tirx import passes
from tirx.passes import PASS_SUMMARIES, OptionError, get_all_passes, lower_to_ptx_passes, lower_to_ptx_pipeline
from tirx.passes.deferred import DeferredPass
from tirx.passes.registry import ACTS_ON
from tirx.rules import LinalgError
from tirx.text.parsing import parse_located
from tirx.tools.flags import _LowerToPtx  # pyright: ignore[reportPrivateUsage]
from tirx.universe import new_context
from tirx.values import fields

_EXAMPLES = Path(__file__).parents[3] / "examples"

_SCHEDULE = (
    "tirx-split-last-round",
    "tirx-stream-k",
    "tirx-split-k",
    "tirx-fuse-epilogue",
    "tirx-tile-loop",
    "tirx-pipeline-loops",
    "tirx-specialize-warps",
    "tirx-multicast-copies",
    "tirx-release-early",
)


def test_classes_by_name():
    for name in PASS_SUMMARIES:
        found = getattr(passes, f"{''.join(map(str.capitalize, name.split('-')))}Pass")
        assert found.name == name
    with pytest.raises(AttributeError, match="^module 'tirx.passes' has no attribute 'ScfPass'$"):
        getattr(passes, "ScfPass")  # noqa: B009


def _added(options: str) -> list[str]:
    without = lower_to_ptx_pipeline(options="pipeline=off")
    found = lower_to_ptx_pipeline(options=options)
    assert [name for name in found if not name.startswith(_SCHEDULE)][1:] == list(without)[1:]
    return [name for name in found if name.startswith(_SCHEDULE)]


def test_schedule_is_on_by_default():
    assert lower_to_ptx_pipeline() == lower_to_ptx_pipeline(options="pipeline=on")
    assert _added("") == list(_SCHEDULE)


def test_schedule_has_options_of_its_passes():
    assert _added("split=last parts=4 stages=4 roles=load order=hilbert cluster=rows epilogue=direct") == [
        "tirx-split-last-round{split=last}",
        "tirx-stream-k{split=last}",
        "tirx-split-k{parts=4}",
        "tirx-fuse-epilogue{epilogue=direct}",
        "tirx-tile-loop{order=hilbert}",
        "tirx-pipeline-loops{stages=4}",
        "tirx-specialize-warps{roles=load}",
        "tirx-multicast-copies{cluster=rows}",
        "tirx-release-early",
    ]


def test_number_of_multiprocessors_is_an_option_of_four_passes():
    assert _added("multiprocessors=2 order=row") == [
        "tirx-split-last-round{multiprocessors=2}",
        "tirx-stream-k{multiprocessors=2}",
        "tirx-split-k",
        "tirx-fuse-epilogue",
        "tirx-tile-loop{multiprocessors=2 order=row}",
        "tirx-pipeline-loops",
        "tirx-specialize-warps",
        "tirx-multicast-copies{multiprocessors=2}",
        "tirx-release-early",
    ]


def test_linalg_takes_schedules_that_are_written():
    """Other clusters and loops over tiles leave no room for clusters along K, nor for others of both."""
    for options, written in (
        ("parts=4 stages=4 cluster=rows", " parts=4 stages=4 schedule=false"),
        ("cluster=rows stages=auto", " parts=1 schedule=false"),
        ("order=hilbert", " parts=1 schedule=false"),
        ("stages=6", " stages=6"),
        ("roles=none", ""),
    ):
        assert lower_to_ptx_pipeline(options=options)[0] == f"tirx-tile-linalg{{marked=true{written}}}"


@together(
    ("options", "message"),
    [
        ("stages=4 pipeline=off", "expected no stages=4 with pipeline=off"),
        ("pipeline=maybe", "expected pipeline=on or pipeline=off, found 'pipeline=maybe'"),
        ("pipeline=on slots=3", "found 'slots=3'"),
        ("pipeline=on pipeline=on", "at most once"),
        (
            "pipeline=on stages=",
            (
                "^expected each of pipeline, choose, strides, lines, assertions, split, parts, variants, sizes, "
                "epilogue, order, stages, roles, cluster, multiprocessors and of parameters at most once, as "
                "name=value, found 'stages='$"
            ),
        ),
    ],
)
def test_unknown_options_are_errors(options: str, message: str):
    with pytest.raises(OptionError, match=message):
        lower_to_ptx_pipeline(options=options)


def test_options_that_are_no_options():
    with pytest.raises(OptionError, match="expected each of the options as name=value, found 'stages=roles=load'"):
        lower_to_ptx_passes(None, "stages=roles=load")


def test_options_of_other_types() -> None:
    for words in ("parts=x", "split=2", "multiprocessors=x", "variants=x"):
        with pytest.raises(OptionError, match=f"^expected values that [a-z-]* takes, found '{words}'$"):
            lower_to_ptx_passes("sm_90a", f"stages=2 {words}")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["softmax", "tcgen05_gemm", "wgmma_gemm", "mma_m16n8k16_f16_gemm"])
def test_deferred_steps_do_nothing_without_the_operations_on_which_they_act(name: str):
    context, classes = new_context(), get_all_passes()
    module = parse_located(context, (_EXAMPLES / f"{name}.mlir").read_text())
    steps = lower_to_ptx_pipeline()
    assert ACTS_ON.keys() <= set(steps)
    for step in map(parse_spec, steps):
        eager = classes[step.name]().from_spec(step)
        names = ACTS_ON.get(str(step))
        is_idle = names is not None and not any(op.name.startswith(names) for op in module.walk())
        before = str(module) if is_idle else ""
        eager.apply(context, module)
        assert not is_idle or str(module) == before, step


def test_deferred_steps_run_where_there_is_such_an_operation():
    context = new_context()
    module = parse_located(context, "func.func @f() attributes {tirx.kernel} {\n  func.return\n}")
    front, *_ = lower_to_ptx_passes().passes
    assert isinstance(front, DeferredPass) and str(front.spec()) == "tirx-tile-linalg{marked=true}"
    with pytest.raises(LinalgError, match="expected operations of linalg or memref.copy in a kernel, found none"):
        front.apply(context, module)


def test_what_a_kernel_does_not_need_is_not_imported():
    code = """
import sys, tirx
tirx.compile('tirx.kernel @nothing() target("sm_90") threads(32) { tirx.return }')
loaded = [name for name in sys.modules if name.startswith("tirx") or name in ("numpy", "json", "xdsl.dialects.linalg")]
print(*loaded)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    unneeded = {f"tirx.passes.products.{name}" for name in ("tirx_tile_linalg", "convert_tirx_to_mma")}
    assert "tirx.compiler" in loaded
    assert not loaded & {*unneeded, "numpy", "json", "tirx.predict", "tirx.dialects.structured", "xdsl.dialects.linalg"}


def test_tirx_opt_has_all_options() -> None:
    """Options that an error names for an unknown one, and the target."""
    with pytest.raises(OptionError) as error:
        lower_to_ptx_pipeline(options="slots=3")
    known = str(error.value).removeprefix("expected each of ").partition(" and of parameters")[0].split(", ")
    assert {each.name for each in fields(_LowerToPtx)} == {*known, "target"}
