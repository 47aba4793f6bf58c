import { Router } from 'express';
import { progressText } from '../../lib/progress-bars.ts';
import { Problem } from '../../port/problem.ts';
import type { ApiModel, ModelList } from '../../protocol/model-reports.ts';
import type { ExtraModel, ExtraModels } from '../extra-models.ts';

/** Shows an operator the models that features need, and installs them. The speech API has no such routes. */
export function modelRoutes(models: Pick<ExtraModels, 'list' | 'install'>): Router {
  const router = Router();
  const list = async (): Promise<ModelList> => ({ items: (await models.list()).map(asShown) });
  router.get('/api/models', async (_request, response) => {
    response.json(await list());
  });
  router.post('/api/models/:name/install', async (request, response) => {
    const { name } = request.params;
    if (!models.install(name)) {
      const names = (await models.list()).map((one) => one.name).join(', ');
      throw new Problem(404, `no such model can be installed here; there are ${names}`);
    }
    response.status(202).json(await list());
  });
  return router;
}

function asShown({ name, gain, cost, languages, megabytes, state }: ExtraModel): ApiModel {
  const command = `npx trunkline models pull ${name}`;
  const shown = {
    ...{ name, gain, megabytes, state: state.at, share: null, detail: null, command },
    ...(cost === undefined ? {} : { cost }),
    ...(languages.length === 0 ? {} : { languages: [...languages] }),
  };
  if (state.at === 'failed') return { ...shown, detail: state.reason };
  if (state.at !== 'installing') return shown;
  const { progress } = state;
  if (progress === undefined) return { ...shown, share: 0, detail: `${name} is being looked for` };
  const detail = progressText({ ...progress, doing: `${progress.doing} ${name}:` });
  return { ...shown, share: progress.share ?? 0, detail };
}
