import type { CarrierSetup, PbxConfiguration } from '../carrier.ts';
import { freeswitchSettings, type FreeswitchConfig } from './settings.ts';

export const freeswitchSetup: CarrierSetup<FreeswitchConfig> = {
  title: 'FreeSWITCH',
  settings: freeswitchSettings,
  proofs: [['freeswitchToken'], ['freeswitchUsername', 'freeswitchPassword']],
  steps: [
    'Run “npx trunkline carriers freeswitch”: it prints the dialplan with a new secret.',
    'Paste it, set the setting it names, and run reloadxml.',
    'Call an extension.',
  ],
  configuration,
};

function configuration({ address, secret }: { address: string; secret: string }): PbxConfiguration {
  const metadata =
    '{"callId":"${uuid}","sampleRate":16000,"channels":2,"from":"${caller_id_number}","to":"${destination_number}"}';
  const header = `{"Authorization":"Bearer ${secret}"}`;
  return {
    settings: { TRUNKLINE_FREESWITCH_TOKEN: secret },
    parts: [
      {
        where:
          'a dialplan, before the extension that bridges (mod_audio_stream), e.g. conf/dialplan/default/00_trunkline.xml',
        text: `<include>
  <extension name="trunkline" continue="true">
    <condition field="destination_number" expression="^.+$">
      <action application="set" data="STREAM_EXTRA_HEADERS=${quoted(header)}"/>
      <action application="set" data="api_on_answer=uuid_audio_stream \${uuid} start ${address} stereo 16k ${quoted(metadata)}"/>
    </condition>
  </extension>
</include>`,
      },
      {
        where: 'the console of FreeSWITCH',
        text: 'reloadxml',
      },
    ],
  };
}

function quoted(json: string): string {
  return json.replaceAll('"', '&quot;');
}
