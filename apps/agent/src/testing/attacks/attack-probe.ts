// Run by attack-runtime.test.ts on the agent's own runtime: prints what becomes of every attack there.
import { ATTACKS } from './all.ts';
import { runAttack } from './run-attack.ts';

for (const [group, attacks] of Object.entries(ATTACKS)) {
  for (const attack of attacks)
    console.log(`${group}: ${attack.name}`, JSON.stringify(await runAttack(attack)));
}
