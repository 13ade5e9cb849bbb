import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseSums, type ReleaseFiles, SIGNATURE_FILE, SUMS_FILE } from '@tidegate/signing/release';
import { loadSigningKey, type SigningKey, signDetached } from '@tidegate/signing/sign';
import {
  KeyError,
  loadTrustedKey,
  publicKeyPem,
  type TrustedKey,
  verifyDetached,
} from '@tidegate/signing/verify';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import type { CliWorld } from './command.ts';
import { KeyFault } from './key-context.ts';
import { onlyWord, readInput } from './keys-input.ts';
import { KEY_OPTIONS } from './keys-options.ts';
import { makeKeyFile } from './make-key-file.ts';

const SUMS = SUMS_FILE;
const SIGNATURE = SIGNATURE_FILE;

/** `tidegate keys release make` */
export async function makeReleaseKeyCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { file, publicKeyHex, json } = makeKeyFile(args, world);
  const pem = publicKeyPem(loadTrustedKey({ keyId: 'release', publicKeyHex }));
  const made = { file, public_key_hex: publicKeyHex, public_key_pem: pem };
  world.out(json ? JSON.stringify(made) : `${publicKeyHex}\n${pem.trimEnd()}`);
  return EXIT.ok;
}

/** `tidegate keys release sign DIR`: signs the checksums of a release, if its files are exactly those. */
export async function signReleaseCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { key: KEY_OPTIONS.key, json: KEY_OPTIONS.json });
  const folder = onlyWord(positionals, 'the DIR of the release');
  const { key: keyFile } = values;
  if (keyFile === undefined) throw new UsageError('--key FILE is needed, or --key - for the standard input');
  const sums = await checkedSums(folder);
  const key = loadReleaseKey(await readInput(world, keyFile));
  writeFileSync(join(folder, SIGNATURE), signDetached(key, sums.bytes));
  if (values.json) world.out(JSON.stringify({ files: sums.files, signed_by: key.publicKeyHex }));
  else world.out(`${sums.files} files are what ${SUMS} says. Signed by ${key.publicKeyHex}: ${SIGNATURE}`);
  return EXIT.ok;
}

/** `tidegate keys release verify DIR`: whether every file of a release is the one that was signed. */
export async function verifyReleaseCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, {
    'public-key': KEY_OPTIONS['public-key'],
    json: KEY_OPTIONS.json,
  });
  const folder = onlyWord(positionals, 'the DIR of the release');
  const publicKeyHex = values['public-key'];
  if (publicKeyHex === undefined) throw new UsageError('--public-key HEX is needed');
  const key = trustedKey(publicKeyHex);
  const bytes = readRelease(folder, SUMS);
  if (!verifyDetached(key, bytes, readRelease(folder, SIGNATURE))) {
    throw new KeyFault(
      `${SIGNATURE} is not a signature of ${SUMS} by ${key.publicKeyHex}: use nothing of ${folder}`,
    );
  }
  const { files } = await checkedSums(folder, bytes);
  if (values.json) world.out(JSON.stringify({ files, signed_by: key.publicKeyHex }));
  else world.out(`${files} files are those that ${key.publicKeyHex} signed.`);
  return EXIT.ok;
}

/** @throws KeyFault unless the folder holds every file of its checksums, unchanged, and no other. */
async function checkedSums(
  folder: string,
  bytes: Uint8Array = readRelease(folder, SUMS),
): Promise<{ bytes: Uint8Array; files: number }> {
  const wanted = readSums(bytes);
  const found = readdirSync(folder).filter((name) => name !== SUMS && name !== SIGNATURE);
  const extra = found.filter((name) => !wanted.has(name));
  if (extra.length > 0) throw new KeyFault(`${SUMS} does not name ${extra.join(', ')}`);
  const faults: string[] = [];
  for (const [name, sha256] of wanted) {
    if (!found.includes(name)) faults.push(`${name} is missing, which ${SUMS} names`);
    else if ((await sha256Of(join(folder, name))) !== sha256)
      faults.push(`${name} is not the file that ${SUMS} names: its SHA-256 differs`);
  }
  if (faults.length > 0) throw new KeyFault(faults.join('\n'));
  return { bytes, files: wanted.size };
}

function readSums(bytes: Uint8Array): ReleaseFiles {
  const files = parseSums(bytes);
  if (files !== null) return files;
  throw new KeyFault(
    `${SUMS} cannot be read; allowed: lines of sha256sum, each file once, below this folder`,
  );
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function readRelease(folder: string, name: string): Uint8Array {
  try {
    return new Uint8Array(readFileSync(join(folder, name)));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new KeyFault(`${join(folder, name)} cannot be read (${code})`);
  }
}

function loadReleaseKey(text: string): SigningKey {
  try {
    return loadSigningKey({ keyId: 'release', privateKeyHex: text.trim() });
  } catch (error) {
    if (error instanceof KeyError) throw new KeyFault(`the release key cannot be used (${error.code})`);
    throw error;
  }
}

function trustedKey(publicKeyHex: string): TrustedKey {
  try {
    return loadTrustedKey({ keyId: 'release', publicKeyHex });
  } catch (error) {
    if (error instanceof KeyError)
      throw new UsageError(`--public-key cannot be used (${error.code}); allowed: 64 hex digits`);
    throw error;
  }
}
