"""The judge: honest points arrive, a death costs its own check, what hidden cases hold goes nowhere, outputs are kept."""

import pytest

from autograder.evidence import Verdict
from course_lib.checks import labs
from tests.autograder.grading.conftest import FOLDER, scores, texts

FULL = {"softmax": 5, "score_entries": 3, "cache_by_hand": 3, "generate": 2, "prediction": 2, "cache_bug": 3}
RIGHT = "np.where(np.isneginf(x.max(axis=-1, keepdims=True)), 0, x.max(axis=-1, keepdims=True))"
SOFTMAX = f"""def softmax(x):
    {{first}}
    e = np.exp(x - {RIGHT})
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)"""


def test_the_solution_scores_everything_and_again_the_same(run):
    first, second = run(), run()
    assert scores(first) == FULL
    assert first.checks == second.checks
    assert not first.lost
    assert not first.tampered


def test_hidden_cases_count_and_are_marked(run):
    lab = labs.load(FOLDER)
    cases = run(seed=11).checks["softmax"].cases
    hidden = {case.name for case in lab.checks["softmax"].hidden_cases(11)}
    assert {case.name for case in cases if case.hidden} == hidden
    assert len(cases) == len(lab.checks["softmax"].graded_cases(11))


@pytest.mark.parametrize(
    ("death", "verdict"),
    [
        ("import os; os._exit(0)", Verdict.CRASHED),
        ("import ctypes; ctypes.string_at(0)", Verdict.CRASHED),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Verdict.CRASHED),
        ("while True: pass", Verdict.TIMED_OUT),
    ],
    ids=["an exit", "a segfault", "a signal", "a loop"],
)
def test_a_death_costs_that_check_and_nothing_else(run, death, verdict):
    judged = run(softmax=SOFTMAX.format(first=death))
    assert scores(judged) == FULL | {"softmax": 0.0}
    assert judged.checks["softmax"].verdict is verdict


def test_a_death_in_the_hidden_cases_alone_costs_that_check_and_nothing_else(run):
    judged = run(softmax=SOFTMAX.format(first="import os; x.ndim == 4 and os._exit(0)"))
    assert scores(judged) == FULL | {"softmax": 0.0}
    assert judged.checks["softmax"].verdict is Verdict.CRASHED


def test_a_cell_that_dies_is_left_out_and_what_needs_it_is_not_reached(run):
    judged = run(generate="import os; os._exit(1)")
    assert list(judged.lost.values()) == [Verdict.CRASHED]
    assert scores(judged) == FULL | {"generate": 0.0, "prediction": 0.0}
    assert judged.checks["generate"].verdict is Verdict.NOT_REACHED


def test_a_syntax_error_costs_what_depends_on_it(run):
    judged = run(softmax="def softmax(x:\n    return x")
    assert scores(judged) == FULL | {"softmax": 0.0}


def test_hidden_inputs_that_are_remembered_go_nowhere(run):
    judged = run(
        softmax="SEEN = []\n" + SOFTMAX.format(first="SEEN.append(x.shape)"),
        after=("print('seen', sorted(set(SEEN)))",),
    )
    assert scores(judged) == FULL
    assert "seen" in texts(judged)
    assert "(2, 3, 4, 11)" not in texts(judged)  # the shape of a hidden case


def test_a_check_line_in_a_scratch_cell_is_shown_and_earns_nothing(run):
    judged = run(before=("check.softmax(lambda x: x)\n1 + 1",), softmax="def softmax(x):\n    return x")
    assert judged.checks["softmax"].score < 2
    assert "✗" in texts(judged)


def test_what_a_notebook_shows_is_kept_magics_displays_plots_and_programs(run):
    judged = run(
        after=(
            "%%bash\necho from bash",
            "import os\nos.system('echo from the shell')",
            "import matplotlib.pyplot as plt\nplt.plot([1, 2]);\nplt.show()",
            "from IPython.display import display, HTML\ndisplay(HTML('<b>bold</b>'))",
            "import asyncio\nawait asyncio.sleep(0)\n'awaited'",
            "%timeit -n1 -r1 sum(range(3))",
            "1 + 1;",
        )
    )
    shown = texts(judged)
    for words in ("from bash", "from the shell", "image/png", "<b>bold</b>", "awaited", "per loop"):
        assert words in shown
    assert scores(judged) == FULL
    last = max(judged.outputs)
    assert judged.outputs[last] == []  # a semicolon keeps quiet


def test_warnings_and_prints_in_an_answer_cost_nothing(run):
    first = "import warnings; warnings.warn('careful'); print('softmax of', x.shape)"
    assert scores(run(softmax=SOFTMAX.format(first=first))) == FULL


@pytest.mark.parametrize(
    "attack",
    [
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Channel':\n        o.send({'op': 'outcomes'})",
        "import os\nfor fd in range(3, 80):\n    try: os.write(fd, b'\\xff\\xff\\xff\\x7f')\n    except OSError: pass",
        "import os\nfor fd in range(3, 80):\n    try: os.close(fd)\n    except OSError: pass",
    ],
    ids=["a forged message", "a huge header", "closed descriptors"],
)
def test_who_meddles_with_the_wire_gains_nothing(run, attack):
    judged = run(before=(attack,), softmax="def softmax(x):\n    return x")
    assert judged.checks["softmax"].score <= 2
    assert sum(scores(judged).values()) <= sum(FULL.values())
    assert judged.tampered or judged.lost


def test_nothing_of_the_library_but_what_the_lab_provides_is_there(run):
    judged = run(softmax="def softmax(x):\n    from course_lib.arrays import softmax as theirs\n    return theirs(x)")
    assert judged.checks["softmax"].score == 0
    assert "No module named 'course_lib.arrays'" in repr(judged.checks["softmax"].cases)


def test_what_decides_is_drawn_as_the_notebook_would_have_drawn_it(run):
    answer = (
        "def softmax(x):\n    drawn.append(random.random())\n    raise ValueError(str(drawn[0]) + repr({*'abcdefgh'}))"
    )
    first = run(before=("import random\nrandom.seed(5)\ndrawn = []",), softmax=answer).checks["softmax"]
    again = run(before=("import random\nrandom.seed(5)\ndrawn = []",), softmax=answer).checks["softmax"]
    assert first == again
    assert "0.6229" in first.cases[0].said, "the first number after seed 5"


def test_an_answer_that_ends_its_process_costs_its_check_and_no_run_of_the_notebook(run):
    judged = run(softmax="def softmax(x):\n    import os\n    os._exit(0)")
    assert judged.checks["softmax"].verdict is Verdict.CRASHED
    assert not judged.lost
    assert {name for name, score in scores(judged).items() if not score} == {"softmax"}


def test_reports_stay_when_the_notebook_is_run_again_without_a_cell(run):
    judged = run(after=("import os\nos._exit(0)",))
    assert judged.lost
    assert texts(judged).count("5 / 5") == 1, texts(judged)
