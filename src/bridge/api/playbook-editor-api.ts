import { Router } from 'express';
import { checkedPlaybook, playbookSchema, type PlaybookFile, type PlaybookFiles } from '../../assist/playbook-files.ts'; // prettier-ignore
import { ruleSetInSlices } from '../../assist/rule-set.ts';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { principalOf } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import {
  PlaybookPreviewRequest,
  PlaybookSave,
  type PlaybookDeleted,
  type PlaybookFileList,
  type PlaybookPreview,
  type PlaybookSaved,
  type PlaybookText,
} from '../../protocol/assist-events.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import type { ListeningPlaybooks } from './assist-api.ts';
import { callsFor, trialOf } from './playbook-trials.ts';
import { invalid } from './query.ts';

type PlaybookEditorOptions = {
  store: Store;
  playbooks: Pick<ListeningPlaybooks, 'load' | 'teach'>;
  files: PlaybookFiles;
  clock: Clock;
};

/** A preview ends then, and says how many calls it left out. */
const previewMs = 3_000;
/** Previews that run at once, of all people. */
export const maxPreviews = 4;
const dayMs = 24 * 3_600_000;

/** Routes for the editor of playbooks: what a text would do, and its files. */
export function playbookEditorApi({
  store,
  playbooks,
  files,
  clock,
}: PlaybookEditorOptions): Router {
  const router = Router();
  const previews = new Previews();

  router.get('/api/assist/schema', (_request, response) => {
    response.json(playbookSchema());
  });

  router.post('/api/assist/preview', async (request, response) => {
    const parsed = check(PlaybookPreviewRequest, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const { playbook: text, last_days: days, limit } = parsed.value;
    const who = principalOf(response)?.id ?? '';
    const signal = previews.begin(who);
    response.once('close', () => previews.end(who, signal));
    const untilMs = clock.monotonicMs() + previewMs;
    const isOver = () => signal.aborted || clock.monotonicMs() >= untilMs;
    const checked = await checkedPlaybook(text);
    if ('mistakes' in checked) {
      response.json({ mistakes: checked.mistakes, trial: null } satisfies PlaybookPreview);
      return;
    }
    // A draft is tried as if it were live: the scope counts, as it would then.
    const set = await ruleSetInSlices([checked.playbook]);
    const over = new Promise<void>((resolve) => {
      const stop = clock.after(previewMs, resolve);
      const ended = (): void => {
        stop();
        resolve();
      };
      signal.addEventListener('abort', ended, { once: true });
    });
    // Examples that are learnt too late wait for the next preview; they are kept.
    await Promise.race([over, playbooks.teach?.(set)]);
    const calls = await callsFor(store, { ids: undefined, sinceMs: clock.now() - days * dayMs, limit }); // prettier-ignore
    const trial = await trialOf(store, set, calls, { isOver });
    if (signal.aborted)
      throw new Problem(409, 'a newer text came: its preview stands in place of this');
    response.json({ mistakes: [], trial } satisfies PlaybookPreview);
  });

  addFileRoutes(router, { playbooks, files });
  return router;
}

function addFileRoutes(
  router: Router,
  { playbooks, files }: Pick<PlaybookEditorOptions, 'playbooks' | 'files'>,
): void {
  router.get('/api/assist/files', async (_request, response) => {
    const [closed = null, list] = await Promise.all([files.closed(), files.list()]);
    const answer = { folder: files.folder, closed, files: list.map(reportOf) };
    response.json(answer satisfies PlaybookFileList);
  });

  router.get('/api/assist/files/:name', async (request, response) => {
    const { name } = request.params;
    const file = await files.read(name).catch((error: unknown) => {
      throw new Problem(409, `${name} cannot be read: ${reasonOf(error)}`);
    });
    if (file === undefined) throw new Problem(404, 'there is no such playbook');
    const { text, digest, isStarter: starter } = file;
    response.json({ name, text, digest, starter } satisfies PlaybookText);
  });

  router.put('/api/assist/files/:name', async (request, response) => {
    const parsed = check(PlaybookSave, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    const saved = await files.save({ name: request.params.name, ...parsed.value });
    if ('refused' in saved) {
      if (saved.refused === 'name') throw invalid([saved.why]);
      if (saved.refused !== 'mistakes') throw new Problem(409, `not saved: ${saved.why}`);
      response.json({ file: null, mistakes: saved.mistakes } satisfies PlaybookSaved);
      return;
    }
    await playbooks.load();
    response.json({ file: reportOf(saved), mistakes: [] } satisfies PlaybookSaved);
  });

  router.delete('/api/assist/files/:name', async (request, response) => {
    const { digest } = request.query;
    if (typeof digest !== 'string') throw invalid(['digest: must be that of the text which goes']);
    const gone = await files.remove({ name: request.params.name, digest });
    if ('refused' in gone)
      throw new Problem(gone.refused === 'gone' ? 404 : 409, `not deleted: ${gone.why}`);
    await playbooks.load();
    const list = await files.list();
    const back = list.find((one) => one.isStarter && one.playbook?.id === gone.playbook?.id);
    response.json({ file: reportOf(gone), back: back?.name ?? null } satisfies PlaybookDeleted);
  });
}

function reportOf({
  name,
  digest,
  playbook,
  mistakes,
  isStarter,
}: PlaybookFile): PlaybookFileList['files'][number] {
  const { id = null, title = null, status = null } = playbook ?? {};
  const rules = playbook?.rules.map((rule) => rule.title) ?? [];
  return { name, digest, id, title, status, rules, mistakes, starter: isStarter };
}

/** The previews that run: one for each person or key, and so many of all. */
class Previews {
  readonly #running = new Map<string, AbortController>();

  /** Ends the one before of the same person, because its text is old. */
  begin(who: string): AbortSignal {
    this.#running.get(who)?.abort();
    if (!this.#running.has(who) && this.#running.size >= maxPreviews)
      throw new Problem(503, 'other people try playbooks at this moment: try again', { headers: { 'retry-after': '1' } }); // prettier-ignore
    const controller = new AbortController();
    this.#running.set(who, controller);
    return controller.signal;
  }

  end(who: string, signal: AbortSignal): void {
    const running = this.#running.get(who);
    if (running?.signal !== signal) return;
    running.abort();
    this.#running.delete(who);
  }
}
