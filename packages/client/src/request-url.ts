/**
 * The method and the URL of a call: parameters of the path and the query are escaped, absent ones of the query are left
 * out. Throws where a parameter of the path is missing, or would change the path: URLs drop the segments `.` and `..`.
 */
export function urlOf(
  baseUrl: string,
  operation: string,
  { path = {}, query = {} }: { readonly path?: object; readonly query?: object },
): { method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'; url: string } {
  const [name = '', pattern = ''] = operation.split(' ');
  const given = new Map<string, unknown>(Object.entries(path));
  const filled = pattern.replace(/\{(\w+)\}/g, (_, key: string) => segmentOf(key, given.get(key)));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) search.set(key, String(value));
  const text = search.size > 0 ? `?${search}` : '';
  return { method: methodOf(name), url: `${baseUrl.replace(/\/+$/, '')}${filled}${text}` };
}

function segmentOf(key: string, value: unknown): string {
  if (typeof value === 'string' && !/^\.{0,2}$/.test(value)) return encodeURIComponent(value);
  throw new Error(
    `the parameter ${key} of the path is ${JSON.stringify(value)}; allowed: a text that names something`,
  );
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function methodOf(name: string): (typeof METHODS)[number] {
  const method = METHODS.find((one) => one === name);
  if (method === undefined) throw new Error(`no operation of the document has the method ${name}`);
  return method;
}
