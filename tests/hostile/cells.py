"""Notebooks whose cells were edited, lost, copied, moved or retyped, by tools or on purpose.

The lab's own form is what is graded: an honest student loses nothing by it, and nobody gains.
"""

import copy
from typing import Any

from autograder.evidence import State
from tests.hostile.entry import NOTHING, Entry, without
from tests.hostile.workshop import (
    Notebook,
    after,
    cell_of,
    changed,
    handed_in,
    name_of,
    new_cell,
    released,
    solved,
    text_of,
)

SAME = "def softmax(x):\n    return x"
NO_SOFTMAX = without("softmax")


def corpus() -> list[Entry]:
    return [*_lost(), *_moved(), *_claimed()]


def _lost() -> list[Entry]:
    return [
        changed("all metadata stripped", _strip),
        changed("ids renamed, grade ids numbered", _rename),
        changed("check cells deleted", lambda notebook: _keep(notebook, lambda cell: not _is_check(cell))),
        changed("texts deleted", lambda notebook: _keep(notebook, lambda cell: cell["cell_type"] == "code")),
        changed(
            "an answer deleted",
            lambda notebook: notebook["cells"].remove(cell_of(notebook, "pairs")),
            points=without("pairs"),
        ),
        changed("the set-up cell deleted", lambda notebook: notebook["cells"].pop(1)),
        changed("answers turned into text cells", _retype("markdown", "softmax", "check_pairs")),
        changed("answers turned into raw cells", _retype("raw", "Tally", "check_softmax")),
        changed("metadata of the wrong kind everywhere", _odd_metadata),
    ]


def _moved() -> list[Entry]:
    return [
        changed("cells in reverse order", lambda notebook: notebook["cells"].reverse()),
        changed("check lines above their answers", _checks_first),
        changed("answers and checks twice", _twice),
        changed("everything in one cell", _merged),
        changed("an answer split over two cells", _split),
        changed("an empty copy of an answer's cell after it", _untouched_copy),
        changed("marks of two answers swapped", _swap),
    ]


def _claimed() -> list[Entry]:
    return [
        changed("a check line edited to check something else", _edit_check, points=NO_SOFTMAX),
        changed("check lines replaced by their reports", _paste_reports, points=NOTHING),
        changed("points raised, locks and flags flipped", _flip),
        changed("points raised on a wrong answer", _flip_wrong, points=NO_SOFTMAX),
        changed(
            "a check line of one's own with a right answer, a wrong one in the answer's cell",
            _scratch,
            points=NO_SOFTMAX,
        ),
        changed("a duplicate check cell under the name of another", _rename_check, points=NO_SOFTMAX),
        changed("the imports replaced by a `check` that agrees", _own_check, points=NO_SOFTMAX, at_most=True),
        changed(
            "another lab's notebook under this lab's name",
            _other_lab,
            points=NOTHING,
            states=(State.GRADED, State.UNREADABLE, State.NEEDS_A_PERSON),
        ),
        Entry(
            "claims a version that never was",
            lambda ground: handed_in(solved() | {"metadata": {"course": {"lab": "lab99_light", "version": "0" * 12}}}),
            states=(State.GRADED, State.NEEDS_A_PERSON),
        ),
    ]


def _is_check(cell: dict[str, Any]) -> bool:
    return text_of(cell).startswith("check.")


def _keep(notebook: Notebook, keeps: Any) -> None:
    notebook["cells"] = [cell for cell in notebook["cells"] if keeps(cell)]


def _strip(notebook: Notebook) -> None:
    notebook["metadata"] = {}
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    notebook["nbformat_minor"] = 4


def _rename(notebook: Notebook) -> None:
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"x{number}"
        if name_of(cell):
            cell["metadata"]["nbgrader"]["grade_id"] = f"cell-{number}"


def _retype(kind: str, *names: str) -> Any:
    def change(notebook: Notebook) -> None:
        for name in names:
            cell = cell_of(notebook, name)
            cell["cell_type"] = kind
            cell.pop("outputs", None)
            cell.pop("execution_count", None)

    return change


def _odd_metadata(notebook: Notebook) -> None:
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = [None, [], 3, "tags", {"nbgrader": ["grade"]}, {"tags": 5}, {"nbgrader": {"grade_id": 7}}][
            number % 7
        ]


def _checks_first(notebook: Notebook) -> None:
    checks = [cell for cell in notebook["cells"] if _is_check(cell)]
    _keep(notebook, lambda cell: cell not in checks)
    notebook["cells"][3:3] = checks


def _twice(notebook: Notebook) -> None:
    for name in ("softmax", "check_softmax", "check_pairs", "Tally"):
        cell = cell_of(notebook, name)
        notebook["cells"].insert(notebook["cells"].index(cell), copy.deepcopy(cell))
    notebook["cells"].append(copy.deepcopy(cell_of(notebook, "check_softmax")))


def _merged(notebook: Notebook) -> None:
    code = [
        cell for cell in notebook["cells"] if cell["cell_type"] == "code" and not text_of(cell).startswith("# Makes")
    ]
    _keep(notebook, lambda cell: cell not in code)
    notebook["cells"].append(new_cell("\n\n".join(map(text_of, code))))


def _split(notebook: Notebook) -> None:
    cell = cell_of(notebook, "softmax")
    after(notebook, "softmax", text_of(cell))
    cell["source"] = "SCALE = 1.0  # a constant of mine"


def _untouched_copy(notebook: Notebook) -> None:
    notebook["cells"].append(copy.deepcopy(cell_of(released(), "softmax")))


def _swap(notebook: Notebook) -> None:
    one, other = cell_of(notebook, "softmax"), cell_of(notebook, "pairs")
    one["metadata"], other["metadata"] = other["metadata"], one["metadata"]
    one["id"], other["id"] = other["id"], one["id"]


def _edit_check(notebook: Notebook) -> None:
    cell_of(notebook, "softmax")["source"] = SAME
    cell_of(notebook, "check_softmax")["source"] = (
        "from course_lib.arrays import softmax as right\n"
        "check.softmax(lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True))"
    )


def _paste_reports(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        if name_of(cell) and not _is_check(cell):
            cell["source"] = text_of(cell_of(released(), name_of(cell)))
        if _is_check(cell):
            cell["source"] = "4.0"
            cell["outputs"] = [
                {"output_type": "execute_result", "data": {"text/plain": "4.0"}, "metadata": {}, "execution_count": 1}
            ]


def _flip(notebook: Notebook) -> None:
    for cell in notebook["cells"]:
        if name_of(cell):
            about = cell["metadata"]["nbgrader"]
            about |= {"points": 100, "grade": True, "solution": not about["solution"], "locked": False, "task": True}


def _flip_wrong(notebook: Notebook) -> None:
    cell_of(notebook, "softmax")["source"] = SAME
    _flip(notebook)


def _scratch(notebook: Notebook) -> None:
    right = text_of(cell_of(notebook, "softmax"))
    cell_of(notebook, "softmax")["source"] = SAME
    after(notebook, "check_softmax", right.replace("def softmax", "def mine") + "\n\n\ncheck.softmax(mine)")


def _rename_check(notebook: Notebook) -> None:
    cell_of(notebook, "softmax")["source"] = SAME
    double = copy.deepcopy(cell_of(notebook, "check_nearly"))
    double["metadata"]["nbgrader"]["grade_id"] = "check_softmax"
    double["id"] = "double"
    notebook["cells"].append(double)


def _own_check(notebook: Notebook) -> None:
    cell_of(notebook, "softmax")["source"] = SAME
    for cell in notebook["cells"]:
        if "check = lab(" in text_of(cell):
            cell["source"] = (
                "import matplotlib.pyplot as plt\nimport numpy as np\n\n\nclass Check:\n    def __getattr__(self, name):\n"
                "        return lambda *targets: 4.0\n\n\ncheck = Check()"
            )


def _other_lab(notebook: Notebook) -> None:
    notebook["metadata"]["course"] = {"lab": "lab00_two_walls", "points": 20, "version": "1" * 12}
    notebook["cells"] = [
        new_cell("# The two walls", "markdown"),
        new_cell("def score_entries(n):\n    return n"),
        new_cell("check.score_entries(score_entries)"),
    ]
