"""The memory that threads of hosts work in."""

from __future__ import annotations

import _ctypes
import ctypes
import shutil
from pathlib import Path

import pytest
from tests.support import compile_c

from morello.abi.hosts import POSIX
from morello.abi.plans import text
from morello.targets import find_target

MOST_KEYS = 1024
"""How many keys for threads a process has, with glibc."""

_FREE = """
#include <stdlib.h>

static void *freed;

static void note(void *memory) { freed = memory; } /* nothing else is given this memory */

#define free note
"""

_CALLS = """
char *arena(size_t bytes) { return abi_arena(bytes); }

static pthread_key_t late;
static int is_sound;

static void call_late(void *bytes)
{
    char *memory = abi_arena((size_t)bytes);
    is_sound = memory && memory != freed && memory != (char *)freed + 64;
}

static void *call_and_end(void *bytes)
{
    abi_arena((size_t)bytes);
    pthread_key_create(&late, call_late);
    pthread_setspecific(late, bytes);
    return 0;
}

int is_sound_to_the_end(size_t bytes)
{
    pthread_t thread;
    pthread_create(&thread, 0, call_and_end, (void *)bytes);
    pthread_join(thread, 0);
    pthread_key_delete(late);
    return freed && is_sound;
}

char *arena_without_keys(void)
{
    static pthread_key_t keys[100000];
    int count = 0;
    while (count < 100000 && !pthread_key_create(&keys[count], 0))
        count++;
    char *memory = abi_arena(64);
    while (count)
        pthread_key_delete(keys[--count]);
    return memory;
}
"""


@pytest.fixture
def library(tmp_path: Path) -> ctypes.CDLL:
    source = POSIX + _FREE + text("plan.h") + _CALLS
    result = compile_c(source, find_target("native"), tmp_path)
    result.arena.restype = result.arena_without_keys.restype = ctypes.c_void_p
    return result


def test_memory_is_kept_and_grows(library: ctypes.CDLL) -> None:
    first = library.arena(ctypes.c_size_t(128))
    assert first % 64 == 0
    ctypes.memset(first, 1, 128)
    assert library.arena(ctypes.c_size_t(64)) == first
    large = library.arena(ctypes.c_size_t(1 << 20))
    assert large % 64 == 0
    ctypes.memset(large, 1, 1 << 20)
    assert library.arena(ctypes.c_size_t(1 << 20)) == large


def test_functions_may_be_called_as_a_thread_ends(library: ctypes.CDLL) -> None:
    assert library.is_sound_to_the_end(ctypes.c_size_t(1 << 10))


def test_without_keys_for_threads_there_is_no_memory(library: ctypes.CDLL) -> None:
    assert library.arena_without_keys() is None


def test_libraries_that_are_unloaded_keep_no_key(library: ctypes.CDLL, tmp_path: Path) -> None:
    copy = shutil.copyfile(library._name, tmp_path / "copy.so")
    for _ in range(MOST_KEYS + 1):
        loaded = ctypes.CDLL(str(copy))
        loaded.arena.restype = ctypes.c_void_p
        assert loaded.arena(ctypes.c_size_t(64))
        _ctypes.dlclose(loaded._handle)
