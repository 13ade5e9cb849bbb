import fc from 'fast-check';
import type { Ecosystem } from '../osv-ecosystems.ts';

/** Versions that are well-formed in their ecosystem, chosen for what goes wrong: see each list below. */
export function versionsOf(ecosystem: Ecosystem): fc.Arbitrary<string> {
  const generators = {
    npm: npmVersion,
    pypi: pypiVersion,
    apt: aptVersion,
    dnf: dnfVersion,
    tidegate: npmVersion,
  };
  return generators[ecosystem]().filter(WELL_FORMED[ecosystem]);
}

/**
 * Some versions of one ecosystem: strangers, or each made of the one before by a few small edits, or by another way to
 * spell it, which random noise would never meet.
 */
export function groupsOf(ecosystem: Ecosystem, size: number): fc.Arbitrary<string[]> {
  const version = versionsOf(ecosystem);
  const isWellFormed = WELL_FORMED[ecosystem];
  const { inserted, spellings } = EDITS[ecosystem];
  const kin = fc.oneof(
    kinOf({ version, edits: [...anywhere(inserted), ...changes, ...spellings], isWellFormed, size }),
    kinOf({ version, edits: spellings, isWellFormed, size }),
  );
  return fc.oneof(
    { weight: 1, arbitrary: fc.array(version, { minLength: size, maxLength: size }) },
    { weight: 2, arbitrary: kin },
    // In both directions, so that the shorter one stands on either side.
    { weight: 2, arbitrary: kin.map((versions) => versions.toReversed()) },
  );
}

// Leading zeros, neighbours around 2^53, and runs that no number type holds.
const LONG = '9'.repeat(40);
const DIGITS = fc.constantFrom(
  ...['0', '00', '1', '01', '2', '9', '09', '10', '99', '100', '20240101'],
  ...['9007199254740992', '9007199254740993', LONG, `${'0'.repeat(40)}1`, `1${'0'.repeat(39)}`],
);
const SMALL = fc.constantFrom('0', '1', '2', '9', '10', '99', '9007199254740991');
const WORDS = fc.constantFrom('a', 'b', 'z', 'A', 'Z', 'rc', 'alpha', 'dfsg', 'git', 'el9', 'fc');

const APT_VERSION = /^(?:[0-9]{1,9}:)?[0-9](?:[A-Za-z0-9.+~-]*-[A-Za-z0-9.+~]+|[A-Za-z0-9.+~]*)$/;
const DNF_VERSION = /^(?:[0-9]{1,9}:)?[A-Za-z0-9._+~^]+(?:-[A-Za-z0-9._+~^]+)?$/;
// https://semver.org, "Is there a suggested regular expression", without its groups.
const NPM_VERSION =
  /^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/;

const WELL_FORMED: Readonly<Record<Ecosystem, (text: string) => boolean>> = {
  npm: isNpmVersion,
  // What PEP 440 does not know stays in: both sides have to say so.
  pypi: (text) => text === text.trim() && text !== '',
  apt: (text) => APT_VERSION.test(text),
  dnf: (text) => DNF_VERSION.test(text),
  tidegate: isNpmVersion,
};

function isNpmVersion(text: string): boolean {
  const [withoutBuild = ''] = text.split('+');
  const numbers = withoutBuild.split(/[.-]/).filter((part) => /^\d+$/.test(part));
  return NPM_VERSION.test(text) && numbers.every((part) => BigInt(part) <= BigInt(Number.MAX_SAFE_INTEGER));
}

function aptVersion(): fc.Arbitrary<string> {
  const separator = fc.constantFrom('.', '.', '+', '~', '~~', '-', '');
  return fc
    .tuple(
      fc.constantFrom('', '', '0:', '00:', '1:', '01:', '10:'),
      runsOf(separator),
      tailOf('-', separator),
    )
    .map(([epoch, upstream, revision]) => epoch + upstream + revision);
}

function dnfVersion(): fc.Arbitrary<string> {
  const separator = fc.constantFrom('.', '.', '_', '+', '~', '~~', '^', '^^', '');
  return fc
    .tuple(
      fc.constantFrom('', '', '0:', '00:', '1:', '01:', '10:'),
      runsOf(separator),
      tailOf('-', separator),
    )
    .map(([epoch, version, release]) => epoch + version + release);
}

/** Runs of digits and of letters with something between them, a digit first. */
function runsOf(separator: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const part = fc
    .tuple(separator, fc.oneof({ weight: 2, arbitrary: DIGITS }, { weight: 1, arbitrary: WORDS }))
    .map((both) => both.join(''));
  return fc.tuple(DIGITS, fc.array(part, { maxLength: 3 })).map(([first, rest]) => first + rest.join(''));
}

function tailOf(sign: string, separator: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.option(runsOf(separator)).map((text) => (text === null ? '' : sign + text));
}

function npmVersion(): fc.Arbitrary<string> {
  const identifier = fc.oneof(SMALL, WORDS, fc.constantFrom('-', '--', '1e5', '00a', 'a0', '-1'));
  const list = fc.array(identifier, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'));
  const build = fc.option(fc.oneof(list, fc.constantFrom(LONG, '007')));
  return fc
    .tuple(SMALL, SMALL, SMALL, fc.option(list), build)
    .map(
      ([a, b, c, pre, after]) =>
        `${a}.${b}.${c}${pre === null ? '' : `-${pre}`}${after === null ? '' : `+${after}`}`,
    );
}

function pypiVersion(): fc.Arbitrary<string> {
  const number = fc.oneof({ weight: 3, arbitrary: DIGITS }, { weight: 1, arbitrary: fc.constant('') });
  const stage = (...letters: string[]) =>
    fc
      .tuple(
        fc.constantFrom('', '.', '-', '_'),
        fc.constantFrom(...letters),
        fc.constantFrom('', '.'),
        number,
      )
      .map((parts) => parts.join(''));
  const local = fc
    .array(fc.oneof(DIGITS, WORDS, fc.constantFrom('1e5', '0x1', 'infinity', '1a')), {
      minLength: 1,
      maxLength: 3,
    })
    .map((parts) => `+${parts.join('.')}`);
  const orNothing = (text: fc.Arbitrary<string>) => fc.option(text).map((each) => each ?? '');
  return fc
    .tuple(
      fc.constantFrom('', '', '', 'v', '0!', '1!', '01!', `${LONG}!`),
      fc.array(DIGITS, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.')),
      orNothing(stage('a', 'alpha', 'b', 'beta', 'c', 'rc', 'pre', 'preview', 'RC')),
      orNothing(
        fc.oneof(
          stage('post', 'rev', 'r'),
          DIGITS.map((digits) => `-${digits}`),
        ),
      ),
      orNothing(stage('dev')),
      orNothing(local),
    )
    .map((parts) => parts.join(''));
}

type Edit = (text: string, at: number) => string;

function kinOf(given: {
  version: fc.Arbitrary<string>;
  edits: readonly Edit[];
  isWellFormed: (text: string) => boolean;
  size: number;
}): fc.Arbitrary<string[]> {
  const { version, edits, isWellFormed, size } = given;
  const step = fc.tuple(fc.constantFrom(...edits), fc.nat(60));
  const steps = fc.array(step, { minLength: 1, maxLength: 3 });
  return fc
    .tuple(version, fc.array(steps, { minLength: size - 1, maxLength: size - 1 }))
    .map(([first, generations]) => {
      const versions = [first];
      for (const generation of generations) {
        let text = versions.at(-1) ?? first;
        for (const [edit, at] of generation) {
          const next = edit(text, at % (text.length + 1));
          if (isWellFormed(next)) text = next;
        }
        versions.push(text);
      }
      return versions;
    });
}

/** What is put in anywhere, and the other ways to spell one version, of each ecosystem. */
const NPM_EDITS: { inserted: readonly string[]; spellings: readonly Edit[] } = {
  inserted: ['0', '1', '9', '-', '-0', '-a', '.0', '.a', '+a', 'a', '-1e5'],
  spellings: [(text) => `${text}+1`, (text) => `${text}-01a`, (text) => text.split('+', 1).join('')],
};
const EDITS: Readonly<Record<Ecosystem, typeof NPM_EDITS>> = {
  npm: NPM_EDITS,
  tidegate: NPM_EDITS,
  pypi: {
    inserted: ['0', '1', '.0', '.1', 'a', 'rc', '.dev1', '.dev', '.post1', '-1', '+a', '+1', '.', '1!'],
    spellings: [
      ...['v', '0!'].map(toggled),
      (text) => text.replace(/^((?:[0-9]+!)?[0-9.]*[0-9])(?=[^0-9.!]|$)/, '$1.0'),
      (text) => text.replace(/alpha|a/i, 'ALPHA').replace(/pre|c(?=[0-9])/i, 'rc'),
      (text) => text.replace(/[-_.]?(post|rev|r)(?=[-_.0-9])/i, '_Rev'),
      (text) => text.replace(/[-_.]?dev/i, 'DEV'),
      (text) => text.replace(/(dev|post)0?$/i, '$1.00'),
      withZero,
      withoutZeros,
    ],
  },
  apt: {
    inserted: ['0', '1', '.', '.0', '~', '+', '-', '-1', 'a', 'Z', '~~', '+b1', '1:'],
    spellings: [
      ...['0:', '00:'].map(toggled),
      (text) => `${text}-0`,
      (text) => `${text}0`,
      withZero,
      withoutZeros,
    ],
  },
  dnf: {
    inserted: ['0', '1', '.', '.0', '~', '^', '+', '-1', 'a', 'Z', '_', '1:'],
    spellings: [
      ...['0:', '00:'].map(toggled),
      (text) => `${text}.`,
      (text) => text.replaceAll('.', '_'),
      (text) => text.replace(/([._+])/, '$1$1'),
      (text) => text.replace(/([0-9])([A-Za-z])/, '$1.$2'),
      withZero,
      withoutZeros,
    ],
  },
};

const changes: readonly Edit[] = [
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => changeRun(text, at, (run) => `${BigInt(run) + 1n}`),
  (text, at) => changeRun(text, at, () => LONG),
  (text) => text.toUpperCase(),
];

function anywhere(inserted: readonly string[]): Edit[] {
  return inserted.map((some) => (text, at) => text.slice(0, at) + some + text.slice(at));
}

function toggled(prefix: string): Edit {
  return (text) => (text.startsWith(prefix) ? text.slice(prefix.length) : prefix + text);
}

function withZero(text: string, at: number): string {
  return changeRun(text, at, (run) => `0${run}`);
}

function withoutZeros(text: string, at: number): string {
  return changeRun(text, at, (run) => run.replace(/^0+(?=.)/, ''));
}

function changeRun(text: string, at: number, change: (run: string) => string): string {
  const runs = [...text.matchAll(/[0-9]+/g)];
  const run = runs[at % Math.max(1, runs.length)];
  if (run === undefined) return text;
  return text.slice(0, run.index) + change(run[0]) + text.slice(run.index + run[0].length);
}
