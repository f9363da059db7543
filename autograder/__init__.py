"""Releases, runs, judges, records and exports the labs."""
