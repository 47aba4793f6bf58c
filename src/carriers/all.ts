import type { z } from 'zod';
import type { ReadFacts } from '../bridge/streams.ts';
import { asterisk } from './asterisk/asterisk.ts';
import { asteriskSettings } from './asterisk/settings.ts';
import { audiohook } from './audiohook/audiohook.ts';
import { audiohookSettings } from './audiohook/settings.ts';
import { bandwidth } from './bandwidth/bandwidth.ts';
import { bandwidthSettings } from './bandwidth/settings.ts';
import type { Carrier } from './carrier.ts';
import { exotel } from './exotel/exotel.ts';
import { exotelSettings } from './exotel/settings.ts';
import { freeswitch } from './freeswitch/freeswitch.ts';
import { freeswitchSettings } from './freeswitch/settings.ts';
import { infobip } from './infobip/infobip.ts';
import { infobipSettings } from './infobip/settings.ts';
import { jambonz } from './jambonz/jambonz.ts';
import { jambonzSettings } from './jambonz/settings.ts';
import { plivo } from './plivo/plivo.ts';
import { plivoSettings } from './plivo/settings.ts';
import { ringcx } from './ringcx/ringcx.ts';
import { ringcxSettings } from './ringcx/settings.ts';
import { signalwire } from './signalwire/signalwire.ts';
import { signalwireSettings } from './signalwire/settings.ts';
import { telnyx } from './telnyx/telnyx.ts';
import { telnyxSettings } from './telnyx/settings.ts';
import { twilio } from './twilio/twilio.ts';
import { twilioSettings } from './twilio/settings.ts';
import { vonageSettings } from './vonage/settings.ts';
import { vonage } from './vonage/vonage.ts';

// This is the only list of carriers. Outside it, a carrier's name appears only in that carrier's own folder.

/** The settings of all carriers, in the order in which they are documented. */
export const carrierSettings = {
  ...twilioSettings,
  ...telnyxSettings,
  ...audiohookSettings,
  ...asteriskSettings,
  ...signalwireSettings,
  ...plivoSettings,
  ...vonageSettings,
  ...jambonzSettings,
  ...freeswitchSettings,
  ...infobipSettings,
  ...bandwidthSettings,
  ...exotelSettings,
  ...ringcxSettings,
};

export type AnyCarrier = Carrier<z.infer<z.ZodObject<typeof carrierSettings>>>;

const list = {
  twilio,
  telnyx,
  audiohook,
  asterisk,
  signalwire,
  plivo,
  vonage,
  infobip,
  jambonz,
  freeswitch,
  bandwidth,
  exotel,
  ringcx,
} satisfies Record<string, AnyCarrier>;

export type CarrierName = keyof typeof list;

export const carriers: Readonly<Record<CarrierName, AnyCarrier>> = list;
export const carrierNames = Object.keys(list) as CarrierName[];

/** The player and the examples use this carrier if nobody names one. */
export const firstCarrier: AnyCarrier = twilio;

export function carrierNamed(name: string): AnyCarrier | undefined {
  return Object.hasOwn(carriers, name) ? carriers[name as CarrierName] : undefined;
}

/** Reads the facts about a call from a stored callback. The carrier that sent the callback reads it. */
export const factsOf: ReadFacts = ({ carrier, carrierCallId, status }) =>
  carrierNamed(carrier)?.factsOf?.(status, carrierCallId) ?? {};
