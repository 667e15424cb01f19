# SPDX-License-Identifier: Apache-2.0
# work.py faults|files|helpers SECONDS [DIRECTORY]: a program that touches new memory, one that reads and writes files,
# and one with helper processes.
import mmap
import multiprocessing
import os
import sys
import time

PAGE = 4096
PAGES = 4096
FILE_BYTES = 8 << 20


def touch_memory(until, _directory):
    while time.monotonic() < until:
        with mmap.mmap(-1, PAGES * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_NOHUGEPAGE)
            for page in range(PAGES):
                memory[page * PAGE] = 1


def use_files(until, directory):
    """Writes go to the device at once; what is read was dropped from memory, half of it by major page faults."""
    path = os.path.join(directory, "file")
    block = os.urandom(1 << 20)
    while time.monotonic() < until:
        with open(path, "wb", buffering=0) as file:
            for _ in range(FILE_BYTES // len(block)):
                file.write(block)
                os.fdatasync(file.fileno())
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            file.read(FILE_BYTES // 2)
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
                sum(memory[at] for at in range(FILE_BYTES // 2, FILE_BYTES, 16 * PAGE))


def add_up(count):
    return sum(range(count))


def ask_helpers(until, _directory):
    with multiprocessing.Pool(4) as pool:
        while time.monotonic() < until:
            pool.map(add_up, range(0, 200_000, 1_000))
        pool.close()
        pool.join()


if __name__ == "__main__":
    what = {"faults": touch_memory, "files": use_files, "helpers": ask_helpers}[sys.argv[1]]
    what(time.monotonic() + float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ".")
