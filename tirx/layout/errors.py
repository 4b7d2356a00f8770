"""The one exception of the layout algebra."""

from __future__ import annotations


class LayoutError(ValueError):
    """A layout, a coordinate or a layout text is not legal, or an operation has no exact answer.

    ``position`` is the character offset of the mistake in the text that was parsed, or None when the error
    does not come from a text.

    >>> from tirx.layout import LayoutError, TileLayout
    >>> try:
    ...     TileLayout("S[8 : 1@lane]")
    ... except LayoutError as error:
    ...     print(error.position, str(error)[:19])
    8 unknown axis 'lane'
    """

    position: int | None

    def __init__(self, message: str, position: int | None = None):
        super().__init__(message)
        self.position = position
