import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SUMS_FILE } from '@tidegate/signing/release';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { writeAgentsFolder } from './release/agents-folder.ts';
import { writeTarGz } from './release/archive.ts';
import { writeImage } from './release/image.ts';
import { buildPackage, type Product } from './release/os-packages.ts';
import { ReleaseFault } from './release/release-fault.ts';
import { type ReleaseSigner, signerOfKey, signerOfRecord } from './release/release-signer.ts';
import { sbomOf } from './release/sbom.ts';
import { signRpm } from './release/sign-rpm.ts';
import { buildServerParts, type Staged, stageAgent, stageServer } from './release/stage.ts';
import { isLinux, isTarget, type LinuxTarget, TARGETS, type Target } from './release/targets.ts';
import { filesOf, put, sha256Of } from './release/tree.ts';
import { swapFolder } from './swap-folder.ts';

const ROOT = join(import.meta.dirname, '..');
const PRODUCTS: readonly Product[] = ['tidegate', 'tidegate-agent'];
const FORMATS = ['tar.gz', 'deb', 'rpm', 'oci'] as const;
type AnyFormat = (typeof FORMATS)[number];

const USAGE = `Usage: npm run release -- [OPTIONS]
Builds the server and the agent as tar.gz, deb and rpm, and the server as a container image, with an SBOM of each and
SHA256SUMS, into dist/release. The same commit gives the same bytes. What npm did not install here comes from the registry,
and the base of the image from Debian, by the hashes of package-lock.json and packaging/container/base.lock.json.

  --out DIR         where to; an older release there is replaced
  --target NAME     ${Object.keys(TARGETS).join(', ')}; may be repeated; by default all
  --product NAME    ${PRODUCTS.join(', ')}; may be repeated; by default both
  --format NAME     ${FORMATS.join(', ')}; may be repeated; by default all
  --release-key FILE
                    signs the repositories of the agent with the offline key, as tidegate keys release make writes it
  --signatures FILE
                    takes the signatures from the agents-signatures.json of a signed build instead
  --earlier DIR     lets hosts go back to the agent of the release in DIR; may be repeated
  --agents DIR      writes what a server serves to its hosts there as well; dist/agents is for a server run from here
  --fast            compresses little, for tests

Without key and signatures there are no repositories of the agent, and no package tidegate-agents.

Then sign it, on a machine that is not connected: tidegate keys release sign dist/release --key FILE
`;

interface Wanted {
  targets: readonly Target[];
  products: readonly Product[];
  formats: readonly AnyFormat[];
  isFast: boolean;
  out: string;
  agents: string | null;
  earlier: readonly string[];
  releaseKey: string | null;
  signatures: string | null;
}

const MANIFEST = Type.Object({ version: Type.String() });
const { version: VERSION } = Value.Parse(
  MANIFEST,
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')),
);

const wanted = readWanted();
if (typeof wanted === 'string') {
  process.stderr.write(wanted);
  process.exitCode = 2;
} else {
  try {
    await release(wanted);
  } catch (error) {
    if (!(error instanceof ReleaseFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/** The options, or what is wrong with them. */
function readWanted(): Wanted | string {
  const values = readOptions();
  if (typeof values === 'string') return values;
  if (values.help) return USAGE;
  const { target = Object.keys(TARGETS), product = PRODUCTS, format = FORMATS, fast, out } = values;
  const products = PRODUCTS.filter((name) => product.includes(name));
  const formats = FORMATS.filter((name) => format.includes(name));
  const targets = target.filter(isTarget);
  const isKnown = (given: readonly string[], known: readonly string[]) => given.length === known.length;
  if (!isKnown(target, targets) || !isKnown(product, products) || !isKnown(format, formats)) return USAGE;
  const { agents = null, earlier = [], 'release-key': releaseKey = null, signatures = null } = values;
  for (const [option, folder] of Object.entries({ out, agents })) {
    if (folder === null || !existsSync(folder)) continue;
    if (readdirSync(folder).length === 0 || existsSync(join(folder, SUMS_FILE))) continue;
    return `--${option} is ${JSON.stringify(folder)}, which is no release; allowed: a folder that is absent, empty or an older release\n`;
  }
  const empty = earlier.find((folder) => !holdsAgent(folder));
  if (empty !== undefined)
    return `--earlier is ${JSON.stringify(empty)}; allowed: a folder with the packages of the agent of an earlier release\n`;
  if (releaseKey !== null && signatures !== null)
    return '--release-key makes signatures and --signatures takes them: allowed is one of both\n';
  return {
    ...{ targets, products, formats, isFast: fast, out: resolve(out) },
    ...{ agents: agents === null ? null : resolve(agents), earlier, releaseKey, signatures },
  };
}

function readOptions() {
  const many = { type: 'string', multiple: true } as const;
  try {
    return parseArgs({
      options: {
        out: { type: 'string', default: join(ROOT, 'dist/release') },
        target: many,
        product: many,
        format: many,
        fast: { type: 'boolean', default: false },
        agents: { type: 'string' },
        earlier: many,
        'release-key': { type: 'string' },
        signatures: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    return `${error instanceof Error ? error.message : error}\n`;
  }
}

function holdsAgent(folder: string): boolean {
  return (
    existsSync(folder) &&
    statSync(folder).isDirectory() &&
    readdirSync(folder).some((name) => /^tidegate-agent_.*\.(?:deb|rpm)$/.test(name))
  );
}

/** Everything is built in a folder of its own, which then takes the place of the last release. */
async function release(wanted: Wanted): Promise<void> {
  const { targets, products, formats, isFast, out } = wanted;
  const epochSeconds = releaseTime();
  const signer = await signerOf(wanted, epochSeconds);
  const publicAsc = signer?.publicAsc ?? null;
  const about = { version: VERSION, epochSeconds };
  mkdirSync(dirname(out), { recursive: true });
  // On the file system of `out`, so that the release comes to its place as a whole.
  const work = mkdtempSync(join(dirname(out), '.release-'));
  const made = join(work, 'release');
  mkdirSync(made);
  try {
    for (const product of products) {
      const parts = product === 'tidegate' ? await buildServerParts(work) : null;
      for (const target of targets) {
        if (parts !== null && !isLinux(target)) continue;
        const name = `${product}_${VERSION}_${target}`;
        const tree = join(work, name);
        const staged =
          parts !== null && isLinux(target)
            ? stageServer(tree, target, parts, about)
            : stageAgent(tree, target, { ...about, publicAsc });
        for (const format of formats) await writeArtifact(format, { product, target, staged });
        const sbom = sbomOf({ ...staged, name: product, version: VERSION, target, epochSeconds });
        writeFileSync(join(made, `${name}.cdx.json`), sbom);
        process.stdout.write(`${name}\n`);
        rmSync(tree, { recursive: true });
      }
    }
    if (products.includes('tidegate') && formats.includes('oci')) writeDeploymentFiles();
    if (products.includes('tidegate-agent') && targets.some(isLinux)) await writeAgents();
    const sums = filesOf(made).map(({ path, sha256 }) => `${sha256}  ${path}\n`);
    writeFileSync(join(made, SUMS_FILE), sums.join(''));
    swapFolder(made, out);
    process.stdout.write(`${out}: ${sums.length} files, ${SUMS_FILE} ${sha256Of(join(out, SUMS_FILE))}\n`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }

  async function writeArtifact(
    format: AnyFormat,
    { product, target, staged }: { product: Product; target: Target; staged: Staged },
  ): Promise<void> {
    const { tree, files } = staged;
    if (format === 'tar.gz') {
      const file = join(made, `${product}_${VERSION}_${target}.tar.gz`);
      writeTarGz(tree, { out: file, epochSeconds, gzipLevel: isFast ? 1 : 9 });
      return;
    }
    if (!isLinux(target)) return;
    if (format === 'oci') {
      if (product === 'tidegate') writeServerImage(staged, target);
      return;
    }
    const arch = TARGETS[target].packageArch;
    const file = join(made, `${product}_${VERSION}_${target}.${format}`);
    buildPackage(format, { product, version: VERSION, arch, tree, files, epochSeconds, isFast, out: file });
    // dnf has the agent's executor insist on it. Nothing installs a server through a repository.
    if (signer !== null && format === 'rpm' && product === 'tidegate-agent') await signRpm(file, signer);
  }

  function writeServerImage(staged: Staged, target: LinuxTarget): void {
    const out = join(made, `tidegate_${VERSION}_${target}.oci.tar`);
    const { base, files } = writeImage(staged, { target, version: VERSION, epochSeconds, isFast, out });
    const name = 'tidegate-image';
    const sbom = sbomOf({ ...staged, name, version: VERSION, target, files, base, epochSeconds });
    writeFileSync(join(made, `${name}_${VERSION}_${target}.cdx.json`), sbom);
  }

  /** What a server serves to its hosts; as a package only with its signatures, which hosts insist on. */
  async function writeAgents(): Promise<void> {
    const name = 'tidegate-agents';
    const tree = join(work, name);
    const folder = join(tree, 'usr/share/tidegate/agents');
    await writeAgentsFolder(folder, {
      made,
      version: VERSION,
      targets,
      earlier: wanted.earlier,
      signer,
      epochSeconds,
    });
    if (signer === null) {
      process.stdout.write(
        `No ${name}: without --release-key or --signatures the agent has no apt and dnf repository\n`,
      );
    } else {
      const files = filesOf(tree);
      for (const format of ['deb', 'rpm'] as const) {
        if (!formats.includes(format)) continue;
        const file = join(made, `${name}_${VERSION}_all.${format}`);
        const about = { product: name, version: VERSION, arch: 'all', isFast: true } as const;
        buildPackage(format, { ...about, tree, files, epochSeconds, out: file });
      }
      const contents = { packages: [], files, epochSeconds };
      const sbom = sbomOf({ name, version: VERSION, target: 'all', ...contents });
      writeFileSync(join(made, `${name}_${VERSION}_all.cdx.json`), sbom);
      writeFileSync(join(made, 'agents-signatures.json'), signer.record());
      process.stdout.write(`${name}, signed by ${signer.publicKeyHex}\n`);
    }
    if (wanted.agents !== null) {
      mkdirSync(dirname(wanted.agents), { recursive: true });
      const beside = mkdtempSync(join(dirname(wanted.agents), '.agents-'));
      try {
        put(beside, 'agents', folder);
        swapFolder(join(beside, 'agents'), wanted.agents);
      } finally {
        rmSync(beside, { recursive: true, force: true });
      }
    }
  }

  /** Compose files and chart: what runs the image, for every target. */
  function writeDeploymentFiles(): void {
    const name = `tidegate-container_${VERSION}`;
    const tree = join(work, name);
    for (const folder of ['container', 'helm']) put(tree, folder, join(ROOT, 'packaging', folder));
    writeTarGz(tree, { out: join(made, `${name}.tar.gz`), epochSeconds, gzipLevel: isFast ? 1 : 9 });
  }
}

async function signerOf(
  { releaseKey, signatures }: Wanted,
  epochSeconds: number,
): Promise<ReleaseSigner | null> {
  if (releaseKey !== null) return signerOfKey(releaseKey, epochSeconds);
  return signatures === null ? null : signerOfRecord(signatures, epochSeconds);
}

/** In seconds since 1970: SOURCE_DATE_EPOCH, or the time of the commit. */
function releaseTime(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  const text =
    given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).trim();
  if (!/^[0-9]{1,10}$/.test(text))
    throw new ReleaseFault(`SOURCE_DATE_EPOCH is ${JSON.stringify(text)}; allowed: seconds since 1970`);
  return Number(text);
}
