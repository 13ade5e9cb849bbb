import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatePrivateKeyHex } from '@tidegate/signing/sign';
import { createAuthority } from '@tidegate/testkit/certificates';
import { createDnfHost, type DnfHost, dnfHostMissing } from '@tidegate/testkit/dnf-host';
import type { Loopback } from '@tidegate/testkit/loopback';
import { runTool } from '@tidegate/testkit/run-tool';
import { serveFolder } from '@tidegate/testkit/serve-folder';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { configureRepository, type RepositoryRequest } from '../apps/agent/src/enrolment/agent-repository.ts';
import { type ReleaseSigner, signerOfKey, signerOfRecord } from '../scripts/release/release-signer.ts';
import { KEY, NEEDED, nameRepository } from './harness/agent-on-dnf.ts';
import { buildSmallAgents } from './harness/small-agents.ts';

const ENROLMENT = join(import.meta.dirname, '../apps/agent/src/enrolment/agent-repository.ts');
const SETUP_MAX_MS = 240_000;
const EPOCH_SECONDS = 1_790_000_000;
const RPM = 'tidegate-agent_0.1.0_linux-x64.rpm';
const dnfMissing = dnfHostMissing();
const DEB = 'tidegate-agent_0.1.0_linux-x64.deb';

const folder = tmpDir('tidegate-agents-');
const place = (...names: string[]) => join(folder.path, ...names);
const served = place('served/agents');
const built = place('built/agents');
const keyOf = (byte: number) => {
  const file = place(`release-${byte}.key`);
  writeFileSync(file, `${generatePrivateKeyHex(new Uint8Array(32).fill(byte))}\n`);
  return file;
};
const read = (...names: string[]) => readFileSync(join(served, ...names), 'utf8');
let signer: ReleaseSigner;
let server: Loopback;

beforeAll(async () => {
  signer = await signerOfKey(keyOf(7), EPOCH_SECONDS);
  await build(built, signer);
  await build(place('foreign/agents'), await signerOfKey(keyOf(8), EPOCH_SECONDS));
  writeFileSync(place('agents-signatures.json'), signer.record());
  server = await serveFolder(place('served'), []);
}, SETUP_MAX_MS);
beforeEach(() => serve('built'));
afterAll(async () => {
  await server.stop();
  folder.remove();
});

describe('the agents folder', () => {
  test('is signed as a whole: OpenSSL and sha256sum check it', async () => {
    const verify = ['pkeyutl', '-verify', '-pubin', '-inkey', 'release.pem', '-rawin', '-in', 'SHA256SUMS'];
    const openssl = () => runTool('openssl', [...verify, '-sigfile', 'SHA256SUMS.sig'], { cwd: served });
    expect(await openssl()).toContain('Signature Verified Successfully');
    await runTool('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: served });
    const named = read('SHA256SUMS')
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(66));
    const found = await runTool('find', ['.', '-type', 'f', '-printf', '%P\\n'], { cwd: served });
    const others = found
      .trim()
      .split('\n')
      .filter((name) => !name.startsWith('SHA256SUMS'));
    expect(named).toEqual(others.toSorted());
    change('SHA256SUMS');
    await expect(openssl()).rejects.toThrow('Verification Failure');
  });

  test.each([
    ['dists/stable/InRelease'],
    ['dists/stable/Release.gpg', 'dists/stable/Release'],
    ['repodata/repomd.xml.asc', 'repodata/repomd.xml'],
  ])('gpgv, with the key that the agent brings, accepts %s', async (signature, ...content) => {
    const keyring = place('keyring.gpg');
    rmSync(keyring, { force: true });
    await runTool('gpg', ['--dearmor', '-o', keyring, join(served, 'release.asc')]);
    const gpgv = () => runTool('gpgv', ['--keyring', keyring, signature, ...content], { cwd: served });
    await gpgv();
    change(content[0] ?? signature);
    await expect(gpgv()).rejects.toThrow('BAD signature');
  });

  test('has the same bytes with the signatures of another build, which do for those bytes only', async () => {
    const record = signerOfRecord(place('agents-signatures.json'), EPOCH_SECONDS);
    await build(place('again/agents'), record);
    expect(readFileSync(place('again/agents/SHA256SUMS'), 'utf8')).toBe(read('SHA256SUMS'));
    expect(record.record()).toBe(signer.record());
    const other = signerOfRecord(place('agents-signatures.json'), EPOCH_SECONDS);
    await expect(
      buildSmallAgents(place('other/agents'), {
        version: '0.2.0',
        signer: other,
        epochSeconds: EPOCH_SECONDS,
      }),
    ).rejects.toThrow(/has no signature tidegate-agent_0.2.0_linux-x64.rpm for what this build has made/);
  });

  test('has no repository where nobody signs', async () => {
    await build(place('unsigned/agents'), null);
    const sums = readFileSync(place('unsigned/agents/SHA256SUMS'), 'utf8');
    expect(
      sums
        .trimEnd()
        .split('\n')
        .map((line) => line.slice(66)),
    ).toEqual(
      ['linux-arm64', 'linux-x64'].flatMap((target) =>
        ['deb', 'rpm', 'tar.gz'].map((format) => `tidegate-agent_0.1.0_${target}.${format}`),
      ),
    );
  });
});

describe('apt on a host that has enrolled', () => {
  test('takes the agent from the server', async () => {
    const apt = await aptHost();
    await apt('update');
    await apt('download', 'tidegate-agent');
    const found = await runTool('sha256sum', ['host/tidegate-agent_0.1.0_amd64.deb'], { cwd: folder.path });
    expect(read('SHA256SUMS')).toContain(`${found.slice(0, 64)}  ${DEB}\n`);
  });

  test.each([
    ['a changed package', DEB, 'Hash Sum mismatch'],
    ['a changed list', 'dists/stable/main/binary-amd64/Packages.gz', 'Hash Sum mismatch'],
    ['a changed signature', 'dists/stable/InRelease', 'not signed|BADSIG|invalid'],
  ])('refuses %s', async (_, file, words) => {
    change(file);
    const apt = await aptHost();
    await expect(apt('update').then(() => apt('download', 'tidegate-agent'))).rejects.toThrow(
      new RegExp(words),
    );
  });

  test('reaches a server whose certificate is of an own CA, and no other server by it', async () => {
    const authority = await createAuthority();
    writeFileSync(place('ca.pem'), authority.cert);
    const { port, stop } = await listenWithTls(await authority.issue(['127.0.0.1']), (request, response) => {
      const file = place('served', new URL(request.url ?? '/', 'http://loopback').pathname);
      response.writeHead(existsSync(file) ? 200 : 404).end(existsSync(file) ? readFileSync(file) : '');
    });
    onTestFinished(stop);
    const serverUrl = `https://127.0.0.1:${port}`;
    const apt = await aptHost((root) =>
      configureInProcess({ serverUrl, root, caFile: place('ca.pem'), serverCa: null }),
    );
    await apt('update');
    writeFileSync(place('host/etc/apt/apt.conf.d/60tidegate-agent'), '');
    await expect(apt('update')).rejects.toThrow('certificate');
  });

  test('refuses a repository that another key has signed', async () => {
    serve('foreign');
    const apt = await aptHost();
    await expect(apt('update')).rejects.toThrow('NO_PUBKEY');
  });
});

describe.skipIf(dnfMissing !== null)(
  `dnf on a host that has enrolled${dnfMissing === null ? '' : ` (${dnfMissing})`}`,
  () => {
    let host: DnfHost;
    beforeAll(async () => {
      mkdirSync(place('dnf'));
      host = await createDnfHost(place('dnf'), { packages: [NEEDED] });
      await nameRepository(host, { serverUrl: server.url, publicAsc: signer.publicAsc });
    }, SETUP_MAX_MS);
    afterAll(() => host.stop());

    test.each([
      ['a changed package', () => change(RPM), 'Cannot download'],
      [
        'changed metadata',
        () => change('repodata/repomd.xml'),
        'repomd.xml GPG signature verification error|Failed to download metadata',
      ],
      [
        'a repository that another key has signed',
        () => serve('foreign'),
        'repomd.xml GPG signature verification error|Failed to download metadata',
      ],
    ])('refuses %s', async (_, spoil, words) => {
      spoil();
      // dnf may otherwise use what an earlier case downloaded.
      const installed = host.dnf('install', '--refresh', 'tidegate-agent');
      await expect(installed).rejects.toThrow(new RegExp(words));
      expect(await host.installed()).not.toContain('tidegate-agent 0:0.1.0-1');
    });

    test('takes the agent from the server', async () => {
      await host.dnf('install', 'tidegate-agent');
      expect(await host.installed()).toContain('tidegate-agent 0:0.1.0-1');
      const database = ['--dbpath', join(host.root, 'var/lib/rpm')];
      const said = await runTool('rpmkeys', [...database, '--checksig', join(served, RPM)]);
      expect(said).toContain('signatures OK');
    });
  },
);

const build = (at: string, by: ReleaseSigner | null) =>
  buildSmallAgents(at, { version: '0.1.0', signer: by, epochSeconds: EPOCH_SECONDS });

function serve(release: string): void {
  rmSync(served, { recursive: true, force: true });
  cpSync(place(release, 'agents'), served, { recursive: true });
}

/** Flips one bit in the middle of a file that is served. */
function change(name: string): void {
  const bytes = readFileSync(join(served, name));
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  writeFileSync(join(served, name), bytes);
}

/** In a process of its own, which trusts the CA from its start as the agent does. */
async function configureInProcess(request: RepositoryRequest): Promise<unknown> {
  const code = `import { configureRepository } from ${JSON.stringify(ENROLMENT)};
console.log(JSON.stringify(await configureRepository(${JSON.stringify(request)})));`;
  const env = { NODE_EXTRA_CA_CERTS: request.caFile ?? '' };
  return JSON.parse(await runTool(process.execPath, ['--input-type=module', '--eval', code], { env }));
}

/** apt with the sources that an enrolment writes, and no others. */
async function aptHost(
  configure: (root: string) => Promise<unknown> = (root) =>
    configureRepository({ serverUrl: server.url, root, caFile: null, serverCa: null }),
): Promise<(...args: string[]) => Promise<string>> {
  const root = place('host');
  rmSync(root, { recursive: true, force: true });
  const folders = [
    'etc/apt/sources.list.d',
    'etc/apt/apt.conf.d',
    'var/lib/dpkg/info',
    'var/cache/apt/archives',
  ];
  for (const name of [...folders, 'usr/share/keyrings', 'var/lib/apt/lists/partial'])
    mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'var/lib/dpkg/info/tidegate-agent.list'), '');
  writeFileSync(join(root, 'var/lib/dpkg/status'), '');
  cpSync(join(built, 'release.asc'), join(root, KEY));
  expect(await configure(root)).toMatchObject({ ok: true });
  // apt takes the path of a key as one of this machine.
  const sources = join(root, 'etc/apt/sources.list.d/tidegate.sources');
  writeFileSync(sources, readFileSync(sources, 'utf8').replace(KEY, join(root, KEY)));
  const config = join(root, 'apt.conf');
  const set = {
    Dir: root,
    'Dir::State::status': join(root, 'var/lib/dpkg/status'),
    'APT::Sandbox::User': 'root',
  };
  const fixed = {
    'APT::Architecture': 'amd64',
    'Acquire::http::Proxy': 'DIRECT',
    'APT::Update::Error-Mode': 'any',
  };
  const lines = Object.entries({ ...set, ...fixed }).map(([name, value]) => `${name} "${value}";`);
  writeFileSync(config, `${lines.join('\n')}\n`);
  return (...args) => runTool('apt-get', args, { cwd: root, env: { APT_CONFIG: config } });
}
