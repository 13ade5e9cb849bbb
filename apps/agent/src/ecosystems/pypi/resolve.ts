import type { Identity, ProgramResult } from '../../platform/run-program.ts';
import type { Interpreter } from './interpreter.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import { parseReport, type ReportedWheel } from './parse-report.ts';
import type { Parsed } from './read-file.ts';
import { PIP_OPTIONS, type Shadow, withShadow } from './shadow.ts';

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
  const wishes = asked.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const answer = await askPip(shadow, wishes, { source });
  if (!answer.ok) {
    const reason = answer.stderr.trim() === '' ? answer.detail : lastErrors(answer.stderr);
    const named = findNamed(answer.stderr, wishes, headOf(source).length + 1);
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

/**
 * Reads what each pin brings, without resolving: a rollback names all of its packages. A version that the shadow has is
 * not reported.
 */
export async function resolvePins(
  shadow: Shadow,
  pins: readonly Wish[],
  source: WheelSource,
): Promise<Parsed<ReportedWheel[]>> {
  if (pins.length === 0) return { ok: true, value: [] };
  const answer = await askPip(shadow, pins, { source, options: ['--no-deps'] });
  if (answer.ok) return parseReport(answer.stdout);
  return { ok: false, reason: answer.stderr.trim() === '' ? answer.detail : lastErrors(answer.stderr) };
}

/** The URL is passed in a file: it may contain a password, and everybody can read arguments. */
async function askPip(
  shadow: Shadow,
  wishes: readonly Wish[],
  { source, options = [] }: { source: WheelSource; options?: readonly string[] },
): Promise<ProgramResult> {
  const isIndex = 'indexUrl' in source;
  const lines = [...headOf(source), ...wishes.map(({ name, version }) => `${name}==${version}`)];
  const requirements = await shadow.addRequirements(`${lines.join('\n')}\n`);
  const from = isIndex ? [] : ['--no-index', '--find-links', source.folder];
  return shadow.run([
    ...['install', ...PIP_OPTIONS, '--quiet', '--dry-run', '--report', '-', '--only-binary=:all:'],
    ...options,
    ...from,
    ...['-r', requirements],
  ]);
}

function headOf(source: WheelSource): string[] {
  return 'indexUrl' in source ? [`--index-url ${source.indexUrl}`] : [];
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

/** The requirements that are met now and would not be afterwards, in pip's words. */
export async function findBroken(
  { before, after }: { before: readonly CoreMetadata[]; after: readonly CoreMetadata[] },
  tools: { interpreter: Interpreter; identity: Identity | null },
): Promise<Parsed<string[]>> {
  const unmet = await withShadow({ ...tools, distributions: after }, findUnmet);
  if (!unmet.ok || unmet.value.size === 0) return unmet.ok ? { ok: true, value: [] } : unmet;
  const today = await withShadow({ ...tools, distributions: before }, findUnmet);
  if (!today.ok) return today;
  return { ok: true, value: [...unmet.value].filter((line) => !today.value.has(line)) };
}
