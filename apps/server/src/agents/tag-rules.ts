import { HOST_TAGS_MAX, partsOfTag } from '@tidegate/protocol/tags-api';
import { compareText } from '../platform/compare-text.ts';

/** What is wrong with tags of the right form; null if nothing is. */
export function tagsFault(set: readonly string[], remove: readonly string[] = []): string | null {
  const keys = set.map((tag) => partsOfTag(tag).key);
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined) return `must name each key once; ${twice} has two values`;
  const both = keys.find((key) => remove.includes(key));
  return both === undefined ? null : `must not both set and remove ${both}`;
}

/** The tags of a host after a change, by key; null: they would be more than a host may have. */
export function changedTags(
  before: readonly string[],
  { set, remove }: { set: readonly string[]; remove: readonly string[] },
): string[] | null {
  const tags = new Map(before.map((tag) => [partsOfTag(tag).key, tag]));
  for (const key of remove) tags.delete(key);
  for (const tag of set) tags.set(partsOfTag(tag).key, tag);
  if (tags.size > HOST_TAGS_MAX) return null;
  return [...tags].toSorted(([a], [b]) => compareText(a, b)).map(([, tag]) => tag);
}
