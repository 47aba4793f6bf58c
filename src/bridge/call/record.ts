import type { EventCall } from '../../protocol/events.ts';
import type { Direction } from '../seam.ts';
import type { CustomMetadata } from './custom-metadata.ts';

/** What a call is, apart from what happens to it. */
export type CallRecord = {
  readonly id: string;
  readonly carrier: string;
  readonly carrierCallId: string;
  readonly direction: Direction | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly startedAt: number;
  readonly metadata: CustomMetadata;
  readonly overrides: Record<string, unknown>;
  readonly continues: string | null;
};

/** How every event names the call. */
export function eventCallOf(record: CallRecord): EventCall {
  return {
    id: record.id,
    carrier: record.carrier,
    carrier_call_id: record.carrierCallId,
    direction: record.direction ?? null,
    from: record.from ?? null,
    to: record.to ?? null,
    started_at: new Date(record.startedAt).toISOString(),
  };
}

/** Calls are one call by these two, whichever socket carries them. */
export function callKey(carrier: string, carrierCallId: string): string {
  return `${carrier}\n${carrierCallId}`;
}
