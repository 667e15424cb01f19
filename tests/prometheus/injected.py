# SPDX-License-Identifier: Apache-2.0
# Injects noise, and asks Prometheus for it. Called by tests/prometheus/run.
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import dashboard

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from machine import online_cpus, quiet, running  # noqa: E402

TASK = "synthetic"
METRICS_PORT = 20177
PROMETHEUS_PORT = 20190
TIME_ERROR = 0.02


def fail(message):
    sys.exit(f"tests/prometheus: {message}")


def fetch(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def eventually(what, check):
    for _ in range(150):
        with contextlib.suppress(OSError, ValueError):
            if check():
                return
        time.sleep(0.1)
    fail(f"{what}: not within 15 s")


def series_of(expression):
    url = f"http://127.0.0.1:{PROMETHEUS_PORT}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    return json.loads(fetch(url))["data"]["result"]


def query(expression):
    """The value of an instant query that has one series, or None."""
    result = series_of(expression)
    return float(result[0]["value"][1]) if result else None


def start_settings(directory):
    settings = f"{directory}/prometheus.yml"
    with open(settings, "w", encoding="ascii") as file:
        file.write("global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: noised\n"
                   f"    static_configs: [{{targets: ['127.0.0.1:{METRICS_PORT}']}}]\n")
    return settings


def check_exposition():
    checked = subprocess.run(["promtool", "check", "metrics"], input=fetch(f"http://127.0.0.1:{METRICS_PORT}/metrics"),
                             text=True, capture_output=True, check=False)
    if checked.returncode != 0 or checked.stdout or checked.stderr:
        fail(f"promtool check metrics: {checked.stdout}{checked.stderr}")
    print("promtool check metrics: clean")


def show(what, least, most, queried):
    """Says how what was queried lies to what it must be between, and by what share it is outside of that."""
    error = max(least - queried, queried - most, 0) / most
    print(f"{what:28} injected {least:12.6f} to {most:12.6f}  queried {queried:12.6f}  outside by {error:.2%}", flush=True)
    return error


@contextlib.contextmanager
def counted_runs(cpu, name):
    """Gives what tells how often a task of this name left the CPU until then, by the kernel's own record of switches."""
    tracing = "/sys/kernel/tracing"
    mounted = not os.path.exists(f"{tracing}/instances")
    if mounted:
        subprocess.run(["mount", "-t", "tracefs", "tracefs", tracing], check=True)
    instance = f"{tracing}/instances/noised_prometheus"
    os.mkdir(instance)

    def write(file, text):
        with open(f"{instance}/{file}", "w", encoding="ascii") as out:
            out.write(text)

    def count():
        with open(f"{instance}/trace", encoding="utf-8", errors="replace") as trace:
            return sum(f"[{cpu:03}]" in line and f"prev_comm={name} " in line for line in trace)

    try:
        write("events/sched/sched_switch/filter", f'prev_comm == "{name}"')
        write("events/sched/sched_switch/enable", "1")
        yield count
    finally:
        os.rmdir(instance)
        if mounted:
            subprocess.run(["umount", tracing], check=False)


def inject(build, cpu, name, runs):
    """Makes noise, and returns by what share its time by PromQL lies outside of what it can have been. `runs` counts how
    often its task ran, by the kernel."""
    truth = json.loads(subprocess.run(
        [f"{build}/tests/noise/noise", "task", "--cpu", str(cpu), "--duration", "10s", "--period", "50ms", "--work", "5ms",
         "--name", name], stdout=subprocess.PIPE, check=True, text=True).stdout)
    activations = truth["occurrences"]
    selector = f'{{kind="task",category="preemption",source="{name}",cpu="{cpu}"}}'
    # The series began with the first activation, so its last value is all of them.
    eventually("the last activation",
               lambda: query(f"noised_interruptions_total{selector}") is not None and
               query(f"changes(noised_interruptions_total{selector}[3s])") == 0)
    count = query(f"noised_interruptions_total{selector}")
    # One that is preempted is two runs; and it comes to be there, and may have to wait for others before it begins and
    # when it ends: the kernel knows how often.
    ran = runs()
    print(f"its activations              injected {len(activations):12}  ran {ran:16}  queried {count:12.0f}")
    if not len(activations) <= count <= ran:
        fail(f"{len(activations)} activations, {ran} runs by the kernel's record, but PromQL says {count}")
    # At least what the kernel charges the work with. At most what it charges with the ways in and out, or, where the host
    # took the CPU in the middle of an activation, the time from its beginning to its end by the task's own clock.
    least = sum(each["cpu_ns"] for each in activations) / 1e9
    most = sum(max(each["charged_ns"], each["end_ns"] - each["start_ns"]) for each in activations) / 1e9
    return show("time of the synthetic task", least, most, query(f"noised_noise_seconds_total{selector}"))


def check_dashboard(cpu):
    exposition = fetch(f"http://127.0.0.1:{METRICS_PORT}/metrics")
    complaints = list(dashboard.complaints(series_of, exposition, f"127.0.0.1:{METRICS_PORT}", cpu))
    if complaints:
        fail("\n  ".join(["dashboard", *complaints]))
    print("dashboard: every expression has an answer")


def main():
    build = sys.argv[1]
    cpus = online_cpus()
    cpu = cpus[-1]
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(quiet(build, cpu))
        with open(f"{directory}/noised.conf", "w", encoding="ascii") as settings:
            settings.write('[service]\nmetric_names = "tasks"\n')
        stack.enter_context(running(f"{build}/src/noised/noised", "--config", f"{directory}/noised.conf", "--cpus", cpu,
                                    "--socket", f"{directory}/noised.sock", "--log-level", "warning",
                                    "--web.listen-address", f"127.0.0.1:{METRICS_PORT}"))
        eventually("noised", lambda: fetch(f"http://127.0.0.1:{METRICS_PORT}/metrics"))
        check_exposition()
        stack.enter_context(running(
            "prometheus", f"--config.file={start_settings(directory)}", f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{PROMETHEUS_PORT}", "--log.level=error"))
        eventually("the first scrape", lambda: query('up{job="noised"}') == 1)
        # Nothing has this name but while noise is made.
        runs = stack.enter_context(counted_runs(cpu, TASK))
        if inject(build, cpu, TASK, runs) > TIME_ERROR:
            fail(f"the time of the synthetic task is wrong by more than {TIME_ERROR:.0%}")
        # In one query: two would be of two scrapes.
        ratio = query("sum(noised_noise_seconds_total) / sum(noised_detour_duration_seconds_sum)")
        show("all sources / all detours", 1.0, 1.0, ratio)
        if abs(ratio - 1) > 1e-9:
            fail("the sources do not add up to the detours")
        check_dashboard(cpu)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
