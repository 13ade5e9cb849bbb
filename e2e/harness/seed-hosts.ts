import { openBeside } from './open-beside.ts';

const UPDATES_OF_HOST = 10;
const PACKAGES = 400;

/** Writes so many hosts, with ten pending updates each, into the database of a server that runs; nobody answers for them. */
export function seedHosts(dataDir: string, count: number): void {
  const database = openBeside(dataDir);
  try {
    const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count - 1})`;
    const now = Date.now();
    const host = idOf('8', 'n');
    database.exec(`BEGIN IMMEDIATE;
      INSERT INTO agents (id, machine_id, status, hostname, os_family, os_id, os_version_id, os_arch, agent_version,
          key_set_version, next_seq, inventory_digests, enrolled_at, group_name)
        ${numbers} SELECT ${host}, 'machine-' || n, 'active', printf('many-%05d.example.invalid', n), 'linux', 'debian',
          '12', 'amd64', '1.0.0', 0, 1, '{}', ${now} - n * 1000, 'group-' || (n % 20) FROM numbers;
      INSERT INTO agent_presence (agent_id, last_seen_at) ${numbers} SELECT ${host}, ${now} + 3600000 FROM numbers;
      INSERT INTO updates (id, agent_id, ecosystem, name, arch, current_version, available_version, state, verdict,
          judged_at, fixes, fixes_severity, fix_rank, discovered_at, updated_at)
        ${numbers}, offers(o) AS (SELECT 0 UNION ALL SELECT o + 1 FROM offers WHERE o < ${UPDATES_OF_HOST - 1})
        SELECT ${idOf('9', `n * ${UPDATES_OF_HOST} + o`)}, ${host}, 'apt',
          printf('package-%03d', (n * 7 + o * 41) % ${PACKAGES}), 'amd64', '1.0-1', '1.1-1', 'pending', 'clear', ${now},
          (n + o) % 3 = 0, CASE WHEN (n + o) % 3 = 0 THEN 'high' END, CASE WHEN (n + o) % 3 = 0 THEN 5 ELSE 0 END,
          ${now} - n * 1000, ${now} FROM numbers CROSS JOIN offers;
      INSERT OR IGNORE INTO update_names (ecosystem, name) SELECT DISTINCT ecosystem, name FROM updates;
      COMMIT`);
  } finally {
    database.close();
  }
}

function idOf(group: '8' | '9', n: string): string {
  return `printf('01900000-0000-7000-${group}000-%012x', ${n})`;
}
