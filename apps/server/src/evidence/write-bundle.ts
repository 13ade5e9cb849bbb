import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import type { Envelope } from '@tidegate/protocol/documents';
import { EVIDENCE_TYPE, type EvidenceManifest, type EvidenceScope } from '@tidegate/protocol/evidence-api';
import { rfc3339 } from '../platform/clock.ts';
import { weighedChunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import {
  FILE_MAX_BYTES,
  FILES_MAX,
  lineDigest,
  MANIFEST_MAX_BYTES,
  manifestBytes,
  PART_BYTES,
  PIECE_BYTES,
} from './bundle-form.ts';
import {
  approvalLines,
  type Collecting,
  decisionLines,
  divergenceLines,
  exceptionLines,
  hostLines,
  inventoryLines,
  keyLines,
  type Lines,
  originLines,
  policyLines,
  rolloutHostLines,
  rolloutLines,
  statementLines,
  unfixedLines,
  updateLines,
} from './collect-lines.ts';
import { chainLines, unchainedLines } from './event-lines.ts';
import { createTally, FIGURES } from './figure-rules.ts';
import { README } from './readme-text.ts';
import { createReport } from './report-page.ts';
import { hostsOfScope } from './scope.ts';
import type { Span } from './store.ts';
import { paddingOf, TAR_BLOCK, tarHeader } from './tar-rules.ts';

/** The part of the key ring that signs a bundle. */
export interface EvidenceSigner {
  readonly fleetId: string;
  signer(): { sign(payloadType: string, bytes: Uint8Array): Envelope };
}

export interface EvidenceRequest {
  readonly scope: EvidenceScope;
  /** Whether it is for an operator who is bound to groups of hosts. */
  readonly isBound: boolean;
  readonly span: Span;
  readonly madeBy: string;
  readonly nowMs: number;
}

/** The bundle would pass a limit: a shorter span or fewer hosts make a smaller one. */
export class BundleTooLarge extends Error {}

/** Folders whose rows belong to the fleet: an operator who is bound to groups may not read them. */
const OF_FLEET: readonly (readonly [string, (of: Collecting) => Lines])[] = [
  ['policies', policyLines],
  ['statements', statementLines],
  ['origins', originLines],
  ['exceptions', exceptionLines],
  ['rollouts', rolloutLines],
  ['rollouthosts', rolloutHostLines],
  ['divergences', divergenceLines],
  ['unfixed', unfixedLines],
];
const OF_HOSTS: readonly (readonly [string, (of: Collecting) => Lines])[] = [
  ['hosts', hostLines],
  ['approvals', approvalLines],
  ['decisions', decisionLines],
  ['updates', updateLines],
  ['inventory', inventoryLines],
];

/** The bundle (docs/evidence.md), a piece at a time. It holds one part in memory, whatever the span. */
export async function* writeBundle(
  db: Db,
  signer: EvidenceSigner,
  { scope, isBound, span, madeBy, nowMs }: EvidenceRequest,
): AsyncGenerator<Buffer> {
  const unknown: string[] = [];
  const files: EvidenceManifest['files'] = [];
  const lineCounts: Record<string, number> = {};
  const hosts = await hostsOfScope(db, scope);
  const note = (sentence: string) => void unknown.push(sentence);
  const of: Collecting = { db, scope, span, hosts, bulkIds: new Set(), note };
  const tally = createTally(FIGURES);
  const report = createReport();
  let chain: EvidenceManifest['chain'] = null;

  async function* put(name: string, texts: readonly Buffer[]): AsyncGenerator<Buffer> {
    if (files.length >= FILES_MAX) throw new BundleTooLarge(`a bundle has at most ${FILES_MAX} files`);
    const size = texts.reduce((sum, { length }) => sum + length, 0);
    const hash = createHash('sha256');
    yield tarHeader({ name, bytes: size });
    for (const some of weighedChunks(texts, { weigh: ({ length }) => length, most: PIECE_BYTES })) {
      await takeTurn();
      const piece = Buffer.concat(some);
      hash.update(piece);
      yield piece;
    }
    yield Buffer.alloc(paddingOf(size));
    files.push({ name, bytes: size, sha256: hash.digest('hex') });
  }
  /** A file, and the beginnings of the hashes of its lines, by which a verifier finds a changed line. */
  async function* putLines(name: string, { lines, digests }: Part): AsyncGenerator<Buffer> {
    yield* put(name, lines);
    yield* put(`lines/${name}`, digests);
  }
  async function* putFolder(folder: string, lines: Lines): AsyncGenerator<Buffer> {
    let part: Part = { lines: [], digests: [] };
    let size = 0;
    let number = 1;
    let count = 0;
    const nameOf = () => `${folder}/${String(number).padStart(4, '0')}.ndjson`;
    for await (const line of lines) {
      await takeTurn();
      const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
      if (bytes.length > FILE_MAX_BYTES) throw new BundleTooLarge(`a line of ${folder} is too long`);
      if (size > 0 && size + bytes.length > PART_BYTES) {
        yield* putLines(nameOf(), part);
        part = { lines: [], digests: [] };
        size = 0;
        number++;
      }
      part.lines.push(bytes);
      part.digests.push(digestOf(bytes));
      size += bytes.length;
      count++;
      const place = `${nameOf()}:${part.lines.length}`;
      tally.take(folder, line, place);
      report.take(folder, line, place);
    }
    if (part.lines.length > 0) yield* putLines(nameOf(), part);
    lineCounts[folder] = count;
  }

  yield* putLines('README.txt', partOf(README));
  yield* putFolder('keys', keyLines(of));
  for (const [folder, lines] of OF_HOSTS) yield* putFolder(folder, lines(of));
  if (isBound) {
    of.note(
      `Made for an operator of some groups: ${OF_FLEET.map(([folder]) => folder).join(', ')} and the chain of the events belong to the whole fleet, and are not in the bundle.`,
    );
    yield* putFolder('events', unchainedLines(of));
  } else {
    if (scope.kind === 'host')
      of.note('Vulnerabilities without a fix are kept by group: those of the whole fleet are listed.');
    for (const [folder, lines] of OF_FLEET) yield* putFolder(folder, lines(of));
    yield* putFolder(
      'events',
      chainLines(of, (walked) => {
        chain = walked;
      }),
    );
  }
  const figures = tally.result();
  const about = {
    ...{ fleet_id: signer.fleetId, scope, since: rfc3339(span.sinceMs), until: rfc3339(span.untilMs) },
    ...{ made_at: rfc3339(nowMs), made_by: madeBy, hosts: hosts.size },
  };
  const rules = figures.map((figure) => `${JSON.stringify(figure)}\n`).join('');
  yield* putLines('figures.ndjson', partOf(rules));
  yield* putLines('report.html', partOf(report.page({ ...about, unknown, figures })));
  const manifest: EvidenceManifest = {
    ...{ v: 1, ...about, chain, lines: lineCounts, unknown },
    files: files.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
  const bytes = Buffer.from(canonicalJson(manifest));
  if (bytes.length > MANIFEST_MAX_BYTES) throw new BundleTooLarge('the list of files is too long');
  const signed = manifestBytes(signer.signer().sign(EVIDENCE_TYPE, bytes));
  yield tarHeader({ name: 'manifest.json', bytes: signed.length });
  yield signed;
  yield Buffer.alloc(paddingOf(signed.length));
  yield Buffer.alloc(2 * TAR_BLOCK);
}

/** The lines of a file that is being made, each with its end. */
interface Part {
  readonly lines: Buffer[];
  readonly digests: Buffer[];
}

function partOf(text: string): Part {
  const lines = text.split(/(?<=\n)/).map((line) => Buffer.from(line));
  return { lines, digests: lines.map(digestOf) };
}

function digestOf(line: Buffer): Buffer {
  return Buffer.from(`${lineDigest(line)}\n`);
}
