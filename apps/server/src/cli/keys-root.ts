import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { many } from '@tidegate/command-line/declare';
import { KEYSET_TYPE } from '@tidegate/protocol/documents';
import { ROOT_KEYS_MAX, ROOT_TYPE, type RootPayload } from '@tidegate/protocol/root-document';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { KeyError, loadTrustedKey } from '@tidegate/signing/verify';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { rfc3339Seconds } from '../platform/clock.ts';
import { installKeySet, pendingKeySet, type UnsignedEnvelope } from '../signing-keys/install-key-set.ts';
import { installRoot } from '../signing-keys/install-root.ts';
import { newestKeySet } from '../signing-keys/store.ts';
import { claimedSet } from '../signing-keys/vouched-keys.ts';
import type { CliWorld } from './command.ts';
import { type KeyContext, KeyFault, vouchersAt, withKeyContext } from './key-context.ts';
import { onlyWord, readInput } from './keys-input.ts';
import { KEY_OPTIONS } from './keys-options.ts';

/** `tidegate keys root init`: writes the root document that the holders of its keys then sign. */
export async function initRootCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, {
    threshold: KEY_OPTIONS.threshold,
    key: many(KEY_OPTIONS.key),
    out: KEY_OPTIONS.out,
    json: KEY_OPTIONS.json,
  });
  if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
  const { out } = values;
  if (out === undefined) throw new UsageError('--out FILE is needed');
  const keys = soundKeys(values.key ?? []);
  const threshold = thresholdOf(values.threshold, keys.length);
  return withKeyContext(world, async ({ platform, fleetId }) => {
    const { root } = claimedSet(await newestKeySet(platform.database.read));
    const version = (root?.version ?? 0) + 1;
    const issued_at = rfc3339Seconds(platform.now());
    const payload: RootPayload = { v: 1, fleet_id: fleetId, version, issued_at, threshold, keys };
    writeNew(out, {
      payloadType: ROOT_TYPE,
      payload: Buffer.from(JSON.stringify(payload)).toString('base64'),
      signatures: [],
    });
    const needed =
      root === null
        ? `${threshold} of its ${keys.length} keys`
        : `a threshold of root ${root.version} and of its own`;
    if (values.json) world.out(JSON.stringify({ file: out, version, threshold, keys }, null, 2));
    else
      world.out(
        `Root ${version} written to ${out}; it counts once ${needed} have signed it and it is installed.`,
      );
    return EXIT.ok;
  });
}

/** `tidegate keys pending`: writes the key set that the root's holders should sign. */
export async function pendingCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { out: KEY_OPTIONS.out, json: KEY_OPTIONS.json });
  if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
  const { out } = values;
  if (out === undefined) throw new UsageError('--out FILE is needed');
  return withKeyContext(world, async ({ platform, held }) => {
    const now = platform.now();
    const pending = await pendingKeySet(platform.database.read, { held: [...held.values()], now });
    switch (pending.kind) {
      case 'no_root':
        throw new KeyFault('there is no offline root, so no key set waits for its signatures');
      case 'nothing_waits':
        throw new KeyFault('no signing key waits for the root; keys add creates one');
      case 'pending':
        break;
    }
    writeNew(out, pending.document);
    const { version, threshold, waiting } = pending;
    if (values.json) {
      const keys = waiting.map(({ key_id, public_key_hex, version }) => ({
        key_id,
        version,
        public_key_hex,
      }));
      world.out(JSON.stringify({ file: out, key_set_version: version, threshold, waiting: keys }, null, 2));
      return EXIT.ok;
    }
    const lines = waiting.map((row) => `  version ${row.version}  ${row.public_key_hex}`);
    const asked = `Key set ${version} written to ${out}; ${threshold} root keys have to sign it. It adds:`;
    world.out([asked, ...lines].join('\n'));
    return EXIT.ok;
  });
}

/** `tidegate keys root install FILE`: installs a root document or a key set that the root signed. */
export async function installCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { json: KEY_OPTIONS.json });
  const file = onlyWord(positionals, 'the signed FILE');
  const text = await readInput(world, file);
  const envelope = parseStrictJson(text);
  if (!envelope.ok) throw new KeyFault(`${file} ${envelope.reason}`);
  return withKeyContext(world, async (context) => {
    const type = payloadTypeOf(envelope.value);
    if (type === ROOT_TYPE)
      return installRootFile(context, world, { envelope: envelope.value, isJson: values.json });
    if (type === KEYSET_TYPE)
      return installSetFile(context, world, { envelope: envelope.value, isJson: values.json });
    throw new KeyFault(`${file} is neither a root document nor a key set`);
  });
}

interface Brought {
  envelope: unknown;
  isJson: boolean | undefined;
}

async function installRootFile(
  context: KeyContext,
  world: CliWorld,
  { envelope, isJson }: Brought,
): Promise<ExitCode> {
  const { platform, actor } = context;
  const vouchers = vouchersAt(context);
  if (vouchers === null)
    throw new KeyFault('no private half that agents trust is here, so they would not learn of the root');
  const outcome = await platform.database.transact((tx) =>
    installRoot(tx, platform, { envelope, vouchers, actor }),
  );
  switch (outcome.kind) {
    case 'installed':
      if (isJson) world.out(JSON.stringify({ root_version: outcome.version }));
      else
        world.out(
          `Root ${outcome.version} is in force: from now on agents accept no new signing key without it.`,
        );
      return EXIT.ok;
    case 'not_enough_signatures':
      throw new KeyFault(
        `${outcome.signed} keys of the new root have signed; ${outcome.threshold} are needed`,
      );
    case 'not_vouched_for':
      throw new KeyFault(
        `${outcome.signed} keys of the root in force have signed; ${outcome.threshold} are needed`,
      );
    case 'malformed':
      throw new KeyFault('this is not a root document');
    case 'threshold_too_high':
      throw new KeyFault('the threshold is higher than the number of keys');
    case 'weak_key':
      throw new KeyFault('a key of the document is weak, or is no public key');
    case 'wrong_fleet':
      throw new KeyFault('this root document is for another fleet');
    case 'wrong_version':
      throw new KeyFault(
        `the next root is version ${outcome.expected}: write the document again with keys root init`,
      );
    case 'too_many':
      throw new KeyFault('this fleet has reached its limit of root documents');
  }
}

async function installSetFile(
  context: KeyContext,
  world: CliWorld,
  { envelope, isJson }: Brought,
): Promise<ExitCode> {
  const { platform, actor } = context;
  const [first, ...others] = vouchersAt(context) ?? context.held.values();
  if (first === undefined) throw new KeyFault('no private half of a signing key is here');
  const held = [first, ...others] as const;
  const outcome = await platform.database.transact((tx) =>
    installKeySet(tx, platform, { envelope, held: [...held], actor }),
  );
  switch (outcome.kind) {
    case 'installed': {
      const versions = outcome.keys.map(({ version }) => version);
      if (isJson) world.out(JSON.stringify({ key_set_version: outcome.version, keys: versions }));
      else
        world.out(
          `Key set ${outcome.version} is in force. It adds signing key version ${versions.join(', ')}.`,
        );
      return EXIT.ok;
    }
    case 'not_enough_signatures':
      throw new KeyFault(`${outcome.signed} keys of the root have signed; ${outcome.threshold} are needed`);
    case 'no_root':
      throw new KeyFault('there is no offline root');
    case 'malformed':
      throw new KeyFault('this is not a key set');
    case 'wrong_fleet':
      throw new KeyFault('this key set is for another fleet');
    case 'outdated':
      throw new KeyFault(
        'the keys have changed since this key set was written: write it again with keys pending',
      );
    case 'expired':
      throw new KeyFault('this key set has expired: write it again with keys pending');
  }
}

function soundKeys(given: readonly string[]): string[] {
  if (given.length === 0 || given.length > ROOT_KEYS_MAX) {
    throw new UsageError(`give --key HEX for each key of the root, 1 to ${ROOT_KEYS_MAX}`);
  }
  const keys = given.map((publicKeyHex) => {
    try {
      return loadTrustedKey({ keyId: publicKeyHex, publicKeyHex }).publicKeyHex;
    } catch (error) {
      if (error instanceof KeyError) throw new UsageError(`--key ${publicKeyHex}: ${error.code}`);
      throw error;
    }
  });
  if (new Set(keys).size !== keys.length) throw new UsageError('one --key is given twice');
  return keys;
}

function thresholdOf(text: string | undefined, keys: number): number {
  const threshold = Number(text);
  if (text !== undefined && /^[1-9]$/.test(text) && threshold <= keys) return threshold;
  throw new UsageError(`--threshold needs a number from 1 to the number of keys (${keys})`);
}

function payloadTypeOf(envelope: unknown): string | null {
  if (typeof envelope !== 'object' || envelope === null || !('payloadType' in envelope)) return null;
  return typeof envelope.payloadType === 'string' ? envelope.payloadType : null;
}

/** Never overwrites a file: it may hold signatures that were hard to get. */
function writeNew(file: string, document: UnsignedEnvelope): void {
  const temporary = `${file}.${process.pid}`;
  try {
    writeFileSync(temporary, `${JSON.stringify(document, null, 2)}\n`, { flag: 'wx' });
    linkSync(temporary, file);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new KeyFault(`${file} cannot be written (${code})`);
  } finally {
    rmSync(temporary, { force: true });
  }
}
