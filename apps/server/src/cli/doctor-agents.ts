import { resolve } from 'node:path';
import { loadReleaseKey, type ReleaseFiles, SIGNATURE_FILE, SUMS_FILE } from '@tidegate/signing/release';
import { type TrustedKey, verifyDetached } from '@tidegate/signing/verify';
import { type AgentFolder, openAgentFolder } from '../agent-packages/open-folder.ts';
import { packagesOf } from '../agent-packages/sums-rules.ts';
import type { Config } from '../config.ts';
import { PROGRAM_ROOT, SHIPPED_AGENTS } from '../platform/program.ts';
import { readPair } from '../tls/certificate-files.ts';
import { readServerCa, serverCaOf } from '../tls/server-ca.ts';
import { VERSION } from '../version.ts';
import type { Finding } from './doctor-rules.ts';

const CHECK = 'agent packages';
const REINSTALL = 'install the package tidegate-agents of this release again';

/** The software for agents: whether it is there, whole, of this release and signed. */
export async function judgeAgentPackages({ agentsDir }: Config): Promise<Finding[]> {
  const folder = openAgentFolder(resolve(PROGRAM_ROOT, agentsDir ?? SHIPPED_AGENTS));
  const state = await folder.state();
  switch (state.kind) {
    case 'absent': {
      const detail = `there are none in ${folder.path}: hosts cannot install the agent from this server`;
      if (agentsDir === null)
        return [
          { check: CHECK, level: 'ok', detail: `${detail}, unless you install the package tidegate-agents` },
        ];
      return [{ check: CHECK, level: 'warn', detail, todo: 'correct SERVICE_AGENTS_DIR' }];
    }
    case 'faulty':
      return [{ check: CHECK, level: 'fail', detail: state.fault, todo: REINSTALL }];
    case 'ready':
      return judgeFiles(folder, state.sums);
  }
}

async function judgeFiles(folder: AgentFolder, sums: ReleaseFiles): Promise<Finding[]> {
  const faults: string[] = [];
  for (const path of sums.keys()) {
    const opened = await folder.open(path);
    if (opened.kind === 'whole') await opened.handle.close();
    if (opened.kind === 'faulty') faults.push(opened.fault);
  }
  if (faults.length > 0) {
    return [{ check: CHECK, level: 'fail', detail: faults.slice(0, 5).join('; '), todo: REINSTALL }];
  }
  const versions = [...new Set(packagesOf(sums).map(({ version }) => version))];
  const signed = await judgeSignature(folder);
  if (versions.includes(VERSION)) return [signed];
  const found =
    versions.length === 0 ? 'there are none for Linux' : `they are version ${versions.join(', ')}`;
  const detail = `${found}, and this server is ${VERSION}`;
  const todo = 'install the package tidegate-agents of the same release';
  return [{ check: CHECK, level: 'warn', detail, todo }, signed];
}

async function judgeSignature(folder: AgentFolder): Promise<Finding> {
  const [sums, signature, pem] = [
    await read(folder, SUMS_FILE),
    await read(folder, SIGNATURE_FILE),
    await read(folder, 'release.pem'),
  ];
  if (sums === null || signature === null || pem === null) {
    const detail = 'they are whole, and not signed: nobody outside can tell who built them';
    return { check: CHECK, level: 'warn', detail, todo: 'use those of a signed release' };
  }
  const key = keyIn(pem);
  if (key !== null && verifyDetached(key, sums, signature))
    return { check: CHECK, level: 'ok', detail: `whole, and signed by ${key.publicKeyHex}` };
  const detail = `${SIGNATURE_FILE} is no signature of ${SUMS_FILE} by the key in release.pem`;
  return { check: CHECK, level: 'fail', detail, todo: `let no host install them; ${REINSTALL}` };
}

function keyIn(pem: Buffer): TrustedKey | null {
  try {
    return loadReleaseKey(pem.toString('utf8'));
  } catch {
    return null;
  }
}

async function read(folder: AgentFolder, name: string): Promise<Buffer | null> {
  const opened = await folder.open(name);
  if (opened.kind !== 'whole') return null;
  try {
    return await opened.handle.readFile();
  } finally {
    await opened.handle.close();
  }
}

/** Whether hosts can be told whom to trust, where the certificate is of a private CA. */
export function judgeServerCa({ tlsCaCert, tlsCert: cert, tlsKey: key }: Config): Finding[] {
  const check = 'certificate authority';
  const configured = readServerCa(tlsCaCert);
  if (!configured.ok) {
    return [
      { check, level: 'fail', detail: configured.fault, todo: 'correct it, or the server does not start' },
    ];
  }
  const pair = cert === null || key === null ? null : readPair({ cert, key });
  const chain = pair?.ok ? pair.pair.cert : null;
  if (serverCaOf({ configured: configured.pem, chain }).kind !== 'missing') return [];
  const detail =
    'the certificate is not of a public CA, and that of its CA is not known: hosts that join refuse it';
  const todo = 'name it in SERVICE_TLS_CA_CERT, or put it at the end of SERVICE_TLS_CERT';
  return [{ check, level: 'warn', detail, todo }];
}
