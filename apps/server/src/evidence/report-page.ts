import type { EvidenceManifest } from '@tidegate/protocol/evidence-api';
import { type Html, html } from '../platform/http/html-page.ts';
import type { CountedFigure } from './figure-rules.ts';
import { createGathering, type Gathered } from './report-lists.ts';
import { exceptionSections, sourceSections, testSection, timeSection } from './report-sections.ts';
import { bdi, day, listed, type Marked, minute, numberText } from './report-words.ts';

export interface ReportAbout extends Omit<EvidenceManifest, 'v' | 'chain' | 'lines' | 'files'> {
  readonly figures: readonly CountedFigure[];
}

export interface Report {
  take(folder: string, line: object, place: string): void;
  page(about: ReportAbout): string;
}

/** The report of a bundle: one page without scripts, for a reader who asks as annex 6.6 of (EU) 2024/2690 does. */
export function createReport(): Report {
  const gathering = createGathering();
  return {
    take: gathering.take,
    page: (about) => pageOf(about, gathering.gathered),
  };
}

const STYLE = `
@page { size: A4; margin: 16mm 14mm; }
:root { font: 10.5pt/1.45 system-ui, "Liberation Sans", Arial, sans-serif; color: #15202b; background: #fff; }
body { max-width: 182mm; margin: 0 auto; padding: 8mm 4mm; }
h1 { font-size: 20pt; line-height: 1.2; margin: 0 0 2mm; }
h2 { font-size: 13.5pt; margin: 9mm 0 2mm; padding-top: 3mm; border-top: 1px solid #9aa7b3; break-after: avoid; }
h3 { font-size: 11pt; margin: 5mm 0 1mm; break-after: avoid; }
p { margin: 1.5mm 0; }
table { border-collapse: collapse; width: 100%; margin: 2mm 0 3mm; font-size: 9pt; }
th, td { text-align: left; vertical-align: top; padding: 1mm 1.6mm; border-bottom: 1px solid #d4dbe1; overflow-wrap: break-word; }
th { border-bottom-color: #6b7a88; font-weight: 600; white-space: nowrap; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.days th, table.days td { padding: 1mm .8mm; }
table.days td:first-child { white-space: nowrap; }
tr { break-inside: avoid; }
thead { display: table-header-group; }
sup { font-size: 6.5pt; line-height: 0; }
sup a, td a { color: #35506b; text-decoration: none; }
td > span, code { unicode-bidi: isolate; }
code { font: 8.5pt/1.4 ui-monospace, "Liberation Mono", monospace; overflow-wrap: anywhere; }
.asks { color: #445566; font-style: italic; }
.place { color: #52606d; font: 7.5pt ui-monospace, "Liberation Mono", monospace; white-space: nowrap; }
figure { margin: 3mm 0; break-inside: avoid; }
figcaption { font-size: 8.5pt; color: #445566; }
svg text { font: 9px system-ui, "Liberation Sans", Arial, sans-serif; fill: #15202b; }
@media screen and (width < 46rem) {
  body { padding: 4mm; }
  thead { display: none; }
  table, tbody, tr { display: block; }
  tr, table.days tr { padding: 1.5mm 0; border-bottom: 1px solid #d4dbe1; }
  td, table.days td { display: flex; gap: 3mm; padding: .3mm 0; border: 0; text-align: left; overflow-wrap: anywhere; }
  td::before { content: attr(data-head); flex: 0 0 26mm; color: #445566; }
  .place { white-space: normal; overflow-wrap: anywhere; }
}
@media print { body { padding: 0; max-width: none; } }
`;

function pageOf(about: ReportAbout, gathered: Gathered): string {
  const { figures, since, until, made_at: madeAt, made_by: madeBy, fleet_id: fleetId, unknown } = about;
  const marked = markFigures(figures);
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Evidence of software updates, ${day(since)} to ${day(until)}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<h1>Evidence of software updates</h1>
<p>${scopeText(about, gathered.hostnames)}, from ${minute(since)} to ${minute(until)} (UTC). ${marked.show('hosts')} hosts.</p>
<p>Made at ${minute(madeAt)} by ${bdi(madeBy)}, by the server of fleet <code>${fleetId}</code>. The questions are those of point 6.6
(security patch management) of the annex to Implementing Regulation (EU) 2024/2690.</p>
<p>In this span ${marked.show('installed')} updates were installed, and ${marked.show('waiting')} waited at its end.
${marked.show('approvals')} approvals were in force. The small number behind a value names its rule in
<a href="#sources">the last section</a>, with the lines of the bundle that it counts. Names such as
<code>updates/0001.ndjson:12</code> are a file of the bundle and a line in it.</p>
${timeSection(marked, gathered)}
${testSection(marked, gathered)}
${sourceSections(marked, gathered)}
${exceptionSections(marked, gathered)}
<h2>What this report cannot say</h2>
${unknown.length === 0 ? html`<p>Nothing that it was asked for is missing.</p>` : html`<ul>${unknown.map((sentence) => html`<li>${sentence}</li>`)}</ul>`}
<p>Severities are those that the gate knew when it last judged an update. An update that nobody tried to approve was never
judged: its severity is unknown.</p>
<h2 id="sources">Where each number comes from</h2>
<table><thead><tr><th class="n">Mark</th><th>Counts</th><th>Where</th><th class="n">Lines</th><th class="n">Value</th><th>First line</th></tr></thead>
<tbody>${figures.map(sourceRow)}</tbody></table>
</body>
</html>
`;
  return page.html;
}

function markFigures(figures: readonly CountedFigure[]): Marked {
  const places = new Map(figures.map((figure, i) => [figure.id, { figure, mark: i + 1 }]));
  return {
    show(id) {
      const found = places.get(id);
      if (!found) throw new Error(`the report has no number ${id}`);
      const mark = String(found.mark);
      return html`${numberText(found.figure.value)}<sup><a href="#n${mark}">${mark}</a></sup>`;
    },
    value: (id) => places.get(id)?.figure.value ?? null,
  };
}

function sourceRow({ of, where, how, member, value, lines, first }: CountedFigure, i: number): Html {
  const mark = String(i + 1);
  const counted = how === 'count' ? 'number' : `${HOW[how]} of ${member ?? ''}`;
  const conditions = Object.entries(where).map(([name, wanted]) =>
    typeof wanted === 'object' ? `${name} from ${wanted[0]} to ${wanted[1]}` : `${name} is ${wanted}`,
  );
  return html`<tr id="n${mark}"><td class="n" data-head="Mark">${mark}</td><td data-head="Counts">${counted} in ${of}/</td><td data-head="Where">${conditions.join(', ') || 'every line'}</td><td class="n" data-head="Lines">${numberText(lines)}</td><td class="n" data-head="Value">${numberText(value)}</td><td data-head="First line"><span class="place">${first ?? '—'}</span></td></tr>`;
}

const HOW = { sum: 'sum', max: 'largest', median: 'median', p90: '90th percentile' } as const;

function scopeText({ scope }: ReportAbout, hostnames: Gathered['hostnames']): Html {
  switch (scope.kind) {
    case 'host':
      return html`Host ${bdi(hostnames.get(scope.agent_id) ?? scope.agent_id)}`;
    case 'group':
      return html`Hosts of the group ${bdi(scope.group)}`;
    case 'groups':
      return html`Hosts of the groups ${listed(scope.groups.map(bdi))}`;
    case 'fleet':
      return html`All hosts of the fleet`;
  }
}
