import { createHash } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { findNativeLibrary } from '../../apps/shell/src/webview/native-library.ts';
import { webviewMissing } from './shell-stage.ts';

const FILE = '@webviewjs/webview-linux-x64-gnu/webview.linux-x64-gnu.node';
const missing = webviewMissing();
const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');

test.skipIf(missing !== null)(
  `with an older glibc the webview library is a copy that differs in one byte, replaced if it was changed${missing ? ` (${missing})` : ''}`,
  () => {
    using folder = tmpDir();
    const system = { platform: 'linux', arch: 'x64', glibc: '2.36', cacheFolder: folder.path };
    const place = createRequire(import.meta.url).resolve(FILE);
    const original = readFileSync(place);
    const first = findNativeLibrary(system);
    if (first.kind !== 'copy') throw new Error(first.kind);
    const copy = readFileSync(first.path);
    expect([...copy.keys()].filter((at) => copy[at] !== original[at])).toEqual([15_980]);
    const right = sha256(first.path);
    chmodSync(first.path, 0o700);
    writeFileSync(first.path, 'something else');
    expect(findNativeLibrary(system)).toEqual(first);
    expect(sha256(first.path)).toBe(right);
    expect(readFileSync(place).equals(original)).toBe(true);
  },
);
