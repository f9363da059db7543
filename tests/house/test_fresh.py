"""The course in environments that have never seen it: Colab's, Binder's, and a fresh clone. Slow, and they use the network."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from course_lib.house import bundle, notebooks
from course_lib.house.start import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
COLAB = ["numpy==2.0.2", "matplotlib==3.10.0", "ipywidgets==7.7.1", "ipykernel==6.30.1"]
RUN = """
import json, os, resource, sys, time
import nbformat
from nbclient import NotebookClient

path, allow_errors = sys.argv[1], sys.argv[2] == "lab"
notebook = nbformat.read(path, as_version=4)
start = time.perf_counter()
client = NotebookClient(notebook, timeout=300, allow_errors=allow_errors, resources={"metadata": {"path": os.path.dirname(path)}})
client.execute()
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"seconds": time.perf_counter() - start, "peak_mb": usage.ru_maxrss / 1024}))
nbformat.write(notebook, path)
"""


def environment(folder: Path, *packages: str, constraints: bool = True) -> Path:
    """A new virtual environment's interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", *packages]
    if constraints:
        install += ["-c", str(ROOT / "constraints.txt")]
    subprocess.run(install, check=True, capture_output=True)
    return python


def version(python: Path, package: str) -> str:
    program = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def tell_installed(python: Path) -> None:
    """Prints how many packages an environment ended up with."""
    program = "from importlib.metadata import distributions as d; print(len({x.metadata['Name'] for x in d()}))"
    count = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
    print(f"{python.parent.parent.name}: {count} packages")


def run_notebook(python: Path, path: Path, kind: str, **variables: str) -> dict:
    done = subprocess.run([python, "-c", RUN, path, kind], env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    measured = json.loads(done.stdout.splitlines()[-1])
    print(f"{path.name}: {measured['seconds']:.0f} s, peak {measured['peak_mb']:.0f} MB")
    return measured


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("published") / "course.zip"
    bundle.make(target)
    return target


def test_colab_keeps_its_own_torch_and_numpy_and_runs_every_unit(published, tmp_path):
    # Colab's torch is whichever it has; here the one that the course is tested with.
    torch = re.search(r"^torch==\S+", (ROOT / "constraints.txt").read_text(), re.M)
    python = environment(tmp_path / "colab", torch[0], *COLAB, "nbclient", constraints=False)
    before = {package: version(python, package) for package in ("numpy", "torch", "ipywidgets", "matplotlib")}
    shutil.unpack_archive(published, tmp_path / "drive")
    variables = {"COLAB_RELEASE_TAG": "release", "COURSE_SOURCE": str(published)}
    for lecture in sorted((tmp_path / "drive").rglob("lectures/*.ipynb")):
        # A reader on Colab has the notebook alone.
        alone = tmp_path / "content" / lecture.name
        alone.parent.mkdir(exist_ok=True)
        shutil.copy(lecture, alone)
        assert run_notebook(python, alone, "lecture", **variables)["peak_mb"] < 2000
    assert {package: version(python, package) for package in before} == before
    assert version(python, "course-lib")
    tell_installed(python)
    for lab in sorted((tmp_path / "drive").rglob("labs/*/*.ipynb")):
        run_notebook(python, lab, "lab", **variables)
        outputs = [output for cell in json.loads(lab.read_text())["cells"] for output in cell.get("outputs", [])]
        assert any("not written yet" in "".join(output.get("data", {}).get("text/html", "")) for output in outputs)
        unexpected = {output["ename"] for output in outputs if output["output_type"] == "error"}
        assert unexpected <= {"NotImplementedError", "NameError"}


def test_binder_has_what_the_lectures_need_within_two_gigabytes(published, tmp_path):
    shutil.unpack_archive(published, tmp_path / "home")
    home = next((tmp_path / "home").rglob("pyproject.toml")).parent
    lines = (home / "binder" / "requirements.txt").read_text().splitlines()
    # The index of CPU builds is Binder's business; the versions are the same.
    wanted = [line for line in lines if not line.startswith(("--extra-index-url", "--index-url"))]
    requirements = home / "binder" / "here.txt"
    requirements.write_text("\n".join(wanted) + "\n")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "binder"], check=True)
    python = tmp_path / "binder" / "bin" / "python"
    # JupyterLab and what runs notebooks come with Binder's own base environment.
    install = [python, "-m", "pip", "install", "-q", "--no-input", "-r", requirements, "jupyterlab", "nbclient"]
    subprocess.run(install, cwd=home, check=True, capture_output=True)
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "NB_PYTHON_PREFIX": str(python.parent.parent)}
    subprocess.run(["bash", "binder/postBuild"], cwd=home, env=os.environ | path, check=True)
    lectures = sorted((home / "lectures").glob("*.ipynb"))
    peaks = [run_notebook(python, lecture, "lecture", **path)["peak_mb"] for lecture in lectures]
    tell_installed(python)
    server = server_memory(python, home, path)
    print(f"JupyterLab's server: {server:.0f} MB; with the largest kernel {server + max(peaks):.0f} MB of 2,000")
    assert lectures
    assert max(peaks) + server < 2000


def server_memory(python: Path, home: Path, variables: dict) -> float:
    """Megabytes that an idle JupyterLab holds."""
    port = free_port(9410)
    command = [
        python,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        f"--ServerApp.port={port}",
        "--IdentityProvider.token=",
    ]
    process = subprocess.Popen(
        command, cwd=home, env=os.environ | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/api")
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024
    finally:
        process.kill()
        process.wait()


def test_a_fresh_clone_opens_with_one_command_and_the_second_time_at_once(tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
    for turn in ("first", "second"):
        port = free_port(9510)
        begin = time.monotonic()
        with (tmp_path / "start.log").open("w") as log:
            process = subprocess.Popen(
                ["make", "start", "BROWSER=none", f"PORT={port}"],
                cwd=clone,
                env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "VIRTUAL_ENV"))},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            wait_for(f"http://127.0.0.1:{port}/api", seconds=1200)
            print(f"make start, the {turn} time: {time.monotonic() - begin:.1f} s")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said = (tmp_path / "start.log").read_text()
        assert f"http://127.0.0.1:{port}/lab/tree/lectures/00_start.ipynb?token=" in said
        assert "wrote:" not in said  # the clone's generated files follow from its sources
    assert subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True).stdout == ""
    tell_installed(clone / ".venv" / "bin" / "python")
    assert subprocess.run(["make", "-n", "test"], cwd=clone, capture_output=True).returncode == 0
    # Running the clone's own tests from here would run this test again; that they can all be collected must do.
    collect = [sys.executable, "-m", "pytest", "-q", "-x", "--co", "-m", "not slow", "-p", "no:cacheprovider"]
    collected = subprocess.run(collect, cwd=clone, capture_output=True, text=True)
    assert collected.returncode == 0, collected.stdout[-3000:]


def test_the_set_up_cell_says_what_is_missing_where_nothing_is_installed(tmp_path):
    python = environment(tmp_path / "bare", "pip", constraints=False)
    cell = notebooks.SETUP.replace("{address}", "")
    here = subprocess.run([python, "-c", cell], cwd=tmp_path, capture_output=True, text=True)
    assert "run `make start` in the course's folder" in here.stderr
    colab = {"COLAB_RELEASE_TAG": "release"}
    there = subprocess.run([python, "-c", cell], cwd=tmp_path, env=os.environ | colab, capture_output=True, text=True)
    assert "no public address yet" in there.stderr


def wait_for(address: str, seconds: int = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(address, timeout=10)
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
