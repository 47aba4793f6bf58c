import { z } from 'zod';

/** At most this many addresses may stand in one setting. */
export const maxSpeechUrls = 64;

/** The addresses in a setting that may name several nodes. */
export function speechUrls(text: string): string[] {
  return text.split(',').map((url) => url.trim());
}

/** Settings for the speech service that the bridge uses: its address, its key and the waiting times. */
export const SpeechConfig = z.strictObject({
  url: z
    .string()
    .refine(
      (text) => speechUrls(text).every((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? '')),
      'must begin with http:// or https://',
    )
    .refine(
      (text) => speechUrls(text).every((url) => !/\/v2(\/.*)?$/.test(url)),
      'is the base address, without /v2',
    )
    .refine(
      (text) => {
        const urls = speechUrls(text);
        return urls.length <= maxSpeechUrls && new Set(urls).size === urls.length;
      },
      `names each speech node once, and at most ${String(maxSpeechUrls)} of them`,
    )
    .optional()
    .meta({
      env: 'TRUNKLINE_SPEECH_URL',
      description:
        'The base address of the speech service without /v2, or those of its nodes, separated by commas. If unset, the embedded services of this and the other nodes on the database are used.',
    }),
  key: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable without spaces')
    .optional()
    .meta({
      env: 'TRUNKLINE_SPEECH_KEY',
      description:
        'The key for the speech service. It is sent as an HTTP header, never on a socket.',
      secret: true,
    }),
  keyHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
    .default('x-service-key')
    .meta({
      env: 'TRUNKLINE_SPEECH_KEY_HEADER',
      description: 'The header that carries the key: x-gladia-key for the hosted service.',
    }),
  model: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_SPEECH_MODEL',
    description: 'The model name sent with each session. If unset, the service decides.',
  }),
  hosts: z.array(z.string().min(1)).default([]).meta({
    env: 'TRUNKLINE_SPEECH_HOSTS',
    description:
      "Other hosts that the address of a session may lead to. The service's own host is always allowed; *.example.org allows a whole domain.",
  }),
  coalesceMs: z.number().int().min(0).max(1_000).default(0).meta({
    env: 'TRUNKLINE_SPEECH_COALESCE_MS',
    description:
      'Frames are joined to this length before they are sent. 0 sends each frame as it comes.',
  }),
  catchUpSpeed: z.number().min(2).max(1_000).default(32).meta({
    env: 'TRUNKLINE_SPEECH_CATCH_UP_SPEED',
    description:
      'The speed at which a leg sends audio that waited in its journal, as a multiple of real time.',
  }),
  maxSessionsPerLeg: z.number().int().min(1).max(10_000).default(50).meta({
    env: 'TRUNKLINE_SPEECH_MAX_SESSIONS',
    description:
      'The number of sessions that one leg may use. After that its audio is only journalled.',
  }),
});
export type SpeechConfig = z.infer<typeof SpeechConfig>;
