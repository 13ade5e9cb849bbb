import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ownUid } from './file-layer.ts';
import { readTrustedJson } from './trusted-json.ts';

const Named = Type.Object({ name: Type.String() });
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-json-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = () => join(folder, 'one.json');
const read = (maxBytes = 100) =>
  readTrustedJson(path(), Named, { maxBytes, ownerUid: ownUid(), forbiddenMode: 0o022 });

test('a document of the form is read', () => {
  writeFileSync(path(), '{"name":"web"}', { mode: 0o600 });
  expect(read()).toEqual({ name: 'web' });
});

test.each([
  ['another form', '{"name":1}'],
  ['a member twice', '{"name":"a","name":"b"}'],
  ['no JSON', '{'],
])('%s is none', (_, text) => {
  writeFileSync(path(), text, { mode: 0o600 });
  expect(read()).toBeNull();
});

test('neither is a file that is absent, too large, a link, or that others can write', () => {
  expect(read()).toBeNull();
  writeFileSync(path(), '{"name":"web"}', { mode: 0o600 });
  expect(read(5)).toBeNull();
  chmodSync(path(), 0o622);
  expect(read()).toBeNull();
  rmSync(path());
  writeFileSync(join(folder, 'other.json'), '{"name":"web"}', { mode: 0o600 });
  symlinkSync('other.json', path());
  expect(read()).toBeNull();
});
