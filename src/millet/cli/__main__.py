"""``python -m millet.cli`` does what ``millet`` does."""

from millet.cli import main

main()
