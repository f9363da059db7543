"""What Binder builds the bundle from agrees with the project, and its steps do what they say."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course_lib.house import bundle, start

ROOT = Path(__file__).parents[2]
BINDER = ROOT / "binder"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# What repo2docker asks each of its build packs, in its own order; run where only repo2docker is installed.
DETECTION = """
import os, sys
from repo2docker.app import Repo2Docker

os.chdir(sys.argv[1])
app = Repo2Docker()
pack = next(pack for pack in (kind(app.base_image) for kind in app.buildpacks) if pack.detect())
print(type(pack).__name__, pack.binder_dir, pack.python_version)
print("\\n".join(step for _, step in pack.get_assemble_scripts()))
print("\\n".join(pack.get_post_build_scripts()))
"""


def pinned(path: Path) -> dict[str, str]:
    """{package: version} of the lines that pin one."""
    lines = re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==([^\s;#]+)", path.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in lines}


def test_versions_come_from_the_constraints_alone():
    text = (BINDER / "requirements.txt").read_text("utf-8")
    (constraints,) = re.findall(r"^(?:-c|--constraint)\s+(\S+)$", text, flags=re.MULTILINE)
    assert (BINDER / constraints).resolve() == ROOT / "constraints.txt"  # pip reads it from where the file is
    assert pinned(BINDER / "requirements.txt").items() <= pinned(ROOT / "constraints.txt").items()
    assert re.search(r"^(?:-e|--editable)\s+\.$", text, flags=re.MULTILINE), "the course itself is not installed"


def test_every_package_that_binder_installs_by_name_has_one_version():
    needed = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]]
    names = {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", line)[0]).lower() for line in needed}
    assert names <= set(pinned(ROOT / "constraints.txt"))


def test_torch_comes_without_cuda():
    assert "download.pytorch.org/whl/cpu" in (BINDER / "requirements.txt").read_text("utf-8")


def test_python_is_one_that_the_course_supports():
    found = re.fullmatch(r"python-(3)\.(\d+)\n", (BINDER / "runtime.txt").read_text("utf-8"))
    oldest = re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])
    assert int(oldest[1]) <= int(found[2]) <= 13


def test_jupyterlab_is_set_up_as_by_course_start():
    assert json.loads((BINDER / "overrides.json").read_text("utf-8")) == start.SETTINGS


def test_every_application_opens_the_first_lecture():
    pages = json.loads((BINDER / "first_page.json").read_text("utf-8"))
    assert {tuple(settings.items()) for settings in pages.values()} == {
        (("default_url", f"/lab/tree/{start.FIRST_PAGE}"),)
    }
    assert {"LabApp", "ServerApp"} <= set(pages)
    assert (ROOT / start.FIRST_PAGE).is_file()


def test_post_build_is_a_program_that_bash_can_read():
    assert os.access(BINDER / "postBuild", os.X_OK)
    subprocess.run(["bash", "-n", str(BINDER / "postBuild")], check=True)
    assert (BINDER / "postBuild").read_text("utf-8").startswith("#!/bin/bash\n")


def test_post_build_puts_the_settings_where_jupyter_reads_them(tmp_path):
    """Run from the top of the repository, as repo2docker does."""
    subprocess.run(["binder/postBuild"], cwd=ROOT, env={**os.environ, "NB_PYTHON_PREFIX": str(tmp_path)}, check=True)
    settings = tmp_path / "share/jupyter/lab/settings/overrides.json"
    assert settings.read_bytes() == (BINDER / "overrides.json").read_bytes()
    for name in ("jupyter_lab_config", "jupyter_notebook_config", "jupyter_server_config"):
        assert (tmp_path / f"etc/jupyter/{name}.json").read_bytes() == (BINDER / "first_page.json").read_bytes()


def test_jupyterlab_takes_its_first_page_from_there(tmp_path):
    program = (
        "from jupyterlab.labapp import LabApp; a = LabApp(); a.load_config_file(); print(a.config.LabApp.default_url)"
    )
    subprocess.run(["binder/postBuild"], cwd=ROOT, env={**os.environ, "NB_PYTHON_PREFIX": str(tmp_path)}, check=True)
    environment = {**os.environ, "JUPYTER_CONFIG_PATH": str(tmp_path / "etc/jupyter"), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout == f"/lab/tree/{start.FIRST_PAGE}\n", done.stderr


@pytest.mark.slow
def test_repo2docker_builds_the_bundle_with_its_python_pack(tmp_path):
    bundle.make(tmp_path / "course", ROOT)
    python = tmp_path / "env/bin/python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    # Its detection reads the version of setuptools' own packages.
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "jupyter-repo2docker", "setuptools"], check=True)
    done = subprocess.run(
        [str(python), "-c", DETECTION, str(tmp_path / "course")], capture_output=True, text=True, check=True
    )
    first, *steps = done.stdout.splitlines()
    assert first == f"PythonBuildPack binder {(BINDER / 'runtime.txt').read_text('utf-8').strip()[7:]}"
    assert any('-r "binder/requirements.txt"' in step for step in steps), steps
    assert steps[-1] == "binder/postBuild"
