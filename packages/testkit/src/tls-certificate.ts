import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from './tmp.ts';

/** A self-signed certificate and its key, as PEM. */
export interface TestCertificate {
  cert: string;
  key: string;
}

/** Makes a certificate for the names with openssl(1), valid from now for so many days. */
export function createCertificate({
  names,
  days = 30,
}: {
  names: readonly string[];
  days?: number;
}): TestCertificate {
  const folder = tmpDir();
  try {
    const [cert, key] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
    const alternatives = names
      .map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`))
      .join(',');
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
        ...['-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${alternatives}`],
        ...['-days', `${days}`, '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
  } finally {
    folder.remove();
  }
}
