"""The rules of the house: where files are, what they may import, what is packaged and pinned."""

import ast
import importlib.metadata
import itertools
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
#: Folder → package, as pyproject.toml maps them.
HOUSE = {"hdl": "nectar.hdl", "sim": "nectar.sim", "software": "nectar.software", "verification": "nectar.verification",
         "boards": "nectar.boards", "nectar": "nectar"}
NOT_OURS = {".git", ".venv", "build", "__pycache__", ".pytest_cache", ".hypothesis"}
#: Modules of numbers, which software, tests and documents read without the hardware library.
PLAIN = ("hdl/link/symbol.py", "hdl/link/code4b5b.py", "hdl/hub/commands.py", "hdl/hub/profile.py", "hdl/hub/monitor_map.py", "hdl/cab/addresses.py",
         "hdl/cab/fields.py", "hdl/cab/regions.py", "hdl/cab/vme/numbers.py", "hdl/cab/vme/registers.py")
MOST_LINES = 450


def _files():
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and not NOT_OURS & set(parts) and not any(part.endswith(".egg-info") for part in parts):
            yield path


def _modules(folder=None):
    return [path for path in _files() if path.suffix == ".py" and (folder is None or path.is_relative_to(ROOT / folder))]


def _name(path):
    return path.relative_to(ROOT).as_posix()


def _tree(path):
    return ast.parse(path.read_text(), _name(path))


def _imports(path):
    """Absolute names of the modules that a module imports, anywhere in it."""
    relative = path.relative_to(ROOT)
    package = HOUSE.get(relative.parts[0], relative.parts[0]).split(".") + list(relative.parts[1:-1])
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            base = ".".join(base + ([node.module] if node.module else []))
            yield base
            yield from (f"{base}.{item.name}" for item in node.names)


def _imported(path, *prefixes):
    """What ``path`` imports of the packages ``prefixes``."""
    return sorted({name for name in _imports(path) for prefix in prefixes if name == prefix or name.startswith(f"{prefix}.")})


def _components(path):
    """Class definitions in ``path`` that are hardware."""
    return [node for node in ast.walk(_tree(path)) if isinstance(node, ast.ClassDef)
            and any(ast.unparse(base) in ("wiring.Component", "Component") for base in node.bases)]


HARDWARE = [path for path in _modules("hdl") if _components(path)]


def _pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_there_is_hardware_to_look_at():
    assert len(HARDWARE) > 5


@pytest.mark.parametrize("path", HARDWARE, ids=_name)
def test_every_component_has_its_bench_at_the_mirrored_path(path):
    bench = ROOT / "verification" / path.relative_to(ROOT / "hdl").with_name(f"test_{path.name}")
    assert bench.is_file(), f"{_name(path)} needs a bench {_name(bench)}"
    assert "cocotb" in " ".join(_imports(bench)), f"{_name(bench)} simulates nothing"


@pytest.mark.parametrize("path", HARDWARE, ids=_name)
def test_every_component_says_what_its_members_and_its_timing_are(path):
    for component in _components(path):
        text = ast.get_docstring(component) or ""
        for heading in ("Members", "Timing"):
            assert heading in text, f"{_name(path)}: the docstring of {component.name} has no part {heading!r}"


@pytest.mark.parametrize("path", _modules("hdl"), ids=_name)
def test_hardware_uses_no_old_idiom_and_no_simulator(path):
    text = path.read_text()
    assert not _imported(path, "__future__"), "breaks components (docs/traps.md)"
    assert not _imported(path, "nectar.sim", "nectar.software", "nectar.verification", "nectar.cli", "cocotb", "amaranth.sim",
                         "amaranth.lib.coding", "amaranth.hdl.rec", "amaranth.hdl.Memory", "amaranth.hdl.Record")
    assert not re.search(r"\bRecord\(|\breset=|\bElaboratable\b|from amaranth import \*", text)


@pytest.mark.parametrize("name", PLAIN)
def test_numbers_of_the_specification_need_no_hardware_library(name):
    assert not _imported(ROOT / name, "amaranth", "nectar.hdl.verilog", "nectar.sim", "nectar.software")


@pytest.mark.parametrize("path", [path for path in _modules("software") if "backends" not in path.parts], ids=_name)
def test_software_sees_hardware_only_through_the_door(path):
    assert not _imported(path, "amaranth", "cocotb", "nectar.sim", "nectar.verification", "nectar.software.backends", "ctypes")
    for name in _imported(path, "nectar.hdl"):
        module = name.removeprefix("nectar.").replace(".", "/")
        assert any(plain.removesuffix(".py").startswith(module) or module.startswith(plain.removesuffix(".py"))
                   for plain in PLAIN), f"{_name(path)} imports {name}, which is hardware"


@pytest.mark.parametrize("path", _modules("sim"), ids=_name)
def test_the_simulator_knows_no_software(path):
    assert not _imported(path, "nectar.software", "nectar.verification", "nectar.cli", "cocotb")


@pytest.mark.parametrize("path", [path for path in [*_modules("examples"), *_modules("verification")]
                                  if path.parts[-2] == "examples" or path.name.startswith("test_")], ids=_name)
def test_tests_and_examples_import_as_a_user_would(path):
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level < 2, f"{_name(path)}:{node.lineno} imports from another folder relatively"
            assert node.level or node.module.split(".")[0] not in HOUSE.keys() - {"nectar"}, f"{_name(path)}:{node.lineno}"


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_every_module_opens_by_saying_what_it_is(path):
    assert ast.get_docstring(_tree(path)) or not path.read_text().strip(), f"{_name(path)} has no docstring"


def test_no_file_is_too_long():
    long = {_name(path): count for path in _files() if path.suffix in (".py", ".cpp", ".h", ".md")
            and (count := len(path.read_text().splitlines())) > MOST_LINES}
    assert not long


def test_no_file_names_a_place_on_one_machine():
    place = re.compile(r"/(?:work|home|root|Users)/\w")
    found = [f"{_name(path)}:{number}: {line.strip()}" for path in _files()
             for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1) if place.search(line)]
    assert not found


def test_every_package_is_installed():
    settings = _pyproject()["tool"]["setuptools"]
    folders = {package: folder for folder, package in HOUSE.items()}
    assert {package: folder for package, folder in settings["package-dir"].items() if package != "nectar.cli"} == folders
    needed = set()
    for path in _modules():
        parts = path.relative_to(ROOT).parts
        tests = re.match(r"test_|conftest", path.name) or path.name == "__init__.py" and len(parts) > 2
        if parts[0] in HOUSE and not tests:
            needed.add(".".join([HOUSE[parts[0]], *parts[1:-1]]))
    assert needed <= set(settings["packages"])
    for package in settings["packages"]:
        top = max((name for name in folders if f"{package}.".startswith(f"{name}.")), key=len)
        assert ROOT.joinpath(folders[top], *package.removeprefix(top).split("."), "__init__.py").is_file(), package


def test_every_data_file_is_installed():
    data = _pyproject()["tool"]["setuptools"]["package-data"]
    for folder, package in HOUSE.items():
        covered = {path for pattern in data.get(package, ()) for path in (ROOT / folder).glob(pattern)}
        for path in _files():
            if folder != "verification" and path.is_relative_to(ROOT / folder) and path.suffix != ".py":
                assert path in covered, f"{_name(path)} is not in package-data of {package}"


def _canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_installed_is_pinned():
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M))
    pins = {_canonical(name): version for name, version in pins.items()}
    for item in importlib.metadata.distributions():
        name = _canonical(item.name)
        if name not in ("nectar", "pip"):
            assert pins.get(name) == item.version, f"{item.name} {item.version} is not what constraints.txt pins"


def test_every_dependency_is_pinned_and_has_its_reason_beside_it():
    pins = (ROOT / "constraints.txt").read_text().lower()
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    project = _pyproject()["project"]
    for requirement in [*project["dependencies"], *itertools.chain(*project["optional-dependencies"].values())]:
        line = next(line for line in lines if f'"{requirement}"' in line)
        assert re.search(r"# \w", line), f"{requirement}: no reason"
        assert f"{re.match(r'[A-Za-z0-9_-]+', requirement)[0]}==".lower() in pins


def test_make_targets_are_phony_and_each_is_told_of():
    makefile = (ROOT / "Makefile").read_text()
    phony = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    targets = set(re.findall(r"^([\w-]+):", makefile, re.M))
    assert phony == targets
    readme = (ROOT / "README.md").read_text()
    for target in targets:
        assert f"make {target}" in readme, f"README.md does not tell of 'make {target}'"
