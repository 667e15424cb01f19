# SPDX-License-Identifier: Apache-2.0
# Asks what the Grafana dashboard asks, of one instance and one of its CPUs. Called by injected.py.
import json
import math
import os
import re
import urllib.error

DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../packaging/prometheus/noised.dashboard.json")


def questions():
    """Of each variable and panel: its title, its expressions, and the labels that it shows of their series."""
    with open(DASHBOARD, encoding="ascii") as file:
        dashboard = json.load(file)
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
            yield variable["name"], [selector], {label}
    for panel in dashboard["panels"]:
        labels = {label for target in panel["targets"]
                  for label in re.findall(r"{{(\w+)}}", target.get("legendFormat", ""))}
        for transformation in panel.get("transformations", []):
            columns = transformation["options"].get("indexByName", [])
            labels.update(name for name in columns if not name.startswith("Value #"))
        yield panel["title"], [target["expr"] for target in panel["targets"]], labels


def complaints(series_of, exposition, instance, cpu):
    """What is wrong with it; `series_of` answers an expression. No answer may be empty: noised exposes what it counts from
    the start, as 0, and what it does not (sources, containment) comes with the noise that was injected."""
    # Values, not the .* of "All", which also matches a label that does not exist.
    values = {"$__rate_interval": "30s", "$__range": "30s", "$instance": instance, "$cpu": str(cpu)}
    exposed = set(re.findall(r"^\w+", exposition, re.MULTILINE))
    for title, expressions, labels in questions():
        seen = set()
        for expression in expressions:
            for metric in set(re.findall(r"\bnoised_\w+", expression)) - exposed:
                yield f"{title}: there is no {metric}"
            for variable, value in values.items():
                expression = expression.replace(variable, value)
            try:
                series = series_of(expression)
            except urllib.error.HTTPError as error:
                yield f"{title}: {expression}: {error.read().decode()}"
                continue
            if not any(math.isfinite(float(each["value"][1])) for each in series):
                yield f"{title}: {expression}: no number"
            seen.update(*(each["metric"] for each in series))
        if labels - seen:
            yield f"{title}: no series has the label {', '.join(labels - seen)}"
