import { parentPort } from 'node:worker_threads';
import { directionSize } from './directions.ts';
import { SignIndex, type NearAsk } from './sign-index.ts';

/* A thread that compares a direction with all that are stored, so that the one that moves audio never does. */

export type ToNear =
  /** Rows as a database packs them: ids, calls and roles with commas between them, directions in hexadecimal. */
  | { type: 'add'; ids: string; calls: string; roles: string; directions: string }
  | { type: 'forget'; calls: readonly string[] }
  | { type: 'drop'; ids: readonly number[] }
  | { type: 'nearest'; order: number; ask: NearAsk };

export type FromNear = { order: number; ids: number[] };

const index = new SignIndex();

parentPort?.on('message', (message: ToNear) => {
  switch (message.type) {
    case 'add': {
      const bytes = Buffer.from(message.directions, 'hex');
      const ids = message.ids.split(',').map(Number);
      // Rows that are not whole would move all others.
      if (bytes.length !== ids.length * directionSize) return;
      const directions = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
      const [calls, roles] = [message.calls.split(','), message.roles.split(',')];
      index.add({ ids, calls, roles, directions });
      return;
    }
    case 'forget':
      index.forget(message.calls);
      return;
    case 'drop':
      index.drop(message.ids);
      return;
    case 'nearest': {
      const answer: FromNear = { order: message.order, ids: index.nearest(message.ask) };
      parentPort?.postMessage(answer);
    }
  }
});
