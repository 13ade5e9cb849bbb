import { existsSync, readFileSync, statSync } from 'node:fs';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { plainText } from '@tidegate/terminal/plain-text';
import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import { verifyStatement } from '../approvals/verify-statement.ts';
import type { CliWorld } from './command.ts';
import { keysOfFile } from './doctor-keys.ts';
import { CommandFault } from './open-installation.ts';

/** Largest file that verify reads, in bytes: the largest payload in base64, plus its signatures. */
const STATEMENT_MAX_BYTES = 6 * 1024 * 1024;

/** `tidegate decisions verify`: needs no installation. */
export function runVerify(
  world: CliWorld,
  { file, keys, json }: { file: string; keys: string; json: boolean },
): ExitCode {
  try {
    for (const path of [file, keys]) if (!existsSync(path)) throw new CommandFault(`${path} does not exist`);
    if (statSync(file).size > STATEMENT_MAX_BYTES) throw new CommandFault(`${file} is larger than 6 MiB`);
    const parsed = parseStrictJson(readFileSync(file));
    if (!parsed.ok) throw new CommandFault(`${file} is not JSON`);
    const verified = verifyStatement(parsed.value, keysOfFile(keys));
    if (!verified.ok) {
      if (json) world.out(JSON.stringify(verified));
      throw new CommandFault(`${file} is not verified: ${verified.reason}`);
    }
    const { statement, keyId } = verified;
    world.out(json ? JSON.stringify({ ok: true, key_id: keyId, statement }, null, 2) : inWords(verified));
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof CommandFault)) throw error;
    world.err(error.message);
    return EXIT.failed;
  }
}

function inWords({ statement, keyId }: Extract<ReturnType<typeof verifyStatement>, { ok: true }>): string {
  const { predicate, subject } = statement;
  const { updates, outcome, outcome_reason: reason, override } = predicate;
  return (
    [
      `Decision ${predicate.decision_id} of fleet ${predicate.fleet_id}: ${outcome}${reason === null ? '' : ` (${reason})`}`,
      ...updates.map(
        ({ id, name, from_version: from, to_version: to }) =>
          `  update    ${predicate.ecosystem} ${name} ${from ?? '-'} -> ${to}, ${id}`,
      ),
      `  decided   ${predicate.decided_at} by ${predicate.decided_by}${override === null ? '' : ', by override'}`,
      `  artifacts ${subject.length}`,
      ...subject.map(({ name, digest }) => `    ${digest.sha256 ?? digest.sha512 ?? ''}  ${name}`),
      `  signed    ${predicate.signed_at} by key ${keyId}`,
    ]
      // Hosts name the files.
      .map(plainText)
      .join('\n')
  );
}
