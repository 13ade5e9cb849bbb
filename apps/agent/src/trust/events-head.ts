import { join } from 'node:path';
import { EventsHead, type StatePayload } from '@tidegate/protocol/documents';
import { nullable, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { SaveOutcome } from '../identity/config-file.ts';
import { errorCode, type FileLayer, ownUid, realFiles, writeDurably } from '../platform/file-layer.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';

const FILE = 'events-head.json';
const FILE_MAX_BYTES = 16 * 1024;
/** Interval for writing an advanced head: it serves comparison between hosts, and rare writes spare the disk. */
const WRITE_STEP_MS = 10 * 60_000;
/** Replicas sign their own states by their own clocks, which never differ by this much. */
const REPLICAS_APART_MS = 10_000;

const SeenHead = strict({
  epoch: Type.Integer({ minimum: 1 }),
  ...EventsHead.properties,
  server_time: Timestamp,
});
type SeenHead = Static<typeof SeenHead>;

const Rollback = strict({
  kept: SeenHead,
  /** What the later state document said; null where it named no event at all. */
  seen: nullable(EventsHead),
  server_time: Timestamp,
});
type Rollback = Static<typeof Rollback>;

const HeadFile = strict({
  v: Type.Literal(1),
  fleet_id: nullable(Uuid),
  newest: nullable(SeenHead),
  rollback: nullable(Rollback),
});
type HeadFile = Static<typeof HeadFile>;

const NOTHING: HeadFile = { v: 1, fleet_id: null, newest: null, rollback: null };

type NotedHead = { ok: true; rollback: Rollback | null } | { ok: false; detail: string };

/** The newest head of the server's log of events that this host saw signed (T6): what an auditor compares. */
export interface EventsHeadStore {
  /** Reports once that the log went back. */
  note(state: StatePayload): NotedHead;
}

/** What the state says against the head that was kept, where the epoch is the same and both are signed. */
export function judgeHead(
  kept: SeenHead | null,
  { epoch, events_head: head, server_time }: Pick<StatePayload, 'epoch' | 'events_head' | 'server_time'>,
): 'newer' | 'nothing_new' | 'rolled_back' {
  if (kept === null || epoch > kept.epoch) return head === null ? 'nothing_new' : 'newer';
  if (epoch < kept.epoch) return 'nothing_new';
  const position = head?.position ?? 0;
  if (position > kept.position) return 'newer';
  if (position === kept.position && head?.hash === kept.hash) return 'nothing_new';
  // An older state, or one from another replica at the same time, may have an older head.
  const laterMs = Date.parse(server_time) - Date.parse(kept.server_time);
  return laterMs >= REPLICAS_APART_MS ? 'rolled_back' : 'nothing_new';
}

/** Empty when the file is absent or untrusted: it is only evidence and protects no action. */
export function readHeadFile(folder: string): HeadFile {
  const trust = { maxBytes: FILE_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  return readTrustedJson(join(folder, FILE), HeadFile, trust) ?? NOTHING;
}

export function openEventsHeadStore(folder: string, files: FileLayer = realFiles): EventsHeadStore {
  const path = join(folder, FILE);
  let held = readHeadFile(folder);
  let written = held;

  function write(): SaveOutcome {
    try {
      writeDurably(path, new TextEncoder().encode(`${JSON.stringify(held)}\n`), { mode: 0o600, files });
    } catch (error) {
      return { ok: false, detail: `${path} cannot be written (${errorCode(error)})` };
    }
    written = held;
    return { ok: true };
  }

  return {
    note(state) {
      const { fleet_id, epoch, events_head: head, server_time } = state;
      // A host that was enrolled anew may be in another fleet.
      if (held.fleet_id !== fleet_id) held = { ...NOTHING, fleet_id };
      const { newest, rollback } = held;
      const verdict = judgeHead(newest, state);
      if (verdict === 'nothing_new') return { ok: true, rollback: null };
      if (verdict === 'newer' && head !== null) {
        held = { ...held, newest: { epoch, ...head, server_time } };
        if (!isWorthWriting(written, held)) return { ok: true, rollback: null };
        const saved = write();
        return saved.ok ? { ok: true, rollback: null } : saved;
      }
      if (newest === null || rollback?.kept.hash === newest.hash) return { ok: true, rollback: null };
      const found: Rollback = { kept: newest, seen: head, server_time };
      held = { ...held, rollback: found };
      const saved = write();
      return saved.ok ? { ok: true, rollback: found } : saved;
    },
  };
}

function isWorthWriting(written: HeadFile, held: HeadFile): boolean {
  const [before, now] = [written.newest, held.newest];
  if (written.fleet_id !== held.fleet_id || before?.epoch !== now?.epoch) return true;
  return Date.parse(now?.server_time ?? '') - Date.parse(before?.server_time ?? '') >= WRITE_STEP_MS;
}
