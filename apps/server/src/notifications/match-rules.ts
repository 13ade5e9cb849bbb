import { SEVERITIES, type Severity } from '@tidegate/protocol/event-types';
import type { RuleConditions } from '@tidegate/protocol/notifications-api';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';

/** An event of the log with what rules ask of it. */
export interface KnownEvent {
  readonly id: string;
  readonly position: number;
  readonly type: string;
  readonly severity: Severity;
  readonly atMs: number;
  readonly actor: string | null;
  readonly host: { readonly id: string; readonly name: string; readonly group: string | null } | null;
  readonly content: unknown;
}

/** What is known about the vulnerabilities and updates that events name. */
export interface Exploitation {
  readonly cves: ReadonlySet<string>;
  readonly updates: ReadonlySet<string>;
}

/** The groups that an event is about beside that of its host: of a fix that waits on many. */
export function groupsOf({ host, content }: Pick<KnownEvent, 'host' | 'content'>): string[] {
  if (host !== null) return host.group === null ? [] : [host.group];
  return textsAt(content, 'groups');
}

/** The ecosystems that an event names. */
export function ecosystemsOf(content: unknown): string[] {
  const named = [content, at(content, 'package'), ...packagesOf(content)].flatMap((one) =>
    textsAt(one, 'ecosystem'),
  );
  return [...named, ...textsAt(content, 'ecosystems')].filter((one) =>
    ECOSYSTEMS.some((known) => known === one),
  );
}

/** The updates that an event names. */
export function updateIdsOf(content: unknown): string[] {
  return [content, ...itemsAt(content, 'updates')].flatMap((one) => textsAt(one, 'update_id'));
}

/** The vulnerability that an event is about. */
export function vulnerabilitiesOf(content: unknown): string[] {
  return textsAt(content, 'vulnerability');
}

/** Whether a rule speaks of an event. Types and severities are cheap, and checked by the database as well. */
export function isMeant(
  event: KnownEvent,
  { conditions, exploited }: { conditions: RuleConditions; exploited: Exploitation },
): boolean {
  const { event_types: types, minimum_severity: least, groups, ecosystems, exploited_only } = conditions;
  if (types.length > 0 && !types.some((type) => type === event.type)) return false;
  if (SEVERITIES.indexOf(event.severity) < SEVERITIES.indexOf(least)) return false;
  if (groups.length > 0 && !groupsOf(event).some((group) => groups.includes(group))) return false;
  if (
    ecosystems.length > 0 &&
    !ecosystemsOf(event.content).some((name) => ecosystems.some((one) => one === name))
  )
    return false;
  return !exploited_only || isExploited(event, exploited);
}

function isExploited({ type, content }: KnownEvent, { cves, updates }: Exploitation): boolean {
  return (
    type === 'exploited_fix_waits' ||
    vulnerabilitiesOf(content).some((id) => cves.has(id)) ||
    updateIdsOf(content).some((id) => updates.has(id))
  );
}

/** The severities from this one up. */
export function severitiesFrom(least: Severity): Severity[] {
  return SEVERITIES.slice(SEVERITIES.indexOf(least));
}

/** The worst of them; `info` if there is none. */
export function worstOf(severities: readonly Severity[]): Severity {
  return SEVERITIES.findLast((severity) => severities.includes(severity)) ?? 'info';
}

function packagesOf(content: unknown): unknown[] {
  return itemsAt(content, 'updates').map((one) => at(one, 'package'));
}

function at(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function itemsAt(value: unknown, name: string): unknown[] {
  const found = at(value, name);
  return Array.isArray(found) ? found : [];
}

/** The text, or the texts, of a member. */
function textsAt(value: unknown, name: string): string[] {
  const found = at(value, name);
  if (typeof found === 'string') return [found];
  return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : [];
}
