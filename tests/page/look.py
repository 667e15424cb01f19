# SPDX-License-Identifier: Apache-2.0
"""look.py CHROMIUM DIRECTORY: opens the pages there, checks what was drawn against the reports, and saves screenshots."""
import json
import sys
import time

from chromium import Chromium

CHARTS = ['category-chart', 'source-chart', 'timeline-chart', 'histogram-charts', 'survival-chart', 'density-chart']
# The length of what a chart's paths, bars and dots are made of: nothing drawn is 0.
DRAWN = ("[...document.querySelectorAll('#%s svg path, #%s svg rect.part')]"
         ".reduce((sum, it) => sum + (it.getAttribute('d') || 'x').length, 0)")
# The texts of the first table whose caption begins so, row by row.
TABLE = """[...[...document.querySelectorAll('caption')].find((it) => it.textContent.startsWith('%s')).parentElement
  .querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"""
SUMS = """(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const columns = data.timeline.lanes[0].slice(0, data.categories.length);
  const sums = {};
  columns.forEach((values, i) => { if (values) sums[data.categories[i]] = values.reduce((a, b) => a + b, 0); });
  return {sums, categories: data.all.categories, names: data.categories};
})()"""


def check(condition, what):
    if not condition:
        raise SystemExit('tests/page/look.py: ' + what)


def check_drawn(browser, name):
    check(browser.evaluate('document.documentElement.dataset.drawn') == 'all', f'{name}: the scripts did not reach their end')
    for chart in CHARTS:
        check(browser.evaluate(DRAWN % (chart, chart)) > 0, f'{name}: {chart} is empty')
    for text in ('NaN', 'undefined', 'Infinity'):
        found = browser.evaluate(f"[...document.querySelectorAll('main *')].some((it) => it.outerHTML.includes('{text}'))")
        check(not found, f'{name}: there is a {text} in it')


def check_sums(browser, name, report):
    """What the chart over time is made of sums to the report, category by category."""
    expected = {}
    for source in report['sources']:
        expected[source['category']] = expected.get(source['category'], 0) + source['total_ns']
    found = browser.evaluate(SUMS)
    check(found['sums'] == {key: ns for key, ns in expected.items() if ns}, f'{name}: {found["sums"]} is not {expected}')


def check_harmless(browser, name, report):
    check(browser.evaluate('document.images.length') == 0, f'{name}: a name became an image')
    check(browser.evaluate('document.scripts.length') == 2, f'{name}: a name became a script')
    check(browser.evaluate(f"document.querySelector('h1').textContent.includes({json.dumps(report['host'])})"),
          f'{name}: the host is not told as it is')


def check_projection(browser, name):
    """Each size of the job is a point, or says what it needs, as in the table."""
    sizes = browser.evaluate("JSON.parse(document.getElementById('data').textContent).projection.sizes")
    check(len(sizes) == 7, f'{name}: {len(sizes)} sizes of the job')
    known = [size for size in sizes if size['excess'] and size['excess'][1] > 0]
    drawn = browser.evaluate("document.querySelectorAll('#projection-chart circle').length")
    check(drawn == len(known), f'{name}: {drawn} sizes are drawn of {len(known)}')
    texts = ' '.join(browser.evaluate("[...document.querySelectorAll('#projection-chart text')].map((it) => it.textContent)"))
    table = browser.evaluate(TABLE % 'The job by its size')
    for size, row in zip(sizes, table):
        check(row[3] == size['text'], f'{name}: the table says {row[3]} of {size}')
        check(size in known or size['text'] in texts, f'{name}: the chart does not say {size["text"]}')
    return len(known)


def check_phases(browser, name, cpus):
    drawn = browser.evaluate("[...document.querySelectorAll('#phase-charts svg')].filter((it) => it.querySelector('circle')).length")
    check(drawn == cpus, f'{name}: phases of {drawn} CPUs are drawn, not of {cpus}')
    told = browser.evaluate("document.body.textContent.includes('Nothing was measured in phases of fixed work')")
    check(told == (cpus == 0), f'{name}: whether there are phases is told wrong')
    if cpus:
        rows = browser.evaluate(TABLE % 'What an activation costs a phase')
        check(any(' to ' in row[3] for row in rows), f'{name}: no source has an indirect cost')


def check_advice(browser, name, report):
    """Its rows add up to the stolen time, to the nanosecond."""
    rows = browser.evaluate("[...[...document.querySelectorAll('caption')].find((it) => it.textContent.startsWith('Noise by what'))"
                            ".parentElement.querySelectorAll('tbody tr')].map((it) => it.cells[1].firstElementChild.title)")
    *parts, whole = [int(row.replace(',', '').replace(' ns', '')) for row in rows]
    stolen = sum(cpu['detour_ns'] for cpu in report['cpus'])
    check(sum(parts) == whole == stolen, f'{name}: advice is of {sum(parts)} of {whole} ns, of {stolen} that were stolen')


def zoom(browser, name):
    """By wheel and by dragging: the chart must show another time afterwards."""
    times = "[...document.querySelectorAll('#timeline-chart svg text')].map((it) => it.textContent).join()"
    place = "(() => { const it = document.querySelector('#timeline-chart svg'); it.scrollIntoView({block: 'center'});" \
            " const box = it.getBoundingClientRect(); return [box.left, box.top + 200, box.width]; })()"
    before = browser.evaluate(times)
    left, top, width = browser.evaluate(place)
    for _ in range(8):
        browser.mouse('mouseWheel', left + width / 2, top, deltaX=0, deltaY=-100)
    time.sleep(0.3)
    check(browser.evaluate(times) != before, f'{name}: the wheel does not zoom')
    left, top, width = browser.evaluate(place)
    before = browser.evaluate(times)
    for kind, part in (('mousePressed', 0.4), ('mouseMoved', 0.5), ('mouseReleased', 0.6)):
        browser.mouse(kind, left + width * part, top, button='left', buttons=1, clickCount=1)
    check(browser.evaluate(times) != before, f'{name}: dragging does not choose a time')
    left, top, width = browser.evaluate(place)
    for part in range(3, 18):
        browser.mouse('mouseMoved', left + width * part / 20, top + 110)
        if not browser.evaluate("document.getElementById('tooltip').hidden"):
            break
    check('stolen' in browser.evaluate("document.getElementById('tooltip').textContent"), f'{name}: no tooltip')


def look(browser, directory, name):
    with open(f'{directory}/{name}.json', encoding='utf-8') as file:
        report = json.load(file)
    browser.look(1280)
    browser.open(f'{directory}/{name}.html')
    check_drawn(browser, name)
    check_sums(browser, name, report)
    check_harmless(browser, name, report)
    known = check_projection(browser, name)
    check(known > 0 or name == 'many', f'{name}: nothing of the projection is known')
    check_phases(browser, name, 4 if name == 'hostile' else 0)
    check_advice(browser, name, report)
    browser.screenshot(f'{directory}/{name}-light.png')
    browser.look(1280, scheme='dark')
    browser.screenshot(f'{directory}/{name}-dark.png')
    for width in (480, 800, 1900):
        browser.look(width)
        check(browser.evaluate('document.documentElement.scrollWidth') <= width, f'{name}: wider than a window of {width}')
        browser.screenshot(f'{directory}/{name}-{width}.png')
    browser.look(1280)
    if browser.evaluate("document.querySelectorAll('#cpu option').length") > 0:
        browser.evaluate("(() => { const it = document.getElementById('cpu'); it.value = it.options.length - 2;"
                         " it.dispatchEvent(new Event('change')); })()")
        check_drawn(browser, name + ', one CPU')
        browser.screenshot(f'{directory}/{name}-cpu.png')
    zoom(browser, name)
    browser.screenshot(f'{directory}/{name}-zoom.png', whole=False)
    browser.look(1000, media='print')
    browser.screenshot(f'{directory}/{name}-print.png')


def main():
    program, directory = sys.argv[1:]
    for name in ('page', 'hostile', 'many'):
        browser = Chromium(program)
        try:
            look(browser, directory, name)
        finally:
            browser.close()
        check(not browser.problems, f'{name}: ' + '; '.join(browser.problems[:5]))
        print(f'{name}: drawn, adds up, no error, no request')


main()
