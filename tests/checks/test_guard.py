"""An answer that lets the library do the exercise is refused, and the guard that notices it leaves nothing behind."""

import functools
import sys
import types

import numpy as np
import pytest
import scipy.special
import torch

from course_lib.checks.cases import Given, call, case, many, read, script
from course_lib.checks.perform import GUARDED_CALLS, Guard

TOOLS = "def exponential(x):\n    return 2.7 ** x\n"
TRIAL = """
from course_lib.trial_tools import exponential

def softmax(x):
    return [exponential(part) for part in x]

def apply(f, x):
    return f(x)

class Cache:
    def __init__(self):
        self.total = 0

    def add(self, n):
        self.total += exponential(0) * n
        return self.total
"""
X = [0, 0]
ONES = case("ones", (X,), expect=[1, 1])


@pytest.fixture
def library(monkeypatch):
    """A module of the library, which calls another one of it."""
    for name, code in (("trial_tools", TOOLS), ("trial", TRIAL)):
        module = types.ModuleType(f"course_lib.{name}")
        exec(code, module.__dict__)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return sys.modules["course_lib.trial"]


def answers(library, cell):
    names = cell(
        """
        import functools
        from course_lib.trial import softmax as smooth

        def through_its_module(x): return trial.softmax(x)
        def through_an_alias(x): return smooth(x)
        def inside_a_comprehension(x): return [part for part in smooth(x)]
        def imported_inside(x):
            from course_lib.trial import softmax
            return softmax(x)
        through_a_lambda = lambda x: smooth(x)
        through_partial = functools.partial(smooth)
        def through_map(x): return list(map(smooth, [x]))[0]
        def through_a_helper(x): return through_an_alias(x)
        def after_all_else_fails(x):
            try: return smooth(x)
            finally: pass
        """,
        trial=library,
    )
    found = {name: f for name, f in names.items() if callable(f) and name != "smooth" and not name.startswith("_")}
    return {"the function itself": library.softmax, **found}


def test_a_library_function_is_refused_however_it_is_reached(judged, library, cell):
    found = answers(library, cell)
    assert len(found) >= 10
    for name, answer in found.items():
        text = judged(ONES, answer).difference.text
        assert text == "calls course_lib.trial.softmax, which this exercise asks you to write yourself", name


def test_what_the_lab_provides_is_allowed_and_so_is_what_that_calls_itself(judged, library, cell):
    for allowed in ("course_lib.trial", "course_lib.trial.softmax", "course_lib"):
        for name, answer in answers(library, cell).items():
            assert judged(ONES, answer, provides=(allowed,)).passed, name


def test_a_name_that_only_begins_like_a_provided_one_is_not_provided(judged, library):
    for other in ("course_lib.tri", "course_lib.trial.soft", "course_lib.trial_tools", "course_lib.trial.softmax.more"):
        assert not judged(ONES, library.softmax, provides=(other,)).passed, other


def test_a_function_inside_a_provided_one_is_still_refused_when_called_itself(judged, library, cell):
    answer = cell(
        "def f(x): return [tools.exponential(part) for part in x]", tools=sys.modules["course_lib.trial_tools"]
    )["f"]
    assert "trial_tools.exponential" in judged(ONES, answer, provides=("course_lib.trial",)).difference.text


def test_a_class_of_the_library_is_refused_at_its_making_and_at_its_methods(judged, library, cell):
    f = cell("def f(x):\n    cache = trial.Cache()\n    return [cache.add(1), 1]", trial=library)["f"]
    assert "course_lib.trial.Cache" in judged(ONES, f).difference.text
    assert judged(ONES, f, provides=("course_lib.trial.Cache",)).passed
    steps = [call(0, keep="c"), call("c", 1, method="add", expect=1)]
    assert not judged(script("handle", *steps), library.Cache).passed
    assert judged(script("handle", *steps), library.Cache, provides=("course_lib.trial",)).passed


def test_a_dataclass_of_the_library_may_be_made_where_it_is_provided(judged, library, cell):
    exec("from dataclasses import dataclass\n@dataclass\nclass Shape:\n    n: int\n", library.__dict__)
    f = cell("def f(x): return [trial.Shape(1).n, 1]", trial=library)["f"]
    assert judged(ONES, f, provides=("course_lib.trial.Shape",)).passed
    assert not judged(ONES, f).passed


def test_an_answer_called_back_by_the_library_is_looked_at_like_any_other(judged, library, cell):
    names = cell("def f(x): return trial.apply(own, x)\ndef own(x): return trial.softmax(x)", trial=library)
    assert "trial.softmax" in judged(ONES, names["f"], provides=("course_lib.trial.apply",)).difference.text


def test_a_property_of_an_answer_is_looked_at_too(judged, library, cell):
    made = cell("class C:\n    @property\n    def p(self): return trial.softmax([0, 0])", trial=library)["C"]
    steps = [call(0, keep="c"), read("c", "p", expect=[1, 1])]
    assert not judged(script("property", *steps), made).passed


def test_a_function_that_the_check_gives_may_call_the_library(judged, library, cell):
    given = Given("f", "def f(x):\n    from course_lib.trial import softmax\n    return softmax(x)")
    ask = case("given", (given, X), expect=[1, 1])
    assert judged(ask, cell("def g(f, x): return f(x)")["g"]).passed


def test_importing_the_library_is_no_call_of_it(judged, library, cell):
    f = cell("def f(x):\n    import course_lib.trial\n    import course_lib.checks.draw\n    return [1, 1]")["f"]
    assert judged(ONES, f).passed


def test_importing_a_module_that_makes_dataclasses_is_no_call_of_it(judged, cell, monkeypatch):
    monkeypatch.delitem(sys.modules, "course_lib.house.syllabus", raising=False)
    f = cell("def f(x):\n    import course_lib.house.syllabus\n    return [1, 1]")["f"]
    assert judged(ONES, f).passed


def test_the_real_library_is_refused_like_the_trial_one(judged, cell):
    f = cell("import course_lib.arrays\ndef f(x): return course_lib.arrays.softmax(x)")["f"]
    ask = case("softmax", (np.zeros(2),), expect=np.full(2, 0.5))
    assert "course_lib.arrays.softmax" in judged(ask, f).difference.text
    assert judged(ask, f, provides=("course_lib.arrays",)).passed


T, A = torch.zeros(2, 2), np.zeros((2, 2))
REFUSED = [
    ("torch.softmax", T, lambda x: torch.softmax(x, -1)),
    ("torch.softmax", T, functools.partial(torch.softmax, dim=-1)),
    ("torch.Tensor.softmax", T, lambda x: x.softmax(-1)),
    ("torch.Tensor.softmax", T, lambda x: torch.Tensor.softmax(x, -1)),
    ("torch.Tensor.softmax", T, lambda x: torch.nn.Parameter(x).softmax(-1).detach()),
    ("torch.nn.functional.softmax", T, lambda x: torch.nn.functional.softmax(x, dim=-1)),
    ("torch.nn.functional.softmax", T, torch.nn.Softmax(dim=-1)),
    (
        "torch.nn.functional.scaled_dot_product_attention",
        T,
        lambda x: torch.nn.functional.scaled_dot_product_attention(x, x, x),
    ),
    ("scipy.special.softmax", A, lambda x: scipy.special.softmax(x, axis=-1)),
    ("scipy.special.softmax", A, scipy.special.softmax),
    ("scipy.special.expit", A, lambda x: scipy.special.expit(x)),
    ("numpy.einsum", A, lambda x: np.einsum("ij->ji", x)),
    ("numpy.cumsum", A, lambda x: np.cumsum(x)),
    ("numpy.sort", A, lambda x: np.sort(x)),
    ("numpy.searchsorted", A, lambda x: np.searchsorted(x[0], 1)),
    ("numpy.linalg.svd", A, lambda x: np.linalg.svd(x)[0]),
    ("numpy.ndarray.cumsum", A, lambda x: x.cumsum()),
    ("builtins.sorted", A, lambda x: sorted(x[0])),
    ("builtins.sorted", A, lambda x: sorted(x[0].tolist(), key=lambda number: -number)),
    ("collections.Counter", A, lambda x: __import__("collections").Counter(x[0])),
]


@pytest.mark.parametrize(("name", "x", "answer"), REFUSED, ids=[f"{i} {row[0]}" for i, row in enumerate(REFUSED)])
def test_a_function_that_is_refused_by_name_is_noticed(judged, name, x, answer):
    ask = case("c", (x,), expect="nothing can be this")
    text = judged(ask, answer, refuses=("numpy.no_such_function", name)).difference.text
    assert text == f"calls {name}, which this exercise asks you to write yourself"
    assert "asks you to write" not in judged(ask, answer, refuses=("scipy.special.logsumexp",)).difference.text


def test_what_was_refused_and_then_hidden_by_an_error_is_refused_still(judged):
    def f(x):
        torch.softmax(x, -1)
        raise ValueError

    assert (
        "calls torch.softmax"
        in judged(case("c", (T,), raises="ValueError"), f, refuses=("torch.softmax",)).difference.text
    )


def test_a_refused_name_that_nobody_imported_or_that_is_not_there_refuses_nothing(judged):
    refuses = ("no_such_module.softmax", "torch.no_such_function.deeper", "softmax", "")
    assert judged(ONES, lambda x: [1, 1], refuses=refuses).passed


def test_the_first_of_many_calls_are_looked_at(judged, library, cell):
    f = cell("def f(x): return trial.softmax([x, x])", trial=library)["f"]
    ask = many("m", [[0] * 20], expect=np.ones((20, 2)))
    assert "trial.softmax" in judged(ask, f).difference.text
    assert judged(ask, f, provides=("course_lib.trial",)).passed
    assert GUARDED_CALLS >= 1


def test_the_guard_is_only_there_while_an_answer_runs(judged):
    seen = []

    def f(*x):
        seen.append(sys.getprofile())
        return 1

    def raises(x):
        seen.append(sys.getprofile())
        raise ValueError

    def unhooks(x):
        sys.setprofile(None)
        return 1

    def previous(*event):
        return None

    for before in (None, previous):
        sys.setprofile(before)
        try:
            for answer in (f, raises, unhooks, None):
                judged(case("c", (1,), expect=1), answer, refuses=("torch.softmax",))
                assert sys.getprofile() is before
            judged(many("m", [[1, 2, 3, 4, 5]], expect=np.ones(5)), f)
            assert sys.getprofile() is before
        finally:
            sys.setprofile(None)
    one_round = [True, True, *[True] * GUARDED_CALLS, *[False] * (5 - GUARDED_CALLS)]
    assert [isinstance(getattr(hook, "__self__", None), Guard) for hook in seen] == 2 * one_round
