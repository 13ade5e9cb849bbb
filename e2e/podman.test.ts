import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { freePort } from '@tidegate/testkit/free-port';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installDebootstrap, makeDebianTree } from '../scripts/debian-tree.ts';
import { becomeFirstOperator, FIRST_OPERATOR, post } from './harness/first-operator.ts';
import { lackingForPodman, podmanIn } from './harness/podman.ts';
import { readmeCommand } from './harness/readme.ts';
import { runCommands } from './harness/runbook.ts';
import { type BuiltImage, buildImage, lackingForImage } from './harness/server-image.ts';

const CONTAINER = fileURLToPath(new URL('../packaging/container', import.meta.url));
const BUILD_MAX_MS = 300_000;
/** What the Containerfile builds on. No registry of images is needed to have it: it is a Debian tree. */
const BASE = { suite: 'trixie', image: 'debian:13-slim' };
const PORT = '127.0.0.1:8080:8080';
const missing = lackingForImage() ?? lackingForPodman();

describe.skipIf(missing !== null)(
  `in Podman${missing === null ? '' : ` (${missing})`}, by the commands of packaging/container`,
  () => {
    const folder = tmpDir('tidegate-podman-');
    const readme = readFileSync(join(CONTAINER, 'README.md'), 'utf8');
    let built: BuiltImage;
    let env: Record<string, string>;
    let url = '';

    beforeAll(async () => {
      built = await buildImage({}, ['tar.gz']);
      env = podmanIn(folder.path);
      copyFileSync(built.archive, join(folder.path, basename(built.archive)));
      const port = await freePort();
      url = `http://localhost:${port}`;
      const compose = readFileSync(join(CONTAINER, 'compose.yaml'), 'utf8');
      expect(compose).toContain(PORT);
      const moved = compose
        .replace(PORT, `127.0.0.1:${port}:8080`)
        .replaceAll('localhost:8080', `localhost:${port}`);
      writeFileSync(join(folder.path, 'compose.yaml'), moved);
    }, BUILD_MAX_MS);

    afterAll(async () => {
      if (env !== undefined) await run('podman compose down --volumes; podman system reset --force');
      built?.remove();
      folder.remove();
    });

    test('it is loaded, started, and has a first operator', async () => {
      expect(blockOf('Try it')[0]).toBe(readmeCommand('podman load'));
      for (const line of blockOf('Try it').slice(0, 2)) await run(line);
      const log = blockOf('Try it')[2] ?? '';
      const line = async (pattern: RegExp): Promise<string> => {
        const found = () =>
          run(log).then((text) =>
            stripVTControlCharacters(text)
              .split('\n')
              .find((each) => pattern.test(each)),
          );
        await expect.poll(found).toBeDefined();
        return (await found()) ?? '';
      };
      const { login } = await becomeFirstOperator({ line });
      expect(login.operator.role).toBe('admin');
    });

    test('has no rights, and writes nowhere but to its volume', async () => {
      const status = await run(
        'podman compose exec tidegate /usr/lib/tidegate/bin/node -p \'require("fs").readFileSync("/proc/1/status", "utf8")\'',
      );
      expect(status).toMatch(/^Uid:\s+65532\s/m);
      expect(status).toMatch(/^CapBnd:\s+0{16}$/m);
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
      const writing =
        'podman compose exec tidegate /usr/lib/tidegate/bin/node -e \'require("fs").writeFileSync("/usr/x", "")\'';
      await expect(run(writing)).rejects.toThrow('EROFS');
    });

    test('doctor, backup and restore work beside it, and the volume outlives the containers', async () => {
      const lines = blockOf('Commands, backups, upgrades');
      expect(lines).toHaveLength(4);
      for (const line of lines) await run(line);
      expect(existsSync(join(folder.path, 'tidegate.backup'))).toBe(true);
      await run('podman compose down');
      await run('podman compose up --detach');
      await expect.poll(() => statusOf(`${url}/api/health`)).toBe(200);
      expect((await post(`${url}/api/v1/auth/login`, FIRST_OPERATOR)).status).toBe(200);
    });

    test('the Containerfile builds the same server on Debian, with a health check', {
      timeout: BUILD_MAX_MS,
    }, async () => {
      await installDebootstrap();
      const { root } = await makeDebianTree(folder.path, BASE.suite);
      await run(`tar -C ${root} -c . | podman import - docker.io/library/${BASE.image}`);
      const file = join(CONTAINER, 'Containerfile');
      const text = readFileSync(file, 'utf8');
      expect(text).toContain(`\nFROM ${BASE.image}\n`);
      const command = /^# +(podman build .*)$/m.exec(text)?.[1] ?? '';
      const here = command.replace(
        '--file Containerfile FOLDER',
        `--network host --file ${file} ${built.folder}`,
      );
      await run(here.replaceAll(`:${built.version}`, ':built'));
      const settings = '--env SERVICE_ALLOW_PLAIN_HTTP=true --env SERVICE_BASE_URL=http://localhost:8080';
      await run(
        `podman run --detach --name built --read-only --cap-drop ALL ${settings} localhost/tidegate:built`,
      );
      await expect
        .poll(() => run('podman healthcheck run built').then(() => 'healthy', String))
        .toBe('healthy');
      await run('podman rm --force built');
    });

    /** The commands of the first block below a heading of the README. */
    function blockOf(heading: string): string[] {
      const [, section = ''] = readme.split(`## ${heading}\n`);
      return (/```\n(.*?)```/s.exec(section)?.[1] ?? '').trimEnd().split('\n');
    }

    async function run(line: string): Promise<string> {
      const { code, stdout, stderr } = await runCommands(line, { env, cwd: folder.path });
      if (code !== 0) throw new Error(`${line} ended with ${code}: ${stdout}\n${stderr}`);
      return stdout;
    }
  },
);

/** The status of the answer, or 0 while nobody answers. */
function statusOf(url: string): Promise<number> {
  return fetch(url).then(
    ({ status }) => status,
    () => 0,
  );
}
