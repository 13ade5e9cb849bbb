const NO_HOST = /[\s/\\#?<>^|]/;

/**
 * What is wrong with the host of a URL pattern, or null. A platform may cut a host off at a character that none has, and
 * then let any path match: `https://x.y{/only}` would be all of `https://x.y`. Outside of
 * braces `/`, `?` and `#` end the host.
 */
export function hostFault(pattern: string): string | null {
  const start = pattern.indexOf('://');
  let [braces, parentheses] = [0, 0];
  for (let i = start < 0 ? pattern.length : start + 3; i < pattern.length; i++) {
    let c = pattern.charAt(i);
    const isEscaped = c === '\\';
    if (isEscaped) c = pattern.charAt(++i);
    else if (c === '(') parentheses += 1;
    else if (c === ')') parentheses -= 1;
    else if (parentheses === 0 && c === '{') braces += 1;
    else if (parentheses === 0 && c === '}') braces -= 1;
    if (parentheses > 0 || !NO_HOST.test(c)) continue;
    // Not escaped it is a modifier, or the platform ends the host there too.
    if (c === '?' && !isEscaped) continue;
    return braces > 0 || !'/?#'.includes(c)
      ? `has ${JSON.stringify(c)} in its host, which no host has`
      : null;
  }
  return null;
}
