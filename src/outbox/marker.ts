import { newId } from '../lib/ids.ts';
import type { Item } from './lanes.ts';

/** What an endpoint that chose skipping gets in place of an event that it keeps refusing. */
export type Marker = { id: string; body: string };

/** Made once and kept beside the delivery, so that every attempt sends the same bytes. */
export function makeMarker(
  item: Item,
  failed: { status: number | null; reason: string },
  nowMs: number,
): string {
  const id = newId('evt');
  const { call, leg, custom_metadata } = contextOf(item);
  const body = JSON.stringify({
    id,
    type: 'call.skipped',
    sequence: item.sequence,
    occurred_at: new Date(nowMs).toISOString(),
    call,
    ...(leg === undefined ? {} : { leg }),
    custom_metadata,
    data: {
      event_id: item.eventId,
      type: item.type,
      attempts: item.attempts + 1,
      status: failed.status,
      reason: failed.reason,
    },
  });
  return JSON.stringify({ id, body } satisfies Marker);
}

/** A body that cannot be read is refused too, and its marker must still say which call it is of. */
function contextOf(item: Item): Record<string, unknown> {
  try {
    const event = JSON.parse(item.body) as unknown;
    if (typeof event === 'object' && event !== null) return event as Record<string, unknown>;
  } catch {
    // As below.
  }
  return { call: { id: item.callId }, custom_metadata: {} };
}

export function markerOf(item: Item): Marker {
  return JSON.parse(item.progress ?? '{}') as Marker;
}
