const HIDDEN = '[hidden]';
/** Shorter known secrets are not searched for: they would hide ordinary words. */
const SECRET_MIN = 4;

/**
 * Hides secrets in text: those that are known, and whatever has the form of one, wherever it stands. What a bundle needs
 * of such a form (an id, a version, a date) is shorter or has another form.
 */
export function scrub(text: string, secrets: readonly string[]): string {
  const known = [...new Set(secrets.flatMap(spellings))]
    .filter((secret) => secret.length >= SECRET_MIN)
    .sort((a, b) => b.length - a.length);
  const without = known.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
  return FORMS.reduce((rest, [form, replacement]) => rest.replace(form, replacement), without);
}

/** As it is, as a URL has it, and as JSON has it. */
function spellings(secret: string): string[] {
  return [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
}

const FORMS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g, HIDDEN],
  // The user name goes too: some services take a token there. A password may hold an "@" that is not encoded.
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s"'/]*@/gi, `$1${HIDDEN}@`],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'?#]+)[?#][^\s"'\\]+/gi, `$1?${HIDDEN}`],
  [/\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s*[:=]\s*["']?)[^\r\n"']+/gi, `$1$2${HIDDEN}`],
  [/\b(bearer|basic)(\s+)[\w.~+/=-]{3,}/gi, `$1$2${HIDDEN}`],
  [
    /\b([\w-]*(?:password|passwd|secret|token|private_key|recovery_code)["']?\s*[:=]\s*["']?)[^\s"',;}]+/gi,
    `$1${HIDDEN}`,
  ],
  [/(\/setup\/)[\w-]+/g, `$1${HIDDEN}`],
  // Tokens of API, enrolment, FleetLock and refresh; JWT.
  [/\b(?:tg[a-z]{0,3}_|rt1\.|eyJ)[\w.-]{8,}/g, HIDDEN],
  // Groups of letters and digits, such as a recovery code; an id has groups of other lengths.
  [/(?<![\w-])[A-Za-z0-9]{4,5}(?:-[A-Za-z0-9]{4,5}){2,}(?![\w-])/g, HIDDEN],
  // Random bytes as base64 or base32: small and capital letters, or capitals and digits alone.
  [/(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{25,}/g, HIDDEN],
  [/\b(?:[A-Z2-7]{26,}|[0-9a-fA-F]{32,})\b/g, HIDDEN],
  [/[A-Za-z0-9_+/=-]{44,}/g, HIDDEN],
];
