import type { OsvRecord } from './osv-schema.ts';

/** An advisory's stated severity: shown, never part of a verdict. */
export type Severity = 'none' | 'low' | 'medium' | 'high' | 'critical';

const WORDS: ReadonlyMap<string, Severity> = new Map([
  ['none', 'none'],
  ['negligible', 'low'],
  ['low', 'low'],
  ['moderate', 'medium'],
  ['medium', 'medium'],
  ['important', 'high'],
  ['high', 'high'],
  ['critical', 'critical'],
]);

/** GHSA uses a word, Ubuntu a word as score, AlmaLinux and Red Hat a prefix of the summary; others use CVSS. */
export function severityOf({ database_specific: specific, severity, summary }: OsvRecord): Severity | null {
  const scores = severity ?? [];
  const vector = scores.map(({ score }) => cvss3Severity(score)).find((one) => one !== null);
  return (
    wordOf(specific?.severity) ??
    scores.map(({ score }) => wordOf(score)).find((word) => word !== null) ??
    wordOf(/^(\w+): /.exec(summary ?? '')?.[1]) ??
    vector ??
    null
  );
}

function wordOf(word: unknown): Severity | null {
  return typeof word === 'string' ? (WORDS.get(word.toLowerCase()) ?? null) : null;
}

const WEIGHTS: Readonly<Record<string, number>> = {
  'AV:N': 0.85,
  'AV:A': 0.62,
  'AV:L': 0.55,
  'AV:P': 0.2,
  'AC:L': 0.77,
  'AC:H': 0.44,
  'PR:N': 0.85,
  'PR:L': 0.62,
  'PR:H': 0.27,
  'UI:N': 0.85,
  'UI:R': 0.62,
  'C:H': 0.56,
  'C:L': 0.22,
  'C:N': 0,
  'I:H': 0.56,
  'I:L': 0.22,
  'I:N': 0,
  'A:H': 0.56,
  'A:L': 0.22,
  'A:N': 0,
};
/** Privileges weigh more when the scope changes (CVSS 3.1, section 7.4). */
const PRIVILEGES_CHANGED: Readonly<Record<string, number>> = { 'PR:N': 0.85, 'PR:L': 0.68, 'PR:H': 0.5 };

/** Rating of a CVSS 3.0 or 3.1 vector's base score (specification, sections 5 and 7.1); null for any other text. */
export function cvss3Severity(vector: string): Severity | null {
  if (!/^CVSS:3\.[01]\//.test(vector)) return null;
  const metrics = new Map(
    vector
      .split('/')
      .slice(1)
      .map((metric) => [metric.split(':', 1)[0] ?? '', metric]),
  );
  const isChanged = metrics.get('S') === 'S:C';
  function weight(name: string): number {
    const metric = metrics.get(name) ?? '';
    return (isChanged ? PRIVILEGES_CHANGED[metric] : undefined) ?? WEIGHTS[metric] ?? Number.NaN;
  }
  const exploitability = 8.22 * weight('AV') * weight('AC') * weight('PR') * weight('UI');
  const loss = 1 - (1 - weight('C')) * (1 - weight('I')) * (1 - weight('A'));
  const impact = isChanged ? 7.52 * (loss - 0.029) - 3.25 * (loss - 0.02) ** 15 : 6.42 * loss;
  if (Number.isNaN(exploitability + impact) || !metrics.has('S')) return null;
  if (impact <= 0) return 'none';
  const score = roundUp(Math.min((isChanged ? 1.08 : 1) * (impact + exploitability), 10));
  if (score < 4) return 'low';
  if (score < 7) return 'medium';
  return score < 9 ? 'high' : 'critical';
}

/** Rounds up to one decimal, without binary noise (CVSS 3.1, appendix A). */
function roundUp(score: number): number {
  const exact = Math.round(score * 100_000);
  return exact % 10_000 === 0 ? exact / 100_000 : (Math.floor(exact / 10_000) + 1) / 10;
}
