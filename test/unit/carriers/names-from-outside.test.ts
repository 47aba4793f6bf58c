import { expect, test } from 'vitest';
import { carriers, type CarrierName } from '../../../src/carriers/all.ts';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { ownRecord } from '../../../src/carriers/parameters.ts';
import { upgradeRequest } from '../../support/carriers/carrier-fixture.ts';

const hostile = '{"__proto__":"x","constructor":"y","toString":"z","crm":"C-1"}';
const format = '"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000}';

const openings: Record<CarrierName, { text: string; target?: string }> = {
  twilio: {
    text: `{"event":"start","start":{"streamSid":"MZ1","callSid":"CA1",${format},"customParameters":${hostile}}}`,
  },
  signalwire: {
    text: `{"event":"start","start":{"streamSid":"MZ1","callSid":"CA1",${format},"customParameters":${hostile}}}`,
  },
  telnyx: {
    text: `{"event":"start","stream_id":"s","start":{"call_control_id":"c","media_format":{"encoding":"PCMU","sample_rate":8000},"custom_parameters":${hostile}}}`,
  },
  plivo: {
    text: `{"event":"start","start":{"streamId":"s","callId":"c",${format}},"extra_headers":"__proto__=x;constructor=y; __proto__ =w;toString=z;crm=C-1"}`,
  },
  bandwidth: {
    text: `{"eventType":"start","metadata":{"callId":"c","streamId":"s","tracks":[{"name":"inbound",${format}}]},"streamParams":${hostile}}`,
  },
  exotel: {
    text: `{"event":"start","stream_sid":"s","start":{"call_sid":"c","media_format":{"encoding":"audio/x-raw","sample_rate":"8000"},"custom_parameters":${hostile}}}`,
    target: '/carriers/exotel?__proto__=x&constructor=y&toString=z&crm=C-1',
  },
  ringcx: {
    text: '{"event":"Start","metadata":{"callId":"c","sessionId":2,"contentType":"audio/x-mulaw","sampleRateHertz":8000,"__proto__":"x","constructor":"y"}}',
    target: '/carriers/ringcx?__proto__=x&constructor=y&toString=z&crm=C-1',
  },
  jambonz: {
    text: `{"callSid":"c","mixType":"mono","sampleRate":8000,${hostile.slice(1)}`,
  },
  freeswitch: { text: `{"callId":"c","sampleRate":8000,${hostile.slice(1)}` },
  infobip: {
    text: `{"callId":"c","packetizationTime":20,"sampleRate":8000,"customData":${hostile}}`,
  },
  vonage: {
    text: `{"event":"websocket:connected","content-type":"audio/l16;rate=8000",${hostile.slice(1)}`,
  },
  asterisk: {
    text: `{"event":"MEDIA_START","channel_id":"1.1","format":"ulaw","channel_variables":${hostile}}`,
    target: '/carriers/asterisk?__proto__=x&constructor=y&toString=z&crm=C-1',
  },
  audiohook: {
    text: `{"version":"2","type":"open","id":"s","seq":1,"serverseq":0,"position":"PT0S","parameters":{"organizationId":"o","conversationId":"c","participant":{"id":"p","ani":"","aniName":"","dnis":""},"media":[{"type":"audio","format":"PCMU","channels":["external"],"rate":8000}],"customConfig":${hostile}}}`,
  },
};

test.each(Object.entries(openings))(
  '%s: a parameter of any name is a parameter, and reaches no prototype',
  (name, { text, target }) => {
    const codec = carriers[name as CarrierName].newCodec(
      CarriersConfig.parse({}),
      upgradeRequest(target),
    );
    const start = codec
      .decode(Buffer.from(text), false)
      .flatMap((event) => (event.type === 'start' ? [event.start] : []))[0];
    expect(
      Object.entries(start?.parameters ?? {})
        .map(([key]) => key)
        .sort(),
    ).toEqual(expect.arrayContaining(['constructor', 'crm', 'toString']));
    expect(Object.hasOwn(start?.parameters ?? {}, '__proto__')).toBe(false);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);

test('a record of names from outside has no prototype that a name could be mistaken for', () => {
  const record = ownRecord([
    ['__proto__', 'x'],
    ['constructor', 'y'],
    ['CallSid', 'CA1'],
  ]);
  expect(Object.getPrototypeOf(record)).toBe(null);
  expect(Object.keys(record)).toEqual(['constructor', 'CallSid']);
  expect('toString' in record).toBe(false);
});
