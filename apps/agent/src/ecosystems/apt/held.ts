export function heldReason({ name }: { name: string }): string {
  return `${name} is on hold on this host; to release it: apt-mark unhold ${name}`;
}
