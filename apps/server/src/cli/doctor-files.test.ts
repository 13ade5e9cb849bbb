import { expect, test } from 'vitest';
import { keptConnections } from '../platform/http/open-connections.ts';
import { judgeOpenFiles } from './doctor-files.ts';

test.each([
  { enrolled: 800, filesMax: 1_000, says: 'ok a limit of 1000, as here, keeps the connections of 800 hosts' },
  {
    enrolled: 801,
    filesMax: 1_000,
    says: 'warn a limit of 1000, as here, keeps the connections of 800 hosts',
  },
  { enrolled: 801, filesMax: null, says: 'ok the system tells no limit' },
])('$enrolled hosts under a limit of $filesMax: $says', ({ enrolled, filesMax, says }) => {
  const { level, detail } = judgeOpenFiles(enrolled, filesMax);
  expect(`${level} ${detail}`).toContain(says);
});

test('the limit that is advised is enough', () => {
  const finding = judgeOpenFiles(100_000, 20_000);
  const advised = finding.level === 'ok' ? 0 : Number(/limit to (\d+)/.exec(finding.todo)?.[1]);
  expect(advised).toBe(125_000);
  expect(keptConnections(advised)).toBeGreaterThanOrEqual(100_000);
});
