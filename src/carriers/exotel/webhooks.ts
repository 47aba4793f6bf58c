import { z } from 'zod';
import type { CarrierWebhook } from '../carrier.ts';
import { basicProof, fieldsIn, requiredCallId } from '../forms.ts';
import { ownRecord } from '../parameters.ts';
import { socketUrlOf, tokenOf } from '../voice-answer.ts';
import type { ExotelConfig } from './settings.ts';

export const exotelWebhooks: readonly CarrierWebhook<ExotelConfig>[] = [
  {
    method: 'get',
    action: 'voice',
    body: 'form',
    summary: 'What a Stream applet of Exotel asks for the address of its stream',
    headers: [
      {
        name: 'authorization',
        description:
          'HTTP Basic, checked with TRUNKLINE_EXOTEL_USERNAME and TRUNKLINE_EXOTEL_PASSWORD.',
        schema: z.string(),
      },
    ],
    answers: 'json',
    async handle(request, { bridge, config, insecure, publicUrl }) {
      const { exotelUsername: username, exotelPassword: password } = config;
      const by = basicProof(request, { username, password, insecure });
      const { originalUrl } = request;
      const asked = originalUrl.includes('?')
        ? originalUrl.slice(originalUrl.indexOf('?') + 1)
        : '';
      const fields = ownRecord(fieldsIn(asked));
      const callId = requiredCallId(fields['CallSid'], 'CallSid');
      // One call has one token, however often its applet asks: good once, and for that call.
      const { token } = await bridge.mintToken({
        carrier: 'exotel',
        carrierCallId: callId,
        ...(by ? { token: tokenOf(by.password, JSON.stringify(['exotel', callId])) } : {}),
      });
      const url = new URL(`${socketUrlOf(publicUrl(), 'exotel')}/${token}`);
      url.searchParams.set('sample-rate', '16000');
      const direction = /^(?:in|out)/.exec(fields['Direction'] ?? '')?.[0];
      if (direction) url.searchParams.set('direction', `${direction}bound`);
      return { json: { url: url.href } };
    },
  },
];
