"""The entry points of the commands: each sets up the process before it imports the rest."""

from __future__ import annotations

import sys

from tirx.tools.process import prepare_process


def tirx_opt() -> int:
    """The command `tirx-opt`."""
    prepare_process()
    from tirx.tools.tirx_opt import main

    return main(sys.argv[1:])


def tirx_sim() -> int:
    """The command `tirx-sim`."""
    prepare_process()
    from tirx.tools.tirx_sim import main

    return main(sys.argv[1:])


def tirx_lsp() -> int:
    """The command `tirx-lsp`."""
    prepare_process()
    try:
        from tirx.tools.lsp import main
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        print("error: tirx-lsp needs pygls: pip install 'tirx-compiler[lsp]'", file=sys.stderr)
        return 1
    return main()


def tirx_explain() -> int:
    """The command `tirx-explain`."""
    prepare_process()
    from tirx.tools.tirx_explain import main

    return main(sys.argv[1:])


def tirx_viz() -> int:
    """The command `tirx-viz`."""
    prepare_process()
    from tirx.tools.tirx_viz import main

    return main(sys.argv[1:])
