import type { Direction, StreamEncoding, StreamEvent } from '../bridge/seam.ts';
import type { Role } from '../protocol/events.ts';
import type { CarriersConfig } from './config.ts';

/** What a stream's own first messages say about it, in one form for all carriers. */
export type CarrierStart = {
  carrierCallId: string;
  streamId: string;
  encoding: StreamEncoding;
  sampleRate: number;
  tracks: { name: string; role?: Role }[];
  direction?: Direction;
  from?: string;
  to?: string;
  carrierIds: Record<string, string>;
  parameters: Record<string, string>;
  /** A stream token that came as a parameter; never in `parameters`. */
  token?: string;
  closingEndsCall: boolean;
};

/** By what a stream without other proof may be let in: a stream token, and the call that it must be of. */
export type StreamClaim = Pick<CarrierStart, 'carrierCallId' | 'token'>;

/** Frames in, events out: what the call takes as it is, and what only the socket needs to know. */
export type CarrierEvent =
  | StreamEvent
  | { type: 'start'; start: CarrierStart }
  /** An authenticated check of the installation: it is answered, and no call comes of it. */
  | { type: 'probe' }
  /** Goes out at once, in this order. */
  | { type: 'reply'; text: string }
  /** The stream cannot be taken; the reason names the carrier's setting to change. */
  | ({ type: 'refused'; reason: string; closingEndsCall: boolean } & StreamClaim)
  /** The stream broke its protocol in a way that it cannot go on from. */
  | { type: 'broken'; reason: string }
  | { type: 'stop'; detail?: string };

/** What we may want to say to the carrier; a codec answers the frames that say it, often none. */
export type CarrierCommand =
  | { type: 'pause' }
  | { type: 'resume' }
  | { type: 'disconnect'; reason: 'completed' | 'unauthorized' | 'error'; info: string }
  | { type: 'closed' }
  | {
      type: 'result';
      final: {
        track: string;
        text: string;
        startS: number;
        endS: number;
        confidence: number;
        language: string;
      };
    };

/** Has no socket, clock or log. `decode` does not throw: what it cannot read, it counts. */
export type Codec = {
  decode(data: Buffer, isBinary: boolean): CarrierEvent[];
  /** What still waits for its turn, when the stream is over. */
  flush?(): StreamEvent[];
  encode?(command: CarrierCommand): string[];
};

/** The request for an upgrade, as far as a decision may rest on it. */
export type UpgradeRequest = {
  /** Path and query exactly as on the request line. */
  target: string;
  path: string;
  query: string;
  /** Lower-case names; repeats joined with ", ". */
  headers: Readonly<Record<string, string | undefined>>;
};

export type Verdict =
  | { outcome: 'accepted'; by: string }
  /** Nothing was offered: 401. Something wrong was offered: 403. The reason holds no secret. */
  | { outcome: 'refused'; status: 401 | 403; reason: string }
  /** No proof on the upgrade; only a stream token in the first message can still be one. */
  | { outcome: 'at-start' };

export type AuthContext = {
  config: CarriersConfig;
  /** Base address by which carriers reach us, from the configuration, never from the request. */
  publicUrl: string;
  nowMs: number;
  nonces: NonceMemory;
};

/** True the first time, false when it was seen while remembered. */
export type NonceMemory = { remember(scheme: string, nonce: string, untilMs: number): boolean };

export type Carrier = {
  name: string;
  authenticate(request: UpgradeRequest, context: AuthContext): Verdict;
  /** Whether a secret of its own is configured; without one only stream tokens let it in. */
  hasSecret(config: CarriersConfig): boolean;
  newCodec(config: CarriersConfig, request: UpgradeRequest): Codec;
  /** Whether WebSocket pings are harmless to this carrier. */
  pings(config: CarriersConfig): boolean;
  /** Whether a stream token may stand in its Authorization header. */
  sendsBearer: boolean;
  /** Sends a last message of its own after our `disconnect`; we do not close first. */
  closesItself: boolean;
};
