import { CarriersConfig } from '../../../src/carriers/config.ts';
import { carrierSettings } from '../../../src/carriers/all.ts';

/** A secret for every carrier, so that each can prove itself. */
export const provenSecrets = {
  twilioAuthToken: ['twilio-secret-of-the-tests'],
  plivoAuthToken: ['plivo-secret-of-the-tests'],
  audiohookApiKey: 'audiohook-key-of-the-tests',
  audiohookClientSecret: Buffer.from('audiohook secret of the tests').toString('base64'),
  telnyxToken: ['bearer-secret-of-the-tests'],
  signalwireToken: ['bearer-secret-of-the-tests'],
  vonageSignatureSecret: ['vonage-secret-of-the-tests'],
  vonageApiKey: 'vonage-key',
  jambonzUsername: 'jambonz',
  jambonzPassword: 'jambonz-secret-of-the-tests',
  freeswitchToken: ['freeswitch-secret-of-the-tests'],
  infobipUsername: 'infobip',
  infobipPassword: 'infobip-secret-of-the-tests',
  asteriskUsername: 'asterisk',
  asteriskPassword: 'asterisk-secret-of-the-tests',
  bandwidthUsername: 'bandwidth',
  bandwidthPassword: 'bandwidth-secret-of-the-tests',
  exotelUsername: 'exotel',
  exotelPassword: 'exotel-secret-of-the-tests',
  ringcxSecret: ['ringcx-secret-of-the-tests'],
};

export function provenConfig(): CarriersConfig {
  return CarriersConfig.parse(provenSecrets);
}

/** The secrets of the configuration as environment variables for a whole program. */
export function provenEnv(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(provenSecrets).map(([key, value]) => {
      const env = carrierSettings[key as keyof typeof provenSecrets].meta()?.['env'];
      return [typeof env === 'string' ? env : key, [value].flat().join(',')];
    }),
  );
}
