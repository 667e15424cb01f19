# SPDX-License-Identifier: Apache-2.0
"""Reads what quickstart printed: quickstart.py CPU TIMERS LINES SCREEN. Called by tests/quickstart.

TIMERS are the timer interrupts of that CPU by the kernel's count, from before to after the run without a terminal."""
import re
import sys

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
TIME = r"([\d.]+) (ns|us|ms|s|m|h)\b"


def fail(message):
    sys.exit(f"tests/quickstart: {message}")


def ns(value, unit):
    return float(value) * UNITS[unit]


def report_of(text):
    at = text.find("== 4/4 report")
    if at < 0:
        fail("it has no report")
    return text[at:]


def sources_of(report):
    """kind:name -> count and total in ns, of the table of sources."""
    found = {}
    table = report[report.find("sources by stolen time"):].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        row = re.match(r"\s*\d+\s+(\S+)\s+(.+?)\s{2,}(\d+)\s+([\d.]+)\s+" + TIME, line)
        if row:
            found[row[2].strip()] = (int(row[3]), ns(row[5], row[6]))
    return found


def check_report(text, where):
    """The timer's count and the time observed."""
    report = report_of(text)
    contained = re.search(r"containment ([\d.]+)%", report)
    if not contained or float(contained[1]) < 99.9:
        fail(f"{where}: containment {contained and contained[1]}%")
    # On some hosts a task now and then still runs the kernel's text from before the tracepoints were switched on: its
    # switches run no program (CONTRIBUTING.md, "Traps"). noised finds and counts them. Anything else must not be.
    lost = re.search(r"^lost: (.*)$", report, re.M)
    if not lost:
        fail(f"{where}: the report does not say what was lost")
    reasons = re.findall(r"\d+ ([a-z_]+) on CPU", lost[1])
    if lost[1] != "nothing lost" and set(reasons) != {"unseen_switch"}:
        fail(f"{where}: something was lost: {lost[1]}")
    # What such a loss touches is unexplained; without it, nothing is.
    if lost[1] == "nothing lost" and re.search(r"unexplained:unexplained|INCOMPLETE", text):
        fail(f"{where}: something is unexplained, though nothing was lost")
    sources = sources_of(report)
    timer = sources.get("vector:local_timer")
    if not timer:
        fail(f"{where}: the report does not name the timer: {sorted(sources)}")
    if not any(name.startswith("hrtimer:tick") for name in sources):
        fail(f"{where}: the report does not name the timer's callback: {sorted(sources)}")
    return timer[0]


def check_lines(text):
    """Each detour that was shown live has causes, and they add up to it as far as their digits tell."""
    lines = re.findall(r"^cpu \d+ +[\d.]+ s +(.*)$", text, re.M)
    if not lines:
        fail("no detour was shown")
    for line in lines:
        times = [(ns(*each), each[0]) for each in re.findall(TIME, re.sub(r"\(.*?\)", "", line))]
        total, parts = times[0][0], sum(each for each, _ in times[1:])
        # Three digits each: half of the last one may be missing or too much.
        rounding = sum(each * 0.006 + 1 for each, _ in times)
        if len(times) < 2 or abs(total - parts) > rounding:
            fail(f"a detour whose causes are not all of it ({parts:.0f} of {total:.0f} ns): {line}")
    if not any("local_timer" in line for line in lines):
        fail("no detour names the timer")
    return len(lines)


def main():
    cpu, timers = sys.argv[1], int(sys.argv[2])
    with open(sys.argv[3], encoding="utf-8") as file:
        text = file.read()
    with open(sys.argv[4], encoding="utf-8", errors="replace") as file:
        screen = file.read().replace("\r", "")
    shown = check_lines(text)
    count = check_report(text, "without a terminal")
    # The loop keeps the CPU busy, so that most of its ticks of that time are while it runs.
    if not timers / 2 <= count <= timers:
        fail(f"the report has {count} timer interrupts of CPU {cpu}; the kernel counted {timers}")
    check_report(screen, "on a terminal")
    if "local_timer" not in screen[:screen.find("== 4/4 report")]:
        fail("the live view does not name the timer")
    print(f"good: {shown} detours add up; {count} timer interrupts in the report, {timers} by the kernel's count")


if __name__ == "__main__":
    main()
