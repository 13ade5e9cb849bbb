import { hash } from 'node:crypto';
import type { InventoryAnswer, InventoryPackage, PartAnswer } from '@tidegate/protocol/agent-api';
import { lockAgent } from '../agents/store.ts';
import { chargeReport } from '../outsiders/charge.ts';
import { chunks } from '../platform/db/chunks.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { openUpdates } from '../updates/record-scan.ts';
import { ALL_PARTS, tooLarge } from './large-refusal.ts';
import {
  bytesUnderWay,
  dropOldParts,
  dropPart,
  dropReports,
  insertPieces,
  readPieces,
  type StoredPart,
  storedParts,
} from './parts-store.ts';
import type { ReadReport, ReadUpdate } from './read-report.ts';
import { findReport, type Section } from './store.ts';
import { accepted, noAgent, recordParts, refusalOf, type TakeDeps, unreadable } from './take-report.ts';

/** How long the parts of a report wait for the others. */
export const PARTS_LIFETIME_MS = 3_600_000;
/** Pieces per transaction. */
const WRITTEN_PIECES = 8;

export interface Part {
  /** The digest over all parts, which names the report. */
  readonly report: string;
  readonly part: number;
  readonly parts: number;
  readonly bytes: Uint8Array;
}

export type PartOutcome =
  | { kind: 'kept'; answer: PartAnswer }
  | { kind: 'recorded'; answer: InventoryAnswer };

/**
 * Stores a part of a report, and records the report once all of its parts have arrived and their digests
 * match its name. Until then nothing of it counts. A repeated part replaces the earlier one.
 */
export async function takePart(deps: TakeDeps, args: Section & Part): Promise<PartOutcome> {
  const { database } = deps.platform;
  const section = { agentId: args.agentId, ecosystem: args.ecosystem };
  const stored = await findReport(database.read, section);
  if (stored?.digest === args.report) {
    const updates = await openUpdates(database.read, section);
    return { kind: 'recorded', answer: { accepted: true, updates } };
  }
  return deps.large.admit(args.agentId, async () => {
    await keepPart(deps, args);
    const present = (await storedParts(database.read, { ...section, report: args.report })).filter(
      ({ parts }) => parts === args.parts,
    );
    const missing = missingOf(present, args.parts);
    if (missing.length > 0) return { kind: 'kept', answer: { accepted: true, missing } };
    if (partsDigest(present.map(({ digest }) => digest)) !== args.report) {
      await database.transact((tx) => dropReports(tx, { ...section, but: null }));
      throw new Refusal('invalid_request', { detail: 'The parts are not those that the digest names.' });
    }
    const assembled = await assemble(deps, { ...section, report: args.report, present });
    if (!assembled.ok) {
      // Else each repetition of one small part would have all of them read again.
      await database.transact((tx) => dropReports(tx, { ...section, but: null }));
      throw assembled.refusal;
    }
    const { report } = assembled;
    // Each part was charged its bytes on arrival.
    const answer = await recordParts(deps, { ...section, report, digest: args.report, sizeBytes: 0 });
    await database.transact((tx) => dropReports(tx, { ...section, but: null }));
    return { kind: 'recorded', answer };
  });
}

/** SHA-256 of the digests of the parts in hex, one per line: the name of a report in parts. */
export function partsDigest(digests: readonly string[]): string {
  return hash('sha256', digests.join('\n'), 'hex');
}

async function keepPart(
  deps: TakeDeps,
  { report, part, parts, bytes, ...section }: Section & Part,
): Promise<void> {
  const { platform, large } = deps;
  const sizeBytes = bytes.length;
  const packed = await large.pack({ ecosystem: section.ecosystem, body: bytes });
  if (packed.kind === 'unavailable') throw unreadable();
  if (packed.kind === 'refused') throw refusalOf(packed.reading);
  await chargeReport(platform, { agentId: section.agentId, rows: 0, bytes: sizeBytes });
  const nowMs = platform.now();
  const named = { ...section, report };
  await platform.database.transact(async (tx) => {
    if (!(await lockAgent(tx, section.agentId))) throw noAgent();
    await dropOldParts(tx, { agentId: section.agentId, beforeMs: nowMs - PARTS_LIFETIME_MS });
    await dropReports(tx, { ...section, but: report });
    await dropPart(tx, { ...named, part });
    const others = await storedParts(tx, named);
    const packages = others.reduce((sum, { packageCount }) => sum + packageCount, packed.packageCount);
    const underWay = await bytesUnderWay(tx, section.agentId);
    if (packages > ALL_PARTS.packages || underWay + sizeBytes > ALL_PARTS.bytes) {
      throw tooLarge('in all parts', ALL_PARTS);
    }
  });
  const blank = { digest: null, parts: null, pieces: null, size_bytes: null, package_count: null };
  const row = { agent_id: section.agentId, ecosystem: section.ecosystem, report, part, received_at: nowMs };
  const rows = packed.pieces.map((data, piece) => ({ ...row, ...blank, piece, data }));
  const [first, ...rest] = rows;
  if (!first) throw new Error('a part without a piece');
  const facts = { digest: packed.digest, parts, pieces: rows.length, size_bytes: sizeBytes };
  const described = { ...first, ...facts, package_count: packed.packageCount };
  for (const some of [...chunks(rest, WRITTEN_PIECES), [described]]) {
    if (!(await platform.database.transact((tx) => insertPieces(tx, some)))) throw unreadable();
  }
}

function missingOf(present: readonly StoredPart[], parts: number): number[] {
  const there = new Set(present.map(({ part }) => part));
  return Array.from({ length: parts }, (_, n) => n + 1).filter((part) => !there.has(part));
}

/** Reads the parts, one after the other; they must be those that arrived, and of one scan. */
async function assemble(
  deps: TakeDeps,
  { present, ...named }: Section & { report: string; present: readonly StoredPart[] },
): Promise<{ ok: true; report: ReadReport } | { ok: false; refusal: Refusal }> {
  const packages: InventoryPackage[] = [];
  const updates: ReadUpdate[] = [];
  let scan: Pick<ReadReport, 'scanned_at' | 'complete' | 'condition'> | null = null;
  for (const { part, digest } of present) {
    const data: string[] = [];
    for await (const piece of readPieces(deps.platform.database.read, { ...named, part })) data.push(piece);
    const read = await deps.large.read({ ecosystem: named.ecosystem, body: data, knownDigest: null });
    // Another server may have taken the same part at the same time.
    if (read.kind !== 'read' || read.digest !== digest) return { ok: false, refusal: unreadable() };
    const report = accepted(read.reading);
    scan ??= report;
    if (report.scanned_at !== scan.scanned_at || report.complete !== scan.complete) {
      const detail = 'The parts are not of one scan: scanned_at and complete must be the same in each.';
      return { ok: false, refusal: new Refusal('invalid_request', { detail }) };
    }
    for (const item of report.packages) packages.push(item);
    for (const update of report.updates) updates.push(update);
    if (updates.length > ALL_PARTS.updates)
      return { ok: false, refusal: tooLarge('in all parts', ALL_PARTS) };
  }
  if (scan === null) throw new Error('a report without parts');
  const { scanned_at, complete, condition } = scan;
  const report = { scanned_at, complete, packages, updates, ...(condition && { condition }) };
  return { ok: true, report };
}
