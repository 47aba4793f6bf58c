import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';
import type { Bridge } from '../bridge/streams.ts';
import { AddressShare } from '../port/connections.ts';
import { clientAddress, isLoopback, type IsProxy } from '../port/addresses.ts';
import type { SecretJudge } from '../port/secrets.ts';
import { reasonOf } from '../lib/errors.ts';
import { memoryShortage } from '../port/memory.ts';
import { closeStranger, refuseUpgrade } from '../port/upgrades.ts';
import { carrierNamed, carriers, type AnyCarrier, type CarrierName } from './all.ts';
import type {
  AuthContext,
  JudgeSecret,
  NonceMemory,
  UpgradeRequest,
  UpgradeVerdict,
} from './carrier.ts';
import type { CarriersConfig } from './config.ts';
import { bearerOf, tooManyGuesses } from './credentials.ts';
import { socketsOpen, upgradesTotal } from './metrics.ts';
import { isOwnTestCall, requirementsOf } from './requirements.ts';
import { matchUpgrade, RecognisingSocket } from './recognising-socket.ts';
import { fieldIn, splitTarget } from './parameters.ts';
import { short, StreamSocket, type Proof, type SocketContext } from './socket.ts';

/** At most this many sockets may be open that have not proven who they are. Proven streams are not counted. */
export const maxUnprovenStreams = 1_024;
/** One address may have half of these sockets, so that it cannot keep the others out. */
export const maxUnprovenOfOneAddress = 512;

const upgradeLimits = {
  /**
   * An upgrade is decided within this time. The port's own deadline is later, and it cuts the socket off without an
   * answer.
   */
  decisionMs: 2_500,
  inProgress: 512,
  messageBytes: 65_536,
  fragments: 16,
  bufferedChunks: 1_024,
} as const;

// The types of the package do not know `closeTimeout` yet.
const serverOptions: ServerOptions & { closeTimeout: number } = {
  noServer: true,
  maxPayload: upgradeLimits.messageBytes,
  maxFragments: upgradeLimits.fragments,
  maxBufferedChunks: upgradeLimits.bufferedChunks,
  perMessageDeflate: false,
  closeTimeout: 5_000,
  clientTracking: false,
};

export type UpgradeContext = SocketContext & {
  publicUrl: () => string;
  insecure: boolean;
  hasRoom: () => boolean;
  isProxy: IsProxy;
  secrets: SecretJudge;
  nonces: NonceMemory;
};

type UpgradeRefusal =
  | { status: 401 | 403 | 404 | 503; reason: string }
  | { status: 429; reason: string; waitS: number };

/** Decides which upgrades may become streams, and holds the sockets of those that may. */
export class Upgrades {
  readonly #context: UpgradeContext;
  readonly #server = new WebSocketServer(serverOptions);
  readonly #sockets = new Map<WebSocket, StreamSocket | RecognisingSocket>();
  #inProgress = 0;
  /** Sockets that have shown no proof yet. Each has a function that frees its place. */
  readonly #unproven = new Map<WebSocket, () => void>();
  /** The time at which a stream last showed its proof, by carrier. */
  readonly #lastProvenMs = new Map<string, number>();
  readonly #share: AddressShare;
  /** Functions that tell the port that the peer of a connection has shown its proof. */
  readonly #admitted = new WeakMap<Duplex, () => void>();
  #draining = false;

  constructor(context: UpgradeContext) {
    this.#context = context;
    this.#share = new AddressShare(maxUnprovenOfOneAddress, context.isProxy);
  }

  owns(pathname: string): boolean {
    return pathname === '/carriers' || pathname.startsWith('/carriers/');
  }

  get liveStreams(): number {
    return [...this.#sockets.values()].filter((one) => one instanceof StreamSocket && one.isLive)
      .length;
  }

  get lastProvenMs(): ReadonlyMap<string, number> {
    return this.#lastProvenMs;
  }

  stopAccepting(): void {
    this.#draining = true;
  }

  closeAll(): void {
    for (const [socket, stream] of this.#sockets)
      if (stream instanceof StreamSocket) stream.drain();
      else socket.close(1001, 'restarting');
  }

  terminateAll(): void {
    for (const socket of this.#sockets.keys()) socket.terminate();
  }

  tick(): void {
    const now = this.#context.clock.monotonicMs();
    for (const one of this.#sockets.values()) one.tick(now);
    this.#context.refusals.tick();
  }

  async handle(
    incoming: IncomingMessage,
    raw: Duplex,
    head: Buffer,
    admitted: () => void,
  ): Promise<void> {
    this.#admitted.set(raw, admitted);
    const request = upgradeRequest(incoming);
    if (this.#inProgress >= upgradeLimits.inProgress) {
      this.#refuse(raw, 'unknown', { status: 503, reason: 'too many upgrades at once' });
      return;
    }
    this.#inProgress++;
    let decided = false;
    const decide = (refusal: UpgradeRefusal | undefined, name = 'unknown'): boolean => {
      if (decided) return false;
      decided = true;
      this.#inProgress--;
      cancel();
      if (refusal) this.#refuse(raw, name, refusal);
      return true;
    };
    const asked = carrierNamed(request.path.split('/')[2] ?? '')?.name;
    const cancel = this.#context.clock.after(upgradeLimits.decisionMs, () => {
      decide({ status: 503, reason: 'no decision in time' }, asked);
    });
    await this.#decide(request, incoming, raw, head, decide).catch((error: unknown) => {
      this.#context.log.error({ reason: reasonOf(error) }, 'carrier upgrade failed');
      decide({ status: 503, reason: 'internal' }, asked);
    });
  }

  async #decide(
    request: UpgradeRequest,
    incoming: IncomingMessage,
    raw: Duplex,
    head: Buffer,
    decide: (refusal: UpgradeRefusal | undefined, name?: string) => boolean,
  ): Promise<void> {
    const [name, pathToken, ...more] = request.path.split('/').slice(2);
    // An address that ends in a slash has an empty token, which counts as none.
    const token = pathToken || fieldIn(request.query, 'token') || undefined;
    const isDetecting = name === undefined || name === '';
    const carrier = isDetecting ? matchUpgrade(request) : carrierNamed(name);
    if (more.length > 0 || (!carrier && !isDetecting))
      return void decide({ status: 404, reason: 'no such carrier' });
    const client = clientAddress(incoming, this.#context.isProxy);
    const full = this.#isFull();
    if (full) return void decide(full, carrier?.name);
    const accept = (then: (socket: WebSocket) => void): void => {
      if (!decide(undefined)) return;
      if (raw.destroyed)
        return upgradesTotal.inc({ carrier: carrier?.name ?? 'unknown', outcome: 'left' });
      this.#server.handleUpgrade(incoming, raw, head, (socket) =>
        this.#guarded(socket, () => then(socket)),
      );
    };
    if (!carrier) {
      const crowd = this.#crowdOf(raw);
      if (crowd) return void decide(crowd);
      accept((socket) => this.#recognise(socket, raw, request, token, client));
      return;
    }
    const admission = await this.#admit(carrier, request, token, client);
    if (admission.outcome === 'refused') return void decide(admission, carrier.name);
    const crowd = admission.proof.state === 'at-start' ? this.#crowdOf(raw) : undefined;
    if (crowd) return void decide(crowd, carrier.name);
    accept((socket) => {
      // The upgrade is counted only here. An upgrade that was refused as late, or whose client left, has proven
      // nothing.
      upgradesTotal.inc({ carrier: carrier.name, outcome: admission.proof.state });
      this.#keep(socket, raw, carrier, request, admission.proof);
    });
  }

  async #admit(
    carrier: AnyCarrier,
    request: UpgradeRequest,
    token: string | undefined,
    client: string,
  ): Promise<UpgradeAdmission> {
    const { bridge, config, secrets, insecure, nonces, clock, publicUrl } = this.#context;
    const used: Parameters<Bridge['claimNonce']>[] = [];
    const memory: NonceMemory = {
      remember: (...nonce) => nonces.remember(...nonce) && used.push(nonce) > 0,
    };
    const judge: JudgeSecret = (secret, isRight) =>
      secrets.judge({ door: carrier.name, client, secret, isRight });
    const auth = { config, publicUrl: publicUrl(), nowMs: clock.now(), nonces: memory };
    const name = carrier.name as CarrierName;
    const { token: needsToken, whyElsewhere } = requirementsOf(config, name);
    const elsewhere = whyElsewhere(client);
    // The address is checked before the token is claimed, so that a stranger at another address cannot use it up.
    if (elsewhere !== undefined && !isLoopback(client))
      return { outcome: 'refused', status: 403, reason: elsewhere };
    const options = { bridge, auth, insecure, judge, needsToken };
    const admission = await admit(carrier, request, token, options);
    const { metadata } = proofOf(admission);
    if (elsewhere !== undefined && !isOwnTestCall(client, metadata))
      return { outcome: 'refused', status: 403, reason: elsewhere };
    // The memory has already answered without the disk. The store also knows the nonces from before a restart, so a
    // captured request that is sent again after a restart is refused.
    for (const nonce of used)
      if (!(await bridge.claimNonce(...nonce)))
        return { outcome: 'refused', status: 403, reason: 'the nonce was used before' };
    return admission;
  }

  #isFull(): UpgradeRefusal | undefined {
    if (this.#draining) return { status: 503, reason: 'shutting down' };
    if (!this.#context.hasRoom())
      return {
        status: 503,
        reason: 'no room: raise the limit of open files or TRUNKLINE_MAX_CONNECTIONS',
      };
    const shortage = memoryShortage(this.#sockets.size);
    if (shortage !== undefined) return { status: 503, reason: shortage };
    if (this.#sockets.size >= this.#context.config.maxStreams)
      return { status: 503, reason: 'too many streams' };
    return undefined;
  }

  /** Returns a refusal if too many sockets are open without a proof, in total or from this address. */
  #crowdOf(raw: Duplex): UpgradeRefusal | undefined {
    if (this.#unproven.size >= maxUnprovenStreams)
      return { status: 503, reason: 'too many unproven streams' };
    if (this.#share.isUsedUp(addressOf(raw)))
      return { status: 503, reason: 'too many unproven streams of one address' };
    return undefined;
  }

  #recognise(
    socket: WebSocket,
    raw: Duplex,
    request: UpgradeRequest,
    token: string | undefined,
    client: string,
  ): void {
    const { clock, refusals } = this.#context;
    const onRecognised = (name: CarrierName): void => {
      void this.#admitRecognised(name, request, token, client).then((admission) =>
        this.#guarded(socket, () => {
          upgradesTotal.inc({
            carrier: name,
            outcome: admission.outcome === 'refused' ? 'refused' : admission.proof.state,
          });
          const held = recognising.handOver();
          socket.resume();
          if (admission.outcome === 'refused') {
            const { reason } = admission;
            refusals.note('carrier stream refused', { carrier: name, reason });
            return closeStranger(socket, raw, 1008, short(reason));
          }
          const stream = this.#keep(socket, raw, carriers[name], request, admission.proof);
          for (const { data, isBinary } of held) stream.message(data, isBinary);
          // A short stream may be over before it was let in.
          if (socket.readyState === socket.CLOSED) stream.gone();
        }),
      );
    };
    const onUnrecognised = (reason: string | undefined): void => {
      upgradesTotal.inc({ carrier: 'unknown', outcome: 'unrecognised' });
      if (reason !== undefined)
        refusals.note('carrier stream refused', { carrier: 'unknown', reason });
    };
    const recognising = new RecognisingSocket(socket, raw, clock.monotonicMs(), {
      onRecognised,
      onUnrecognised,
    });
    this.#watch(socket, raw, recognising, true);
  }

  /** Never rejects, because nobody awaits it. */
  async #admitRecognised(
    name: CarrierName,
    request: UpgradeRequest,
    token: string | undefined,
    client: string,
  ): Promise<UpgradeAdmission> {
    try {
      return await this.#admit(carriers[name], request, token, client);
    } catch (error) {
      this.#context.log.error({ err: error }, 'carrier upgrade failed');
      return { outcome: 'refused', status: 403, reason: 'internal' };
    }
  }

  /**
   * Runs the first steps of one stream. If they throw, only this stream's socket is closed; an uncaught error would end
   * the process.
   */
  #guarded(socket: WebSocket, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#context.log.error({ err: error }, 'carrier stream failed');
      // Without this listener, an error of the socket would end the process.
      socket.on('error', () => undefined);
      socket.close(1011, 'internal');
    }
  }

  #keep(
    socket: WebSocket,
    raw: Duplex,
    carrier: AnyCarrier,
    request: UpgradeRequest,
    proof: Proof,
  ): StreamSocket {
    const onProven = (metadata: Record<string, unknown>): void => {
      // In the insecure mode a stream has proven nothing, and our own test call proves nothing about the carrier.
      if (!this.#context.insecure && !Object.hasOwn(metadata, 'test_call'))
        this.#lastProvenMs.set(carrier.name, this.#context.clock.now());
      this.#leaveCrowd(socket);
      this.#admitted.get(raw)?.();
    };
    const stream = new StreamSocket(this.#context, {
      socket,
      raw,
      carrier,
      request,
      proof,
      onProven,
    });
    if (proof.state === 'proven') onProven(proof.metadata);
    this.#watch(socket, raw, stream, proof.state === 'at-start');
    return stream;
  }

  #leaveCrowd(socket: WebSocket): void {
    this.#unproven.get(socket)?.();
    this.#unproven.delete(socket);
  }

  #watch(
    socket: WebSocket,
    raw: Duplex,
    one: StreamSocket | RecognisingSocket,
    isUnproven: boolean,
  ): void {
    if (socket.readyState === socket.CLOSED) return;
    if (isUnproven && !this.#unproven.has(socket))
      this.#unproven.set(socket, this.#share.take(addressOf(raw)));
    if (!this.#sockets.has(socket)) {
      // Without this listener, an error of the socket would end the process.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        this.#leaveCrowd(socket);
        socketsOpen.set(this.#sockets.size);
      });
    }
    this.#sockets.set(socket, one);
    socketsOpen.set(this.#sockets.size);
  }

  /** The reason goes into the answer and the log. It names what to check and holds no secret. */
  #refuse(raw: Duplex, carrier: string, refusal: UpgradeRefusal): void {
    const { status, reason } = refusal;
    upgradesTotal.inc({ carrier, outcome: String(status) });
    this.#context.refusals.note('carrier upgrade refused', { carrier, status, reason });
    refuseUpgrade(raw, status, reason, refusal.status === 429 ? refusal.waitS : undefined);
  }
}

type UpgradeAdmission =
  { outcome: 'admitted'; proof: Proof } | Extract<UpgradeVerdict, { outcome: 'refused' }>;

/**
 * Decides whether an upgrade may become a stream of this carrier. The door is closed by default: it opens to the
 * carrier's own proof or to a stream token that we minted. A carrier that can send parameters may bring the token in
 * its first message.
 */
async function admit(
  carrier: AnyCarrier,
  request: UpgradeRequest,
  urlToken: string | undefined,
  options: {
    bridge: Bridge;
    auth: Omit<AuthContext<CarriersConfig>, 'judgeSecret'>;
    insecure: boolean;
    judge: JudgeSecret;
    /**
     * True if the carrier's own proof is not enough. A stream token must then come in the first message at the latest.
     */
    needsToken: boolean;
  },
): Promise<UpgradeAdmission> {
  const shown: Parameters<JudgeSecret>[] = [];
  // Secrets are judged further below, because a stream token in the place of a secret must not count as a wrong guess.
  const judgeSecret: JudgeSecret = (secret, isRight) => {
    shown.push([secret, isRight]);
    return { is: isRight ? 'right' : 'wrong' };
  };
  const verdict = carrier.authenticate(request, { ...options.auth, judgeSecret });
  const mayBeBearer = carrier.sendsBearer && verdict.outcome !== 'accepted';
  const token = urlToken ?? (mayBeBearer ? bearerOf(request) : undefined);
  if (token !== undefined) {
    const claim = await options.bridge.claimToken(token, carrier.name);
    if (claim.outcome === 'accepted') {
      const { metadata, carrierCallId: bound } = claim;
      return admitted({
        state: 'proven',
        metadata,
        boundCallId: bound,
      });
    }
    if (!options.insecure && urlToken !== undefined)
      return { outcome: 'refused', status: 403, reason: `stream token ${claim.reason}` };
  }
  for (const secret of options.insecure ? [] : shown) {
    const judged = options.judge(...secret);
    if (judged.is === 'wait') return tooManyGuesses(judged.waitS);
  }
  if (verdict.outcome === 'accepted' || options.insecure)
    return admitted(options.needsToken ? { state: 'at-start' } : { state: 'proven', metadata: {} });
  if (verdict.outcome === 'at-start') return admitted({ state: 'at-start' });
  return verdict;
}

function proofOf(admission: UpgradeAdmission): { metadata: Record<string, unknown> } {
  return admission.outcome === 'admitted' && admission.proof.state === 'proven'
    ? admission.proof
    : { metadata: {} };
}

function admitted(proof: Proof): UpgradeAdmission {
  return { outcome: 'admitted', proof };
}

function addressOf(raw: Duplex): string | undefined {
  return 'remoteAddress' in raw && typeof raw.remoteAddress === 'string'
    ? raw.remoteAddress
    : undefined;
}

function upgradeRequest({ url: target = '/', rawHeaders }: IncomingMessage): UpgradeRequest {
  const headers = Object.create(null) as Record<string, string | undefined>;
  // Names and values alternate in the raw headers.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index]?.toLowerCase(), rawHeaders[index + 1]];
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return { target, ...splitTarget(target), headers };
}
