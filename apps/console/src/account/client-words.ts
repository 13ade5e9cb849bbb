const SHOWN_MAX = 40;

/** First match wins: browsers also name those that they are compatible with. */
const BROWSERS: readonly (readonly [string, RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|Chromium|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+).*Safari/],
];

const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ['an iPhone', /iPhone/],
  ['an iPad', /iPad/],
  ['Android', /Android/],
  ['ChromeOS', /CrOS/],
  ['Windows', /Windows/],
  ['macOS', /Macintosh|Mac OS X/],
  ['Linux', /Linux/],
];

/** The client that a User-Agent header names, in words. Clients may send anything, so it proves nothing. */
export function clientInWords(userAgent: string): string {
  const text = userAgent.trim();
  for (const [name, pattern] of BROWSERS) {
    const version = pattern.exec(text)?.[1];
    if (version === undefined) continue;
    const system = SYSTEMS.find(([, shape]) => shape.test(text))?.[0];
    return `${name} ${version}${system === undefined ? '' : ` on ${system}`}`;
  }
  const program = /^([\w.-]{1,40})\/(\d+)/.exec(text);
  if (program && !text.startsWith('Mozilla/')) return `${program[1]} ${program[2]}`;
  if (text === '') return 'an unknown program';
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
