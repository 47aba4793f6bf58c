import { parentPort } from 'node:worker_threads';
import { performTask } from './perform.ts';
import type { OrderMessage } from './tasks.ts';

// The thread behind the runner: one order in, one answer out, in order.
parentPort?.on('message', (order: OrderMessage) => {
  parentPort?.postMessage({ id: order.id, output: performTask(order.task, order.input as never) });
});
// The data is loaded by now: the clock of the first task does not pay for it.
parentPort?.postMessage({ ready: true });
