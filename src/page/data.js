// SPDX-License-Identifier: Apache-2.0
// What was measured, and which part of it is looked at. Texts in it may be anything: they become text nodes only.
const data = JSON.parse(document.getElementById('data').textContent);
const categories = data.categories;
const columns = {missing: categories.length, detours: categories.length + 1, incomplete: categories.length + 2};

// The chosen CPU's place among data.cpus; -1: all CPUs.
let chosen = -1;

const chosenCpu = () => (chosen < 0 ? data.all : data.cpus[chosen]);
const allName = data.cpu_count === 1 ? `CPU ${data.all.cpu}` : 'all CPUs';
const chosenName = () => (chosen < 0 ? allName : `CPU ${data.cpus[chosen].cpu}`);
const categoryLabel = (category) => categories[category].replaceAll('_', ' ');
