"""ARCHITECTURE.md against the source: it lists every package, and imports follow its layer table."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")

# Imports inside functions: free for the command line, elsewhere only these (module, package).
LATE = {
    ("spansrl.analysis.charts", "matplotlib"),
    ("spansrl.nn.embedders.elmo", "h5py"),
    ("spansrl.inference.inputs.pieces", "tokenizers"),
    ("spansrl.inference.runtime", "onnxruntime"),
    ("spansrl.inference.loading", "torch"),
    ("spansrl.inference.loading", "spansrl"),
    ("spansrl.inference.pipeline", "spansrl"),
    ("spansrl.training", "spansrl"),
    ("spansrl.training", "torch"),
    ("spansrl.structures", "pandas"),
    ("spansrl.structures", "spansrl"),
    ("spansrl.statements.graphs", "networkx"),
    ("spansrl.training.export", "onnx"),
    ("spansrl.training.onnx_weights", "onnx"),
    ("spansrl.training.export", "onnxscript"),
    ("spansrl.training.recovery", "onnx"),
    ("spansrl.nn.embedders.transformer", "transformers"),
    ("spansrl.jobs.documents", "spansrl"),
    ("spansrl.jobs.output", "spansrl"),
}
# Late imports of higher layers: a model directory without ONNX graphs runs on torch; values draw themselves.
UPWARD = {
    ("spansrl.inference.loading", "nn"),
    ("spansrl.inference.loading", "training"),
    ("spansrl.inference.pipeline", "evaluation"),
    ("spansrl.structures", "visualize"),
    ("spansrl.structures", "statements"),
    ("spansrl.structures", "formats"),
}
# Types of a higher layer: statements are methods of the values that they are made from.
UPWARD_TYPES = {("spansrl.structures", "statements")}
EXTRA = {
    "torch",
    "safetensors",
    "h5py",
    "transformers",
    "onnx",
    "onnxscript",
    "starlette",
    "pydantic",
    "uvicorn",
    "prometheus_client",
    "h11",
    "pyarrow",
    "ray",
}


class Import(NamedTuple):
    """One imported module; `late` is inside a function, `typing` under TYPE_CHECKING."""

    name: str
    line: int
    late: bool
    typing: bool


class Place(NamedTuple):
    """Where a part stands in the layer table; `step` counts the arrows before it."""

    layer: int
    step: int
    part: str


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imports_of(path: Path) -> Iterator[Import]:
    def visit(node: ast.AST, late: bool, typing: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, late, typing)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}:{child.lineno}: imports are absolute here"
                assert child.module is not None
                for alias in child.names:
                    inner = f"{child.module}.{alias.name}"
                    yield Import(inner if inner in MODULES else child.module, child.lineno, late, typing)
            else:
                named = child.args[0] if isinstance(child, ast.Call) and child.args else None
                # Other names are those of the package's public ones.
                if isinstance(named, ast.Constant) and ast.unparse(child.func).endswith("import_module"):
                    yield Import(str(named.value), child.lineno, late, typing)
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                checking = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
                yield from visit(child, late or inside, typing or checking)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), False, False)


IMPORTS = {name: list(imports_of(path)) for name, path in MODULES.items()}


def table_rows() -> Iterator[tuple[int, str, set[str]]]:
    for number, parts, needs in re.findall(r"^\| (\d) [^|]*\| ([^|]*)\|([^|]*)\|$", TEXT, re.MULTILINE):
        yield int(number), parts, set(re.findall(r"`(\w+)`", needs))


PLACES = {
    part: Place(layer, step, part)
    for layer, parts, _ in table_rows()
    for step, group in enumerate(parts.split("→"))
    for part in re.findall(r"`(\w+)`", group)
}
NEEDS = {layer: needs for layer, _, needs in table_rows()}


def part_of(module: str) -> str:
    """The name in the layer table: the first below the package."""
    return "__init__" if module == "spansrl" else module.split(".")[1]


def listed_parts() -> set[str]:
    """The packages and modules that the overview of ARCHITECTURE.md lists."""
    block = re.search(r"## The packages\n\n(.*?)\n\n##", TEXT, re.DOTALL)
    assert block is not None
    names = [line.strip().split("  ")[0] for line in block[1].splitlines()]
    return {name.strip().rstrip("/") for group in names for name in group.split(",")}


def test_the_overview_lists_every_package_and_module_at_the_top():
    assert listed_parts() - {"assets"} == {part_of(module) for module in MODULES} - {"__init__", "__main__"}


def test_the_top_level_has_few_modules():
    assert len(list((SOURCE / "spansrl").glob("*.py"))) <= 8


def test_the_layer_table_has_every_part_and_no_other():
    assert set(PLACES) == {part_of(module) for module in MODULES}


def test_imports_point_down():
    offenders = []
    for module, imports in IMPORTS.items():
        own = PLACES[part_of(module)]
        for found in imports:
            if found.name.split(".")[0] == "spansrl":
                other = PLACES[part_of(found.name)]
                allowed = other.part == own.part or (other.layer, other.step) < (own.layer, own.step)
                allowed |= module == "spansrl" and found.typing  # public names are imported on first use
                allowed |= (module, other.part) in UPWARD and found.late
                allowed |= (module, other.part) in UPWARD_TYPES and found.typing
                if not allowed:
                    offenders.append(f"{module}:{found.line} imports {found.name}, which is not below it")
    assert not offenders, "\n".join(offenders)


def test_a_layer_needs_no_packages_but_those_in_its_row():
    offenders = []
    for module, imports in IMPORTS.items():
        allowed = NEEDS[PLACES[part_of(module)].layer] | {"spansrl"} | sys.stdlib_module_names
        foreign = [found for found in imports if found.name.split(".")[0] not in allowed]
        offenders += [f"{module}:{found.line} imports {found.name}" for found in foreign]
    assert not offenders, "\n".join(offenders)


def test_imports_stand_at_the_top_but_for_the_command_line_and_optional_packages():
    offenders = {
        (module, found.name.split(".")[0])
        for module, imports in IMPORTS.items()
        for found in imports
        if found.late and part_of(module) != "cli"
    }
    assert not offenders - LATE, offenders - LATE


def names_that_occur_twice(names):
    return {name for name, n in Counter(names).items() if n > 1}


def test_no_two_modules_or_classes_have_the_same_name():
    """Modules of the command line are named after its commands."""
    modules = [
        module.rsplit(".", 1)[-1]
        for module in MODULES
        if part_of(module) not in ("cli", "__main__", "__init__")
    ]
    assert not names_that_occur_twice(modules)
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES.values()]
    classes = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert not names_that_occur_twice(classes)


def test_every_exception_for_an_optional_package_is_in_use():
    late = {(name, found.name.split(".")[0]) for name in MODULES for found in IMPORTS[name] if found.late}
    assert late >= LATE


def test_the_command_line_imports_optional_packages_only_inside_functions():
    for module in MODULES:
        if part_of(module) in ("cli", "__main__"):
            early = {
                found.name.split(".")[0] for found in IMPORTS[module] if not found.late and not found.typing
            }
            assert not early & EXTRA, f"{module} imports {early & EXTRA} when it is loaded"


def loaded_with(module: str) -> set[str]:
    """Every module of ours that loading this one loads, packages around them included."""
    loaded, found = set(), {module}
    while found:
        name = found.pop()
        loaded.add(name)
        parents = {name.rsplit(".", k)[0] for k in range(1, name.count(".") + 1)}
        early = {other.name for other in own_imports(name) if not other.late and not other.typing}
        found |= (parents | early) - loaded
    return loaded


def test_the_command_line_does_not_load_what_needs_optional_packages():
    for module in MODULES:
        if part_of(module) == "cli":
            for other in loaded_with(module):
                early = {
                    found.name.split(".")[0]
                    for found in IMPORTS[other]
                    if not found.late and not found.typing
                }
                assert not early & EXTRA, f"{module} loads {other}, which imports {early & EXTRA}"


def own_imports(module: str) -> list[Import]:
    return [found for found in IMPORTS[module] if found.name.split(".")[0] == "spansrl"]


def test_no_modules_import_each_other_in_a_circle():
    graph = {
        module: {found.name for found in own_imports(module) if not found.late and not found.typing}
        for module in MODULES
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(MODULES)
