import { VexJustification } from '@tidegate/protocol/vex-api';
import { Value } from 'typebox/value';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import {
  byVulnerability,
  isInForce,
  type StatementFact,
  type StatementIndex,
} from '../vex/statement-rules.ts';
import { factOf, type StatementRow, statementsInForceAfter } from '../vex/store.ts';
import type { HostRow } from './facts-store.ts';

/** What operators say of vulnerabilities on a host. */
export interface Said {
  readonly statements: StatementIndex;
  /** By the id of the statement. */
  readonly words: ReadonlyMap<string, Words>;
}

interface Words {
  readonly text: string;
  readonly justification: VexJustification | null;
}

/** Reads all statements that are in force, once; the answer picks those of a host. */
export async function readStatements(db: Db, nowMs: number): Promise<(host: HostRow) => Said> {
  const facts: StatementFact[] = [];
  const words = new Map<string, Words>();
  for (let after: string | null = null; ; ) {
    await takeTurn();
    const page: StatementRow[] = await statementsInForceAfter(db, { nowMs, after });
    for (const row of page) {
      const { id, text, justification } = row;
      facts.push(factOf(row));
      words.set(id, {
        text,
        justification: justification === null ? null : Value.Parse(VexJustification, justification),
      });
    }
    const last = page.at(-1);
    if (!last) break;
    after = last.id;
  }
  return ({ id: agentId, group_name: group, os_id: distribution }) => ({
    statements: byVulnerability(
      facts.filter((fact) =>
        isInForce(fact, { ecosystem: fact.ecosystem, agentId, group, distribution, nowMs }),
      ),
    ),
    words,
  });
}
