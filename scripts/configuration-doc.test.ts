import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SETTINGS } from '../apps/server/src/config.ts';
import { configurationDoc } from './configuration-doc.ts';

test('docs/configuration.md matches the settings in the code', () => {
  const path = join(import.meta.dirname, '../docs/configuration.md');
  expect(readFileSync(path, 'utf8')).toBe(configurationDoc());
});

test('every setting has a section', () => {
  const doc = configurationDoc();
  for (const { env } of Object.values(SETTINGS)) expect(doc).toContain(`## ${env}\n`);
  expect(doc).toContain('## SERVICE_JWT_SECRET\n\nSecret that');
  expect(doc).toMatch(/SERVICE_PORT\n\n.*\n\nAllowed: a whole number from 0 to 65535\. Default: `8080`\.\n/);
});
