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
  /** The rate at which the carrier sends; set only if we resample the audio. */
  resampledFromHz?: number;
  tracks: { name: string; role?: Role }[];
  direction?: Direction;
  from?: string;
  to?: string;
  carrierIds: Record<string, string>;
  parameters: Record<string, string>;
  /** The stream token, if it came as a parameter. It is never left in `parameters`. */
  token?: string | undefined;
  closingEndsCall: boolean;
};

/**
 * The part of a start that can prove a stream. A token lets a stream in, but only for the call that the token names.
 */
export type StreamClaim = Pick<CarrierStart, 'carrierCallId' | 'token'>;

/** Events that a codec makes from frames. A `StreamEvent` goes to the call; all others are for the socket alone. */
export type CarrierEvent =
  | StreamEvent
  | { type: 'start'; start: CarrierStart }
  /** The carrier only tests the connection. The test is answered, and no call begins. */
  | { type: 'probe' }
  /** A text to send to the carrier at once. Several replies keep their order. */
  | { type: 'reply'; text: string }
  /** The stream cannot be taken. The reason names the setting to change at the carrier. */
  | ({ type: 'refused'; reason: string; closingEndsCall: boolean } & StreamClaim)
  /** The stream broke its protocol and cannot go on. */
  | { type: 'broken'; reason: string }
  | { type: 'stop'; detail?: string };

/** Commands to the carrier. `encode` returns the frames that express a command, often none. */
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
  /** Returns the audio that the codec still holds back when the stream ends. */
  flush?(): StreamEvent[];
  encode?(command: CarrierCommand): string[];
};

/** The parts of an upgrade request that may decide whether it is let in. */
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

/** The result of checking the carrier's own proof on the upgrade. */
export type UpgradeVerdict =
  | { outcome: 'accepted'; by: string }
  /** The status is 401 if no proof came and 403 if the proof was wrong. The reason holds no secret. */
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

/** Returns true if the nonce is new, and false if it was seen before and is still remembered. */
export type NonceMemory = { remember(scheme: string, nonce: string, untilMs: number): boolean };

/** One of the first texts on a path that does not name the carrier, with the JSON object in it if there is one. */
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
  /** Sends requests to the carriers' own APIs, whose addresses are settings. */
  api: Pick<GuardedClient, 'send'>;
  log: Logger;
};

/** Either a status to store with its call, or the text that answers the carrier. */
type WebhookAnswer =
  | { callId: string | undefined; fields: Record<string, string> }
  | { xml: string }
  | { json: unknown };

/** One of a carrier's own HTTP requests to us: /carriers/<name>/<action>. */
export type CarrierWebhook<Config> = {
  /** If absent, the method is POST. */
  method?: 'get';
  action: string;
  /** `bytes` if the signature covers the body as it came: nothing may parse the body before that check. */
  body: 'form' | 'bytes';
  /** One line about the webhook in the API's description. */
  summary: string;
  headers: Parameter[];
  answers: 'kept' | 'xml' | 'json';
  /** Checks the signature first. Throws a Problem if anything is wrong. */
  handle(request: Request, context: WebhookContext<Config>): Promise<WebhookAnswer>;
};

/** Text to paste into the configuration of a PBX, and the settings of ours that must match it. */
export type PbxConfiguration = {
  settings: Record<string, string>;
  parts: { where: string; text: string }[];
};

/** Everything an operator needs to connect the carrier. The command, the API and the page show the same. */
export type CarrierSetup<Config> = {
  /** The carrier's name as the company itself writes it. */
  title: string;
  settings: Readonly<Record<string, ZodType>>;
  /**
   * Alternative groups of settings. Streams are let in once every setting of one group is set. The usual group comes
   * first.
   */
  proofs: readonly (readonly (keyof Config & string)[])[];
  /** The settings that check the proof of the voice webhook. If absent, the first group of `proofs` is used. */
  voiceProof?: readonly (keyof Config & string)[];
  /** Makes the address to enter at the carrier from the bare address. `<name>` stands for a secret in it. */
  address?(bare: string): string;
  /** Makes the address of the voice webhook from its bare address. `<name>` stands for a secret in it. */
  voiceAddress?(bare: string): string;
  /** Steps to take at the carrier, in order. The addresses are shown beside them. */
  steps: readonly string[];
  /** Makes the text to paste into the operator's own PBX. The secret consists of letters and digits. */
  configuration?(at: { address: string; secret: string }): PbxConfiguration;
};

/** Everything that other folders know about a carrier. `Config` is the carrier's part of the settings. */
export type Carrier<Config> = {
  name: string;
  authenticate(request: UpgradeRequest, context: AuthContext<Config>): UpgradeVerdict;
  /** True if a secret of this carrier is configured. Without a secret, only stream tokens let its streams in. */
  hasSecret(config: Config): boolean;
  /** Throws CONFIG_INVALID for settings that are each valid but cannot be combined. */
  checkSettings?(config: Config): void;
  newCodec(config: Config, request: UpgradeRequest): Codec;
  /** True if WebSocket pings do this carrier no harm. */
  pings(config: Config): boolean;
  /** True if the carrier wants the finals of its call. */
  takesResults?(config: Config): boolean;
  /** True if the carrier may send a stream token in its Authorization header. */
  sendsBearer: boolean;
  /** The carrier sends a last message of its own after our `disconnect`, so we do not close first. */
  closesItself: boolean;
  /** For paths that do not name the carrier: true if the headers of an upgrade show that it is this carrier. */
  matchesUpgrade?(request: UpgradeRequest): boolean;
  /**
   * For paths that do not name the carrier: true if the first texts are this carrier's, `more` if the second text will
   * decide.
   */
  matchesTexts(first: FirstText, second: FirstText | undefined): boolean | 'more';
  webhooks: readonly CarrierWebhook<Config>[];
  /** Reads the facts that a callback tells about the call itself. Absent if the carrier's callbacks tell none. */
  factsOf?(status: Readonly<Record<string, string>>, carrierCallId: string): CallFacts;
  setup: CarrierSetup<Config>;
  /** Plays the carrier's side of the protocol, so that calls can be made without a phone. */
  player: CarrierPlayer;
  /** The secrets with which the player proves itself to a bridge of this configuration. */
  playerSecrets(config: Config): PlayerSecrets;
};
