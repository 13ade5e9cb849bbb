import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A table of a document that a test checks: it follows the line `<!-- held: NAME -->`. */
export interface HeldTable {
  readonly name: string;
  readonly document: string;
  /** The cells of each row below the header, without code marks. */
  readonly rows: readonly (readonly string[])[];
}

const MARK = /^<!-- held: (.+) -->$/;

/** Every checked table of docs/protocol.md and docs/protocol/*.md, in the order of the files. */
export function readHeldTables(root: string): HeldTable[] {
  const folder = join(root, 'docs/protocol');
  const documents = [
    'docs/protocol.md',
    ...readdirSync(folder)
      .sort()
      .map((name) => `docs/protocol/${name}`),
  ];
  return documents.flatMap((document) => tablesOf(document, readFileSync(join(root, document), 'utf8')));
}

export function tablesOf(document: string, text: string): HeldTable[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    const name = MARK.exec(line)?.[1];
    return name === undefined ? [] : [{ name, document, rows: rowsBelow(lines, at + 1) }];
  });
}

/** The header and its line come first, with or without an empty line before them. */
function rowsBelow(lines: readonly string[], at: number): string[][] {
  const start = lines[at] === '' ? at + 1 : at;
  const rows: string[][] = [];
  for (let i = start + 2; lines[i]?.startsWith('|'); i++) rows.push(cellsOf(lines[i] ?? ''));
  return rows;
}

/** An escaped bar (`\|`) belongs to its cell. */
function cellsOf(line: string): string[] {
  return line
    .slice(1, line.trimEnd().lastIndexOf('|'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll('\\|', '|').replaceAll('`', '').trim());
}
