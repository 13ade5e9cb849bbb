import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PackageFolder, readInstalled } from './installed.ts';
import { parseHtmlPage, parseJsonPage } from './parse-index-page.ts';
import { parseMetadata } from './parse-metadata.ts';
import { parseReport } from './parse-report.ts';

const SHA = 'a'.repeat(64);
const SOURCE = { project: 'demo', url: 'https://index.example/simple/demo/' };

describe('METADATA', () => {
  test('gives name, version and requirements, folded lines put together', () => {
    const text =
      'Metadata-Version: 2.1\r\nName: Demo.App\r\nVersion: 1.0\r\nRequires-Dist: a>=1\r\n  ; python_version > "3"\r\nProvides-Extra: more\r\n\r\nName: other\r\n';
    expect(parseMetadata(text)).toEqual({
      ok: true,
      value: {
        name: 'demo-app',
        version: '1.0',
        requires: ['a>=1 ; python_version > "3"'],
        extras: ['more'],
      },
    });
  });

  test.each([
    ['nothing', ''],
    ['no name', 'Version: 1.0\n'],
    ['two names', 'Name: a\nName: b\nVersion: 1.0\n'],
    ['two versions', 'Name: a\nVersion: 1.0\nVersion: 2.0\n'],
    ['a name that is a path', 'Name: ../../etc\nVersion: 1.0\n'],
    ['a version that is a path', 'Name: a\nVersion: 1/../../x\n'],
    ['a version that is an option', 'Name: a\nVersion: --index-url\n'],
    ['a name in the body', 'X: y\n\nName: a\nVersion: 1.0\n'],
    ['bytes', '\u0000\u0001\ufffd'],
    ['too many requirements', `Name: a\nVersion: 1\n${'Requires-Dist: b\n'.repeat(2_001)}`],
    ['a requirement without end', `Name: a\nVersion: 1\nRequires-Dist: ${'b'.repeat(2_001)}\n`],
  ])('with %s is refused', (_what, text) => expect(parseMetadata(text).ok).toBe(false));

  test('named like a member of every object is a name like others', () => {
    const read = parseMetadata('Name: constructor\nVersion: 1.0\n__proto__: x\n');
    expect(read).toMatchObject({ ok: true, value: { name: 'constructor' } });
  });

  test('never throws, and never lets a line break through', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        const read = parseMetadata(`Name: a\nVersion: 1.0\nRequires-Dist: ${text}`);
        if (read.ok) expect(read.value.requires.join('')).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});

describe('a folder of packages', () => {
  const placeOf = (path: string): PackageFolder => ({ kind: 'environment', path, sitePackages: path });
  function addInfo(folder: string, name: string, metadata: string | null): string {
    const info = join(folder, name);
    mkdirSync(info, { recursive: true });
    if (metadata !== null) writeFileSync(join(info, 'METADATA'), metadata);
    writeFileSync(join(info, 'RECORD'), '');
    return info;
  }
  const GOOD = 'Name: good\nVersion: 1.0\n';

  test('of the system may hold one version in both forms, as distributions of Linux ship some', async () => {
    using dir = tmpDir();
    addInfo(dir.path, 'good-1.0.dist-info', `${GOOD}Requires-Dist: other\n`);
    const old = join(dir.path, 'good.egg-info');
    mkdirSync(old);
    writeFileSync(join(old, 'PKG-INFO'), GOOD);
    const ofSystem: PackageFolder = { ...placeOf(dir.path), kind: 'system' };
    expect(await readInstalled(ofSystem)).toMatchObject({
      ...{ distributions: [{ name: 'good', requires: ['other'] }], faults: [] },
    });
    expect((await readInstalled(placeOf(dir.path))).faults).toEqual([`${dir.path} has good twice`]);
    writeFileSync(join(old, 'PKG-INFO'), 'Name: good\nVersion: 0.9\n');
    expect((await readInstalled(ofSystem)).faults).toEqual([`${dir.path} has good twice`]);
  });

  test.each<[string, (folder: string) => void, RegExp]>([
    [
      'without its words',
      (folder) => addInfo(folder, 'a-1.dist-info', null),
      /METADATA cannot be read \(ENOENT\)/,
    ],
    ['with garbage', (folder) => addInfo(folder, 'a-1.dist-info', '\u0000'), /METADATA has no usable name/],
    [
      'whose words are a link',
      (folder) => symlinkSync('/etc/passwd', join(addInfo(folder, 'a-1.dist-info', null), 'METADATA')),
      /METADATA cannot be read \(ELOOP\)/,
    ],
    [
      'whose words are without end',
      (folder) => addInfo(folder, 'a-1.dist-info', `Name: a\nVersion: 1\n\n${'x'.repeat(9 * 1024 * 1024)}`),
      /METADATA is over/,
    ],
    [
      'that is there twice',
      (folder) => addInfo(folder, 'Good-2.dist-info', 'Name: Good\nVersion: 2\n'),
      /has good twice/,
    ],
    [
      'that pip left behind',
      (folder) => addInfo(folder, '~ood-1.dist-info', GOOD),
      /is a leftover of an interrupted pip/,
    ],
  ])('with a distribution %s is a fault, and the others are read', async (_what, change, reason) => {
    using dir = tmpDir();
    addInfo(dir.path, 'good-1.0.dist-info', GOOD);
    change(dir.path);
    const { distributions, faults } = await readInstalled(placeOf(dir.path));
    expect(faults).toEqual([expect.stringMatching(reason)]);
    expect(distributions.map(({ name }) => name)).toEqual(['good']);
  });

  test('with a pipe in place of a file does not block the scan', async () => {
    using dir = tmpDir();
    const info = addInfo(dir.path, 'a-1.dist-info', null);
    await runTool('mkfifo', [join(info, 'METADATA')]);
    const { faults } = await readInstalled(placeOf(dir.path));
    expect(faults).toEqual([`${join(info, 'METADATA')} is not a plain file`]);
  });

  test('marks what pip cannot replace: direct URLs and installations in the old format', async () => {
    using dir = tmpDir();
    const direct = addInfo(dir.path, 'direct-1.dist-info', 'Name: direct\nVersion: 1\n');
    writeFileSync(join(direct, 'direct_url.json'), '{"url": "file:///home/ann/src", "__proto__": 1}');
    writeFileSync(join(dir.path, 'old-1.0.egg-info'), 'Name: old\nVersion: 1.0\n');
    mkdirSync(join(dir.path, 'older.egg-info'));
    writeFileSync(join(dir.path, 'older.egg-info/PKG-INFO'), 'Name: older\nVersion: 1.0\n');
    const { distributions } = await readInstalled(placeOf(dir.path));
    expect(distributions.map(({ name, source, directUrl }) => [name, source, directUrl])).toEqual([
      ['direct', 'direct', 'an unreadable address'],
      ['old', 'old_format', null],
      ['older', 'old_format', null],
    ]);
  });
});

describe('a page of an index', () => {
  const file = (changed: object = {}) => ({
    ...{
      filename: 'demo-1.0-py3-none-any.whl',
      url: '../../files/demo-1.0-py3-none-any.whl',
      hashes: { sha256: SHA },
    },
    ...changed,
  });
  const page = (...files: object[]) => parseJsonPage(JSON.stringify({ files }), SOURCE);

  test('in JSON gives URL, hash, size and the limits of a file', () => {
    expect(page(file({ size: 7, yanked: 'broken', 'requires-python': '>=3.8' }))).toEqual({
      ok: true,
      value: [
        {
          ...{ kind: 'wheel', name: 'demo', version: '1.0', filename: 'demo-1.0-py3-none-any.whl' },
          ...{ url: 'https://index.example/files/demo-1.0-py3-none-any.whl', sha256: SHA, sizeBytes: 7 },
          ...{ requiresPython: '>=3.8', yanked: true },
        },
      ],
    });
  });

  test('in HTML says the same', () => {
    const text = `<a class=x data-requires-python="&gt;=3.8" data-yanked="" href="../../files/demo-1.0-py3-none-any.whl#sha256=${SHA}">demo-1.0-py3-none-any.whl</a>`;
    const html = parseHtmlPage(text, SOURCE);
    const json = page(file({ yanked: true, 'requires-python': '>=3.8' }));
    expect(html).toEqual(json);
  });

  test.each([
    ['a script for an address', { url: 'javascript:alert(1)' }],
    ['a file of this host', { url: 'file:///etc/passwd' }],
    ['a path for a name', { filename: '../demo-1.0-py3-none-any.whl' }],
    ['another project', { filename: 'other-1.0-py3-none-any.whl' }],
  ])('leaves out a file with %s', (_what, changed) => {
    expect(page(file(changed))).toEqual({ ok: true, value: [] });
  });

  test.each([
    ['nothing', ''],
    ['a list', '[]'],
    ['garbage', '<h1>Please log in</h1>'],
    ['`__proto__`', '{"files": [], "__proto__": {"x": 1}}'],
    ['a key twice', '{"files": [], "files": []}'],
    ['arrays without end', '['.repeat(100_000)],
    ['a size below nothing', JSON.stringify({ files: [file({ size: -1 })] })],
    ['too many files', JSON.stringify({ files: Array(50_001).fill(file()) })],
  ])('of %s is refused', (_what, text) => expect(parseJsonPage(text, SOURCE).ok).toBe(false));

  test('of something else in HTML is refused', () => {
    expect(parseHtmlPage('<html><form></form></html>', SOURCE).ok).toBe(false);
  });

  test('does not show the password of an address', () => {
    const read = page(file({ url: 'https://user:secret@files.example/demo-1.0-py3-none-any.whl' }));
    expect(JSON.stringify(read)).not.toContain('secret');
  });

  test('never takes long, whatever it is', () => {
    const before = process.threadCpuUsage();
    for (const text of [
      '<a '.repeat(300_000),
      `<a href="${'x'.repeat(1_000_000)}`,
      `<a ${'a-'.repeat(300_000)}>x</a>`,
    ]) {
      parseHtmlPage(text, SOURCE);
    }
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(5_000);
  });
});

describe('the report of pip', () => {
  const item = (changed: object = {}, metadata: object = {}) => ({
    download_info: {
      url: 'https://files.example/demo-1.0-py3-none-any.whl',
      archive_info: { hashes: { sha256: SHA } },
    },
    ...{ is_direct: false, requested: true },
    metadata: { name: 'Demo', version: '1.0', requires_dist: ['a'], ...metadata },
    ...changed,
  });
  const report = (...install: object[]) =>
    parseReport(JSON.stringify({ version: '1', install, environment: {} }));
  const at = (url: string) => item({ download_info: { url, archive_info: {} } });

  test('gives every wheel with its hash', () => {
    expect(report(item())).toEqual({
      ok: true,
      value: [
        {
          ...{
            name: 'demo',
            version: '1.0',
            requires: ['a'],
            extras: [],
            filename: 'demo-1.0-py3-none-any.whl',
          },
          ...{ url: 'https://files.example/demo-1.0-py3-none-any.whl', sha256: SHA },
        },
      ],
    });
  });

  test('of an older pip names the hash otherwise', () => {
    const older = item({
      download_info: {
        url: 'https://files.example/demo-1.0-py3-none-any.whl',
        archive_info: { hash: `sha256=${SHA}` },
      },
    });
    expect(report(older)).toMatchObject({ ok: true, value: [{ sha256: SHA }] });
  });

  test.each<[string, object[]]>([
    ['a direct address', [item({ is_direct: true })]],
    ['a yanked version', [item({ is_yanked: true })]],
    ['a source distribution', [at('https://files.example/demo-1.0.tar.gz')]],
    ['a path in the name of a file', [at('https://files.example/..%2F..%2Fdemo-1.0-py3-none-any.whl')]],
    ['a stray percent sign', [at('https://files.example/demo-1.0-py3-none-any%.whl')]],
    ['the wheel of another project', [at('https://files.example/other-1.0-py3-none-any.whl')]],
    ['the wheel of another version', [at('https://files.example/demo-2.0-py3-none-any.whl')]],
    ['no address', [at('demo')]],
    ['a name that is a path', [item({}, { name: '../demo' })]],
    ['a version that is an option', [item({}, { version: '--pre' })]],
    ['a requirement of two lines', [item({}, { requires_dist: ['a\nName: b'] })]],
    ['a package twice', [item(), item()]],
    ['too many packages', Array(5_001).fill(item())],
  ])('with %s is refused', (_what, install) => expect(report(...install).ok).toBe(false));

  test.each([
    ['nothing', ''],
    ['garbage', 'WARNING: something'],
    ['another version of itself', '{"version": "2", "install": []}'],
    ['`__proto__`', '{"version": "1", "install": [], "__proto__": {}}'],
  ])('of %s is refused', (_what, text) => expect(parseReport(text).ok).toBe(false));
});
