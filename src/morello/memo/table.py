"""A table of solved Specs: pages of boxes in a file, with a cache in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from morello.base.errors import TableError, quoted
from morello.base.status import tell
from morello.memo.page import Page, decode, encode, union
from morello.memo.program_table import ProgramTable
from morello.memo.store import Key

CACHE_BYTES = 256 << 20
MOST_KEPT = 64
_ABSENT = 200  # bytes that a cache entry for a missing page takes


class Table(ProgramTable):
    """The results of searches, for reuse by later ones. Several processes may share a file.

    `keeps` is the number of different decisions stored per Spec; 0 is that of an existing
    table, or 1. `cache_bytes` bounds the memory of cached pages. Raises `TableError` if the
    file is not a table, or cannot be written. Damaged pages are not changed, but listed in
    `damaged`; their Specs count as unsolved.
    """

    def __init__(
        self,
        path: str | Path,
        keeps: int = 0,
        *,
        cache_bytes: int = CACHE_BYTES,
        create: bool = True,
    ) -> None:
        if not isinstance(keeps, int) or not 0 <= keeps <= MOST_KEPT:
            raise TableError(
                f"a table keeps 1 to {MOST_KEPT} decisions of a Spec, not {quoted(keeps)}."
            )
        if not isinstance(cache_bytes, int) or cache_bytes < 0:
            raise TableError("the cache of a table cannot have a negative size.")
        if not isinstance(path, str | Path):
            raise TableError(f"the path of a table is a text or a Path, not {quoted(path)}.")
        super().__init__(path, keeps or 1, create=create)
        self.keeps = self._store.keeps
        if keeps not in (0, self.keeps):
            self._store.close()
            raise TableError(
                f"{self.path} was made to keep {self.keeps} decisions of a Spec, not {keeps}; "
                "use another file."
            )
        self._cache: OrderedDict[Key, Page | None] = OrderedDict()
        self._cache_bytes = cache_bytes
        self.cached_bytes = 0

    def close(self) -> None:
        """Close the file. Everything that was added is already written."""
        super().close()
        self._forget_all()

    # ---- boxes

    def page(self, key: Key) -> Page | None:
        """The page of a key, or None if it is missing or damaged."""
        if key in self._cache:
            self._cache.move_to_end(key)
            return self._cache[key]
        page = self._read(key)
        self._remember(key, page)
        return page

    def add(self, pages: Mapping[Key, Page]) -> None:
        """Add the boxes of these pages in one transaction, which is committed when this returns."""
        with self._writing():
            self._add(pages)

    def add_task(self, name: str, pages: Mapping[Key, Page], goals: Mapping[Key, str]) -> None:
        """Add the results of a task, and mark it as done, in one transaction."""
        with self._writing():
            self._add(pages)
            for key, text in goals.items():
                self._store.write_goal(key.space, key.kind, text)
            self._store.mark_done(name)

    def done(self) -> set[str]:
        """The names of the tasks that are done."""
        return self._store.done()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: everything written inside it is committed, or nothing is."""
        try:
            with self._store.writing():
                yield
        except BaseException:
            self._forget_all()  # the cache may hold pages that were rolled back
            raise

    def _add(self, pages: Mapping[Key, Page]) -> None:
        for key, page in pages.items():
            known = self._read(key)
            joined = page if known is None else union([known, page])
            self._store.write(key, encode(joined, str(key)))
            self._remember(key, joined)

    def keys(self, space: str = "", kind: str = "") -> list[Key]:
        """The keys of all pages, or of those of a space or kind."""
        return self._store.keys(space, kind)

    def pages(self) -> Iterator[tuple[Key, Page, int]]:
        """Every undamaged page, with its size in bytes in the file."""
        keys = self.keys()
        for done, key in enumerate(keys):
            tell(done=done, count=len(keys))
            body = self._store.read(key)
            page = self._decoded(key, body)
            if page is not None:
                assert body is not None
                yield key, page, len(body)

    def spaces(self) -> list[str]:
        return self._store.spaces()

    def _read(self, key: Key) -> Page | None:
        return self._decoded(key, self._store.read(key))

    def _decoded(self, key: Key, body: bytes | None) -> Page | None:
        if body is None:
            return None
        try:
            return decode(body, str(key))
        except TableError as error:
            if str(error) not in self.damaged:
                self.damaged.append(str(error))
            return None

    def _remember(self, key: Key, page: Page | None) -> None:
        self._forget(key)
        self._cache[key] = page
        self.cached_bytes += _ABSENT if page is None else page.bytes
        while self.cached_bytes > self._cache_bytes:
            self._forget(next(iter(self._cache)))

    def _forget(self, key: Key) -> None:
        if key in self._cache:
            page = self._cache.pop(key)
            self.cached_bytes -= _ABSENT if page is None else page.bytes

    def _forget_all(self) -> None:
        self._cache.clear()
        self.cached_bytes = 0

    # ---- the whole

    def bytes(self) -> int:
        """The size of the file."""
        return self._store.bytes()

    def check(self) -> list[str]:
        """The defects of the file: of its structure, its pages, and its programs."""
        problems = self._store.check()
        self.damaged.clear()
        try:
            for _ in self.pages():
                pass
            for space, goal in self.goals():
                self.program(space, goal)
        except TableError as error:
            problems.append(str(error))
        return [*problems, *self.damaged]

    def take(self, others: Iterable[Table]) -> None:
        """Merge the contents of other tables into this one."""
        for other in others:
            if other.keeps != self.keeps:
                raise TableError(
                    f"{other.path} keeps {other.keeps} decisions of a Spec, and {self.path} "
                    f"{self.keeps}; only tables that keep as many can be merged."
                )
            with self._writing():
                for key, page, _ in other.pages():
                    self._add({key: page})
                for space, goal in other.goals():
                    text = other.program(space, goal)
                    if text is not None and self.program(space, goal) is None:
                        self._store.write_goal(space, goal, text)
                for name in other.done():
                    self._store.mark_done(name)
