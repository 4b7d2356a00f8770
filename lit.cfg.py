"""
lit configuration: `lit test` runs every FileCheck test, `lit -v test/tools/stdin.mlir` one of them.

Commands run inside of lit, which is many times faster than processes; `lit -Dshell=1 test` runs real processes.
"""

import os
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent

config.name = "tirx"
config.test_source_root = str(root)
config.test_exec_root = str(root / ".lit")
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "build", "corpus", "dist", "docs", "examples", "global_memory", "venv"]

sys.path[:0] = [path for path in (str(root), str(root / "test")) if path not in sys.path]
from lit_inprocess import InProcessShTest  # noqa: E402

from tirx.ptx.ptxas import find_ptxas  # noqa: E402

# Processes find the tirx of this checkout, the programs of this environment and ptxas, whatever the PATH is.
tools = [os.path.dirname(sys.executable)]
if (ptxas := find_ptxas()) is not None:
    tools.append(str(ptxas.parent))
    config.available_features.add("ptxas")
config.environment["PATH"] = os.pathsep.join([*tools, config.environment["PATH"]])
config.environment["PYTHONPATH"] = str(root)
config.environment["TIRX_VERIFY_EACH"] = "1"
config.environment["TIRX_STRICT_SCHEDULE"] = "1"

if lit_config.params.get("shell"):
    config.test_format = lit.formats.ShTest()
    python = sys.executable
    modules = {
        "tirx-opt": "tirx.tools.tirx_opt",
        "tirx-sim": "tirx.tools.tirx_sim",
        "tirx-viz": "tirx.tools.tirx_viz",
        "filecheck": "filecheck",
    }
    for name, module in modules.items():
        config.substitutions.append((rf"(?<![\w/.-]){name}(?![\w/.-])", f"{python} -m {module}"))
else:
    config.test_format = InProcessShTest()
