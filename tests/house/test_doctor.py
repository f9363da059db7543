"""The doctor says what is there, what is not, and what to do; only what a student needs makes it fail."""

import builtins
import shutil
import sys

import pytest
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
        (torch,) = doctor.torch_and_device()
        assert not torch.works
        assert torch.needed
        assert words in torch.found


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
