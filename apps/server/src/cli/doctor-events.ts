import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import { openCheckpointFile } from '../events/checkpoint-file.ts';
import { readHostHeads } from '../events/host-heads.ts';
import type { HostHead } from '../events/verify-chain.ts';
import { verifyDatabase, type Walked } from '../events/verify-database.ts';
import { verifyExport } from '../events/verify-export.ts';
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
export function verifyInstalledEvents(world: CliWorld, { heads, json }: Asked): Promise<ExitCode> {
  return withInstallation(world, async (installation) => {
    const { trusted } = await keysOfInstallation(installation);
    if (trusted.keys.length === 0) {
      throw new CommandFault(
        'no private signing key is here, so no checkpoint can be trusted: run this where the key folder is, or verify an export with --file and --keys',
      );
    }
    const walked = await verifyDatabase(installation.platform.database.read, {
      trusted,
      lines: openCheckpointFile(installation.config.dataDir).tail(),
      heads: heads.flatMap(headsOf),
      onProgress: progressOn(world),
    });
    return report(world, walked, json);
  });
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
  const { fault, rows, start, last, pinned, restoredAt, checkpoints, warnings } = walked;
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
        warnings,
      }),
    );
    return fault === null ? EXIT.ok : EXIT.failed;
  }
  for (const warning of warnings) err(`warning: ${warning}`);
  if (fault !== null) {
    const id = fault.id === null ? '' : ` (event ${fault.id})`;
    out(
      `The log of events was tampered with.\nFirst bad row: position ${fault.position}${id}: ${fault.detail}.`,
    );
    return EXIT.failed;
  }
  const begin = start.position === 0 ? 'the first event' : `after the anchor at position ${start.position}`;
  out(`The log of events is intact: ${rows} rows, from ${begin} to position ${last.position}.`);
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
