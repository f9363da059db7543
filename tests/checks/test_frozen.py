"""The published cases judge as the author's do, and give nothing else away."""

import copy
import json

import numpy as np
import pytest
import torch

from course_lib.checks import frozen
from course_lib.checks.cases import (
    Between,
    Bound,
    Close,
    Given,
    Register,
    call,
    case,
    many,
    put,
    read,
    rounding,
    script,
    typed,
)
from course_lib.checks.definition import Lab, Mistake
from course_lib.checks.judging import judge
from course_lib.checks.perform import ask_here

SECRETS = ("918273", "names the ragged tail", "gives its cost", "a hidden ragged tail")

ANSWERS = {
    "right": lambda x, *more: 2 * x,
    "without sign": lambda x, *more: abs(2 * x),
    "nothing": lambda x, *more: None,
    "in place": lambda x, *more: x.__imul__(2) if isinstance(x, np.ndarray | torch.Tensor) else 2 * x,
    "raises": lambda x, *more: {}[x],
    "a list": lambda x, *more: (2 * x).tolist(),
}


def every_kind():
    """A lab with every kind of case and expectation in it."""
    lab = Lab("lab_every", "Every kind — with “odd” letters: Σ, ∞", minutes=7, provides=["course_lib.arrays"])

    @lab.check(points=3, target=["double(x) -> y", "total"], hints=["a", "b"], refuses=["torch.softmax"], minutes=2)
    def double(draw):
        """Twice — <b>whatever</b> comes."""
        x, t = draw.normal(3, 5), torch.tensor([0.5, -1.25])
        yield case("array", (x,), expect=2 * x, bound=rounding(1), hint="twice & no more")
        yield case(
            "extremes", (np.array([np.nan, np.inf, -np.inf, -0.0]),), expect=np.array([np.nan, np.inf, -np.inf, 0])
        )
        yield case("half", (x.astype("f2"),), expect=Close(2 * x.astype("f2"), Bound(1e-2), "float16"))
        yield case("tensor", (t,), expect=2 * t)
        yield case("bfloat16", (t.bfloat16(),), expect=Close(2 * t.bfloat16(), Bound(), "bfloat16"))
        yield case("complex", (x * 1j,), expect=2j * x, bound=rounding(1))
        yield case("range", (-0.5,), expect=Between(-2, 0))
        yield case("error", ([],), raises="AttributeError")
        yield case("large", (2**61,), expect=2**62)
        yield many("many", [x], [7], expect=2 * x)
        yield typed("typed", 918273, target=1)
        yield script(
            "kept", put("x", x), call(0, Register("x"), keep="y", unchanged=False), read("y", "shape", expect=(3, 5))
        )
        yield script("given", call(0, 3, Given("f", "def f(x): return x"), expect=6))

    @lab.check(points=1, target="x", needs=["double"])
    def after(draw):
        """After that."""
        yield case("one", (1,), expect=2)

    lab.written("why", {"names the ragged tail": 1, "gives its cost": 2})
    return lab


def through_a_file(lab, tmp_path, mistakes=()):
    text = frozen.dump(frozen.freeze(lab, "abc", list(mistakes)))
    (tmp_path / f"{lab.name}.json").write_text(text, encoding="utf-8")
    return frozen.load(lab.name, tmp_path)


def verdicts(lab, answer):
    checks = lab.checks["double"]
    result = judge(
        checks, checks.visible_cases(), lambda steps: ask_here(steps, (answer, 918273), lab.provides, checks.refuses)
    )
    return [
        (found.name, found.passed, found.difference and found.difference.text, found.hint) for found in result.cases
    ]


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_the_published_lab_judges_as_the_authors_does(answer, tmp_path):
    lab = every_kind()
    assert verdicts(through_a_file(lab, tmp_path), answer) == verdicts(lab, answer)


def test_the_cases_are_told_apart_by_the_answers_they_are_tried_with():
    passed = {name: sum(row[1] for row in verdicts(every_kind(), answer)) for name, answer in ANSWERS.items()}
    assert passed["right"] == 12  # all but the one that wants an error
    assert max(count for name, count in passed.items() if name != "right") < 12


def test_the_published_lab_is_described_as_the_authors_is(tmp_path):
    lab = every_kind()
    there = through_a_file(lab, tmp_path)
    assert (there.name, there.title, there.minutes, there.provides) == (lab.name, lab.title, lab.minutes, lab.provides)
    assert there.points == lab.points == 7
    for name, check in lab.checks.items():
        published = there.checks[name]
        for part in ("name", "doc", "points", "targets", "needs", "refuses", "hints", "minutes"):
            assert getattr(published, part) == getattr(check, part), part
        assert published.hidden == []


def test_freezing_a_published_lab_changes_nothing(tmp_path):
    lab = every_kind()
    assert frozen.dump(frozen.freeze(through_a_file(lab, tmp_path), "abc", [])) == frozen.dump(
        frozen.freeze(lab, "abc", [])
    )


def test_known_mistakes_travel_with_the_published_lab(tmp_path):
    outcomes = {
        "double": {"array": [("gave", np.array([1.5, np.nan]))], "typed": [("sealed", "0f"), ("raised", "KeyError")]}
    }
    (there,) = through_a_file(every_kind(), tmp_path, [Mistake("forgets “the” sign", outcomes)]).mistakes
    assert there.text == "forgets “the” sign"
    kind, value = there.outcomes["double"]["array"][0]
    assert kind == "gave"
    np.testing.assert_array_equal(value, [1.5, np.nan])
    assert there.outcomes["double"]["typed"] == outcomes["double"]["typed"]


def test_rubrics_hidden_cases_and_typed_answers_do_not_occur_in_the_file(small_lab):
    secret = [Mistake("types another", {"by_hand": {"the total": [("sealed", "0f")]}})]
    for lab in (small_lab, every_kind()):
        text = frozen.dump(frozen.freeze(lab, "abc", secret))
        assert not [word for word in SECRETS if word in text]
    assert "a hidden ragged tail" in [made.name for made in small_lab.checks["double"].hidden_cases(1)]


def test_the_file_is_plain_text_with_a_line_feed_at_its_end():
    text = frozen.dump(frozen.freeze(every_kind(), "abc", []))
    assert text.endswith("}\n")
    assert "\r" not in text
    assert "“odd” letters: Σ" in text
    assert text == frozen.dump(frozen.freeze(every_kind(), "abc", []))


def test_a_missing_lab_names_those_there_are(tmp_path):
    with pytest.raises(ValueError, match="no lab 'lab_x'; there is none"):
        frozen.load("lab_x", tmp_path)
    for name in ("lab_b", "lab_a"):
        (tmp_path / f"{name}.json").write_text("{}")
    with pytest.raises(ValueError, match="no lab 'lab_x'; there is lab_a, lab_b"):
        frozen.load("lab_x", tmp_path)


GOOD = frozen.freeze(every_kind(), "abc", [Mistake("m", {"double": {"array": [("gave", np.zeros(2))]}})])


def without(path):
    data = copy.deepcopy(GOOD)
    *way, last = path
    part = data
    for key in way:
        part = part[key]
    del part[last]
    return data


def with_(path, value):
    data = copy.deepcopy(GOOD)
    *way, last = path
    part = data
    for key in way:
        part = part[key]
    part[last] = value
    return data


ARRAY_CASE = ("checks", 0, "cases", "array")


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "lab",
        7,
        {},
        *(without([key]) for key in GOOD if key != "version"),
        *(with_([key], 5) for key in ("lab", "checks", "written", "mistakes", "provides")),
        with_(["lab"], "../lab"),
        with_(["checks"], {"double": {}}),
        without(["checks", 0, "name"]),
        without(["checks", 0, "doc"]),
        without(["checks", 0, "cases"]),
        with_(["checks", 0, "cases"], []),
        with_(ARRAY_CASE, None),
        without([*ARRAY_CASE, "buffers"]),
        with_([*ARRAY_CASE, "buffers"], []),
        with_([*ARRAY_CASE, "buffers"], ["not base64!", "?"]),
        with_([*ARRAY_CASE, "value"], {"$": "pickle"}),
        with_([*ARRAY_CASE, "value"], {"$": "complex", "v": [10**400, 0]}),
        without(["mistakes", 0, "text"]),
        with_(["mistakes", 0, "outcomes", "buffers"], []),
    ],
)
def test_a_malformed_file_is_a_value_error(data):
    with pytest.raises(ValueError, match=r"."):
        frozen.thaw(data)


def test_a_truncated_file_is_a_value_error(tmp_path):
    text = frozen.dump(GOOD)
    for size in (0, 1, len(text) // 2, len(text) - 3):
        (tmp_path / "lab_every.json").write_text(text[:size], encoding="utf-8")
        with pytest.raises(ValueError, match=r"."):
            frozen.load("lab_every", tmp_path)


def numbers(value, expect=1, name="numbers"):
    lab = Lab("lab_numbers", "Numbers", minutes=1)

    @lab.check(points=1, target="f(x)")
    def f(draw):
        """Numbers."""
        yield case(name, (value,), expect=expect)

    return frozen.freeze(lab, "1", [Mistake("m", {"f": {name: [("gave", value)]}})])


BITS = [np.array([1.5, -2e-3, 3e3], dtype) for dtype in ("f2", "f4", "f8", "c8", "c16")]


@pytest.mark.parametrize("value", [*BITS, 1.5, -2e-3, 3e3], ids=lambda value: str(getattr(value, "dtype", value)))
def test_a_change_of_the_last_bits_is_no_change_of_the_lab(value):
    if isinstance(value, float):
        near, far = value * (1 + 2**-51), value * 1.01
    else:
        step = np.finfo(value.dtype).eps
        near, far = (value * (1 + step)).astype(value.dtype), (value * 1.01).astype(value.dtype)
    assert frozen.dump(numbers(near)) != frozen.dump(numbers(value))
    assert frozen.same(numbers(value), numbers(near))
    assert not frozen.same(numbers(value), numbers(far))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (np.array([2**53]), np.array([2**53 + 1])),
        (np.array([1]), np.array([1.0])),
        (np.array([1.0]), np.array([1.0], "f4")),
        (np.array([1.0]), np.array([[1.0]])),
        (np.array([1e-6, 2e-6], "f4"), np.array([3e-6, 2e-6], "f4")),
        (np.array([1e-11, 2e-11]), np.array([3e-11, 2e-11])),
        (1e-13, 3e-13),
        (np.array([True, False]), np.array([True, True])),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
        (np.array([1.0, np.inf]), np.array([1.0, -np.inf])),
        (2**70, 2**70 + 1),
        (1, True),
        (1, 1.0),
        ("a", "b"),
        ([1, 2], [1, 2, 3]),
        ([1], (1,)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (torch.zeros(2), torch.zeros(2).bfloat16()),
        (torch.zeros(2), torch.ones(2)),
    ],
)
def test_any_other_change_of_a_value_is_one_of_the_lab(old, new):
    assert frozen.same(numbers(old), numbers(old))
    assert not frozen.same(numbers(old), numbers(new))
    assert not frozen.same(numbers(1, expect=old), numbers(1, expect=new))


def test_any_change_of_its_words_is_one_of_the_lab():
    assert frozen.same(GOOD, copy.deepcopy(GOOD))
    for changed in (
        *(with_([key], "other") for key in GOOD),
        *(without([key]) for key in GOOD),
        {**GOOD, "more": 1},
        with_(["checks", 0, "doc"], "other"),
        with_(["checks", 0, "points"], 4),
        with_(["checks", 0, "hints"], ["a"]),
        with_(["mistakes", 0, "text"], "n"),
        with_(["mistakes"], []),
        numbers(1),
        {},
    ):
        assert not frozen.same(GOOD, changed)
        assert not frozen.same(changed, GOOD)
    assert not frozen.same(numbers(1, name="a"), numbers(1, name="b"))
    assert json.loads(frozen.dump(GOOD)) == GOOD
