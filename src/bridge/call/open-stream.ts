import type { LegRecord } from '../records/leg-record.ts';
import type { CallStream, StreamControl, StreamEnd, StreamEvent, StreamStart } from '../streams.ts';

/** The parts of its call that a stream uses. */
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

/** A carrier's handle on a call: takes the frames of one socket, track by track. It reports its end once. */
export class OpenStream implements CallStream {
  readonly id: string;
  readonly carrierStreamId: string;
  readonly control: StreamControl;
  readonly tracks: ReadonlyMap<string, LegRecord>;
  #call: StreamOwner | undefined;
  readonly callId: string;
  /** The age of the audio that arrives now: it has waited until the call was open. */
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

  /** The call is erased. Frames that still arrive are dropped. */
  forget(): void {
    this.#call = undefined;
  }
}
