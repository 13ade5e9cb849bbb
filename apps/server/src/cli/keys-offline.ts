import { basename, dirname } from 'node:path';
import { Envelope, KEYSET_TYPE, KeySetPayload } from '@tidegate/protocol/documents';
import { ROOT_TYPE, RootPayload } from '@tidegate/protocol/root-document';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { countersign, loadSigningKey, type SigningKey } from '@tidegate/signing/sign';
import { KeyError } from '@tidegate/signing/verify';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Value } from 'typebox/value';
import { writeSecretFile } from '../platform/secrets.ts';
import type { CliWorld } from './command.ts';
import { KeyFault } from './key-context.ts';
import { onlyWord, readInput } from './keys-input.ts';
import { KEY_OPTIONS } from './keys-options.ts';
import { makeKeyFile } from './make-key-file.ts';

/** `tidegate keys root make` */
export async function makeRootKeyCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { file, publicKeyHex, json } = makeKeyFile(args, world);
  world.out(json ? JSON.stringify({ file, public_key_hex: publicKeyHex }) : publicKeyHex);
  return EXIT.ok;
}

/** `tidegate keys root sign FILE`: shows the content, and adds a signature. */
export async function signCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { key: KEY_OPTIONS.key, json: KEY_OPTIONS.json });
  const file = onlyWord(positionals, 'the FILE to sign');
  const { key: keyFile } = values;
  if (keyFile === undefined) throw new UsageError('--key FILE is needed, or --key - for the standard input');
  const parsed = parseStrictJson(await readInput(world, file));
  const document = parsed.ok ? parsed.value : null;
  const content = contentOf(document);
  const key = loadRootKey(await readInput(world, keyFile));
  if (!isUnsigned(document) || content === null)
    throw new KeyFault(`${file} is neither a root document nor a key set`);
  const signed = countersign(key, document);
  writeSecretFile(dirname(file), { name: basename(file), text: `${JSON.stringify(signed, null, 2)}\n` });
  if (values.json)
    world.out(JSON.stringify({ file, signatures: signed.signatures.length, signed_by: key.publicKeyHex }));
  else
    world.out(
      [...content, `Signed by ${key.publicKeyHex}; ${signed.signatures.length} signatures.`].join('\n'),
    );
  return EXIT.ok;
}

function loadRootKey(text: string): SigningKey {
  const privateKeyHex = text.trim();
  try {
    const { publicKeyHex } = loadSigningKey({ keyId: 'root', privateKeyHex });
    return loadSigningKey({ keyId: publicKeyHex, privateKeyHex });
  } catch (error) {
    if (error instanceof KeyError) throw new KeyFault(`the root key cannot be used (${error.code})`);
    throw error;
  }
}

type Unsigned = Omit<Envelope, 'signatures'> & { signatures: Envelope['signatures'] };

/** An envelope, possibly without signatures. */
function isUnsigned(document: unknown): document is Unsigned {
  if (typeof document !== 'object' || document === null || !('signatures' in document)) return false;
  const { signatures } = document;
  if (!Array.isArray(signatures)) return false;
  return Value.Check(Envelope, { ...document, signatures: [...signatures, { keyid: '', sig: '-' }] });
}

/** The content to sign, in words; null for documents that the root does not sign. */
function contentOf(document: unknown): string[] | null {
  if (!isUnsigned(document)) return null;
  const payload = parseStrictJson(Buffer.from(document.payload, 'base64'));
  if (!payload.ok) return null;
  if (document.payloadType === ROOT_TYPE && Value.Check(RootPayload, payload.value)) {
    const { fleet_id, version, threshold, keys } = payload.value;
    const head = `Root ${version} of fleet ${fleet_id}: ${threshold} of these ${keys.length} keys sign:`;
    return [head, ...keys.map((key) => `  ${key}`)];
  }
  if (document.payloadType === KEYSET_TYPE && Value.Check(KeySetPayload, payload.value)) {
    const { fleet_id, version, keys, root_version } = payload.value;
    const head = `Key set ${version} of fleet ${fleet_id}, under root ${root_version ?? 'none'}:`;
    return [
      head,
      ...keys.map((key) => `  version ${key.version}  ${key.status.padEnd(7)}  ${key.public_key_hex}`),
    ];
  }
  return null;
}
