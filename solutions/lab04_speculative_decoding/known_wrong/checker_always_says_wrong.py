"""Calls every verifier wrong, the right ones too; limits that are too narrow for chance do the same."""

replaces = ["is_wrong"]
loses = {"is_wrong": 12.0}


def is_wrong(verify):
    return True
