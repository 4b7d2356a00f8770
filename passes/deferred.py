"""Steps of the pipeline that are imported when a kernel needs them."""

from __future__ import annotations

from functools import cached_property
from pkgutil import resolve_name

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from tirx.dialects.xdsl_private import has_inside
from tirx.passes.registry import ACTS_ON, pass_path
from tirx.values import dataclass


class _ActsOn(dict[type[Operation], bool]):
    """Classes of operations -> True if a pass acts on them, by the beginnings of their names."""

    def __init__(self, names: tuple[str, ...]):
        super().__init__()
        self._names = names

    def __missing__(self, kind: type[Operation]) -> bool:
        self[kind] = found = kind.name.startswith(self._names)
        return found


@dataclass(frozen=True)
class DeferredPass(ModulePass):
    """A step of the pipeline that is imported and run if the module has an operation on which it acts."""

    step: ArgSpec

    def __post_init__(self):
        object.__setattr__(self, "name", self.step.name)

    def spec(self, *, include_default: bool = False) -> ArgSpec:
        """Returns the name and the options of the pass."""
        return self.step

    @cached_property
    def _acts_on(self) -> _ActsOn:
        return _ActsOn(ACTS_ON[str(self.step)])

    @cached_property
    def _pass(self) -> ModulePass:
        kind: type[ModulePass] = resolve_name(pass_path(self.name))
        return kind.from_spec(self.step)

    def needed(self, module: ModuleOp) -> ModulePass | None:
        """Returns the pass, imported; None if it would do nothing."""
        return self._pass if has_inside(module, self._acts_on) else None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if (running := self.needed(op)) is not None:
            running.apply(ctx, op)


def deferred(step: ArgSpec) -> ModulePass | None:
    """Returns the pass of a step of the pipeline, to be imported later; None where any module may need it."""
    return DeferredPass(step) if str(step) in ACTS_ON else None
