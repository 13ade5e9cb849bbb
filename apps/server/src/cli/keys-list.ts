import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { agentsBehindKeySet } from '../agents/key-set-store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { awaitsRoot } from '../signing-keys/install-key-set.ts';
import { namedRoot } from '../signing-keys/read-root.ts';
import { newestKeySet, rootsAfter, type SigningKeyRow } from '../signing-keys/store.ts';
import { claimedSet } from '../signing-keys/vouched-keys.ts';
import type { CliWorld } from './command.ts';
import { type KeyContext, withKeyContext } from './key-context.ts';
import { KEY_OPTIONS } from './keys-options.ts';

/** `tidegate keys list`: all keys, which one signs, whose private half is here, and how many agents know each. */
export async function listKeysCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { json: KEY_OPTIONS.json });
  if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
  return withKeyContext(world, async (context) => {
    const listed = await readList(context);
    world.out(values.json ? JSON.stringify(listed, null, 2) : textOf(listed));
    return EXIT.ok;
  });
}

async function readList(context: KeyContext) {
  const db = context.platform.database.read;
  const newest = await newestKeySet(db);
  const set = claimedSet(newest);
  const root = namedRoot(await rootsAfter(db, 0), set.root);
  const keys = [];
  for (const row of context.rows) keys.push(await describe(context, row, set.entries.has(row.key_id)));
  const { total } = await agentsBehindKeySet(db, { version: 0 });
  return {
    keys,
    agents: total,
    key_set: newest && { version: newest.version, expires_at: rfc3339(newest.expires_at) },
    root: root && {
      version: root.payload.version,
      threshold: root.payload.threshold,
      keys: root.payload.keys,
    },
  };
}

async function describe({ platform, held }: KeyContext, row: SigningKeyRow, isInSet: boolean) {
  const behind = await agentsBehindKeySet(platform.database.read, { version: row.first_key_set_version });
  return {
    key_id: row.key_id,
    version: row.version,
    public_key_hex: row.public_key_hex,
    status: row.status,
    in_use: row.in_use === 1,
    private_half_here: held.has(row.key_id),
    awaits_root: awaitsRoot(row),
    created_at: rfc3339(row.created_at),
    revoked_at: row.revoked_at === null ? null : rfc3339(row.revoked_at),
    known_to: isInSet && !awaitsRoot(row) ? behind.total - behind.count : 0,
  };
}

type Listed = Awaited<ReturnType<typeof readList>>;

function textOf({ keys, agents, key_set, root }: Listed): string {
  const rows = keys.map((key) => [
    String(key.version),
    key.awaits_root ? 'waits for the root' : key.in_use ? 'in use' : key.status,
    key.status === 'revoked' ? '-' : key.private_half_here ? 'yes' : 'no',
    `${key.known_to} of ${agents}`,
    key.public_key_hex,
  ]);
  const table = [['VERSION', 'STATUS', 'PRIVATE HALF HERE', 'AGENTS THAT KNOW IT', 'PUBLIC HALF'], ...rows];
  const widths = [0, 1, 2, 3].map((at) => Math.max(...table.map((row) => (row[at] ?? '').length)));
  const lines = table.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
  const set = key_set ? `Key set ${key_set.version}, valid until ${key_set.expires_at}.` : 'No key set.';
  const offline = root
    ? `Offline root ${root.version}: ${root.threshold} of ${root.keys.length} keys must sign a new signing key.`
    : 'No offline root.';
  return [...lines.map((line) => line.trimEnd()), '', set, offline].join('\n');
}
