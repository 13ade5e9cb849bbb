import { expect, test } from 'vitest';
import { progressWords } from './progress-words.ts';

const COMMAND = {
  ...{
    action: 'install_update' as const,
    created_at: '2026-11-21T10:00:00Z',
    received_at: '2026-11-21T10:00:45Z',
  },
  ...{ started_at: '2026-11-21T10:01:00Z', installing_at: '2026-11-21T10:13:30Z', finished_at: null },
};
const NOW = '2026-11-21T12:13:30Z';

test('what runs says for how long, and how long the steps before it took', () => {
  const wait = { text: 'the installation to end', since: COMMAND.installing_at, until: null };
  expect(progressWords({ as_of: NOW, command: COMMAND, waits: [wait] })).toEqual([
    'Waits for the installation to end, for 2 hours.',
    'Reached the host after 45 seconds.',
    'Downloaded in 12 minutes.',
  ]);
});

test('what waits says when that ends by itself, and what comes then', () => {
  const ring = { text: 'the ring before it', since: null, until: null };
  const hold = { text: 'the hold', since: null, until: '2026-11-22T13:00:00Z' };
  expect(progressWords({ as_of: NOW, command: null, waits: [hold, ring] })).toEqual([
    'Waits for the hold, ends in 1 day.',
    'Then for the ring before it.',
  ]);
});

test.each([
  [{ finished_at: '2026-11-21T10:13:31Z' }, ['Downloaded in 12 minutes.', 'Installed in 1 second.']],
  [{ installing_at: null, finished_at: '2026-11-21T10:13:00Z' }, ['Downloaded and installed in 12 minutes.']],
  [
    { action: 'scan' as const, installing_at: null, finished_at: '2026-11-21T10:01:00.5Z' },
    ['Done in less than a second.'],
  ],
  // The clock of the host was set back.
  [{ started_at: '2026-11-21T11:00:00Z' }, []],
])('what is over waits for nothing: %j', (command, steps) => {
  const told = progressWords({ as_of: NOW, command: { ...COMMAND, ...command }, waits: [] });
  expect(told).toEqual(['Waits for nothing.', 'Reached the host after 45 seconds.', ...steps]);
});
