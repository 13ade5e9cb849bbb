import type { Change, Parsed } from './parse-transaction.ts';
import { type ArchiveFile, parseUris } from './parse-uris.ts';

/** A transaction as apt lists it for people, and the files that it would fetch. */
export interface Listing {
  /** Without origin: the list has none. */
  changes: Change[];
  /** As apt shows them: `name`, or `name:arch` where the architecture is a foreign one. */
  removed: string[];
  files: ArchiveFile[];
}

type Section = 'installed' | 'changed' | 'removed';

/** The lists that are the transaction; others, such as suggestions and packages kept back, are skipped. */
const SECTIONS: ReadonlyMap<string, Section> = new Map([
  ['The following NEW packages will be installed:', 'installed'],
  ['The following packages will be upgraded:', 'changed'],
  ['The following packages will be DOWNGRADED:', 'changed'],
  ['The following packages will be REMOVED:', 'removed'],
]);

const INSTALLED = /^ {3}([^\s:()*]+)(?::([a-z0-9-]+))? \(([^\s()]+)\)$/;
const CHANGED = /^ {3}([^\s:()*]+)(?::([a-z0-9-]+))? \(([^\s()]+) => ([^\s()]+)\)$/;
const REMOVED = /^ {3}([^\s:()*]+(?::[a-z0-9-]+)?)\*?(?: \([^\s()]*\))?$/;
const SUMMARY = new RegExp(
  '^(\\d+) upgraded, (\\d+) newly installed, (?:(\\d+) reinstalled, )?(?:(\\d+) downgraded, )?' +
    '(\\d+) to remove and \\d+ not upgraded\\.$',
);

/**
 * Reads `apt-get -V --print-uris install`: one resolution says what changes and from which file. The lists must add
 * up to apt's own counts, and every new version must have exactly one file, else the whole output is invalid.
 */
export function parseListing(output: string, nativeArch: string): Parsed<Listing> {
  const uris = parseUris(output);
  if (!uris.ok) return uris;
  const listed = readSections(output);
  if (!listed.ok) return listed;
  const { incoming, removed, counts } = listed.value;
  if (counts === null) return { ok: false, reason: 'apt does not count its transaction' };
  if (counts.incoming !== incoming.length || counts.removed !== removed.length) {
    return { ok: false, reason: 'the lists of apt differ from its counts' };
  }
  const changes: Change[] = [];
  for (const { name, arch, from, to } of incoming) {
    const archs = arch === undefined ? [nativeArch, 'all'] : [arch];
    const found = uris.value.filter(
      (file) => file.name === name && file.version === to && archs.includes(file.arch),
    );
    const [file] = found;
    if (file === undefined || found.length > 1) {
      return { ok: false, reason: `apt names ${found.length} files for ${name} ${to}` };
    }
    changes.push({ name, arch: file.arch, from, to, origin: '' });
  }
  if (uris.value.length !== changes.length) {
    return { ok: false, reason: `apt names ${uris.value.length} files for ${changes.length} packages` };
  }
  return { ok: true, value: { changes, removed, files: uris.value } };
}

interface Sections {
  incoming: { name: string; arch: string | undefined; from: string | null; to: string }[];
  removed: string[];
  counts: { incoming: number; removed: number } | null;
}

function readSections(output: string): Parsed<Sections> {
  const sections: Sections = { incoming: [], removed: [], counts: null };
  let section: Section | undefined;
  for (const line of output.split('\n')) {
    if (!line.startsWith(' ')) {
      section = SECTIONS.get(line);
      const [counted, ...numbers] = SUMMARY.exec(line) ?? [];
      if (counted === undefined) continue;
      const [upgraded = 0, installed = 0, reinstalled = 0, downgraded = 0, removed = 0] = numbers.map(
        (text) => Number(text ?? 0),
      );
      sections.counts = { incoming: upgraded + installed + reinstalled + downgraded, removed };
    } else if (section !== undefined && !addLine(sections, section, line)) {
      return { ok: false, reason: `a line of apt cannot be read: ${JSON.stringify(line.slice(0, 200))}` };
    }
  }
  return { ok: true, value: sections };
}

function addLine({ incoming, removed }: Sections, section: Section, line: string): boolean {
  switch (section) {
    case 'installed': {
      const [matched, name = '', arch, to = ''] = INSTALLED.exec(line) ?? [];
      if (matched !== undefined) incoming.push({ name, arch, from: null, to });
      return matched !== undefined;
    }
    case 'changed': {
      const [matched, name = '', arch, from = '', to = ''] = CHANGED.exec(line) ?? [];
      if (matched !== undefined) incoming.push({ name, arch, from, to });
      return matched !== undefined;
    }
    case 'removed': {
      const [, shown] = REMOVED.exec(line) ?? [];
      if (shown !== undefined) removed.push(shown);
      return shown !== undefined;
    }
  }
}
