"""The pipeline from tiles to PTX: the one definition behind `tirx-opt --lower-to-ptx` and `tirx.compile`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.passes import ModulePass, PassPipeline
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError

from tirx.dialects.tirx.sizes import NAME
from tirx.hw.targets import Target
from tirx.passes.deferred import deferred
from tirx.passes.registry import PASS_SUMMARIES, get_all_passes

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
"""Passes that make sequential kernels overlap copies, products and epilogues; `pipeline=off` leaves them out."""

_PASS_OPTIONS = {
    "split": ("tirx-split-last-round", "tirx-stream-k"),
    "parts": ("tirx-split-k",),
    "variants": (),
    "sizes": (),
    "epilogue": ("tirx-fuse-epilogue",),
    "order": ("tirx-tile-loop",),
    "stages": ("tirx-pipeline-loops",),
    "roles": ("tirx-specialize-warps",),
    "cluster": ("tirx-multicast-copies",),
    "multiprocessors": ("tirx-split-last-round", "tirx-stream-k", "tirx-tile-loop", "tirx-multicast-copies"),
}
"""Options of the pipeline -> the passes of which they are options; those without any are options of `_FRONT`."""

_FRONT = ("tirx-tile-linalg",)

_VALUES = {
    "pipeline": ("on", "off"),
    "choose": ("default", "model"),
    "strides": ("aligned", "any"),
    "lines": ("off", "on"),
    "assertions": ("on", "off"),
}
"""Options that say which passes the pipeline has -> their values, the default first."""

_BY_OPTION = (
    "tirx-tile-linalg",
    "tirx-set-target",
    "tirx-keep-lines",
    "tirx-any-strides",
    "tirx-drop-assertions",
    "tirx-choose",
    "tirx-specialize",
)
"""Passes in front of and behind all others, which options add or choose."""

_AGAIN = {
    "tirx-lower-rings": ("tirx-check-rings",),  # the barriers that it has made
    "convert-tirx-to-tcgen05": ("tirx-mem2reg",),  # the parity of the mbarrier that products arrive at
}
"""Passes -> those that run once more behind them."""

_LOWER_TO_PTX = [each for name in PASS_SUMMARIES if name not in _BY_OPTION for each in (name, *_AGAIN.get(name, ()))]


class OptionError(ValueError):
    """An option of the pipeline that it does not have."""


def lower_to_ptx_pipeline(target: str | None = None, options: str = "") -> tuple[str, ...]:
    """The passes that lower a module of kernels to the ptx dialect, as xDSL pass specifications, in order.

    `target` (for example `"sm_90a"`) overrides the target that the kernels name. `options` are words such as `"stages=4
    roles=load order=group"`, which say what the passes that let copies, products and epilogues overlap would choose, or
    `"pipeline=off"`, which leaves these passes out. `"strides=any"` is for arrays whose strides are no multiples of 16
    bytes, without the engines that need that. `"lines=on"` lets PTX say the lines of the source, `"assertions=off"`
    leaves `tirx.assert` out. `"BM=64"` binds a parameter of kernels, and `"choose=model"` the others as the timing
    model ranks them, not to their defaults. `"variants=8"` bounds the kernels of a function of `linalg` whose sizes
    only a launch knows, and `"sizes=64x6144x4096"` makes one of it, the best one for this M, N and K. Raises
    TargetError for an unknown target and OptionError for unknown options.
    """
    given = _parsed(options)
    override = () if target is None else (f"tirx-set-target{{target={Target.parse(target)}}}",)
    is_on = given.pop("pipeline", "on") == "on"
    binding = "tirx-choose" if given.pop("choose", "default") == "model" else "tirx-specialize"
    strides = ("tirx-any-strides",) if given.pop("strides", "aligned") == "any" else ()
    lines = ("tirx-keep-lines",) if given.pop("lines", "off") == "on" else ()
    dropped = ("tirx-drop-assertions",) if given.pop("assertions", "on") == "off" else ()
    options_of: dict[str, list[str]] = {name: [] for name in _SCHEDULE}
    parameters = {name: given.pop(name) for name in list(given) if name[0].isupper()}
    for option, value in given.items():
        if not is_on:
            raise OptionError(f"expected no {option}={value} with pipeline=off, found both")
        for name in _PASS_OPTIONS[option]:
            options_of[name].append(f"{option}={value}")
    passes = (name for name in _LOWER_TO_PTX if is_on or name not in _SCHEDULE)
    of_target = "" if target is None else f" target={Target.parse(target)}"
    bound = " ".join(f"{name}={value}" for name, value in parameters.items())
    # Clusters along K leave no room for other ones, and for loops over tiles.
    chosen = {"parts": "1", "schedule": "false"} if given.keys() & {"cluster", "order", "split"} else {}
    words = {name: (chosen | given).get(name, "") for name in ("parts", "stages", "variants", "schedule")}
    written = "".join(
        f" {name}={word}"
        for name, word in words.items()
        if word.isdecimal() or word == "false" or (word and name == "variants")  # of which no other pass knows
    )
    if "sizes" in given:
        written += f" sizes={','.join(map(str, _product_size(given['sizes'])))}"
    front = f"tirx-tile-linalg{{marked=true{of_target}{written}}}"
    specialize = f"{binding}{{{bound}}}" if bound else binding
    worded = (f"{n}{{{' '.join(words)}}}" if (words := options_of.get(n)) else n for n in passes)
    return (front, *override, specialize, *strides, *dropped, *worded, *lines)


def _product_size(word: str) -> tuple[int, ...]:
    """M, N and K as an option says them. Raises OptionError."""
    found = tuple(int(each) for each in word.split("x") if each.isdecimal())
    if len(found) != 3 or word.count("x") != 2 or not min(found):
        raise OptionError(f"expected sizes=MxNxK, numbers of 1 or more, found 'sizes={word}'")
    return found


def place(names: Sequence[str], name: str, occurrence: int = 1) -> int:
    """Returns where a pass stands among the names of a pipeline; `occurrence` counts from 1. Raises KeyError."""
    found = [at for at, each in enumerate(names) if each == name]
    if not 1 <= occurrence <= len(found):
        times = f"{len(found)} of that name" if found else f"none among {', '.join(names) or 'no passes'}"
        raise KeyError(f"expected pass {occurrence} named '{name}' in the pipeline, found {times}")
    return found[occurrence - 1]


def _parsed(options: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in options.split():
        name, _, value = word.partition("=")
        known = (*_VALUES, *_PASS_OPTIONS)
        is_known = name in known or NAME.fullmatch(name) is not None
        if not is_known or not value or name in found:
            raise OptionError(
                f"expected each of {', '.join(known)} and of parameters at most once, as name=value, found '{word}'"
            )
        if value not in (values := _VALUES.get(name, (value,))):
            raise OptionError(f"expected {' or '.join(f'{name}={each}' for each in values)}, found '{word}'")
        found[name] = value
    return found


@lru_cache
def lower_to_ptx_passes(target: str | None = None, options: str = "") -> PassPipeline:
    """The same pipeline, ready to `apply(ctx, module)` inside another compiler. Raises OptionError for other words."""
    classes = get_all_passes()
    try:
        steps = [parse_spec(step) for step in lower_to_ptx_pipeline(target, options)]
    except ArgSpecParseError as error:  # is no Exception
        raise OptionError(f"expected each of the options as name=value, found '{options[:80]}'") from error
    passes: list[ModulePass] = []
    for step in steps:
        try:
            passes.append(deferred(step) or classes[step.name]().from_spec(step))
        except ValueError as error:  # of a word where a number is expected, or of a number where a word is
            known = {each: _PASS_OPTIONS.get(each.partition("=")[0]) for each in options.split()}
            own = [each for each, names in known.items() if names is not None and step.name in (names or _FRONT)]
            raise OptionError(f"expected values that {step.name} takes, found '{' '.join(own)[:80]}'") from error
    return PassPipeline(tuple(passes))
