import { z } from 'zod';

// The messages that the client sends. Fields that we do not use are left out of the result.

const seconds = z
  .string()
  // A sum of fractions can have many digits after the point, such as PT0.30000000000000004S.
  .regex(/^PT(\d{1,9}\.\d{0,20}|\d{1,9}|\.\d{1,20})S$/)
  .transform((text) => Number(text.slice(2, -1)));

const envelope = {
  version: z.literal('2'),
  id: z.string().min(1).max(64),
  seq: z.int().min(1),
  serverseq: z.int().min(0),
  position: seconds,
};

const id = z.string().max(128);

const Media = z.object({
  type: z.string(),
  format: z.string(),
  channels: z.array(z.string()).min(1).max(8),
  rate: z.number(),
});
export type OfferedMedia = z.infer<typeof Media>;

const Open = z.object({
  ...envelope,
  type: z.literal('open'),
  parameters: z.object({
    organizationId: id,
    conversationId: id.min(1),
    participant: z.object({
      id,
      ani: z.string().max(256),
      aniName: z.string().max(256),
      dnis: z.string().max(256),
    }),
    media: z.array(z.unknown()).max(64),
    language: z.string().max(32).optional(),
    supportedLanguages: z.boolean().optional(),
    customConfig: z.unknown().optional(),
    continuedSessions: z
      .array(z.object({ id: z.string().max(64) }))
      .max(16)
      .optional(),
  }),
});

const none = z.object({}).optional();

const Message = z.discriminatedUnion('type', [
  Open,
  z.object({
    ...envelope,
    type: z.literal('ping'),
    parameters: z.object({ rtt: seconds.optional() }),
  }),
  z.object({ ...envelope, type: z.literal('paused'), parameters: none }),
  z.object({
    ...envelope,
    type: z.literal('resumed'),
    parameters: z.object({ start: seconds, discarded: seconds }),
  }),
  z.object({
    ...envelope,
    type: z.literal('discarded'),
    parameters: z.object({ start: seconds, discarded: seconds }),
  }),
  z.object({
    ...envelope,
    type: z.literal('update'),
    parameters: z.object({ language: z.string().max(32).optional() }),
  }),
  z.object({
    ...envelope,
    type: z.literal('error'),
    parameters: z.object({
      code: z.number(),
      message: z.string().max(4096).optional(),
      retryAfter: z.string().optional(),
    }),
  }),
  z.object({
    ...envelope,
    type: z.literal('dtmf'),
    parameters: z.object({ digit: z.string().max(1) }),
  }),
  z.object({ ...envelope, type: z.literal('playback_started'), parameters: none }),
  z.object({ ...envelope, type: z.literal('playback_completed'), parameters: none }),
  z.object({
    ...envelope,
    type: z.literal('close'),
    parameters: z.object({ reason: z.string().max(64) }),
  }),
]);
export type AudiohookMessage = z.infer<typeof Message>;
export type AudiohookOpen = z.infer<typeof Open>;

/** A later client may send a type that we do not know. Its sequence numbers count; its content does not. */
const Unknown = z.object({ ...envelope, type: z.string().min(1).max(64) });
export type Envelope = Pick<z.infer<typeof Unknown>, 'id' | 'seq' | 'serverseq'>;

const knownTypes: ReadonlySet<string> = new Set(
  Message.options.map(({ shape }) => shape.type.value),
);

type ParsedMessage =
  | { outcome: 'message'; message: AudiohookMessage }
  | { outcome: 'unknown'; message: Envelope & { type: string } }
  | { outcome: 'malformed'; reason: string };

/** Parses a message of the client. The reason for a refusal names fields, never their values. */
export function parseMessage(text: string): ParsedMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { outcome: 'malformed', reason: 'not JSON' };
  }
  const parsed = Message.safeParse(value);
  if (parsed.success) return { outcome: 'message', message: parsed.data };
  const unknown = Unknown.safeParse(value);
  if (unknown.success && !knownTypes.has(unknown.data.type))
    return { outcome: 'unknown', message: unknown.data };
  const paths = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join('.') || 'message');
  return { outcome: 'malformed', reason: `wrong: ${[...new Set(paths)].join(', ')}` };
}

/** Accepts an offer of 8 kHz with one or two of the two known channels. */
function isTakable(media: OfferedMedia): boolean {
  return (
    media.type === 'audio' &&
    (media.format === 'PCMU' || media.format === 'L16') &&
    media.rate === 8000 &&
    media.channels.length <= 2 &&
    new Set(media.channels).size === media.channels.length &&
    media.channels.every((name) => name === 'external' || name === 'internal')
  );
}

/** Chooses one of the offered formats. An offer with both parties in separate channels wins over an earlier offer. */
export function chooseMedia(
  offers: readonly unknown[],
): { chosen: OfferedMedia; asOffered: unknown } | undefined {
  const takable = offers.flatMap((asOffered) => {
    const parsed = Media.safeParse(asOffered);
    return parsed.success && isTakable(parsed.data) ? [{ chosen: parsed.data, asOffered }] : [];
  });
  return takable.find(({ chosen }) => chosen.channels.length === 2) ?? takable[0];
}
