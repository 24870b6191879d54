"""A table's SQLite file: writes are transactions, and other processes can read meanwhile.

The key of a page consists of the space (which programs exist and what they cost: machine,
calibration, version), the kind (an operation and its dtypes) and the part (memory levels).
The file also stores programs of whole goals.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from morello.base.errors import FileError, TableError
from morello.base.files import check_writable

VERSION = 2
LEAST_BYTES = 512
"""The smallest size of a page, and so of a database that is not empty."""
APPLICATION = 0x4D54424C  # "MTBL"
PATIENCE_S = 60.0
"""How long a writer waits for another one, in seconds."""

_SCHEMA = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE spaces (id INTEGER PRIMARY KEY, space TEXT NOT NULL UNIQUE)",
    "CREATE TABLE kinds (id INTEGER PRIMARY KEY, space INTEGER NOT NULL, kind TEXT NOT NULL, "
    "UNIQUE (space, kind))",
    "CREATE TABLE pages (kind INTEGER NOT NULL, part TEXT NOT NULL, body BLOB NOT NULL, "
    "PRIMARY KEY (kind, part))",
    "CREATE TABLE goals (space INTEGER NOT NULL, goal TEXT NOT NULL, body BLOB NOT NULL, "
    "PRIMARY KEY (space, goal))",
    "CREATE TABLE tasks (name TEXT PRIMARY KEY) WITHOUT ROWID",
)


@dataclass(frozen=True)
class Key:
    """The key of a page."""

    space: str
    kind: str
    part: str

    def __str__(self) -> str:
        return f"{self.kind} {self.part} {self.space}"


class Store:
    """A table's file. Methods raise `TableError` if it cannot be accessed, or is damaged.

    With `create`, the file must be writable, and is created if it is missing. Without, it must
    exist, and may be read-only.
    """

    def __init__(
        self, path: Path, keeps: int, *, create: bool = True, patience_s: float = PATIENCE_S
    ) -> None:
        """`patience_s` is how long to wait for another writer, in seconds."""
        self.path, self._patience_s = path, patience_s
        self._spaces: dict[str, int] = {}
        self._kinds: dict[tuple[str, str], int] = {}
        if create and str(path) != ":memory:":
            try:
                check_writable(path)
            except FileError as error:
                raise TableError(str(error)) from None
        if not create and not (path.is_file() and path.stat().st_size):
            raise TableError(f"there is no table at {path}; precompute one, or use --db.")
        _check_size(path)
        with self._explained():
            self._file = _connected(path, patience_s)
            if not create:
                self._file = _readable(self._file, path)
            self._open(keeps)

    def _open(self, keeps: int) -> None:
        file = self._file
        if not file.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            file.execute("PRAGMA page_size = 1024")
            self._write_ahead()
            with self.writing():
                if not file.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
                    for statement in _SCHEMA:
                        file.execute(statement)
                    file.execute(f"PRAGMA application_id = {APPLICATION}")
                    file.execute(f"PRAGMA user_version = {keeps}")
                    rows = [("version", str(VERSION)), ("keeps", str(keeps))]
                    file.executemany("INSERT INTO about VALUES (?, ?)", rows)
        (application,) = file.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION:
            raise TableError(f"{self.path} is no table of Morello's; give another file.")
        about = dict(file.execute("SELECT name, value FROM about").fetchall())
        if about.get("version") != str(VERSION):
            raise TableError(
                f"{self.path} has format {about.get('version')}, and this Morello reads "
                f"{VERSION}; precompute it again."
            )
        # `keeps` and the schema have no checksum, so each is compared with a second copy.
        (self.keeps,) = file.execute("PRAGMA user_version").fetchone()
        schema = file.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if about.get("keeps") != str(self.keeps) or {sql for (sql,) in schema} != set(_SCHEMA):
            raise TableError(f"{self.path} is damaged; precompute it again.")
        file.execute("PRAGMA synchronous = NORMAL")

    def _write_ahead(self) -> None:
        """Switch to write-ahead logging; retries, as SQLite's own timeout does not apply here."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                self._file.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def close(self) -> None:
        self._file.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: everything written inside it is committed, or nothing is."""
        with self._explained():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._file.execute("COMMIT")
            except BaseException:
                self._kinds.clear()  # cached ids may have been rolled back
                self._spaces.clear()
                if self._file.in_transaction:  # SQLite may have rolled back already
                    self._file.execute("ROLLBACK")
                raise

    # ---- pages

    def read(self, key: Key) -> bytes | None:
        """The body of a key's page, or None if there is none."""
        kind = self._kind(key.space, key.kind)
        if kind is None:
            return None
        rows = self._query("SELECT body FROM pages WHERE kind = ? AND part = ?", kind, key.part)
        return _bytes(rows[0][0]) if rows else None

    def write(self, key: Key, body: bytes) -> None:
        kind = self._kind(key.space, key.kind)
        with self._explained():
            if kind is None:
                statement = "INSERT INTO kinds (space, kind) VALUES (?, ?)"
                self._file.execute(statement, (self._new_space(key.space), key.kind))
                kind = self._kind(key.space, key.kind)
            statement = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?)"
            self._file.execute(statement, (kind, key.part, body))

    def keys(self, space: str = "", kind: str = "") -> list[Key]:
        """All keys, or those of a space or a kind, in order."""
        rows = self._query(
            "SELECT spaces.space, kinds.kind, part FROM pages "
            "JOIN kinds ON kinds.id = pages.kind JOIN spaces ON spaces.id = kinds.space "
            "WHERE (? = '' OR spaces.space = ?) AND (? = '' OR kinds.kind = ?) "
            "ORDER BY spaces.space, kinds.kind, part",
            space, space, kind, kind,
        )  # fmt: skip
        return [Key(*row) for row in rows]

    def _kind(self, space: str, kind: str) -> int | None:
        name = space, kind
        if name not in self._kinds:
            query = "SELECT id FROM kinds WHERE space = ? AND kind = ?"
            rows = self._query(query, self._space(space), kind)
            if not rows:
                return None
            self._kinds[name] = rows[0][0]
        return self._kinds[name]

    def _space(self, space: str) -> int | None:
        if space not in self._spaces:
            rows = self._query("SELECT id FROM spaces WHERE space = ?", space)
            if not rows:
                return None
            self._spaces[space] = rows[0][0]
        return self._spaces[space]

    def _new_space(self, space: str) -> int | None:
        if self._space(space) is None:
            self._file.execute("INSERT INTO spaces (space) VALUES (?)", (space,))
        return self._space(space)

    def spaces(self) -> list[str]:
        """The spaces that have stored results, sorted."""
        return [space for (space,) in self._query("SELECT space FROM spaces ORDER BY 1")]

    # ---- whole goals, and tasks that are done

    def read_goal(self, space: str, goal: str) -> str | None:
        """The program of a goal, or None if there is none; raises `TableError` if it is damaged."""
        query = "SELECT body FROM goals WHERE space = ? AND goal = ?"
        rows = self._query(query, self._space(space), goal)
        if not rows:
            return None
        body = _bytes(rows[0][0])
        if body[:16] != _digest(space, goal, body[16:]):
            raise TableError(f"the program of {goal!s:.80} in {self.path} is damaged.")
        return zlib.decompress(body[16:]).decode()

    def write_goal(self, space: str, goal: str, text: str) -> None:
        body = zlib.compress(text.encode(), 9)
        with self._explained():
            statement = "INSERT OR REPLACE INTO goals VALUES (?, ?, ?)"
            body = _digest(space, goal, body) + body
            self._file.execute(statement, (self._new_space(space), goal, body))

    def drop_old_goals(self, most: int) -> None:
        """Delete the programs written before the newest `most`, unless tasks rely on them."""
        with self._explained():
            self._file.execute(
                "DELETE FROM goals WHERE rowid <= (SELECT max(rowid) FROM goals) - ? "
                "AND NOT EXISTS (SELECT 1 FROM tasks)",
                (most,),
            )

    def goals(self) -> list[tuple[str, str]]:
        """The spaces and names of all goals with programs."""
        return self._query(
            "SELECT spaces.space, goal FROM goals JOIN spaces ON spaces.id = goals.space "
            "ORDER BY 1, 2"
        )

    def done(self) -> set[str]:
        """The names of the tasks that are done."""
        return {name for (name,) in self._query("SELECT name FROM tasks")}

    def mark_done(self, name: str) -> None:
        with self._explained():
            self._file.execute("INSERT OR REPLACE INTO tasks VALUES (?)", (name,))

    # ---- the file itself

    def check(self) -> list[str]:
        """The defects that SQLite finds in the file."""
        try:
            rows = self._file.execute("PRAGMA integrity_check").fetchall()
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [text for (text,) in rows if text != "ok"]

    def bytes(self) -> int:
        """The size of the file's used pages, including those still in the write-ahead log."""
        pages, size, free = (
            self._query(f"PRAGMA {name}")[0][0]
            for name in ("page_count", "page_size", "freelist_count")
        )
        return int((pages - free) * size)

    def _query(self, text: str, *values: object) -> list[Any]:
        with self._explained():
            return self._file.execute(text, values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise TableError(f"{self.path}: {error}; {_remedy(error)}.") from None
        except sqlite3.ProgrammingError as error:
            if "closed" not in str(error):
                raise
            raise TableError(f"the table {self.path} is closed; open it again.") from None
        # SQLite's messages about a damaged file may be no valid UTF-8.
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise TableError(
                f"{self.path} is damaged, or no table ({error}); see `morello table check`."
            ) from None


def _check_size(path: Path) -> None:
    """Raise `TableError` for a file that is too short to be a database.

    SQLite treats a very short one as empty, and overwrites it. The file is not opened: closing it
    again would release the locks that other connections of this process hold.
    """
    if path.is_file() and 0 < path.stat().st_size < LEAST_BYTES:
        raise TableError(f"{path} is damaged, or no table; give another file.")


def _connected(
    path: Path | str, patience_s: float = PATIENCE_S, *, uri: bool = False
) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=patience_s, isolation_level=None, check_same_thread=False, uri=uri
    )


def _readable(file: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection, or an immutable one if SQLite cannot write its log beside the file.

    An immutable connection ignores the write-ahead log, so there must be none with content.
    """
    try:
        file.execute("SELECT 1 FROM sqlite_master LIMIT 1")
    except sqlite3.OperationalError as error:
        log = Path(f"{path}-wal")
        unwritable = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if error.sqlite_errorcode & 0xFF not in unwritable or (log.exists() and log.stat().st_size):
            raise
        file.close()
        return _connected(f"file:{quote(str(path))}?immutable=1", uri=True)
    return file


def _remedy(error: Exception) -> str:
    text = str(error)
    remedies = {
        "locked": "another process writes to it; try again",
        "full": "free some space",
        "unable to open": "give a file that can be read, in a folder that can be written",
        "readonly": "give a file that can be written",
    }
    return next((remedy for part, remedy in remedies.items() if part in text), "give another file")


def _bytes(body: object) -> bytes:
    """The body as bytes; empty if damage has changed its type."""
    return body if isinstance(body, bytes) else b""


def _digest(space: str, goal: str, body: bytes) -> bytes:
    name = f"{space}\n{goal}\n".encode()
    return hashlib.blake2b(name + body, digest_size=16).digest()
