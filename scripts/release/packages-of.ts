const FOLDER = 'node_modules/';

/** The folders, from `node_modules/` on, of the npm packages that these modules belong to, sorted. */
export function packagesOf(modules: readonly string[]): string[] {
  const folders = modules.map((id) => id.replaceAll('\\', '/')).flatMap((id) => packageFolder(id) ?? []);
  return [...new Set(folders)].sort();
}

function packageFolder(module: string): string | null {
  const start = module.indexOf(FOLDER);
  if (start === -1) return null;
  const nameAt = module.lastIndexOf(FOLDER) + FOLDER.length;
  const [first = '', second = ''] = module.slice(nameAt).split('/');
  return module.slice(start, nameAt) + (first.startsWith('@') ? `${first}/${second}` : first);
}
