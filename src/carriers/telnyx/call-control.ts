import { createHash } from 'node:crypto';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Problem } from '../../port/problem.ts';
import type { WebhookContext } from '../carrier.ts';
import { requiredCallId } from '../forms.ts';
import { streamToken } from '../stream-token.ts';
import { consentOf, socketUrlOf } from '../voice-answer.ts';
import type { TelnyxConfig } from './settings.ts';

/** The fields of a Call Control event that decide the next step of its call. */
export type CallControlEvent = {
  id: string;
  type: string;
  callControlId: string | undefined;
  /**
   * The client state that we gave the call. It comes back with later events of calls that we answered, and with no
   * others.
   */
  clientState: string | undefined;
  isIncoming: boolean;
  hasHungUp: boolean;
};

type Command = { name: string; body: Record<string, string> };

/** Marks calls that Trunkline answered. A call that another program answers belongs to that program. */
export const ourClientState = Buffer.from('trunkline').toString('base64');

/** Telnyx waits for the webhook, and repeats it sooner than a hanging command would end. */
const commandWithinMs = 4_000;

type Flow = { announcement: string | undefined; dial: string | undefined };

/** Decides the next step of the call. Pure; the command for the stream is made when it is needed. */
export function stepAfter(
  event: CallControlEvent,
  { announcement }: Flow,
): 'answer' | 'speak' | 'go-on' | undefined {
  if (event.type === 'call.initiated')
    return event.isIncoming && event.clientState === undefined ? 'answer' : undefined;
  if (event.clientState !== ourClientState || event.hasHungUp) return undefined;
  if (event.type === 'call.answered') return announcement === undefined ? 'go-on' : 'speak';
  return event.type === 'call.speak.ended' ? 'go-on' : undefined;
}

/**
 * Controls a call of a Call Control application: answers it, plays the announcement, streams and transfers it. The
 * other steps continue without a stream. If any other command fails, the webhook fails and Telnyx sends it again.
 * Commands have ids, so that none is carried out twice.
 */
export async function leadCall(
  event: CallControlEvent,
  context: WebhookContext<TelnyxConfig>,
): Promise<void> {
  const { announcement, config, log } = context;
  const dial = config.telnyxDial;
  const step = stepAfter(event, { announcement, dial });
  if (step === undefined) return;
  const callId = requiredCallId(event.callControlId, 'call_control_id');
  const send = (command: Command): Promise<void> => commanded(event, callId, command, context);
  switch (step) {
    case 'answer':
      return send({ name: 'answer', body: {} });
    case 'speak': {
      const voice = { voice: 'female', language: 'en-US' };
      return send({ name: 'speak', body: { payload: announcement ?? '', ...voice } });
    }
    case 'go-on': {
      const streaming = streamed(callId, context).then((command) => command && send(command));
      const transferring =
        dial === undefined ? undefined : send({ name: 'transfer', body: { to: dial } });
      await Promise.all([warned(streaming, log), transferring]);
    }
  }
}

/** Makes the command for the stream. A call that asks again gets the same token, which opens only one stream. */
async function streamed(
  callId: string,
  context: WebhookContext<TelnyxConfig>,
): Promise<Command | undefined> {
  const { publicUrl, announcement } = context;
  const token = await streamToken(context, {
    carrier: 'telnyx',
    carrierCallId: callId,
    ...consentOf(announcement),
    madeOf: `call control ${callId}`,
  });
  if (token === undefined) return undefined;
  const stream_url = `${socketUrlOf(publicUrl(), 'telnyx')}/${token}`;
  return { name: 'streaming_start', body: { stream_url, stream_track: 'both_tracks' } };
}

async function warned(streaming: Promise<void>, log: Logger): Promise<void> {
  try {
    await streaming;
  } catch (error) {
    const reason = reasonOf(error);
    log.warn({ carrier: 'telnyx', reason }, 'a call goes on without its stream');
  }
}

async function commanded(
  event: CallControlEvent,
  callId: string,
  { name, body }: Command,
  { api, config }: WebhookContext<TelnyxConfig>,
): Promise<void> {
  const { telnyxApiKey: key, telnyxApiUrl: base } = config;
  const command_id = createHash('sha256').update(`${event.id} ${name}`).digest('hex').slice(0, 36);
  const answer = await api.send({
    url: `${base}/calls/${encodeURIComponent(callId)}/actions/${name}`,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify({ ...body, client_state: ourClientState, command_id })),
    deadlineMs: commandWithinMs,
    maxBytes: 16_384,
  });
  if (!answer.ok) throw new Problem(502, `Telnyx was not told ${name}: ${answer.reason}`);
  if (answer.status >= 300)
    throw new Problem(
      answer.status === 422 ? 409 : 502,
      `Telnyx refused ${name} with status ${answer.status}` +
        (answer.status === 401 ? ': check TRUNKLINE_TELNYX_API_KEY' : ''),
    );
}
