import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserMissing } from '../harness/chromium.ts';
import { page } from './attack-pages.ts';
import { type Screen, screenMissing, startScreen } from './screen.ts';
import { openShellStage, STORY_BACKENDS, webviewMissing } from './shell-stage.ts';

const missing = screenMissing() ?? browserMissing() ?? webviewMissing();
/** Together longer than one message may be, with characters that take the most bytes. */
const LINE = `"\\u0007\ud83c\udf0a, and more"\n`;
const LINES = 40_000;

describe.skipIf(missing !== null)(`files that a page saves${missing ? ` (${missing})` : ''}`, () => {
  let screen: Screen;
  beforeAll(async () => {
    screen = await startScreen();
  });
  afterAll(() => screen?.[Symbol.asyncDispose]());

  test.each(STORY_BACKENDS)('%s: are complete in the downloads folder and nowhere else', async (backend) => {
    const stage = await openShellStage(screen, backend, {
      '/': page(`
        const save = async (as, name, text) => {
          try { tell({ as, path: await saveInDownloads(name, text) }); }
          catch (error) { tell({ as, error: error.message }); }
        };
        (async () => {
          await save('first', 'events.jsonl', ${JSON.stringify(LINE)}.repeat(${LINES}));
          await save('again', 'events.jsonl', '');
          await save('elsewhere', '../events.jsonl', 'x');
        })();
      `),
    });
    await stage.openMain('/');
    const first = join(stage.downloads, 'events.jsonl');
    expect(await stage.report({ as: 'first' })).toEqual({ as: 'first', path: first });
    expect(readFileSync(first, 'utf8')).toBe(LINE.repeat(LINES));
    expect((await stage.report({ as: 'again' })).path).toBe(join(stage.downloads, 'events (1).jsonl'));
    expect((await stage.report({ as: 'elsewhere' })).error).toMatch(/args\/name/);
    expect(readdirSync(stage.downloads).toSorted()).toEqual(['events (1).jsonl', 'events.jsonl']);
  });
});
