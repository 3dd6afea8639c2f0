"""House rules: what holds for the repository as a whole."""

import ast
import importlib
import inspect
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import millet

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def id_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=id_of)
def test_a_source_file_says_where_it_stands_and_prints_nothing(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a module begins with a docstring"
    calls = [
        node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    assert "print" not in calls
    assert not re.search(r"\b(TODO|FIXME|XXX)\b", path.read_text())


def test_every_public_name_is_there_and_documented():
    for name in millet.__all__:
        thing = getattr(millet, name)
        if name != "__version__":
            assert inspect.getdoc(thing), name
    assert set(millet.__all__) <= set(dir(millet))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = millet.nonsense


@pytest.mark.parametrize("package", millet.PACKAGES)
def test_packages_export_what_they_say(package):
    module = importlib.import_module(f"millet.{package}")
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)) or not callable(getattr(module, name)), f"{package}.{name}"


def test_the_page_of_all_public_names_is_up_to_date():
    written = runpy.run_path(str(ROOT / "docs" / "scripts" / "api.py"))["page"]()
    assert (ROOT / "docs" / "api.md").read_text() == written, "run docs/scripts/api.py"


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{id_of(page)} links to {target}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text() and "decisions" not in page.parts], ids=id_of
)
def test_python_on_pages_runs(page, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    code = "\n".join(blocks).replace("n_epochs=20", "n_epochs=1")
    small = [
        millet.make_web_traffic(3, sampling_interval=60, random_state=seed, split=split)
        for seed, split in ((0, "train"), (1, "test"))
    ]
    monkeypatch.setattr("millet.datasets.locate.load_dataset", lambda *_: tuple(small))
    monkeypatch.chdir(tmp_path)
    Path("GunPoint_TRAIN.tsv").write_text("1\t0.5\t0.25\n2\t1.5\t2.5\n")
    exec(compile(code, str(page), "exec"), {"__name__": "page"})
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=id_of)
def test_examples_run(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_versions_agree():
    assert f"version: {millet.__version__}" in (ROOT / "CITATION.cff").read_text()


def test_every_dependency_is_pinned_for_the_tests():
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["dev"]]
    names = {re.split(r"[\[><=]", requirement)[0].lower() for requirement in wanted} - {"millet-tsc"}
    assert names <= pinned, names - pinned


def test_no_tracked_file_names_a_machine():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        pytest.skip("not a git checkout")
    suspicious = re.compile(r"/(?:home|root|Users)/\w+")
    for name in listed:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".cff"} and path != Path(__file__) and path.exists():
            assert not suspicious.search(path.read_text(errors="ignore")), name


@pytest.mark.parametrize("experiment", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda file: file.stem)
def test_every_experiment_is_on_the_page_about_benchmarks(experiment):
    assert f"`{experiment.stem}`" in (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")
