import type { Request } from 'express';
import type { ZodType } from 'zod';
import type {
  Bridge,
  CallFacts,
  Direction,
  StreamEncoding,
  StreamEvent,
} from '../bridge/streams.ts';
import type { Clock } from '../lib/clock.ts';
import type { GuardedClient } from '../lib/guarded-fetch.ts';
import type { Logger } from '../lib/log.ts';
import type { SecretVerdict } from '../port/secrets.ts';
import type { CarrierPlayer, PlayerSecrets } from '../player/dialogue.ts';
import type { Role } from '../protocol/events.ts';
import type { Parameter } from '../protocol/openapi/route.ts';

/** A stream's own description in its first messages, in one form for all carriers. */
export type CarrierStart = {
  carrierCallId: string;
  streamId: string;
  encoding: StreamEncoding;
  sampleRate: number;
  /** The rate that the carrier sends, where we resample the audio. */
  resampledFromHz?: number;
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

/** A stream without any other proof is let in by its token alone, and only for the call that the token names. */
export type StreamClaim = Pick<CarrierStart, 'carrierCallId' | 'token'>;

/** Events that a codec makes of frames: those that the call takes as they are, and those for the socket alone. */
export type CarrierEvent =
  | StreamEvent
  | { type: 'start'; start: CarrierStart }
  /** An authenticated check of the installation. It is answered, and it begins no call. */
  | { type: 'probe' }
  /** Replies go out at once, in this order. */
  | { type: 'reply'; text: string }
  /** The stream cannot be taken; the reason names the carrier's setting to change. */
  | ({ type: 'refused'; reason: string; closingEndsCall: boolean } & StreamClaim)
  /** The stream broke its protocol and cannot go on. */
  | { type: 'broken'; reason: string }
  | { type: 'stop'; detail?: string };

/** Commands to the carrier. A codec answers the frames that express them, often none. */
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

/** A codec has no socket, clock or log. `decode` does not throw: it counts the frames that it cannot read. */
export type Codec = {
  decode(data: Buffer, isBinary: boolean): CarrierEvent[];
  /** Gives the frames that still wait for their turn when the stream is over. */
  flush?(): StreamEvent[];
  encode?(command: CarrierCommand): string[];
};

/** The parts of an upgrade request on which a decision may rest. */
export type UpgradeRequest = {
  /** Path and query, exactly as they stand on the request line. */
  target: string;
  path: string;
  query: string;
  /**
   * Names are in lower case, and repeated headers are joined with ", ". The record has no prototype, because a header
   * may have any name.
   */
  headers: Readonly<Record<string, string | undefined>>;
};

/** The worth of the carrier's own proof on the upgrade. */
export type UpgradeVerdict =
  | { outcome: 'accepted'; by: string }
  /** 401 where no proof came, 403 where a wrong one came. The reason holds no secret. */
  | { outcome: 'refused'; status: 401 | 403; reason: string }
  /** The client guessed too often at this carrier's secret, so its next secrets are not compared for a while. */
  | { outcome: 'refused'; status: 429; reason: string; waitS: number }
  /** The upgrade brought no proof; a stream token in the first message can still be one. */
  | { outcome: 'at-start' };

export type AuthContext<Config> = {
  config: Config;
  /** The address by which carriers reach us, from the configuration and never from the request. */
  publicUrl: string;
  nowMs: number;
  nonces: NonceMemory;
  judgeSecret: JudgeSecret;
};

/** Judges a secret of the client that sends the request, and counts wrong ones. */
export type JudgeSecret = (secret: string, isRight: boolean) => SecretVerdict;

/** True for a nonce that is new, false for one that was seen and is still remembered. */
export type NonceMemory = { remember(scheme: string, nonce: string, untilMs: number): boolean };

/** One of the first text messages on the detecting path, with the JSON object in it, where there is one. */
export type FirstText = { text: string; message: Record<string, unknown> | undefined };

export type WebhookContext<Config> = {
  config: Config;
  bridge: Bridge;
  clock: Clock;
  publicUrl: () => string;
  insecure: boolean;
  judgeSecret: (request: Request, ...secret: Parameters<JudgeSecret>) => SecretVerdict;
  /** The announcement that the caller hears before the stream starts. */
  announcement: string | undefined;
  /** For the carriers' own APIs, whose addresses are settings. */
  api: Pick<GuardedClient, 'send'>;
  log: Logger;
};

/** A status to keep with its call, or the text that the carrier asked for. */
type WebhookAnswer =
  | { callId: string | undefined; fields: Record<string, string> }
  | { xml: string }
  | { json: unknown };

/** One of a carrier's own HTTP requests to us: /carriers/<name>/<action>. */
export type CarrierWebhook<Config> = {
  /** The method is POST where this is absent. */
  method?: 'get';
  action: string;
  /** `bytes` if the signature covers the body as it came: nothing may parse the body before that check. */
  body: 'form' | 'bytes';
  /** For the API's description. */
  summary: string;
  headers: Parameter[];
  answers: 'kept' | 'xml' | 'json';
  /** Checks the signature first; throws a Problem for whatever is wrong. */
  handle(request: Request, context: WebhookContext<Config>): Promise<WebhookAnswer>;
};

/** Text to paste into the configuration of a PBX, and the settings of ours that must match it. */
export type PbxConfiguration = {
  settings: Record<string, string>;
  parts: { where: string; text: string }[];
};

/** Everything an operator needs to connect the carrier. The command, the API and the page show the same. */
export type CarrierSetup<Config> = {
  /** The name as its makers write it. */
  title: string;
  settings: Readonly<Record<string, ZodType>>;
  /** Each group of settings lets streams in when all of it is set. The usual group is first. */
  proofs: readonly (readonly (keyof Config & string)[])[];
  /** The settings that its voice webhook is checked with; the first of the proofs where this is absent. */
  voiceProof?: readonly (keyof Config & string)[];
  /** The address to enter at the carrier in place of the bare one. A secret stands in it as `<name>`. */
  address?(bare: string): string;
  /** The same for its voice webhook. */
  voiceAddress?(bare: string): string;
  /** Steps to take at the carrier, in order. The addresses are shown beside them. */
  steps: readonly string[];
  /** The text to paste where the other end is the operator's own PBX. The secret is made of letters and digits. */
  configuration?(at: { address: string; secret: string }): PbxConfiguration;
};

/** Everything that the other rooms know of a carrier. `Config` is the carrier's slice of the settings. */
export type Carrier<Config> = {
  name: string;
  authenticate(request: UpgradeRequest, context: AuthContext<Config>): UpgradeVerdict;
  /** True where a secret of this carrier is configured. Without one, stream tokens alone let it in. */
  hasSecret(config: Config): boolean;
  /** Throws CONFIG_INVALID for settings that are each valid but cannot be combined. */
  checkSettings?(config: Config): void;
  newCodec(config: Config, request: UpgradeRequest): Codec;
  /** True if WebSocket pings do this carrier no harm. */
  pings(config: Config): boolean;
  /** True if the carrier wants the finals of its call. */
  takesResults?(config: Config): boolean;
  /** True where a stream token may stand in its Authorization header. */
  sendsBearer: boolean;
  /** The carrier sends a last message of its own after our `disconnect`, so we do not close first. */
  closesItself: boolean;
  /** For the detecting path: true where the headers of an upgrade show this carrier. */
  matchesUpgrade?(request: UpgradeRequest): boolean;
  /** For the detecting path: true if the first texts are this carrier's, `more` if the second text will decide. */
  matchesTexts(first: FirstText, second: FirstText | undefined): boolean | 'more';
  webhooks: readonly CarrierWebhook<Config>[];
  /** Facts that a callback tells about the call itself; absent where the carrier sends none. */
  factsOf?(status: Readonly<Record<string, string>>, carrierCallId: string): CallFacts;
  setup: CarrierSetup<Config>;
  /** The carrier's own side of the protocol, for calls without a phone. */
  player: CarrierPlayer;
  /** The secrets with which the player proves itself to a bridge of this configuration. */
  playerSecrets(config: Config): PlayerSecrets;
};
