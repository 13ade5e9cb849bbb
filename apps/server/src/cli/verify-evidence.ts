import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { file, flag, many, text } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import type { ArchiveBytes } from '../evidence/open-bundle.ts';
import { type VerifiedBundle, verifyBundle } from '../evidence/verify-bundle.ts';
import { faultText } from '../evidence/verify-fault.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { keysOfFile } from './doctor-keys.ts';
import { CommandFault } from './open-installation.ts';

/** Pins of one command. */
const PINS_MAX = 16;

const OPTIONS = {
  pin: many(
    text('HEX', 'a public key of the fleet, or the SHA-256 of its root, that you know on another way'),
  ),
  keys: file('public keys, as GET /api/v1/public-keys returns them'),
  json: flag('the result as JSON'),
};

export const verifyEvidenceCommand = declareCommand({
  name: 'verify-evidence',
  summary: 'verify a bundle of evidence, without a server',
  calls: [
    { operands: ['FILE'], needs: ['keys'], takes: ['json'] },
    { operands: ['FILE'], needs: ['pin'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `Verifies every byte of a bundle that "tidegate evidence" wrote: the keys and who vouched for them, the signed list of files,
each file, each approval, statement, origin and policy, the records of decisions, the chain of events with its checkpoints, and
the numbers of the report, which are counted again. The first fault is named with its file, line and member.

It needs no server and no data directory. What it trusts is what you give it: a key or a root that did not come with the
bundle.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { pin = [], keys, json = false } = values;
    const [path, ...more] = positionals;
    if (path === undefined || more.length > 0) throw new UsageError('verify-evidence needs exactly one FILE');
    if (keys === undefined && pin.length === 0)
      throw new UsageError(
        'verify-evidence needs --keys FILE or --pin HEX: a bundle cannot vouch for itself',
      );
    if (pin.length > PINS_MAX) throw new UsageError(`--pin is given more than ${PINS_MAX} times`);
    const wrong = pin.find((hex) => !/^[0-9a-f]{64}$/i.test(hex));
    if (wrong !== undefined) throw new UsageError(`--pin ${JSON.stringify(wrong)} is not 64 hex digits`);
    try {
      for (const each of keys === undefined ? [path] : [path, keys])
        if (!existsSync(each)) throw new CommandFault(`${each} does not exist`);
      const given = keys === undefined ? [] : pinsOf(keys);
      const pins = new Set([...pin.map((hex) => hex.toLowerCase()), ...given]);
      return await verify(world, { path, pins, json });
    } catch (error) {
      if (!(error instanceof CommandFault)) throw error;
      world.err(error.message);
      return EXIT.failed;
    }
  },
});

/** The keys of the file that are not revoked. */
function pinsOf(path: string): string[] {
  const { keys, revokedAtMs } = keysOfFile(path);
  return keys.filter(({ keyId }) => !revokedAtMs.has(keyId)).map(({ publicKeyHex }) => publicKeyHex);
}

async function verify(
  { out }: CliWorld,
  { path, pins, json }: { path: string; pins: ReadonlySet<string>; json: boolean },
): Promise<ExitCode> {
  const handle = openSync(path, 'r');
  try {
    const verdict = await verifyBundle(bytesOf(handle), { pins: { values: pins } });
    if (json) out(JSON.stringify(verdict.ok ? { ok: true, ...summaryOf(verdict) } : verdict));
    else if (verdict.ok) out(inWords(verdict));
    else out(`The bundle is not what was signed.\nFirst fault: ${faultText(verdict.fault)}.`);
    return verdict.ok ? EXIT.ok : EXIT.failed;
  } finally {
    closeSync(handle);
  }
}

function bytesOf(handle: number): ArchiveBytes {
  const { size } = fstatSync(handle);
  return {
    size,
    read(at, length) {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, size - at)));
      let filled = 0;
      while (filled < bytes.length) {
        const read = readSync(handle, bytes, filled, bytes.length - filled, at + filled);
        if (read === 0) break;
        filled += read;
      }
      return bytes.subarray(0, filled);
    },
  };
}

function summaryOf({ manifest, keys, keyId, events }: VerifiedBundle) {
  const { fleet_id, scope, since, until, made_at, made_by, hosts, lines, unknown, files } = manifest;
  return {
    ...{ fleet_id, scope, since, until, made_at, made_by, hosts, lines, unknown, files: files.length },
    ...{ key_id: keyId, key_set_version: keys.keySetVersion, events },
  };
}

function inWords(verified: VerifiedBundle): string {
  const { manifest, keys, keyId, events } = verified;
  const { lines } = manifest;
  const chain =
    manifest.chain === null
      ? 'without their chain, which belongs to the whole fleet'
      : `chained from position ${manifest.chain.start.position + 1} to ${manifest.chain.end.position}, signed up to ${events.signedUpTo ?? 'none'}`;
  return [
    `The bundle is what fleet ${manifest.fleet_id} signed: ${manifest.files.length} files of ${manifest.hosts === 1 ? 'one host' : `${manifest.hosts} hosts`}.`,
    `  span       ${manifest.since} to ${manifest.until}`,
    `  made       ${manifest.made_at} by ${manifest.made_by}, signed by key ${keyId} of key set ${keys.keySetVersion}`,
    `  approvals  ${lines.approvals ?? 0} with good signatures, ${lines.decisions ?? 0} decisions, ${lines.updates ?? 0} updates`,
    ...(events.bulk.approvals > 0
      ? [
          `             ${events.bulk.approvals} of a bulk approval, ${events.bulk.confirmed} of them confirmed by the log`,
        ]
      : []),
    `  events     ${events.shown} shown and ${events.withheld} withheld, ${chain}`,
    ...manifest.unknown.map((sentence) => `  unknown    ${sentence}`),
  ].join('\n');
}
