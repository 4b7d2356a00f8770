"""`tirx-opt`: runs passes over MLIR text and prints MLIR or PTX.

Exit code 0 is success and 1 an error in the input or on the command line, reported as
`file:line:col: error: message` above the line it is about. Exit code 2 is a bug in the compiler, with a traceback.
"""

from __future__ import annotations

import io
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from io import StringIO
from time import perf_counter
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler
from tirx.frames import place_in
from tirx.runtime.stored import extensions
from tirx.text.collector import paused_collector
from tirx.text.parsing import parse_located
from tirx.text.source import Source, check_encoding, decode
from tirx.text.verification import IN_PASS, CheckError, InvalidPassOutputError, StepTime, run_passes
from tirx.tools import commands
from tirx.tools.files import FileError, read_input, write_output
from tirx.tools.flags import OptFlags, parse_flags
from tirx.tools.process import UsageError
from tirx.tools.times import format_times
from tirx.universe import new_context

if TYPE_CHECKING:
    from tirx.tools.decisions import DecisionRecorder

Keep = Callable[[str, bytes, str], None]


class TirxOpt:
    """One run of `tirx-opt` over one input."""

    def __init__(self, flags: OptFlags, keep: Keep | None = None):
        self.flags = flags
        is_alone = flags.launch_path is None and flags.time_passes is None and not flags.print_between_passes
        self._keep = keep if is_alone else None
        """Keeps the output of a run that writes nothing else."""
        self._recorder: DecisionRecorder | None = None
        """Collects what `--explain` prints."""
        self._launches = ""
        """The launch descriptors as JSON, once they are asked for."""

    def run(self) -> bool:
        """Processes the input; False when it reported an error (or, with `--verify-diagnostics`, a mismatch)."""
        data = read_input(self.flags.input_path)
        name = "<stdin>" if self.flags.input_path == "-" else self.flags.input_path
        source = decode(name, data)
        try:
            check_encoding(name, data)
        except LocatedError as error:
            self._show(source, error.diagnostic)
            return False

        chunks = source.chunks() if self.flags.split_input_file else [source]
        outputs: list[str] = []
        success = True
        for chunk in chunks:
            output, chunk_success = self._process(chunk)
            success &= chunk_success
            if output is not None:
                outputs.append(output)
        output = "// -----\n".join(outputs)
        if success or self.flags.output_path == "-":
            write_output(self.flags.output_path, output)
        if success and self._keep is not None:
            self._keep(self.flags.input_path, data, output)
        if success and self.flags.launch_path is not None:
            write_output(self.flags.launch_path, self._launches)
        return success

    def _show(self, source: Source, diagnostic: Diagnostic) -> None:
        self._keep = None
        text = json.dumps(diagnostic.to_json()) if self.flags.diagnostics_json else source.render(diagnostic)
        print(text, file=sys.stderr)

    def _process(self, chunk: Source) -> tuple[str | None, bool]:
        """Compiles `chunk`. Returns the output, if there is one, and whether its diagnostics are as expected."""
        reported: list[Diagnostic] = []

        explains = self.flags.explain is not None
        if explains:
            from tirx.tools.decisions import DecisionRecorder  # imports the tables of all families

            self._recorder = DecisionRecorder()

        def report(diagnostic: Diagnostic) -> None:
            if self._recorder is not None:
                self._recorder.hear(diagnostic)
            if diagnostic.severity == "remark" and not self.flags.remarks:
                return
            if diagnostic.severity == "warning" and diagnostic.rule in self.flags.disabled_warnings:
                return
            reported.append(diagnostic)
            if not self.flags.verify_diagnostics:
                self._show(chunk, diagnostic)

        output = None
        with paused_collector(), diagnostic_handler(report, remarks=self.flags.remarks or explains):
            try:
                output = self._compile(chunk)
            except VerifyException:
                raise  # a pass built an invalid attribute or operation: its bug, not an error in the input
            except LocatedError as error:
                for diagnostic in error.diagnostics:
                    report(diagnostic)
            except DiagnosticException as error:
                report(Diagnostic("error", str(error), UNKNOWN_LOC))

        if not self.flags.verify_diagnostics:
            compiled = output is not None
            if not compiled and self._recorder is not None and self._recorder.kernels():
                output = self._explained(self._recorder)  # what was decided before the error
            return output, compiled
        from tirx.text.expectations import check_diagnostics  # only if asked for

        mismatches = check_diagnostics(chunk, reported)
        for mismatch in mismatches:
            self._show(chunk, mismatch)
        return output, not mismatches

    def _explained(self, recorder: DecisionRecorder) -> str:
        assert self.flags.explain is not None
        return recorder.report(self.flags.explain)

    def _compile(self, chunk: Source) -> str:
        start = perf_counter()
        context = new_context(allow_unregistered=self.flags.allow_unregistered_dialect)
        module = parse_located(context, chunk.text, chunk.name)
        parsed = perf_counter()
        watching: list[Callable[[ModulePass, ModuleOp], None]] = []
        if self.flags.print_between_passes:
            from tirx.tools.changes import ChangePrinter  # only if asked for

            changes = ChangePrinter(sys.stderr.write, self.flags.print_after, whole=self.flags.print_whole)
            changes.start(module)
            watching.append(changes.after)
        if self._recorder is not None:
            watching.append(self._recorder.after)
        predictor = None
        if self.flags.predict is not None:
            from tirx.tools.predictions import Predictor  # only if asked for

            predictor = Predictor(self.flags.predict, self.flags.size)
            watching.append(predictor.after)
        lowering = None
        if self.flags.verify_lowering:
            from tirx.runtime.watch import Watch  # imports the simulator

            lowering = Watch.of(module)
            watching.append(lowering.after)

        def after_each(done: ModulePass, module: ModuleOp) -> None:
            for watch in watching:
                watch(done, module)

        try:
            times = run_passes(
                context,
                module,
                self.flags.passes,
                after_each if watching else None,
                verify_each=self.flags.verify_each or None,
            )
        except CheckError:
            raise
        except Exception:
            if lowering is not None and lowering.last:
                print(f"note: {lowering.agreement()}", file=sys.stderr)
            raise
        end = perf_counter()
        output = StringIO()
        if predictor is not None:
            output.write(predictor.report())
        elif self._recorder is None:
            self.flags.target.emit(context, module, output)
        else:
            output.write(self._explained(self._recorder))
        is_ptx = self.flags.target.name == "ptx"
        if self.flags.launch_path is not None or (lowering is not None and is_ptx):
            # Here, as they import numpy and all instructions, which other runs may not need.
            from tirx.runtime.describe import describe
            from tirx.runtime.launch import write_launches

            launches = describe(module)
            self._launches = write_launches(launches)
            if lowering is not None and self._recorder is None:
                lowering.end(output.getvalue(), launches)
        if self.flags.time_passes is not None:
            times = [StepTime("parse", parsed - start), *times, StepTime("print", perf_counter() - end)]
            print(format_times(times, self.flags.time_passes), file=sys.stderr)
        return output.getvalue()


def _print_internal_error(error: Exception) -> None:
    # xDSL attaches the whole module to errors raised in patterns; it would bury the traceback.
    passes = [f", {note}" for note in getattr(error, "__notes__", ()) if note.startswith(IN_PASS)]
    error.__notes__ = []
    traceback.print_exception(error)
    print(f"internal error: {type(error).__name__}: {error}{''.join(passes)}", file=sys.stderr)
    print(f"This is a bug in {_culprit(error)}.", file=sys.stderr)


def _culprit(error: Exception) -> str:
    """Names who has to do something about an error: tirx, or a line of an installed package."""
    guest, is_last = place_in(error, extensions())
    if is_last:
        return guest
    culprit = "tirx" + (f", or at {guest}" if guest else "")
    return f"{culprit}. Please report it with the input and the command line"


def main(argv: Sequence[str], keep: Keep | None = None) -> int:
    """Runs `tirx-opt` with the arguments `argv`, without its name, and returns its exit code.

    `keep` is called with the input's path, its bytes and the output of a run that succeeds and writes nothing else.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        return 0 if TirxOpt(parse_flags(argv), keep).run() else 1
    except (UsageError, FileError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        raise  # by the command
    except CheckError as error:
        print(f"internal error: {error}\n{error.change}", file=sys.stderr)
        return 2
    except InvalidPassOutputError as error:
        print(f"internal error: {error}\nThis is a bug in {error.culprit}.", file=sys.stderr)
        return 2
    except Exception as error:  # the last resort: a bug must be visible as one, and have its exit code
        _print_internal_error(error)
        return 2


if __name__ == "__main__":
    sys.exit(commands.tirx_opt())
