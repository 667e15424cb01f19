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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from machine import online_cpus, quiet, running  # noqa: E402

TASK = "prom-synthetic"
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


def query(expression):
    """The value of an instant query that has one series, or None."""
    url = f"http://127.0.0.1:{PROMETHEUS_PORT}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    result = json.loads(fetch(url))["data"]["result"]
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


def compare(what, queried, injected, allowed):
    error = (queried - injected) / injected
    print(f"{what:28} injected {injected:12.6f}  queried {queried:12.6f}  {error:+.2%}")
    if abs(error) > allowed:
        fail(f"{what}: injected {injected}, but PromQL says {queried}")


def main():
    build = sys.argv[1]
    cpus = online_cpus()
    cpu = cpus[-1]
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(quiet(cpu))
        open(f"{directory}/empty.conf", "w", encoding="ascii").close()
        stack.enter_context(running(f"{build}/src/service/noised", "--config", f"{directory}/empty.conf", "--cpus", cpu,
                                    "--socket", f"{directory}/noised.sock", "--log-level", "warning",
                                    "--web.listen-address", f"127.0.0.1:{METRICS_PORT}"))
        eventually("noised", lambda: fetch(f"http://127.0.0.1:{METRICS_PORT}/metrics"))
        check_exposition()
        stack.enter_context(running(
            "prometheus", f"--config.file={start_settings(directory)}", f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{PROMETHEUS_PORT}", "--log.level=error"))
        eventually("the first scrape", lambda: query('up{job="noised"}') == 1)
        truth = json.loads(subprocess.run(
            [f"{build}/tests/noise/noise", "task", "--cpu", cpu, "--duration", "10s", "--period", "50ms", "--work", "5ms",
             "--name", TASK], stdout=subprocess.PIPE, check=True, text=True).stdout)
        activations = truth["occurrences"]
        injected = sum(each["cpu_ns"] for each in activations) / 1e9
        selector = f'{{kind="task",category="preemption",source="{TASK}",cpu="{cpu}"}}'
        # The series began with the first activation, so its last value is all of them.
        eventually("the last activation",
                   lambda: query(f"noised_interruptions_total{selector}") ==
                   query(f"max_over_time(noised_interruptions_total{selector}[3s])") ==
                   query(f"min_over_time(noised_interruptions_total{selector}[3s])"))
        compare("time of the synthetic task", query(f"noised_noise_seconds_total{selector}"), injected, TIME_ERROR)
        count = query(f"noised_interruptions_total{selector}")
        # One that is interrupted by another task is two intervals.
        if count < len(activations):
            fail(f"{len(activations)} activations, but PromQL says {count}")
        print(f"its activations              injected {len(activations):12}  queried {count:12.0f}")
        # In one query: two would be of two scrapes.
        ratio = query("sum(noised_noise_seconds_total) / sum(noised_detour_duration_seconds_sum)")
        compare("all sources / all detours", ratio, 1.0, 1e-9)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
