import { expect, test } from 'vitest';
import { findRoute } from './network.ts';

const heading = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n';

test.each([
  ['', null],
  [heading, null],
  [`${heading}lo\t0000007F\t00000000\t0001\n`, null],
  [`${heading}eth0\t00000000\t0101A8C0\t0003\n`, 'there is a route through eth0'],
])('routes of %j: %j', (table, expected) => {
  expect(findRoute(table)).toBe(expected);
});
