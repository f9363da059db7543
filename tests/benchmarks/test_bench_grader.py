"""The grader's benchmark runs: six submissions on both sides, graded as they must be. How fast that was is not looked at."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent / "bench_grader.py"


@pytest.mark.slow
def test_a_quick_run_grades_on_both_sides_and_ends_with_its_numbers():
    done = subprocess.run([sys.executable, str(BENCH), "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["bench"] == "grader"
    row = found["labs"]["light_numpy"]
    assert all(row[f"{side}_{kind}_s"] > 0 for side in ("nbgrader", "jobs_1", "jobs_2") for kind in ("cpu", "wall"))
    assert found["ratio"] == pytest.approx(row["nbgrader_cpu_s"] / row["jobs_1_cpu_s"], rel=0.02)
    assert found["level"] in "ABC"
