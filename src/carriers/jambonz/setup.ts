import type { CarrierSetup, PbxConfiguration } from '../carrier.ts';
import { jambonzSettings, type JambonzConfig } from './settings.ts';

export const jambonzSetup: CarrierSetup<JambonzConfig> = {
  title: 'jambonz',
  settings: jambonzSettings,
  proofs: [['jambonzUsername', 'jambonzPassword']],
  steps: [
    'Run “npx trunkline carriers jambonz”: it prints what to enter, with a new password.',
    'Open your application in the portal and enter the voice address as calling webhook and the status address as call status webhook, both with POST and the user name and password.',
    'Call the number.',
  ],
  configuration,
};

function configuration({ address, secret }: { address: string; secret: string }): PbxConfiguration {
  const webhook = address.replace(/^ws/, 'http');
  return {
    settings: { TRUNKLINE_JAMBONZ_USERNAME: 'trunkline', TRUNKLINE_JAMBONZ_PASSWORD: secret },
    parts: [
      {
        where: 'the portal of jambonz, your application (with TRUNKLINE_JAMBONZ_DIAL set)',
        text: `calling webhook      ${webhook}/voice (POST)
call status webhook  ${webhook}/status (POST)
user name            trunkline
password             ${secret}`,
      },
      {
        where: 'or verbs of your own: inside the dial that joins the two parties',
        text: `"listen": ${JSON.stringify(
          {
            url: address,
            mixType: 'stereo',
            sampleRate: 16_000,
            passDtmf: true,
            wsAuth: { username: 'trunkline', password: secret },
          },
          null,
          2,
        )}`,
      },
    ],
  };
}
