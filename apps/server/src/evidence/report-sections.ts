import { rfc3339 } from '../platform/clock.ts';
import { type Html, html } from '../platform/http/html-page.ts';
import { DAY_BUCKETS, REPORT_SEVERITIES, type ReportSeverity } from './figure-rules.ts';
import {
  type BulkApproval,
  type Gathered,
  LISTED_MAX,
  LONGEST_MAX,
  memberIn,
  type Named,
  numberIn,
  objectIn,
  objectsIn,
  textIn,
  textsIn,
} from './report-lists.ts';
import { bdi, day, listed, type Marked, minute, numberText } from './report-words.ts';

const SEVERITY_NAMES: Readonly<Record<ReportSeverity, string>> = {
  ...{ critical: 'Critical', high: 'High', medium: 'Medium', low: 'Low' },
  ...{ unknown: 'Unknown', none: 'Nothing known' },
};
const BUCKET_NAMES = ['0–2', '3–7', '8–14', '15–30', '31–90', '91+'];
/** From fast to slow; their names stand beside them, so that no colour has to be told apart. */
const BUCKET_COLOURS = ['#1b7f5c', '#5aa469', '#b9c468', '#e5b54a', '#d97b3a', '#b23a3a'];

export function timeSection({ show, value }: Marked, { longest, hostnames }: Gathered): Html {
  const rows = REPORT_SEVERITIES.map((severity) => {
    const cell = (head: string, figure: string) =>
      html`<td class="n" data-head="${head}"><span>${show(figure)}</span></td>`;
    const installed = (head: string, part: string) => cell(head, `installed.${severity}${part}`);
    const buckets = DAY_BUCKETS.map(([from], i) => installed(`${BUCKET_NAMES[i]} d`, `.${from}`));
    const spans = html`${installed('Median', '.median')}${installed('90 %', '.p90')}`;
    const waits = html`${cell('Waiting', `waiting.${severity}`)}${cell('Longest', `waiting.${severity}.max`)}`;
    return html`<tr><td data-head="Fixes">${SEVERITY_NAMES[severity]}</td>${installed('Installed', '')}${buckets}${spans}${waits}</tr>`;
  });
  return html`<h2>1. Are patches applied in reasonable time?</h2>
<p class="asks">6.6.1 (a): security patches are applied within a reasonable time after they become available.</p>
<p>${timeSentence(value)}</p>
<p>Days count from the first report of a host that it could have the update, to its installation. Severities are those of the
worst vulnerability that the update fixes.</p>
<table class="days"><thead><tr><th>Fixes</th><th class="n">Installed</th>${BUCKET_NAMES.map((name) => html`<th class="n">${name} d</th>`)}<th class="n">Median</th><th class="n">90 %</th><th class="n">Waiting</th><th class="n">Longest</th></tr></thead><tbody>${rows}</tbody></table>
${chart(value)}
<h3>What still waits, and why</h3>
<p>${show('waiting.not_asked')} updates nobody had tried to approve. ${show('waiting.stopped')} the gate had stopped, and
${show('waiting.held')} were on hold. ${show('waiting.under_way')} were approved or being installed, ${show('waiting.failed')} had
failed and ${show('waiting.rejected')} were rejected by a person. ${show('superseded')} were replaced by newer versions, or not
needed any more.</p>
${listOf(
  longest,
  ['Update', 'Host', 'Severity', 'Days', 'Why'],
  ({ line }) => [
    versionOf(line, 'to_version'),
    html`${hostnames.get(textIn(line, 'agent_id')) ?? textIn(line, 'agent_id')}`,
    html`${textIn(line, 'severity')}`,
    html`${numberText(numberIn(line, 'days'))}`,
    html`${words(textIn(line, 'reason'))}${memberIn(line, 'stopped_by') === null ? '' : `: ${words(textIn(line, 'stopped_by'))}`}`,
  ],
  LONGEST_MAX,
)}`;
}

function timeSentence(value: Marked['value']): string {
  const urgent = ['critical', 'high'] as const;
  const parts = urgent.flatMap((severity) => {
    const median = value(`installed.${severity}.median`);
    const p90 = value(`installed.${severity}.p90`);
    if (median === null || p90 === null) return [];
    return [
      `updates with ${severity} fixes were installed after ${daysText(median)} at the median, and nine of ten within ${daysText(p90)}`,
    ];
  });
  if (parts.length === 0)
    return 'No update that fixes a critical or high vulnerability was installed in this span.';
  const text = parts.join('; ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function daysText(days: number): string {
  return days === 1 ? '1 day' : `${days} days`;
}

function chart(value: Marked['value']): Html {
  const shown = REPORT_SEVERITIES.filter((severity) => (value(`installed.${severity}`) ?? 0) > 0);
  if (shown.length === 0) return html``;
  const height = shown.length * 22 + 26;
  const bars = shown.map((severity, row) => {
    const total = value(`installed.${severity}`) ?? 1;
    let x = 110;
    const parts = DAY_BUCKETS.map(([from], i) => {
      const width = ((value(`installed.${severity}.${from}`) ?? 0) / total) * 500;
      const at = x;
      x += width;
      return html`<rect x="${at.toFixed(1)}" y="${String(row * 22 + 2)}" width="${width.toFixed(1)}" height="16" fill="${BUCKET_COLOURS[i] ?? '#888'}"/>`;
    });
    return html`<text x="0" y="${String(row * 22 + 14)}">${SEVERITY_NAMES[severity]}</text>${parts}<text x="616" y="${String(row * 22 + 14)}">${numberText(total)}</text>`;
  });
  const keys = BUCKET_NAMES.map(
    (name, i) =>
      html`<rect x="${String(110 + i * 84)}" y="${String(height - 14)}" width="10" height="10" fill="${BUCKET_COLOURS[i] ?? '#888'}"/><text x="${String(124 + i * 84)}" y="${String(height - 5)}">${name} days</text>`,
  );
  return html`<figure><svg viewBox="0 0 660 ${String(height)}" role="img" aria-label="Share of installed updates by days, for each severity; the table above has the numbers">${bars}${keys}</svg>
<figcaption>Share of the installed updates by days to installation. The table has the numbers.</figcaption></figure>`;
}

export function testSection({ show }: Marked, { lists, rings, names, bulk }: Gathered): Html {
  return html`<h2>2. Are patches tested before production?</h2>
<p class="asks">6.6.1 (b): security patches are tested before they are applied in production systems.</p>
<p>${show('rollouts')} rollouts brought updates ring by ring: a ring was entered when the gate of the ring before it was met.
${show('rollouts.finished')} of them finished, and ${show('rollouts.halted')} were halted at the end.
${show('approvals.policy')} of ${show('approvals')} approvals were asked for by a policy; persons asked for the others, which no ring
holds back.</p>
${listOf(lists.rollouts, ['Policy', 'Brings', 'Rings, and when each was entered', 'State'], ({ line }) => [
  html`${names.get(textIn(line, 'policy_sha256')) ?? textIn(line, 'policy_id')}`,
  packagesText(line),
  html`${ringsText(line, rings.get(textIn(line, 'policy_sha256')) ?? [])}`,
  html`${words(textIn(line, 'state'))}${memberIn(line, 'halt_reason') === null ? '' : html`: ${bdi(words(textIn(line, 'halt_reason')))}`}`,
])}
${bulkPart(bulk)}`;
}

/** What persons asked for in one act: who, when, how much, and by which filter it was chosen. */
function bulkPart(bulk: Gathered['bulk']): Html {
  const named = [...bulk].map(([id, approval]) => ({
    ...{ id, approval, line: approval.event?.line ?? {}, place: approval.event?.place ?? '—' },
  }));
  return html`<h3>Approved together</h3>
<p>A person can ask for many updates at once. The checks judge each host for itself, and each has an approval of its own, which names
the bulk approval that it came from. A verifier compares the approval, the record of its decision and the events of both: they name the
same bulk approval, the person who asked is the one who is accountable, and its updates are among those that were asked for.</p>
${listOf(
  named,
  ['Asked at', 'By', 'Updates', 'Chosen by', 'Approvals here', 'Bulk approval'],
  ({ id, approval, line }) => bulkCells({ id, approval, event: objectIn(line, 'event') }),
)}`;
}

function bulkCells({ id, approval, event }: { id: string; approval: BulkApproval; event: object }): Html[] {
  const asked = approval.event === null ? {} : contentOf(event);
  const at = numberIn(event, 'created_at');
  const filter = memberIn(asked, 'filter');
  const here = `${numberText(approval.approvals)}, the first in `;
  return [
    html`${approval.event === null ? 'its event is not in the bundle' : minute(rfc3339(at))}`,
    html`${approval.approvedBy}`,
    html`${approval.event === null ? '—' : numberText(numberIn(asked, 'update_count'))}`,
    html`${typeof filter === 'string' ? filter || 'no filter: all updates' : filter === null ? 'one by one' : '—'}`,
    html`${here}<span class="place">${approval.first}</span>`,
    html`<code>${id}</code>`,
  ];
}

/** The content of an event, which is JSON in a text. */
function contentOf(event: object): object {
  const content: unknown = JSON.parse(textIn(event, 'content'));
  return typeof content === 'object' && content !== null ? content : {};
}

function packagesText(line: object): Html {
  const packages = objectsIn(line, 'packages').map((each) => versionOf(each));
  const more = packages.length > 3 ? ` and ${packages.length - 3} more` : '';
  return html`${listed(packages.slice(0, 3))}${more}`;
}

function versionOf(line: object, version = 'version'): Html {
  return html`${bdi(textIn(line, 'name'))} ${bdi(textIn(line, version))}`;
}

function ringsText(line: object, names: readonly string[]): Html {
  const times = textsIn(line, 'entered');
  const parts = times.map((time, i) => html`${bdi(names[i] ?? `ring ${i + 1}`)} ${minute(time)}`);
  const ahead = names.slice(times.length).map((name) => html`${bdi(name)} not entered`);
  return html`${[...parts, ...ahead].map((part) => html`${part}<br>`)}`;
}

export function sourceSections({ show }: Marked, { lists }: Gathered): Html {
  return html`<h2>3. Do patches come from trusted sources?</h2>
<p class="asks">6.6.1 (c): security patches come from trusted sources …</p>
<p>Approvals name ${show('artifacts')} files. For ${show('artifacts.signed_origin')} of them the host named the key that signed their
repository. ${show('origins')} third-party origins were registered by an admin, each by its key. In ${show('divergences')} cases two
hashes were seen for one name and version; ${show('divergences.open')} of them were not decided at the end. The gate stops such a
file.</p>
<h3>Third-party origins</h3>
${listOf(lists.origins, ['Signing key', 'Rule', 'Reason', 'By', 'Until'], ({ line }) => [
  html`<code>${textIn(line, 'signing_key')}</code>`,
  html`${words(textIn(line, 'rule'))}`,
  html`${textIn(line, 'reason')}`,
  html`${textIn(line, 'created_by')}`,
  html`${day(textIn(line, 'ends_at'))}`,
])}
<h3>Files with more than one hash</h3>
${listOf(lists.divergences, ['Package', 'Hashes', 'State', 'Decided by', 'Reason'], ({ line }) => [
  versionOf(line),
  html`${numberText(objectsIn(line, 'hashes').length)}`,
  html`${textIn(line, 'state')}`,
  html`${textIn(line, 'decided_by')}`,
  html`${textIn(line, 'reason')}`,
])}
<h2>4. Is their integrity checked?</h2>
<p class="asks">6.6.1 (c): … and are checked for integrity.</p>
<p>${show('artifacts.hashed')} of ${show('artifacts')} approved files are bound to a hash by the server's signature. A host installs no
file whose hash differs. Hosts reported ${show('results.success')} successful and ${show('results.failed')} other results. They
refused ${show('events.COMMAND_REFUSED')} commands, found ${show('events.ARTIFACT_MISMATCH')} files that were not as approved, and
${show('events.PLAN_DRIFT')} plans that had changed since.</p>`;
}

export function exceptionSections({ show }: Marked, { lists }: Gathered): Html {
  return html`<h2>5. Why are patches not applied?</h2>
<p class="asks">6.6.1 (d) and 6.6.2: where a patch is not available or not applied, additional measures are taken, residual risks
accepted, and the reasons documented.</p>
<p>${show('holds')} holds kept packages as they are. ${show('statements')} statements on vulnerabilities were in force:
${show('statements.not_affected')} say that a package is not affected, ${show('statements.accepted')} accept a risk.
${show('unfixed')} vulnerabilities had no fix, ${show('unfixed.mitigated')} of them with a mitigation on the hosts.
The gate stopped ${show('decisions.blocked')} of ${show('decisions')} decisions.</p>
<h3>Holds, and exceptions from the minimum age (${show('age_exceptions')})</h3>
${listOf(lists.exceptions, ['Kind', 'Of', 'Reason', 'By', 'From', 'Until'], ({ line }) => [
  html`${textIn(line, 'kind')}`,
  textIn(line, 'kind') === 'hold' ? listed(textsIn(line, 'packages').slice(0, 5).map(bdi)) : versionOf(line),
  html`${textIn(line, 'reason')}`,
  html`${textIn(line, 'created_by')}`,
  html`${day(textIn(line, 'created_at'))}`,
  html`${day(memberIn(line, 'ended_at') === null ? textIn(line, 'ends_at') : textIn(line, 'ended_at'))}`,
])}
<h3>Statements on vulnerabilities</h3>
${listOf(lists.statements, ['Vulnerability', 'Package', 'Says', 'Reason', 'By', 'Until'], ({ line }) => [
  html`${textIn(line, 'vulnerability')}`,
  html`${textIn(line, 'name')}`,
  html`${words(textIn(line, 'status'))}`,
  html`${textIn(line, 'text')}`,
  html`${textIn(line, 'created_by')}`,
  html`${day(textIn(line, 'ends_at'))}`,
])}
<h3>Overrides: the gate stopped it, and a person went on (${show('approvals.overridden')})</h3>
${listOf(lists.overrides, ['Approval', 'By', 'When', 'Reason'], ({ line }) => [
  html`<code>${textIn(line, 'token_id')}</code>`,
  html`${textIn(objectIn(line, 'override'), 'by')}`,
  html`${minute(textIn(line, 'issued_at'))}`,
  html`${textIn(objectIn(line, 'override'), 'reason')}`,
])}
<h3>Vulnerabilities without a fix</h3>
${listOf(lists.unfixed, ['Vulnerability', 'Package', 'Severity', 'Since', 'Mitigation'], ({ line }) => [
  html`${textIn(line, 'vulnerability')}`,
  html`${textIn(line, 'package')}`,
  html`${textIn(line, 'severity')}`,
  html`${day(textIn(line, 'first_seen_at'))}`,
  html`${textIn(objectIn(line, 'mitigation'), 'hook')}`,
])}`;
}

function listOf<T extends Named>(
  named: readonly T[],
  heads: readonly string[],
  cells: (named: T) => Html[],
  most = LISTED_MAX,
): Html {
  if (named.length === 0) return html`<p>None.</p>`;
  const rows = named.map(
    (each) =>
      html`<tr>${cells(each).map((cell, i) => html`<td data-head="${heads[i] ?? ''}"><span>${cell}</span></td>`)}<td data-head="Line"><span class="place">${each.place}</span></td></tr>`,
  );
  const note = named.length < most ? html`` : html`<p>These are ${String(most)}; the bundle has all.</p>`;
  return html`<table><thead><tr>${heads.map((head) => html`<th>${head}</th>`)}<th>Line</th></tr></thead><tbody>${rows}</tbody></table>${note}`;
}

function words(text: string): string {
  return text.replaceAll('_', ' ');
}
