import { type Static, Type } from 'typebox';
import { Count, strict, Uuid } from './scalars.ts';

/** Most tags that operators may give one host. */
export const HOST_TAGS_MAX = 32;
/** Most tags that a host may report of itself. */
export const REPORTED_TAGS_MAX = 16;
/** Largest body of such a report, in bytes. */
export const REPORTED_TAGS_MAX_BYTES = 4_096;
/** Most hosts that one request tags. */
export const TAG_MAX_HOSTS = 1_000;
/** Keys of tags that hosts report begin with this, and no others do. */
export const REPORTED_PREFIX = 'host.';

const KEY = '[a-z0-9][a-z0-9._/-]{0,62}(?<![._/-])';
const VALUE = '[A-Za-z0-9._:/@+-]{1,128}';

/** A tag of a host, whoever set it. */
export const HostTag = Type.String({
  pattern: `^${KEY}=${VALUE}$`,
  minLength: 3,
  maxLength: 192,
  description: 'key=value, such as env=prod; lower-case key, value without spaces',
});
export type HostTag = Static<typeof HostTag>;

/** A tag that an operator sets: no key that hosts may report. */
export const OperatorTag = Type.String({
  pattern: `^(?!host\\.)${KEY}=${VALUE}$`,
  minLength: 3,
  maxLength: 192,
  description: 'key=value, such as env=prod; keys that begin with host. are for what hosts report',
});

const OperatorTagKey = Type.String({
  pattern: `^(?!host\\.)${KEY}$`,
  minLength: 1,
  maxLength: 63,
  description: 'the key of a tag that an operator set',
});

/** Tags that an operator sets: each key once, which the server checks. */
export const OperatorTags = Type.Array(OperatorTag, { maxItems: HOST_TAGS_MAX, uniqueItems: true });

/** Sets tags and removes others; a tag whose key the host has gets the new value. */
export const TagHostsRequest = strict({
  agent_ids: Type.Array(Uuid, { minItems: 1, maxItems: TAG_MAX_HOSTS, uniqueItems: true }),
  set: OperatorTags,
  remove: Type.Array(OperatorTagKey, { maxItems: HOST_TAGS_MAX, uniqueItems: true }),
});
export type TagHostsRequest = Static<typeof TagHostsRequest>;

/** Hosts that had it so already are in neither list. */
export const TagHostsAnswer = strict({ changed: Type.Array(Uuid), not_found: Type.Array(Uuid) });
export type TagHostsAnswer = Static<typeof TagHostsAnswer>;

/** A tag is there as long as a host has it. */
export const TagItem = strict({
  tag: HostTag,
  hosts: Count,
  reported: Type.Boolean({ description: 'hosts say it of themselves: no policy, blackout or hold reads it' }),
});
export type TagItem = Static<typeof TagItem>;

/** A tag that a host reports. */
export const ReportedTag = Type.String({
  pattern: `^(?=host\\.)${KEY}=${VALUE}$`,
  minLength: 8,
  maxLength: 192,
  description: 'key=value with a key that begins with host.',
});

/** The same as the agent's configuration has it: without the prefix. */
export const OwnTag = Type.String({
  pattern: `^(?=.{1,58}=)${KEY}=${VALUE}$`,
  minLength: 3,
  maxLength: 187,
  description: 'key=value, such as role=web',
});

/** What a host says of itself, from the configuration of its agent. */
export const ReportedTags = strict({
  tags: Type.Array(ReportedTag, { maxItems: REPORTED_TAGS_MAX, uniqueItems: true }),
});
export type ReportedTags = Static<typeof ReportedTags>;

/** The two parts of a tag; what is not one has an empty value. */
export function partsOfTag(tag: string): { key: string; value: string } {
  const at = tag.indexOf('=');
  return at < 0 ? { key: tag, value: '' } : { key: tag.slice(0, at), value: tag.slice(at + 1) };
}

/** Whether hosts set tags of this key, or this tag, themselves. */
export function isReported(tag: string): boolean {
  return tag.startsWith(REPORTED_PREFIX);
}
