"""Copies: who moves which elements, in which accesses, through which banks, and at what cost."""

from tirx.copy.banks import (
    AccessReport,
    BankLine,
    BankLines,
    analyse_access,
    analyse_ldmatrix,
    bank_of,
    bank_table,
    banks_of,
    conflict_degree,
)

__all__ = [
    "AccessReport",
    "BankLine",
    "BankLines",
    "analyse_access",
    "analyse_ldmatrix",
    "bank_of",
    "bank_table",
    "banks_of",
    "conflict_degree",
]
