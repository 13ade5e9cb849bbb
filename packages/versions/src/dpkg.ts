import { compareDigits, isDigit, type Order, type Sign, signOf } from './order.ts';

type DpkgVersion = { epoch: string; upstream: string; revision: string };

/** Debian's order: deb-version(7), and Debian Policy 5.6.12. What dpkg calls a syntax error is not parsed. */
export const dpkgOrder: Order<DpkgVersion> = {
  parse(text) {
    const colon = text.indexOf(':');
    const epoch = colon === -1 ? '0' : text.slice(0, colon); // an absent epoch equals 0:
    const rest = text.slice(colon + 1);
    const dash = rest.lastIndexOf('-');
    const upstream = dash === -1 ? rest : rest.slice(0, dash);
    const revision = dash === -1 ? '0' : rest.slice(dash + 1); // an absent revision equals -0
    if (!/^[0-9]+$/.test(epoch) || !/^[A-Za-z0-9.+~:-]+$/.test(upstream)) return null;
    return /^[A-Za-z0-9.+~]+$/.test(revision) ? { epoch, upstream, revision } : null;
  },
  compare(a, b) {
    return (
      compareDigits(a.epoch, b.epoch) ||
      compareParts(a.upstream, b.upstream) ||
      compareParts(a.revision, b.revision)
    );
  },
};

/** Alternates between a run without digits, compared by weight, and a run of digits, compared by value. */
function compareParts(a: string, b: string): Sign {
  let left = 0;
  let right = 0;
  while (left < a.length || right < b.length) {
    while (isInWord(a, left) || isInWord(b, right)) {
      const difference = weight(a, left) - weight(b, right);
      if (difference !== 0) return signOf(difference);
      left += 1;
      right += 1;
    }
    const leftEnd = endOfDigits(a, left);
    const rightEnd = endOfDigits(b, right);
    const difference = compareDigits(a.slice(left, leftEnd), b.slice(right, rightEnd));
    if (difference !== 0) return difference;
    left = leftEnd;
    right = rightEnd;
  }
  return 0;
}

/** `~` sorts before the end, the end (and a digit) before letters, letters before everything else. */
function weight(text: string, at: number): number {
  if (!isInWord(text, at)) return 0;
  const code = text.charCodeAt(at);
  if (text[at] === '~') return -1;
  return /[A-Za-z]/.test(text.charAt(at)) ? code : code + 256;
}

function isInWord(text: string, at: number): boolean {
  return at < text.length && !isDigit(text, at);
}

function endOfDigits(text: string, from: number): number {
  let end = from;
  while (isDigit(text, end)) end += 1;
  return end;
}
