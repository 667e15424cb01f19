// SPDX-License-Identifier: Apache-2.0
// The synthetic OS noise chart. What is looked at is the time from view.from to view.to.
const narrowestQuantum = 3;  // pixels
const plotHeight = 240;
const wholeView = () => ({from: 0, to: Math.max(1, data.span_ns)});
let view = wholeView();
let cutPeaks = false;

function zoomTo(from, to) {
  const least = Math.min(data.span_ns, 4 * timelineOfChosen().width_ns);
  const size = Math.max(least, Math.min(to - from, data.span_ns));
  const start = Math.max(0, Math.min(from + (to - from - size) / 2, data.span_ns - size));
  view = {from: start, to: start + size};
  drawTimeline();
}
const zoomBy = (factor, around) => zoomTo(around - (around - view.from) * factor, around + (view.to - around) * factor);
const moveBy = (part) => zoomTo(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));

function timelineButtons(figure) {
  const bar = element('div', {class: 'buttons'}, figure);
  const middle = () => (view.from + view.to) / 2;
  const buttons = [['+', 'zoom in', () => zoomBy(0.5, middle())], ['−', 'zoom out', () => zoomBy(2, middle())],
    ['◀', 'earlier', () => moveBy(-0.5)], ['▶', 'later', () => moveBy(0.5)], ['all', 'the whole time', () => zoomTo(0, data.span_ns)]];
  for (const [text, label, action] of buttons) {
    element('button', {type: 'button', 'aria-label': label, title: label}, bar, text).addEventListener('click', action);
  }
  const label = element('label', {}, bar);
  const box = element('input', {type: 'checkbox'}, label);
  box.checked = cutPeaks;
  label.append(' cut the highest peaks');
  box.addEventListener('change', () => { cutPeaks = box.checked; drawTimeline(); });
  element('span', {class: 'remark hint'}, bar, 'wheel: zoom; drag: choose a time');
}

function highest(shown) {
  const shares = shown.map((it) => it.share).sort((a, b) => a - b);
  const top = shares[shares.length - 1] || 0;
  const most = cutPeaks ? shares[Math.floor((shares.length - 1) * 0.95)] * 1.3 || top : top;
  return Math.max(Math.min(most, top), 1e-9) * 1.05;
}

function drawQuanta(svg, box, xScale, yScale, shown) {
  const bars = categories.map(() => new Rectangles());
  const missing = new Rectangles();
  const incomplete = new Rectangles();
  const cut = new Rectangles();
  for (const it of shown) {
    const x = Math.max(box.left, xScale(it.start));
    const width = Math.min(box.right, xScale(it.stop)) - x;
    let below = 0;
    for (let category = 0; it.observed > 0 && category < categories.length; ++category) {
      const y = yScale(below / it.observed);
      below += it.sums[category];
      bars[category].add(x, Math.max(box.top, yScale(below / it.observed)), width, y - Math.max(box.top, yScale(below / it.observed)));
    }
    if (yScale(it.share) < box.top - 0.5) cut.add(x, box.top - 4, width, 3);
    const blind = it.within > 0 ? it.sums[columns.missing] / it.within : 0;
    if (blind > 0) missing.add(x, box.bottom - blind * (box.bottom - box.top), Math.max(width, 2), blind * (box.bottom - box.top));
    if (it.sums[columns.incomplete] > 0) incomplete.add(x, box.bottom + 1, Math.max(width, 2), 4);
  }
  missing.draw(svg, 'missing');
  bars.forEach((bar, category) => bar.draw(svg, `c-${categories[category]}`));
  incomplete.draw(svg, 'incomplete');
  cut.draw(svg, 'cut');
}

function quantumLines(it) {
  const lines = categories.map((name, i) => i).filter((i) => it.sums[i] > 0)
    .map((i) => [categoryLabel(i), `${exact(it.sums[i])} (${share(it.sums[i], it.observed)})`, i]).reverse();
  lines.push(['stolen', `${exact(it.stolen)} (${share(it.stolen, it.observed)})`], ['observed', exact(it.observed)]);
  if (it.sums[columns.missing] > 0) lines.push(['not observed', exact(it.sums[columns.missing])]);
  lines.push(['detours that began', grouped(it.sums[columns.detours] || 0)]);
  if (it.sums[columns.incomplete] > 0) lines.push(['of them incomplete', grouped(it.sums[columns.incomplete])]);
  return lines;
}

const timeTitle = (it) => `${(it.start / 1e9).toFixed(6)} to ${(it.stop / 1e9).toFixed(6)} s`;

function timelineTable(figure, shown) {
  const most = 500;
  const title = `Table of the ${shown.length} quanta shown${shown.length > most ? ` (the first ${most})` : ''}`;
  tableBelow(figure, title, () => {
    const present = categories.map((name, i) => i).filter((i) => shown.some((it) => it.sums[i] > 0));
    const rows = shown.slice(0, most).map((it) => [timeTitle(it), ...present.map((i) => grouped(it.sums[i])), grouped(it.stolen), grouped(it.observed),
      grouped(it.sums[columns.missing] || 0)]);
    return [['time', ...present.map((i) => `${categoryLabel(i)}, ns`), 'stolen, ns', 'observed, ns', 'not observed, ns'], ...rows];
  });
}

function drawTimeline() {
  const figure = document.getElementById('timeline-chart');
  hideTooltip();
  figure.replaceChildren();
  const heading = caption(figure, '');
  timelineButtons(figure);
  const timeline = timelineOfChosen();
  const {svg, width, height} = chart(figure, stripHeight + plotHeight + 96, `Noise over time, ${chosenName()}`);
  const strip = {left: 70, right: width - 14, top: 22, bottom: stripHeight};
  const box = {left: strip.left, right: strip.right, top: stripHeight + 44, bottom: height - 46};
  const made = quanta(timeline, view.from, view.to, Math.floor((box.right - box.left) / narrowestQuantum));
  heading.textContent = `Noise over time, ${chosenName()}: each bar is a quantum of ${duration(made.width_ns)}` +
    (made.width_ns > timeline.width_ns ? ` (zoomed in: ${duration(timeline.width_ns)})` : '');
  const xScale = linear(view.from, view.to, box.left, box.right);
  const yScale = linear(0, highest(made.quanta), box.bottom, box.top);
  leftAxis(svg, box, yScale, roundTicks(0, highest(made.quanta), 5), (tick) => `${Number((tick * 100).toPrecision(3))}%`, 'stolen, share of the observed time of a quantum');
  drawQuanta(svg, box, xScale, yScale, made.quanta);
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10((view.to - view.from) / 6e9))));
  bottomAxis(svg, {...box, bottom: box.bottom + 5}, xScale, roundTicks(view.from, view.to, Math.max(2, width / 130)), (tick) => (tick / 1e9).toFixed(digits), 'seconds since observation began');
  const findDetour = drawStrip(svg, strip, xScale, view.from, view.to);
  withTooltip(svg, (x, y) => {
    if (y < strip.bottom + 8) return findDetour(x, y);
    const it = made.quanta.find((one) => x >= xScale(one.start) && x < xScale(one.stop));
    return it && x >= box.left && x <= box.right ? [timeTitle(it), quantumLines(it)] : undefined;
  });
  const any = (column) => timeline.lane[column] !== null && timeline.lane[column] !== undefined;
  legend(figure, categories.map((name, i) => i).filter(any), [...(any(columns.missing) ? [['missing', 'not observed (full height: nothing was)']] : []),
    ...(any(columns.incomplete) ? [['incomplete', 'incomplete detours']] : [])]);
  timelineTable(figure, made.quanta);
  listenToTimeline(svg, box, linear(box.left, box.right, view.from, view.to));
}

function listenToTimeline(svg, box, timeAt) {
  const place = (event) => {
    const outline = svg.getBoundingClientRect();
    const x = ((event.clientX - outline.left) * svg.viewBox.baseVal.width) / outline.width;
    return Math.max(box.left, Math.min(box.right, x));
  };
  svg.addEventListener('wheel', (event) => {
    event.preventDefault();
    zoomBy(event.deltaY > 0 ? 1.25 : 0.8, timeAt(place(event)));
  }, {passive: false});
  let start;
  const selection = element('rect', {y: box.top, height: box.bottom - box.top, class: 'selection', width: 0}, svg);
  svg.addEventListener('pointerdown', (event) => {
    start = place(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointermove', (event) => {
    if (start === undefined) return;
    selection.setAttribute('x', Math.min(start, place(event)));
    selection.setAttribute('width', Math.abs(place(event) - start));
  });
  svg.addEventListener('pointerup', (event) => {
    const [from, to] = [start, place(event)].sort((a, b) => a - b);
    start = undefined;
    if (to - from > 4) zoomTo(timeAt(from), timeAt(to));
    else selection.setAttribute('width', 0);
  });
}
