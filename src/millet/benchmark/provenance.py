"""Provenance: which code on which machine a row comes from."""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from millet.version import __version__


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that affect the numbers."""
    return {
        "millet": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
    }


@functools.cache
def commit() -> str | None:
    """Return the commit of the running checkout, with "+" if it was changed; None for an installed package."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(here), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # A package that is installed inside some other checkout is not part of it.
        git("ls-files", "--error-unmatch", "../version.py")
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--", "..") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def machine() -> dict[str, Any]:
    """Return what affects speed: processor, cores, memory, threads, GPU. No names."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "n_cores": os.cpu_count(),
        "memory_gb": _memory(),
        "n_threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


@functools.cache
def _processor() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor()


@functools.cache
def _memory() -> float | None:
    """Return the memory of the machine; None where the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3, 1)
    except (AttributeError, OSError, ValueError):
        return None


class PeakMemory:
    """The highest resident memory of this process since `start`, in MiB.

    Where the system can't forget an earlier peak (anything but Linux), it is that of the process's whole life.
    """

    @staticmethod
    def start() -> None:
        """Forget earlier peaks."""
        try:
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        except OSError:
            return

    @staticmethod
    def read() -> float | None:
        """Return the peak; None where the system does not say."""
        try:
            found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
        except OSError:
            found = None
        if found:
            return round(int(found[1]) / 1024, 1)
        try:
            import resource
        except ImportError:  # on Windows
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)
