import { parentPort } from 'node:worker_threads';
import { performTask } from './perform.ts';
import type { LanguageTasks, TaskName } from './tasks.ts';

/** The thread behind the runner: one task in, one answer out, in order. */
type Order = { id: number; task: TaskName; input: LanguageTasks[TaskName]['input'] };

parentPort?.on('message', (order: Order) => {
  parentPort?.postMessage({ id: order.id, output: performTask(order.task, order.input as never) });
});
// The data is loaded by now: the clock of the first task does not pay for it.
parentPort?.postMessage({ ready: true });
