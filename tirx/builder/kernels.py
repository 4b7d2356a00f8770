"""`@tx.jit`: a Python function that is traced once for each kind of call, and writes a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from tirx.builder import control, functions
from tirx.builder.calls import Calls, identity
from tirx.builder.dtypes import ArrayType, DType, dtype_of, index
from tirx.builder.operations import array_type, attribute, property_of
from tirx.builder.rewrite import rewritten
from tirx.builder.scalars import Scalar
from tirx.builder.spans import Span, as_index
from tirx.builder.trace import BuildError, Trace, current, drop_unused, location_around, tracing
from tirx.builder.views import Array
from tirx.compiler import compile as compile_module
from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import BlockIdOp, GridAxis, GridDimOp, KernelOp, LaunchValueOp, ReturnOp, kernels
from tirx.frames import hide_frames, hiding_frames
from tirx.text.source import file_location

if TYPE_CHECKING:
    from tirx.runtime.tune import Trial, Tuned

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class Param:
    """A number that is bound before the function is traced, with candidates, the first of which is the default."""

    def __init__(self, candidates: tuple[int, ...]):
        self.candidates = candidates


def param(*candidates: int) -> int:
    """The default of an argument that is a number while the function is traced: candidates, the first of which it is.

    For arrays it is the one that takes the least time by the timing model, in a kernel that multiplies tiles.
    `kernel.ir(..., BM=64)` binds it to another one.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array, BM: int = tx.param(32, 64)) -> None:
    ...     print(a[0:BM, :])
    >>> _ = kernel.ir(), kernel.ir(BM=64)
    a view f32[32, 64]
    a view f32[64, 64]
    """
    if not candidates:
        raise BuildError("expected candidates of a parameter, found none")
    return cast(int, Param(candidates))


def _axis(name: str) -> GridAxis:
    if name not in ("x", "y", "z"):
        raise BuildError(f"expected an axis of x, y and z, found {name!r}")
    return GridAxis(name)


def block_id(axis: str) -> Scalar:
    """The position of the block in the grid along x, y or z.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.block_id("x"))
    >>> _ = kernel.module
    a scalar index
    """
    trace = current()
    return Scalar(trace, trace(BlockIdOp(_axis(axis))).result, index, natural=True)


def grid_dim(axis: str) -> Scalar:
    """The number of blocks of the grid along x, y or z.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.grid_dim("x"))
    >>> _ = kernel.module
    a scalar index
    """
    trace = current()
    return Scalar(trace, trace(GridDimOp(_axis(axis))).result, index, natural=True)


def _formula(count: Any) -> Formula:
    if type(count) is int:
        return count
    if isinstance(count, Scalar) and count.formula is not None:
        return count.formula
    raise BuildError(f"expected blocks that the launch can count, by shapes of arrays and numbers, found {count!r}")


def launch_value(formula: Formula) -> Scalar:
    """The value of a formula of the launch: a number, or a `Call` such as `tx.sm_count()`.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(tx.launch_value(4))
    >>> _ = kernel.module
    a scalar index
    """
    trace = current()
    op = trace(LaunchValueOp(formula))
    return Scalar(trace, op.result, index, natural=True, formula=formula)


def sm_count() -> Scalar:
    """The multiprocessors of the GPU.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     block = tx.grid(tx.sm_count())
    ...     print(block)
    >>> _ = kernel.module
    a scalar index
    """
    return launch_value(Call("sm_count"))


def grid(*extents: Any) -> Any:
    """The block's place in the grid, of these extents, the last of which is x: `m, n = tx.grid((M, 128), (N, 64))`.

    A number or an index counts blocks, and gives an index; a pair of an extent and a size gives the span of the block's
    elements, which ends at the extent. Extents in front of the last three share z.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[None, 64, 512], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     b, n = tx.grid(a.shape[0], (512, 128))
    ...     print(a[b, :, n])
    >>> _ = kernel.module
    a view f32[64, 128]
    """
    trace = current()
    if trace.grid is not None:
        raise BuildError("expected one tx.grid in a kernel, found another one")
    pairs = [cast("tuple[Any, int]", each) if isinstance(each, tuple) else None for each in extents]
    counts: list[Any] = [
        each if pair is None else functions.apply("ceildiv", *pair) for each, pair in zip(extents, pairs, strict=True)
    ]
    dims: list[Any] = counts[-3:]
    for count in reversed(counts[:-3]):
        dims[0] = count * dims[0]
    trace.set_grid([_formula(each) for each in reversed(dims)])
    found = [block_id(axis) for axis in ("z", "y", "x")[3 - len(dims) :]]
    if len(counts) > 3:  # z counts several, the last of which is the fastest
        places, rest = list[Scalar](), found[0]
        for count in reversed(counts[1:-2]):
            places.insert(0, rest % as_index(count))
            rest = rest // as_index(count)
        found = [rest, *places, *found[1:]]
    results: list[Any] = []
    for at, pair in zip(found, pairs, strict=True):
        if pair is None:
            results.append(at)
            continue
        count, extent = pair
        whole = type(count) is int and count % extent == 0
        results.append(Span(at * extent if extent > 1 else at, extent, None if whole else as_index(count)))
    return results[0] if len(results) == 1 else tuple(results)


def _formulas(grid: Sequence[Formula | str] | None) -> list[Formula] | None:
    """The extents of a grid, formulas of which may be text: `ceildiv(size(0, 0), 128)`."""
    if grid is None:
        return None
    extents = cast("Sequence[Any]", grid) if isinstance(grid, list | tuple) else ()
    if not 1 <= len(extents) <= 3 or not all(type(each) is int or isinstance(each, str | Call) for each in extents):
        raise BuildError(f"expected blocks along x, y and z, such as grid=[4] or ['size(0, 0)', 2], found {grid!r}")
    return [cast(Any, attribute(f"#ptx.formula<{each}>")).data if isinstance(each, str) else each for each in extents]


Type = ArrayType | DType | Attribute


class Kernel:
    """A function that writes kernels: `.ir(types..., BM=64)` is the module for arguments of these types.

    >>> import tirx as tx
    >>> from tirx import f32
    >>> @tx.jit(f32[64, 64], threads=128, target="sm_80")
    ... def nothing(a: tx.Array) -> None:
    ...     pass
    >>> nothing.module.ops.first.sym_name.data
    'nothing'
    """

    def __init__(
        self,
        function: FunctionType,
        types: Sequence[Type],
        clauses: dict[str, Any],
        threads: int | Attribute | Callable[..., int],
        name: str | None = None,
        attributes: Mapping[str, Attribute] = {},
        options: str = "",
        salt: str | None = None,
    ):
        self.threads = threads
        self.options = options
        self.salt = salt
        self.attributes = attributes
        self.function = function
        self.location = location_around()
        self.types = tuple(types)
        self.clauses = clauses
        self.__name__ = name or function.__name__
        self.__doc__ = function.__doc__
        parameters = list(inspect.signature(function).parameters.values())
        self.constants: dict[str, Any] = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.arguments: list[str] = [
            p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL
        ]
        self.takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        candidates = {name: each.candidates for name, each in self.constants.items() if isinstance(each, Param)}
        target = clauses.get("target")
        self._calls = Calls(self.write, self.arguments, cast(Any, self.types), target, options, salt, candidates)

    @cached_property
    def _rewritten(self) -> FunctionType:
        return rewritten(self.function, control)

    def __call__(self, *arguments: Any, stream: Any = None, **constants: Any) -> Any:
        """Runs the kernel on arrays of torch, cupy, jax or numpy and numbers: on the GPU, or simulated without one.

        Element types, ranks and constants make a program of its own, which is compiled once and kept in the directory
        that the variable TIRX_CACHE of the environment names. Extents that a slice `:` or Python needs are constants,
        others are those of each launch. The target is that of `tx.jit`, or of the GPU.
        """
        try:
            calls, ready = self._calls, None
            try:
                keys = calls.keys
                key = [keys[type(each)](each) for each in arguments]
                if constants:
                    for name, each in constants.items():
                        key += name, each if type(each) is int else identity(each)
                ready = calls.ready.get(tuple(key))
            except (KeyError, TypeError):  # a type that was not seen before, or a constant that is not hashable
                pass
            return calls(arguments, constants, stream) if ready is None else ready(stream)
        except Exception as error:
            hide_frames(error)
            raise

    @hiding_frames
    def debug(
        self, *arguments: Any, see: Callable[[int, dict[str, Any]], None], at: Sequence[int] | None = None, **given: Any
    ) -> None:
        """
        Runs the kernel on whole tiles, block after block, and calls `see` whenever it comes to one of the lines `at`.

        Without them it does so at every line. `see` has the line and the names: tiles as numpy arrays, numbers, and
        arrays. Tiles that are only part of the computation of others have no values of their own. `arguments` are
        numpy arrays and numbers, and `given` the constants. Raises RunError as `tirx.interp.run_kernel` does.
        """
        from tirx.interp.run import run_kernel
        from tirx.interp.watch import Watch

        module = self.ir(*arguments, **given)
        (kernel,) = kernels(module)
        run_kernel(kernel, arguments, watch=Watch(kernel, self.function.__code__.co_filename, at, see))

    @hiding_frames
    def simulate(
        self,
        *arguments: Any,
        trace: Callable[[int, dict[str, Any]], None] | None = None,
        at: Sequence[int] | None = None,
        options: Mapping[str, Any] = {},
        **constants: Any,
    ) -> None:
        """Runs the kernel's PTX in the simulator, on numpy arrays that are updated in place and numbers.

        `trace` hears before of each line, or those of `at`, with the tiles by their names in Python, as `debug` says;
        `options` are those of `tirx.sim.run`, such as `seed` and `check`.
        """
        if trace is not None:
            copies = [each.copy() if hasattr(each, "copy") else each for each in arguments]
            self.debug(*copies, see=trace, at=at, **constants)
        self._calls.compiled(arguments, constants).simulate(*arguments, **options)

    @hiding_frames
    def tune(
        self,
        *arguments: Any,
        knobs: Mapping[str, Sequence[str]] | None = None,
        report: Callable[[Trial], None] | None = None,
        rounds: int = 5,
        **constants: Any,
    ) -> Tuned:
        """
        Measures combinations of the candidates of `tx.param` on the GPU, and then options of the pipeline, one by one.

        Calls with arrays of these types and shapes take the fastest from then on. `knobs` are the options with the
        values that are tried, those of `tirx.runtime.tune.KNOBS` unless given; `report` hears of every trial. Raises
        GpuError without a GPU or arrays in its memory, as `tirx.runtime.tune.tune` does.
        """
        others = {} if knobs is None else {"knobs": knobs}
        return self._calls.tune(arguments, constants, report=report, rounds=rounds, **others)

    @hiding_frames
    def ptx(self, *types: Any, target: str | None = None, **constants: Any) -> str:
        """The PTX for the arguments of `ir`."""
        return compile_module(self.ir(*types, **constants), target, self.options)

    @hiding_frames
    def explain(self, *types: Any, target: str | None = None, **constants: Any) -> str:
        """The decisions that the compiler takes, one a line with its place."""
        found: list[Diagnostic] = []
        with diagnostic_handler(found.append):
            self.ptx(*types, target=target, **constants)
        return "\n".join(map(str, found))

    @property
    @hiding_frames
    def module(self) -> ModuleOp:
        """The kernel, for the types that `tx.jit` was given."""
        return self.ir()

    @hiding_frames
    def ir(self, *types: Any, **constants: Any) -> ModuleOp:
        """The module with the kernel for arguments of these types, for these arrays, or for the types of `tx.jit`.

        Raises BuildError, which shows the expression, for what no kernel can say.
        """
        given = all(isinstance(each, ArrayType | DType | Attribute) for each in types)
        if given:
            kernel, _ = self.write(*types, **constants)
        else:
            kernel = self._calls.trace(types, self._calls.chosen(types, constants))[0]
        return ModuleOp([kernel.clone()])  # operations of bodies that were tried use values of the kernel, too

    def write(self, *types: Type, specialises: bool = False, **constants: Any) -> tuple[KernelOp, Trace]:
        """The kernel for arguments of these types, and its trace; `specialises` lets NeedsExtent ask for numbers."""
        given = types or self.types
        if len(given) < len(self.arguments) or (len(given) > len(self.arguments) and not self.takes_more):
            raise BuildError(
                f"expected types of the arguments {', '.join(self.arguments)}, found {len(given)}: "
                f"{', '.join(map(str, given))}"
            )
        for name in constants:
            if name not in self.constants:
                raise BuildError(f"expected a constant of {', '.join(self.constants) or 'none'}, found {name}")
        bound = {name: constants.get(name, default) for name, default in self.constants.items()}
        bound = {name: each.candidates[0] if isinstance(each, Param) else each for name, each in bound.items()}
        ir_types = [_ir_type(each) for each in given]
        threads = self.threads(**bound) if callable(self.threads) else self.threads
        clauses = {name: property_of(KernelOp, name, each) for name, each in self.clauses.items() if name != "grid"}
        count = threads if type(threads) is int else 1
        op = KernelOp(self.__name__, ir_types, count, None, grid=_formulas(self.clauses.get("grid")), **clauses)
        if isinstance(threads, Attribute):
            op.threads = cast(Any, threads)
        elif type(threads) is not int or threads < 1:
            raise BuildError(f"expected a number of threads, found {threads!r}")
        op.attributes.update(self.attributes)
        code = self.function.__code__
        op.location = self.location or file_location(code.co_filename, code.co_firstlineno, 1)
        block = op.body.block
        trace = Trace(block, op)
        trace.specialises = specialises
        arguments = [
            Array(trace, value, array_type(cast("MemRefType[Attribute]", ir_type)), i)
            if isinstance(ir_type, MemRefType)
            else Scalar(trace, value, _scalar_type(type_))
            for i, (value, type_, ir_type) in enumerate(zip(block.args, given, ir_types, strict=True))
        ]
        for value, argument in zip(block.args, self.arguments, strict=False):
            value.name_hint = argument
        with tracing(trace):
            place = code.co_filename, code.co_firstlineno, 0, 1
            if self._rewritten(*arguments, **bound) is not None:
                raise BuildError("expected a kernel that stores its results, d[...] = t, found one that returns", place)
            if specialises and not trace.writes:
                raise BuildError("expected a kernel that stores to an array, d[...] = t, found none that does", place)
            trace(ReturnOp())
        if specialises and trace.grid is None:
            if any(isinstance(each, BlockIdOp | GridDimOp) for each in op.walk()):
                raise BuildError("expected tx.grid in a kernel whose blocks differ, found none", place)
            trace.set_grid([1])
        drop_unused(block)
        return op, trace


def _scalar_type(type_: Type) -> DType:
    return type_ if isinstance(type_, DType) else dtype_of(cast(Attribute, type_))


def _ir_type(type_: Type) -> Attribute:
    if isinstance(type_, ArrayType):
        return type_.memref
    if isinstance(type_, DType):
        return type_.scalar
    if isinstance(type_, Attribute):  # pyright: ignore[reportUnnecessaryIsInstance]
        return type_
    raise BuildError(f"expected types of arguments such as f16[256, 64] or f32, found {type_!r}")


_MISSING: Any = object()


def jit(
    *types: Type,
    threads: int | Attribute | Callable[..., int] = _MISSING,
    target: str | None = None,
    name: str | None = None,
    grid: Sequence[Formula | str] | None = None,
    cluster: int | None = None,
    attributes: dict[str, Attribute] | None = None,
    options: str = "",
    salt: str | None = None,
    **others: Any,
) -> Callable[[Callable[..., None]], Kernel]:
    """
    Makes a kernel of a Python function, which is traced: its operations on arrays, tiles and scalars are the kernel's.

    `types` are those of its arguments, where they do not depend on the call; arguments with defaults are constants.
    `threads` are those of a block, a number or a function of the constants. The kernel has the name of the function
    unless `name` says another one, and the grid that `tx.grid` says in it. `others` are clauses of `tirx.kernel`.
    `options` are those of `tx.compile`, such as "stages=4", or "lines=on" for PTX with the lines of Python. A `salt`
    changes whenever the lowering of operations does that are not tirx's, which programs on disk outlive.

    >>> import tirx as tx
    >>> from tirx import f32
    >>> @tx.jit(f32[128, 64], f32[128, 64], threads=128, target="sm_80")
    ... def relu(a: tx.Array, b: tx.Array) -> None:
    ...     i = tx.grid((128, 64))
    ...     b[i, :] = tx.maximum(a[i, :], 0.0)
    >>> import numpy as np
    >>> a = np.linspace(-1, 1, 128 * 64, dtype=np.float32).reshape(128, 64)
    >>> b = np.zeros_like(a)
    >>> tx.build(relu.module).kernels["relu"].simulate(a, b)
    >>> bool((b == np.maximum(a, 0)).all())
    True
    """

    if threads is _MISSING:
        raise BuildError("expected the threads of a block, @tx.jit(threads=128), found none")
    given: list[tuple[str, Any, type]] = [("options", options, str), ("attributes", attributes or {}, dict)]
    for what, value, kind in given:
        if not isinstance(value, kind):
            raise BuildError(f"expected {what} of type {kind.__name__}, found {value!r}")

    @hiding_frames
    def make(function: Callable[..., None]) -> Kernel:
        _check_function(function, "@tx.jit(...)")
        clauses = {"target": target, "grid": grid, "cluster": cluster, **others}
        return Kernel(cast(FunctionType, function), types, clauses, threads, name, attributes or {}, options, salt)

    return make


def _check_function(function: object, where: str) -> None:
    if not isinstance(function, FunctionType):
        raise BuildError(f"expected a function of Python below {where}, found {function!r}")


def fn(function: FunctionT) -> FunctionT:
    """Makes control flow of a helper that kernels call that of the kernel, as in the kernel's own function.

    >>> import tirx as tx
    >>> @tx.fn
    ... def wrapped(i: tx.Scalar, n: tx.Scalar) -> tx.Scalar:
    ...     if i >= n:
    ...         i = i - n
    ...     return i
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     a[wrapped(tx.block_id("x"), tx.grid_dim("x"))] = 1.0
    >>> "scf.if" in str(kernel.module)
    True
    """
    _check_function(function, "@tx.fn")
    return cast(FunctionT, rewritten(cast(FunctionType, function), control))
