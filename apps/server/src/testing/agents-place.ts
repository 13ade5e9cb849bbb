import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../platform/sha256.ts';

/** Lays out a folder of software for agents, with the SHA256SUMS of these files. */
export function layAgents(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  const sums = Object.entries(files).map(([path, content]) => `${sha256Hex(content)}  ${path}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
}

const RELEASE = generateKeyPairSync('ed25519');

/** The same for a release of one package, signed. */
export function laySignedAgents(folder: string, version: string): void {
  const pem = RELEASE.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  layAgents(folder, { [`tidegate-agent_${version}_linux-x64.deb`]: 'deb', 'release.pem': pem });
  const sums = readFileSync(join(folder, 'SHA256SUMS'));
  writeFileSync(join(folder, 'SHA256SUMS.sig'), sign(null, sums, RELEASE.privateKey));
}
