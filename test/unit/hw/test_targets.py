import pytest

from tirx.hw.targets import TARGETS, Target, TargetError, format_version
from tirx.ptx.ptxas import assemble, find_ptxas

needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")


def test_parse():
    target = Target.parse("sm_100a")
    assert (target.name, target.cc, target.suffix) == ("sm_100a", 100, "a")
    assert target.min_ptx == (8, 6)
    assert target.shared_limit == 232448
    assert Target.parse("sm_80").suffix == ""
    assert str(target) == "sm_100a"


def test_unknown_target_names_the_closest_and_all():
    with pytest.raises(TargetError, match=r"unknown target 'sm100a'; did you mean 'sm_100a'\?") as error:
        Target.parse("sm100a")
    assert all(name in str(error.value) for name in TARGETS)


def test_every_row_is_well_formed():
    for name, target in TARGETS.items():
        assert target.name == name
        assert f"sm_{target.cc}{target.suffix}" == name
        assert 48 * 1024 <= target.static_shared_limit <= target.shared_limit


def test_blocks_of_an_sm():
    a100, h100 = Target.parse("sm_80"), Target.parse("sm_90a")
    assert [a100.blocks_of_sm(n) for n in (0, 1023, 81 * 1024, 81 * 1024 + 1, 163 * 1024)] == [164, 82, 2, 1, 1]
    assert [h100.blocks_of_sm(n) for n in (75 * 1024, 75 * 1024 + 1, 227 * 1024)] == [3, 2, 1]


def test_families_are_those_of_the_same_and_later_chips_with_a_suffix():
    first = Target.parse("sm_103f")
    names = ("sm_103", "sm_100f", "sm_103a", "sm_103f", "sm_107f", "sm_107a", "sm_110f", "sm_120f", "sm_90a")
    assert [name for name in names if Target.parse(name).is_of_family(first)] == [
        *("sm_103a", "sm_103f", "sm_107f", "sm_107a"),
    ]


def test_format_version():
    assert format_version((8, 6)) == "8.6"


def _empty_kernel(target: Target, version: str, shared: int = 16) -> str:
    return (
        f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"
        f"  .reg .b32 %r<1>;\n  .shared .align 16 .b8 s[{shared}];\n"
        "  mov.b32 %r0, s;\n  st.shared.b32 [%r0], %r0;\n  ret;\n}\n"
    )


@pytest.mark.sample(14)
@needs_ptxas
@pytest.mark.parametrize("name", TARGETS)
def test_limits_are_those_of_ptxas(name: str):
    target = Target.parse(name)
    version = format_version(target.min_ptx)
    assert assemble(_empty_kernel(target, version, target.static_shared_limit), name).ok
    too_much = assemble(_empty_kernel(target, version, target.static_shared_limit + 16), name)
    assert not too_much.ok
    assert "too much shared data" in too_much.stderr


@needs_ptxas
@pytest.mark.parametrize(
    ("name", "older"), [("sm_80", "6.5"), ("sm_90a", "7.8"), ("sm_100a", "8.5"), ("sm_103a", "8.7")]
)
def test_older_ptx_does_not_know_the_target(name: str, older: str):
    assert not assemble(_empty_kernel(Target.parse(name), older), name).ok
