import type { CarrierSetup, PbxConfiguration } from '../carrier.ts';
import { asteriskSettings, type AsteriskConfig } from './settings.ts';

export const asteriskSetup: CarrierSetup<AsteriskConfig> = {
  title: 'Asterisk',
  settings: asteriskSettings,
  proofs: [['asteriskUsername', 'asteriskPassword']],
  steps: [
    'Run “npx trunkline carriers asterisk”: it prints the files with a new password.',
    'Paste them, set the two settings it names, and reload Asterisk.',
    'Call the extension.',
  ],
  configuration,
};

function configuration({ address, secret }: { address: string; secret: string }): PbxConfiguration {
  return {
    settings: { TRUNKLINE_ASTERISK_USERNAME: 'trunkline', TRUNKLINE_ASTERISK_PASSWORD: secret },
    parts: [
      {
        where: '/etc/asterisk/websocket_client.conf',
        text: `[trunkline]
type = websocket_client
connection_type = per_call_config
uri = ${address}
protocols = media
username = trunkline
password = ${secret}
tls_enabled = ${address.startsWith('wss:') ? 'yes' : 'no'}`,
      },
      {
        where: '/etc/asterisk/extensions.conf (to try it: whoever calls 700 is transcribed)',
        text: `[trunkline]
exten => 700,1,Answer()
 same => n,Dial(WebSocket/trunkline/c(ulaw)f(json)v(call_id=\${UNIQUEID},leg=customer)d(in))`,
      },
      {
        where: '/etc/asterisk/http.conf (for calls between two parties: ARI)',
        text: `[general]
enabled = yes
bindaddr = 127.0.0.1`,
      },
      {
        where: '/etc/asterisk/ari.conf (choose a password of your own for your ARI application)',
        text: `[general]
enabled = yes

[trunkline-ari]
type = user
password = <password of your ARI application>`,
      },
      {
        where:
          'your ARI application, once for each party: spy=in is what that party says; put both new channels into a bridge',
        text: `POST /ari/channels/<channel of the party>/snoop?app=<your app>&spy=in
POST /ari/channels/externalMedia?app=<your app>&transport=websocket&encapsulation=none&external_host=trunkline&format=ulaw&transport_data=f(json)v(call_id=<id of the call>,leg=<customer or agent>)d(in)
POST /ari/bridges?type=mixing
POST /ari/bridges/<bridge>/addChannel?channel=<snoop>,<externalMedia>`,
      },
    ],
  };
}
