import { parentPort } from 'node:worker_threads';
import { directionSize } from './directions.ts';
import { noneNear, packed, type PackedNear } from './packed-near.ts';
import { SignIndex, type NearAsk } from './sign-index.ts';

/* A thread that compares a direction with all that are stored, so that the one that moves audio never does. */

export type ToNear =
  /** Rows as a database packs them: ids, calls and roles with commas between them, directions in hexadecimal. */
  | { type: 'add'; order: number; ids: string; calls: string; roles: string; directions: string }
  | { type: 'forget'; calls: readonly string[] }
  | { type: 'drop'; ids: readonly number[] }
  | { type: 'nearest'; order: number; ask: NearAsk };

/** `found` is empty for rows that were added. */
export type FromNear = { order: number; found: PackedNear };

const index = new SignIndex();

parentPort?.on('message', (message: ToNear) => {
  switch (message.type) {
    case 'add':
      add(message);
      parentPort?.postMessage({ order: message.order, found: noneNear } satisfies FromNear);
      return;
    case 'forget':
      index.forget(message.calls);
      return;
    case 'drop':
      index.drop(message.ids);
      return;
    case 'nearest': {
      const found = packed(index.nearest(message.ask));
      parentPort?.postMessage({ order: message.order, found } satisfies FromNear, [
        found.ids.buffer,
      ]);
    }
  }
});

function add({ ids: packedIds, calls, roles, directions: hex }: ToNear & { type: 'add' }): void {
  const bytes = Buffer.from(hex, 'hex');
  const ids = packedIds.split(',').map(Number);
  // Rows that are not whole would move all others.
  if (bytes.length !== ids.length * directionSize) return;
  const directions = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  index.add({ ids, calls: calls.split(','), roles: roles.split(','), directions });
}
