import { createPrivateKey, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { nullable } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { parseAs } from '../../platform/parse-as.ts';
import { writeSecretFile } from '../../platform/secrets.ts';

const FOLDER = 'acme';
const ACCOUNT = 'account-key.pem';
const CERTIFICATE = 'certificate.json';
const FAILURE = 'failure.json';

/** Chain and key in one file, so that they change together. */
const StoredCertificate = Type.Object({
  /** Who issued it. */
  directoryUrl: Type.String(),
  cert: Type.String(),
  key: Type.String(),
});
export type StoredCertificate = Static<typeof StoredCertificate>;

/** Failures in a row, kept so that a restart does not shorten a pause. */
const StoredFailure = Type.Object({
  /** The settings that failed; others are tried at once. */
  settings: Type.String(),
  failures: Type.Integer({ minimum: 1 }),
  sinceMs: Type.Integer(),
  lastMs: Type.Integer(),
  retryAtMs: Type.Number(),
  /** The end of the pause that the ACME server asked for; null if it asked for none. */
  askedUntilMs: nullable(Type.Number()),
  cause: Type.String(),
});
export type StoredFailure = Static<typeof StoredFailure>;

/** What ACME keeps in the data folder, readable by its owner only; each file is replaced as a whole. */
export interface AcmeFolder {
  /** The private key of the account; null before the first order. */
  accountKey(): KeyObject | null;
  keepAccountKey(pem: string): void;
  certificate(): StoredCertificate | null;
  keepCertificate(certificate: StoredCertificate): void;
  failure(): StoredFailure | null;
  /** Null: the last attempt succeeded. */
  keepFailure(failure: StoredFailure | null): void;
}

/** Reads and writes nothing by itself. A file that cannot be parsed counts as absent: it is issued or made again. */
export function acmeFolder(dataDir: string): AcmeFolder {
  const folder = join(dataDir, FOLDER);
  const read = (name: string) => {
    const path = join(folder, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  };
  const write = (name: string, text: string) => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeSecretFile(folder, { name, text });
  };
  return {
    accountKey: () => keyOf(read(ACCOUNT)),
    keepAccountKey: (pem) => write(ACCOUNT, pem),
    certificate: () => parseAs(nullable(StoredCertificate), read(CERTIFICATE) ?? 'null'),
    keepCertificate: (certificate) => write(CERTIFICATE, `${JSON.stringify(certificate, null, 2)}\n`),
    failure: () => parseAs(nullable(StoredFailure), read(FAILURE) ?? 'null'),
    keepFailure(failure) {
      if (failure === null) rmSync(join(folder, FAILURE), { force: true });
      else write(FAILURE, `${JSON.stringify(failure, null, 2)}\n`);
    },
  };
}

function keyOf(pem: string | null): KeyObject | null {
  try {
    return pem === null ? null : createPrivateKey(pem);
  } catch {
    return null;
  }
}
