import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { canMount } from '@tidegate/testkit/can-mount';
import { createAuthority, type TestAuthority } from '@tidegate/testkit/certificates';
import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { listenWithTls } from '@tidegate/testkit/tls-server';
import { tmpDir } from '@tidegate/testkit/tmp';
import { request as openRequests, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type DebianTree, installDebootstrap, makeDebianTree } from '../scripts/debian-tree.ts';
import { type Browser, inspect, startBrowser } from './harness/browser.ts';
import { browserMissing } from './harness/chromium.ts';
import { liftLimits } from './harness/operator.ts';
import { OPERATOR, type ServerProcess, startServer } from './harness/server-process.ts';
import { addDnf } from './harness/tree-dnf.ts';
import { runInTree, startUnit } from './harness/unit-process.ts';

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url));
const SETUP_MAX_MS = 900_000;
const STORY_MAX_MS = 300_000;
/** As the page says it, for root. */
const DOCTOR = 'runuser -u tidegate-agent -- tidegate-agent doctor';
const CA_PLACE = 'etc/tidegate/server-ca.pem';
const NAMES = ['127.0.0.1', 'localhost', 'tidegate.test'];
const MONTHS = { fromMs: Date.now() - 60_000, untilMs: Date.now() + 90 * 86_400_000 };
const needed = ['rpmbuild', 'createrepo_c'].find((tool) => findTool(tool) === null);
const missing =
  process.getuid?.() === 0 && canMount()
    ? (browserMissing() ??
      (needed === undefined ? null : `${needed} is not installed (packages rpm, createrepo-c)`))
    : 'only root that may mount file systems installs packages';

interface World {
  tree: DebianTree;
  agents: string;
  authority: TestAuthority;
  server: ServerProcess;
  browser: Browser;
}

describe.skipIf(missing !== null)(
  `one line for a host, from the page, over https of a private CA${missing === null ? '' : ` (${missing})`}`,
  () => {
    const stack = new AsyncDisposableStack();
    let world: World | null = null;
    const it = () => {
      if (world === null) throw new Error('there is no world');
      return world;
    };
    const path = (name: string) => join(it().tree.root, name);
    beforeAll(async () => {
      const folder = stack.use(tmpDir('tidegate-one-line-'));
      const agents = join(folder.path, 'agents');
      const formats = ['deb', 'rpm', 'tar.gz'].flatMap((format) => ['--format', format]);
      const few = ['--fast', '--target', 'linux-x64', '--product', 'tidegate-agent', ...formats];
      const built = runTool(process.execPath, ['scripts/release.ts', ...few, '--out', agents], {
        cwd: REPOSITORY,
        env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/' },
      });
      await installDebootstrap();
      const [tree] = await Promise.all([makeDebianTree(folder.path), built]);
      await runTool('apt-get', ['-y', '--no-install-recommends', 'install', 'curl', 'wget'], {
        env: tree.env,
      });
      await addDnf(tree, folder.path);
      writeFileSync(join(tree.root, 'etc/hosts'), '127.0.0.1 localhost\n');
      const authority = await createAuthority();
      const { cert, key } = await authority.issue(NAMES, MONTHS);
      const server = await startServer({
        ...{ dataDir: join(folder.path, 'data'), advisoryUrl: 'http://127.0.0.1:9' },
        env: {
          ...{ SERVICE_TLS_CERT: `${cert}${authority.cert}\n`, SERVICE_TLS_KEY: key },
          SERVICE_AGENTS_DIR: agents,
        },
      });
      stack.defer(async () => void (await server.stop()));
      await liftLimitsOf(server);
      const browser = stack.use(await startBrowser({ trustsAll: true }));
      world = { tree, agents, authority, server, browser };
    }, SETUP_MAX_MS);
    afterAll(() => stack.disposeAsync());

    /** Makes a token on the page for adding hosts. */
    async function newToken(): Promise<Page> {
      const { browser, server } = it();
      const page = await browser.openAs(server.url);
      await page.goto('/enrolment');
      await page.getByLabel('Label').fill('a story');
      await page.getByRole('button', { name: 'Create a token' }).click();
      await page.getByLabel('System').waitFor();
      return page;
    }

    async function lineOn(page: Page, system = 'Debian, Ubuntu', fetcher = 'curl'): Promise<string> {
      await page.getByLabel('System').selectOption({ label: system });
      await page.getByLabel('Download with').selectOption({ label: fetcher });
      return copied(page, /TIDEGATE_TOKEN=/);
    }

    async function copied(page: Page, title: RegExp): Promise<string> {
      await page.getByTitle(title).click();
      return String(await page.evaluate('navigator.clipboard.readText()'));
    }

    /** Pastes a line into a root shell of the tree. */
    const paste = (line: string, shell = 'bash') => runInTree(it().tree.root, [shell, '-c', line]);
    const isInstalled = () => existsSync(path('usr/bin/tidegate-agent'));
    /** A host that the server does not know, and a tree that is as before when the story ends. */
    function newHost(): void {
      newMachine();
      onTestFinished(async () => {
        await paste('apt-get purge -y tidegate-agent; rm -rf /etc/tidegate /var/lib/tidegate-*');
        expect([isInstalled(), existsSync(path(CA_PLACE))]).toEqual([false, false]);
      });
    }
    /** A tree has no systemd: this one writes down what it is asked. */
    function standInForSystemd(): void {
      mkdirSync(path('run/systemd/system'), { recursive: true });
      writeFileSync(path('usr/bin/systemctl'), '#!/bin/sh\necho "$@" >>/var/log/systemctl\n', {
        mode: 0o755,
      });
      onTestFinished(() => {
        for (const name of ['run/systemd', 'usr/bin/systemctl', 'var/log/systemctl'])
          rmSync(path(name), { recursive: true, force: true });
      });
    }
    const newMachine = () => writeFileSync(path('etc/machine-id'), `${randomUUID().replaceAll('-', '')}\n`);

    test.each([
      ['Debian, with curl in bash', 'Debian, Ubuntu', 'curl', 'bash'],
      ['Debian, with wget in dash', 'Debian, Ubuntu', 'wget', 'dash'],
      ['a Debian tree with dnf and its own rpm database', 'Fedora, Alma, RHEL', 'curl', 'bash'],
      ['a Debian tree from the archive, with curl', 'Another Linux', 'curl', 'dash'],
    ])(
      'joins and checks in, and its removal line leaves nothing: %s',
      async (_, system, fetcher, shell) => {
        newMachine();
        const page = await newToken();
        const line = await lineOn(page, system, fetcher);
        const isArchive = system === 'Another Linux';
        if (isArchive) standInForSystemd();
        expect(await paste(line, shell)).toMatch(
          /server-ca\.pem: OK[\s\S]*x64\S+: OK[\s\S]*ok {3}certificate: trusted[\s\S]*enrolled as agent/,
        );
        const agent = startUnit({ tree: it().tree.root, unit: 'tidegate-agent.service', args: ['--once'] });
        expect(await agent.ended).toEqual({ code: 0, signal: null });
        await page
          .getByRole('status')
          .getByText(/connected/)
          .waitFor();
        if (isArchive) {
          expect(await paste(`${DOCTOR} 2>&1 || true`)).toMatch(/versions of the agent: \S+ is in use/);
          expect(readFileSync(path('var/log/systemctl'), 'utf8')).toMatch(
            /^daemon-reload\nenable --now tidegate-agent\.service .*\nrestart tidegate-agent\n$/,
          );
        }
        if (system === 'Debian, Ubuntu') await inspect(page, `one-line-${fetcher}`);
        await page.getByText('Containers, hosts without systemd').click();
        await page.getByText(DOCTOR).waitFor();
        await paste(await copied(page, /server-ca\.pem$/), shell);
        expect([
          isInstalled(),
          existsSync(path(CA_PLACE)),
          existsSync(path('var/lib/tidegate-agent')),
          existsSync(path('usr/lib/tidegate-agent')),
        ]).toEqual([false, false, false, false]);
      },
      STORY_MAX_MS,
    );

    test(
      'an Ubuntu by its name (a Debian tree with os-release of Ubuntu) joins as one',
      async () => {
        newHost();
        const release = path('usr/lib/os-release');
        const before = readFileSync(release, 'utf8');
        onTestFinished(() => writeFileSync(release, before));
        writeFileSync(
          release,
          'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 LTS"\n',
        );
        const page = await newToken();
        await paste(await lineOn(page));
        const answer = await page.request.get('/api/v1/agents?limit=200');
        expect(JSON.stringify(await answer.json())).toContain('"id":"ubuntu"');
      },
      STORY_MAX_MS,
    );

    test(
      'joins through the proxy that HTTPS_PROXY names, which alone knows the server',
      async () => {
        newHost();
        const port = Number(new URL(it().server.url).port);
        const proxy = await startConnectProxy({ hosts: { 'tidegate.test': port } });
        onTestFinished(proxy.stop);
        const line = (await lineOn(await newToken())).replaceAll(it().server.url, 'https://tidegate.test');
        const said = await runInTree(it().tree.root, ['bash', '-c', line], { HTTPS_PROXY: proxy.url });
        expect(said).toMatch(/ok {3}proxy: tidegate\.test is reached through [\s\S]*enrolled as agent/);
        expect(said).toContain('The unit of the agent needs HTTPS_PROXY as well');
        expect(new Set(proxy.seen.map(({ target }) => target))).toEqual(new Set(['tidegate.test:443']));
      },
      STORY_MAX_MS,
    );

    test(
      'pasted again it says that the host is enrolled; a used token joins no other host',
      async () => {
        newHost();
        const line = await lineOn(await newToken());
        await paste(line);
        await expect(paste(line)).rejects.toThrow(/config\.json exists: this host is enrolled/);
        rmSync(path('var/lib/tidegate-agent'), { recursive: true });
        newMachine();
        await expect(paste(line)).rejects.toThrow(/the registration token is wrong, used up or expired/);
      },
      STORY_MAX_MS,
    );

    test(
      'a container is told what it needs before the token is used, and joins with it',
      async () => {
        newHost();
        const sign = path('.dockerenv');
        onTestFinished(() => rmSync(sign, { force: true }));
        writeFileSync(sign, '');
        const line = await lineOn(await newToken());
        await expect(paste(line)).rejects.toThrow(
          /FAIL machine id: this is a container .*--machine-id-source/,
        );
        const own = line.replaceAll(' --server ', ' --machine-id-source machine-id --server ');
        expect(await paste(own)).toMatch(/warn container: [\s\S]*enrolled as agent/);
      },
      STORY_MAX_MS,
    );

    test(
      'one changed byte of the package in the folder: the server does not give it out',
      async () => {
        newHost();
        const { agents } = it();
        const line = await lineOn(await newToken());
        const deb = join(agents, 'tidegate-agent_0.2.0_linux-x64.deb');
        cpSync(deb, `${deb}.whole`);
        onTestFinished(() => {
          cpSync(`${deb}.whole`, deb);
          rmSync(`${deb}.whole`);
        });
        const bytes = readFileSync(deb);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        writeFileSync(deb, bytes);
        await expect(paste(line)).rejects.toThrow(/error: 503/);
        expect(isInstalled()).toBe(false);
        await it().server.line(/software for agents is not offered/);
        const page = await newToken();
        await page.getByText(/linux-x64\.deb is not offered: its SHA-256/).waitFor();
      },
      STORY_MAX_MS,
    );

    /** Every story logs in. */
    async function liftLimitsOf({ url }: ServerProcess): Promise<void> {
      const api = await openRequests.newContext({ baseURL: url, ignoreHTTPSErrors: true });
      const { token } = await (await api.post('/api/v1/auth/login', { data: OPERATOR })).json();
      const headers = { authorization: `Bearer ${token}` };
      await liftLimits({
        call: async (method, path, body) => {
          const answer = await api.fetch(path, {
            method,
            headers,
            ...(body === undefined ? {} : { data: body }),
          });
          return { status: answer.status(), body: await answer.json() };
        },
      });
      await api.dispose();
    }

    /** Between host and server, with a certificate of `authority`, changing what `tamper` changes. */
    async function meddle(
      authority: TestAuthority,
      tamper: (path: string, body: Buffer) => Buffer,
    ): Promise<string> {
      const { server, authority: own } = it();
      const front = await listenWithTls(await authority.issue(NAMES, MONTHS), (asked, answer) => {
        const onward = request(`${server.url}${asked.url}`, { ca: own.cert }, async (response) => {
          const body = tamper(asked.url ?? '', await buffer(response));
          answer.writeHead(response.statusCode ?? 502, { 'content-length': body.length }).end(body);
        });
        onward.end();
      });
      onTestFinished(front.stop);
      return `https://127.0.0.1:${front.port}`;
    }

    test(
      'one changed byte on the way: the line stops at its own hash',
      async () => {
        newHost();
        const between = await meddle(it().authority, (asked, body) => {
          if (asked.endsWith('.deb')) body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1;
          return body;
        });
        const line = (await lineOn(await newToken())).replaceAll(it().server.url, between);
        await expect(paste(line)).rejects.toThrow(/x64\.deb: FAILED/);
        expect([isInstalled(), existsSync(path(CA_PLACE))]).toEqual([false, false]);
      },
      STORY_MAX_MS,
    );

    test.each(['curl', 'wget'])(
      'another CA on the way: the line stops at its fingerprint, and %s at a certificate of it',
      async (fetcher) => {
        newHost();
        const foreign = await createAuthority('somebody else');
        const lies = await meddle(foreign, (asked, body) =>
          asked === '/server-ca.pem' ? Buffer.from(`${foreign.cert}\n`) : body,
        );
        const line = await lineOn(await newToken(), 'Debian, Ubuntu', fetcher);
        await expect(paste(line.replaceAll(it().server.url, lies))).rejects.toThrow(/server-ca\.pem: FAILED/);
        const passes = await meddle(foreign, (_, body) => body);
        await expect(paste(line.replaceAll(it().server.url, passes))).rejects.toThrow(/certificate/i);
        expect([isInstalled(), existsSync(path(CA_PLACE))]).toEqual([false, false]);
      },
      STORY_MAX_MS,
    );
  },
);
