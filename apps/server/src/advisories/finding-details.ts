import type { Ecosystem } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { compareVersions } from '@tidegate/versions';
import { Compile } from 'typebox/compile';
import { JOINS_MAX } from './mirror/records/record-rules.ts';
import { type OsvRecord as Osv, OsvRecord } from './osv-schema.ts';
import { severityOf } from './severity.ts';
import type { Subject } from './subjects.ts';

/** What operators see of an advisory, and the aliases that join two ids of one vulnerability. */
export interface AdvisoryDetails {
  readonly aliases: readonly string[];
  /** Its CVEs, whatever the field (AlmaLinux uses `related`): only for ordering. */
  readonly cves: readonly string[];
  /** The CVEs that it is an id of, or an advisory about, and itself where more may have been cut off; none that is only related. */
  readonly about: readonly string[];
  /** All ids of the one vulnerability that it describes: only its own where it describes several CVEs. */
  readonly names: readonly string[];
  readonly summary: string;
  /** For display only: no verdict rests on it. */
  readonly severity: string | null;
  readonly malicious: boolean;
  readonly record: Osv | null;
}

const SUMMARY_MAX_CHARS = 500;
const CVES_MAX = 300;
const NAMES_MAX = 20;
/** Compiled: a judgment reads thousands. */
const records = Compile(OsvRecord);
/** CWE-506, embedded malicious code: how GHSA marks malware. */
const MALICIOUS_CODE = 'CWE-506';

/** Reads a stored record; a missing or unreadable one still yields its id. */
export function advisoryDetails(id: string, text: string | null): AdvisoryDetails {
  const record = text === null ? null : recordOf(text);
  const aliases = (record?.aliases ?? []).slice(0, JOINS_MAX);
  const isMalware =
    [id, ...aliases].some((one) => one.startsWith('MAL-')) ||
    (record?.database_specific?.cwe_ids ?? []).includes(MALICIOUS_CODE);
  const lists = [record?.aliases ?? [], record?.upstream ?? []];
  const same = [...new Set([id, ...lists.flat()])];
  const isCut = lists.some((list) => list.length >= JOINS_MAX);
  const about = same.filter((one) => isCve(one) || (isCut && one === id));
  return {
    aliases,
    cves: [...same, ...(record?.related ?? [])].filter(isCve).slice(0, CVES_MAX),
    about,
    // A record about several CVEs (an advisory of a distribution) is none of them: a statement about one would also
    // cover the others.
    names: about.length <= 1 ? same.slice(0, NAMES_MAX) : [id],
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

function isCve(id: string): boolean {
  return id.startsWith('CVE-');
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
