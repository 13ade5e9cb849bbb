import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { type PackageVersionOf, subjectKey } from '../advisories/subjects.ts';
import type { AdvisoryWorker } from '../advisories/worker.ts';
import { withTags } from '../agents/host-scope.ts';
import type { Config } from '../config.ts';
import { compareText } from '../platform/compare-text.ts';
import { weighedChunks } from '../platform/db/chunks.ts';
import { createDue } from '../platform/due.ts';
import type { Platform } from '../platform/platform.ts';
import { createPace } from '../platform/turns.ts';
import type { AdvisorySubjects } from './advisory-subjects.ts';
import { activeHosts, packagesOf, pendingOf, reportsOf } from './facts-store.ts';
import type { Image, ImageCache, Reported } from './image-cache.ts';
import type { LookUpTurns } from './look-up-turns.ts';
import { claimPass, endPass, RENEWED_EVERY_MS, releasePass, renewClaim } from './pass-store.ts';
import { readJudgements } from './read-judgements.ts';
import { rowsByRecord } from './shared-rows.ts';
import { createTally, type Offer } from './tally.ts';
import { placeOf } from './unfixed-rules.ts';
import { type Stops, stopsOf, waitsFor } from './waits-for.ts';
import { writeIndex } from './write-index.ts';
import { readKnownRows } from './write-store.ts';
import { writeSums } from './write-sums.ts';

/** Hosts read in one turn. */
const PAGE_HOSTS = 100;
/** Packages of reports that are read together; a host may report hundreds of thousands. */
const READ_PACKAGES = 30_000;
/** Packages that nobody has judged, and that one pass has judged. */
const JUDGED_A_PASS = 5_000;
const JUDGE_WAIT_MS = 60_000;
/** Versions of one package that updates may bring to one host: those beyond fix nothing. An honest host is offered a few. */
const OFFERS_MAX = 100;

export interface UnfixedDeps {
  readonly platform: Pick<Platform, 'database' | 'newId' | 'now'>;
  readonly config: Pick<Config, 'advisoryMaxAgeHours' | 'vulnerabilityPolicy'>;
  readonly worker: Pick<AdvisoryWorker, 'judgeInBackground' | 'wantRecords'>;
  readonly images: ImageCache;
  readonly advisorySubjects: AdvisorySubjects;
  readonly turns: LookUpTurns;
}

export type PassOutcome = 'ended' | 'not_due' | 'stopped' | 'claim_lost';

/**
 * Counts the known vulnerabilities of what is installed, over all hosts, from what has been judged; then has more of
 * what nobody has judged looked up, and records that are missing fetched, for the next pass.
 */
export async function runUnfixedPass(
  deps: UnfixedDeps,
  {
    intervalMs,
    isStopped = () => false,
    judgedMax = JUDGED_A_PASS,
  }: { intervalMs: number; isStopped?: () => boolean; judgedMax?: number },
): Promise<PassOutcome> {
  const { platform, worker, turns } = deps;
  const { database } = platform;
  const claim = platform.newId();
  const isMine = await database.transact((tx) => claimPass(tx, { claim, nowMs: platform.now(), intervalMs }));
  if (!isMine) return 'not_due';
  const startMs = platform.now();
  const isRenewalDue = createDue(RENEWED_EVERY_MS);
  isRenewalDue(startMs); // It has just been claimed.
  /** Between two renewals a server that has lost its claim reads in vain: each write asks again. */
  const holds = async () => {
    const nowMs = platform.now();
    return !isRenewalDue(nowMs) || database.transact((tx) => renewClaim(tx, { claim, nowMs }));
  };
  try {
    const counted = await countHosts(deps, { isStopped, holds });
    if (typeof counted === 'string') return counted;
    const turn = { claim, isStopped };
    const written = await writeSums(platform, counted.rows, turn);
    if (written !== 'written') return written;
    const indexed = await writeIndex(
      platform,
      { counts: counted.index, judgements: counted.judgements },
      turn,
    );
    if (indexed !== 'written') return indexed;
    const { coverage, leftOut, wanted, missing } = counted;
    const end = { claim, nowMs: platform.now(), tookMs: platform.now() - startMs, leftOut, coverage };
    if (!(await database.transact((tx) => endPass(tx, end)))) return 'claim_lost';
    // Without its record nobody knows which vulnerabilities an advisory is about.
    worker.wantRecords(missing);
    const ask = turns.next(wanted, judgedMax);
    if (ask.length > 0) await worker.judgeInBackground(ask, JUDGE_WAIT_MS);
    return 'ended';
  } finally {
    await database.transact((tx) => releasePass(tx, claim));
  }
}

async function countHosts(
  deps: UnfixedDeps,
  { isStopped, holds }: { isStopped: () => boolean; holds: () => Promise<boolean> },
) {
  const { platform, images } = deps;
  const db = platform.database.read;
  const { judgements, answered } = await readJudgements(deps);
  const known = await readKnownRows(db);
  const subjects = await deps.advisorySubjects.read(
    db,
    judgements,
    known.map(({ record }) => record),
  );
  const tally = createTally(judgements, {
    vulnerabilitiesOf: (advisory) => subjects.of(advisory).about,
    rowsOf: rowsByRecord({ judgements, idsOf: subjects.of, known }),
  });
  const stops = await stopsOf(deps);
  images.begin();
  const pace = createPace();
  for (let after = ''; ; ) {
    const page = await activeHosts(db, { after, limit: PAGE_HOSTS });
    const last = page.at(-1);
    if (!last) {
      const { wanted, ...counts } = tally.end();
      const unasked = wanted.filter(({ subject }) => !answered.has(subjectKey(subject)));
      return { ...counts, wanted: unasked, missing: subjects.missing, judgements };
    }
    if (isStopped()) return 'stopped' as const;
    if (!(await holds())) return 'claim_lost' as const;
    after = last.id;
    const imagesOf = await readImages(deps, page);
    const pending = await readPending(deps, page, stops);
    for (const { id, group_name: group } of page) {
      const own = imagesOf.get(id) ?? { images: [], isWhole: false };
      tally.add({ group: group ?? '', ...own, pending: pending.get(id) ?? new Map() });
    }
    await pace();
  }
}

/** Reads what has changed since the last pass. */
async function readImages(
  { platform, images }: UnfixedDeps,
  hosts: readonly { id: string; os_id: string; os_version_id: string }[],
) {
  const db = platform.database.read;
  const byId = new Map(hosts.map((host) => [host.id, host]));
  const found = new Map<string, { images: Image[]; isWhole: boolean }>();
  const unread: { report: Reported; count: number }[] = [];
  const put = (agentId: string, image: Image, isWhole: boolean) => {
    const own = found.get(agentId) ?? { images: [], isWhole: true };
    found.set(agentId, { images: [...own.images, image], isWhole: own.isWhole && isWhole });
  };
  for (const row of await reportsOf(db, [...byId.keys()])) {
    const { agent_id: agentId, ecosystem, digest, complete, package_count: count } = row;
    const host = byId.get(agentId);
    if (!host || !Value.Check(Ecosystem, ecosystem)) continue;
    const system = { id: host.os_id, versionId: host.os_version_id };
    // What an incomplete report contains depends on the one before.
    const report = { agentId, ecosystem, system, digest: complete === 1 && digest !== '' ? digest : null };
    const known = images.find(report);
    if (known) put(agentId, known, complete === 1);
    else unread.push({ report, count });
  }
  for (const some of weighedChunks(unread, { weigh: ({ count }) => count, most: READ_PACKAGES })) {
    const read = new Map<Reported, readonly PackageVersionOf[]>();
    for (const { report } of some) read.set(report, await packagesOf(db, report));
    const reread = await reportsOf(
      db,
      some.map(({ report: { agentId } }) => agentId),
    );
    const digests = new Map(reread.map((row) => [placeOf(row.agent_id, row.ecosystem), row.digest]));
    for (const [report, packages] of read) {
      // Of a report that came in between only a part may be read: these packages have no name.
      const isRead = digests.get(placeOf(report.agentId, report.ecosystem)) === report.digest;
      const digest = isRead ? report.digest : null;
      put(report.agentId, images.add({ ...report, digest }, packages), digest !== null);
    }
  }
  return found;
}

async function readPending(
  { platform }: UnfixedDeps,
  hosts: readonly { id: string; group_name: string | null }[],
  stops: Stops,
) {
  const db = platform.database.read;
  const byHost = new Map<string, Map<string, Map<string, boolean>>>();
  const scopes = stops.holds.map(({ scope }) => scope);
  const tagged = await withTags(
    db,
    hosts.map(({ id, group_name: group }) => ({ id, group })),
    scopes,
  );
  const byId = new Map(tagged.map((host) => [host.id, host]));
  for await (const some of pendingOf(db, [...byId.keys()])) {
    for (const row of some) {
      const host = byId.get(row.agent_id);
      if (!host) continue;
      const own = byHost.get(row.agent_id) ?? new Map<string, Map<string, boolean>>();
      byHost.set(row.agent_id, own);
      const place = placeOf(row.ecosystem, row.name);
      const versions = own.get(place) ?? new Map<string, boolean>();
      own.set(place, versions);
      const isApprovable = waitsFor(row, host, stops) === 'approval';
      versions.set(row.available_version, isApprovable || (versions.get(row.available_version) ?? false));
    }
  }
  return new Map([...byHost].map(([id, own]) => [id, offersOf(own)]));
}

/** By package: each version once, in the order of their texts. */
function offersOf(versions: ReadonlyMap<string, ReadonlyMap<string, boolean>>): Map<string, Offer[]> {
  return new Map(
    [...versions].map(([place, some]) => [
      place,
      [...some]
        .map(([version, isApprovable]) => ({ version, isApprovable }))
        .sort((a, b) => compareText(a.version, b.version))
        .slice(0, OFFERS_MAX),
    ]),
  );
}
