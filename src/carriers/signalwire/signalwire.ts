import type { Carrier } from '../carrier.ts';
import { checkBearer } from '../credentials.ts';
import { JsonCodec } from '../json/codec.ts';
import { twilioDialect } from '../twilio/twilio.ts';

/** Section 5: Twilio's messages with ids that are UUIDs, no top-level streamSid, and two more codecs. */
export const signalwire: Carrier = {
  name: 'signalwire',
  authenticate: (request, { config }) => checkBearer(request, config.signalwireToken),
  hasSecret: (config) => config.signalwireToken.length > 0,
  newCodec: (config) =>
    new JsonCodec(
      twilioDialect({
        byteOrder: config.signalwireByteOrder,
        otherCodec: 'set the attribute codec of <Stream> to PCMU@8000h or L16@16000h',
      }),
    ),
  pings: () => true,
  sendsBearer: true,
  closesItself: false,
};
