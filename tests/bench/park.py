# SPDX-License-Identifier: Apache-2.0
# Mode auto: how soon a loop is out of the way of a job that comes to its CPU, and what the job notices of it.
import json
import os
import statistics
import sys

from machine import Daemon, fail, output_of, quiet, say

ARRIVALS = int(os.environ.get("NOISED_BENCH_ARRIVALS", "1000"))
SLEEP_S = 0.06  # the loop is back by then: a quiet time of 5 ms, seen at a drain, of which there is one in 25 ms

# A job that sleeps and wakes, by its CPU's own timer. How late it is where nobody else runs is the machine's.
JOB = """
import os, sys, time
cpu, arrivals, sleep = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {cpu})
late = []
for _ in range(arrivals):
    meant = time.monotonic_ns() + int(sleep * 1e9)
    time.sleep(sleep)
    late.append(time.monotonic_ns() - meant)
    until = time.monotonic_ns() + 200_000
    while time.monotonic_ns() < until:
        pass
print(late)
"""


def lateness(cpu, arrivals):
    return json.loads(output_of(sys.executable, "-c", JOB, cpu, arrivals, SLEEP_S))


def park(build, cpu, directory):
    daemon = Daemon(build, cpu, directory)
    daemon.command += ["--mode", "auto", "--quiet-time", "5ms"]
    with quiet(build, cpu):
        alone = lateness(cpu, ARRIVALS // 4)
        with daemon.running():
            beside = lateness(cpu, ARRIVALS)
            aside = daemon.answer("status")["aside"]
    if aside["count"] < ARRIVALS // 2:
        fail(f"the loop stepped aside {aside['count']} times for {ARRIVALS} arrivals")
    if aside["count"] < ARRIVALS:
        say(f"of {ARRIVALS} arrivals, {ARRIVALS - aside['count']} found no loop that had come back")
    print(f"park: a loop steps aside for a job that wakes up on CPU {cpu}, {aside['count']} times;"
          "\n  from the wakeup until the loop's thread sleeps, there or elsewhere"
          f"\n  p50 {aside['p50_ns'] / 1e3:.1f} us, p99 {aside['p99_ns'] / 1e3:.1f} us, max {aside['max_ns'] / 1e3:.1f} us"
          " (aim: below 1000)")
    for who, late in (("alone", alone), ("beside the loop", beside)):
        late.sort()
        print(f"  the job was late by {statistics.median(late) / 1e3:.1f} us (p50), {late[len(late) * 99 // 100] / 1e3:.1f} us (p99) {who}")
    print()
    return {"park": {"p50_ns": aside["p50_ns"], "p99_ns": aside["p99_ns"], "max_ns": aside["max_ns"],
                     "arrivals": aside["count"], "late_p50_ns": round(statistics.median(beside)),
                     "late_alone_p50_ns": round(statistics.median(alone))}}
