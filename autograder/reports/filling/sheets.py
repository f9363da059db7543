"""Tables that spreadsheets and platforms read: CSV as they write it, and cells that no spreadsheet takes for a formula.

A name such as `=HYPERLINK(…)` is a formula to a spreadsheet that opens the file, so a cell that begins like one gets an
apostrophe in front. A sheet keeps its byte order mark, its delimiter and its line ends: what wrote it will read it again.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.house import sync

# Excel reads the full-width forms as it reads the others, where the language of the system has them.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
LONGEST_CELL = 10_000_000


@dataclass
class Sheet:
    """A table with a header, and how its file spells it."""

    header: list[str]
    rows: list[list[str]]
    mark: bool = False
    delimiter: str = ","
    newline: str = "\n"

    def column(self, *names: str) -> int | None:
        """The column of one of these names, however it is spelt in capitals; None when there is none, or more than one."""
        wanted = [name.casefold() for name in names]
        found = [index for index, name in enumerate(self.header) if name.strip().casefold() in wanted]
        return found[0] if len(found) == 1 else None

    def write(self, path: Path) -> None:
        """Replaces the file whole."""
        lines = [self._line([harmless(cell) for cell in row]) for row in [self.header, *self.rows]]
        sync.write(path, ("\ufeff" if self.mark else "") + "".join(lines))

    def _line(self, row: Sequence[str]) -> str:
        # The writer quotes a line break only if it is one of its own line ends, and an unquoted one begins a row.
        text = io.StringIO()
        csv.writer(text, delimiter=self.delimiter, lineterminator="\r\n").writerow(row)
        return text.getvalue().removesuffix("\r\n") + self.newline


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    cell = cell.replace("\0", "")
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def read(path: Path) -> Sheet:
    """The sheet in a file. Raises ValueError when it is none."""
    csv.field_size_limit(LONGEST_CELL)
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
        delimiter = _delimiter(text)
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8: export it afresh and do not save it from a spreadsheet") from None
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV: {error}") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if not rows:
        raise ValueError(f"{path} is empty: give a fresh export")
    header, *rest = rows
    if long := next((row for row in rest if len(row) > len(header)), None):
        raise ValueError(
            f"{path} has {len(header)} columns, and a row of {len(long)}: {long[0][:60]!r}; export it afresh"
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    padded = [row + [""] * (len(header) - len(row)) for row in rest]
    return Sheet(header, padded, raw.startswith(b"\xef\xbb\xbf"), delimiter, newline)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Sheet:
    """A new sheet."""
    return Sheet(list(header), [list(row) for row in rows])


def _delimiter(text: str) -> str:
    """What stands between the cells of the first line; platforms use a semicolon where a comma is for decimals."""
    first = text.lstrip().split("\n", 1)[0]
    return max((",", ";", "\t"), key=first.count)
