"""An overlay on disk: where it is, what it holds, and the digest that tells one state of it from another."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder import versions

HANDOUTS = "handouts"


@dataclass(frozen=True)
class Overlay:
    """The overlay of the lab that `folder` is named for. Raises ValueError when it has no overlay.py."""

    folder: Path

    def __post_init__(self) -> None:
        if not (self.folder / "overlay.py").is_file():
            raise ValueError(
                f"{self.folder / 'overlay.py'} is missing: an overlay needs one, be it with an import alone"
            )

    @cached_property
    def digest(self) -> str:
        """Changes with every file of the overlay."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.rglob("*.py")):
            digest.update(f"\0{path.relative_to(self.folder).as_posix()}\0".encode() + path.read_bytes())
        return digest.hexdigest()[:12]

    @cached_property
    def variants(self) -> dict[str, dict[str, Path]]:
        """The files of the variants of each graded item, by their names."""
        found: dict[str, dict[str, Path]] = {}
        for path in sorted(self.folder.glob("variants/*/*.py")):
            found.setdefault(path.parent.name, {})[path.stem] = path
        return found


def find(instructor: Path | None, lab: str) -> Overlay | None:
    """What an instructor's folder holds for a lab, if anything. Raises ValueError when there is no such folder."""
    if instructor is None:
        return None
    if not Path(instructor).is_dir():
        raise ValueError(
            f"{instructor} is no folder: --instructor names the one that holds the overlays, DIR/LAB/overlay.py"
        )
    folder = Path(instructor).resolve() / lab
    return Overlay(folder) if folder.is_dir() else None


def needed(instructor: Path | None, lab: str) -> Overlay:
    """`find`, where nothing can be done without. Raises ValueError where the folder holds nothing for the lab."""
    overlay = find(instructor, lab)
    if overlay is None:
        raise ValueError(f"{instructor} holds no overlay of {lab}: --instructor names the folder of {lab}/overlay.py")
    return overlay


def chosen(instructor: Path | None, lab: str, course: Path) -> Overlay | None:
    """The overlay to grade with; None where the course has never heard of one.

    Raises ValueError where it is forgotten: without it, everybody would be graded against an exercise that is not theirs.
    """
    if instructor is not None:
        return needed(instructor, lab)
    if (course / HANDOUTS / lab).is_dir() or versions.overlays(course, lab):
        raise ValueError(
            f"{lab} was handed out or graded with a private overlay in {course}: name it by --instructor DIR"
        )
    return None
