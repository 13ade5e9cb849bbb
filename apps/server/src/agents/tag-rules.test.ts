import { HOST_TAGS_MAX, HostTag, OperatorTag, ReportedTags } from '@tidegate/protocol/tags-api';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { changedTags, tagsFault } from './tag-rules.ts';

test.each<[string, boolean, boolean]>([
  ['env=prod', true, true],
  ['team/site-1=Wien_2.a:b@c+d', true, true],
  ['host=web', true, true],
  ['hosted.by=us', true, true],
  ['host.role=web', true, false],
  ['host.=web', false, false],
  ['Env=prod', false, false],
  ['env', false, false],
  ['env=', false, false],
  ['=prod', false, false],
  ['env=a b', false, false],
  ['env=a=b', false, false],
  ['env=a,b', false, false],
  ['env=prod\n', false, false],
  [`${'k'.repeat(63)}=${'v'.repeat(128)}`, true, true],
  [`${'k'.repeat(64)}=v`, false, false],
  [`k=${'v'.repeat(129)}`, false, false],
])('%j is a tag: %s, and one that operators may set: %s', (tag, isTag, isOperators) => {
  expect(Check(HostTag, tag)).toBe(isTag);
  expect(Check(OperatorTag, tag)).toBe(isOperators);
  expect(Check(ReportedTags, { tags: [tag] })).toBe(isTag && !isOperators);
});

test.each<[string[], string[], string | null]>([
  [['env=prod', 'role=db'], ['site'], null],
  [['env=prod', 'env=test'], [], 'must name each key once; env has two values'],
  [['env=prod'], ['env'], 'must not both set and remove env'],
])('setting %j and removing %j: %s', (set, remove, fault) => {
  expect(tagsFault(set, remove)).toBe(fault);
});

describe('a change of tags', () => {
  test('replaces values, removes keys, leaves the rest, and sorts by key', () => {
    const change = { set: ['env=prod', 'a=1'], remove: ['site'] };
    expect(changedTags(['env=test', 'role=db', 'site=wien'], change)).toEqual(['a=1', 'env=prod', 'role=db']);
  });

  test('is refused where the host would have more than it may', () => {
    const before = Array.from({ length: HOST_TAGS_MAX }, (_, i) => `k${i}=v`);
    expect(changedTags(before, { set: ['k0=w'], remove: [] })).toHaveLength(HOST_TAGS_MAX);
    expect(changedTags(before, { set: ['new=v'], remove: ['k0'] })).toHaveLength(HOST_TAGS_MAX);
    expect(changedTags(before, { set: ['new=v'], remove: [] })).toBeNull();
  });
});
