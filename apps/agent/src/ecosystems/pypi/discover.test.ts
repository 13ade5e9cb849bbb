import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { USUAL_PLACES } from '../host-places.ts';
import { discoverPlaces, PLACES_MAX } from './discover.ts';
import { findPlaces, readEnvironment } from './places.ts';
import { scanPypi } from './scan.ts';

const asRoot = process.getuid?.() === 0;
const CONFIGURATION = 'home = /usr/bin\nversion = 3.11.2\n';

/** The files of an environment; reading one needs no Python. */
function addEnvironment(path: string, configuration = CONFIGURATION): string {
  mkdirSync(join(path, 'lib/python3.11/site-packages'), { recursive: true });
  writeFileSync(join(path, 'pyvenv.cfg'), configuration);
  return path;
}

describe('the places of a host', () => {
  test('are the environments in the usual folders up to a depth, and users’ own packages', async () => {
    using root = tmpDir();
    const found = [
      ...['opt/app', 'opt/one/two/three', 'srv/web/venv', 'var/lib/service/.venv', 'home/ann/.venv'],
      ...[
        'home/ann/work/venv',
        'home/ann/.virtualenvs/a',
        'home/ann/venvs/b',
        'home/bob/.local/share/pipx/venvs/black',
      ],
    ].map((path) => addEnvironment(join(root.path, path)));
    for (const path of [
      'opt/1/2/3/4',
      'home/ann/x/y/z',
      'usr/lib/venv',
      'var/lib/docker/venv',
      'opt/node_modules/v',
    ]) {
      addEnvironment(join(root.path, path));
    }
    addEnvironment(join(root.path, 'opt/app/nested/env')); // of the environment around it
    const own = join(root.path, 'home/ann/.local/lib/python3.11/site-packages');
    mkdirSync(own, { recursive: true });
    mkdirSync(join(root.path, 'home/ann/.local/lib/node'), { recursive: true });
    const discovery = await discoverPlaces(root.path);
    expect(discovery.environments.sort()).toEqual(found.sort());
    expect(discovery).toMatchObject({ userFolders: [own], faults: [], unseen: [] });
    const { places, faults } = await findPlaces(USUAL_PLACES, discovery);
    expect(faults).toEqual([]);
    expect(places.map(({ kind }) => kind).filter((kind) => kind === 'user')).toHaveLength(1);
    expect(places).toHaveLength(found.length + 1);
  });

  test('are not searched through links', async () => {
    using root = tmpDir();
    const away = addEnvironment(join(root.path, 'away'));
    mkdirSync(join(root.path, 'opt'));
    symlinkSync(away, join(root.path, 'opt/linked'));
    symlinkSync('/', join(root.path, 'srv'));
    expect(await discoverPlaces(root.path)).toMatchObject({
      environments: [],
      unseen: [join(root.path, 'srv')],
    });
    expect(await readEnvironment(join(root.path, 'opt/linked'))).toEqual({
      ok: false,
      reason: `${root.path}/opt/linked is reached through a link; its own path is ${away}`,
    });
  });

  test('past a limit are a fault, so that the scan is incomplete', async () => {
    using root = tmpDir();
    for (let at = 0; at <= PLACES_MAX; at += 1) addEnvironment(join(root.path, `opt/env-${at}`));
    const { environments, faults } = await discoverPlaces(root.path);
    expect(environments).toHaveLength(PLACES_MAX);
    expect(faults).toEqual([`there are over ${PLACES_MAX} places with Python packages`]);
  });

  test('in folders past a limit are reported as unseen', async () => {
    using root = tmpDir();
    for (const name of ['a', 'b', 'c', 'd']) mkdirSync(join(root.path, 'opt', name), { recursive: true });
    const { unseen } = await discoverPlaces(root.path, { foldersMax: 3 });
    expect(unseen).toEqual(['folders after the first 3']);
  });

  test.runIf(asRoot)(
    'in unreadable folders are reported as unseen, except for private folders of other services and users',
    async () => {
      using root = tmpDir();
      await chmod(root.path, 0o755);
      for (const path of ['opt/closed', 'home/ann', 'var/lib/private']) {
        mkdirSync(join(root.path, path), { recursive: true });
        await chmod(join(root.path, path), 0o700);
        await chmod(join(root.path, dirname(path)), 0o755);
      }
      const module = fileURLToPath(new URL('./discover.ts', import.meta.url));
      const program = `import(${JSON.stringify(module)}).then(async ({ discoverPlaces }) =>
      console.log(JSON.stringify((await discoverPlaces(${JSON.stringify(root.path)})).unseen)))`;
      const said = await runTool(process.execPath, ['-e', program], { owner: { uid: 65_534, gid: 65_534 } });
      expect(JSON.parse(said)).toEqual([join(root.path, 'opt/closed')]);
    },
  );

  test.each([
    ['', /does not name its Python version/],
    ['version = three\n', /does not name its Python version/],
    ['version = 3.99.1\n', /does not hold the packages of Python 3\.99/],
    [`version = 3.11\n${'#'.repeat(70_000)}`, /is over 65536 bytes/],
  ])('with a configuration %j are a fault that names them', async (configuration, reason) => {
    using root = tmpDir();
    const path = addEnvironment(join(root.path, 'opt/app'), configuration);
    const found = await findPlaces(USUAL_PLACES, await discoverPlaces(root.path));
    expect(found.places).toEqual([]);
    expect(found.faults).toEqual([expect.stringMatching(reason)]);
    expect(found.faults[0]).toContain(path);
    expect(await scanPypi(USUAL_PLACES, found)).toMatchObject({ complete: false, packages: [] });
  });

  test.each([
    ['virtualenv', 'home = /usr/bin\nimplementation = CPython\nversion_info = 3.11.2.final.0\n', false],
    ['uv', 'home = /usr/bin\nimplementation = CPython\nuv = 0.9.0\nversion_info = 3.11.2\n', false],
    ['venv', 'home = /usr/bin\ninclude-system-site-packages = True\nversion = 3.11.2\n', true],
  ])('are read as %s made them', async (_tool, configuration, usesSystemPackages) => {
    using root = tmpDir();
    const place = await readEnvironment(addEnvironment(join(root.path, 'env'), configuration));
    expect(place).toMatchObject({ ok: true, value: { pythonVersion: '3.11.2', usesSystemPackages } });
  });
});
