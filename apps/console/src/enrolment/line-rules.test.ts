import type { AgentPackage } from '@tidegate/protocol/agent-packages-api';
import { expect, test } from 'vitest';
import { installLine, type LineFacts, removalLine, UNITS } from './line-rules.ts';

const HEX = 'a'.repeat(64);
const FILE: AgentPackage = {
  ...{
    path: 'tidegate-agent_1.2.3_linux-x64.deb',
    target: 'linux-x64',
    format: 'deb',
    bytes: 7,
    sha256: HEX,
  },
};
const FACTS: LineFacts = {
  ...{ origin: 'https://fleet.example.com', token: 'tgr_x', file: FILE, fetcher: 'curl', caSha256: null },
};
const lineOf = (facts: Partial<LineFacts>) => installLine({ ...FACTS, ...facts }) ?? '';

test('the line downloads, compares, installs, looks, enrols and starts, each only after the one before it', () => {
  expect(lineOf({}).split(' && ')).toEqual([
    ' (d=$(mktemp -d)',
    `trap 'rm -rf "$d"' EXIT`,
    'cd "$d"',
    'curl -fsSO https://fleet.example.com/agents/tidegate-agent_1.2.3_linux-x64.deb',
    `echo '${HEX}  tidegate-agent_1.2.3_linux-x64.deb' | sha256sum -c -`,
    'apt-get install -y ./tidegate-agent_1.2.3_linux-x64.deb',
    'tidegate-agent preflight --server https://fleet.example.com',
    'TIDEGATE_TOKEN=tgr_x tidegate-agent enrol --server https://fleet.example.com --user tidegate-agent',
    '{ ! [ -d /run/systemd/system ] || systemctl restart tidegate-agent; })',
  ]);
});

test.each([
  ['curl', ['curl -fsSOk', 'curl -fsSO --cacert server-ca.pem']],
  ['wget', ['wget -nv --no-check-certificate', 'wget -nv --ca-certificate=server-ca.pem']],
] as const)(
  'a private CA is fetched unseen by %s, compared, and trusted after that',
  (fetcher, [any, own]) => {
    const steps = lineOf({ fetcher, caSha256: 'b'.repeat(64) }).split(' && ');
    expect(steps.slice(3, 6)).toEqual([
      `${any} https://fleet.example.com/server-ca.pem`,
      `echo '${'b'.repeat(64)}  server-ca.pem' | sha256sum -c -`,
      `${own} https://fleet.example.com/agents/${FILE.path}`,
    ]);
    expect(steps).toContain('install -D -m 644 server-ca.pem /etc/tidegate/server-ca.pem');
  },
);

test('a token that crosses the network unencrypted is allowed by the operator alone', () => {
  expect(lineOf({ origin: 'http://10.0.0.1' }).match(/--allow-insecure-http/g)).toHaveLength(2);
  expect(lineOf({ origin: 'http://localhost:8080' })).not.toContain('--allow-insecure-http');
});

test.each([
  ['a name that leads elsewhere', { file: { ...FILE, path: '../x' } }],
  ['a name with a quote', { file: { ...FILE, path: "x'; reboot; '" } }],
  ['a name that is an option', { file: { ...FILE, path: '-x' } }],
  ['a hash with a newline', { file: { ...FILE, sha256: `${HEX}\n` } }],
  ['a hash that is a command', { caSha256: '$(reboot)' }],
])('the server’s answer makes no line of %s', (_, facts) => {
  expect(installLine({ ...FACTS, ...facts })).toBeNull();
});

test('what has no package lays its versions side by side and enables the units that the packages enable', () => {
  expect(lineOf({ file: { ...FILE, format: 'tar.gz' } })).toContain(
    `tidegate-agent side-by-side && systemctl enable --now ${UNITS}`,
  );
});

test.each(['deb', 'rpm', 'tar.gz'] as const)(
  'the removal of %s leaves nothing of a server on the same host',
  (format) => {
    const line = removalLine(format);
    expect(line).toContain('/etc/tidegate/server-ca.pem');
    expect(line).not.toMatch(/\/var\/lib\/tidegate( |$)|\/etc\/tidegate( |$)|tidegate\.service|tidegate-\*/);
  },
);
