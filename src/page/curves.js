// SPDX-License-Identifier: Apache-2.0
// Curves over durations: the survival function, and densities. Both axes are logarithmic.

// Points [ns, share of detours longer than that]: exact at the upper bounds of buckets.
function survival(cpu) {
  let longer = cpu.detours;
  const points = [];
  for (const [low, high, count] of cpu.durations) {
    if (points.length === 0) points.push([Math.max(1, low - 1), 1]);
    longer -= count;
    points.push([Math.max(1, high), longer / cpu.detours]);
  }
  return points;
}

// Stretches of points above zero, as a path. Steps end where zero is reached, which no logarithmic axis has.
function curvePath(points, xScale, yScale, steps) {
  let path = '';
  let last;
  for (const [x, y] of points) {
    const px = xScale(x).toFixed(2);
    if (y <= 0) {
      if (steps && last !== undefined) path += `H${px}`;
      last = undefined;
      continue;
    }
    const py = yScale(y).toFixed(2);
    if (last === undefined) path += `M${px} ${py}`;
    else path += steps ? `H${px}V${py}` : `L${px} ${py}`;
    last = py;
  }
  return path;
}

function drawCurves(figure, curves, options) {
  const points = curves.flatMap((curve) => curve.points).filter(([, y]) => y > 0);
  if (points.length === 0) {
    element('p', {class: 'remark'}, figure, 'There is no detour.');
    return;
  }
  const {svg, width, height} = chart(figure, 300, options.label);
  const box = {left: 70, right: width - 16, top: 30, bottom: height - 46};
  const xs = (options.steps ? curves.flatMap((curve) => curve.points) : points).map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const low = Math.min(...ys) / 1.3;
  const high = Math.max(Math.max(...ys) * (options.highest ? 1 : 1.3), low * 2);
  const xScale = logarithmic(Math.min(...xs), Math.max(Math.max(...xs), Math.min(...xs) * 2), box.left, box.right);
  const yScale = logarithmic(low, high, box.bottom, box.top);
  leftAxis(svg, box, yScale, decadeTicks(low, high, 3 * (box.bottom - box.top)).filter((tick) => /^[1]/.test(tick.toExponential())), options.tick, options.unit);
  bottomAxis(svg, box, xScale, decadeTicks(Math.min(...xs), Math.max(...xs, Math.min(...xs) * 2), box.right - box.left), roundDuration, 'duration, log scale');
  curves.forEach((curve, i) => element('path', {d: curvePath(curve.points, xScale, yScale, options.steps), class: `curve curve${i}`}, svg));
  withTooltip(svg, (x) => {
    if (x < box.left || x > box.right) return undefined;
    const nearest = curves.map((curve) => curve.points.reduce((a, b) => (Math.abs(xScale(b[0]) - x) < Math.abs(xScale(a[0]) - x) ? b : a)));
    return [exact(nearest[0][0]), curves.map((curve, i) => [curve.label, options.value(nearest[i][1])])];
  });
  if (curves.length < 2) return;
  const list = element('ul', {class: 'legend'}, figure);
  curves.forEach((curve, i) => {
    const item = element('li', {}, list);
    element('path', {d: 'M0 6H28', class: `curve curve${i}`}, element('svg', {width: 28, height: 12}, item));
    item.append(` ${curve.label}`);
  });
}

function drawSurvival(figure) {
  figure.replaceChildren();
  caption(figure, 'Survival function: how many of all detours are longer than a duration');
  const curves = [{label: allName, points: survival(data.all)}];
  if (chosen >= 0) curves.push({label: chosenName(), points: survival(data.cpus[chosen])});
  drawCurves(figure, curves, {label: 'Survival function of detour durations', steps: true, highest: true, unit: 'share of detours that are longer, log scale',
    tick: (tick) => `${Number((tick * 100).toPrecision(3))}%`, value: (value) => share(value, 1)});
  element('p', {class: 'remark'}, figure, `The longest of ${grouped(chosenCpu().detours)} detours of ${chosenName()} took ${exact(chosenCpu().max_detour_ns)}.`);
  tableBelow(figure, 'Table of the survival function', () => [['longer than, ns', ...curves.map((curve) => curve.label)],
    ...curves[curves.length - 1].points.map(([ns]) => [grouped(ns), ...curves.map((curve) => share((curve.points.filter(([x]) => x <= ns).pop() || [0, 1])[1], 1))])]);
}

function drawDensity(figure) {
  figure.replaceChildren();
  const {curves, unit, note} = data.density;
  caption(figure, `Density of detour durations, ${allName}${curves.length ? `: ${curves.map((curve) => curve.label).join(', and ')}` : ''}`);
  drawCurves(figure, curves, {label: 'Density of detour durations', unit: `${unit}, log scale`, tick: (tick) => Number(tick.toPrecision(2)).toString(),
    value: (value) => Number(value.toPrecision(4)).toString()});
  element('p', {class: 'remark'}, figure, note);
}
