import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('a connection to $name', (engine) => {
  test.each([
    ['synchronous_commit', 'on'],
    ['TimeZone', 'UTC'],
    ['jit', 'off'],
    ['max_parallel_workers_per_gather', '0'],
    ['random_page_cost', '1.1'],
  ])('has %s %s, whatever the defaults of the server are', async (name, value) => {
    const { read } = await engine.open();
    const { rows } = await sql<{ value: string }>`SELECT current_setting(${name}) AS value`.execute(read);
    expect(rows).toEqual([{ value }]);
  });
});
