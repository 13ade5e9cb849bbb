import { gzipSync } from 'node:zlib';
import { INVENTORY_MAX_BYTES, INVENTORY_MAX_PACKAGES } from '@tidegate/protocol/agent-api';
import { PLAN_MAX_ACTIONS } from '@tidegate/protocol/plan';
import { BOOT_ID } from './fleet.ts';

export interface HostileRequest {
  method: 'PUT' | 'POST';
  path: string;
  body: Buffer;
  gzip: boolean;
}

const SCANNED_AT = '2026-11-21T09:00:00Z';
const VARIANTS = 2;

/** The worst that an enrolled host can send, by kind; two variants each, so that no report equals the one before. */
export function hostileRequests(): Record<string, HostileRequest[]> {
  const variants = (make: (n: number) => HostileRequest, length = VARIANTS) =>
    Array.from({ length }, (_, n) => make(n));
  return {
    'inventory, all packages new': variants((n) => inventory(packagesReport(n))),
    'inventory, one package in many versions': variants((n) => inventory(versionsReport(n))),
    // Of four together twenty thousand versions stay open, all of which each further one has to do with.
    'inventory, one npm package with versions that take long to compare': variants(
      (n) => inventory(openVersions(n), 'npm'),
      4,
    ),
    'inventory, updates with plans': variants((n) => inventory(plansReport(n))),
    'inventory, unknown keys': variants((n) => inventory(unknownKeys(n))),
    'inventory, above the size limit': variants(() => inventory(Buffer.alloc(INVENTORY_MAX_BYTES * 8, 0x20))),
    'a plan of 5,000 actions': variants((n) => plain('PUT', '/plans', planBody(n))),
    events: variants((n) => plain('POST', '/events', eventsBody({ members: 40, characters: 180, n }))),
    'events with more members than allowed': variants((n) =>
      plain('POST', '/events', eventsBody({ members: 800, characters: 1, n })),
    ),
    'check-in with everything': variants((n) => plain('POST', '/check-in', checkInBody(n))),
  };
}

function inventory(bytes: Buffer, ecosystem = 'apt'): HostileRequest {
  return { method: 'PUT', path: `/inventory/${ecosystem}`, body: gzipSync(bytes), gzip: true };
}

function plain(method: 'PUT' | 'POST', path: string, body: unknown): HostileRequest {
  return { method, path, body: Buffer.from(JSON.stringify(body)), gzip: false };
}

function json(report: object): Buffer {
  const bytes = Buffer.from(
    JSON.stringify({ scanned_at: SCANNED_AT, complete: true, packages: [], updates: [], ...report }),
  );
  if (bytes.length > INVENTORY_MAX_BYTES)
    throw new Error(`a report of ${bytes.length} bytes is above the limit and would not be read`);
  return bytes;
}

function packagesReport(n: number): Buffer {
  const packages = Array.from({ length: INVENTORY_MAX_PACKAGES }, (_, i) => ({
    name: `package-${i}-${text(i, 80)}`,
    version: `1.${i}.${n}-${text(i * 7, 40)}`,
    arch: 'amd64',
    source_name: `source-${i}-${text(i, 60)}`,
    source_version: `1.${i}.${n}-1`,
    origin: `origin-${i % 10}`,
  }));
  return json({ packages });
}

function versionsReport(n: number): Buffer {
  const versionOf = (i: number) => `${n}:${i % 7}.${'0'.repeat(40)}${i}-${text(i, 40)}`;
  const packages = Array.from({ length: INVENTORY_MAX_PACKAGES }, (_, i) => ({
    name: 'a',
    version: versionOf(i),
  }));
  const updates = Array.from({ length: 5_000 }, (_, i) => ({
    ...{ name: 'a', current_version: '1', available_version: `9${versionOf(i)}` },
  }));
  return json({ packages, updates });
}

/** An incomplete report closes nothing. */
function openVersions(n: number): Buffer {
  const updates = Array.from({ length: 5_000 }, (_, i) => ({
    ...{ name: 'a', arch: '/srv', current_version: '1.0.0', offers: ['series'] },
    available_version: `2.0.0-${'a.'.repeat(110)}${n}.${(i * 7_919) % 5_000}`,
  }));
  return json({ complete: false, updates });
}

function plansReport(n: number): Buffer {
  const actions = (of: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      action: 'upgrade',
      name: `p${of}-${i}`,
      from_version: '1',
      to_version: `2.${n}`,
      artifact: {
        filename: `f${of}-${i}`,
        url: `https://x/${i}`,
        size_bytes: 1,
        sha256: text(of * 131 + i, 64),
      },
    }));
  const many = Array.from({ length: 2 }, (_, of) => ({ of, count: PLAN_MAX_ACTIONS }));
  const small = Array.from({ length: 1_000 }, (_, i) => ({ of: i + 10, count: 1 }));
  const updates = [...many, ...small].map(({ of, count }) => ({
    ...{ name: `p${of}-0`, current_version: '1', available_version: `2.${n}` },
    plan: { resolved_at: SCANNED_AT, actions: actions(of, count) },
  }));
  return json({ updates });
}

function unknownKeys(n: number): Buffer {
  const members = Array.from({ length: 400_000 }, (_, i) => [`k${n}${i}`, 1] as const);
  return json(Object.fromEntries(members));
}

/** The update of each host that the plans are sent for. */
/** Stands in bodies for the id of the sender's update, which is the id of the sender. */
export const TARGET_ID = '00000000-0000-0000-0000-000000000000';
export const TARGET = { name: 'p0', available_version: '2.0.0' };

function planBody(n: number) {
  const actions = Array.from({ length: PLAN_MAX_ACTIONS }, (_, i) => ({
    ...{ action: 'install', name: `p${i}`, to_version: i === 0 ? TARGET.available_version : `2.${n}.${i}` },
    artifact: { filename: `${i}`, url: 'https://x/', size_bytes: 1, sha256: text(i * 7 + n, 64) },
  }));
  return { sets: [[TARGET_ID]], plan: { resolved_at: SCANNED_AT, actions } };
}

/** As many events as a report may have, each with so many members of so many characters. */
function eventsBody({ members, characters, n }: { members: number; characters: number; n: number }) {
  const value = `${n}${'x'.repeat(characters - 1)}`;
  const details = Object.fromEntries(Array.from({ length: members }, (_, i) => [`k${i}`, value]));
  return {
    events: Array.from({ length: 100 }, () => ({
      ...{ type: 'COMMAND_REFUSED', severity: 'critical', message: 'x'.repeat(900), at: SCANNED_AT },
      details,
    })),
  };
}

function checkInBody(n: number) {
  return {
    agent_version: '1.0.0',
    boot_id: BOOT_ID,
    uptime_seconds: n,
    load: [0.1, 0.2, 0.3],
    received: Array.from(
      { length: 200 },
      (_, i) => `00000000-0000-4000-8000-${String(i + n * 200).padStart(12, '0')}`,
    ),
    key_set_version: 1,
    inventory_digest: { apt: text(n, 64), npm: text(n + 1, 64), pypi: text(n + 2, 64), dnf: text(n + 3, 64) },
  };
}

/** Hex digits that gzip can at most halve. */
function text(seed: number, length: number): string {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  let made = '';
  while (made.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    made += state.toString(16).padStart(8, '0');
  }
  return made.slice(0, length);
}
