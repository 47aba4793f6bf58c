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
  const { call, leg, custom_metadata } = JSON.parse(item.body) as Record<string, unknown>;
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

export function markerOf(item: Item): Marker {
  return JSON.parse(item.progress ?? '{}') as Marker;
}
