import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isName, isPreRelease, isVersion, normaliseName, parseFilename } from './names-rules.ts';
import { findNewer, isSourceOnly } from './newest-rules.ts';
import type { IndexFile } from './parse-index-page.ts';
import { allowsPython } from './requires-python-rules.ts';
import { isFileOf } from './wheel-rules.ts';

describe('names and versions', () => {
  test.each([
    ['demo', true],
    ['Zope.Interface_x-1', true],
    ['a', true],
    ['', false],
    ['-demo', false],
    ['demo-', false],
    ['../demo', false],
    ['demo/x', false],
    ['demo\n', false],
    ['dé', false],
    [`a${'-'.repeat(300)}a`, false],
  ])('%j as a name: %s', (name, expected) => expect(isName(name)).toBe(expected));

  test.each([
    ['1.0', true],
    ['1!2.0rc1.post1.dev2+local.1', true],
    ['', false],
    ['--hash=x', false],
    ['1.0 --index-url=x', false],
    ['1/0', false],
    ['1'.repeat(200), false],
  ])('%j as a version: %s', (version, expected) => expect(isVersion(version)).toBe(expected));

  test('are compared in one spelling (PEP 503)', () => {
    expect(normaliseName('Zope.-_Interface')).toBe('zope-interface');
  });

  test.each([
    ['1.0', false],
    ['1.0.post1', false],
    ['2024.1+build.dev', false],
    ['1.0a1', true],
    ['1.0.b2', true],
    ['1.0-rc', true],
    ['1.0.dev3', true],
    ['1.0.post1.dev2', true],
    ['1!1.0c1', true],
    ['1.0-preview-1', true],
  ])('%s is a pre-release: %s', (version, expected) => expect(isPreRelease(version)).toBe(expected));
});

describe('the name of a file', () => {
  test.each([
    ['demo_lib-1.1-py3-none-any.whl', 'demo-lib', { kind: 'wheel', name: 'demo-lib', version: '1.1' }],
    [
      'demo_lib-1.1-1-cp311-cp311-linux_x86_64.whl',
      'demo-lib',
      { kind: 'wheel', name: 'demo-lib', version: '1.1' },
    ],
    ['demo-lib-1.1.tar.gz', 'Demo.Lib', { kind: 'sdist', name: 'demo-lib', version: '1.1' }],
    [
      'demo_lib-1.1+local.1-py3-none-any.whl',
      'demo-lib',
      { kind: 'wheel', name: 'demo-lib', version: '1.1+local.1' },
    ],
    ['other-1.1-py3-none-any.whl', 'demo-lib', null],
    ['../demo_lib-1.1-py3-none-any.whl', 'demo-lib', null],
    ['demo_lib-1.1-py3-none-any.whl/..', 'demo-lib', null],
    ['demo_lib-1.1-py3-none-any.whl\u0000', 'demo-lib', null],
    ['demo_lib-latest-py3-none-any.whl', 'demo-lib', null],
    ['demo_lib-1.1.exe', 'demo-lib', null],
    ['demo_lib-1.1.egg', 'demo-lib', null],
    [`demo_lib-1.1-py3-none-${'a'.repeat(500)}.whl`, 'demo-lib', null],
  ])('%j of %s', (filename, project, expected) => expect(parseFilename(filename, project)).toEqual(expected));

  test('is never a path, whatever it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const filename of [text, `${text}demo-1.0-py3-none-any.whl`, `demo-1.0-${text}-none-any.whl`]) {
          const named = parseFilename(filename, 'demo');
          if (named !== null) expect(filename).toMatch(/^[A-Za-z0-9][A-Za-z0-9._!+-]*$/);
        }
      }),
    );
  });
});

describe('Requires-Python', () => {
  test.each([
    ['>=3.8', '3.11.2', true],
    ['>=3.12', '3.11.2', false],
    ['>=3.8,<3.11', '3.11.2', false],
    ['>=3.8,<3.12,!=3.11.2', '3.11.2', false],
    ['!=3.10.*,>=3.8', '3.11.2', true],
    ['==3.11.*', '3.11.2', true],
    ['!=3.11.*', '3.11.2', false],
    ['~=3.8', '3.11.2', true],
    ['~=3.8.1', '3.11.2', false],
    ['>2', '3.11.2', true],
    ['===3.11.2', '3.11.2', true],
    ['<=3.11', '3.11.2', false],
    ['', '3.11.2', true],
    ['a word', '3.11.2', true], // as in pip: the resolver decides
    [Array(50).fill('<3').join(','), '3.11.2', true],
  ])('%j of a Python %s: %s', (specifier, python, expected) => {
    expect(allowsPython(specifier, python)).toBe(expected);
  });
});

describe('the newest version', () => {
  const file = (version: string, changed: Partial<IndexFile> = {}): IndexFile => ({
    ...{
      kind: 'wheel',
      name: 'demo',
      version,
      filename: `demo-${version}-py3-none-any.whl`,
      url: 'http://x/',
    },
    ...{ sha256: null, sizeBytes: null, requiresPython: null, yanked: false },
    ...changed,
  });
  const newest = (files: IndexFile[]) =>
    findNewer(files, { version: '1.9', pythonVersion: '3.11.2' }).at(-1)?.version ?? null;

  test.each([
    ['orders by PEP 440, not by text', [file('1.10'), file('1.9.1')], '1.10'],
    ['is above what is installed', [file('1.9'), file('1.9.0'), file('1.8')], null],
    ['is no pre-release', [file('2.0b1'), file('1.9.1')], '1.9.1'],
    ['is not yanked', [file('2.0', { yanked: true }), file('1.9.1')], '1.9.1'],
    ['is for this Python', [file('2.0', { requiresPython: '>=3.12' }), file('1.9.1')], '1.9.1'],
    ['may be there as a source distribution alone', [file('2.0', { kind: 'sdist' }), file('1.9.1')], '2.0'],
    ['is null of nothing', [], null],
  ])('%s', (_title, files, expected) => expect(newest(files)).toBe(expected));

  test('of a wheel and a source distribution is the wheel', () => {
    const files = [file('2.0', { kind: 'sdist' }), file('2.0'), file('2.0', { kind: 'sdist' })];
    expect(findNewer(files, { version: '1.0', pythonVersion: '3.11.2' }).at(-1)?.kind).toBe('wheel');
    expect(isSourceOnly(files, '2.0')).toBe(false);
    expect(isSourceOnly(files.slice(0, 1), '2.0.0')).toBe(true);
    expect(isSourceOnly(files, '3.0')).toBe(false);
  });
});

describe('the file of an installed wheel', () => {
  const wheelOf = (tags: readonly string[], more = '') =>
    `Wheel-Version: 1.0\nGenerator: bdist\n${more}${tags.map((tag) => `Tag: ${tag}\n`).join('')}`;
  const PURE = wheelOf(['py3-none-any']);
  const LINUX = wheelOf(['cp311-cp311-manylinux_2_17_x86_64', 'cp311-cp311-manylinux2014_x86_64']);

  test.each([
    ['demo-1.0-py3-none-any.whl', PURE, true],
    ['demo-1.0-py2.py3-none-any.whl', PURE, false],
    ['demo-1.0-py2-none-any.whl', PURE, false],
    ['demo-1.0-py2.py3-none-any.whl', wheelOf(['py2-none-any', 'py3-none-any']), true],
    ['demo-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl', LINUX, true],
    ['demo-1.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl', LINUX, false],
    ['demo-1.0-1-py3-none-any.whl', PURE, false],
    ['demo-1.0-1-py3-none-any.whl', wheelOf(['py3-none-any'], 'Build: 1\n'), true],
    ['demo-1.0-py3-none-any.whl', wheelOf(['py3-none-any'], 'Build: 1\n'), false],
    ['demo-1.0-py3-none-any.whl', wheelOf([]), false],
    [`demo-1.0-${'py3.'.repeat(60)}py2-${'none.'.repeat(60)}a-any.whl`, PURE, false],
  ])('a wheel is told by tags and build: %s', (filename, wheel, expected) => {
    expect(isFileOf(wheel, filename)).toBe(expected);
  });
});
