/** Parses the tree that Fastify prints, the only list of its routes, into `GET /api/health` and the like. */
export function routesOf(tree: string): string[] {
  const routes: string[] = [];
  const parents: string[] = [];
  for (const line of tree.split('\n')) {
    const match = /^((?:│ {3}| {4})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line);
    if (!match) continue;
    const [, indent = '', part = '', methods] = match;
    parents.splice(indent.length / 4, parents.length, part);
    for (const method of methods?.split(', ') ?? []) routes.push(`${method} ${parents.join('')}`);
  }
  return routes.sort();
}
