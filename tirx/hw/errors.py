"""The error that every legality check raises."""

from __future__ import annotations

from typing import Self

from tirx.layout import ComposeLayout, TileLayout


class LegalityError(ValueError):
    """The hardware does not do what was asked for.

    The message says what was expected, what was found and, where one exists, the nearest legal choice.
    A layout that no descriptor reaches also carries the facts as attributes (None elsewhere):

    - `element`: logical coordinate (mn, k) of the first element, in row-major order, that does not fit;
    - `expected`: byte address, relative to the tile base, where the nearest descriptor reads that element;
    - `found`: byte address where the layout puts it (a half byte for 4-bit elements is `.5`);
    - `nearest`: the canonical layout that fits most elements (`tirx.smem.canonical_form.CanonicalLayoutError`);
    - `suggestion`: a legal layout of the whole operand, close to the one found, which the message ends with.

    `rule` is the name of the rule that is broken: one for each subclass, and one for each row of a table of rules
    (`tirx.hw.rules`), whose errors also carry `section` of the PTX ISA, and `fix`.

    A set of columns that no zero-column mask descriptor has carries `column`, the first one found that breaks the
    period.
    """

    rule: str | None = None
    operand: str | None = None
    """`A` or `B` where the layout of that operand of a product is what is wrong."""

    def __init_subclass__(cls, rule: str | None = None) -> None:
        super().__init_subclass__()
        cls.rule = rule or cls.rule

    def __init__(
        self,
        message: str,
        *,
        element: tuple[int, int] | None = None,
        expected: float | None = None,
        found: float | None = None,
        suggestion: TileLayout | ComposeLayout | None = None,
        column: int | None = None,
        rule: str | None = None,
        section: str | None = None,
        fix: str | None = None,
    ):
        super().__init__(message)
        self.element = element
        self.expected = expected
        self.found = found
        self.suggestion = suggestion
        self.column = column
        if rule is not None:
            self.rule = rule
        self.section = section
        self.fix = fix

    @property
    def nearest(self) -> object | None:
        """The nearest legal choice as a value; None unless the kind of error says what it is."""
        return None

    def reworded(self, message: str, suggestion: TileLayout | ComposeLayout | None = None) -> Self:
        """The same error with another message, and with another suggestion if one is given."""
        told = type(self).__new__(type(self), message)
        told.__dict__.update(self.__dict__)
        if suggestion is not None:
            told.suggestion = suggestion
        return told


def expect_steps(error: type[LegalityError], what: str, size: int, step: int, of: str = "") -> int:
    """The number of steps in a size. Raises `error`, with the nearest size, for one that is no number of steps."""
    if size < step or size % step:
        nearest = max(step, round(size / step) * step)
        raise error(f"{what} in steps of {step}{of}, found {size}; nearest is {nearest}")
    return size // step


# fmt: off
class ClippedViewError(LegalityError, rule="view-layout"): ...
class DescriptorError(LegalityError, rule="descriptor-field"): ...
class ElementError(LegalityError, rule="element-type-name"): ...
class MissingLayoutError(LegalityError, rule="stage-skipped"): ...
class OperandLayoutError(LegalityError, rule="operand-layout"): ...
class PartOffsetError(LegalityError, rule="part-of-tile"): ...
class ScaleFactorError(LegalityError, rule="scale-factors"): ...
class SparseMetadataError(LegalityError, rule="sparse-metadata"): ...
class TensorCellsError(LegalityError, rule="layout-not-injective"): ...
class TensorMapError(LegalityError, rule="tensor-map"): ...
class TensorMemoryError(LegalityError, rule="tensor-memory"): ...
class TensorProductError(LegalityError, rule="tcgen05-product"): ...
class ThreadCopyError(LegalityError, rule="thread-copy"): ...
class WarpgroupProductError(LegalityError, rule="wgmma-product"): ...
class ZeroColumnsError(LegalityError, rule="zero-columns"): ...
# fmt: on
