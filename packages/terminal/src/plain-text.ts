/** Text for a terminal: control, formatting and unpaired characters are spelled out, as hosts send some of it. */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, spelled);
}

/** The same for text of several lines, which keep their ends and tabs. */
export function plainLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split('\t').map(plainText).join('\t'));
}

function spelled(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
