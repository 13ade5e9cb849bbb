import { parseReport, type ReportedWheel } from './parse-report.ts';
import type { Parsed } from './read-file.ts';
import { PIP_OPTIONS, type Shadow } from './shadow.ts';

/** The source of wheels: the index for planning, the staged files for installing. */
export type WheelSource = { indexUrl: string } | { folder: string };

/**
 * Lets pip resolve the update of a package. Planning and the executor's simulation share it, so they differ only
 * where pip does. Installed packages that satisfy the requirements are kept.
 */
export async function resolveWheels(
  shadow: Shadow,
  target: { name: string; version: string },
  source: WheelSource,
): Promise<Parsed<ReportedWheel[]>> {
  const isIndex = 'indexUrl' in source;
  // The URL is passed in a file: it may contain a password, and everybody can read arguments.
  const head = isIndex ? `--index-url ${source.indexUrl}\n` : '';
  const requirements = await shadow.addRequirements(`${head}${target.name}==${target.version}\n`);
  const from = isIndex ? [] : ['--no-index', '--find-links', source.folder];
  const answer = await shadow.run([
    ...['install', ...PIP_OPTIONS, '--quiet', '--dry-run', '--report', '-', '--only-binary=:all:'],
    ...from,
    ...['-r', requirements],
  ]);
  if (!answer.ok)
    return { ok: false, reason: answer.stderr.trim() === '' ? answer.detail : lastErrors(answer.stderr) };
  return parseReport(answer.stdout);
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
