"""Kernels of products of open sizes that are compiled when launches need them."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import ModuleOp

    from tirx.dialects.formula import LaunchSizes
    from tirx.passes.match.variant_choice import OpenProduct


_MOST = 4096
"""Sizes of which a program remembers the kernel; then it forgets all of them, but no kernels."""

_Launch = tuple[object, ...]
"""An entry, the place of its variant, and the shapes of arguments."""


_Kernel = TypeVar("_Kernel")


class LaunchTiles(Generic[_Kernel]):
    """The kernels beside the variants of a program, one for each tile that launches have needed.

    `compiled` makes the kernel of a name of a module, for `target` and with `options`. Which kernel a launch takes
    depends on its sizes only, not on the launches before it.
    """

    def __init__(
        self,
        source: ModuleOp | str,
        target: str | None,
        options: str,
        compiled: Callable[[str, ModuleOp, str | None, str], _Kernel],
    ):
        self._source, self._target, self._options, self._make = source, target, options, compiled
        self.products: dict[str, OpenProduct | None] = {}
        """Products of the entries whose launches were rated, None for one that is none."""
        self.kernels: dict[tuple[str, int], _Kernel] = {}
        """Compiled kernels by entry and number of the candidate."""
        self._taken: dict[_Launch, _Kernel | None] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[LaunchTiles[_Kernel]], tuple[Any, ...]]:
        """Returns what it was made of, the source as text; kernels are compiled again."""
        return LaunchTiles, (str(self._source), self._target, self._options, self._make)

    def kernel(self, entry: str, place: int, sizes: LaunchSizes) -> _Kernel | None:
        """The kernel for sizes of which variant number `place` of an entry takes more than 3 % longer, by the model.

        None where it does not, and for other kernels than products. Compiles it where no launch has needed it before.
        Raises LocatedError where that fails.
        """
        key = entry, place, *((*shape,) for shape in sizes.shapes)
        if key in (known := self._taken):
            return known[key]
        with self._lock:
            if len(self._taken) >= _MOST:
                self._taken = {}
            found = self._taken[key] = self._kernel(entry, place, sizes)
            return found

    def _kernel(self, entry: str, place: int, sizes: LaunchSizes) -> _Kernel | None:
        if entry not in self.products:
            self.products[entry] = self._product(entry)
        product = self.products[entry]
        if product is None:
            return None
        m, n, k = (sizes.evaluate(each) for each in product.sizes)
        tile = product.faster(place, (m, n, k)) if min(m, n, k) > 0 else None
        if tile is not None and (entry, tile) not in self.kernels:
            self.kernels[entry, tile] = self._compiled(entry, f"sizes={m}x{n}x{k}")
        return None if tile is None else self.kernels[entry, tile]

    def _product(self, entry: str) -> OpenProduct | None:
        from xdsl.dialects.func import FuncOp
        from xdsl.utils.arg_spec import parse_spec

        from tirx.passes.pipeline import lower_to_ptx_pipeline
        from tirx.passes.products.tirx_tile_linalg import TirxTileLinalgPass

        front = TirxTileLinalgPass.from_spec(parse_spec(lower_to_ptx_pipeline(self._target, self._options)[0]))
        for op in self._module().walk():
            if isinstance(op, FuncOp) and op.sym_name.data == entry:
                return front.open_product(op)
        return None

    def _compiled(self, entry: str, words: str) -> _Kernel:
        """The kernel of one function, with another option."""
        from xdsl.dialects.func import FuncOp

        from tirx.diagnostics import diagnostic_handler
        from tirx.dialects.tirx import KernelOp

        module = self._module()
        for op in list(module.walk()):
            if isinstance(op, FuncOp | KernelOp) and op.sym_name.data != entry:
                op.detach()
                op.erase()
        with diagnostic_handler(lambda _: None):  # `build` has said it all
            return self._make(entry, module, self._target, f"{self._options} {words}".lstrip())

    def _module(self) -> ModuleOp:
        from tirx.text.parsing import parse_located
        from tirx.universe import new_context

        given = self._source
        return parse_located(new_context(), given, "<string>") if isinstance(given, str) else given.clone()
