// SPDX-License-Identifier: Apache-2.0
// Everything is drawn from here, and again when another CPU is chosen or the window becomes wider.
function summarize() {
  const {observed_ns, detour_ns, detours, max_detour_ns} = data.all;
  document.getElementById('summary').textContent = `${share(detour_ns, observed_ns)} of the observed time was stolen: ${grouped(detours)} detours took ` +
    `${duration(detour_ns)} of ${duration(observed_ns)} on ${data.cpu_count} CPU${data.cpu_count === 1 ? '' : 's'}; the longest took ${duration(max_detour_ns)}.`;
}

function drawChosen() {
  drawCategories(document.getElementById('category-chart'));
  drawSources(document.getElementById('source-chart'));
  drawTimeline();
  drawSurvival(document.getElementById('survival-chart'));
}

function drawAll() {
  drawChosen();
  drawHistograms();
  drawDensity(document.getElementById('density-chart'));
  drawProjection(document.getElementById('projection-chart'));
  drawPhases(document.getElementById('phase-charts'));
}

function offerCpus() {
  if (data.cpus.length === 0) return;
  const select = document.getElementById('cpu');
  element('option', {value: -1}, select, 'all CPUs together');
  for (const [i, cpu] of data.cpus.entries()) {
    element('option', {value: i}, select, `CPU ${cpu.cpu} (${share(cpu.detour_ns, cpu.observed_ns)} stolen)`);
  }
  if (data.cpus.length < data.cpu_count) {
    document.getElementById('chooser-remark').textContent = `the ${data.cpus.length} CPUs with the most stolen time, of ${data.cpu_count}`;
  }
  select.addEventListener('change', () => { chosen = Number(select.value); drawChosen(); });
  document.getElementById('chooser').hidden = false;
}

summarize();
offerCpus();
drawAll();
let drawnWidth = innerWidth;
addEventListener('resize', () => {
  if (innerWidth === drawnWidth) return;
  drawnWidth = innerWidth;
  drawAll();
});
document.documentElement.dataset.drawn = 'all';
