"""`build`: from a module of tile programs to kernels that can be simulated and launched."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from hashlib import sha256
from io import StringIO
from time import process_time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from tirx.frames import hide_frames, hiding_frames
from tirx.runtime import stored
from tirx.text.collector import paused_collector

# A program that is read from disk waits for none of these, nor for numpy or xDSL.
if TYPE_CHECKING:
    from pathlib import Path

    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from tirx.dialects.formula import LaunchSizes
    from tirx.runtime.check import Checked, Source
    from tirx.runtime.launch import Launch
    from tirx.runtime.launch_tiles import LaunchTiles
    from tirx.runtime.launcher import Launcher

_CACHE_SIZE = 256
"""Programs that a process keeps; the oldest goes first."""

_cache: dict[str, Program] = {}


class Program:
    """PTX and how to launch each of its kernels. `kernels` are in the order of the module, by name, without `variants`,
    which are launched in the place of one of them.

    >>> import tirx
    >>> program = tirx.build('tirx.kernel @nothing() target("sm_80") grid(1) threads(32) { tirx.return }')
    >>> list(program.kernels), program.ptx.splitlines()[1]
    (['nothing'], '.target sm_80')
    """

    def __init__(self, ptx: str, launches: Sequence[Launch] | str, source: Source | None = None):
        self.ptx = ptx
        self.source = source
        self.remake: partial[Program] | None = None
        self.launch_tiles: LaunchTiles[Kernel] | None = None
        self._with_option: dict[str, Program | None] = {}
        self._launches = launches
        """The descriptors, or their JSON text, which is read when they are asked for."""

    @cached_property
    def _all_kernels(self) -> tuple[MappingProxyType[str, Kernel], MappingProxyType[str, Kernel]]:
        launches = self._launches
        if isinstance(launches, str):
            from tirx.runtime.launch import read_launches

            launches = read_launches(launches)
        variants = {variant.entry for each in launches for variant in each.variants if variant.entry != each.entry}
        first, second = (
            _Kernels({each.entry: Kernel(self, each) for each in launches if (each.entry in variants) is which})
            for which in (False, True)
        )
        return MappingProxyType(first), MappingProxyType(second)

    @property
    def kernels(self) -> MappingProxyType[str, Kernel]:
        """The kernels by name, in the order of the module."""
        return self._all_kernels[0]

    @property
    def variants(self) -> MappingProxyType[str, Kernel]:
        """The kernels that are launched in the place of others, by name."""
        return self._all_kernels[1]

    def check(self, **options: Any) -> list[Checked]:
        """Compares every kernel with its tile program, see `Kernel.check`.

        >>> import tirx
        >>> program = tirx.build('''
        ... tirx.kernel @copy(%a: memref<32xf32>, %d: memref<32xf32>) target("sm_80") grid(1) threads(32) {
        ...   %c0 = arith.constant 0 : index
        ...   %x = tirx.view %a[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global>
        ...   %y = tirx.view %d[%c0] : memref<32xf32> -> !tirx.tile<32xf32, global>
        ...   %t = tirx.load %x : !tirx.tile<32xf32, global> -> !tirx.tile<32xf32, register>
        ...   tirx.store %t, %y : !tirx.tile<32xf32, register>, !tirx.tile<32xf32, global>
        ...   tirx.return
        ... }''')
        >>> print(program.check()[0])
        @copy: 2 launches of 1 sizes agree, 2 bit for bit, in ... s
        """
        return [kernel.check(**options) for kernel in (*self.kernels.values(), *self.variants.values())]

    @cached_property
    def for_any_strides(self) -> Program | None:
        """The program of the same source for arrays whose strides are no multiples of 16 bytes.

        It is compiled when first asked for. None for one that `build` did not make, or that is itself for any strides.
        Raises StrideError, saying why, if there can be none.
        """
        from tirx.diagnostics import LocatedError, diagnostic_handler
        from tirx.runtime.arrays import StrideError

        if self.remake is None:
            return None
        try:
            with diagnostic_handler(lambda _: None, remarks=False):  # which the first program has reported
                return self.remake()
        except LocatedError as error:
            raise StrideError(f"expected strides of multiples of 16 bytes: {error.diagnostic.message}") from error

    def with_option(self, words: str) -> Program | None:
        """The program of the same source with one more option, compiled when first asked for.

        None where the kernels cannot have it, or the options name it already.
        """
        from tirx.diagnostics import LocatedError, diagnostic_handler
        from tirx.passes.pipeline import OptionError

        if words not in self._with_option:
            self._with_option[words], source = None, self.source
            given = "" if source is None else source.options
            if source is not None and words.split("=")[0] not in [each.split("=")[0] for each in given.split()]:
                options = f"{source.options} {words}".lstrip()
                try:
                    with diagnostic_handler(lambda _: None):
                        self._with_option[words] = compiled(
                            source.module(), source.target, options, passes=source.given
                        )
                except (LocatedError, OptionError):
                    pass
        return self._with_option[words]

    def __getstate__(self) -> dict[str, object]:
        """Returns what `to_json` does, and the source as text, for `check` and arrays of other strides."""
        source, remake, tiles = self.source, self.remake, self.launch_tiles
        if source is not None:
            from tirx.values import replace

            source = replace(source, program=str(source.program))
        if remake is not None:
            remake = partial(remake.func, str(remake.args[0]), *remake.args[1:], **remake.keywords)
        return {"json": self.to_json(), "source": source, "remake": remake, "launch_tiles": tiles}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**json.loads(state["json"]), source=state["source"])
        self.remake, self.launch_tiles = state["remake"], state["launch_tiles"]

    def to_json(self) -> str:
        """The program as text: PTX and launch descriptors."""
        launches = self._launches
        if not isinstance(launches, str):
            from tirx.runtime.launch import write_launches

            launches = write_launches(launches)
        return json.dumps({"ptx": self.ptx, "launches": launches})

    @staticmethod
    def from_json(text: str) -> Program:
        """The counterpart of `to_json`. Raises ValueError for other texts."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.keys() != {"ptx", "launches"}:  # pyright: ignore[reportUnknownMemberType]
            raise ValueError("expected a program of PTX and launch descriptors")
        from tirx.runtime.launch import read_launches

        return Program(data["ptx"], read_launches(data["launches"]))  # pyright: ignore[reportUnknownArgumentType]


class _Kernels(dict[str, "Kernel"]):
    def __missing__(self, name: str) -> Kernel:
        from tirx.text.suggestions import did_you_mean

        raise KeyError(f"expected a kernel of {', '.join(self) or 'none'}, found '{name}'{did_you_mean(name, self)}")


class Kernel:
    """One kernel of a program."""

    def __init__(self, program: Program, launch: Launch):
        self.program = program
        self.launch = launch

    def __reduce__(self) -> tuple[Callable[..., Kernel], tuple[Program, str]]:
        """Kernels are pickled as part of their programs."""
        return _kernel, (self.program, self.launch.entry)

    def __call__(self, *arguments: Any, stream: Any = None, grid: Sequence[int] | None = None) -> Any:
        """Launches the kernel on the GPU that the arrays are on, behind the work of `stream`.

        Arrays are those of torch, cupy, jax or numpy, or speak DLPack or `__cuda_array_interface__`. `stream` is one of
        torch, cupy or cuda-core or its handle; without it the current stream of torch or cupy. torch and cupy arrays
        are written in place, and the call does not wait for the kernel. For numpy (copied to the GPU and back) and jax
        it does; the jax arrays that the kernel writes are returned as new ones, and a `jax.ShapeDtypeStruct` stands for
        zeros. `grid` is for a kernel without one. Raises ArgumentError for arguments that do not fit and GpuError
        without a GPU that runs the kernel.
        """
        try:
            launcher, ready = self.launcher, None
            try:
                keys = launcher.keys
                ready = launcher.ready.get((grid, *[keys[type(each)](each) for each in arguments]))
            except (KeyError, TypeError):  # a type that was not seen before, or a grid that is a list
                pass
            return launcher(arguments, stream, grid) if ready is None else ready(stream)
        except Exception as error:
            hide_frames(error)
            raise

    def torch_operator(self, name: str) -> Any:
        """The kernel as the operator `name` ("library::name") of torch; see `tirx.runtime.torch_op`."""
        from tirx.runtime.torch_op import torch_operator

        return torch_operator(name, self.launch, self)

    @cached_property
    def launcher(self) -> Launcher:
        """Launches the kernel, and knows the arguments of earlier launches."""
        from tirx.runtime.launcher import Launcher  # imports what simulations do not need

        def other(sizes: LaunchSizes | None) -> Launcher | None:
            kernel = self._for_any_strides if sizes is None else self.variant(sizes)
            return None if kernel is None else kernel.launcher

        return Launcher(self.program.ptx, self.launch, other)

    @property
    def source(self) -> Source:
        """Source of the program. Raises ValueError where another process has compiled it."""
        if self.program.source is None:
            raise ValueError("expected a program that was compiled by this process, found one without its source")
        return self.program.source

    @property
    def _for_any_strides(self) -> Kernel | None:
        program = self.program.for_any_strides
        return None if program is None else (program.kernels | program.variants)[self.launch.entry]

    def variant(self, sizes: LaunchSizes) -> Kernel | None:
        """The kernel that launches of these sizes take in the place of this one, None where they take this one."""
        if (tiles := self.program.launch_tiles) is not None and (place := self.launch.place(sizes)) is not None:
            found = tiles.kernel(self.launch.entry, place, sizes)
            if found is not None:
                return found
        entry = self.launch.variant(sizes)
        return None if entry is None else self.program.variants[entry]

    def _chosen(self, arguments: Sequence[Any], sm_count: int = 2) -> Kernel:
        """The variant for numpy arguments, or this kernel."""
        from tirx.runtime.binding import launch_sizes
        from tirx.runtime.simulation import view_arguments

        if not self.launch.variants:
            return self
        return self.variant(launch_sizes(self.launch, view_arguments(self.launch, arguments), sm_count)) or self

    def __repr__(self) -> str:
        arguments = ", ".join(argument.name for argument in self.launch.passed)
        return f"<tirx kernel {self.launch.entry}({arguments}) for {self.launch.target}>"

    @hiding_frames
    def simulate(self, *arguments: Any, **options: Any) -> None:
        """Runs the kernel in the simulator, with numpy arrays that are updated in place and numbers.

        Options: `grid` for a kernel without one, `sm_count` of the GPU (2), and those of `tirx.sim.run`, such as
        `seed` and `check`. Raises ArgumentError for arguments that do not fit and SimError for a faulty kernel.
        """
        from tirx.runtime.arrays import StrideError
        from tirx.runtime.simulation import simulate

        chosen = self._chosen(arguments, **{name: options[name] for name in ("sm_count",) if name in options})
        try:
            simulate(chosen.program.ptx, chosen.launch, arguments, **options)
        except StrideError:
            if (other := chosen._for_any_strides) is None:
                raise
            other.simulate(*arguments, **options)

    @hiding_frames
    def check(self, *arguments: Any, **options: Any) -> Checked:
        """Compares the kernel in the simulator with its tile program, run by `tirx.interp`.

        Options are those of `tirx.sim.run`. Without arguments random ones of several sizes are made, and options are
        `seconds` that this may take, `seed`, and `numbers`, of "integers", "normal", "special" and "modular". A kernel
        whose grid is numbers is then compiled again, with `order=row` and with `multiprocessors=2`, while time is left,
        to compare these schedules, too. Raises
        CheckError where they differ, which names the pass, and ArgumentError for options that are not supported.
        """
        from tirx.runtime.arrays import StrideError
        from tirx.runtime.check import check_launch

        if arguments:
            chosen = self._chosen(arguments)
            try:
                return check_launch(chosen.program.ptx, chosen.launch, chosen.source, arguments, **options)
            except StrideError:
                if (other := chosen._for_any_strides) is None:
                    raise
                return other.check(*arguments, **options)
        return self._check_made_up(self.source, **options)

    def _check_made_up(self, source: Source, seconds: float = 3, **options: Any) -> Checked:
        """Checks random arguments, and while time is left a launch of each of the schedules that are another PTX."""
        from tirx.runtime.check import SCHEDULES, check_kernel
        from tirx.values import replace

        start, name = process_time(), self.launch.entry
        checked = check_kernel(self.program.ptx, self.launch, source, seconds=seconds, **options)
        also: list[str] = []
        one = options | {"numbers": options.get("numbers", ["integers"])[:1]}
        for words in SCHEDULES if source.is_static(name) else ():
            left = start + seconds - process_time()
            if left < checked.seconds + source.seconds:
                break
            other = self.program.with_option(words)
            if other is None or other.ptx == self.program.ptx or name not in other.kernels:
                continue
            assert other.source is not None
            check_kernel(other.ptx, other.kernels[name].launch, other.source, seconds=left, **one)
            also.append(words)
        return replace(checked, also=tuple(also), seconds=process_time() - start)


def _kernel(program: Program, entry: str) -> Kernel:
    return {**program.kernels, **program.variants}[entry]


def build(
    module_or_text: ModuleOp | str,
    target: str | None = None,
    options: str = "",
    *,
    cache_directory: str | Path | None = None,
    salt: str | None = None,
    verify: bool = False,
    compile_at_launch: bool = False,
) -> Program:
    """Compiles a module of kernels, given as IR or as MLIR text, to a program.

    With `verify` the kernels are run behind every pass, and their PTX in the simulator, for arguments of a few sizes: a
    CheckError says which pass changes what they do.

    `target` (for example `"sm_90a"`) overrides the target that the kernels name, and `options` are those of
    `tirx.compile`. A process keeps programs by input, target and options; a `cache_directory` keeps them on disk, also
    by the sources of tirx and of installed packages that extend it, and by the version of xDSL.

    Kernels that move arrays with strides that the launch knows may need multiples of 16 bytes. Arrays of others are
    moved by a second kernel, which is compiled (`strides=any`) when it is needed first.

    With `compile_at_launch` launches of products of `linalg` of open sizes take the best tile for their sizes where the
    variants take more than 3 % longer by the timing model: it is compiled when it is needed first.

    Nobody but their author knows when operations defined elsewhere are lowered differently: programs of modules that
    have such operations are kept only under a `salt`, a text that changes whenever their lowering does.
    Raises ValueError for a `cache_directory` without one, and what `tirx.compile` raises.
    """
    if isinstance(module_or_text, str):
        given, guests = module_or_text, ()
    else:
        guests = _guests(module_or_text) if salt is None else ()
        given = _text(module_or_text, locations="lines=" in options)

    keywords: dict[str, Any] = {"cache_directory": cache_directory, "salt": salt, "verify": verify}

    def make() -> Program:
        return compiled(module_or_text, target, options, verify=verify)

    def finish(program: Program, source: ModuleOp | str) -> Program:
        if "strides=" not in options:
            words = f"{options} strides=any".lstrip()
            program.remake = partial(build, source, target, words, **keywords, compile_at_launch=compile_at_launch)
        if compile_at_launch:
            from tirx.runtime.launch_tiles import LaunchTiles

            program.launch_tiles = LaunchTiles(source, target, options, partial(_built, **keywords))
        return program

    if guests:
        if cache_directory is not None:
            raise ValueError(
                f"expected `salt`, a text that changes whenever the lowering of {', '.join(guests)} does, since "
                "programs on disk outlive it; or no `cache_directory`"
            )
        return finish(make(), cast("ModuleOp", module_or_text).clone())
    key = sha256(json.dumps([given, target, options, salt, verify]).encode()).hexdigest()
    name = f"{key} at launch" if compile_at_launch else key
    program = _cache.get(name)
    if program is None:
        path = None if cache_directory is None else stored.place(str(cache_directory), key)
        text = None if path is None else stored.read(path)
        program = make() if text is None else Program(**json.loads(text))
        if path is not None and text is None:
            stored.write(path, program.to_json())
        finish(program, given)
        while len(_cache) >= _CACHE_SIZE:
            del _cache[next(iter(_cache))]
        _cache[name] = program
    return program


def _built(entry: str, module: ModuleOp, target: str | None, options: str, **keywords: Any) -> Kernel:
    return build(module, target, options, **keywords).kernels[entry]


def _text(module: ModuleOp, *, locations: bool) -> str:
    from xdsl.printer import Printer

    text = StringIO()
    Printer(text, print_debuginfo=locations).print_op(module)
    return text.getvalue()


def compiled(
    module_or_text: ModuleOp | str,
    target: str | None,
    options: str,
    *,
    verify: bool = False,
    passes: Callable[[str], tuple[ModulePass, ...]] | None = None,
) -> Program:
    """Compiles a module as `build` does, and keeps nothing; `passes` of options replace the usual ones."""
    # Here, so that a program that is read from disk does not wait for the compiler.
    from xdsl.dialects.builtin import ModuleOp

    with paused_collector():
        from tirx import compiler
        from tirx.ptx.printer import print_ptx
        from tirx.runtime.check import Source
        from tirx.runtime.describe import describe
        from tirx.runtime.watch import Watch
        from tirx.values import replace

    given = module_or_text.clone() if isinstance(module_or_text, ModuleOp) else module_or_text
    source, start = Source(given, target, options, passes), process_time()
    watch = Watch.of(source.module()) if verify else None
    own = None if passes is None else passes(options)
    module = compiler.lower(module_or_text, target, options, None if watch is None else watch.after, own)
    text = print_ptx(module)
    program = Program(text, describe(module), replace(source, seconds=process_time() - start))
    if watch is not None:
        watch.end(program.ptx, [each.launch for each in (program.kernels | program.variants).values()])
    return program


def _guests(module: ModuleOp) -> tuple[str, ...]:
    """Returns the names of operations whose classes are neither xDSL's nor in a package that `_version` covers."""
    from xdsl.dialects.builtin import ModuleOp

    if not isinstance(module, ModuleOp):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a module or its text, found {type(module).__name__}")
    known = {"xdsl", "tirx", *stored.extensions()}
    return tuple(sorted({op.name for op in module.walk() if type(op).__module__.partition(".")[0] not in known}))
