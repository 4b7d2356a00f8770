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

    @property
    def rule(self) -> str:
        """The name of the rule that is broken: that of the notation for a mistake in a text."""
        return "layout" if self.position is None else "layout-notation"

    def __init__(self, message: str, position: int | None = None):
        super().__init__(message)
        self.position = position
