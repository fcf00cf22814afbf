// Draws the figures in the colours of the system's theme and for the width of the page.
const dark = matchMedia('(prefers-color-scheme: dark)');
const narrow = matchMedia('(max-width: 600px)');
// Colours of the light theme that have another one in the dark theme; those of data are the same.
const DARK = {
  '#000000': '#f4f4f4', '#222222': '#e4e4e4', '#ffffff': '#15181c', '#e5e5e5': '#333940',
  '#eeeeee': '#252a30', '#b00020': '#ff6b7d', '#d9d9d9': '#565d66', '#777777': '#a0a0a0',
};
const numbers = packed => {
  let at = 0;
  return packed.differences.map(d => d === null ? null : packed.from + packed.step * (at += d));
};
// A copy with the numbers unpacked and the colours of the theme.
function shownAs(value) {
  if (typeof value === 'string') return dark.matches && DARK[value] || value;
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map(shownAs);
  if (value === null || typeof value !== 'object') return value;
  if (value.differences) return numbers(value);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shownAs(part)]));
}
// Names of variants on two lines, after the second slash.
const onTwoLines = text => String(text).replace(/^([^/]*\/[^/]*\/)(.+)$/, '$1<br>$2');
function layoutFor(place, layout, traces) {
  const shown = shownAs(layout);
  const width = place.clientWidth || 800;
  if (narrow.matches) {
    shown.margin = {...shown.margin, l: 44, r: 8, b: 40};
    shown.font.size = 11;
    for (const [key, axis] of Object.entries(shown)) {
      if (!/^[xy]axis/.test(key)) continue;
      if (axis.title) axis.title = {...axis.title, standoff: 4, font: {size: 11}};
      if (axis.ticktext) axis.ticktext = axis.ticktext.map(onTwoLines);
      if (key[0] === 'x') axis.nticks = 6;
    }
  }
  // Room for the legend below the axis.
  const named = traces.filter(trace => trace.showlegend !== false && trace.name);
  const names = [...new Set(named.map(trace => trace.name))];
  const letter = narrow.matches ? 6.2 : 7.2;
  const entry = 70 + letter * Math.max(0, ...names.map(name => name.length));
  const rows = Math.ceil(names.length / Math.max(1, Math.floor(width / entry)));
  const legend = names.length > 1 || shown.showlegend ? 20 * rows + 8 : 0;
  shown.margin.b += legend;
  shown.height = Number(place.dataset.height) + legend;
  place.style.height = shown.height + 'px';
  return shown;
}
const redraws = [], choices = {};
function figure(id, sets, layout) {
  const place = document.getElementById(id);
  const config = {
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ['lasso2d', 'select2d'],
  };
  let number = 0;
  const draw = () => {
    const traces = sets[number].map(shownAs);
    config.displayModeBar = narrow.matches ? false : 'hover';
    Plotly.react(place, traces, layoutFor(place, layout, traces), config);
  };
  redraws.push(draw);
  draw();
  const choice = document.getElementById(id + '-choice');
  if (!choice) return;
  const of = choice.dataset.choice;
  const show = n => { if (n < sets.length) { choice.value = number = n; draw(); } };
  (choices[of] ||= []).push(show);
  choice.addEventListener('change', () => choices[of].forEach(show => show(Number(choice.value))));
}
// On a narrow page the rows of tables become blocks, with the headings beside the values.
addEventListener('DOMContentLoaded', () => {
  for (const table of document.querySelectorAll('.scroll table:not(.paths)')) {
    const headings = [...table.querySelectorAll('th')].map(heading => heading.textContent);
    table.classList.add('cards');
    for (const row of table.rows) {
      [...row.cells].forEach((cell, place) => {
        cell.dataset.heading = headings[place] || '';
        if (cell.textContent === '-') cell.dataset.empty = '';
      });
    }
  }
});
for (const query of [dark, narrow]) {
  query.addEventListener('change', () => redraws.forEach(draw => draw()));
}
