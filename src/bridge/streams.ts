import type { Role } from '../protocol/events.ts';

/**
 * The seam between carriers/ (codec, authentication, sockets) and the bridge (calls, legs, sessions).
 * A carrier calls `Bridge.openStream` once it knows who calls and has authenticated it, then hands over
 * audio track by track. Nothing here blocks: a carrier's loop never waits for speech or disk.
 */
export type Direction = 'inbound' | 'outbound';

/** As declared by the stream's own first message. L16 has been turned to little-endian by the carrier. */
export type StreamEncoding = 'mulaw' | 'alaw' | 'pcm8' | 'pcm16';

type StreamTrack = {
  /** The carrier's own word: `inbound`, `outbound`, `external`, `internal`, `mixed`. */
  name: string;
  /** 2 only for a stereo stream that is not split. */
  channels: 1 | 2;
  /** Set when a parameter of this call says so; otherwise the bridge's role table decides. */
  role?: Role;
};

export type StreamStart = {
  carrier: string;
  carrierCallId: string;
  /** The carrier's id of this stream; equal ids on the same call are the same stream. */
  streamId: string;
  encoding: StreamEncoding;
  sampleRate: number;
  /** What the carrier sent, where its rate was none of the interface and the audio was resampled. */
  resampledFromHz?: number;
  tracks: StreamTrack[];
  direction?: Direction;
  from?: string;
  to?: string;
  /** Further ids that the carrier gave (account, conversation, correlation), for `custom_metadata`. */
  carrierIds: Record<string, string>;
  /** The carrier's custom parameters and the stream token's metadata; never the token itself. */
  parameters: Record<string, unknown>;
  /** Whether closing this socket from our side ends the phone call. */
  closingEndsCall: boolean;
  /** The bridge may ping this socket; without pings only the idle limit applies. */
  pings: boolean;
};

export type StreamEnd = 'stop' | 'close' | 'error' | 'idle' | 'drain' | 'refused';

/** What the bridge may ask of the carrier's socket. All idempotent, none may throw. */
export type StreamControl = {
  /** Ask the carrier to stop or go on sending; carriers without such a message ignore it. */
  pause(): void;
  resume(): void;
  /** End the stream from our side in the way that harms the phone call least; `stop` where the phone call is over. */
  disconnect(reason: string, how?: 'drain' | 'stop'): void;
  /** A final, for carriers that take results back; absent for the others. */
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
 * What a stream says to its call: the one vocabulary from a carrier's codec to the call. Silence travels as a
 * length of time, never as bytes, so that no number from outside becomes a buffer of its size.
 */
export type StreamEvent =
  /** Payload bytes of one track, unchanged. The call keeps no reference after it has taken them. */
  | { type: 'audio'; track: string; payload: Buffer }
  /** The carrier itself lost or threw away this much (numbering gap, `discarded`): silence goes instead. */
  | { type: 'lost'; track: string; durationMs: number; cause: string }
  /** The carrier sent nothing for this long, by its own media clock, and lost nothing: silence keeps the leg on time. */
  | { type: 'quiet'; track: string; durationMs: number }
  /** Frames out of order, repeated, undecodable: counted on the call. */
  | {
      type: 'count';
      what: 'reordered' | 'duplicate' | 'malformed' | 'late' | 'unknown';
      track?: string;
    }
  | { type: 'dtmf'; digit: string; track?: string }
  /**
   * The audio that comes next is this old: it has waited for its call. 0 when what comes is of now again. Its place on
   * the call's clock is when it was said.
   */
  | { type: 'waited'; durationMs: number }
  /** The carrier paused by itself; audio that still comes counts as paused. */
  | { type: 'paused' }
  /** The audio thrown away meanwhile, by the carrier's media clock; 0 where the carrier does not say. */
  | { type: 'resumed'; discardedMs: number }
  | { type: 'language'; code: string };

export type CallStream = {
  readonly callId: string;
  /** Returns at once, whatever the event; an event that the call has no use for is counted or ignored. */
  take(event: StreamEvent): void;
  /** Once, whichever of stop, close, error and idle comes first; later calls do nothing. */
  end(reason: StreamEnd, detail?: string): void;
};

export type OpenedStream =
  | { outcome: 'opened'; stream: CallStream; startPaused: boolean }
  /** The same stream is already open: keep the socket, ignore its audio. */
  | { outcome: 'duplicate'; callId: string }
  /** Disk low, draining, at capacity, unusable encoding: `reason` is for the carrier's own refusal. */
  | { outcome: 'refused'; reason: string };

export type TokenClaim =
  | { outcome: 'accepted'; carrierCallId?: string; metadata: Record<string, unknown> }
  | { outcome: 'refused'; reason: 'unknown' | 'expired' | 'used' | 'other-carrier' | 'other-call' };

/** What a callback of the carrier says of the phone call itself. */
export type CallFacts = {
  from?: string;
  to?: string;
  direction?: Direction;
  /** The phone call is over, whatever its streams look like. */
  isOver?: true;
};

/** How the callbacks of a carrier are read: each has its own words for the same facts. */
export type ReadFacts = (told: {
  carrier: string;
  carrierCallId: string;
  status: Readonly<Record<string, string>>;
}) => CallFacts;

/** What carriers/ may ask of the bridge. */
export type Bridge = {
  openStream(start: StreamStart, control: StreamControl): Promise<OpenedStream>;
  /** One use: a second claim of the same token is refused. Without the call id the binding is checked at start. */
  claimToken(token: string, carrier: string, carrierCallId?: string): Promise<TokenClaim>;
  /**
   * Mints a stream token. With `madeOf` the same text brings the same token, which nobody without this installation's key
   * can compute; a token that is known already stays as it is: used, if it was.
   */
  mintToken(request: {
    carrier: string;
    carrierCallId?: string;
    metadata?: Record<string, unknown>;
    madeOf?: string;
  }): Promise<{ token: string; expiresAt: number }>;
  /** True once for each nonce until the time has passed, for all nodes and across restarts: a recorded webhook or upgrade that is sent again is refused. */
  claimNonce(scheme: string, nonce: string, untilMs: number): Promise<boolean>;
  /** When a stream of this carrier began a call last, on any node; test calls do not count. */
  lastStreamAt(carrier: string): Promise<number | undefined>;
  /** A status callback of the carrier, kept with the call, which learns what it says; a call not seen yet keeps it too. */
  carrierStatus(
    carrier: string,
    carrierCallId: string,
    status: Record<string, string>,
  ): Promise<void>;
};
