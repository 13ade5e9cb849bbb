import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BASE_LOCK, type BaseLock, DEBIAN_ARCHS, readBaseLock } from './release/base-lock.ts';
import { openDebianArchive } from './release/debian-archive.ts';
import { sha256Of } from './release/tree.ts';

// Takes the newest versions of the packages in base.lock.json from Debian's archive, and prints what changed.
const lock = readBaseLock();
const fresh: BaseLock = { ...lock, packages: { amd64: {}, arm64: {} } };
const work = mkdtempSync(join(tmpdir(), 'tidegate-base-'));
try {
  for (const arch of DEBIAN_ARCHS) {
    const archive = openDebianArchive(lock.suite, arch);
    try {
      for (const [name, before] of Object.entries(lock.packages[arch])) {
        const version = archive.newest(name);
        fresh.packages[arch][name] = { version, sha256: sha256Of(archive.download(name, version, work)) };
        if (version !== before.version)
          process.stdout.write(`${arch} ${name} ${before.version} -> ${version}\n`);
      }
    } finally {
      archive.close();
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
writeFileSync(BASE_LOCK, `${JSON.stringify(fresh, null, 2)}\n`);
