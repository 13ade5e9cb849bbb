/**
 * The most CPU time of this thread, in milliseconds, between two turns of the event loop during some work: how long the work
 * held the loop, whatever other programs did meanwhile.
 */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  let isOver = false;
  let longest = 0;
  let last = cpuMs();
  const look = () => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return Math.max(longest, cpuMs() - last);
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
