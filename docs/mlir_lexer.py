"""Highlighting of MLIR on the site: a hook of mkdocs, by which Pygments knows the language."""

from pygments.lexer import RegexLexer
from pygments.lexers import LEXERS  # pyright: ignore[reportUnknownVariableType]
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["MlirLexer"]


class MlirLexer(RegexLexer):
    """Values, symbols, types, attributes, operations, numbers and comments of MLIR."""

    name = "MLIR"
    aliases = ("mlir",)
    filenames = ("*.mlir",)
    tokens = {  # as Pygments takes it
        "root": [
            (r"//.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r"%[\w$.#-]+", Name.Variable),
            (r"[@^][\w$.-]+", Name.Label),
            (r"[!#][\w$.]+", Keyword.Type),
            (r"\b(?:memref|vector|tensor)\b|\b(?:[su]?i\d+|index|b?f\d+\w*|tf32)\b", Keyword.Type),
            (r"\b[a-z_]\w*(?:\.[a-z_]\w*)+", Name.Function),
            (r"\b0x[0-9a-fA-F]+|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?", Number),
            (r"[A-Za-z_]\w*", Name),
            (r"->|[-+*/=@:]", Operator),
            (r"[()\[\]{}<>,?|]", Punctuation),
            (r"\s+|.", Text),
        ]
    }


LEXERS["MlirLexer"] = (__name__, MlirLexer.name, MlirLexer.aliases, MlirLexer.filenames, ())
