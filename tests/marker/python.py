# SPDX-License-Identifier: Apache-2.0
"""Marks 50 phases in each of two threads and a forked child, by the Python module."""
import os
import threading

import noised_mark


def work():
    for _ in range(50):
        with noised_mark.phase("solve"):
            sum(range(10000))


other = threading.Thread(target=work)
other.start()
work()
other.join()
child = os.fork()
if child == 0:
    work()
    os._exit(0)
os.waitpid(child, 0)
