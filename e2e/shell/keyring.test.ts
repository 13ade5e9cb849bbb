import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { startChild } from '../harness/child.ts';

const MAIN = join(import.meta.dirname, '../../apps/shell/src/main.ts');
const TOKEN = `tg_${'a'.repeat(43)}`;
const missing = ['/usr/bin/dbus-run-session', '/usr/bin/gnome-keyring-daemon'].every((path) =>
  existsSync(path),
)
  ? null
  : 'dbus-run-session or gnome-keyring-daemon is missing (Debian packages dbus-x11, gnome-keyring)';

/** Starts the shell without a display, so that it ends after it has stored the token. */
function startShell(home: string, command: string) {
  const args = `--server http://127.0.0.1:9 --backend chromium`;
  return startChild('/bin/bash', ['-c', command.replaceAll('SHELL', `${process.execPath} ${MAIN} ${args}`)], {
    env: { PATH: SYSTEM_PATH, HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), LANG: 'C.UTF-8' },
  });
}

describe('the session is stored', () => {
  test.skipIf(missing !== null)(
    `in the keyring, if there is one${missing ? ` (${missing})` : ''}`,
    async () => {
      using home = tmpDir('tidegate-keyring-');
      for (const folder of ['run', '.local/share/keyrings'])
        mkdirSync(join(home.path, folder), { recursive: true, mode: 0o700 });
      const inside = `
      printf 'a password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
      echo ${TOKEN} | SHELL --token -
      echo "in the clear: $(grep -rl ${TOKEN} "$HOME" | wc -l)"
      SHELL --forget && echo forgotten`;
      const child = startShell(home.path, `dbus-run-session -- bash -c '${inside.replaceAll("'", `'"'"'`)}'`);
      await child.ended;
      const said = [...child.stdout, ...child.stderr].join('\n');
      expect(said).toContain('sessions are kept in="the keyring of the system"');
      expect(said).toContain('There is no display: DISPLAY and WAYLAND_DISPLAY are not set.');
      expect(said).toContain('in the clear: 0');
      expect(said).toContain('forgotten');
      expect(existsSync(join(home.path, '.local/share/tidegate-shell/sessions.json'))).toBe(false);
    },
  );

  test('in a file of mode 0600 otherwise', async () => {
    using home = tmpDir('tidegate-keyring-');
    const file = join(home.path, '.local/share/tidegate-shell/sessions.json');
    const child = startShell(home.path, `echo ${TOKEN} | SHELL --token -; stat -c 'mode %a' ${file}`);
    await child.ended;
    const said = [...child.stdout, ...child.stderr].join('\n');
    expect(said).toContain(`sessions are kept in=${file}`);
    expect(said).toContain('mode 600');
    expect(said).not.toContain(TOKEN);
  });
});
