import { createHash } from 'node:crypto';
import { Count, nullable, Sha256Hex, strict, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Revocation } from '../platform/db/write-context.ts';

const Header = strict({ tidegate_revocations: Type.Literal(1), after: nullable(Sha256Hex) });
const Entry = strict({
  act: Type.Enum(['revoked', 'withdrawn']),
  kind: Type.Enum(['family', 'agent', 'deleted_agent', 'key', 'api_token', 'deleted_operator']),
  id: Uuid,
  at: Count,
  reason: Type.Optional(Type.String({ pattern: '^[a-z_]{1,64}$' })),
  hash: Sha256Hex,
});
const headers = Compile(Header);
const entries = Compile(Entry);

export type JournalAct = Static<typeof Entry>['act'];

/** The first line; `after` is the hash of the last line of the journal before compaction. */
export function headerLine(after: string | null): { text: string; hash: string } {
  const text = JSON.stringify({ tidegate_revocations: 1, after });
  return { text: `${text}\n`, hash: sha256(text) };
}

/** One line; its hash covers the line before it. */
export function entryLine(
  previous: string,
  act: JournalAct,
  { kind, id, atMs, reason }: Revocation,
): { text: string; hash: string } {
  const body = { act, kind, id, at: atMs, ...(reason !== undefined && { reason }) };
  const hash = sha256(`${previous}\n${JSON.stringify(body)}`);
  return { text: `${JSON.stringify({ ...body, hash })}\n`, hash };
}

export type ReadLines =
  | {
      ok: true;
      acts: { act: JournalAct; revocation: Revocation }[];
      head: string;
      /** Bytes up to the end of the last valid line; a crash tore the rest. */
      goodBytes: number;
    }
  /** The first bad line that others follow. */
  | { ok: false; line: number };

/** Reads a whole journal. A bad last line was cut short by a crash; a bad line before others is damage. */
export function readLines(bytes: Buffer): ReadLines {
  const lines = bytes.toString('utf8').split('\n');
  const rest = lines.pop() ?? '';
  const [first = '', ...others] = lines;
  const header = readHeader(first);
  // The file is created with this line, so no crash can cut it short.
  if (header === null) return { ok: false, line: 1 };
  const acts: { act: JournalAct; revocation: Revocation }[] = [];
  let head = header;
  let goodBytes = Buffer.byteLength(first) + 1;
  for (const [i, line] of others.entries()) {
    const entry = readEntry(line, head);
    if (entry === null) {
      const isLast = i === others.length - 1 && rest === '';
      return isLast ? { ok: true, acts, head, goodBytes } : { ok: false, line: i + 2 };
    }
    acts.push({ act: entry.act, revocation: revocationOf(entry) });
    head = entry.hash;
    goodBytes += Buffer.byteLength(line) + 1;
  }
  return { ok: true, acts, head, goodBytes };
}

function readHeader(line: string): string | null {
  const parsed = parseStrictJson(line);
  return parsed.ok && headers.Check(parsed.value) ? sha256(line) : null;
}

function readEntry(line: string, previous: string): Static<typeof Entry> | null {
  const parsed = parseStrictJson(line);
  if (!parsed.ok || !entries.Check(parsed.value)) return null;
  const { act, hash } = parsed.value;
  return entryLine(previous, act, revocationOf(parsed.value)).hash === hash ? parsed.value : null;
}

function revocationOf({ kind, id, at, reason }: Static<typeof Entry>): Revocation {
  return { kind, id, atMs: at, ...(reason !== undefined && { reason }) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
