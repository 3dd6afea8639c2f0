"""``python -m millet``: the command line, where its script is not on the path."""

from millet.cli import main

if __name__ == "__main__":
    main()
