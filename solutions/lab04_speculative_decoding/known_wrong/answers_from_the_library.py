"""Calls the library's own functions, which are the answer."""

replaces = ["acceptance_rate", "residual"]
loses = {"acceptance_rate": 4.0, "residual": 6.0, "verify": 10.4, "speculative_decode": 4.0}


def acceptance_rate(p, q):
    from course_lib import speculation

    return speculation.acceptance_rate(p, q)


def residual(p, q):
    from course_lib import speculation

    return speculation.residual(p, q)
