import { z } from 'zod';
import type { RouteAnswer, Parameter, Route } from './route.ts';

const tag = 'Carriers';

const form = {
  description: 'The carrier’s own fields; those we read are in the schema.',
  content: {
    'application/x-www-form-urlencoded': z
      .looseObject({ CallSid: z.string().optional(), CallUUID: z.string().optional() })
      .meta({ id: 'CarrierForm' }),
    'application/json': z
      .looseObject({ data: z.looseObject({ event_type: z.string() }) })
      .meta({ id: 'CarrierEvent' }),
  },
};

const twiml: RouteAnswer = {
  description: 'TwiML that starts the stream with a token of its own.',
  content: { 'text/xml': z.string() },
};

const kept: RouteAnswer = { description: 'Kept with the call.' };

const twilioSignature: Parameter[] = [
  {
    name: 'x-twilio-signature',
    description: 'Twilio’s signature, checked with TRUNKLINE_TWILIO_AUTH_TOKEN.',
    schema: z.string(),
  },
];

const plivoSignature: Parameter[] = [
  {
    name: 'x-plivo-signature-v3',
    description: 'Plivo’s signature, checked with TRUNKLINE_PLIVO_AUTH_TOKEN.',
    schema: z.string(),
  },
  { name: 'x-plivo-signature-v3-nonce', description: 'Used once.', schema: z.string() },
];

const signalwireSignature: Parameter[] = [
  {
    name: 'x-signalwire-signature',
    description: 'SignalWire’s signature, checked with TRUNKLINE_SIGNALWIRE_SIGNING_KEY.',
    schema: z.string(),
  },
];

const telnyxSignature: Parameter[] = [
  {
    name: 'telnyx-signature-ed25519',
    description: 'Over the timestamp and the body, checked with TRUNKLINE_TELNYX_PUBLIC_KEY.',
    schema: z.string(),
  },
  { name: 'telnyx-timestamp', description: 'Seconds, at most 300 away.', schema: z.string() },
];

/** Carriers' own HTTP; each carrier authenticates itself as its platform does. */
export const carrierRoutes: readonly Route[] = [
  hook('/carriers/twilio/voice', 'What a Twilio number asks when it is called', twilioSignature, {
    200: twiml,
  }),
  hook('/carriers/twilio/status', 'Twilio’s status callbacks', twilioSignature, { 204: kept }),
  hook('/carriers/plivo/status', 'Plivo’s status callbacks', plivoSignature, { 204: kept }),
  hook('/carriers/signalwire/status', 'SignalWire’s status callbacks', signalwireSignature, {
    204: kept,
  }),
  hook('/carriers/telnyx/status', 'Telnyx’ streaming webhooks', telnyxSignature, { 204: kept }),
];

function hook(
  path: string,
  summary: string,
  headers: Parameter[],
  answers: Record<number, RouteAnswer>,
): Route {
  const errors = [400, 401, 403, 413, 415];
  return {
    method: 'post',
    path,
    tag,
    access: 'carrier',
    summary,
    headers,
    body: form,
    answers,
    errors,
  };
}
