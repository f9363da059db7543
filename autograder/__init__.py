"""Releases labs, runs what students hand in, judges it outside, and keeps the records."""

import sys

# jsonschema, which reads notebooks, builds 38 grammars as soon as this library is there, for a format that no notebook has:
# more work than grading five submissions. It does without when the library is not to be had.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
