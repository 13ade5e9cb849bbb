import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AGENT_TARGETS, compileAgent, OWN_TARGET } from './compile-agent.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const USAGE = `Usage: node scripts/build-agent.ts [--target TARGET] [--outfile FILE]
Compiles the agent into one file, apps/agent/dist/tidegate-agent, with the Bun from the lockfile.
TARGET is one of ${AGENT_TARGETS.join(', ')}; by default this machine.
`;

const { values } = parseArgs({
  options: { target: { type: 'string' }, outfile: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help) process.stdout.write(USAGE);
else process.exitCode = build(values);

/** Returns the exit code: 0 built, 1 not. */
function build(options: { target?: string | undefined; outfile?: string | undefined }): number {
  const target = options.target ?? OWN_TARGET;
  const name = target.includes('windows') ? 'tidegate-agent.exe' : 'tidegate-agent';
  const outfile = options.outfile ?? join(ROOT, 'apps/agent/dist', name);
  const startedMs = performance.now();
  const compiled = compileAgent({ target, outfile });
  if (!compiled.ok) {
    process.stderr.write(`The agent was not built: ${compiled.fault}\n`);
    return 1;
  }
  const megabytes = (statSync(outfile).size / 1e6).toFixed(1);
  const tookMs = Math.round(performance.now() - startedMs);
  process.stdout.write(`${outfile}: ${megabytes} MB in ${tookMs} ms\n`);
  return 0;
}
