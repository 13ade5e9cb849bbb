import type { Ecosystem } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { compareVersions } from '@tidegate/versions';
import { Compile } from 'typebox/compile';
import { type OsvRecord as Osv, OsvRecord } from './osv-schema.ts';
import { severityOf } from './severity.ts';
import type { Subject } from './subjects.ts';

/** What operators see of an advisory, and the aliases that join two ids of one vulnerability. */
export interface AdvisoryDetails {
  readonly aliases: readonly string[];
  /** Its CVEs, whatever the field (AlmaLinux uses `related`): only for ordering. */
  readonly cves: readonly string[];
  /** All ids of the one vulnerability that it describes: only its own where it describes several CVEs. */
  readonly names: readonly string[];
  readonly summary: string;
  /** For display only: no verdict rests on it. */
  readonly severity: string | null;
  readonly malicious: boolean;
  readonly record: Osv | null;
}

const SUMMARY_MAX_CHARS = 500;
const ALIASES_MAX = 100;
const CVES_MAX = 300;
const NAMES_MAX = 20;
/** Compiled: a judgment reads thousands. */
const records = Compile(OsvRecord);
/** CWE-506, embedded malicious code: how GHSA marks malware. */
const MALICIOUS_CODE = 'CWE-506';

/** Reads a stored record; a missing or unreadable one still yields its id. */
export function advisoryDetails(id: string, text: string | null): AdvisoryDetails {
  const record = text === null ? null : recordOf(text);
  const aliases = (record?.aliases ?? []).slice(0, ALIASES_MAX);
  const isMalware =
    [id, ...aliases].some((one) => one.startsWith('MAL-')) ||
    (record?.database_specific?.cwe_ids ?? []).includes(MALICIOUS_CODE);
  const joined = [id, ...aliases, ...(record?.upstream ?? []), ...(record?.related ?? [])];
  return {
    aliases,
    cves: joined.filter((one) => one.startsWith('CVE-')).slice(0, CVES_MAX),
    names: namesOf(id, [...aliases, ...(record?.upstream ?? [])]),
    summary: (record?.summary ?? '').slice(0, SUMMARY_MAX_CHARS),
    severity: record ? severityOf(record) : null,
    malicious: isMalware,
    record,
  };
}

function recordOf(text: string): Osv | null {
  const json = parseStrictJson(text);
  return json.ok && records.Check(json.value) ? json.value : null;
}

/**
 * A record about several CVEs (an advisory of a distribution) is none of them: a statement about one would also cover
 * the others.
 */
function namesOf(id: string, others: readonly string[]): string[] {
  const all = new Set([id, ...others]);
  const isOne = [...all].filter((one) => one.startsWith('CVE-')).length <= 1;
  return isOne ? [...all].slice(0, NAMES_MAX) : [id];
}

/** The lowest version above the given one that fixes it; null when none is known. */
export function fixedIn(record: Osv | null, ecosystem: Ecosystem, subject: Subject): string | null {
  let lowest: string | null = null;
  for (const affected of record?.affected ?? []) {
    if (affected.package?.name !== subject.name) continue;
    if (!isSameEcosystem(affected.package.ecosystem, subject.ecosystem)) continue;
    const events = (affected.ranges ?? [])
      .filter(({ type }) => type !== 'GIT')
      .flatMap((r) => r.events ?? []);
    for (const { fixed } of events) {
      if (fixed === undefined || compareVersions(ecosystem, fixed, subject.version) !== 1) continue;
      if (lowest === null || compareVersions(ecosystem, fixed, lowest) === -1) lowest = fixed;
    }
  }
  return lowest;
}

/** A record of a bare ecosystem (`Debian`) applies to every release. */
function isSameEcosystem(record: string, host: string): boolean {
  return record === host || record === host.split(':', 1)[0];
}
