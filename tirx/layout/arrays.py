"""numpy, imported when something of it is first used.

To import it takes as long as a fifth of everything else that a short run of `tirx-opt` does. Modules that such runs
import have `np` and the types of arrays from here, and use them in functions and annotations only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    IntArray = NDArray[np.int64]
    BoolArray = NDArray[np.bool_]
else:

    class _Numpy:
        """Looks up each name of numpy once."""

        def __getattr__(self, name: str) -> object:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()
    ArrayLike = IntArray = BoolArray = object
    NDArray = list  # which takes a type in brackets, too

__all__ = ["ArrayLike", "BoolArray", "IntArray", "NDArray", "np"]
