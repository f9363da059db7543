"""Calls no verifier wrong; limits that are too wide do the same."""

replaces = ["is_wrong"]
loses = {"is_wrong": 12.0}


def is_wrong(verify):
    return False
