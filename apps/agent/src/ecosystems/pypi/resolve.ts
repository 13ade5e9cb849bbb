import { parseReport, type ReportedWheel } from './parse-report.ts';
import type { Parsed } from './read-file.ts';
import { PIP_OPTIONS, type Shadow } from './shadow.ts';

/** Where wheels come from: the index when a plan is made, the staged files when it is carried out. */
export type WheelSource = { indexUrl: string } | { folder: string };

/**
 * Asks pip what bringing a package to a version would install. Planning and the executor's simulation both go through
 * here, so that they can only differ where pip does. What the place has already and still suits is left alone.
 */
export async function resolveWheels(
  shadow: Shadow,
  target: { name: string; version: string },
  source: WheelSource,
): Promise<Parsed<ReportedWheel[]>> {
  const isIndex = 'indexUrl' in source;
  // The address stands in a file, as it may hold a password and arguments can be read by everybody.
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

/** What pip says is wrong, without its lines of progress and advice. */
function lastErrors(output: string): string {
  const lines = output.split('\n').filter((line) => /^ERROR: /.test(line));
  const said = lines.length > 0 ? lines : output.trim().split('\n').slice(-3);
  return `pip says: ${said.join('; ').slice(0, 1_000)}`;
}

/** The requirements that are not met in a place, in pip's words: one line each. */
export async function findUnmet(shadow: Shadow): Promise<Parsed<ReadonlySet<string>>> {
  const answer = await shadow.run(['check', '--isolated', '--disable-pip-version-check', '--no-color']);
  if (answer.ok) return { ok: true, value: new Set() };
  const lines = answer.stdout.split('\n').filter((line) => line.trim() !== '');
  // The exit code is 1 for unmet requirements and for a failure of pip itself: only the first comes with lines.
  if (answer.exitCode !== 1 || lines.length === 0) return { ok: false, reason: answer.detail };
  return { ok: true, value: new Set(lines) };
}
