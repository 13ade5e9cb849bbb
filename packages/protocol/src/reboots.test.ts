import { expect, test } from 'vitest';
import { restartableUnits } from './reboots.ts';
import type { StaleService } from './restarts.ts';

test('only services that can be restarted by themselves are offered for it', () => {
  const file = { path: '/usr/lib/libssl.so.3' };
  const one: StaleService = {
    ...{ name: 'nginx.service', kind: 'service', processes: 1, files: [file], more_files: 0 },
  };
  const stale: StaleService[] = [
    one,
    { ...one, name: 'dbus.service', kind: 'core' },
    { ...one, name: 'user.slice' },
    { ...one, name: '-x.service' },
  ];
  expect(restartableUnits(stale)).toEqual(['nginx.service']);
});
