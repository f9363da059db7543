"""What a submission costs to grade: `autograder grade` behind its whole sandbox, against plain `nbgrader autograde`.

python tests/benchmarks/bench_grader.py                   three labs, 40 submissions each; ends with one line of JSON
python tests/benchmarks/bench_grader.py --lab light_numpy --without-nbgrader    our side of one lab, to profile
python tests/benchmarks/bench_grader.py --many            also 300 submissions of lab 04 with two jobs
python tests/benchmarks/bench_grader.py --quick           6 submissions of one lab: says that it runs, and nothing of speed

Both sides grade the same notebooks, each into a fresh course; the class is described in tests/benchmarks/course.py. CPU seconds
are user and system time of a whole process tree, start-up shared out among the submissions. Before anything is
printed, right answers must have full marks on both sides, and mistakes must have lost points on ours.
"""

import argparse
import json
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from nbgrader.api import Gradebook

from autograder.sandbox import probe
from course_lib.checks import labs
from course_lib.explore.reference import this_machine
from tests.benchmarks.course import Course, Student

MARKS = {"light_numpy": 0.25, "light_torch": 0.40}
LAB_04 = "lab04_speculative_decoding"
LABS = (*MARKS, LAB_04)
TIMES_FEWER, TIMES_SOONER = 7, 1.6
OURS = "from autograder.cli import main; main()"


@dataclass(frozen=True)
class Cost:
    """What a run took: CPU seconds a submission, and seconds on the clock in all."""

    cpu: float
    wall: float


def main() -> None:
    """Grades, checks, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lab", action="append", choices=LABS, help="only this lab; may be given several times")
    parser.add_argument("--submissions", type=int, default=40, metavar="N", help="how many of each lab (default: 40)")
    parser.add_argument("--without-nbgrader", action="store_true", help="only our side")
    parser.add_argument("--many", action="store_true", help="also 300 submissions of lab 04 with two jobs")
    parser.add_argument("--quick", action="store_true", help="6 submissions of the first light lab")
    wish = parser.parse_args()
    count, names = (6, LABS[:1]) if wish.quick else (wish.submissions, wish.lab or LABS)
    if count < 2:
        parser.error(f"--submissions needs at least 2, got {count}")
    sandbox = probe()
    print(f"sandbox level {sandbox.level}: {sandbox.why}")
    found = {name: compared(name, count, not wish.without_nbgrader) for name in names}
    if wish.many:
        with laid_out(LAB_04) as course:
            many = ours(course, "many", course.students(300), jobs=2)
            print(f"300 submissions of {LAB_04}, 2 jobs: {many.wall:.0f} s, {many.cpu:.2f} CPU-seconds each")
            found["many"] = {"submissions": 300, "jobs_2_cpu_s": many.cpu, "jobs_2_wall_s": many.wall}
    ratios = [found[name]["ratio"] for name in MARKS if "ratio" in found.get(name, {})]
    summary = {
        "bench": "grader",
        "peer": "nbgrader autograde",
        "ratio": round(min(ratios), 2) if ratios else None,
        "labs": {name: {key: round(value, 3) for key, value in row.items()} for name, row in found.items()},
        "input": f"{count} submissions each of {', '.join(names)}",
        "level": sandbox.level,
        "machine": this_machine(),
    }
    print(json.dumps(summary))


def compared(lab: str, count: int, with_nbgrader: bool) -> dict[str, float]:
    """One lab's table, printed line by line, and its numbers."""
    with laid_out(lab) as course:
        students = course.students(count)
        print(f"\n{lab}, {count} submissions     CPU s each    wall s", flush=True)
        row: dict[str, float] = {}
        if with_nbgrader:
            peer = nbgrader(course, students)
            row |= {"nbgrader_cpu_s": peer.cpu, "nbgrader_wall_s": peer.wall}
            print(f"  {'nbgrader autograde':26s} {peer.cpu:10.3f} {peer.wall:9.1f}", flush=True)
        one, two = (ours(course, f"jobs{jobs}", students, jobs) for jobs in (1, 2))
        for jobs, cost in ((1, one), (2, two)):
            row |= {f"jobs_{jobs}_cpu_s": cost.cpu, f"jobs_{jobs}_wall_s": cost.wall}
            mark = f"   (mark: at most {MARKS[lab]:.2f})" if lab in MARKS and jobs == 1 else ""
            print(f"  {f'autograder grade --jobs {jobs}':26s} {cost.cpu:10.3f} {cost.wall:9.1f}{mark}")
        if with_nbgrader:
            row["ratio"] = peer.cpu / one.cpu
            mark = f"   (mark: at least {TIMES_FEWER})" if lab in MARKS else ""
            print(f"  CPU-seconds, times fewer   {row['ratio']:10.1f}{mark}")
        row["jobs_ratio"] = one.wall / two.wall
        print(f"  two jobs, times sooner     {row['jobs_ratio']:10.2f}   (mark: at least {TIMES_SOONER})", flush=True)
        return row


@contextmanager
def laid_out(lab: str) -> Iterator[Course]:
    """The course of one lab, in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="course-bench-") as folder:
        yield Course(Path(folder, "course"), lab)


def nbgrader(course: Course, students: list[Student]) -> Cost:
    """Plain nbgrader. It says that it failed where a student's process ended, and grades the others."""
    where = course.released("nbgrader", students)
    command = [sys.executable, "-m", "nbgrader", "autograde", course.lab, "--ExecutePreprocessor.timeout=60"]
    cost, done = measured(course, command, where, len(students))
    compare(course, where, students, done, mistakes_too=False)
    return cost


def ours(course: Course, name: str, students: list[Student], jobs: int) -> Cost:
    """This course's grader."""
    where = course.released(name, students)
    command = [sys.executable, "-c", OURS, "grade", course.lab, str(where / "submitted")]
    command += ["--course", str(where), "--jobs", str(jobs), "--seed", "7"]
    cost, done = measured(course, command, course.root, len(students))
    compare(course, where, students, done, mistakes_too=True)
    return cost


def measured(course: Course, command: list[str], where: Path, count: int) -> tuple[Cost, CompletedProcess]:
    """Runs one side; the kernel adds up what its processes took, each when the one above has waited for it."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = course.start(command, where)
    wall, after = perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu / count, wall), done


def compare(course: Course, where: Path, students: list[Student], done: CompletedProcess, mistakes_too: bool) -> None:
    """Stops where a grade is not what it must be: a ratio would mean nothing."""
    full = sum(check.points for check in labs.load(course.author).checks.values())
    with Gradebook(f"sqlite:///{where / 'gradebook.db'}") as gradebook:
        scores = {entry.student.id: entry.score for entry in gradebook.assignment_submissions(course.lab)}
    for student in students:
        score = scores.get(student.name)
        if (student.kind == "right" and score != full) or (mistakes_too and student.kind == "wrong" and score == full):
            said = (done.stderr or done.stdout)[-1500:]
            raise SystemExit(f"{where.name}: {student.name} is {student.kind} and has {score} of {full:g}. {said}")


if __name__ == "__main__":
    main()
