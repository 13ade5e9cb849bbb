import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Capability, decide, parseCapabilityFile, resolve } from './capability.ts';
import type { PermissionManifests } from './manifests.ts';
import type { Target } from './parse.ts';

interface FileRow {
  readonly title: string;
  readonly source: string;
  readonly capabilities?: readonly Capability[];
  readonly warnings?: readonly string[];
  readonly errors?: readonly string[];
}

interface DecisionRow {
  readonly title: string;
  readonly capabilities: readonly unknown[];
  readonly permissions?: PermissionManifests;
  readonly platform: Target;
  readonly cases?: readonly Case[];
  readonly errors?: readonly string[];
  /** What one of the messages has to name. */
  readonly says?: string;
}

interface Case {
  readonly command: string;
  readonly window: string;
  readonly webview: string;
  readonly origin: string;
  readonly allowed: boolean;
  readonly scope?: unknown;
}

const files: readonly FileRow[] = read('files.json');
const decisions: readonly DecisionRow[] = read('decisions.json');

test('the table has 150 rows and more, valid and invalid', () => {
  expect(files.length + decisions.length).toBeGreaterThan(150);
  expect(files.filter(({ errors }) => errors).length).toBeGreaterThan(50);
});

describe('R8: files of vectors/capability/files.json', () => {
  test.each(files)('$title', ({ source, capabilities, warnings, errors }) => {
    const result = parseCapabilityFile(source);
    if ('errors' in result) {
      expect(result.errors.map(({ path }) => path).toSorted()).toEqual(errors?.toSorted());
      for (const { message } of result.errors) expect(message).toMatch(/^\S.{8,}/s);
      return;
    }
    expect({ ...result, warnings: result.warnings.map(({ path }) => path) }).toEqual({
      capabilities,
      warnings,
    });
  });
});

describe('R8: decisions of vectors/capability/decisions.json', () => {
  test.each(decisions)(
    '$title',
    ({ capabilities, permissions = {}, platform, cases = [], errors, says = '' }) => {
      const file = parseCapabilityFile(capabilities);
      if ('errors' in file && errors === undefined) throw new Error(JSON.stringify(file.errors));
      // The same identifier twice is found in one file by `parseCapabilityFile` already; `resolve` sees several files.
      const resolved = resolve('errors' in file ? apart(capabilities) : file.capabilities, {
        permissions,
        platform,
      });
      if ('errors' in resolved) {
        expect(resolved.errors.map(({ path }) => path).toSorted()).toEqual(errors?.toSorted());
        expect(resolved.errors.map(({ message }) => message).join('\n')).toContain(says);
        return;
      }
      expect(errors).toBeUndefined();
      for (const { command, window, webview, origin, allowed, scope } of cases) {
        const decision = decide(resolved.acl, { command, window, webview, origin });
        const expected = allowed
          ? { allowed, scope }
          : { allowed, reason: expect.stringContaining('is not allowed') };
        expect({ command, window, webview, origin, ...decision }).toEqual({
          command,
          window,
          webview,
          origin,
          ...expected,
        });
      }
    },
  );
});

function apart(capabilities: readonly unknown[]): Capability[] {
  return capabilities.flatMap((capability) => {
    const file = parseCapabilityFile(capability);
    return 'errors' in file ? [] : file.capabilities;
  });
}

function read<Row>(name: string): readonly Row[] {
  return JSON.parse(readFileSync(new URL(`../../../vectors/capability/${name}`, import.meta.url), 'utf8'));
}
