import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { verifyBundle } from '../evidence/verify-bundle.ts';
import type { BundleFault } from '../evidence/verify-fault.ts';

const PYTHON_FOLDER = fileURLToPath(new URL('../../../../scripts/evidence', import.meta.url));
/** Verifies every file of a folder by the second implementation (docs/evidence.md), in one process. */
const PROGRAM = `
import json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from verify_evidence import Fault, verify
found = {}
for name in sorted(os.listdir(sys.argv[2])):
    with open(os.path.join(sys.argv[2], name), "rb") as file:
        try:
            found[name] = verify(file.read(), {sys.argv[3]})
        except Fault as fault:
            found[name] = {"ok": False, "fault": fault.place}
print(json.dumps(found))
`;

export async function inPython(
  folder: string,
  pin: string,
): Promise<Record<string, { ok: boolean; fault?: BundleFault; events?: object }>> {
  const args = ['-c', PROGRAM, PYTHON_FOLDER, folder, pin];
  const { stdout } = await promisify(execFile)('python3', args, { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout);
}

/** Ours, which the command line runs. */
export function inTypeScript(bytes: Buffer, pin: string) {
  const archive = {
    size: bytes.length,
    read: (at: number, length: number) => bytes.subarray(at, at + length),
  };
  return verifyBundle(archive, { pins: { values: new Set([pin]) } });
}

/** What both verifiers say of one bundle. */
export async function inBoth(bytes: Buffer, pin: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tidegate-bundle-'));
  try {
    writeFileSync(join(folder, 'bundle'), bytes);
    const [ours, { bundle: second }] = await Promise.all([inTypeScript(bytes, pin), inPython(folder, pin)]);
    return { ours, second };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
