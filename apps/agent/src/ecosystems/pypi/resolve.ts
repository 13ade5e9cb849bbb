import { parseReport, type ReportedWheel } from './parse-report.ts';
import type { Parsed } from './read-file.ts';
import { PIP_OPTIONS, type Shadow } from './shadow.ts';

/** The source of wheels: the index for planning, the staged files for installing. */
export type WheelSource = { indexUrl: string } | { folder: string };

export interface Wish {
  name: string;
  version: string;
}

/** A failure names the wishes that conflict, where pip names them. */
export type ResolvedWheels =
  | { ok: true; value: ReportedWheel[] }
  | { ok: false; reason: string; conflicting?: readonly Wish[] };

/**
 * Lets pip resolve updates of a place together. Planning and the executor's simulation share it, so they differ only
 * where pip does. Installed packages that satisfy the requirements are kept.
 */
export async function resolveWheels(
  shadow: Shadow,
  asked: readonly Wish[],
  source: WheelSource,
): Promise<ResolvedWheels> {
  const isIndex = 'indexUrl' in source;
  // The URL is passed in a file: it may contain a password, and everybody can read arguments.
  const head = isIndex ? [`--index-url ${source.indexUrl}`] : [];
  const wishes = asked.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const lines = [...head, ...wishes.map(({ name, version }) => `${name}==${version}`)];
  const requirements = await shadow.addRequirements(`${lines.join('\n')}\n`);
  const from = isIndex ? [] : ['--no-index', '--find-links', source.folder];
  const answer = await shadow.run([
    ...['install', ...PIP_OPTIONS, '--quiet', '--dry-run', '--report', '-', '--only-binary=:all:'],
    ...from,
    ...['-r', requirements],
  ]);
  if (!answer.ok) {
    const reason = answer.stderr.trim() === '' ? answer.detail : lastErrors(answer.stderr);
    const named = findNamed(answer.stderr, wishes, head.length + 1);
    return named.length === 0
      ? { ok: false, reason }
      : {
          ok: false,
          reason: `${named.map(({ name }) => name).join(', ')} cannot be updated together: ${reason}`,
          conflicting: named,
        };
  }
  return parseReport(answer.stdout);
}

/** The wishes in pip's errors: by the line of the requirements file, or by name and version. */
export function findNamed(stderr: string, wishes: readonly Wish[], firstLine: number): Wish[] {
  const errors = stderr.split('\n').filter((line) => line.startsWith('ERROR: '));
  const numbers = new Set(
    errors.flatMap((line) => [...line.matchAll(/\(line (\d+)\)/g)].map(([, n]) => Number(n))),
  );
  const words = new Set(errors.flatMap((line) => line.split(/[\s,]+/)));
  return wishes.filter(
    ({ name, version }, index) => numbers.has(firstLine + index) || words.has(`${name}==${version}`),
  );
}

/** pip's error messages, without progress and advice. */
function lastErrors(output: string): string {
  const lines = output.split('\n').filter((line) => /^ERROR: /.test(line));
  const said = lines.length > 0 ? lines : output.trim().split('\n').slice(-3);
  return `pip says: ${said.join('; ').slice(0, 1_000)}`;
}

/** The unmet requirements of a place, in pip's words: one line each. */
export async function findUnmet(shadow: Shadow): Promise<Parsed<ReadonlySet<string>>> {
  const answer = await shadow.run(['check', '--isolated', '--disable-pip-version-check', '--no-color']);
  if (answer.ok) return { ok: true, value: new Set() };
  const lines = answer.stdout.split('\n').filter((line) => line.trim() !== '');
  // Exit code 1 means unmet requirements or a failure of pip; only the former prints lines.
  if (answer.exitCode !== 1 || lines.length === 0) return { ok: false, reason: answer.detail };
  return { ok: true, value: new Set(lines) };
}
