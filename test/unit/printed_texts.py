"""Texts that only users read: fixes and sources of the rules of the hardware, and the help of the commands."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from tirx.text.rules import explain, hardware_rules
from tirx.tools import flags, tirx_check, tirx_explain, tirx_sim, tirx_viz

_PARSERS = (
    flags._argument_parser(""),
    tirx_check._parser(),
    tirx_explain._parser(),
    tirx_sim._parser(),
    tirx_viz._parser(),
)


def rules_of_the_hardware() -> str:
    """What `--explain` says about each row of the tables."""
    return "\n\n".join(filter(None, map(explain, hardware_rules())))


def flags_of_commands() -> str:
    """What `--help` says about each flag; how it looks is up to the version of Python."""
    lines: list[str] = []
    for parser in _PARSERS:
        lines += [parser.prog, str(parser.description), str(parser.epilog)]
        for each in parser._actions[1:]:  # but --help itself
            names, choices = ", ".join(each.option_strings) or each.dest, list(each.choices or ())
            lines.append(f"{names} {each.metavar} {each.nargs} {each.default!r} {each.const!r} {choices}: {each.help}")
    return "\n".join(lines)
