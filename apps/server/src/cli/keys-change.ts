import { generatePrivateKeyHex, loadSigningKey, type SigningKey } from '@tidegate/signing/sign';
import { KeyError, loadTrustedKey } from '@tidegate/signing/verify';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { type AgentsBehind, agentsBehindKeySet } from '../agents/key-set-store.ts';
import { addKey, putKeyInUse, revokeVersion } from '../signing-keys/change-keys.ts';
import { awaitsRoot } from '../signing-keys/install-key-set.ts';
import { vouchersOf } from '../signing-keys/key-set.ts';
import { leastKeySet, strandingFault } from '../signing-keys/readiness.ts';
import { resetKeys } from '../signing-keys/reset-keys.ts';
import { listKeys, newestKeySet, type SigningKeyRow } from '../signing-keys/store.ts';
import { claimedSet } from '../signing-keys/vouched-keys.ts';
import type { CliWorld } from './command.ts';
import { type KeyContext, KeyFault, rowOf, vouchersAt, withKeyContext } from './key-context.ts';
import { readInput, versionOf } from './keys-input.ts';
import { KEY_OPTIONS } from './keys-options.ts';

/** `tidegate keys add`: the next version, signed into a key set by the keys here, or pending the root's signatures. */
export async function addKeyCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, {
    'public-key': KEY_OPTIONS['public-key'],
    'private-key': KEY_OPTIONS['private-key'],
    json: KEY_OPTIONS.json,
  });
  if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
  const { 'public-key': publicKey, 'private-key': privateKey } = values;
  if (publicKey !== undefined && privateKey !== undefined) {
    throw new UsageError('--public-key and --private-key exclude each other');
  }
  return withKeyContext(world, async (context) => {
    const { platform, rows, actor } = context;
    const made = publicKey === undefined ? await takePrivateKey(context, world, privateKey) : null;
    const publicKeyHex = made?.key.publicKeyHex ?? soundPublicKey(publicKey ?? '');
    if (rows.some((row) => row.public_key_hex === publicKeyHex))
      throw new KeyFault('this key is already known');
    const keyId = made?.key.keyId ?? platform.newId();
    const hasRoot = claimedSet(await newestKeySet(platform.database.read)).root !== null;
    const vouchers = vouchersAt(context) ?? (hasRoot && made ? ([made.key] as const) : null);
    if (vouchers === null) throw new KeyFault(NOBODY_VOUCHES);
    made?.keep();
    const key = { keyId, publicKeyHex, inUse: false };
    const row = await platform.database.transact((tx) => addKey(tx, platform, { key, vouchers, actor }));
    if (values.json) world.out(JSON.stringify(shown(row), null, 2));
    else world.out(addedText(row, made !== null));
    return EXIT.ok;
  });
}

/** `tidegate keys use VERSION`. */
export async function useKeyCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { json: KEY_OPTIONS.json });
  const version = versionOf(positionals);
  return withKeyContext(world, async (context) => {
    const row = rowOf(context, version);
    const key = context.held.get(row.key_id);
    if (row.status === 'revoked') throw new KeyFault(`signing key version ${version} is revoked`);
    if (awaitsRoot(row))
      throw new KeyFault(`signing key version ${version} waits for the root: see keys pending`);
    if (!key) throw new KeyFault(`the private half of signing key version ${version} is missing`);
    const { database } = context.platform;
    const { entries } = claimedSet(await newestKeySet(database.read));
    if (entries.get(row.key_id)?.status !== 'active') {
      throw new KeyFault(`no key set contains signing key version ${version}: its row was added by hand`);
    }
    const vouchers = vouchersOf(key, context.held);
    await database.transact((tx) => putKeyInUse(tx, context.platform, vouchers));
    const behind = await agentsBehindKeySet(database.read, { version: row.first_key_set_version });
    printReadiness(
      world,
      { row: { ...row, in_use: 1 }, behind, stranded: 0, text: `Signing key version ${version} is in use.` },
      values.json,
    );
    return EXIT.ok;
  });
}

/** `tidegate keys revoke VERSION`: permanent. */
export async function revokeKeyCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { force: KEY_OPTIONS.force, json: KEY_OPTIONS.json });
  const version = versionOf(positionals);
  return withKeyContext(world, async (context) => {
    const { platform, actor } = context;
    rowOf(context, version);
    const vouchers = vouchersAt(context);
    if (vouchers === null) throw new KeyFault(NOBODY_VOUCHES);
    const current = context.rows.find((row) => row.in_use === 1);
    const stranded = await strandedBy(context, current);
    if (stranded.count > 0 && !values.force) {
      if (values.json) world.out(JSON.stringify({ refused: 'agents_stranded', stranded }, null, 2));
      throw new KeyFault(`${strandingFault(stranded.count)}. --force revokes anyway`);
    }
    const change = { version, vouchers, actor };
    const outcome = await platform.database.transact((tx) => revokeVersion(tx, platform, change));
    if (outcome === 'in_use')
      throw new KeyFault('this key is in use: switch to another one first (tidegate keys use)');
    if (outcome === 'already_revoked')
      throw new KeyFault(`signing key version ${version} is already revoked`);
    const behind = await agentsBehindKeySet(platform.database.read, {
      version: current?.first_key_set_version ?? 0,
    });
    const row = (await listKeys(platform.database.read)).find((each) => each.version === version);
    if (row)
      printReadiness(
        world,
        { row, behind, stranded: stranded.count, text: `Signing key version ${version} is revoked.` },
        values.json,
      );
    return EXIT.ok;
  });
}

/** `tidegate keys reset`: the last resort. */
export async function resetKeysCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, {
    'every-host-is-enrolled-again': KEY_OPTIONS['every-host-is-enrolled-again'],
    json: KEY_OPTIONS.json,
  });
  if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
  if (!values['every-host-is-enrolled-again']) {
    throw new UsageError('no agent will trust the new key: confirm with --every-host-is-enrolled-again');
  }
  return withKeyContext(world, async (context) => {
    if (vouchersAt(context) !== null) {
      throw new KeyFault(
        'a private half that agents trust is here: use keys use or keys add, and no host is lost',
      );
    }
    const made = await takePrivateKey(context, world, undefined);
    const { platform, actor } = context;
    made.keep();
    const outcome = await platform.database.transact((tx) =>
      resetKeys(tx, platform, { key: made.key, actor }),
    );
    if (outcome.kind === 'has_root') {
      throw new KeyFault(
        'the offline root can introduce a new key, and no host is lost: run keys add, then keys pending',
      );
    }
    const { row } = outcome;
    if (values.json) world.out(JSON.stringify(shown(row), null, 2));
    else world.out(`Signing key version ${row.version} is in use, and all others are revoked.`);
    return EXIT.ok;
  });
}

const NOBODY_VOUCHES =
  'no private half that agents trust is here, so nothing can sign a change: see the runbook for a lost key';

interface Made {
  key: SigningKey;
  /** Puts the private half into the key folder. */
  keep(): void;
}

async function takePrivateKey(
  { platform, folder }: KeyContext,
  world: CliWorld,
  path: string | undefined,
): Promise<Made> {
  const keyId = platform.newId();
  const privateKeyHex =
    path === undefined ? generatePrivateKeyHex(platform.random(32)) : (await readInput(world, path)).trim();
  const key = sound(() => loadSigningKey({ keyId, privateKeyHex }));
  return { key, keep: () => folder.write({ keyId, privateKeyHex }) };
}

function soundPublicKey(publicKeyHex: string): string {
  return sound(() => loadTrustedKey({ keyId: 'given', publicKeyHex })).publicKeyHex;
}

/** @throws KeyFault that names what is wrong and never the key. */
function sound<T>(load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (error instanceof KeyError)
      throw new KeyFault(`the key cannot be used (${error.code}): ${error.message}`);
    throw error;
  }
}

/** Agents that no chain of key sets can bring up to date: their set is older than the chain. */
async function strandedBy(
  { platform }: KeyContext,
  current: SigningKeyRow | undefined,
): Promise<AgentsBehind> {
  const { read } = platform.database;
  return agentsBehindKeySet(read, { version: await leastKeySet(read, current), seenOnly: true });
}

interface Readiness {
  row: SigningKeyRow;
  behind: AgentsBehind;
  /** How many of them cannot recover by themselves. */
  stranded: number;
  text: string;
}

function printReadiness(world: CliWorld, readiness: Readiness, isJson: boolean | undefined): void {
  const { row, behind, stranded, text } = readiness;
  if (isJson) {
    const { total: agents, count, ids: behind_ids } = behind;
    world.out(JSON.stringify({ ...shown(row), agents, behind: count, behind_ids, stranded }, null, 2));
    return;
  }
  world.out(`${text}\n${catchUpText(behind, stranded)}`);
}

function catchUpText({ count, total }: AgentsBehind, stranded: number): string {
  if (count === 0) return `All ${total} agents know the key in use.`;
  const late = `${count} of ${total} agents have not fetched the key in use yet`;
  if (stranded > 0) return `${late}; ${stranded} of them must be enrolled again.`;
  return `${late}; they will at their next check-in.`;
}

function shown(row: SigningKeyRow) {
  const { key_id, version, public_key_hex, status } = row;
  return { key_id, version, public_key_hex, status, in_use: row.in_use === 1, awaits_root: awaitsRoot(row) };
}

function addedText(row: SigningKeyRow, isHeld: boolean): string {
  const added = `Signing key version ${row.version} added: ${row.public_key_hex}`;
  if (awaitsRoot(row)) {
    return `${added}\nNo agent trusts it yet. Write the key set for the root to sign: tidegate keys pending --out FILE`;
  }
  return isHeld ? `${added}\nIt signs once you run: tidegate keys use ${row.version}` : added;
}
