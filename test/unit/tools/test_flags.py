"""Pass flags on the command line mean `-p` in their place."""

from __future__ import annotations

import pytest

from tirx.passes import lower_to_ptx_pipeline
from tirx.tools.flags import expand_pass_flags, parse_flags
from tirx.tools.process import UsageError

_PASSES = ("cse", "dce", "some-pass")
_PIPELINE = ",".join(lower_to_ptx_pipeline())


@pytest.mark.parametrize(
    ("argv", "expanded"),
    [
        (["--cse"], ["-p", "cse"]),
        (["--some-pass=a=1 b=x,y"], ["-p", "some-pass{a=1 b=x,y}"]),
        (["--some-pass="], ["-p", "some-pass{}"]),
        (["--cse", "-p", "dce,cse", "--dce", "in"], ["-p", "cse", "-p", "dce,cse", "-p", "dce", "in"]),
        (["--other", "--cse-not", "cse", "-cse"], ["--other", "--cse-not", "cse", "-cse"]),
        (["--cse", "--", "--dce"], ["-p", "cse", "--", "--dce"]),
        (["--lower-to-ptx"], ["-p", _PIPELINE, "--lower-to-ptx"]),
        (
            ["--lower-to-ptx=target=sm_90a", "--cse"],
            ["-p", f"tirx-set-target{{target=sm_90a}},{_PIPELINE}", "--lower-to-ptx", "-p", "cse"],
        ),
    ],
)
def test_expansion(argv: list[str], expanded: list[str]):
    assert expand_pass_flags(argv, _PASSES) == expanded


def test_passes_run_in_the_order_of_the_line():
    flags = parse_flags(["--dce", "in.mlir", "-p", "cse,licm", "--canonicalize"])
    assert [p.name for p in flags.passes] == ["dce", "cse", "licm", "canonicalize"]
    assert (flags.input_path, flags.output_path, flags.target.name) == ("in.mlir", "-", "mlir")


def test_options_of_passes():
    (one,) = parse_flags(["--arith-add-fastmath=flags=nnan,ninf"]).passes
    (two,) = parse_flags(["-p", "arith-add-fastmath{flags=nnan,ninf}"]).passes
    assert one == two


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--no-such-flag"], "unknown argument '--no-such-flag'"),
        (["--split-input-files"], "did you mean '--split-input-file'?"),
        (["a", "b"], "unknown argument 'b'"),
        (["-p", "csee"], "unknown pass 'csee'; did you mean 'cse'?"),
        (["-t", "mlirr"], "unknown target 'mlirr'; did you mean 'mlir'?"),
        (["-t", "mlir{no=1}"], "'mlir': Provided arguments"),
        (["-t", ""], "Expected pass name here"),
        (["--cse={"], "Error parsing pass pipeline specification"),
        (["--lower-to-ptx=target=90"], "'lower-to-ptx': Incompatible types"),
        (["--lower-to-ptx=stages=2 stages=3"], "expected the option 'stages' of --lower-to-ptx once, found it again"),
        (["--lower-to-ptx=target=sm_999"], "'lower-to-ptx': unknown target 'sm_999'"),
        (
            [f"--lower-to-ptx=stages={'9' * 5000}"],
            "expected options with numbers that fit, found 'lower-to-ptx{stages=99",
        ),
        (['--lower-to-ptx=target="sm_90{}"'], "'lower-to-ptx': unknown target 'sm_90{}'"),
    ],
)
def test_usage_errors(argv: list[str], message: str):
    with pytest.raises(UsageError) as caught:
        parse_flags(argv)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-t", "sm_100a"], "unknown target 'sm_100a'; for a GPU write --lower-to-ptx=\"target=sm_100a\""),
        (["-p", "lower-to-ptx"], "unknown pass 'lower-to-ptx'; it is a flag of its own, --lower-to-ptx"),
    ],
)
def test_names_that_mean_something_else(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_flags(argv)
    assert str(error.value) == message
