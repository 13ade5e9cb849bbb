import { isolated } from './isolated.ts';

/** What an event says of a change, read from its content, which may lack any of it. */
type Content = unknown;

/** Of an operator: each thing that changed, and from what to what. */
export function operatorChange(content: Content, by: string): string {
  const name = textAt(content, 'username') || '(unknown)';
  switch (textAt(content, 'change')) {
    case 'setup_link_made':
      return 'A setup link for the first operator was created.';
    case 'created':
      return `${by} added ${name} as ${textAt(content, 'role') || 'an operator'}${limited(valueAt(content, 'groups'))}.`;
    case 'deleted':
      return `${by} deleted the operator ${name}.`;
    case 'own_password':
      return `${by} changed their own password.`;
    case 'password_removed':
      return `${by} removed the password of ${name}.`;
    case 'passkey_renamed':
      return `${by} renamed a passkey.`;
    default:
      return `${by} ${operatorChanges(content, name).join(' and ') || `changed the operator ${name}`}.`;
  }
}

function operatorChanges(content: Content, name: string): string[] {
  const disabled = changeAt(content, 'disabled');
  const role = changeAt(content, 'role');
  const groups = changeAt(content, 'groups');
  return [
    ...(disabled ? [`${disabled.after === true ? 'disabled' : 'enabled'} ${name}`] : []),
    ...(role ? [`changed the role of ${name} from ${shown(role.before)} to ${shown(role.after)}`] : []),
    ...(groups
      ? [`changed what ${name} can see from ${reach(groups.before)} to ${reach(groups.after)}`]
      : []),
    ...(valueAt(content, 'password_changed') === true ? [`gave ${name} a new password`] : []),
  ];
}

/** Of rate limits: each class with its budget before and after. */
export function rateLimitChange(content: Content, by: string): string {
  const classes = valueAt(content, 'classes');
  if (!isObject(classes)) return `${by} changed the rate limits.`;
  const all = Object.keys(classes).map((name) => {
    const { before, after } = {
      before: valueAt(classes, name, 'before'),
      after: valueAt(classes, name, 'after'),
    };
    return isObject(before) && isObject(after)
      ? `${words(name)} from ${budget(before)} to ${budget(after)}`
      : words(name);
  });
  return `${by} changed the rate limits: ${all.join('; ') || 'unknown'}.`;
}

function budget(of: object): string {
  if (valueAt(of, 'enabled') === false) return 'off';
  return `${shown(valueAt(of, 'requests'))} requests in ${shown(valueAt(of, 'window_seconds'))} s`;
}

/** Of the tags of a host: those that it got and those that it lost. */
export function tagChange(content: Content): string {
  const [before, after] = [valueAt(content, 'before'), valueAt(content, 'after')];
  if (!Array.isArray(before) || !Array.isArray(after)) return '';
  const got = shown(after.filter((tag) => !before.includes(tag)));
  const lost = shown(before.filter((tag) => !after.includes(tag)));
  return [got && `: added ${got}`, lost && `${got ? '; ' : ': '}removed ${lost}`].filter(Boolean).join('');
}

/** `name: from … to …` for each member that differs between two objects; long values only by name. */
export function differences(before: Content, after: Content): string {
  if (!isObject(before) || !isObject(after)) return '';
  const changed = Object.keys(before).filter((name) => !isSame(valueAt(before, name), valueAt(after, name)));
  return changed
    .map((name) => {
      const [old, now] = [shown(valueAt(before, name)), shown(valueAt(after, name))];
      const isShort = old !== '' && now !== '' && old.length + now.length <= VALUES_MAX;
      return isShort ? `${words(name)} from ${old} to ${now}` : words(name);
    })
    .join('; ');
}

/** Characters of two values that a sentence still names. */
const VALUES_MAX = 120;

function changeAt(content: Content, name: string): { before: unknown; after: unknown } | null {
  const change = { before: valueAt(content, name, 'before'), after: valueAt(content, name, 'after') };
  return isSame(change.before, change.after) ? null : change;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function limited(groups: unknown): string {
  return Array.isArray(groups) ? `, for the hosts of ${reach(groups)}` : '';
}

function reach(groups: unknown): string {
  return groups === null || groups === undefined ? 'the whole fleet' : shown(groups) || 'no group';
}

/** A value in words; empty where it has no short form. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return value.toLocaleString('en');
  if (typeof value === 'string') return isolated(value);
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
    ? value.map(isolated).join(', ')
    : '';
}

function words(name: string): string {
  return name.replaceAll('_', ' ');
}

function textAt(content: Content, name: string): string {
  const value = valueAt(content, name);
  return typeof value === 'string' ? isolated(value) : '';
}

function valueAt(content: Content, ...path: string[]): unknown {
  let value = content;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
