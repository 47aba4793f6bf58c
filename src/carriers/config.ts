import { z } from 'zod';
import { carrierSettings } from './all.ts';
import { requireSettings } from './requirements.ts';

/** Settings that say which carriers may reach us, with what proof, and how long a silent stream is kept. */
export const CarriersConfig = z.strictObject({
  ...carrierSettings,
  ...requireSettings,
  consentAnnouncement: z.string().min(2).max(500).optional().meta({
    env: 'TRUNKLINE_CONSENT_ANNOUNCEMENT',
    description:
      'The words that the voice answers say before the stream starts, such as "this call is transcribed"; such calls have `consent: announced` in custom_metadata.',
  }),
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
