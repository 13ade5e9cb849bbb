import { expect, test } from 'vitest';
import { filterKey, replacing, UPDATE_FILTERS } from './filter-rules.ts';

test('replacing a filter removes the parts that the new one does not name', () => {
  const changes = replacing({ ecosystem: 'apt', exploited: true, sort: 'name' });
  expect(changes).toMatchObject({ ecosystem: 'apt', exploited: 'true', state: undefined });
  expect(Object.keys(changes)).toEqual(UPDATE_FILTERS);
});

test('a filter has one key, whatever the order of its parts and the type of its values', () => {
  expect(filterKey({ security: true, state: 'pending' })).toBe(
    filterKey({ state: 'pending', security: 'true' }),
  );
  expect(filterKey({ state: 'pending' })).not.toBe(filterKey({ state: 'failed' }));
});
