import { COMMAND_PACKAGES_SHOWN, type CommandPackage } from '@tidegate/protocol/commands-api';
import { sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';

/** The first packages, by name, of the updates that each of these commands names. */
export async function firstPackages(
  db: Db,
  commandIds: readonly string[],
): Promise<Map<string, CommandPackage[]>> {
  const found = new Map<string, CommandPackage[]>();
  for (const some of chunks(commandIds)) {
    const { rows } = await sql<CommandPackage & { command_id: string }>`
      SELECT command_id, name, from_version AS "from", to_version AS "to" FROM (
        SELECT m.command_id, u.name, u.current_version AS from_version, u.available_version AS to_version,
          row_number() OVER (PARTITION BY m.command_id ORDER BY u.name, u.id) AS place
        FROM command_updates AS m JOIN updates AS u ON u.id = m.update_id
        WHERE m.command_id IN (${sql.join(some)})
      ) AS placed WHERE place <= ${sql.lit(COMMAND_PACKAGES_SHOWN)} ORDER BY command_id, place`.execute(db);
    for (const { command_id: id, name, from, to } of rows) {
      const own = found.get(id);
      if (own) own.push({ name, from, to });
      else found.set(id, [{ name, from, to }]);
    }
  }
  return found;
}
