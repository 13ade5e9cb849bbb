import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { OUT, type RunRecord } from './record.ts';

const UPLOT = dirname(
  createRequire(join(import.meta.dirname, '../apps/console/package.json')).resolve('uplot/package.json'),
);

interface Words {
  /** Its name in `bench/out`. */
  file: string;
  title: string;
  about: string;
}

const CURVES: Words = {
  file: 'curves.html',
  title: 'Cost against the size of the fleet',
  about: `Idle check-ins of all agents in turn over 64 kept connections. The server has one core, the load another; the hello is a bare
node:http server in the same rounds.`,
};

/** Writes a page that needs no network: the cost against the size of the fleet, a line for each server and run. */
export function drawPage(records: readonly RunRecord[], words: Words = CURVES): string {
  mkdirSync(OUT, { recursive: true });
  const file = join(OUT, words.file);
  writeFileSync(file, pageOf(records, words));
  return file;
}

const PLOTS = [
  { key: 'cpuRatio', title: 'CPU of a check-in, in multiples of the hello' },
  { key: 'cpuWithDatabaseUs', title: 'CPU with that of the database, µs' },
  { key: 'p99Ms', title: 'p99 at saturation, ms' },
  { key: 'rssMb', title: 'Resident memory, MB' },
] as const;

function pageOf(records: readonly RunRecord[], { title, about }: Words): string {
  const sizes = [...new Set(records.flatMap(({ points }) => points.map(({ agents }) => agents)))].sort(
    (a, b) => a - b,
  );
  const plots = PLOTS.map(({ key, title }) => ({
    title,
    lines: records.flatMap(({ at, points }) =>
      [...new Set(points.map(({ server }) => server))].map((server) => ({
        label: `${server}, ${at.slice(0, 16).replace('T', ' ')}`,
        values: sizes.map(
          (size) => points.find((point) => point.server === server && point.agents === size)?.[key] ?? null,
        ),
      })),
    ),
  }));
  // In a script element only "</" and "<!--" have a meaning of their own.
  const data = JSON.stringify({ sizes, plots }).replaceAll('<', '\\u003c');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
${readFileSync(join(UPLOT, 'dist/uPlot.min.css'), 'utf8')}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 0.5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: 0.2rem 0.8rem; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; padding-left: 0; }
</style>
<h1>${title}</h1>
<p>${about}</p>
<div id="plots"></div>
${records.map(tableOf).join('\n')}
<script>
${readFileSync(join(UPLOT, 'dist/uPlot.iife.min.js'), 'utf8')}
const { sizes, plots } = ${data};
const colours = ['#0b6bcb', '#c0392b', '#2e7d32', '#8e44ad', '#b9770e', '#00838f'];
for (const { title, lines } of plots) {
  const heading = document.createElement('h2');
  heading.textContent = title;
  const place = document.getElementById('plots');
  place.append(heading);
  const axis = { values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : tick.toLocaleString('en'))) };
  new uPlot(
    {
      width: Math.min(960, place.clientWidth),
      height: 280,
      scales: { x: { time: false, distr: 3 }, y: { range: (_, __, max) => [0, (max ?? 1) * 1.1] } },
      axes: [{ ...axis, label: 'agents' }, axis],
      series: [
        { label: 'agents' },
        ...lines.map(({ label }, i) => ({ label, stroke: colours[i % colours.length], width: 2, spanGaps: true })),
      ],
    },
    [sizes, ...lines.map(({ values }) => values)],
    place,
  );
}
</script>
</html>
`;
}

function tableOf({ at, machine, load, points }: RunRecord): string {
  const rows = points.map(
    (point) =>
      `<tr>${[
        point.server,
        point.agents.toLocaleString('en'),
        ...[point.cpuRatio, point.cpuUs, point.cpuWithDatabaseUs, point.helloUs],
        ...[point.perSecond.toLocaleString('en'), point.p50Ms, point.p99Ms, point.rssMb],
      ]
        .map((cell) => `<td>${escaped(String(cell))}</td>`)
        .join('')}</tr>`,
  );
  const heads = ['server', 'agents', 'times the hello', 'µs', 'µs with database', 'hello µs', 'a second'];
  return `<h2>${escaped(at)}</h2>
<p>${escaped(machine.cpu)}, ${machine.cores} cores, Node ${escaped(machine.node)}; load ${load.before} before and ${load.after} after.</p>
<table><tr>${[...heads, 'p50 ms', 'p99 ms', 'MB'].map((head) => `<th>${head}</th>`).join('')}</tr>
${rows.join('\n')}</table>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
