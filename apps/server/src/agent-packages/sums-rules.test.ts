import { expect, test } from 'vitest';
import { isVersioned, packagesOf, parseSums, SUMS_MAX_LINES } from './sums-rules.ts';

const HEX = 'a'.repeat(64);
const DEB = 'tidegate-agent_1.2.3_linux-x64.deb';
const line = (path: string) => `${HEX}  ${path}\n`;

test('lines of sha256sum are read, with the packages among them', () => {
  const parsed = parseSums([DEB, 'apt/dists/stable/InRelease', 'release.pem'].map(line).join(''));
  if (!parsed.ok) throw new Error(parsed.fault);
  expect([...parsed.sums.keys()]).toEqual([DEB, 'apt/dists/stable/InRelease', 'release.pem']);
  expect(packagesOf(parsed.sums)).toEqual([
    { path: DEB, version: '1.2.3', target: 'linux-x64', format: 'deb', sha256: HEX },
  ]);
});

test.each([
  ['nothing', ''],
  ['no end of the last line', line(DEB).trimEnd()],
  ['a folder above', line('../secret')],
  ['a folder above in the middle', line('apt/../../secret')],
  ['an absolute path', line('/etc/passwd')],
  ['a hidden file', line('apt/.secret')],
  ['an empty name', line('apt//Release')],
  ['a backslash', line('apt\\Release')],
  ['a newline in disguise', line('a\rb')],
  ['a percent sign', line('%2e%2e')],
  ['a space', line('a b')],
  ['a name that is too long', line('a'.repeat(129))],
  ['nine folders', line(Array(9).fill('a').join('/'))],
  ['a file twice', line(DEB) + line(DEB)],
  ['itself', line('SHA256SUMS')],
  ['its signature', line('SHA256SUMS.sig')],
  ['capital digits', `${HEX.toUpperCase()}  ${DEB}\n`],
  ['a digest that is too short', `${HEX.slice(1)}  ${DEB}\n`],
  ['the mark of binary mode', `${HEX} *${DEB}\n`],
  ['too many lines', Array.from({ length: SUMS_MAX_LINES + 1 }, (_, n) => line(`f${n}`)).join('')],
])('%s is refused, with what is allowed', (_, text) => {
  expect(parseSums(text)).toEqual({ ok: false, fault: expect.stringContaining('allowed: ') });
});

test.each([
  [DEB, true],
  ['tidegate-agent_1.2.3-rc.1_linux-arm64.tar.gz', true],
  ['apt/dists/stable/Release', false],
  ['release.pem', false],
])('whether the bytes of %s never change: %s', (path, versioned) => {
  expect(isVersioned(path)).toBe(versioned);
});
