"""Every public name has a docstring with an example, and every example is run."""

from __future__ import annotations

import doctest
import inspect
import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import pytest
from unit.printed_signatures import every_module

import tirx
from tirx.dialects import get_all_dialects
from tirx.hw.targets import TARGETS
from tirx.passes import PASS_SUMMARIES

_MODULES = ("tirx", "tirx.builder", "tirx.embed", "tirx.layout", "tirx.sim")
"""Modules that others may rely on. Everything else may change in any release."""

_NAMES = [
    (module, name)
    for module in _MODULES
    for name in import_module(module).__all__
    if module != "tirx" or name not in tirx.builder.__all__
]


_INTERFACES = {"tirx": ("MemorySpace", "Reduced"), "ptx": ("Names", "PureInstruction")}
"""Classes beside operations, types and attributes that guests use, of each dialect whose classes they may rely on."""


def _classes() -> set[str]:
    """Classes that guests build operations of, as `tirx.dialects.tirx.MapOp`."""
    found: set[str] = set()
    for name, others in _INTERFACES.items():
        module, dialect = import_module(f"tirx.dialects.{name}"), get_all_dialects()[name]()
        classes = (*dialect.operations, *dialect.attributes, *(getattr(module, each) for each in others))
        assert all(getattr(module, each.__name__) is each for each in classes)
        found.update(f"class {module.__name__}.{each.__name__}" for each in classes)
    return found


def _surface() -> set[str]:
    """Names that a guest may rely on: public names and classes, and passes, targets and operations by name."""
    names = {f"{module}.{name}" for module in _MODULES for name in import_module(module).__all__} | _classes()
    operations = {f"operation {op.name}" for op in get_all_dialects()["tirx"]().operations}
    return names | operations | {f"pass {name}" for name in PASS_SUMMARIES} | {f"target {name}" for name in TARGETS}


def test_what_guests_rely_on_is_recorded() -> None:
    """A line that goes, goes by the rule of docs/embedding.md; a name that is new becomes a line."""
    lines = Path(__file__).with_name("public_names.txt").read_text().splitlines()
    assert lines == sorted({*lines})
    new, gone = _surface() - {*lines}, {*lines} - _surface()
    assert not new | gone, "\n".join(["lines of public_names.txt:", *sorted(new), "and not:", *sorted(gone)])


@pytest.fixture(autouse=True)
def _verify_once(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Leaves out the verification behind each pass, which the tests of passes do."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")


def _documented(value: object) -> bool:
    """Returns True for what has a docstring of its own: not for constants, aliases of types and element types."""
    return inspect.isclass(value) or inspect.isfunction(value)


def _examples(text: str, name: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(text, {}, name, None, 0)


@pytest.mark.parametrize(("module", "name"), _NAMES, ids=lambda part: str(part).removeprefix("tirx."))
def test_example(module: str, name: str) -> None:
    value = getattr(import_module(module), name)
    assert not name.startswith("_") or name == "__version__"
    if isinstance(value, ModuleType):
        assert value.__name__ in _MODULES
        return
    if not _documented(value):
        assert name in (import_module(module).__doc__ or ""), f"expected '{name}' in the docstring of {module}"
        return
    session = _examples(inspect.getdoc(value) or "", f"{module}.{name}")
    assert session.examples, f"expected an example in the docstring of {module}.{name}"
    failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session)
    assert failures.failed == 0


@pytest.mark.parametrize("module", _MODULES)
def test_examples_of_modules(module: str) -> None:
    session = _examples(import_module(module).__doc__ or "", module)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0


_HOOKS = {"get_irdl_definition", "parse", "print", "verify_"}
"""Methods that xDSL calls on operations and attributes, which it documents."""


def test_methods_are_documented() -> None:
    missing: list[str] = []
    for module, name in _NAMES:
        value = getattr(import_module(module), name)
        for method, found in vars(value).items() if inspect.isclass(value) else ():
            is_method = inspect.isfunction(found) or isinstance(found, property | classmethod | staticmethod)
            if is_method and not method.startswith("_") and method not in _HOOKS:
                if not inspect.getdoc(inspect.getattr_static(value, method)):
                    missing.append(f"{module}.{name}.{method}")
    assert not missing


_INDIRECT = re.compile(r'(?:\A|:\n) *"""\s*(?:What|How|Whether|Which|Those|That) .*')
"""The beginning of a docstring of a module, a class or a function that should be a noun or a verb."""


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    root = Path(tirx.__file__).parent
    found = [
        f"{path.relative_to(root)}: {match[0]}"
        for path in (*root.rglob("*.py"), *(root / "dialects").rglob("*.py"), *(root / "passes").rglob("*.py"))
        for match in _INDIRECT.finditer(path.read_text())
    ]
    assert not found


def test_public_modules_define_what_they_export() -> None:
    """Names of a module beside `__all__` come from elsewhere or start with an underscore."""
    for module in map(import_module, _MODULES):
        own = {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
        assert {name for name in own if not name.startswith("_")} <= set(module.__all__)


def test_exported_names_exist() -> None:
    missing = [
        f"{module.__name__}.{name}"
        for module in every_module()
        for name in getattr(module, "__all__", ())
        if not hasattr(module, name)
    ]
    assert missing == []


def test_the_package_shows_what_is_public() -> None:
    assert dir(tirx) == sorted(tirx.__all__)


def test_the_version() -> None:
    try:
        assert tirx.__version__ == version("tirx-compiler")
    except PackageNotFoundError:
        assert tirx.__version__ == "0+unknown"
    assert tirx.layout.TileLayout is import_module("tirx.layout").TileLayout
    with pytest.raises(AttributeError, match="module 'tirx' has no attribute 'nothing'"):
        _ = tirx.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
