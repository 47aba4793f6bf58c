import type { Role } from '../protocol/events.ts';

/**
 * The interface between carriers/ (codec, authentication, sockets) and the bridge (calls, legs, sessions). A carrier
 * authenticates its caller, calls `Bridge.openStream`, and then hands over audio track by track. Nothing here blocks:
 * a carrier's loop never waits for speech or disk.
 */
export type Direction = 'inbound' | 'outbound';

/**
 * The encoding that the stream's first message declares. The carrier's code has already converted L16 to
 * little-endian.
 */
export type StreamEncoding = 'mulaw' | 'alaw' | 'pcm8' | 'pcm16';

type StreamTrack = {
  /** The carrier's own name of the track: `inbound`, `outbound`, `external`, `internal`, `mixed`. */
  name: string;
  /** 2 only for a stereo stream that is not split into two tracks. */
  channels: 1 | 2;
  /** Set if a parameter of this call gives the role. Otherwise the bridge's role table decides. */
  role?: Role;
};

export type StreamStart = {
  carrier: string;
  carrierCallId: string;
  /** The carrier's id of this stream. Streams of a call with equal ids are the same stream. */
  streamId: string;
  encoding: StreamEncoding;
  sampleRate: number;
  /** The carrier's own rate, if the audio was resampled because the speech interface does not accept that rate. */
  resampledFromHz?: number;
  tracks: StreamTrack[];
  direction?: Direction;
  from?: string;
  to?: string;
  /** Further ids from the carrier (account, conversation, correlation), for `custom_metadata`. */
  carrierIds: Record<string, string>;
  /** The carrier's custom parameters and the stream token's metadata, but never the token itself. */
  parameters: Record<string, unknown>;
  /** True if closing this socket from our side ends the phone call. */
  closingEndsCall: boolean;
  /** True if the bridge may ping this socket. Without pings only the idle limit applies. */
  pings: boolean;
};

export type StreamEnd = 'stop' | 'close' | 'error' | 'idle' | 'drain' | 'refused';

/** Requests of the bridge to the carrier's socket. All are idempotent, and none may throw. */
export type StreamControl = {
  /** Asks the carrier to stop sending, or to continue. Carriers without such a message ignore it. */
  pause(): void;
  resume(): void;
  /** Ends the stream from our side in the way that harms the phone call least. `stop`: the phone call is over. */
  disconnect(reason: string, how?: 'drain' | 'stop'): void;
  /** Sends a final to the carrier. Absent for carriers that do not accept results. */
  result?(final: {
    track: string;
    text: string;
    startS: number;
    endS: number;
    confidence: number;
    language: string;
  }): void;
};

/**
 * The events from a carrier's codec to the call. Silence is given as a length of time and never as bytes, so that no
 * number from outside decides the size of a buffer.
 */
export type StreamEvent =
  /** Payload bytes of one track, unchanged. The call keeps no reference after it has taken them. */
  | { type: 'audio'; track: string; payload: Buffer }
  /**
   * The carrier itself lost or discarded this much audio (a gap in its numbering, `discarded`). Silence takes its
   * place.
   */
  | { type: 'lost'; track: string; durationMs: number; cause: string }
  /**
   * The carrier sent nothing for this long, by its own media clock, and lost nothing. Silence keeps the leg on time.
   */
  | { type: 'quiet'; track: string; durationMs: number }
  /** Frames that were out of order, repeated or undecodable. They are counted on the call. */
  | {
      type: 'count';
      what: 'reordered' | 'duplicate' | 'malformed' | 'late' | 'unknown';
      track?: string;
    }
  | { type: 'dtmf'; digit: string; track?: string }
  /**
   * The next audio has waited this long for its call; 0 when the audio is current again. On the call's clock, audio is
   * placed at the time when it was said.
   */
  | { type: 'waited'; durationMs: number }
  /** The carrier paused by itself. Audio that still arrives counts as paused. */
  | { type: 'paused' }
  /** Audio that was discarded during the pause, by the carrier's media clock; 0 if the carrier does not say. */
  | { type: 'resumed'; discardedMs: number }
  | { type: 'language'; code: string };

export type CallStream = {
  readonly callId: string;
  /** Returns at once for every event. An event that the call cannot use is counted or ignored. */
  take(event: StreamEvent): void;
  /** Ends the stream at the first of stop, close, error and idle. Later calls do nothing. */
  end(reason: StreamEnd, detail?: string): void;
};

export type OpenedStream =
  | { outcome: 'opened'; stream: CallStream; startPaused: boolean }
  /** The stream is already open on another socket. This socket is kept and its audio ignored. */
  | { outcome: 'duplicate'; callId: string }
  /**
   * The stream cannot be taken: the disk is low, the process is shutting down or full, or the encoding is unusable.
   * `reason` is for the carrier's own refusal.
   */
  | { outcome: 'refused'; reason: string };

export type TokenClaim =
  | { outcome: 'accepted'; carrierCallId?: string; metadata: Record<string, unknown> }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'used' | 'other-carrier' | 'other-call' };

/** Facts about the phone call that a carrier's callback contains. */
export type CallFacts = {
  from?: string;
  to?: string;
  direction?: Direction;
  /** Set when the phone call is over, even if its streams are still open. */
  isOver?: true;
};

/** Reads facts from a carrier's callbacks. Each carrier has its own words for the same facts. */
export type ReadFacts = (told: {
  carrier: string;
  carrierCallId: string;
  status: Readonly<Record<string, string>>;
}) => CallFacts;

/** The functions of the bridge that carriers/ may call. */
export type Bridge = {
  openStream(start: StreamStart, control: StreamControl): Promise<OpenedStream>;
  /**
   * A token can be used once: a second claim is refused. Without the call id, the binding is checked at the start of
   * the stream.
   */
  claimToken(token: string, carrier: string, carrierCallId?: string): Promise<TokenClaim>;
  /**
   * Makes a stream token. The same `madeOf` gives the same token, which cannot be computed without this
   * installation's key. A token that already exists stays as it is, used or not.
   */
  mintToken(request: {
    carrier: string;
    carrierCallId?: string;
    metadata?: Record<string, unknown>;
    madeOf?: string | undefined;
  }): Promise<{ token: string; expiresAt: number }>;
  /**
   * Claims a nonce until the given time. Returns true only for the first claim, for all nodes and across restarts, so a
   * recorded webhook or upgrade that is sent again is refused.
   */
  claimNonce(scheme: string, nonce: string, untilMs: number): Promise<boolean>;
  /** The time at which a stream of this carrier last began a call, on any node. Test calls do not count. */
  lastStreamAt(carrier: string): Promise<number | undefined>;
  /**
   * Stores a status callback of the carrier with its call, which learns its facts. A callback for a call that has not
   * been seen yet is stored too.
   */
  carrierStatus(
    carrier: string,
    carrierCallId: string,
    status: Record<string, string>,
  ): Promise<void>;
};
