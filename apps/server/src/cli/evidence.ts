import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { file, flag, text } from '@tidegate/command-line/declare';
import type { EvidenceScope } from '@tidegate/protocol/evidence-api';
import { EXIT, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { findAgentsNamed } from '../agents/store.ts';
import { openCheckpointFile } from '../events/checkpoint-file.ts';
import { makeCheckpoint } from '../events/make-checkpoint.ts';
import { bundleName } from '../evidence/bundle-name.ts';
import { readSpan } from '../evidence/read-span.ts';
import { hostsIn } from '../evidence/store.ts';
import { BundleTooLarge, writeBundle } from '../evidence/write-bundle.ts';
import type { Db } from '../platform/db/engine.ts';
import { declareCommand } from './command.ts';
import { keysOfInstallation } from './doctor-keys.ts';
import { CommandFault, withInstallation } from './open-installation.ts';

const OPTIONS = {
  host: text('HOST', 'evidence of one host, by its name or id'),
  group: text('GROUP', 'evidence of the hosts of one group'),
  since: text(
    'TIME',
    'where the span begins, such as 2026-01-01 or 2026-01-01T12:00:00Z (90 days before its end)',
  ),
  until: text('TIME', 'where it ends, not included (now)'),
  out: file('a new file (a name from the scope and the span)'),
  json: flag('describe the bundle as JSON'),
};

export const evidenceCommand = declareCommand({
  name: 'evidence',
  summary: 'write a bundle for an auditor: who approved what and why, and what was installed',
  calls: [{ takes: ['host', 'group', 'since', 'until', 'out', 'json'] }],
  options: OPTIONS,
  about: `Writes one archive (tar) of a span of time: approvals as signed, decisions with their facts, results of the hosts,
statements and exceptions, rollouts, the log of events with its checkpoints, the key sets, the inventory, and a report for a
reader (report.html). Without --host and --group it is of all hosts. Events of other hosts are withheld, and still prove their
place in the log.

Anyone can verify it without this server: tidegate verify-evidence FILE --keys KEYS

It works on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { host = null, group = null, since, until, out = null, json = false } = values;
    if (positionals.length > 0) throw new UsageError('evidence takes no words, only options');
    if (host !== null && group !== null) throw new UsageError('--host and --group exclude each other');
    const read = readSpan({ since, until }, world.now());
    if (!read.ok) throw new UsageError(`--${read.fault}`);
    const { span } = read;
    return withInstallation(world, async (installation) => {
      const { platform, config } = installation;
      const db = platform.database.read;
      const scope = await scopeOf(db, { host, group });
      const { signer } = await keysOfInstallation(installation);
      if (signer === null)
        throw new CommandFault('the private half of the key in use is missing, so nothing can be signed');
      await makeCheckpoint({ platform, signer, file: openCheckpointFile(config.dataDir) }, 'always');
      const path = out ?? bundleName(scope, span);
      const request = {
        scope,
        isBound: false,
        span,
        madeBy: `cli (${world.env.SUDO_USER ?? world.env.USER ?? 'unknown'})`,
      };
      const bytes = await writeNew(path, writeBundle(db, signer, { ...request, nowMs: world.now() }));
      world.out(json ? JSON.stringify({ file: path, bytes }) : `Evidence written: ${path} (${bytes} bytes)`);
      return EXIT.ok;
    });
  },
});

async function scopeOf(
  db: Db,
  { host, group }: { host: string | null; group: string | null },
): Promise<EvidenceScope> {
  if (group !== null) {
    // A bundle of nobody looks like a group in which nothing happened. Hosts that were removed still count.
    if ((await hostsIn(db, { agentId: null, groups: [group], after: '' })).length === 0)
      throw new CommandFault(`no host is or was in the group ${JSON.stringify(group)}`);
    return { kind: 'group', group };
  }
  if (host === null) return { kind: 'fleet' };
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(host);
  const ids =
    isId && (await hostsIn(db, { agentId: host, groups: null, after: '' })).length > 0
      ? [host]
      : await findAgentsNamed(db, host);
  const [agentId, ...more] = ids;
  if (agentId === undefined) throw new CommandFault(`there is no host ${JSON.stringify(host)}`);
  if (more.length > 0)
    throw new CommandFault(
      `${ids.length} hosts are named ${JSON.stringify(host)}: use an id: ${ids.join(', ')}`,
    );
  return { kind: 'host', agent_id: agentId };
}

/** A bundle that could not be finished leaves no file behind. */
async function writeNew(path: string, pieces: AsyncIterable<Buffer>): Promise<number> {
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    const code = codeOf(error);
    throw new CommandFault(
      code === 'EEXIST'
        ? `${path} is there already, and is not overwritten: choose another name with --out`
        : `${path} cannot be created (${code})`,
    );
  }
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      for (let at = 0; at < piece.length; ) at += writeSync(file, piece, at);
      bytes += piece.length;
    }
    fsyncSync(file);
  } catch (error) {
    rmSync(path, { force: true });
    if (error instanceof BundleTooLarge)
      throw new CommandFault(`${error.message}; choose a shorter span, or fewer hosts`);
    if (codeOf(error) === 'ENOSPC') throw new CommandFault(`${path} cannot be written (ENOSPC)`);
    throw error;
  } finally {
    closeSync(file);
  }
  return bytes;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
