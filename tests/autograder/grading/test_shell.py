"""What a notebook shows when it is graded is what a kernel would show: each cell below is run once, in one notebook.

`SAME` cells must show the very outputs of a kernel (the slow test runs them in one); the others differ on purpose, and say how.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator

import nbformat
import pytest

from autograder.grading.judge import Cell, Judged, Limits, judge_notebook
from autograder.grading.pool import Zygote
from autograder.sandbox import NOBODY, probe
from course_lib.checks import Lab

SAME = {
    "an expression": "1 + 1",
    "the last result": "_ + 1",
    "an earlier result": "_1, Out[1], In[1], len(In)",
    "two results": "1\nprint('between')\n2",
    "nothing": "None",
    "a semicolon": "1 + 1;",
    "a semicolon and a comment": "'quiet';  # as it says",
    "streams": "import sys\nprint('out')\nsys.stdout.write('written\\n')\nprint('err', file=sys.stderr)",
    "logging": "import logging\nlogging.warning('logged')",
    "the encoding": "sys.stdout.encoding, sys.stdout.isatty()",
    "a shell's cell": "%%bash\necho from bash\necho to stderr >&2",
    "modules": "import os, subprocess",
    "a shell's words": "found = !echo one; echo two\nlist(found)",
    "captured": "%%capture held\nprint('kept quiet')\n1 + 1",
    "what was captured": "held.stdout",
    "a file": "%%writefile made.py\nmade = 41\nprint('running')",
    "a file that is run": "%run made.py\nmade + 1",
    "a file that is imported": "import made as module\nmodule.made",
    "a folder": "%cd -q .\n%who_ls list",
    "an extension": "%load_ext autoreload\n%autoreload 2",
    "no such extension": "%load_ext no_such_extension",
    "no such magic": "%no_such_magic",
    "no such cell magic": "%%no_such_magic\n1",
    "HTML": "from IPython.display import HTML, JSON, Latex, Markdown, clear_output, display\ndisplay(HTML('<b>b</b>'), 1)",
    "Markdown": "Markdown('**b**')",
    "formulas and data": "display(Latex('$x$'))\nJSON({'a': 1})",
    "an update": "shown = display('before', display_id='here')\nprint('between')\nshown.update('after')",
    "a cleared output": "print('gone')\nclear_output()\nprint('stays')",
    "a progress": "for step in range(3):\n    clear_output(wait=True)\n    print('step', step)",
    "nothing after all": "print('stays')\nclear_output(wait=True)",
    "a plot": "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    "a plot that is shown": "plt.plot([1, 3])\nplt.show()\nprint('after the figure')",
    "two figures": "plt.figure(); plt.plot([1])\nplt.figure(); plt.plot([2]);",
    "a figure": "figure, axes = plt.subplots()\nfigure",
    "SVG": "from IPython.display import SVG\nSVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>')",
    "waiting": "import asyncio\nawait asyncio.sleep(0)\n'awaited'",
    "a generator": "async def counted():\n    yield 1\n    yield 2\n[number async for number in counted()]",
    "a task": "task = asyncio.create_task(asyncio.sleep(0, 'done'))\nasyncio.get_running_loop().is_running()",
    "a task of an earlier cell": "await task",
    "an error": "def fails():\n    1 / 0\nfails()",
    "a name": "no_such_name",
    "after an error": "'still here'",
    "an exit": "raise SystemExit(2)",
    "an interrupt": "raise KeyboardInterrupt",
    "an error in text": "class Bad:\n    def __repr__(self):\n        raise RuntimeError('no text')\nBad()",
    "a thread": "import threading\nthread = threading.Thread(target=print, args=('in it',))\nthread.start(); thread.join()",
    "the module": "import __main__, inspect, pickle\n__name__, __main__.made, inspect.getsource(fails)[:11]",
    "pickled": "class Point:\n    pass\ntype(pickle.loads(pickle.dumps(Point()))) is Point",
    "a hook": "sys.displayhook('hooked')",
    "a bar": "from tqdm import tqdm\nlist(tqdm(range(3), bar_format='{percentage:3.0f}% {bar:4}', mininterval=0));",
    "help": "help(len)",
    "a cell by hand": "get_ipython().run_cell('1 + 2');",
}
OTHER = {
    "a program": "print('first')\nos.system('echo second')\nprint('third');",
    "a child": "subprocess.run(['echo', 'from a child']).returncode",
    "a shell's line": "!echo from the shell",
    "timing": "%timeit -n1 -r1 sum(range(3))",
    "the time": "%%time\n5",
    "a warning": "import warnings\nwarnings.warn('careful')",
    "a question": "input('your name? ')",
    "a password": "import getpass\ngetpass.getpass()",
    "a debugger": "import pdb\npdb.set_trace()\n'went on'",
    "the kernel": "get_ipython().kernel",
    "the kernel, if there is one": "getattr(get_ipython(), 'kernel', None), 'IPKernelApp' in get_ipython().config",
    "installing": "!{sys.executable} -m pip install nothing-of-this-name",
    "installing by magic": "%pip install nothing-of-this-name",
    "a download": "import urllib.request\nurllib.request.urlopen('http://example.org')",
    "a slider": "import ipywidgets as widgets\nwidgets.IntSlider(value=3)",
    "interact": "@widgets.interact(x=(1, 5))\ndef draw(x=3):\n    print('x is', x)\n    plt.plot([1, x])",
    "an output": "area = widgets.Output()\ndisplay(area)\nwith area:\n    print('inside')\n    display(HTML('<i>in it</i>'))",
    "a bar of the notebook": "from tqdm.auto import tqdm as either\nfor _ in either(range(3)):\n    pass",
    "a bar of widgets": "from tqdm.notebook import trange\nsum(i for i in trange(3))",
    "a later update": "shown.update('much later')",
    "a syntax error": "def (",
    "a pool": "import multiprocessing\nmultiprocessing.get_context('fork').Pool(2)",
    "a fork": "if (child := os.fork()) == 0:\n    print('from a fork', flush=True)\n    os._exit(0)\nos.waitpid(child, 0)[1]",
    "a home": "Path = __import__('pathlib').Path\nPath.home().joinpath('mine').write_text('x')",
    "asked for help": "len?",
    "an animation": "for step in range(90):\n    clear_output(wait=True)\n    print(str(step) * 50_000)",
    "after much": "print('still heard')",
}
CELLS = SAME | OTHER
NAMES = list(CELLS)


@pytest.fixture(scope="module")
def judged() -> Iterator[Judged]:
    lab = Lab("lab97_shell", "Shell", minutes=1)
    folder = tempfile.mkdtemp()
    cells = [Cell(number, "", source) for number, source in enumerate(CELLS.values())]
    with Zygote(lab, probe()) as zygote:
        if zygote.uid is not None:
            os.chown(folder, NOBODY, NOBODY)
        yield judge_notebook(zygote, lab, cells, folder, 3, Limits(cell=60, notebook=300, check=30))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def shown(judged):
    """What a cell showed, by its name; as one text with `as_text`."""
    return lambda name: judged.outputs[NAMES.index(name)]


def streams(outputs: list[dict], name: str = "stdout") -> str:
    return "".join(output["text"] for output in outputs if output.get("name") == name)


def kinds(outputs: list[dict]) -> list[str]:
    return [output["output_type"] for output in outputs]


def errors(outputs: list[dict]) -> list[str]:
    return [f"{output['ename']}: {output['evalue']}" for output in outputs if output["output_type"] == "error"]


def test_every_cell_ran(judged):
    assert not judged.lost
    assert not judged.tampered
    assert sorted(judged.outputs) == list(range(len(CELLS)))


def test_only_what_fails_shows_an_error(shown):
    failed = {name for name in NAMES if errors(shown(name))}
    assert failed == {
        *("no such extension", "an error", "a name", "an exit", "an interrupt", "an error in text", "a syntax error"),
        *("a question", "a password", "the kernel", "a download", "a pool"),
    }


def test_results_are_remembered_as_in_a_kernel(shown):
    assert shown("the last result")[0]["data"]["text/plain"] == "3"
    assert shown("an earlier result")[0]["data"]["text/plain"] == "(2, 2, '1 + 1', 4)"
    assert shown("a semicolon") == shown("a semicolon and a comment") == shown("nothing") == []


def test_what_programs_write_stands_where_it_was_written(shown):
    assert streams(shown("a program")) == "first\nsecond\nthird\n"
    assert kinds(shown("a child")) == ["stream", "execute_result"]
    assert streams(shown("a shell's line")) == "from the shell\n"
    assert streams(shown("a fork")) == "from a fork\n"


def test_a_traceback_names_the_cell_that_failed(shown):
    number = NAMES.index("an error") + 1
    assert f"Cell In[{number}], line 3" in "\n".join(shown("an error")[0]["traceback"])


def test_displays_are_updated_and_cleared(shown):
    assert [output["data"]["text/plain"] for output in shown("an update") if "data" in output] == ["'after'"]
    assert streams(shown("a cleared output")) == "stays\n"
    assert streams(shown("a progress")) == "step 2\n"
    assert streams(shown("nothing after all")) == "stays\n"
    assert "'much later'" in repr(shown("a later update"))  # the earlier cell's outputs are sealed


def test_an_animation_leaves_its_last_picture_and_room_for_more(shown):
    assert streams(shown("an animation")) == "89" * 50_000 + "\n"
    assert streams(shown("after much")) == "still heard\n"


def test_plots_are_pictures_in_their_places(shown):
    for name, pictures in (("a plot", 1), ("a plot that is shown", 1), ("two figures", 2)):
        assert sum("image/png" in output.get("data", {}) for output in shown(name)) == pictures
    assert kinds(shown("a plot that is shown")) == ["display_data", "stream"]


def test_widgets_leave_what_they_show_and_no_traceback(shown):
    assert "IntSlider(value=3)" in repr(shown("a slider"))
    assert streams(shown("interact")) == "x is 3\n"
    assert sum("image/png" in output.get("data", {}) for output in shown("interact")) == 1
    assert streams(shown("an output")) == "inside\n"
    assert "<i>in it</i>" in repr(shown("an output"))
    assert "3/3" in streams(shown("a bar of the notebook"), "stderr")
    assert shown("a bar of widgets")[-1]["data"]["text/plain"] == "3"


def test_what_cannot_be_had_is_an_error_at_once_and_not_a_wait(shown):
    assert errors(shown("a question")) == ["EOFError: EOF when reading a line"]
    assert "(Pdb)" in streams(shown("a debugger"))
    assert "no attribute 'kernel'" in errors(shown("the kernel"))[0]
    assert shown("the kernel, if there is one")[0]["data"]["text/plain"] == "(None, False)"
    assert "urlopen error" in errors(shown("a download"))[0]
    assert "use threads" in errors(shown("a pool"))[0]
    for name in ("installing", "installing by magic"):
        said = streams(shown(name)) + streams(shown(name), "stderr")
        assert "ERROR: " in said  # in whose words depends on where the environment lies
        assert "Retrying" not in said


def test_times_warnings_and_help_are_told(shown):
    assert re.search(r"[\d.]+ .s ± ", streams(shown("timing")))
    assert "Wall time:" in streams(shown("the time"))
    assert shown("the time")[-1]["data"]["text/plain"] == "5"
    assert "UserWarning: careful" in streams(shown("a warning"), "stderr")
    assert "number of items" in streams(shown("asked for help"))
    assert errors(shown("a syntax error"))[0].startswith("SyntaxError: invalid syntax")


@pytest.mark.slow
def test_a_kernel_shows_the_same(shown, tmp_path, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.delenv("PYTEST_CURRENT_TEST")  # with which a kernel does not look at what programs write
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in SAME.values()])
    client = NotebookClient(notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    for name, cell in zip(SAME, notebook.cells, strict=True):
        assert list(map(compared, shown(name))) == list(map(compared, joined(cell.outputs))), name


def joined(outputs: list[dict]) -> list[dict]:
    """A kernel sends a stream in parts."""
    whole: list[dict] = []
    for output in outputs:
        if whole and output.get("name", 0) == whole[-1].get("name"):
            whole[-1] = whole[-1] | {"text": whole[-1]["text"] + output["text"]}
        else:
            whole.append(dict(output))
    return whole


def compared(output: dict) -> tuple:
    """An output without what is another each time: addresses, and where files and libraries lie."""
    if output["output_type"] == "stream":
        return output["name"], output["text"]
    if output["output_type"] == "error":
        lines = "\n".join(output["traceback"]).splitlines()
        own = [" ".join(line.split()) for line in map(plain, lines) if line.startswith(("Cell In", "---->"))]
        return output["ename"], output["evalue"], own
    return output["output_type"], {kind: plain(text) for kind, text in output["data"].items()}, output["metadata"]


def plain(text: object) -> object:
    if not isinstance(text, str):
        return text
    return re.sub(r"0x[0-9a-f]+", "0x…", re.sub(r"\x1b\[[0-9;]*m", "", text)).strip()
