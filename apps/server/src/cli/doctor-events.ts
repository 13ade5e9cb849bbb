import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { plainText } from '@tidegate/terminal/plain-text';
import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import type { Removal } from '../events/beginning.ts';
import { openCheckpointFile } from '../events/checkpoint-file.ts';
import { readHostHeads } from '../events/host-heads.ts';
import type { CheckpointKeys } from '../events/open-checkpoint.ts';
import { PART_ROWS } from '../events/pass-parts.ts';
import { pageOfEvents, readHead } from '../events/store.ts';
import type { ChainStart, HostHead } from '../events/verify-chain.ts';
import { verifyDatabase, type Walked } from '../events/verify-database.ts';
import { verifyExport } from '../events/verify-export.ts';
import { withVerifiers } from '../events/verify-threads.ts';
import type { Db } from '../platform/db/engine.ts';
import type { CliWorld } from './command.ts';
import { keysOfFile, keysOfInstallation } from './doctor-keys.ts';
import { CommandFault, withInstallation } from './open-installation.ts';

const HEADS_FILE_MAX_BYTES = 32 * 1024 * 1024;
/** Longest line of an export: the limits of the writers keep events far below it. */
const LINE_MAX_CHARS = 4 * 1024 * 1024;

interface Asked {
  heads: readonly string[];
  json: boolean;
}

/** Verifies the log in the database against its table of checkpoints, the file, and the heads of hosts. */
export function verifyInstalledEvents(
  world: CliWorld,
  { heads, archives, json, threads }: Asked & { archives: readonly string[]; threads: number },
): Promise<ExitCode> {
  return withInstallation(world, async (installation) => {
    const { trusted } = await keysOfInstallation(installation);
    if (trusted.keys.length === 0) {
      throw new CommandFault(
        'no private signing key is here, so no checkpoint can be trusted: run this where the key folder is, or verify an export with --file and --keys',
      );
    }
    const { config, platform } = installation;
    const options = {
      trusted,
      lines: openCheckpointFile(config.dataDir).tail(),
      heads: heads.flatMap(headsOf),
      onProgress: progressOn(world),
    };
    const { read } = platform.database;
    const isLarge = ((await readHead(read))?.position ?? 0) > PART_ROWS;
    const walked = await withVerifiers(config, isLarge ? threads : 0, (verifiers) =>
      verifyDatabase(read, { ...options, verifiers }),
    );
    if (walked.fault !== null || archives.length === 0) return report(world, walked, json);
    const { start, last } = await verifyArchives(archives, { trusted });
    const place = await placeOf(read, { last, log: walked });
    if (!json)
      world.out(`Archives: events ${start.position + 1} to ${last.position} are intact, and ${place}.`);
    return report(world, walked, json);
  });
}

/** Verifies archives of removed events, oldest first: each begins where the one before ends. */
async function verifyArchives(
  archives: readonly string[],
  { trusted }: { trusted: CheckpointKeys },
): Promise<{ start: ChainStart; last: ChainStart }> {
  let start: ChainStart | null = null;
  let last: ChainStart | null = null;
  for (const file of archives) {
    const walked = await verifyArchive(file, trusted);
    if (last !== null && (walked.start.position !== last.position || walked.start.hash !== last.hash))
      throw new CommandFault(
        `${file} does not begin where the archive before it ends, at position ${last.position}`,
      );
    start ??= walked.start;
    last = walked.last;
  }
  if (start === null || last === null) throw new CommandFault('no archive was given');
  return { start, last };
}

/** Where archives end in a log that has been verified. A backup from before a removal has the removed events, too. */
async function placeOf(
  db: Db,
  { last, log }: { last: ChainStart; log: Pick<Walked, 'start' | 'last'> },
): Promise<string> {
  if (last.position === log.start.position && last.hash === log.start.hash) return 'end where the log begins';
  const isWithin = last.position > log.start.position && last.position <= log.last.position;
  const [row] = isWithin ? await pageOfEvents(db, { after: last.position - 1, until: null, limit: 1 }) : [];
  if (row?.hash === last.hash)
    return `the log has those from ${log.start.position + 1} on, as a backup from before their removal does`;
  const where = isWithin ? 'the log has another event there' : `the log begins after ${log.start.position}`;
  throw new CommandFault(
    `the archives end at position ${last.position}, and ${where}: one is missing, or is of another log`,
  );
}

export async function verifyArchive(file: string, trusted: CheckpointKeys): Promise<Walked> {
  if (!existsSync(file)) throw new CommandFault(`${file} does not exist`);
  const walked = await verifyExport(linesOf(file), { trusted, heads: [] });
  if (walked.fault !== null)
    throw new CommandFault(
      `${file} is not intact at position ${walked.fault.position}: ${walked.fault.detail}`,
    );
  return walked;
}

/** Verifies an export; needs no installation. */
export async function verifyExportedEvents(
  world: CliWorld,
  { file, keys, heads, json }: Asked & { file: string; keys: string },
): Promise<ExitCode> {
  try {
    for (const path of [file, keys]) {
      if (!existsSync(path)) throw new CommandFault(`${path} does not exist`);
    }
    const trusted = keysOfFile(keys);
    const total = statSync(file).size;
    const onProgress = progressOn(world);
    const walked = await verifyExport(linesOf(file), {
      trusted,
      heads: heads.flatMap(headsOf),
      onProgress: (rows) => onProgress(rows, null),
    });
    if (walked.fault === null && walked.rows > 0 && walked.pinned === null) {
      throw new CommandFault(
        `no checkpoint in ${file} (${total} bytes) is signed by these keys: it proves nothing`,
      );
    }
    return report(world, walked, json);
  } catch (error) {
    if (!(error instanceof CommandFault)) throw error;
    world.err(error.message);
    return EXIT.failed;
  }
}

function headsOf(given: string): HostHead[] {
  const isFile = existsSync(given);
  if (isFile && statSync(given).size > HEADS_FILE_MAX_BYTES)
    throw new CommandFault(`${given} is larger than 32 MiB`);
  const read = readHostHeads(isFile ? readFileSync(given, 'utf8') : given);
  if (read.ok) return read.heads;
  throw new CommandFault(
    isFile ? `${given}: ${read.detail}` : `--head ${given} is neither a file nor HEX:POSITION`,
  );
}

/** The lines of a file, without reading all of it into memory. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const part of createReadStream(path, 'utf8')) {
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_MAX_CHARS)
      throw new CommandFault(`${path} has a line of more than 4 MiB, so it is no export`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function progressOn({ err, isTerminal }: CliWorld): (done: number, total: number | null) => void {
  let reported = 0;
  return (done, total) => {
    if (!isTerminal || done - reported < 50_000) return;
    reported = done;
    err(`  ${done}${total === null ? '' : ` of ${total}`} events`);
  };
}

function report({ out, err }: CliWorld, walked: Walked, json: boolean): ExitCode {
  const { fault, rows, start, last, pinned, restoredAt, checkpoints, removed, warnings } = walked;
  if (json) {
    out(
      JSON.stringify({
        ok: fault === null,
        fault,
        rows,
        from_position: start.position + 1,
        to_position: last.position,
        to_hash: last.hash,
        signed_up_to: pinned?.position ?? null,
        checkpoints,
        restored_at: restoredAt,
        removed,
        warnings,
      }),
    );
    return fault === null ? EXIT.ok : EXIT.failed;
  }
  for (const warning of warnings) err(`warning: ${warning}`);
  if (fault !== null) {
    // Whoever changed the row chose its id, and must not choose what the terminal shows of this.
    const id = fault.id === null ? '' : ` (event ${plainText(fault.id)})`;
    out(
      `The log of events was tampered with.\nFirst bad row: position ${fault.position}${id}: ${fault.detail}.`,
    );
    if (fault.kind === 'truncated' || fault.kind === 'rewritten') out(afterRestore(restoredAt));
    return EXIT.failed;
  }
  const begin = start.position === 0 ? 'the first event' : `after the anchor at position ${start.position}`;
  out(`The log of events is intact: ${rows} rows, from ${begin} to position ${last.position}.`);
  if (removed !== null) out(removalText(removed));
  if (pinned === null) out('No checkpoint covers them yet: the server signs one within five minutes.');
  else {
    out(
      `Signed up to position ${pinned.position}, by ${pinned.source}; ${checkpoints} checkpoints and heads agree.`,
    );
    if (pinned.position < last.position) {
      out(`The ${last.position - pinned.position} rows after it are chained, but not signed yet.`);
    }
  }
  if (restoredAt !== null) out(`The server was restored from a backup at position ${restoredAt}.`);
  return EXIT.ok;
}

/** What a restore from a backup has to do with an end or a hash that somebody saw and the log does not have. */
function afterRestore(restoredAt: number | null): string {
  if (restoredAt === null)
    return 'If this database is a restored backup, start the server once: it records and signs the restore. Then verify again.';
  return `The server was restored from a backup at position ${restoredAt}: a head from before that does not match, and HEX:POSITION names no time. Give the status of the agent instead.`;
}

function removalText({ first_position: first, position, ...removal }: Removal): string {
  const earlier = first === 1 ? '' : ` (those before ${first} earlier)`;
  const why = removal.retention_days === null ? '' : `, older than ${removal.retention_days} days`;
  return `Events 1 to ${position} were removed${earlier} on ${removal.created_at} by ${removal.removed_by}${why}: a signed anchor says so.`;
}
