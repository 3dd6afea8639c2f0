"""The command answers at once: nothing heavy is imported before it is needed."""

import subprocess
import sys
import time

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


@pytest.mark.parametrize("command", [["-c", "import millet"], ["-m", "millet.cli", "--help"]])
def test_it_answers_in_half_a_second(command):
    def seconds():
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], capture_output=True, check=True)
        return time.perf_counter() - start

    # The best of five: other programs may keep the machine busy.
    assert min(seconds() for _ in range(5)) < 0.5
