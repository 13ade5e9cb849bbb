import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority, createSelfSigned } from '@tidegate/testkit/certificates';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultConfig } from '../config.ts';
import { layAgents, laySignedAgents } from '../testing/agents-place.ts';
import { VERSION } from '../version.ts';
import { judgeAgentPackages, judgeServerCa } from './doctor-agents.ts';

const DEB = `tidegate-agent_${VERSION}_linux-x64.deb`;

async function judge(lay: (folder: string) => void) {
  const folder = tmpDir();
  onTestFinished(folder.remove);
  const agentsDir = join(folder.path, 'agents');
  mkdirSync(agentsDir);
  lay(agentsDir);
  const findings = await judgeAgentPackages(defaultConfig({ agentsDir }));
  return findings.map(({ level, detail }) => `${level} ${detail}`);
}

describe('what doctor says of the software for agents', () => {
  test('whole, of this release and signed', async () => {
    expect(await judge((folder) => laySignedAgents(folder, VERSION))).toEqual([
      expect.stringMatching(/^ok whole, and signed by [0-9a-f]{64}$/),
    ]);
  });

  test.each<[string, (folder: string) => void, readonly (string | RegExp)[]]>([
    ['no folder', () => {}, [/^warn there are none in .*: hosts cannot install the agent/]],
    ['not signed', (folder) => layAgents(folder, { [DEB]: 'deb' }), [/^warn they are whole, and not signed/]],
    [
      'of another release',
      (folder) => laySignedAgents(folder, '99.0.0'),
      [/^warn they are version 99\.0\.0, and this server is /, /^ok whole/],
    ],
    [
      'signed by another key',
      (folder) => {
        laySignedAgents(folder, VERSION);
        writeFileSync(join(folder, 'SHA256SUMS.sig'), createHash('sha512').update('x').digest());
      },
      [/^fail SHA256SUMS\.sig is no signature of SHA256SUMS/],
    ],
    [
      'another byte in a file',
      (folder) => {
        laySignedAgents(folder, VERSION);
        writeFileSync(join(folder, DEB), 'dEb');
      },
      [/^fail .*linux-x64\.deb is not offered: its SHA-256 is not the one in SHA256SUMS$/],
    ],
    [
      'checksums that lead out of it',
      (folder) => writeFileSync(join(folder, 'SHA256SUMS'), `${'a'.repeat(64)}  ../x\n`),
      [/^fail SHA256SUMS does not hold lines of sha256sum/],
    ],
  ])('%s', async (_, lay, expected) => {
    expect(await judge(lay)).toEqual(expected.map((one) => expect.stringMatching(one)));
  });
});

test('a certificate of a private CA that is not known is a warning', async () => {
  const authority = await createAuthority();
  const issued = await authority.issue(['tidegate.example']);
  const selfSigned = await createSelfSigned(['tidegate.example']);
  const levels = (pair: { cert: string; key: string }, tlsCaCert: string | null) =>
    judgeServerCa(defaultConfig({ tlsCert: pair.cert, tlsKey: pair.key, tlsCaCert })).map(
      ({ level }) => level,
    );
  expect(levels(issued, null)).toEqual(['warn']);
  expect(levels(issued, authority.cert)).toEqual([]);
  expect(levels(selfSigned, null)).toEqual([]);
  expect(levels(issued, '/nonexistent')).toEqual(['fail']);
});
