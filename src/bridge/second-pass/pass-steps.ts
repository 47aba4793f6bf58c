import type { Transaction } from 'kysely';
import type { Said } from '../records/timeline.ts';
import type { LanguageRunner } from '../../language/runner.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { enqueueEvent, type StoredEvent } from '../../outbox/enqueue.ts';
import type { NewCallEvent } from '../../protocol/events.ts';
import { backOffMs } from '../../speech-client/back-off.ts';
import type { SpeechJobs } from '../../speech-client/jobs-api.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { CallLinks } from '../call-links.ts';
import { fitted } from '../call/long-call.ts';
import type { LiveFeed } from '../live-feed.ts';
import { recordingOf, type StereoRecording } from '../recordings/recording-file.ts';
import { lengthOf } from '../call/length.ts';
import { eventCallOf } from '../records/call-record.ts';
import { valueContextOf } from '../records/value-context.ts';
import type { BridgeConfig } from '../config.ts';
import {
  callRowOf,
  languagesFrom,
  legsOf,
  recordFrom,
  updateCall,
  type CallRow,
} from '../events/call-rows.ts';
import type { Recordings } from '../recordings/recordings.ts';
import { bridgeMetrics } from '../metrics.ts';
import { completionOf } from './completion.ts';
import { jobMetadata, jobRequest } from './second-pass-request.ts';
import { joinedWords, type LiveTurn, type PieceWords } from './joined-words.ts';
import type { PassRow, PassRows } from './pass-rows.ts';
import { pieceEnd, pieceNumber, piecesIn, shortestS, slowly, type PieceRead } from './pieces.ts';
import { revisionOf, type PassRedaction } from './revision.ts';
import { voicesOf } from './recorded-roles.ts';

export type PassOptions = {
  config: BridgeConfig;
  store: Store;
  recordings: Recordings;
  jobs: SpeechJobs;
  /** The model name that the operator configured, if any. */
  model: string | undefined;
  language: LanguageRunner;
  feed: LiveFeed;
  links: CallLinks;
  clock: Clock;
  log: Logger;
  node: string;
  /** Wakes the outbox after a commit with an event. */
  wakeOutbox(): void;
};

/** At most this many jobs for one recording may fail because of the service itself. */
const maxRounds = 3;
const delays = { firstMs: 2_000, maxMs: 300_000 };
/** The status of a service that refuses a file because it is too long or too large. */
const tooLong = 413;
/** The state before the service has received anything of the next piece. */
const anew = {
  state: 'waiting',
  asked: 0,
  audio_url: null,
  file_id: null,
  job_id: null,
  service: null,
  piece_end_s: null,
} as const;
const pollMs = { first: 1_000, last: 15_000 };
/**
 * After a week the service is no longer asked to delete its data. The ids are logged so that the operator can follow it
 * up.
 */
const keepCleaningMs = 7 * 24 * 3_600_000;

/** The row is due again after this many milliseconds. No other recording is started before that. */
type PutOff = number | undefined;
type DoneJob = Extract<Awaited<ReturnType<SpeechJobs['state']>>, { outcome: 'done' }>;

/**
 * One step of one second pass. It starts from the row and ends by changing the row, so a crash loses only the step.
 *
 *   waiting ──upload──▶ uploaded ──job──▶ reading ──event──▶ cleaning ──▶ (no row)
 *      ▲                                     │                     ▲
 *      └─────────────────────────────────────┘        given up, erased
 *                  the job failed, or there is another piece
 *
 * A recording that is too long for one job is read in pieces. The words of a piece stay with its job until all are
 * read: they are not redacted yet, and none of them is in our own rows.
 */
export class PassSteps {
  readonly #options: PassOptions;
  readonly #rows: PassRows;

  constructor(options: PassOptions, rows: PassRows) {
    this.#options = options;
    this.#rows = rows;
  }

  async take(row: PassRow, signal: AbortSignal): Promise<PutOff> {
    if (row.state === 'cleaning') return this.#clean(row);
    if (this.#now > this.#deadlineOf(row)) {
      const why = (await this.#elsewhere(row)) ?? row.last_trouble;
      const trouble = why === null ? '' : `, at last ${why}`;
      await this.#giveUp(row, `no revised transcript could be had in time${trouble}`);
      return undefined;
    }
    switch (row.state) {
      case 'waiting':
        return this.#upload(row, signal);
      case 'uploaded':
        return this.#begin(row);
      case 'reading':
        return this.#look(row);
    }
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  #deadlineOf({ created_at }: PassRow): number {
    return created_at + this.#options.config.secondPassWithinMs;
  }

  async #upload(row: PassRow, signal: AbortSignal): Promise<PutOff> {
    const { jobs, config } = this.#options;
    const recording = await this.#recordingOf(row);
    if (recording === undefined)
      return this.#giveUp(
        row,
        (await this.#elsewhere(row)) ?? 'the call has no recording any more',
      );
    const pace = { clock: this.#options.clock, signal };
    const startS = piecesIn(row).at(-1)?.endS ?? 0;
    const limitS = row.piece_limit_s ?? config.secondPassPieceS;
    const endS = await pieceEnd(recording, { startS, limitS }, pace);
    if (signal.aborted) return undefined;
    const piece = recording.part(startS, endS);
    const read = (from: number, to: number) => slowly(piece, { from, to }, pace);
    // The file name contains nothing about the call except our id of the pass, because names appear in logs and lists.
    const audio = { filename: `${row.id}.wav`, bytes: piece.bytes, read };
    const result = await jobs.upload(audio, signal);
    if (result.outcome === 'refused') return this.#refused(row, result.status, result.reason);
    if (result.outcome === 'later')
      return signal.aborted ? undefined : this.#putOff(row, result.reason, result.waitMs);
    const held = { file_id: result.fileId ?? null, service: result.service ?? null };
    const place = { audio_url: result.audioUrl, piece_end_s: endS ?? null };
    const changes = { state: 'uploaded' as const, ...place, ...held };
    await this.#goOn(row, { ...changes, due_at: this.#now, tries: 0 }, held);
    return undefined;
  }

  #recordingOf({ call_id }: PassRow): Promise<StereoRecording | undefined> {
    const { store, recordings, config } = this.#options;
    const { stereoRoles } = config;
    return recordingOf({ db: store.db, recordings, callId: call_id ?? '', stereoRoles });
  }

  /** The reason why this node cannot read the recording. Undefined if it can, because the recording is its own. */
  async #elsewhere({ call_id }: PassRow): Promise<string | undefined> {
    const { store, node } = this.#options;
    const call = await store.db
      .selectFrom('calls')
      .select('node')
      .where('id', '=', call_id ?? '')
      .executeTakeFirst();
    return call === undefined || call.node === node
      ? undefined
      : 'the recording lies on the disk of a node that is lost';
  }

  async #begin(row: PassRow): Promise<PutOff> {
    const { store, jobs, config, model } = this.#options;
    if (row.asked === 1) {
      // An answer was lost, or the process was killed before it came. The job may already exist.
      const found = await jobs.find(metadataOf(row), row.service ?? undefined);
      if (found === undefined)
        return this.#putOff(row, 'the speech service does not list its jobs', undefined);
      if (found[0] !== undefined) return this.#begun(row, found[0]);
    } else if (!(await this.#rows.change(row, { asked: 1 }))) return undefined;
    const call = await callRow(store.db, row);
    if (call === undefined) return undefined;
    const { overrides } = recordFrom(call);
    const [{ isMixed }, legs] = await Promise.all([
      voicesOf(store.db, call.id),
      legsOf(store.db, call.id),
    ]);
    const result = await jobs.begin(
      jobRequest({
        audioUrl: row.audio_url ?? '',
        callId: call.id,
        passId: row.id,
        piece: pieceNumber(row),
        model,
        isMixed,
        template: config.session,
        overrides,
        spoken: legs.map((leg) => languagesFrom(leg.languages)),
      }),
      row.service ?? undefined,
    );
    switch (result.outcome) {
      case 'begun':
        return this.#begun(row, result.id);
      case 'refused':
        return this.#refused(row, result.status, result.reason);
      case 'later':
        return this.#putOff(row, result.reason, result.waitMs);
    }
  }

  async #begun(row: PassRow, jobId: string): Promise<undefined> {
    const held = { job_id: jobId };
    const due_at = this.#now + pollMs.first;
    await this.#goOn(row, { state: 'reading', ...held, due_at, tries: 0 }, held);
  }

  async #look(row: PassRow): Promise<PutOff> {
    const state = await this.#options.jobs.state(row.job_id ?? '', row.service ?? undefined);
    switch (state.outcome) {
      case 'unfinished': {
        const passedMs = Math.max(0, this.#now - row.created_at);
        const againMs = Math.min(pollMs.last, Math.max(pollMs.first, passedMs / 10));
        await this.#rows.change(row, { due_at: this.#dueIn(row, againMs), tries: 0 });
        return undefined;
      }
      case 'later':
        return this.#putOff(row, state.reason, state.waitMs);
      case 'unknown':
        return this.#again(row, 'the speech service has lost the job');
      case 'failed': {
        const reason = `the job failed (${state.code}${state.reason === '' ? '' : `: ${state.reason}`})`;
        return state.code >= 500
          ? this.#again(row, reason)
          : this.#refused(row, state.code, reason);
      }
      case 'done':
        return row.piece_end_s === null
          ? this.#join(row, state)
          : this.#nextPiece(row, row.piece_end_s);
    }
  }

  /** Continues with the next piece, which needs the recording again. */
  async #nextPiece(row: PassRow, endS: number): Promise<undefined> {
    const read = piecesIn(row);
    const { job_id, file_id: fileId, service } = row;
    const startS = read.at(-1)?.endS ?? 0;
    const piece: PieceRead = { startS, endS, jobId: job_id ?? '', fileId, service };
    const pieces = JSON.stringify([...read, piece]);
    await this.#rows.change(row, { ...anew, pieces, rounds: 0, tries: 0, due_at: this.#now });
  }

  /** Joins the words of all pieces after the last one is recognised. They make the revised transcript. */
  async #join(row: PassRow, last: DoneJob): Promise<PutOff> {
    const { jobs, store } = this.#options;
    const read = piecesIn(row);
    const words: PieceWords[] = [];
    let { noSpeakers } = last;
    for (const [at, { jobId, service, startS, endS }] of read.entries()) {
      const state = await jobs.state(jobId, service ?? undefined);
      if (state.outcome === 'later') return this.#putOff(row, state.reason, state.waitMs);
      if (state.outcome !== 'done')
        return this.#again(row, 'the speech service has lost the words of a piece', at);
      noSpeakers ??= state.noSpeakers;
      words.push({ startS, endS, spoken: state.spoken });
    }
    words.push({ startS: read.at(-1)?.endS ?? 0, endS: Infinity, spoken: last.spoken });
    const live = read.length === 0 ? [] : await liveVoices(store.db, row.call_id ?? '');
    return this.#revise(row, joinedWords(words, live), noSpeakers);
  }

  async #revise(
    row: PassRow,
    spoken: Parameters<typeof revisionOf>[0],
    noSpeakers = 'the speech service named none',
  ): Promise<undefined> {
    const { language, config, store } = this.#options;
    const { channelRoles, isMixed } = await voicesOf(store.db, row.call_id ?? '');
    const call = await callRow(store.db, row);
    const { data: revision, spoken: asSaid } = await revisionOf(spoken, {
      language,
      about: call && valueContextOf(recordFrom(call)),
      callId: row.call_id ?? '',
      channelRoles,
      redaction: JSON.parse(row.redaction) as PassRedaction,
      summaryType: config.summaryType,
      deadlineMs: config.summaryWaitMs,
    });
    const url = this.#options.links.transcriptUrl(row.call_id ?? '', this.#now);
    const isLong = fitted(revision, url).truncated === true;
    const completion = await completionOf(store.db, row.call_id ?? '', revision, {
      isLong,
      spoken: asSaid,
    });
    const data = fitted({ ...revision, incomplete: completion?.incomplete }, url);
    const { transcript } = revision;
    const areMissing =
      isMixed && transcript.length > 0 && transcript.every((turn) => turn.speaker === undefined);
    const message = `the speakers of a mixed leg were not told apart: ${noSpeakers}`;
    try {
      const said = { type: 'call.transcript.revised' as const, data };
      const also = async (tx: Transaction<Database>, call: CallRow): Promise<void> => {
        await completion?.keep(tx, call);
        if (areMissing) await this.#warn(tx, call, { code: 'NO_SPEAKERS', message });
      };
      if (!(await this.#tell(row, said, also))) return;
      bridgeMetrics.secondPasses.inc({ outcome: 'revised' });
    } catch (error) {
      if (!store.refusesForGood(error)) throw error;
      await this.#giveUp(row, 'the database refused the revised transcript');
    }
  }

  /**
   * Starts a piece again after its job failed because of the service itself. The job's data is deleted first. `from`:
   * the first piece to be recognised again, if the words of an earlier one are lost.
   */
  async #again(row: PassRow, reason: string, from?: number): Promise<PutOff> {
    if (row.rounds + 1 >= maxRounds) return this.#giveUp(row, reason);
    const read = piecesIn(row);
    const lost = from === undefined ? [] : read.slice(from);
    if (!(await this.#isErased(row, lost))) return this.#putOff(row, reason, undefined);
    const delayMs = backOffMs(row.rounds + 1, delays);
    await this.#rows.change(row, {
      ...anew,
      pieces: from === undefined ? row.pieces : JSON.stringify(read.slice(0, from)),
      rounds: row.rounds + 1,
      last_trouble: reason,
      due_at: this.#dueIn(row, delayMs),
    });
    return undefined;
  }

  /** If the audio is too long for the service, half of it is tried. Other refusals are final. */
  async #refused(row: PassRow, status: number, reason: string): Promise<PutOff> {
    const recording = status === tooLong ? await this.#recordingOf(row) : undefined;
    if (recording === undefined) return this.#giveUp(row, reason);
    const startS = piecesIn(row).at(-1)?.endS ?? 0;
    const limitS = row.piece_limit_s ?? this.#options.config.secondPassPieceS;
    const shorterS = Math.min(limitS, recording.seconds - startS) / 2;
    if (shorterS < shortestS) return this.#giveUp(row, reason);
    if (!(await this.#isErased(row))) return this.#putOff(row, reason, undefined);
    const { log } = this.#options;
    log.info({ passId: row.id, reason, shorterS }, 'a recording was sent to the service in shorter pieces'); // prettier-ignore
    const changes = { ...anew, piece_limit_s: shorterS, last_trouble: reason.slice(0, 600) };
    await this.#rows.change(row, { ...changes, due_at: this.#now });
    return undefined;
  }

  async #putOff(row: PassRow, reason: string, waitMs: number | undefined): Promise<PutOff> {
    const delayMs = Math.max(waitMs ?? 0, backOffMs(row.tries, delays));
    const changes = { tries: row.tries + 1, last_trouble: reason.slice(0, 600) };
    await this.#rows.change(row, { ...changes, due_at: this.#dueIn(row, delayMs) });
    this.#options.log.warn({ passId: row.id, reason, delayMs }, 'a second pass was postponed');
    return delayMs;
  }

  /** The next attempt comes just after the deadline at the latest, and the failure is then reported. */
  #dueIn(row: PassRow, delayMs: number): number {
    return Math.round(Math.min(this.#now + delayMs, this.#deadlineOf(row) + 1));
  }

  async #giveUp(row: PassRow, reason: string): Promise<undefined> {
    const code = 'NO_SECOND_PASS';
    const message = `the recording was not read again: ${reason}`;
    const isTold = await this.#tell(
      row,
      { type: 'call.warning', data: { code, message } },
      (tx, call) => this.#warn(tx, call, { code, message }),
    );
    if (!isTold) return;
    bridgeMetrics.secondPasses.inc({ outcome: 'given-up' });
    this.#options.log.warn({ callId: row.call_id, reason }, 'a recording was not read again');
  }

  async #warn(
    tx: Transaction<Database>,
    call: CallRow,
    warning: { code: string; message: string },
  ): Promise<void> {
    const at = new Date(this.#now).toISOString();
    const warnings = [...(JSON.parse(call.warnings) as object[]), { ...warning, at }];
    await updateCall(tx, call.id, { warnings: JSON.stringify(warnings) });
    bridgeMetrics.warnings.inc({ code: warning.code });
  }

  /**
   * Writes the event and ends the pass in one commit, so that the event is written once, and never for an erased
   * call.
   */
  async #tell(
    row: PassRow,
    said: Extract<Said, { type: 'call.transcript.revised' | 'call.warning' }>,
    also?: (tx: Transaction<Database>, call: CallRow) => Promise<void>,
  ): Promise<boolean> {
    const { store, feed } = this.#options;
    const now = this.#now;
    const event = await store.transaction(async (tx): Promise<StoredEvent | undefined> => {
      const isOurs = await this.#rows.change(row, { state: 'cleaning', due_at: now, tries: 0 }, tx);
      const call = isOurs ? await callRow(tx, row) : undefined;
      if (call === undefined) return undefined;
      await also?.(tx, call);
      const record = recordFrom(call);
      const length = lengthOf(call, await legsOf(tx, call.id));
      const common = { callId: call.id, call: eventCallOf(record, length), occurredAt: now };
      const told: NewCallEvent = { ...common, customMetadata: record.metadata, ...said };
      return enqueueEvent(tx, told);
    });
    if (event === undefined) return false;
    this.#options.wakeOutbox();
    feed.publish({ kind: 'event', event });
    feed.publish({ kind: 'call', callId: event.callId });
    return true;
  }

  /**
   * Changes the row after a step. If the call was erased meanwhile, the service's data is noted all the same, because
   * it must be deleted. If another node has the pass by now, this node was stalled: the data that it has just sent to
   * the service is deleted at once.
   */
  async #goOn(
    row: PassRow,
    changes: Parameters<PassRows['change']>[1],
    held: Parameters<PassRows['note']>[1],
  ): Promise<void> {
    if (await this.#rows.change(row, changes)) return;
    if (await this.#rows.note(row.id, held)) return;
    const { file_id = null, job_id = null, service = row.service } = held;
    // The other node finds the job by the pass's id and may continue it, so the job is not deleted.
    if (job_id !== null && (await this.#rows.mayUse(row.id, job_id))) return;
    if (await this.#isErased({ ...row, asked: 0, file_id, job_id, service })) return;
    const named = { jobId: job_id, fileId: file_id };
    this.#options.log.error(
      { passId: row.id, ...named },
      'audio that was uploaded for a second reading could not be deleted at the speech service; another node reads it now',
    );
  }

  /** Deletes the copy of the audio at the service, after the event was written and after an erasure. */
  async #clean(row: PassRow): Promise<PutOff> {
    const { log, config } = this.#options;
    if (await this.#isErased(row, piecesIn(row))) {
      await this.#rows.remove(row.id);
      return undefined;
    }
    if (this.#now - row.created_at > config.secondPassWithinMs + keepCleaningMs) {
      const held = { jobId: row.job_id, fileId: row.file_id, pieces: piecesIn(row) };
      log.error({ passId: row.id, ...held }, 'speech service keeps a copy of a recording');
      await this.#rows.remove(row.id);
      return undefined;
    }
    const delayMs = Math.round(backOffMs(row.tries, { ...delays, maxMs: 3_600_000 }));
    await this.#rows.change(row, { tries: row.tries + 1, due_at: this.#now + delayMs });
    return undefined;
  }

  /**
   * Deletes the service's data of the present piece and of these earlier pieces. Returns true if all of it is deleted.
   */
  async #isErased(row: PassRow, read: readonly PieceRead[] = []): Promise<boolean> {
    const { job_id, file_id: fileId, asked, service } = row;
    const node = service ?? undefined;
    const { jobs } = this.#options;
    const found = job_id === null && asked === 1 ? await jobs.find(metadataOf(row), node) : [];
    if (found === undefined) return false;
    const present = (job_id === null ? found : [job_id]).map((jobId) => ({ jobId, service }));
    let isGone = true;
    for (const piece of [...read, ...present])
      isGone = (await jobs.erase(piece.jobId, piece.service ?? undefined)) === 'erased' && isGone;
    for (const piece of [...read, { fileId, service }])
      if (piece.fileId !== null)
        isGone = (await jobs.eraseFile(piece.fileId, piece.service ?? undefined)) === 'erased' && isGone; // prettier-ignore
    return isGone;
  }
}

function metadataOf(row: PassRow): Record<string, unknown> {
  return jobMetadata(row.id, pieceNumber(row));
}

/** The speakers and times in the parties' shared channel, as far as the live call knows them. */
async function liveVoices(db: Pick<Transaction<Database>, 'selectFrom'>, callId: string) {
  const rows = await db
    .selectFrom('leg_results')
    .select(['start_s', 'end_s', 'speaker'])
    .where('call_id', '=', callId)
    .where('kind', '=', 'call.transcript')
    .where('speaker', 'is not', null)
    .execute();
  return rows.map(({ start_s: start, end_s: end, speaker }): LiveTurn => ({
    start,
    end,
    speaker: speaker ?? 0,
  }));
}

async function callRow(
  db: Pick<Transaction<Database>, 'selectFrom'>,
  { call_id }: PassRow,
): Promise<CallRow | undefined> {
  if (call_id === null) return undefined;
  return callRowOf(db, call_id);
}
