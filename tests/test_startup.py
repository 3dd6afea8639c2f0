"""The command answers at once: nothing heavy is imported before it is needed."""

import subprocess
import sys

import pytest

HEAVY = {"torch", "pandas", "scipy", "sklearn", "matplotlib", "lightning_fabric"}
REPORT = "; import sys; print('\\n', *sys.modules, file=sys.stderr)"

LIGHT = {
    "import millet": "import millet, millet.errors; dir(millet)",
    "millet --help": "from millet.cli import cli; cli.main(['--help'], standalone_mode=False)",
    "millet datasets --help": "from millet.cli import cli; cli.main(['datasets', '--help'], standalone_mode=False)",
    "millet datasets": "from millet.cli import cli; cli.main(['datasets', '--all'], standalone_mode=False)",
    "load_file": "import millet; millet.load_file",
}


@pytest.mark.parametrize("what", LIGHT)
def test_nothing_heavy_is_imported(what, tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", LIGHT[what] + REPORT], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = {name.partition(".")[0] for name in result.stderr.split()}
    assert "millet" in loaded
    assert loaded & HEAVY == set()


def test_packages_are_there_without_an_import_of_their_own():
    code = "import millet; assert all(hasattr(millet, name) for name in dir(millet)); print(millet.plots.__name__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "millet.plots\n"
