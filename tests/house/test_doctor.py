"""The doctor says what is there, what is not, and what to do; only what a student needs makes it fail."""

import builtins
import shutil
import socket
import sys

import pytest
import torch
from click.testing import CliRunner

from course_lib.house import doctor
from course_lib.house.cli import main
from course_lib.house.doctor import Finding


def subjects(quick: bool = True) -> dict[str, Finding]:
    return {finding.subject: finding for finding in doctor.findings(quick)}


def test_every_part_of_the_machine_is_named_once():
    found = doctor.findings(quick=True)
    names = [finding.subject for finding in found]
    assert names == ["Python", "torch", "device", "memory", "JupyterLab", "sliders", "Triton", "nbgrader", "Chromium"]
    assert all(finding.found for finding in found)
    assert all(finding.advice for finding in found if not finding.works)


def test_quick_leaves_out_only_what_is_measured(monkeypatch):
    monkeypatch.setattr(doctor, "bandwidth", lambda: Finding("bandwidth", "1 GB/s", True))
    assert [f.subject for f in doctor.findings()] == [*(f.subject for f in doctor.findings(quick=True)), "bandwidth"]


def test_the_bandwidth_is_measured_in_bytes_a_second(monkeypatch):
    from course_lib import costs

    measure = costs.memory_bandwidth
    monkeypatch.setattr(costs, "memory_bandwidth", lambda: measure(1 << 22, repeats=2))
    assert "GB/s" in doctor.bandwidth().found


@pytest.mark.parametrize(
    ("package", "subject", "needed"),
    [
        ("jupyterlab", "JupyterLab", True),
        ("ipywidgets", "sliders", True),
        ("triton", "Triton", False),
        ("nbgrader", "nbgrader", False),
    ],
)
def test_a_package_is_found_or_missed_with_advice(monkeypatch, package, subject, needed):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setattr(doctor, "version_of", lambda name: "9.9")
    assert subjects()[subject].works
    assert "9.9" in subjects()[subject].found
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name == package else "9.9")
    missed = subjects()[subject]
    assert (missed.works, missed.needed) == (False, needed)
    assert missed.mark == ("✗" if needed else "·")
    assert "pip install" in missed.advice


def test_a_torch_that_is_missing_or_does_not_load_is_said(monkeypatch):
    real = builtins.__import__

    def without(error):
        def load(name, *rest):
            if name == "torch":
                raise error
            return real(name, *rest)

        return load

    for error, words in [
        (ModuleNotFoundError("torch"), "not installed"),
        (OSError("libcudart missing"), "libcudart missing"),
    ]:
        monkeypatch.setattr(builtins, "__import__", without(error))
        (missed,) = doctor.torch_and_device()
        assert not missed.works
        assert missed.needed
        assert words in missed.found


@pytest.mark.parametrize(
    ("cuda", "apple", "computes", "words", "advice"),
    [
        (True, False, True, "Big GPU, 60.0 of 80.0 GB free; CPU with", ""),
        (
            True,
            False,
            False,
            "Big GPU does not compute: no kernel image is available",
            "restart what else uses the GPU",
        ),
        (False, True, True, "Apple GPU", ""),
        (False, False, True, "CPU with", "no GPU: everything runs"),
    ],
)
def test_the_device_is_named_after_it_was_made_to_compute(monkeypatch, cuda, apple, computes, words, advice):
    def ones(*shape, device):
        if not computes:
            raise RuntimeError("no kernel image is available\nCompile with TORCH_USE_CUDA_DSA")
        return torch.zeros(*shape)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Big GPU")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (60 * 10**9, 80 * 10**9))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: apple)
    monkeypatch.setattr(torch, "ones", ones)
    device = subjects()["device"]
    assert device.found.startswith(words)
    assert "Compile with" not in device.found
    assert device.advice.startswith(advice)
    assert bool(device.advice) == bool(advice)
    assert device.works == computes
    assert not device.needed


def test_a_browser_is_found_by_any_of_its_names(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name == "google-chrome" else None)
    assert doctor.chromium().found == "/usr/bin/google-chrome"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert not doctor.chromium().works


def test_too_little_memory_is_a_fault_and_a_system_that_does_not_say_is_none(monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 250_000}
    monkeypatch.setattr(doctor.os, "sysconf", pages.__getitem__)
    assert not doctor.memory().works
    assert "Binder or Colab" in doctor.memory().advice
    monkeypatch.delattr(doctor.os, "sysconf")
    assert doctor.memory().works


@pytest.mark.parametrize(("limit", "words"), [("4000000000\n", "4.0 GB in this container, of "), ("max\n", " GB")])
def test_what_a_container_may_use_is_what_counts(monkeypatch, tmp_path, limit, words):
    (tmp_path / "memory.max").write_text(limit)
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4_000_000}
    monkeypatch.setattr(doctor.os, "sysconf", pages.__getitem__)
    monkeypatch.setattr(doctor, "Path", lambda path: tmp_path / path.rpartition("/")[2])
    assert words in doctor.memory().found
    assert doctor.memory().found.endswith("16.4 GB")
    assert doctor.memory().works


def test_where_all_is_missing_and_the_system_tells_little_nothing_is_raised(monkeypatch):
    """As on Windows, in an environment with nothing in it."""
    for name in ("sched_getaffinity", "sysconf"):
        monkeypatch.delattr(doctor.os, name, raising=False)
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: None)
    monkeypatch.setattr(doctor.sys, "platform", "win32")
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert subjects()["device"].found.endswith("1 core")
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of it fails
    found = subjects()
    missing = {name for name, finding in found.items() if not finding.works}
    assert missing == {"torch", "JupyterLab", "sliders", "Triton", "nbgrader", "Chromium"}
    assert all(found[name].advice for name in missing)
    assert doctor.print_findings(list(found.values())) == 1


def test_inside_a_notebook_the_front_end_may_be_another(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert subjects()["JupyterLab"].works
    assert not subjects()["sliders"].works


def test_a_package_without_metadata_is_still_found(monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda name: object())
    assert doctor.version_of("of-no-distribution") == "of unknown version"


@pytest.mark.parametrize(("version", "advised"), [((3, 11, 0), False), ((3, 13, 9), False), ((3, 14, 0), True)])
def test_a_python_newer_than_the_tested_ones_works_with_a_word_of_advice(monkeypatch, version, advised):
    monkeypatch.setattr(doctor.sys, "version_info", version)
    python = doctor.python()
    assert python.works
    assert bool(python.advice) == advised


def test_no_network_is_used(monkeypatch):
    def refused(*_, **__):
        raise AssertionError("the doctor went to the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    assert doctor.findings(quick=True)


def test_what_a_student_needs_decides_the_exit_status(capsys):
    fine = [Finding("a", "there", True, needed=True), Finding("b", "not there", False, "get one")]
    assert doctor.print_findings(fine) == 0
    assert "→ get one" in capsys.readouterr().out
    assert doctor.print_findings([*fine, Finding("c", "not there", False, "get it", needed=True)]) == 1
    assert "To be mended: c." in capsys.readouterr().out


def test_the_command_prints_a_line_for_each():
    result = CliRunner().invoke(main, ["doctor", "--quick"])
    assert result.exit_code == 0, result.output
    assert "This machine has what a student needs." in result.output
