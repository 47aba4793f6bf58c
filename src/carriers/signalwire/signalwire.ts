import { z } from 'zod';
import type { Carrier } from '../carrier.ts';
import { checkBearer } from '../credentials.ts';
import { signedForm } from '../forms.ts';
import { callDialect, callStreamSid } from '../json/call-dialect.ts';
import { JsonCodec } from '../json/codec.ts';
import { ownRecord } from '../parameters.ts';
import { signalwirePlayer } from './player.ts';
import type { SignalwireConfig } from './settings.ts';

export const signalwire: Carrier<SignalwireConfig> = {
  name: 'signalwire',
  authenticate: (request, { config }) => checkBearer(request, config.signalwireToken),
  hasSecret: (config) => config.signalwireToken.length > 0,
  newCodec: (config) =>
    new JsonCodec(
      callDialect({
        byteOrder: config.signalwireByteOrder,
        otherCodec: 'set the attribute codec of <Stream> to PCMU@8000h or L16@16000h',
      }),
    ),
  pings: () => true,
  sendsBearer: true,
  closesItself: false,
  matchesTexts: (first, second) => callStreamSid(first, second, (sid) => sid === 'uuid'),
  webhooks: [
    {
      action: 'status',
      body: 'form',
      summary: 'SignalWire’s status callbacks',
      headers: [
        {
          name: 'x-signalwire-signature',
          description: 'SignalWire’s signature, checked with TRUNKLINE_SIGNALWIRE_SIGNING_KEY.',
          schema: z.string(),
        },
      ],
      answers: 'kept',
      handle: (request, context) => {
        const form = signedForm(request, context, {
          header: 'X-SignalWire-Signature',
          secrets: context.config.signalwireSigningKey,
          setting: 'TRUNKLINE_SIGNALWIRE_SIGNING_KEY',
        });
        const fields = ownRecord(form.fields);
        return Promise.resolve({ callId: fields['CallSid'], fields });
      },
    },
  ],
  player: signalwirePlayer,
  playerSecrets: ({ signalwireToken: [bearer] }) => ({ bearer }),
};
