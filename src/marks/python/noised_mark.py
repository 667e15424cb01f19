# SPDX-License-Identifier: Apache-2.0
"""Marks the phases of a Python program for noisectl watch --phases, as noised/mark.h does.

    import noised_mark

    with noised_mark.phase("solve"):
        ...

or begin("solve") and end("solve"). Does nothing unless the environment variable NOISED_MARKS names a directory.
"""
import contextlib
import mmap
import os
import threading
import time

_MAGIC = 0x314B52414D53494E
_CAPACITY = 16384
_NAMES_AT, _NAMES, _NAME_SIZE = 128, 64, 32
_MARKS_AT = 4096
_SIZE = _MARKS_AT + _CAPACITY * 16

_directory = os.environ.get("NOISED_MARKS")
_local = threading.local()


class _Ring:
    def __init__(self):
        pid, tid = os.getpid(), threading.get_native_id()
        path = f"{_directory}/{pid}.{tid}"
        for number in range(16):
            try:
                name = f"{path}.marks" if number == 0 else f"{path}.{number}.marks"
                file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                break
            except FileExistsError:
                continue
        else:
            raise FileExistsError(path)
        try:
            os.posix_fallocate(file, 0, _SIZE)
            self.map = mmap.mmap(file, _SIZE)
        finally:
            os.close(file)
        # Casts, since these store a number at once: the other side may read at any time.
        self.longs = memoryview(self.map).cast("Q")
        self.words = memoryview(self.map).cast("I")
        self.words[2:8] = memoryview(bytes(_header(pid, tid))).cast("I")
        self.map[_NAMES_AT:_NAMES_AT + 5] = b"other"
        self.longs[4] = self.longs[5] = time.monotonic_ns()
        self.longs[0] = _MAGIC
        self.numbers = {}
        self.at = 0

    def number(self, name):
        number = len(self.numbers) + 1
        if number < _NAMES:
            place = _NAMES_AT + number * _NAME_SIZE
            text = name.encode()[:_NAME_SIZE - 1]
            self.map[place:place + len(text)] = text
            self.words[7] = number + 1
        else:
            number = 0
        self.numbers[name] = number
        return number

    def put(self, ns, phase):
        place = _MARKS_AT // 8 + self.at % _CAPACITY * 2
        self.longs[place] = ns
        self.longs[place + 1] = phase
        self.at += 1
        self.longs[8] = self.at


def _header(pid, tid):
    for word in (1, 1, pid, tid, _CAPACITY, 1):  # version, CLOCK_MONOTONIC, .., names
        yield from word.to_bytes(4, "little")


def _ring():
    ring = getattr(_local, "ring", None)
    if ring is None:
        try:
            ring = _local.ring = _Ring()
        except (OSError, ValueError):
            _local.ring = False
    return ring


def _forget():
    global _local
    _local = threading.local()  # the child's own: it must not write into its parent's file


if _directory:
    os.register_at_fork(after_in_child=_forget)

    def begin(name):
        """Here a phase of this name begins."""
        ring = _ring()
        if ring:
            number = ring.numbers.get(name)
            if number is None:
                number = ring.number(name)
            ring.put(time.monotonic_ns(), number * 2)

    def end(name):
        """Here the last phase of this name that this thread began ends."""
        ns = time.monotonic_ns()
        ring = _ring()
        if ring:
            number = ring.numbers.get(name)
            if number is None:
                number = ring.number(name)
            ring.put(ns, number * 2 + 1)
else:

    def begin(name):
        """Here a phase of this name begins."""

    def end(name):
        """Here the last phase of this name that this thread began ends."""


@contextlib.contextmanager
def phase(name):
    """A phase of this name, from here to the end of the block."""
    begin(name)
    try:
        yield
    finally:
        end(name)
