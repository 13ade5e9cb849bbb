import { expect, test } from 'vitest';
import { prefillOf } from './exception-rules.ts';

test.each([
  [{ ecosystem: 'pypi', name: 'requests', version: '2.0' }, 'pypi'],
  [{ ecosystem: 'npm', name: '@a/b', version: '1.0.0' }, 'npm'],
  [{ ecosystem: 'apt', name: 'a', version: '1' }, 'npm'],
])('a link that names %j fills the form', (search, ecosystem) => {
  const { name, version } = search;
  expect(prefillOf(search)).toEqual({ ecosystem, name, version });
});

test.each([{}, { name: 'a' }, { version: '1' }, { name: '', version: '1' }])(
  'a link that names only %j fills nothing',
  (search) => {
    expect(prefillOf(search)).toBeNull();
  },
);
