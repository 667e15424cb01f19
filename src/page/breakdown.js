// SPDX-License-Identifier: Apache-2.0
// Who took the time: by category, a bar for each CPU as far as that can be read, and by source.
const mostCpuBars = 16;
const mostSourceBars = 20;

const presentCategories = (sums) => sums.map((ns, i) => i).filter((i) => sums[i] > 0);

function breakdownRows() {
  const rows = [{name: allName, cpu: data.all}];
  const shown = data.cpus.length <= mostCpuBars ? data.cpus : chosen < 0 ? [] : [data.cpus[chosen]];
  return rows.concat(shown.map((cpu) => ({name: `CPU ${cpu.cpu}`, cpu})));
}

function drawCategories(figure) {
  figure.replaceChildren();
  caption(figure, 'Stolen time by category, each bar 100% of the stolen time of its CPU (Morari et al., figure 3)');
  const rows = breakdownRows();
  const {svg, width} = chart(figure, rows.length * 30 + 24, 'Stolen time by category');
  const box = {left: 78, right: width - 108, bottom: rows.length * 30};
  const scale = linear(0, 1, box.left, box.right);
  for (const [i, {name, cpu}] of rows.entries()) {
    element('text', {x: box.left - 8, y: i * 30 + 19, 'text-anchor': 'end'}, svg, name);
    let before = 0;
    for (const category of presentCategories(cpu.categories)) {
      const x = scale(before / cpu.detour_ns);
      before += cpu.categories[category];
      const size = scale(before / cpu.detour_ns) - x;
      element('rect', {x, y: i * 30 + 4, width: size, height: 22, class: `c-${categories[category]} part`}, svg);
    }
    element('text', {x: box.right + 8, y: i * 30 + 19}, svg, `${duration(cpu.detour_ns)} (${share(cpu.detour_ns, cpu.observed_ns)})`);
  }
  bottomAxis(svg, box, scale, [0, 0.25, 0.5, 0.75, 1], (tick) => `${tick * 100}%`);
  legend(figure, presentCategories(data.all.categories));
  withTooltip(svg, (x, y) => {
    const row = rows[Math.floor(y / 30)];
    if (!row) return undefined;
    const lines = presentCategories(row.cpu.categories).map((category) => [categoryLabel(category),
      `${exact(row.cpu.categories[category])} (${share(row.cpu.categories[category], row.cpu.detour_ns)})`, category]);
    return [row.name, [...lines, ['stolen', exact(row.cpu.detour_ns)], ['observed', exact(row.cpu.observed_ns)]]];
  });
}

function drawSources(figure) {
  figure.replaceChildren();
  const cpu = chosenCpu();
  const rows = cpu.sources.slice(0, mostSourceBars).filter(([, , total]) => total > 0);
  const rest = cpu.detour_ns - rows.reduce((sum, [, , total]) => sum + total, 0);
  caption(figure, `Stolen time by source, ${chosenName()}: the ${rows.length} that took most${rest > 0 ? `; all others ${duration(rest)}` : ''}`);
  const {svg, width} = chart(figure, rows.length * 22 + 6, `Stolen time by source, ${chosenName()}`);
  const left = Math.min(250, width * 0.42);
  const scale = linear(0, Math.max(1, ...rows.map(([, , total]) => total)), left, width - 128);
  for (const [i, [source, , total]] of rows.entries()) {
    const y = i * 22 + 3;
    const {label, category} = data.sources[source];
    element('text', {x: left - 8, y: y + 13, 'text-anchor': 'end', class: 'code'}, svg, shortened(label, Math.floor(left / 7.4)));
    element('rect', {x: left, y, width: Math.max(1, scale(total) - left), height: 17, class: `c-${categories[category]} part`}, svg);
    element('text', {x: Math.max(left + 1, scale(total)) + 6, y: y + 13}, svg, `${duration(total)} (${share(total, cpu.detour_ns)})`);
  }
  withTooltip(svg, (x, y) => {
    const row = rows[Math.floor(y / 22)];
    if (!row) return undefined;
    const [source, count, total, max] = row;
    return [data.sources[source].label, [[categoryLabel(data.sources[source].category), '', data.sources[source].category],
      ['count', grouped(count)], ['total', exact(total)], ['mean', exact(total / count)], ['longest', exact(max)]]];
  });
}
