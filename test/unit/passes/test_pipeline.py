"""The options of the pipeline from tiles to PTX."""

from __future__ import annotations

import pytest

from tirx import passes
from tirx.passes import PASS_SUMMARIES, OptionError, lower_to_ptx_passes, lower_to_ptx_pipeline

_SCHEDULE = (
    "tirx-split-last-round",
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
        "tirx-split-k{parts=4}",
        "tirx-fuse-epilogue{epilogue=direct}",
        "tirx-tile-loop{order=hilbert}",
        "tirx-pipeline-loops{stages=4}",
        "tirx-specialize-warps{roles=load}",
        "tirx-multicast-copies{cluster=rows}",
        "tirx-release-early",
    ]


def test_number_of_multiprocessors_is_an_option_of_three_passes():
    assert _added("multiprocessors=2 order=row") == [
        "tirx-split-last-round{multiprocessors=2}",
        "tirx-split-k",
        "tirx-fuse-epilogue",
        "tirx-tile-loop{multiprocessors=2 order=row}",
        "tirx-pipeline-loops",
        "tirx-specialize-warps",
        "tirx-multicast-copies{multiprocessors=2}",
        "tirx-release-early",
    ]


def test_linalg_takes_parts_that_are_written():
    """Other clusters and loops over tiles leave no room for clusters along K."""
    for options, written in (
        ("parts=4 stages=4 cluster=rows", " parts=4"),
        ("cluster=rows stages=auto", " parts=1"),
        ("order=hilbert", " parts=1"),
        ("roles=none", ""),
    ):
        assert lower_to_ptx_pipeline(options=options)[0] == f"tirx-tile-linalg{{marked=true{written}}}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("stages=4 pipeline=off", "expected no stages=4 with pipeline=off"),
        ("pipeline=maybe", "expected pipeline=on or pipeline=off, found 'pipeline=maybe'"),
        ("pipeline=on slots=3", "found 'slots=3'"),
        ("pipeline=on pipeline=on", "at most once"),
        (
            "pipeline=on stages=",
            (
                "^expected each of pipeline, choose, strides, lines, split, parts, epilogue, order, stages, "
                "roles, cluster, multiprocessors and of parameters at most once, as name=value, found "
                "'stages='$"
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
