import { visibleLine } from './render-message.ts';

/** Longest answer or reason that is kept, in characters. */
const KEPT_MAX_CHARS = 500;
/** Shorter pieces of a secret are words that any answer may hold. */
const PIECE_MIN_CHARS = 8;

/** One bounded line in which each secret, in the forms in which it travels, and each long piece of one reads as "***". */
export function redact(text: string, secrets: readonly (string | null)[]): string {
  let clean = text;
  for (const form of secrets.flatMap(formsOf)) clean = clean.replaceAll(form, '***');
  return visibleLine(clean, KEPT_MAX_CHARS);
}

function formsOf(secret: string | null): string[] {
  if (secret === null || secret === '') return [];
  const pieces = secret.split(/[/?&=:]/).filter((piece) => piece.length >= PIECE_MIN_CHARS);
  const all = [secret, ...pieces.filter((piece) => !secret.includes(`//${piece}`))];
  return all
    .flatMap((text) => [text, encodeURIComponent(text), Buffer.from(text).toString('base64')])
    .sort((a, b) => b.length - a.length);
}
