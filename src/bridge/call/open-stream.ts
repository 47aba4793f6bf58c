import type { LegRecord } from '../records/leg-record.ts';
import type { CallStream, StreamControl, StreamEnd, StreamEvent, StreamStart } from '../streams.ts';

/** What a stream needs of its call. */
type StreamOwner = {
  readonly record: { readonly id: string };
  takeFrom(stream: OpenStream, event: StreamEvent): void;
  streamEnded(stream: OpenStream, how: StreamEnd, detail: string | undefined): void;
};

type OpenStreamOptions = {
  call: StreamOwner;
  id: string;
  start: StreamStart;
  control: StreamControl;
  tracks: ReadonlyMap<string, LegRecord>;
};

/** What a carrier holds of a call: one socket's frames go in, track by track. Its end is told once. */
export class OpenStream implements CallStream {
  readonly id: string;
  readonly carrierStreamId: string;
  readonly control: StreamControl;
  readonly tracks: ReadonlyMap<string, LegRecord>;
  #call: StreamOwner | undefined;
  readonly callId: string;
  /** How old the audio is that comes now: it has waited for the call. */
  waitedS = 0;

  constructor({ call, id, start, control, tracks }: OpenStreamOptions) {
    this.id = id;
    this.carrierStreamId = start.streamId;
    this.control = control;
    this.tracks = tracks;
    this.#call = call;
    this.callId = call.record.id;
  }

  take(event: StreamEvent): void {
    this.#call?.takeFrom(this, event);
  }

  end(reason: StreamEnd, detail?: string): void {
    const call = this.#call;
    this.#call = undefined;
    call?.streamEnded(this, reason, detail);
  }

  /** The call is erased: frames that still come go nowhere. */
  forget(): void {
    this.#call = undefined;
  }
}
