import { generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { readArgs, UsageError } from '@tidegate/terminal/read-args';
import type { CliWorld } from './command.ts';
import { KEY_OPTIONS } from './keys-options.ts';
import { writeNewSecret } from './write-new-secret.ts';

export interface MadeKey {
  file: string;
  publicKeyHex: string;
  /** Whether the result is asked for as JSON. */
  json: boolean;
}

/**
 * Makes a private key in the new file that `--out` names. Needs no server, data or network, so that it runs on an offline
 * machine. @throws UsageError, KeyFault
 */
export function makeKeyFile(args: readonly string[], { random, err }: CliWorld): MadeKey {
  const { values, positionals } = readArgs(args, { out: KEY_OPTIONS.out, json: KEY_OPTIONS.json });
  if (positionals.length > 0) throw new UsageError(`unknown words: ${positionals.join(' ')}`);
  const { out: file, json = false } = values;
  if (file === undefined) throw new UsageError('--out FILE is needed');
  const privateKeyHex = generatePrivateKeyHex(random(32));
  writeNewSecret(file, `${privateKeyHex}\n`);
  const { publicKeyHex } = loadSigningKey({ keyId: 'made', privateKeyHex });
  err(`The private half is in ${file}, readable by its owner only. Keep it and a copy away from the server.`);
  return { file, publicKeyHex, json };
}
