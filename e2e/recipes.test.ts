import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool, runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { openAutomation } from './harness/automation.ts';
import { readRunbook } from './harness/runbook.ts';

const RECIPES = fileURLToPath(new URL('../docs/recipes.md', import.meta.url));

test.skipIf(findTool('jq') === null || findTool('curl') === null)(
  'each recipe of the API runs as it is written, and prints what it says',
  async () => {
    const folder = tmpDir('tidegate-recipes-');
    onTestFinished(() => folder.remove());
    const { server, token } = await openAutomation(join(folder.path, 'data'));
    const tokenFile = join(folder.path, 'token');
    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
    const [prepare, ...recipes] = readRunbook(RECIPES);
    expect(recipes.length).toBeGreaterThan(5);
    for (const { title, commands, shown } of recipes) {
      const script = [...(prepare?.commands ?? []), ...commands].join('\n');
      const said = await runTool('dash', ['-eu', '-c', script], {
        cwd: folder.path,
        env: { TIDEGATE_SERVER: server.url, TIDEGATE_TOKEN_FILE: tokenFile },
      });
      expect([title, said.trim()]).toEqual([title, shown.join('\n').trim()]);
    }
  },
);
