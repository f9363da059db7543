"""What each submission is graded against: which version of the lab, and whose numbers and variants.

A notebook says which version of its lab it was made for. If the course keeps that version, it counts; whatever else is said
there, or nothing, means the lab as it is now. A receipt of a certain version can be made again by naming that version. What
must come out of this the same each time goes on the receipt; that the lab has changed since is said beside it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path

from autograder import versions
from autograder.grading.batch import Against, Task
from autograder.grading.judge import Limits
from autograder.intake.repair import stated
from autograder.intake.words import shortened
from autograder.overlay import folder as overlays
from autograder.overlay.folder import Overlay
from autograder.overlay.personal import Drawn, Overlaid
from autograder.records.identity import course_key, environment, seed_for
from autograder.sandbox import Report
from autograder.versions import Edition
from course_lib.checks import labs
from course_lib.checks.definition import Lab, Mistake


@dataclass(frozen=True)
class Basis:
    """Where it all comes from, as plain data: what a worker in another process, or on another machine, is told.

    folder      the author's folder of the lab, as it is now
    course      the folder that holds the course's key and the versions it keeps; None where there is none
    instructor  the folder of private overlays (`autograder.overlay`)
    as_now      whether every submission is graded against the lab as it is now
    """

    folder: Path
    report: Report
    limits: Limits = field(default_factory=Limits)
    course: Path | None = None
    instructor: Path | None = None
    as_now: bool = False


_stated = lru_cache(maxsize=2)(stated)  # it is asked several times of one submission, and then of the next


class Standards:
    """What each submission is graded against, found once for each version and each student."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis
        self._labs: dict[str, Callable[[str], Against]] = {}
        self._there = {self.current.version: True}

    @cached_property
    def current(self) -> Edition:
        """The lab as it is now."""
        return versions.current(self._basis.folder)

    @cached_property
    def overlay(self) -> Overlay | None:
        """What the instructor adds to it."""
        instructor = self._basis.instructor
        return None if instructor is None else overlays.needed(instructor, self._basis.folder.name)

    def of(self, task: Task, version: str = "") -> Against:
        """What this submission is graded against; `version` names a receipt's own.

        Raises ValueError where that version, or an overlay that it was graded with, is not kept.
        """
        return self._lab(version or self._version_of(task))(task.student)

    def notes(self, task: Task, against: Against) -> tuple[str, ...]:
        """What the receipt says about this: where a notebook was made for something else than it is graded against."""
        said = _stated(task.content or b"")
        graded, _, overlay = against.version.partition("+")
        found = []
        if "lab" in said and said["lab"] != against.lab.name:
            found.append(f"made for the lab {shortened(said['lab'], 40)!r}")
        elif (made_for := said.get("version", graded)) != graded:
            found.append(f"made for version {shortened(made_for, 20)!r} of the lab, graded against {graded}")
        mark = against.released["metadata"]["course"].get("drawn") if overlay else None
        if mark and task.content is not None and (drawn := said.get("drawn")) != mark:
            whose = "another student's, or made of another overlay" if drawn else "no student's in particular"
            found.append(f"the notebook is not the one that was made for this student: it is {whose}")
        return tuple(found)

    def beside(self, task: Task) -> tuple[str, ...]:
        """What is worth knowing while grading, and holds only for now: which versions there are."""
        graded = self._version_of(task).partition("+")[0]
        made_for = _stated(task.content or b"").get("version", graded)
        if graded != self.current.version:
            return (f"graded against version {graded}, which it was made for; the lab is at {self.current.version}",)
        if made_for == graded:
            return ()
        why = "everything is graded against the lab as it is now" if self._basis.as_now else "which cannot be had here"
        return (f"made for version {shortened(made_for, 20)!r}: {why}",)

    def _version_of(self, task: Task) -> str:
        """The version that a submission is graded against when nobody asks for another."""
        suffix = f"+{self.overlay.digest}" if self.overlay else ""
        said = _stated(task.content or b"") if not self._basis.as_now else {}
        version = said.get("version", "") if said.get("lab", self.current.lab) == self.current.lab else ""
        return (version if self._can_be_had(version) else self.current.version) + suffix

    def _can_be_had(self, version: str) -> bool:
        """Whether there is this version of the lab, fit to be graded against. A student chooses what is asked here."""
        if version not in self._there:
            course = self._basis.course
            edition = versions.find(course, self.current.lab, version) if course else None
            self._there[version] = edition is not None and self._fits(edition)
        return self._there[version]

    def _fits(self, edition: Edition) -> bool:
        """Whether an older version still runs with the library as it is now, and the overlay with it."""
        try:
            Overlaid(edition, self.overlay) if self.overlay else labs.load(edition.folder)
        except Exception:  # an author's code may raise anything
            return False
        return True

    def _lab(self, version: str) -> Callable[[str], Against]:
        """What a student's submission is graded against at one version, by the student."""
        if version not in self._labs:
            number, _, digest = version.partition("+")
            edition = self._edition(number)
            self._labs[version] = self._personal(edition, self._overlay(digest)) if digest else self._plain(edition)
        return self._labs[version]

    def _edition(self, version: str) -> Edition:
        course = self._basis.course
        found = (
            self.current
            if version == self.current.version
            else course and versions.find(course, self.current.lab, version)
        )
        if not found:
            raise ValueError(f"version {version!r} of {self.current.lab} is not kept in {course}")
        return found

    def _overlay(self, digest: str) -> Overlay:
        if self.overlay and self.overlay.digest == digest:
            return self.overlay
        course = self._basis.course
        found = course and versions.find_overlay(course, self.current.lab, digest)
        if not found:
            raise ValueError(
                f"the overlay {digest!r} of {self.current.lab} is not kept in {course}: name it by --instructor"
            )
        return Overlay(found)

    def _plain(self, edition: Edition) -> Callable[[str], Against]:
        against = self._against(labs.load(edition.folder), edition.released, edition.version, edition.mistakes)
        return lambda student: against

    def _personal(self, edition: Edition, overlay: Overlay) -> Callable[[str], Against]:
        overlaid = Overlaid(edition, overlay)
        if not overlaid.is_personal:
            everyone = self._against(overlaid.lab, edition.released, overlaid.version, edition.mistakes)
            return lambda student: everyone
        if self._basis.course is None:
            raise ValueError("numbers and variants of an overlay are drawn by the course's key, and no course is named")
        key = course_key(self._basis.course)

        @cache
        def of(student: str) -> Against:
            drawn: Drawn = overlaid.drawn(seed_for(key, edition.lab, student, ""))
            own = overlaid.lab_of(drawn)
            return self._against(own, overlaid.release_of(drawn), overlaid.version, overlaid.mistakes_of(drawn))

        return of

    def _against(self, lab: Lab, released: object, version: str, mistakes: tuple[Mistake, ...]) -> Against:
        return Against(
            lab=lab,
            released=released,  # type: ignore[arg-type]
            version=version,
            environment=environment(),
            level=self._basis.report.level,
            mistakes=mistakes,
            limits=self._basis.limits,
        )
