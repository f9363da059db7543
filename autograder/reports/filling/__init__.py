"""Sheets for platforms: read, each student's row found, filled in, and written so that no cell becomes a formula."""
