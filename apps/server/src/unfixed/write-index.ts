import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { readExploited, readKevList } from '../advisories/exploited/store.ts';
import { advisoryDetails } from '../advisories/finding-details.ts';
import { readAdvisories } from '../advisories/store.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { takeTurn } from '../platform/turns.ts';
import {
  dropGoneVulnerabilities,
  identitiesNamed,
  linkPackages,
  putUnjudged,
  putVulnerability,
  setVulnerabilitiesGone,
  storedVulnerabilities,
  subjectsStored,
  unlinkSubjects,
  vulnerabilitiesAfter,
} from '../vulnerability-index/write-store.ts';
import { renewClaim } from './pass-store.ts';
import type { Counts } from './tally.ts';
import type { Installed, Judgements } from './unfixed-rules.ts';
import { type Stored, storedOf } from './vulnerability-rows.ts';
import { DAY_MS, GONE_DAYS, type Turn, type World, type Written } from './write-sums.ts';

/** Vulnerabilities, and subjects, that are prepared and written in one turn. */
const WRITE_ROWS = 100;
const Names = Type.Array(Type.String());

/** Brings the index of vulnerabilities up to date; only what differs is written. */
export async function writeIndex(
  platform: World,
  { counts, judgements }: { counts: Counts; judgements: Judgements },
  turn: Turn,
): Promise<Written> {
  const { database } = platform;
  const write = async (work: (tx: Tx) => Promise<void>): Promise<Written> => {
    if (turn.isStopped()) return 'stopped';
    await takeTurn();
    return database.transact(async (tx) => {
      if (!(await renewClaim(tx, { claim: turn.claim, nowMs: platform.now() }))) return 'claim_lost';
      await work(tx);
      return 'written';
    });
  };
  // The packages come first: a vulnerability is never there without those that have it.
  for (const some of chunks([...counts.affected], WRITE_ROWS)) {
    const links = await linksOf(platform, some);
    if (links.length === 0) continue;
    const written = await write((tx) => linkPackages(tx, links));
    if (written !== 'written') return written;
  }
  const { saysNo: isKevKnown } = await readKevList(database.read, platform.now());
  for (const ids of chunks([...counts.vulnerabilities.keys()].sort(), WRITE_ROWS)) {
    const changed = await changedOf(platform, { ids, counts, judgements, isKevKnown });
    if (changed.length === 0) continue;
    const nowMs = platform.now();
    const written = await write(async (tx) => {
      for (const one of changed) await putVulnerability(tx, { ...one, nowMs });
    });
    if (written !== 'written') return written;
  }
  for (let after = ''; ; ) {
    const rows = await vulnerabilitiesAfter(database.read, { after, limit: WRITE_ROWS });
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
    const gone = rows.filter(({ id }) => !counts.vulnerabilities.has(id));
    const disproved = await disprovedOf(platform, { rows: gone, judgements });
    const ids = gone.filter(({ gone_at }) => gone_at === null).map(({ id }) => id);
    if (ids.length + disproved.length === 0) continue;
    const written = await write(async (tx) => {
      await setVulnerabilitiesGone(tx, { ids, nowMs: platform.now() });
      await unlinkSubjects(tx, disproved);
    });
    if (written !== 'written') return written;
  }
  const beforeMs = (await retentionTime(platform)) - GONE_DAYS * DAY_MS;
  return write(async (tx) => {
    await dropGoneVulnerabilities(tx, { beforeMs, limit: WRITE_ROWS });
    await putUnjudged(tx, counts.unjudged);
  });
}

/** The identities behind affected packages that are not linked yet. */
async function linksOf(
  { database }: World,
  affected: readonly (readonly [subject: string, packages: ReadonlySet<Installed>])[],
) {
  const wanted = affected.flatMap(([subject, packages]) => [...packages].map((one) => ({ subject, ...one })));
  const identities = await identitiesNamed(
    database.read,
    wanted.map(({ ecosystem, package: { name, version } }) => ({ ecosystem, name, version })),
  );
  const bySaid = Map.groupBy(identities, saidOf);
  return wanted.flatMap(({ subject, ecosystem, system, package: one }) =>
    (
      bySaid.get(
        saidOf({
          ...{ ecosystem, name: one.name, version: one.version, origin: one.origin ?? null },
          ...{ source_name: one.sourceName ?? null, source_version: one.sourceVersion ?? null },
        }),
      ) ?? []
    ).map(({ id }) => ({
      ...{ subject, package_id: id, os_id: system.id, os_version_id: system.versionId },
    })),
  );
}

function saidOf(one: {
  readonly ecosystem: string;
  readonly name: string;
  readonly version: string;
  readonly source_name: string | null;
  readonly source_version: string | null;
  readonly origin: string | null;
}): string {
  const { ecosystem, name, version, source_name, source_version, origin } = one;
  return JSON.stringify([ecosystem, name, version, source_name, source_version, origin]);
}

/** What differs from what is stored, of these vulnerabilities. */
async function changedOf(
  { database: { read }, now }: Pick<Platform, 'database' | 'now'>,
  of: { ids: readonly string[]; counts: Counts; judgements: Judgements; isKevKnown: boolean },
): Promise<{ stored: Stored; isNew: boolean }[]> {
  const { ids, counts, judgements, isKevKnown } = of;
  const sums = ids.flatMap((id) => counts.vulnerabilities.get(id) ?? []);
  const records = await readAdvisories(
    read,
    sums.flatMap(({ advisories }) => [...advisories]),
  );
  const details = new Map(
    sums
      .flatMap(({ advisories }) => [...advisories])
      .map((id) => [id, advisoryDetails(id, records.get(id)?.record ?? null)]),
  );
  const cves = [...ids.filter((id) => id.startsWith('CVE-')), ...details.values().flatMap((one) => one.cves)];
  const feeds = { of: await readExploited(read, { cves, nowMs: now() }), isKevKnown };
  const before = new Map((await storedVulnerabilities(read, ids)).map((row) => [row.id, row.digest]));
  const subjects = Map.groupBy(await subjectsStored(read, ids), (row) => row.vulnerability_id);
  return sums.flatMap((sum) => {
    const former = (subjects.get(sum.id) ?? [])
      .map(({ subject }) => subject)
      .filter((subject) => !sum.fixes.has(subject))
      .filter((subject) => !isDisproved(subject, { names: [...sum.advisories], judgements }));
    const stored = storedOf({ sum, sums: counts.sums, details, feeds, former });
    const digest = before.get(sum.id);
    return digest === stored.row.digest ? [] : [{ stored, isNew: digest === undefined }];
  });
}

/** Subjects of vulnerabilities that no host has, and that are judged not to have it any more. */
async function disprovedOf(
  { database: { read } }: World,
  { rows, judgements }: { rows: readonly { id: string; names: string }[]; judgements: Judgements },
) {
  const byId = new Map(rows.map(({ id, names }) => [id, Value.Parse(Names, JSON.parse(names))]));
  const stored = await subjectsStored(read, [...byId.keys()]);
  return stored.filter(({ vulnerability_id: id, subject }) =>
    isDisproved(subject, { names: byId.get(id) ?? [], judgements }),
  );
}

function isDisproved(
  subject: string,
  { names, judgements }: { names: readonly string[]; judgements: Judgements },
): boolean {
  const judgement = judgements.get(subject);
  return judgement?.isWhole === true && !judgement.ids.some((id) => names.includes(id));
}
