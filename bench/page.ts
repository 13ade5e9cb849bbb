import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { OUT, type Point, type RunRecord } from './record.ts';

const UPLOT = dirname(
  createRequire(join(import.meta.dirname, '../apps/console/package.json')).resolve('uplot/package.json'),
);
const TITLE = 'Cost against the size of the fleet';

/** Writes a page that needs no network: a plot of each cost against the size of the fleet, and a table of each run. */
export function drawPage(records: readonly RunRecord[]): string {
  mkdirSync(OUT, { recursive: true });
  const file = join(OUT, 'curves.html');
  writeFileSync(file, pageOf(records));
  return file;
}

const PLOTS = [
  { key: 'cpuRatio', title: 'CPU of the server, times the hello', unit: '' },
  { key: 'cpuWithDatabaseUs', title: 'CPU with that of the database', unit: 'µs' },
  { key: 'p99Ms', title: 'p99', unit: 'ms' },
  { key: 'rssMb', title: 'Resident memory of the server', unit: 'MB' },
] as const;

function pageOf(records: readonly RunRecord[]): string {
  const scenarios = [...new Set(records.flatMap(({ points }) => points.map(({ scenario }) => scenario)))];
  const sections = scenarios.map((scenario) => sectionOf(records, scenario));
  // In a script element only "</" and "<!--" have a meaning of their own.
  const data = JSON.stringify(sections.filter(({ sizes }) => sizes.length > 1)).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${TITLE}</title>
<style>
${readFileSync(join(UPLOT, 'dist/uPlot.min.css'), 'utf8')}
${STYLE}
</style>
<h1>${TITLE}</h1>
<p>Each scenario of <code>npm run bench</code>, whose help describes them. The server has one core, the load another. The hello is a bare
<code>node:http</code> server in the same rounds: its multiple is what can be compared between runs and machines. A scenario with one size has its row in
the table alone.</p>
<div id="plots"></div>
${records.map(tableOf).join('\n')}
<script>
${readFileSync(join(UPLOT, 'dist/uPlot.iife.min.js'), 'utf8')}
const sections = ${data};
${SCRIPT}
</script>
</html>
`;
}

/** A scenario and its lines: one for each server of each run. */
function sectionOf(records: readonly RunRecord[], scenario: string) {
  const of = (record: RunRecord) => record.points.filter((point) => point.scenario === scenario);
  const sizes = [...new Set(records.flatMap(of).map(({ agents }) => agents))].sort((a, b) => a - b);
  const lines = records.flatMap((record, n) =>
    [...new Set(of(record).map(({ server }) => server))].map((server) => ({
      label: server.replace(/^tidegate on /, '') + (records.length > 1 ? `, ${dayOf(record)}` : ''),
      isOlder: n > 0,
      points: sizes.map((size) =>
        of(record).find((point) => point.server === server && point.agents === size),
      ),
    })),
  );
  const plots = PLOTS.map(({ key, ...words }) => ({
    ...words,
    values: lines.map(({ points }) => points.map((point) => point?.[key] ?? null)),
  }));
  return { scenario, sizes, lines: lines.map(({ label, isOlder }) => ({ label, isOlder })), plots };
}

const STYLE = `:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --page: #fff; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --page: #0d1117; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: var(--text); background: var(--page); }
body > p { max-width: 46rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }
h3 { font-size: 0.95rem; font-weight: 600; margin: 0 0 0.25rem; color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.5rem; }
.plots > div { min-width: 0; }
.u-legend { font-size: 13px; text-align: left; }
.u-legend th { font-weight: 500; }
.scroll { overflow-x: auto; }
.soft { color: var(--soft); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.scroll td, .scroll th { padding: 0.25rem 0.75rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
.scroll th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
.scroll td:nth-child(-n+2), .scroll th:nth-child(-n+2), .scroll td:last-child, .scroll th:last-child { text-align: left; }`;

/** Draws again where the width or the colours change. */
const SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
const colours = { light: ['#0b6bcb', '#b3470f', '#2e7d32', '#8e44ad', '#946b00', '#00757f'], dark: ['#58a6ff', '#f0883e', '#56d364', '#d2a8ff', '#e3b341', '#39c5cf'] };
const place = document.getElementById('plots');
const words = (value) => (value === null ? '' : value.toLocaleString('en', { maximumSignificantDigits: 3 }));
const short = (size) => (size >= 1000 ? size / 1000 + 'k' : String(size));
let drawn = [];
function draw() {
  for (const one of drawn) one.destroy();
  drawn = [];
  place.replaceChildren();
  const style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue('--text').trim();
  const grid = { stroke: style.getPropertyValue('--line').trim(), width: 1 };
  const palette = colours[dark.matches ? 'dark' : 'light'];
  for (const { scenario, sizes, lines, plots } of sections) {
    const heading = document.createElement('h2');
    heading.textContent = scenario;
    const row = document.createElement('div');
    row.className = 'plots';
    place.append(heading, row);
    // All cells first: the width of each depends on how many there are.
    const cells = plots.map(({ title, unit }) => {
      const cell = document.createElement('div');
      const name = document.createElement('h3');
      name.textContent = unit ? title + ', ' + unit : title;
      cell.append(name);
      row.append(cell);
      return cell;
    });
    for (const [n, { values }] of plots.entries()) {
      const cell = cells[n];
      const axis = { stroke: text, grid, ticks: grid, font: '12px system-ui, sans-serif' };
      drawn.push(new uPlot(
        {
          width: cell.clientWidth,
          height: 240,
          scales: { x: { time: false, distr: 3 }, y: { range: (_, __, max) => [0, (max ?? 1) * 1.1] } },
          axes: [
            { ...axis, splits: () => sizes, filter: (_, splits) => splits, values: (_, ticks) => ticks.map(short) },
            { ...axis, size: 64, values: (_, ticks) => ticks.map(words) },
          ],
          series: [
            { label: 'agents', value: (_, size) => words(size) },
            ...lines.map(({ label, isOlder }, i) => ({
              label,
              stroke: palette[i % palette.length],
              width: 2,
              spanGaps: true,
              points: { show: true, size: 6 },
              value: (_, value) => words(value),
              ...(isOlder && { dash: [6, 4] }),
            })),
          ],
        },
        [sizes, ...values],
        cell,
      ));
    }
  }
}
draw();
dark.addEventListener('change', draw);
let width = place.clientWidth;
new ResizeObserver(() => {
  if (place.clientWidth !== width) {
    width = place.clientWidth;
    draw();
  }
}).observe(place);`;

function tableOf({ at, machine, load, points, failures = [] }: RunRecord): string {
  const heads = [
    ...[
      'scenario',
      'server',
      'agents',
      'times the hello',
      'CPU, µs',
      'with database',
      'hello, µs',
      'a second',
    ],
    ...['p50, ms', 'p99, ms', 'longest, ms', 'memory, MB', 'load', 'besides'],
  ];
  const failed = failures.map(
    ({ scenario, engine, agents, why }) =>
      `<li>${escaped(`${scenario} on ${engine}, ${agents.toLocaleString('en')} agents: ${why.split('\n', 1)[0]}`)}`,
  );
  return `<h2>${at.slice(0, 16).replace('T', ' ')} UTC</h2>
<p class="soft">${escaped(machine.cpu)}, ${machine.cores} cores, Node ${escaped(machine.node)}; load ${load.before} before and ${load.after} after.</p>
${failed.length > 0 ? `<p>Failed:</p><ul>${failed.join('')}</ul>` : ''}
<div class="scroll" tabindex="0"><table><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr>
${points
  .map(
    (point) =>
      `<tr>${cellsOf(point)
        .map((cell) => `<td>${escaped(cell)}</td>`)
        .join('')}</tr>`,
  )
  .join('\n')}</table></div>`;
}

function cellsOf(point: Point): string[] {
  const more = Object.entries(point.more ?? {}).map(([name, value]) => `${name} ${told(value)}`);
  return [
    ...[point.scenario, point.server.replace(/^tidegate on /, ''), point.agents.toLocaleString('en')],
    ...[point.cpuRatio, point.cpuUs, point.cpuWithDatabaseUs, point.helloUs, point.perSecond].map(told),
    ...[point.p50Ms, point.p99Ms].map(told),
    ...[point.longestMs === undefined ? '' : told(point.longestMs), told(point.rssMb)],
    ...[`${point.load.before} to ${point.load.after}`, more.join('; ')],
  ];
}

function told(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 2 : 0 });
}

function dayOf({ at }: RunRecord): string {
  return at.slice(0, 10);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
