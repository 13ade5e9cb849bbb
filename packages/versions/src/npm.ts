import { parse, type SemVer } from 'semver';
import { compareDigits, type Order } from './order.ts';

/** Semantic Versioning 2.0.0, strict: three parts, build metadata ignored, no number above 2^53 - 1. */
export const npmOrder: Order<SemVer> = {
  parse(text) {
    if (text !== text.trim()) return null; // the library trims, and a version with space around it is no version
    const version = parse(text);
    // The library refuses large numbers in the three parts, and rounds them in a prerelease.
    return version === null || version.prerelease.some(isRounded) ? null : version;
  },
  compare: (a, b) => a.compare(b),
};

const largestExact = '9007199254740991';

function isRounded(identifier: string | number): boolean {
  return /^[0-9]+$/.test(`${identifier}`) && compareDigits(`${identifier}`, largestExact) > 0;
}
