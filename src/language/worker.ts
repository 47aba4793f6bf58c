import { parentPort } from 'node:worker_threads';
import { performTask } from './perform.ts';
import type { OrderMessage } from './tasks.ts';

// The thread of the language runner: it takes one order at a time and answers in order.
parentPort?.on('message', (order: OrderMessage) => {
  parentPort?.postMessage({ id: order.id, output: performTask(order.task, order.input as never) });
});
// The data is loaded now, so the deadline of the first task does not include that.
parentPort?.postMessage({ ready: true });
