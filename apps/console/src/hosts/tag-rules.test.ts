import { isReported, partsOfTag } from '@tidegate/protocol/tags-api';
import { expect, test } from 'vitest';
import { wordsOf } from './tag-rules.ts';

test.each([
  ['', []],
  [' env=prod,site=wien\n env=prod ', ['env=prod', 'site=wien']],
])('%j has the words %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test.each([
  ['host.role=web', 'host.role', true],
  ['host=web', 'host', false],
])('%s has the key %s; reported by hosts: %s', (tag, key, isTheirs) => {
  expect([partsOfTag(tag).key, isReported(tag)]).toEqual([key, isTheirs]);
});
