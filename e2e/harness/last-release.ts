import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tmpDir } from '@tidegate/testkit/tmp';
import { cachedFolder } from '../../scripts/release/cached-folder.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** The last release: what hosts and databases have when this version is installed. Each release writes its own commit here. */
const LAST_RELEASE = { version: '0.1.0', commit: '62172a2075b87d74f712f69a449757a4ff6fe362' } as const;

/** The programs of a release, as its packages install them. */
export interface Release {
  readonly version: string;
  /** Program and first arguments of the server. */
  readonly server: readonly [string, ...string[]];
  readonly agent: string;
  /** Its packages for Debian. */
  readonly packages: readonly string[];
}

const PRODUCTS = ['tidegate', 'tidegate-agent'] as const;

/** The programs of the last release, built from its commit by its own `npm run release`, once. Throws with what the build printed. */
export function buildLastRelease(): Release {
  const { version, commit } = LAST_RELEASE;
  const folder = cachedFolder(
    join(REPOSITORY, 'node_modules/.cache/tidegate-release/releases', commit),
    (work) => {
      // Not in the cache: Node runs no TypeScript below node_modules.
      const built = tmpDir('tidegate-last-release-');
      try {
        const source = join(built.path, 'source');
        const release = join(built.path, 'release');
        mkdirSync(source);
        const git = (...args: string[]) => execFileSync('git', args, { cwd: REPOSITORY, maxBuffer: 1 << 30 });
        execFileSync('tar', ['-x', '-C', source], { input: git('archive', '--format=tar', commit) });
        // Else npm would install into the folder of the npm that runs the tests.
        const { npm_config_local_prefix: _, ...env } = process.env;
        execFileSync('npm', ['ci'], { cwd: source, env, stdio: 'pipe' });
        const time = git('log', '-1', '--format=%ct', commit).toString().trim();
        const options = ['--fast', '--target', 'linux-x64', '--format', 'deb', '--out', release];
        execFileSync(process.execPath, ['scripts/release.ts', ...options], {
          cwd: source,
          env: { ...env, SOURCE_DATE_EPOCH: time },
          stdio: 'pipe',
        });
        const made = join(work, 'made');
        mkdirSync(made);
        for (const name of PRODUCTS) {
          const file = join(made, packageOf(name));
          copyFileSync(join(release, packageOf(name)), file);
          execFileSync('dpkg-deb', ['--extract', file, made]);
        }
        return made;
      } finally {
        built.remove();
      }
    },
  );
  const program = join(folder, 'usr/lib/tidegate');
  return {
    version,
    server: [join(program, 'bin/node'), join(program, 'server/main.js')],
    agent: join(folder, 'usr/bin/tidegate-agent'),
    packages: PRODUCTS.map((name) => join(folder, packageOf(name))),
  };

  function packageOf(name: string): string {
    return `${name}_${version}_linux-x64.deb`;
  }
}
