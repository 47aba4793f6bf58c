import { z } from 'zod';
import type { StreamEnd, StreamEvent, StreamStart } from '../streams.ts';

/*
 * Messages between two nodes about a stream that arrived at one node and belongs to a call of the other. The node with
 * the carrier's socket speaks first. Audio is a binary message: one byte for the track, then the payload. Both nodes
 * count every audio message and every event, and the other node confirms the number it has taken. Nothing is therefore
 * lost or repeated when the connection is cut.
 */

/** Both ends are our own nodes. The schema checks only fields that a node of another version might send differently. */
export const OpenMessage = z.object({
  type: z.literal('open'),
  relay: z.string().min(1).max(64),
  start: z
    .looseObject({
      carrier: z.string().max(100),
      carrierCallId: z.string().max(10_000),
      streamId: z.string().max(10_000),
      encoding: z.enum(['mulaw', 'alaw', 'pcm8', 'pcm16']),
      sampleRate: z.number().int().positive(),
      tracks: z
        .array(z.looseObject({ name: z.string(), channels: z.union([z.literal(1), z.literal(2)]) }))
        .min(1)
        .max(8),
      carrierIds: z.record(z.string(), z.string()),
      parameters: z.record(z.string(), z.unknown()),
    })
    .transform((start) => start as unknown as StreamStart),
});

const eventTypes = [
  'lost',
  'quiet',
  'count',
  'dtmf',
  'paused',
  'resumed',
  'language',
  'waited',
] as const satisfies StreamEvent['type'][];

export const FromCarrierNode = z.discriminatedUnion('type', [
  OpenMessage,
  z.object({
    type: z.literal('event'),
    event: z
      .looseObject({ type: z.enum(eventTypes) })
      .transform((event) => event as unknown as StreamEvent),
  }),
  z.object({
    type: z.literal('end'),
    reason: z.enum(['stop', 'close', 'error', 'idle', 'drain', 'refused']),
    detail: z.string().optional(),
  }),
]);
export type FromCarrierNode =
  | { type: 'open'; relay: string; start: StreamStart }
  | { type: 'event'; event: StreamEvent }
  | { type: 'end'; reason: StreamEnd; detail?: string };

export const FromCallNode = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('opened'),
    callId: z.string(),
    startPaused: z.boolean(),
    /** The number of items that it has already taken from this relay. */
    taken: z.number().int().min(0),
  }),
  z.object({ type: z.literal('duplicate'), callId: z.string() }),
  z.object({ type: z.literal('refused'), reason: z.string() }),
  /** The call is not at that node, or not any more. */
  z.object({ type: z.literal('elsewhere') }),
  z.object({ type: z.literal('taken'), taken: z.number().int().min(0) }),
  z.object({ type: z.literal('ended') }),
  z.object({ type: z.literal('pause') }),
  z.object({ type: z.literal('resume') }),
  z.object({
    type: z.literal('disconnect'),
    reason: z.string(),
    how: z.enum(['drain', 'stop']).optional(),
  }),
  z.object({
    type: z.literal('result'),
    final: z.object({
      track: z.string(),
      text: z.string(),
      startS: z.number(),
      endS: z.number(),
      confidence: z.number(),
      language: z.string(),
    }),
  }),
]);
export type FromCallNode = z.infer<typeof FromCallNode>;

/** Returns undefined if the data is no message of this kind. */
export function readMessage<T>(schema: z.ZodType<T>, data: Buffer): T | undefined {
  try {
    return schema.safeParse(JSON.parse(data.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
