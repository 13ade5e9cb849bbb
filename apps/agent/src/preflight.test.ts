import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSelfSigned } from '@tidegate/testkit/certificates';
import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { lineOf } from './checks/finding.ts';
import { saveConfig } from './identity/config-file.ts';
import { preflight } from './preflight.ts';
import { configOf } from './testing/agent-config.ts';
import { createAgent } from './testing/agent-runtime.ts';
import { createFleet } from './testing/fleet.ts';
import { hostRoot } from './testing/host-root.ts';
import { json, startServer } from './testing/scripted-server.ts';

const project = fileURLToPath(new URL('../../../', import.meta.url));
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function look(
  files: Record<string, string>,
  given: { present?: boolean; uid?: number; staleness?: string } = {},
) {
  const server = await startServer(() => json({ status: 'ok', version: '1.0.0' }));
  const agent = await createAgent();
  stops.push(server.stop, agent.stop);
  using host = hostRoot(files);
  agent.driver.present = async () => given.present ?? true;
  agent.driver.examineLists = async () => ({ ageMs: null, staleness: given.staleness ?? null });
  const findings = await preflight({
    ...{ serverUrl: server.url, allowInsecureHttp: false, machineIdSource: 'auto', layout: {}, env: {} },
    ...{ folder: join(host.root, 'agent'), drivers: [agent.driver], nowMs: Date.now, root: host.root },
    facts: { uid: given.uid ?? 0, hasPathUnit: false, unshare: '/usr/bin/unshare' },
  });
  expect(readdirSync(host.root).includes('agent')).toBe(false);
  return findings.map(lineOf);
}

test('a host with systemd is ready', async () => {
  const lines = await look({ 'etc/machine-id': 'm-1', 'run/systemd/system/mark': '' });
  expect(lines.filter((line) => line.startsWith('FAIL'))).toEqual([]);
  expect(lines.map((line) => line.slice(5).split(':')[0])).toEqual([
    ...['proxy', 'server', 'clock', 'machine id', 'package managers', 'installations', 'disk space'],
  ]);
});

test('old package lists are a warning: they keep no host from being enrolled', async () => {
  const lines = await look(
    { 'etc/machine-id': 'm-1' },
    { staleness: 'apt-get update last succeeded 9 days ago' },
  );
  expect(lines.filter((line) => line.startsWith('FAIL'))).toEqual([]);
  expect(lines).toContainEqual(
    expect.stringMatching(/^warn apt sources: apt-get update last succeeded 9 days ago/),
  );
});

test('a container is told before its enrolment what it needs', async () => {
  const lines = await look({ 'etc/machine-id': 'm-1', '.dockerenv': '' }, { present: false });
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^FAIL machine id: this is a container .*--machine-id-source file:/),
      expect.stringMatching(/^warn container: .*"tidegate-agent run" running, and a package manager/),
      expect.stringMatching(/^FAIL package managers: none was found: the agent works with apt/),
      expect.stringMatching(/^warn units: this host was not booted with systemd/),
    ]),
  );
});

test('a host without a machine id, and one that could only report, are told why', async () => {
  const lines = await look({}, { uid: 1_000 });
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^FAIL machine id: .*ENOENT/),
      expect.stringMatching(/^warn installations: this host will only report: .*run this as root/),
    ]),
  );
});

describe('the compiled agent behind a proxy', () => {
  let binary: string;
  beforeAll(async () => {
    const folder = tmpDir();
    binary = join(folder.path, 'tidegate-agent');
    const build = spawn(process.execPath, [join(project, 'scripts/build-agent.ts'), '--outfile', binary], {
      ...{ stdio: 'ignore', env: {} },
    });
    await once(build, 'exit');
    return () => folder.remove();
  });

  const NAME = 'tidegate.test';

  /** A server whose name only the proxy knows, and whose certificate is of a CA of its own. */
  async function secluded() {
    const folder = tmpDir();
    const pair = await createSelfSigned([NAME], 10);
    const ca = join(folder.path, 'ca.pem');
    writeFileSync(ca, pair.cert);
    const paths: string[] = [];
    const server = await listenWithTls(pair, (request, response) => {
      paths.push(request.url ?? '');
      const { body, headers } = json({ status: 'ok', version: '1.0.0' });
      response.writeHead(200, headers).end(body);
    });
    const proxy = await startConnectProxy({ hosts: { [NAME]: server.port }, credentials: 'user:p@ss' });
    onTestFinished(async () => {
      await server.stop();
      await proxy.stop();
      folder.remove();
    });
    return { folder: folder.path, ca, paths, proxy, HTTPS_PROXY: `http://user:p%40ss@${proxy.authority}` };
  }

  async function run(args: readonly string[], env: Record<string, string>) {
    const child = spawn(binary, [...args, '--json'], { env: { PATH: process.env.PATH ?? '', ...env } });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    await once(child, 'close');
    const { findings }: { findings: Parameters<typeof lineOf>[0][] } = JSON.parse(out);
    return {
      out,
      of: (check: string) =>
        findings
          .filter((one) => one.check === check)
          .map(lineOf)
          .join(),
    };
  }

  test('preflight reaches the server, and warns of a certificate that ends soon', async () => {
    const { ca, proxy, paths, HTTPS_PROXY } = await secluded();
    const args = ['preflight', '--server', `https://${NAME}`];
    const { of, out } = await run(args, { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: ca });
    expect(of('proxy')).toBe(`ok   proxy: ${NAME} is reached through ${proxy.url} (HTTPS_PROXY)`);
    expect(of('certificate')).toMatch(/^warn certificate: it expires on .* days: renew it/);
    expect(of('server')).toMatch(/^ok .*version 1\.0\.0$/);
    expect(of('clock')).toMatch(/^ok /);
    expect(paths).toEqual(['/api/health']);
    expect(new Set(proxy.seen.map(({ target }) => target))).toEqual(new Set([`${NAME}:443`]));
    expect(out).not.toContain('p%40ss');
    const untrusted = await run(args, { HTTPS_PROXY });
    expect(untrusted.of('certificate')).toMatch(/^FAIL certificate: .*NODE_EXTRA_CA_CERTS/);
  });

  test('an enrolled agent goes the same way, NO_PROXY keeps it from it, and a wrong variable opens no other', async () => {
    const { folder, ca, proxy, HTTPS_PROXY } = await secluded();
    const config = configOf(createFleet(Date.now()), { server_url: `https://${NAME}` });
    saveConfig(folder, config);
    const doctor = ['doctor', '--config', folder];
    const env = { NODE_EXTRA_CA_CERTS: ca };
    expect((await run(doctor, { ...env, https_proxy: HTTPS_PROXY })).of('server')).toMatch(/^ok /);
    const calls = proxy.seen.length;
    expect((await run(doctor, { ...env, HTTPS_PROXY, NO_PROXY: '.test' })).of('DNS')).toMatch(/^FAIL DNS/);
    const wrong = await run(doctor, { ...env, HTTPS_PROXY: 'socks5://user:p%40ss@proxy.test' });
    expect(wrong.of('proxy')).toMatch(/^FAIL proxy: HTTPS_PROXY names no/);
    expect(wrong.out).not.toContain('p%40ss');
    expect(proxy.seen).toHaveLength(calls);
  });
});
