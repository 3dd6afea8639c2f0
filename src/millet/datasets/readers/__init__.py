"""Readers: one file in, its `Contents` out; one module per format or family.

In:  a path, plain or gzip-compressed.
Out: `millet.datasets.readers.contents.Contents`, which `millet.datasets.files` turns into a `Dataset`.
"""
