/** A complete HTTP/1.1 request with a JSON body. */
export function formRequest(
  method: 'POST' | 'PUT' | 'PATCH',
  path: string,
  { headers, body }: { headers: Record<string, string>; body: string },
): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: bench',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** What a host sends in its own name; `path` is below its own. */
export function agentRequest(
  { agentId, machineId, token }: { agentId: string; machineId: string; token: string },
  {
    method,
    path,
    body,
    close = false,
  }: { method: 'POST' | 'PUT' | 'PATCH'; path: string; body: string; close?: boolean },
): Buffer {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-machine-id': machineId,
    ...(close ? { connection: 'close' } : {}),
  };
  return formRequest(method, `/api/v1/agents/${agentId}${path}`, { headers, body });
}
