import { AudiohookCodec } from '../../../src/carriers/audiohook/codec.ts';
import type { CarrierCommand, CarrierEvent } from '../../../src/carriers/carrier.ts';

export const id = '0d5bb3c5-1a6e-4f0e-9d1c-7f1d2c3b4a59';
export const organizationId = '5b4c3d2e-1f00-4a9b-8c7d-6e5f40312233';
export const media = [
  { type: 'audio', format: 'PCMU', channels: ['external', 'internal'], rate: 8000 },
];

/** The client's side of AudioHook, written by hand so that every number can be made wrong. */
export class AudiohookClient {
  readonly codec = new AudiohookCodec({ sessionId: id, organizationId });
  seq = 0;
  serverseq = 0;

  send(
    type: string,
    parameters: unknown = {},
    wrong: Record<string, unknown> = {},
  ): CarrierEvent[] {
    const message = {
      version: '2',
      type,
      id,
      seq: ++this.seq,
      serverseq: this.serverseq,
      position: 'PT0S',
      parameters,
      ...wrong,
    };
    return this.heard(this.codec.decode(Buffer.from(JSON.stringify(message)), false));
  }

  open(parameters: Record<string, unknown> = {}): CarrierEvent[] {
    return this.send('open', {
      organizationId,
      conversationId: '9a8b7c6d-5e4f-4032-91a2-b3c4d5e6f708',
      media,
      participant: { id: 'p', ani: '+15550100123', aniName: '', dnis: '' },
      ...parameters,
    });
  }

  say(command: CarrierCommand): Record<string, unknown>[] {
    return this.codec.encode(command).map((text) => {
      const message = JSON.parse(text);
      this.serverseq = message.seq;
      return message;
    });
  }

  heard(events: CarrierEvent[]): CarrierEvent[] {
    for (const event of events)
      if (event.type === 'reply') this.serverseq = JSON.parse(event.text).seq;
    return events;
  }
}
