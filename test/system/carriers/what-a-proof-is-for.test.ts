import { expect, test } from 'vitest';
import {
  CarrierClient,
  twilioConnected,
  twilioStart,
} from '../../support/carriers/carrier-client.ts';
import { carrierServer } from '../../support/carriers/carrier-server.ts';
import { provenRequest } from '../../support/carriers/callbacks.ts';
import { provenConfig } from '../../support/carriers/proven-config.ts';
import { until } from '../../support/process/until.ts';

const json = { 'content-type': 'application/json' };

test('the JWT of a signed webhook of Vonage opens no stream, neither before it was taken nor after', async () => {
  await using server = await carrierServer({ config: provenConfig() });
  const base = `http://127.0.0.1:${server.port}`;
  const body = JSON.stringify({ uuid: 'call-1', status: 'answered' });
  const event = provenRequest('vonage', base, {
    path: '/carriers/vonage/status',
    body,
    headers: json,
  });
  const { authorization = '' } = event.headers;
  const upgrade = (): Promise<CarrierClient | { status: number; body: string }> =>
    CarrierClient.connect(`${server.url}/carriers/vonage`, { authorization });
  expect(await upgrade()).toMatchObject({ status: 403, body: expect.stringContaining('webhook') });
  const taken = await fetch(base + event.path, { method: 'POST', headers: event.headers, body });
  expect(taken.status).toBe(204);
  expect(await upgrade()).toMatchObject({ status: 403 });
  expect(server.bridge.streams).toEqual([]);
});

test('an event of Vonage is kept with the call that our own answer named, and with no other', async () => {
  await using server = await carrierServer({
    config: { ...provenConfig(), vonageDial: '+15550100200' },
  });
  const base = `http://127.0.0.1:${server.port}`;
  const send = async (path: string, fields: object): Promise<Response> => {
    const body = JSON.stringify(fields);
    const { headers } = provenRequest('vonage', base, { path, body, headers: json });
    return fetch(base + path, { method: 'POST', headers, body });
  };
  const asked = await send('/carriers/vonage/voice', { uuid: 'call-1', from: 'a', to: 'b' });
  const [, connect] = (await asked.json()) as { eventUrl: string[] }[];
  const { pathname, search } = new URL(connect?.eventUrl[0] ?? '');
  expect((await send(pathname + search, { uuid: 'party-2', status: 'answered' })).status).toBe(204);
  expect(server.bridge.statuses).toMatchObject([{ callId: 'call-1' }]);
  for (const query of [
    search.replace('call-1', 'call-2'),
    '?call=call-1',
    '?call=call-1&signature=AAAA',
  ]) {
    const answer = await send(pathname + query, { uuid: 'party-2', status: 'completed' });
    expect([query, answer.status]).toEqual([query, 403]);
  }
  expect(server.bridge.statuses).toHaveLength(1);
});

test('an unsigned event commands no call of Telnyx, in the insecure mode either', async () => {
  const telnyx = { telnyxApiKey: 'KEY_of_the_tests', telnyxApiUrl: 'http://127.0.0.1:9' };
  await using server = await carrierServer({ config: telnyx, insecure: true });
  const answer = await fetch(`http://127.0.0.1:${server.port}/carriers/telnyx/voice`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({
      data: {
        event_type: 'call.initiated',
        payload: { call_control_id: 'somebody-else', direction: 'incoming' },
      },
    }),
  });
  expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('signed')]);
});

test('the metadata of a token is not overridden by the parameters of its stream', async () => {
  await using server = await carrierServer({ config: provenConfig() });
  const metadata = { consent: 'explicit-no', desk: 'north' };
  const { token } = await server.bridge.mintToken({ carrier: 'twilio', metadata });
  await using client = await CarrierClient.open(`${server.url}/carriers/twilio`);
  const customParameters = { token, consent: 'announced', desk: 'south', crmCase: 'C-1' };
  client.send(twilioConnected, twilioStart({ customParameters }));
  const stream = await until(() => server.bridge.streams[0]);
  expect(stream.start.parameters).toEqual({
    consent: 'explicit-no',
    desk: 'north',
    crmCase: 'C-1',
  });
});
