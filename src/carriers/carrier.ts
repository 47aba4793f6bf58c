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

/** What a stream's own first messages say about it, in one form for all carriers. */
export type CarrierStart = {
  carrierCallId: string;
  streamId: string;
  encoding: StreamEncoding;
  sampleRate: number;
  /** The rate that the carrier sends, where the audio is resampled here. */
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

/** Has no socket, clock or log. `decode` does not throw: frames that it cannot read are counted. */
export type Codec = {
  decode(data: Buffer, isBinary: boolean): CarrierEvent[];
  /** The frames that still wait for their turn when the stream is over. */
  flush?(): StreamEvent[];
  encode?(command: CarrierCommand): string[];
};

/** The request for an upgrade, as far as a decision may rest on it. */
export type UpgradeRequest = {
  /** Path and query exactly as on the request line. */
  target: string;
  path: string;
  query: string;
  /** Lower-case names; repeats joined with ", ". No prototype: a header may have any name. */
  headers: Readonly<Record<string, string | undefined>>;
};

/** What a carrier's own proof on the upgrade is worth. */
export type UpgradeVerdict =
  | { outcome: 'accepted'; by: string }
  /** Nothing was offered: 401. Something wrong was offered: 403. The reason holds no secret. */
  | { outcome: 'refused'; status: 401 | 403; reason: string }
  /** The client guessed too often at this carrier's secret, and its next one is not looked at for a while. */
  | { outcome: 'refused'; status: 429; reason: string; waitS: number }
  /** No proof on the upgrade; only a stream token in the first message can still be one. */
  | { outcome: 'at-start' };

export type AuthContext<Config> = {
  config: Config;
  /** Base address by which carriers reach us, from the configuration, never from the request. */
  publicUrl: string;
  nowMs: number;
  nonces: NonceMemory;
  judgeSecret: JudgeSecret;
};

/** Counts the wrong secrets of the client whose request is decided. */
export type JudgeSecret = (secret: string, isRight: boolean) => SecretVerdict;

/** True for a nonce that is new, false for one that was seen and is still remembered. */
export type NonceMemory = { remember(scheme: string, nonce: string, untilMs: number): boolean };

/** One of the first text messages on the detecting path, and the JSON object that it is, if it is one. */
export type FirstText = { text: string; message: Record<string, unknown> | undefined };

export type WebhookContext<Config> = {
  config: Config;
  bridge: Bridge;
  clock: Clock;
  publicUrl: () => string;
  insecure: boolean;
  judgeSecret: (request: Request, ...secret: Parameters<JudgeSecret>) => SecretVerdict;
  /** What is said to the caller before the stream starts. */
  announcement: string | undefined;
  /** For the carriers' own APIs, whose addresses are settings. */
  api: Pick<GuardedClient, 'send'>;
  log: Logger;
};

/** A status to be kept with the call that it is about, or the text that the carrier asked for. */
type WebhookAnswer =
  | { callId: string | undefined; fields: Record<string, string> }
  | { xml: string }
  | { json: unknown };

/** One of a carrier's own HTTP requests to us: /carriers/<name>/<action>. */
export type CarrierWebhook<Config> = {
  /** POST, where nothing else is said. */
  method?: 'get';
  action: string;
  /** `bytes` where the signature is over the body as it came: it must not be parsed on the way. */
  body: 'form' | 'bytes';
  /** For the API's description. */
  summary: string;
  headers: Parameter[];
  answers: 'kept' | 'xml' | 'json';
  /** Checks the signature first; throws a Problem for whatever is wrong. */
  handle(request: Request, context: WebhookContext<Config>): Promise<WebhookAnswer>;
};

/** Text for the configuration of a PBX, and what our own settings must say with it. */
export type PbxConfiguration = {
  settings: Record<string, string>;
  parts: { where: string; text: string }[];
};

/** What an operator must know to connect the carrier: the command, the API and the page show the same. */
export type CarrierSetup<Config> = {
  /** As its makers write its name. */
  title: string;
  settings: Readonly<Record<string, ZodType>>;
  /** Each group lets streams in when all of it is set; the first is the usual one. */
  proofs: readonly (readonly (keyof Config & string)[])[];
  /** What its voice webhook is checked with; the first of the proofs unless said. */
  voiceProof?: readonly (keyof Config & string)[];
  /** What the carrier is told in place of the bare address; a secret stands in it as `<name>`. */
  address?(bare: string): string;
  /** The same for its voice webhook. */
  voiceAddress?(bare: string): string;
  /** What to click at the carrier, in order. Addresses stand beside the steps. */
  steps: readonly string[];
  /** Where the other end is a PBX of the operator's own: what to paste there. The secret is of letters and digits. */
  configuration?(at: { address: string; secret: string }): PbxConfiguration;
};

/** Everything that the rest of the house knows of a carrier. `Config` is the carrier's slice of the settings. */
export type Carrier<Config> = {
  name: string;
  authenticate(request: UpgradeRequest, context: AuthContext<Config>): UpgradeVerdict;
  /** Whether a secret of its own is configured; without one only stream tokens let it in. */
  hasSecret(config: Config): boolean;
  /** Throws CONFIG_INVALID for settings that are each right and together wrong. */
  checkSettings?(config: Config): void;
  newCodec(config: Config, request: UpgradeRequest): Codec;
  /** Whether WebSocket pings are harmless to this carrier. */
  pings(config: Config): boolean;
  /** Whether the carrier wants the finals of its call back. */
  takesResults?(config: Config): boolean;
  /** Whether a stream token may stand in its Authorization header. */
  sendsBearer: boolean;
  /** Sends a last message of its own after our `disconnect`; we do not close first. */
  closesItself: boolean;
  /** On the detecting path: whether the headers of an upgrade show this carrier. */
  matchesUpgrade?(request: UpgradeRequest): boolean;
  /** On the detecting path: whether the first texts are this carrier's, `more` when the second will tell. */
  matchesTexts(first: FirstText, second: FirstText | undefined): boolean | 'more';
  webhooks: readonly CarrierWebhook<Config>[];
  /** What one of its callbacks says of the call itself; absent where it has none. */
  factsOf?(status: Readonly<Record<string, string>>, carrierCallId: string): CallFacts;
  setup: CarrierSetup<Config>;
  /** The carrier's own side of the protocol, for calls without a phone. */
  player: CarrierPlayer;
  /** The secrets with which the player proves itself to a bridge of this configuration. */
  playerSecrets(config: Config): PlayerSecrets;
};
