// biome-ignore-all lint/suspicious/noTemplateCurlyInString: sources that are looked at.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';
import { expect, test } from 'vitest';

const CONSOLE = fileURLToPath(new URL('../apps/console/src', import.meta.url));
const FILES = globSync('**/*.{ts,tsx}', { cwd: CONSOLE, exclude: ['**/*.test.*'] });

/** What hosts, registries and operators choose, by the end of its expression. */
const NAME =
  /^(?:hostname|name|username|named|group|groups|tag|tags|package|author|actor|reason|version|vendor|subject|(?:provider|policy|ring|channel|rule|source)_name|(?:source|available|current|from|to)_version|summary|detail|\w+_by)$/;
/** Sentences of the server with such names in them. */
const SENTENCE = /^(?:fault|wait)\.text$/;
/** Functions that return such a name. */
const NAMING = /^(?:nameOf|actorText)$/;
/** Attributes that nobody reads. */
const UNREAD = /^(?:key|className|id|href|to|value)$/;
/** Not shown as sentences: keys of maps and data of forms; or numbers and names of our own. */
const EXCEPT = [
  'account/client-words.ts', // browsers
  'operators/mapping-text-rules.ts', // the text of a field
  'policies/ring-fields.tsx', // "Ring 1"
  'policies/window-fields.tsx', // "Window 1"
  'rollouts/rollout-packages.tsx', // ids of rows
  'rollouts/rollout-rules.ts', // shown alone
  'hosts/restart-rules.ts',
  'shell/failures.tsx', // the class of an error
  'signing-keys/key-dialogs.tsx', // numbers of keys
  'signing-keys/root-panel.tsx',
  'signing-keys/signing-keys-page.tsx',
  'ui/palette-rules.ts', // searched, not shown
  'updates/findings.tsx', // keys
];

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function nodesOf(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [];
}

/** The name that an expression ends with; null where it is none that somebody chose. */
function chosenName(value: unknown): string | null {
  const [node] = nodesOf(value);
  switch (node?.type) {
    case 'Identifier':
      return NAME.test(String(node.name)) ? String(node.name) : null;
    case 'MemberExpression':
      if (node.computed === true) return null;
      return isSentence(node) ? 'text' : chosenName(node.property);
    case 'ChainExpression':
      return chosenName(node.expression);
    case 'LogicalExpression':
      return node.operator === '??' ? chosenName(node.left) : null;
    case 'CallExpression': {
      const [callee] = nodesOf(node.callee);
      const [property] = nodesOf(callee?.property);
      if (property?.name === 'join') return chosenName(callee?.object);
      return callee?.type === 'Identifier' && NAMING.test(String(callee.name)) ? String(callee.name) : null;
    }
    default:
      return null;
  }
}

function isSentence({ object, property }: Node): boolean {
  return SENTENCE.test([object, property].map((part) => nodesOf(part)[0]?.name).join('.'));
}

/** Names within text that are neither in `isolated(...)` nor in an element of their own. */
function bareNames(file: string, source: string): string[] {
  const found: string[] = [];
  const tell = ({ start, end }: Node) => found.push(`${file}: ${source.slice(start, end)}`);
  const visit = (node: Node) => {
    if (node.type === 'JSXAttribute' && UNREAD.test(String(nodesOf(node.name)[0]?.name))) return;
    if (node.type === 'TemplateLiteral') {
      const text = nodesOf(node.quasis).map((one) => source.slice(one.start, one.end));
      if (/[ @]/.test(text.join('')))
        for (const one of nodesOf(node.expressions)) if (chosenName(one) !== null) tell(one);
    }
    if (node.type === 'JSXElement' || node.type === 'JSXFragment') {
      const shown = nodesOf(node.children).filter((child) => !isBlank(child, source));
      for (const child of shown)
        if (shown.length > 1 && child.type === 'JSXExpressionContainer' && chosenName(child.expression))
          tell(child);
    }
    for (const member of Object.values(node)) for (const child of nodesOf(member)) visit(child);
  };
  for (const node of nodesOf(parseSync(file, source).program)) visit(node);
  return found;
}

function isBlank({ type, start, end }: Node, source: string): boolean {
  const text = source.slice(start, end).trim();
  return type === 'JSXText' ? text === '' : text === "{' '}";
}

test('names that others choose turn the direction of no sentence', () => {
  expect(FILES.length).toBeGreaterThan(300);
  const found = FILES.filter((file) => !EXCEPT.includes(file)).flatMap((file) =>
    bareNames(file, readFileSync(join(CONSOLE, file), 'utf8')),
  );
  expect(found).toEqual([]);
});

test('every exception is one', () => {
  const idle = EXCEPT.filter(
    (file) => bareNames(file, readFileSync(join(CONSOLE, file), 'utf8')).length === 0,
  );
  expect(idle).toEqual([]);
});

test.each([
  ['const text = `Revoke ${host.hostname}`;', 1],
  ['const text = `Revoke ${isolated(host.hostname)}`;', 0],
  ['const text = `${one.name ?? one.id}@${version}`;', 2],
  ["const text = `the groups ${groups.join(', ')}`;", 1],
  ['const path = `/hosts/${name}`;', 0],
  ['const part = <p>Back to {name}</p>;', 1],
  ['const part = <p>Back to <bdi>{name}</bdi></p>;', 0],
  ['const part = <p>{name}</p>;', 0],
  ['const part = <p>by {actorText(actor)}</p>;', 1],
  ['const part = <p>Waits for {wait.text}</p>;', 1],
  ['const part = <p>Show {entry.text}</p>;', 0],
  ["const label = `${id}: ${summary ?? ''}`;", 1],
  ['const part = <li key={`${name} ${version}`}>{name}</li>;', 0],
])('%s has %d', (source, count) => {
  expect(bareNames('a.tsx', source)).toHaveLength(count);
});
