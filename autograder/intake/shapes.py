"""The shapes in which what students handed in reaches an instructor, told apart by their names.

    nbgrader     …/submitted/STUDENT/LAB/LAB.ipynb, with timestamp.txt
    canvas       lastnamefirstname_LATE_USER_FILE_name-1.ipynb
    moodle       Full Name_NUMBER_assignsubmission_file/…, or _file_… in one folder
    gradescope   submission_NUMBER/… with submission_metadata.yml
    folder       STUDENT.ipynb or STUDENT/anything.ipynb

A student of a download is known by the number or address that the platform's gradebook has, never by a name: two students
may share one.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from autograder.intake import Unreadable, archives
from autograder.intake.tree import File

Source = Literal["nbgrader", "folder", "canvas", "moodle", "gradescope"]

CANVAS = re.compile(r"(?P<name>[^_/]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<rest>.+)")
MOODLE = re.compile(r"(?P<name>.+)_(?P<number>\d+)_assignsubmission_(?P<what>file|onlinetext)_?(?P<rest>.*)", re.DOTALL)
GRADESCOPE = re.compile(r"submission_(\d+)")
METADATA = "submission_metadata.yml"
NOT_STUDENTS = {"source", "release", "autograded", "feedback", "labs", "solutions", "lectures"}
MOST_METADATA = 50 * 2**20


@dataclass
class HandIn:
    """What one student handed in, at one time."""

    student: str
    files: list[File] = field(default_factory=list)
    student_name: str = ""
    identifiers: dict[str, str] = field(default_factory=dict)
    timestamp: datetime | None = None
    late: bool = False
    notes: list[str] = field(default_factory=list)


def recognised(files: list[File], lab: str) -> tuple[Source, list[HandIn], list[File]]:
    """Which shape the files have, what each student handed in, and the files that belong to nobody."""
    shapes: list[tuple[Source, Callable[[list[File], str], list[HandIn]]]] = [
        ("gradescope", _gradescope),
        ("moodle", _moodle),
        ("canvas", _canvas),
        ("nbgrader", _nbgrader),
    ]
    looked = ((source, look(files, lab)) for source, look in shapes)
    source, found = next((one for one in looked if one[1]), None) or _last_resort(files, lab)
    owned = {id(file) for hand_in in found for file in hand_in.files}
    return source, found, [file for file in files if id(file) not in owned]


def _last_resort(files: list[File], lab: str) -> tuple[Source, list[HandIn]]:
    """A plain folder, unless it is nbgrader's and holds nothing for this lab."""
    return ("nbgrader", []) if any(map(_is_of_nbgrader, files)) else ("folder", _folder(files, lab))


def student_id(text: str) -> str:
    """A student's id as data: one spelling of accents, nothing that a path or a terminal would take for something else."""
    text = _name(text).replace("/", "-")
    while len(text.encode()) > 120:
        text = text[:-1]
    return "_" if text in ("", ".", "..") else text


def _nbgrader(files: list[File], lab: str) -> list[HandIn]:
    found: dict[tuple[str, ...], HandIn] = {}
    for file in files:
        if (folder := _nbgrader_folder(file, lab)) is None:
            continue
        hand_in = found.setdefault(folder, HandIn(student_id(folder[-2])))
        if file.name == "timestamp.txt":
            hand_in.timestamp = _timestamp(file, hand_in)
        hand_in.files.append(file)
    return list(found.values())


def _above(file: File) -> tuple[str, ...]:
    """What stands above the instructor's path: part of the shape, unless the path is an archive."""
    return file.root.parts if file.parts[: len(file.on_disk)] == file.on_disk else ()


def _is_of_nbgrader(file: File) -> bool:
    """Whether the file lies in nbgrader's tree, of whichever lab."""
    way = (*_above(file), *file.parts)
    return "submitted" in way and len(way) - way.index("submitted") > 3


def _nbgrader_folder(file: File, lab: str) -> tuple[str, ...] | None:
    """The way to the folder STUDENT/LAB that holds the file, wherever in nbgrader's tree the instructor's path begins."""
    above = _above(file)
    way = (*above, *file.parts)
    if "submitted" in way:
        at = len(way) - 1 - way[::-1].index("submitted")
        if way[at + 2 : at + 3] == (lab,) and len(way) > at + 3:
            return way[: at + 3]
        # A student's whole folder, or that of the lab, may be a link: it has a problem, and belongs to the student.
        if file.problem and len(way) in (at + 2, at + 3) and way[at + 2 :] in ((), (lab,)):
            return (*way[: at + 2], lab)
        return None
    for at in range(len(way) - 2, 0, -1):
        below = way[len(above) : at]
        named = at > len(above) or way[-1] == f"{lab}.ipynb"
        if way[at] == lab and named and way[at - 1] not in NOT_STUDENTS and not NOT_STUDENTS & set(below):
            return way[: at + 1]
    return None


def _canvas(files: list[File], lab: str) -> list[HandIn]:
    found: dict[str, HandIn] = {}
    matched = 0
    for file in files:
        match = next((match for part in file.parts if (match := CANVAS.fullmatch(part))), None)
        if match is None:
            continue
        matched += 1
        numbers = {"canvas_id": match["user"]}
        hand_in = found.setdefault(match["user"], HandIn(match["user"], [], match["name"], numbers))
        hand_in.late |= bool(match["late"])
        hand_in.files.append(file)
    return list(found.values()) if 2 * matched >= len(files) else []


def canvas_file(file: File) -> int:
    """The number that Canvas gave the file: the later it was handed in, the larger; 0 for other files."""
    return max((int(match["file"][:18]) for part in file.parts if (match := CANVAS.fullmatch(part))), default=0)


def _moodle(files: list[File], lab: str) -> list[HandIn]:
    found: dict[str, HandIn] = {}
    for file in files:
        match = next((match for part in file.parts if (match := MOODLE.fullmatch(part))), None)
        if match is None:
            continue
        numbers = {"moodle_id": match["number"]}
        hand_in = found.setdefault(match["number"], HandIn(match["number"], [], _name(match["name"]), numbers))
        if match["what"] == "file" or not hand_in.files:
            hand_in.files.append(file)
    return list(found.values())


def _gradescope(files: list[File], lab: str) -> list[HandIn]:
    found: dict[str, HandIn] = {}
    table: dict[str, Any] = {}
    notes: list[str] = []
    has_table = False
    for file in files:
        if file.name == METADATA:
            has_table = True
            table |= _metadata(file, notes)
        folder = next((part for part in file.parts[:-1] if GRADESCOPE.fullmatch(part)), None)
        if folder:
            found.setdefault(folder, HandIn(folder, notes=[*notes])).files.append(file)
    if not has_table and sum(len(hand_in.files) for hand_in in found.values()) < len(files):
        return []
    return [
        one for folder, hand_in in found.items() for one in _of_submitters(folder, hand_in, table.get(folder), notes)
    ]


def _of_submitters(folder: str, hand_in: HandIn, about: Any, notes: list[str]) -> Iterable[HandIn]:
    """A hand-in for each of those who handed it in together."""
    number = {"gradescope_submission": folder.removeprefix("submission_")}
    about = about if isinstance(about, dict) else {}
    time = about.get(":created_at")
    if isinstance(time, datetime):
        hand_in.timestamp = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    people = [one for one in about.get(":submitters") or [] if isinstance(one, dict)]
    if not people:
        reason = "submission_metadata.yml does not say whose it is: known by Gradescope's number"
        yield HandIn(folder, hand_in.files, "", number, hand_in.timestamp, notes=[*notes, reason])
    for person in people:
        known = {key: str(person[f":{key}"]).strip() for key in ("sid", "email") if person.get(f":{key}")}
        name = _name(str(person.get(":name") or ""))
        others = [_name(str(one.get(":name") or "")) for one in people if one is not person]
        together = [f"handed in together with {', '.join(others)}"] if others else []
        student = student_id(known.get("sid") or known.get("email") or folder)
        yield HandIn(student, hand_in.files, name, number | known, hand_in.timestamp, notes=[*notes, *together])


def _metadata(file: File, notes: list[str]) -> dict[str, Any]:
    """Gradescope's table of submissions. It was written by Ruby: a tag of its own is read as what it tags."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    def untagged(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        return loader.construct_sequence(node) if isinstance(node, yaml.SequenceNode) else node.value

    Loader.add_multi_constructor("!", untagged)
    try:
        content = file.read()
        if len(content) > MOST_METADATA:
            raise Unreadable("it is too large")
        found = yaml.load(content, Loader)
    except Exception as error:  # YAML can hold anything
        notes.append(f"{METADATA} could not be read ({type(error).__name__})")
        return {}
    return found if isinstance(found, dict) else {}


def _folder(files: list[File], lab: str) -> list[HandIn]:
    found: dict[str, HandIn] = {}
    for file, parts in zip(files, _without_wrapper(files), strict=True):
        if student := _owner(file, parts, lab):
            found.setdefault(student, HandIn(student_id(student))).files.append(file)
    return list(found.values())


def _owner(file: File, parts: tuple[str, ...], lab: str) -> str:
    """Whose the file is, by the way to it: "" for nobody's."""
    stem = re.split(r"\.(?:ipynb|py|zip|tar|tgz)\b", parts[0], flags=re.IGNORECASE)[0]
    if len(parts) > 1 and parts[0] in NOT_STUDENTS:
        return ""
    if len(parts) > 1:
        return stem if archives.is_archive(parts[0]) else parts[0]
    if ".ipynb" in parts[0].lower() or archives.is_archive(parts[0]) or _is_script_of(file, lab):
        return file.root.name if stem == lab and not file.inside else stem
    return parts[0] if file.problem and "." not in parts[0] else ""


def _without_wrapper(files: list[File]) -> list[tuple[str, ...]]:
    """Each file's way below the one folder that an archive of many students' files may have at its top."""
    ways = [file.parts for file in files]
    in_one = all(file.inside for file in files) and len({way[0] for way in ways}) == 1
    below = {way[1] for way in ways if len(way) > 1 and (len(way) > 2 or ".ipynb" in way[1])}
    return [way[1:] for way in ways] if in_one and min(map(len, ways)) > 1 and len(below) > 1 else ways


def _is_script_of(file: File, lab: str) -> bool:
    if file.problem or not file.name.endswith(".py"):
        return False
    try:
        return f'lab("{lab}")'.encode() in file.read()
    except Unreadable:
        return False


def _timestamp(file: File, hand_in: HandIn) -> datetime | None:
    """What nbgrader wrote into timestamp.txt: a time and a zone, by name or as an offset; UTC where there is none."""
    try:
        text = file.read()[:200].decode("utf-8").strip()
        time, _, zone = text.rpartition(" ") if text.count(" ") == 2 else (text, "", "")
        found = datetime.fromisoformat(time)
        if zone:
            offset = re.fullmatch(r"[+-]\d{4}", zone)
            found = datetime.fromisoformat(f"{time}{zone}") if offset else found.replace(tzinfo=ZoneInfo(zone))
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, ZoneInfoNotFoundError, OverflowError, OSError):
        hand_in.notes.append("timestamp.txt holds no time that can be read: the submission counts as without one")
        return None


def _name(text: str) -> str:
    """A person's name as data; a file's name that is not UTF-8 is read as Latin-1."""
    try:
        text = text.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeDecodeError:
        text = text.encode("utf-8", "surrogateescape").decode("latin-1")
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode("utf-8")
    return unicodedata.normalize("NFC", "".join(c if c.isprintable() else "�" for c in text)).strip()
