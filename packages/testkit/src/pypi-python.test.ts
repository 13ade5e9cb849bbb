import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pypiHostMissing } from './pypi-host.ts';
import { PYPI_DEMO } from './pypi-packages.ts';
import { createPypiPython } from './pypi-python.ts';
import { runTool } from './run-tool.ts';
import { tmpDir } from './tmp.ts';

const missing = pypiHostMissing();

test.skipIf(missing !== null)(
  `a throw-away interpreter has a system and users of its own, and nobody manages it (${missing ?? 'real'})`,
  async () => {
    using dir = tmpDir('tidegate-python-');
    await chmod(dir.path, 0o755);
    const made = await createPypiPython(join(dir.path, 'usr'));
    const [lib, app] = PYPI_DEMO.old;
    await made.installSystem(lib);
    const user = await made.createUser(join(dir.path, 'home/ann'), { installed: [app] });
    expect(await made.systemInstalled()).toEqual({ 'demo-lib': '1.0' });
    expect(await user.installed()).toEqual({ 'demo-app': '1.0' });
    const env = { PYTHONUSERBASE: join(user.home, '.local') };
    const say =
      'import demo_app, demo_lib, sysconfig; print(demo_lib.__file__, sysconfig.get_path("stdlib"))';
    const [from = '', stdlib = ''] = (await runTool(made.python, ['-c', say], { env })).trim().split(' ');
    expect(from).toBe(join(made.systemPackages, 'demo_lib.py'));
    expect(stdlib.startsWith(dir.path)).toBe(true);
    expect(existsSync(join(stdlib, 'EXTERNALLY-MANAGED'))).toBe(false);
  },
);
