const PROGRAMS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ policy: 'a policy', sweep: 'the server', server: 'the server', agent: 'the host', scan: 'the host' },
  }),
);

/** Who acted, as people say it: an operator's name, a policy, the server or the host. */
export function actorText(actor: string): string {
  return actor.startsWith('policy/') ? 'a policy' : (PROGRAMS.get(actor) ?? actor);
}
