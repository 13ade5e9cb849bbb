import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { readAffected } from '@tidegate/versions/osv-record';
import { isFields, type NamedPackage, packageOf } from './record-packages.ts';

/** Packages searched for in an unreadable record; one with more counts as incomplete. */
const SALVAGED_MAX = 1_000;

export interface Salvaged {
  readonly packages: readonly NamedPackage[];
  /** Whether it names no other package: only then may others be called clear. */
  readonly isWhole: boolean;
}

/** The packages named by a record that failed to parse. Never throws; linear in its length. */
export function salvageRecord(bytes: Uint8Array, id: string): Salvaged {
  const text = new TextDecoder().decode(bytes);
  const packages = new Map<string, NamedPackage>();
  let found = 0;
  for (const [member] of text.matchAll(PACKAGE)) {
    const json = parseStrictJson(member.slice(member.indexOf('{')));
    const target = json.ok ? packageOf(json.value) : null;
    if (!target || packages.size >= SALVAGED_MAX) continue;
    found += 1;
    packages.set(`${target.eco}\n${target.name}`, target);
  }
  return { packages: [...packages.values()], isWhole: isToldWhole(text, { id, found }) };
}

/**
 * Whether the text is still JSON (its fault lies elsewhere: U+0000, depth, encoding), every package that it names was
 * found, and no ambiguous member can hide another package.
 */
function isToldWhole(text: string, { id, found }: { id: string; found: number }): boolean {
  const value = parseLoosely(text);
  if (!isFields(value) || value.id !== id || ESCAPED_LETTER.test(text)) return false;
  const named = readAffected(value)?.filter((one) => one.package !== null);
  return named?.length === found && countOf(text, PACKAGE_KEY) === found && countOf(text, AFFECTED_KEY) === 1;
}

/** A member `package`; its braces contain no others, so that the time is linear in the text. */
const PACKAGE = /"package"\s{0,20}:\s{0,20}\{[^{}]{0,2000}\}/g;
const PACKAGE_KEY = /"package"\s*:/g;
const AFFECTED_KEY = /"affected"\s*:/g;
/** An escaped ASCII letter: a member with such a name cannot be found in the text. */
const ESCAPED_LETTER = /\\u00[4-7]/i;

function countOf(text: string, key: RegExp): number {
  return [...text.matchAll(key)].length;
}

function parseLoosely(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
