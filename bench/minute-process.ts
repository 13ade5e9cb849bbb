import { type MinuteOptions, runMinutes } from './minute-agents.ts';

process.once('disconnect', () => process.exit());
process.once('message', (options: MinuteOptions) => {
  runMinutes(options).then(
    (times) => process.send?.(times, () => process.exit()),
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
});
