import { z } from 'zod';

// Every secret is a list: during a rotation the old and the new one are both good.
const secrets = z.array(z.string().min(8)).default([]);

const twilio = {
  twilioAuthToken: secrets.meta({
    env: 'TRUNKLINE_TWILIO_AUTH_TOKEN',
    secret: true,
    description:
      'Twilio auth token that signs its upgrades and webhooks; two, comma-separated, while rotating.',
  }),
  twilioDial: z.string().min(3).max(255).optional().meta({
    env: 'TRUNKLINE_TWILIO_DIAL',
    description:
      'What POST /carriers/twilio/voice dials after starting the stream: a number or a sip: address.',
  }),
  twilioContinueUrl: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      env: 'TRUNKLINE_TWILIO_CONTINUE_URL',
      description:
        'TwiML address where the call goes on after starting the stream, instead of dialling.',
    }),
};

const others = {
  telnyxToken: secrets.meta({
    env: 'TRUNKLINE_TELNYX_TOKEN',
    secret: true,
    description: 'What Telnyx sends as `stream_auth_token` (Authorization: Bearer).',
  }),
  telnyxPublicKey: z
    .base64()
    .refine((key) => Buffer.from(key, 'base64').length === 32, 'an Ed25519 key has 32 bytes')
    .optional()
    .meta({
      env: 'TRUNKLINE_TELNYX_PUBLIC_KEY',
      description: 'Public key (base64) of the Telnyx portal, with which its webhooks are checked.',
    }),
  telnyxByteOrder: z.enum(['big', 'little']).default('big').meta({
    env: 'TRUNKLINE_TELNYX_L16_BYTE_ORDER',
    description: 'Byte order of Telnyx L16 audio; RTP prescribes big.',
  }),
  audiohookApiKey: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_AUDIOHOOK_API_KEY',
    secret: true,
    description: 'API key of the Genesys AudioHook integration (X-API-KEY).',
  }),
  audiohookClientSecret: z.base64().min(8).optional().meta({
    env: 'TRUNKLINE_AUDIOHOOK_CLIENT_SECRET',
    secret: true,
    description: 'Client secret (base64) with which AudioHook signs its upgrade.',
  }),
  audiohookAuthority: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_AUDIOHOOK_AUTHORITY',
    description: 'The @authority that AudioHook signs, when a proxy rewrites Host.',
  }),
  audiohookResults: z.boolean().default(false).meta({
    env: 'TRUNKLINE_AUDIOHOOK_RESULTS',
    description: 'Send final transcripts back to Genesys as AudioHook events.',
  }),
  asteriskUsername: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_ASTERISK_USERNAME',
    description: 'User name that websocket_client.conf of Asterisk sends (HTTP Basic).',
  }),
  asteriskPassword: z.string().min(8).optional().meta({
    env: 'TRUNKLINE_ASTERISK_PASSWORD',
    secret: true,
    description: 'Password that websocket_client.conf of Asterisk sends (HTTP Basic).',
  }),
  asteriskPings: z.boolean().default(false).meta({
    env: 'TRUNKLINE_ASTERISK_PINGS',
    description:
      'WebSocket pings towards Asterisk; before 20.18, 22.8 and 23.2 a ping hangs up the call.',
  }),
  signalwireToken: secrets.meta({
    env: 'TRUNKLINE_SIGNALWIRE_TOKEN',
    secret: true,
    description: 'The `authBearerToken` of SignalWire streams.',
  }),
  signalwireSigningKey: secrets.meta({
    env: 'TRUNKLINE_SIGNALWIRE_SIGNING_KEY',
    secret: true,
    description: 'Signing key of the SignalWire project, with which its webhooks are checked.',
  }),
  signalwireByteOrder: z.enum(['big', 'little']).default('little').meta({
    env: 'TRUNKLINE_SIGNALWIRE_L16_BYTE_ORDER',
    description: 'Byte order of SignalWire L16 audio.',
  }),
  plivoAuthToken: secrets.meta({
    env: 'TRUNKLINE_PLIVO_AUTH_TOKEN',
    secret: true,
    description: 'Plivo auth token that signs its upgrades and callbacks (V3).',
  }),
  plivoByteOrder: z.enum(['big', 'little']).default('little').meta({
    env: 'TRUNKLINE_PLIVO_L16_BYTE_ORDER',
    description: 'Byte order of Plivo L16 audio.',
  }),
};

/** Which carriers may reach us, with what proof, and how long a silent one is kept. */
export const CarriersConfig = z.strictObject({
  ...twilio,
  ...others,
  idleTimeoutMs: z.int().min(1_000).max(3_600_000).default(60_000).meta({
    env: 'TRUNKLINE_CARRIER_IDLE_MS',
    description: 'A stream without any message for this long has ended.',
  }),
  maxStreams: z.int().min(1).max(100_000).default(4_000).meta({
    env: 'TRUNKLINE_CARRIER_MAX_STREAMS',
    description: 'Carrier sockets held at once.',
  }),
});
export type CarriersConfig = z.infer<typeof CarriersConfig>;
