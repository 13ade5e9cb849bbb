import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION_PLACES, versionsIn } from './version-places.ts';

const ROOT = join(import.meta.dirname, '..');
const [version = '', ...more] = process.argv.slice(2);

if (!/^\d+\.\d+\.\d+$/.test(version) || more.length > 0) {
  process.stderr.write(
    'Usage: node scripts/set-version.ts VERSION\nWrites the version everywhere; allowed: such as 1.2.3\n',
  );
  process.exitCode = 2;
} else {
  for (const { files, pattern } of VERSION_PLACES) {
    for (const name of globSync(files, { cwd: ROOT })) {
      const file = join(ROOT, name);
      const text = readFileSync(file, 'utf8');
      const places = versionsIn(text, pattern).toReversed();
      const changed = places.reduce(
        (rest, { from, to }) => rest.slice(0, from) + version + rest.slice(to),
        text,
      );
      writeFileSync(file, changed);
    }
  }
  execFileSync('npm', ['install', '--package-lock-only'], { cwd: ROOT, stdio: 'inherit' });
}
