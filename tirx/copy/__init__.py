"""Copies: who moves which elements, in which accesses, through which banks, and at what cost."""

from tirx.copy.banks import AccessReport, BankLine, BankLines, analyse_access, bank_of, bank_table, conflict_degree

__all__ = [
    "AccessReport",
    "BankLine",
    "BankLines",
    "analyse_access",
    "bank_of",
    "bank_table",
    "conflict_degree",
]
