import { nullish } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { type FileName, parseFilename } from './names-rules.ts';
import type { Parsed } from './read-file.ts';

/** Maximum files of one project; the largest on the public index have about 20,000. */
const FILES_MAX = 50_000;
const SHA256 = /^[0-9a-f]{64}$/;

/** A file that an index offers. */
export interface IndexFile extends FileName {
  filename: string;
  /** Absolute, without fragment and credentials. */
  url: string;
  /** Null where the index names none. */
  sha256: string | null;
  sizeBytes: number | null;
  requiresPython: string | null;
  yanked: boolean;
}

const JsonPage = Type.Object({
  files: Type.Array(
    Type.Object({
      filename: Type.String(),
      url: Type.String(),
      hashes: Type.Record(Type.String(), Type.String()),
      'requires-python': nullish(Type.String()),
      size: nullish(Type.Integer({ minimum: 0 })),
      yanked: Type.Optional(Type.Union([Type.Boolean(), Type.String()])),
    }),
    { maxItems: FILES_MAX },
  ),
});

interface PageSource {
  /** The name of the page, normalised. */
  project: string;
  /** The page's URL, which relative URLs resolve against. */
  url: string;
}

/** Reads a page of a simple index in its JSON form (PEP 691, PEP 700). Files that pip would not use are left out. */
export function parseJsonPage(text: string, source: PageSource): Parsed<IndexFile[]> {
  const parsed = parseStrictJson(text);
  if (!parsed.ok)
    return { ok: false, reason: `the index answers for ${source.project} what ${parsed.reason}` };
  if (!Check(JsonPage, parsed.value)) {
    return { ok: false, reason: `the index answers for ${source.project} in an unknown format` };
  }
  const files = parsed.value.files.flatMap((file) => {
    const named = parseFilename(file.filename, source.project);
    const url = resolveUrl(file.url, source.url);
    if (named === null || url === null) return [];
    const { sha256 = '' } = file.hashes;
    return {
      ...named,
      ...{ filename: file.filename, url: url.address, sha256: SHA256.test(sha256) ? sha256 : null },
      ...{ sizeBytes: file.size ?? null, requiresPython: file['requires-python'] ?? null },
      yanked: file.yanked !== undefined && file.yanked !== false,
    };
  });
  return { ok: true, value: files };
}

/** Reads the old form (PEP 503): every link whose text is a file of the project. */
export function parseHtmlPage(text: string, source: PageSource): Parsed<IndexFile[]> {
  const files: IndexFile[] = [];
  // A page without links is something else, such as a login page.
  if (!/<a\s/i.test(text))
    return { ok: false, reason: `the index answers for ${source.project} without a link` };
  for (const piece of text.split(/<a\s/i).slice(1, FILES_MAX + 1)) {
    const end = endOfTag(piece);
    const close = piece.indexOf('<', end);
    if (close < 0) continue;
    const attributes = readAttributes(piece.slice(0, end));
    const filename = decodeEntities(piece.slice(end + 1, close)).trim();
    const named = parseFilename(filename, source.project);
    const url = resolveUrl(attributes.get('href') ?? '', source.url);
    if (named === null || url === null) continue;
    const [, sha256 = null] = /^#sha256=([0-9a-f]{64})$/.exec(url.fragment) ?? [];
    files.push({
      ...named,
      ...{ filename, url: url.address, sha256, sizeBytes: null },
      ...{ requiresPython: attributes.get('data-requires-python') ?? null },
      yanked: attributes.has('data-yanked'),
    });
  }
  return { ok: true, value: files };
}

/** The first `>` outside quotes: a specifier may contain one. */
function endOfTag(piece: string): number {
  let quote = '';
  for (let at = 0; at < piece.length; at += 1) {
    const char = piece.charAt(at);
    if (quote !== '') quote = char === quote ? '' : quote;
    else if (char === '"' || char === "'") quote = char;
    else if (char === '>') return at;
  }
  return piece.length;
}

function readAttributes(tag: string): Map<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = '', double, single] of tag.matchAll(
    /([a-z-]+)(?:="([^"]*)"|='([^']*)'|(?=[\s>]|$))/gi,
  )) {
    attributes.set(name.toLowerCase(), decodeEntities(double ?? single ?? ''));
  }
  return attributes;
}

function decodeEntities(text: string): string {
  return text
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

function resolveUrl(href: string, base: string): { address: string; fragment: string } | null {
  if (href === '' || !URL.canParse(href, base)) return null;
  const url = new URL(href, base);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null;
  const fragment = url.hash;
  url.hash = '';
  return { address: withoutCredentials(url), fragment };
}

/** A URL safe to show: without the credentials before the `@`. */
export function withoutCredentials(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}
