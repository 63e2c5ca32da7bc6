"""Benchmarks of the server beside a bare HTTP loop that does the same work, in the same run.

`python -m benchmarks [NAME ...] [--json FILE]` from the root of the repository. What the figures mean
and what was made of them: docs/performance.md.
"""
