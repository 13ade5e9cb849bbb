import { UPDATE_FILTERS } from '@tidegate/protocol/filter-text';
import { expect, test } from 'vitest';
import { withTyped } from './early-rules.ts';

test.each([
  ['nothing is filtered yet', {}, 'openssl host:web-*', 'openssl host:web-*'],
  ['there is room for the first word', { state: 'pending' }, '', 'state:pending '],
  ['nothing is filtered or typed', {}, '', ''],
  ['other parts stay', { state: 'pending' }, 'openssl', 'state:pending openssl'],
  [
    'a part that is typed replaces its value',
    { state: 'pending', group: 'web' },
    'state:failed',
    'group:web state:failed',
  ],
  ['a search replaces the search', { q: 'curl', state: 'pending' }, 'openssl', 'state:pending openssl'],
  ['what cannot be read yet stays as it is typed', { state: 'pending' }, 'eco', 'state:pending eco'],
  ['and so does a mistake', { state: 'pending' }, 'colour:red', 'state:pending colour:red'],
  ['a space at the end stays, as people type on', { state: 'pending' }, 'openssl ', 'state:pending openssl '],
])('what was typed before the filter language came: %s', (_, filter, typed, expected) => {
  expect(withTyped(UPDATE_FILTERS, filter, typed)).toBe(expected);
});
