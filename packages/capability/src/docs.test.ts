import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseCapabilityFile, resolve } from './capability.ts';

const guide = readFileSync(new URL('../../../docs/capability-files.md', import.meta.url), 'utf8');

test('every capability of docs/capability-files.md is one, and together they resolve', () => {
  const examples = [...guide.matchAll(/(?<=```json\n)[\s\S]*?(?=```)/g)].map(([example]) =>
    parseCapabilityFile(example),
  );
  expect(examples.length).toBeGreaterThan(2);
  const capabilities = examples.flatMap((file) => {
    expect(file).toMatchObject({ warnings: [] });
    return 'errors' in file ? [] : file.capabilities;
  });
  expect(resolve(capabilities, { platform: 'linux' })).toHaveProperty('acl');
});
