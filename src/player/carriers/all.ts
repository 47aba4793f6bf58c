import type { CarrierVoice, PlayedCarrier } from '../dialogue.ts';
import { asterisk } from './asterisk.ts';
import { audiohook } from './audiohook.ts';
import { plivo } from './plivo.ts';
import { signalwire } from './signalwire.ts';
import { telnyx } from './telnyx.ts';
import { twilio } from './twilio.ts';

/** Every carrier that can be played. */
export const voices: Readonly<Record<PlayedCarrier, CarrierVoice>> = {
  twilio,
  telnyx,
  audiohook,
  asterisk,
  signalwire,
  plivo,
};
