import { expect, test } from 'vitest';
import { keyOfAddress } from './keys.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '20010db800010002/64'],
  ['2001:db8:1:2::9', '20010db800010002/64'],
  ['fe80::1%eth0', 'fe80000000000000/64'],
  ['not an address', 'unknown'],
  ['', 'unknown'],
])('the limit key of %j is %s', (address, key) => {
  expect(keyOfAddress(address)).toBe(key);
});
